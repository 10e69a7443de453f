#include "core/importers/chrome_importer.h"

#include "core/importers/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::importers {

namespace {

std::string_view withoutMark(std::string_view head)
{
    if (head.substr(0, 3) == "\xef\xbb\xbf") head.remove_prefix(3);
    return head.substr(std::min(head.size(), skipBlanks(head, 0)));
}

// The member of the top-level object at the begin of the text, as far as that goes; visit(key, value) gets "" for a
// value that goes on behind the text.
template <class Visit>
void visitMembers(std::string_view head, Visit&& visit)
{
    size_t at = 1;
    for (;;) {
        at = skipBlanks(head, at);
        while (at < head.size() && head[at] == ',')
            at = skipBlanks(head, at + 1);
        if (at >= head.size() || head[at] != '"') return;
        const size_t end = endOfValue(head, at);
        if (end == std::string_view::npos) return;
        const std::string_view key = head.substr(at + 1, end - at - 2);
        at = skipBlanks(head, end);
        if (at >= head.size() || head[at] != ':') return;
        at = skipBlanks(head, at + 1);
        const size_t valueEnd = endOfValue(head, at);
        if (valueEnd == std::string_view::npos || valueEnd == at) {
            visit(key, head.substr(std::min(at, head.size())), false);
            return;
        }
        visit(key, head.substr(at, valueEnd - at), true);
        at = valueEnd;
    }
}

// The first element of the list looks like an event, or the list is empty or ends before its first element does.
bool beginsWithEvent(std::string_view list)
{
    size_t at = skipBlanks(list, 1);
    if (at >= list.size() || list[at] == ']') return true;
    if (list[at] != '{') return false;
    size_t end = endOfValue(list, at);
    const std::string_view element = list.substr(at, end == std::string_view::npos ? end : end - at);
    JsonCursor cursor(element);
    std::string_view key, value;
    bool any = false;
    while (cursor.nextMember(key, value)) {
        any = true;
        if (key == "ph") return true;
    }
    return !any;
}

bool inKinetoWords(std::string_view head)
{
    for (const std::string_view word : {"\"cpu_op\"", "\"cuda_runtime\"", "\"user_annotation\"", "\"gpu_memcpy\"", "\"kernel\"", "\"python_function\"", "\"ac2g\"", "\"External id\""})
        if (head.find(word) != std::string_view::npos) return true;
    return false;
}

struct Shape {
    bool trace = false;
    bool kineto = false;
    std::string why;
};

Shape shapeOf(const Input& input)
{
    Shape shape;
    const std::string_view head = withoutMark(input.head);
    if (head.empty()) return shape;
    if (head[0] == '[') {
        const bool stream = beginsWithEvent(head);
        const bool named = head.size() > 1 && head.find("\"ph\"") != std::string_view::npos;
        // An empty list says nothing by itself; other formats do not have bare empty lists either.
        shape.trace = stream && (named || skipBlanks(head, 1) >= head.size() || head[skipBlanks(head, 1)] == ']');
        if (shape.trace) shape.why = named ? "a list of events with \"ph\"" : "an empty list";
        shape.kineto = shape.trace && inKinetoWords(head);
        return shape;
    }
    if (head[0] != '{') return shape;
    visitMembers(head, [&](std::string_view key, std::string_view value, bool whole) {
        if (key == "traceEvents" && !value.empty() && value[0] == '[') {
            shape.trace = true;
            if (shape.why.empty()) shape.why = "top-level key \"traceEvents\"";
        }
        if (key == "schemaVersion" || key == "deviceProperties" || key == "distributedInfo" || key == "cupti_version" || key == "baseTimeNanoseconds" || key == "record_shapes") {
            shape.kineto = true;
            shape.why = fmt::format("top-level key \"{}\"", key);
        }
        static_cast<void>(whole);
    });
    if (shape.trace && !shape.kineto && inKinetoWords(head)) {
        shape.kineto = true;
        shape.why += " with categories of Kineto";
    }
    return shape;
}

// First pass for what must be known before events can be left out: where the trace begins and where its steps are.
base::Status chooseRange(Input& input, const ImportOptions& options, ChromeTrace& trace, std::stop_token stop, const base::Progress& progress)
{
    if (!options.rangeBegin && !options.rangeEnd && !options.firstStep && !options.lastStep) return {};
    base::Result<std::unique_ptr<ByteSource>> again = input.reopen ? input.reopen() : base::fail(base::ErrorCode::unsupported, "this input can be read only once");
    if (!again) return base::fail(again.error());
    ChromeTrace first(options);
    first.keepOnly(INT64_MIN, INT64_MAX);
    first.onlyLook();
    const base::Progress half = progress ? base::Progress([&](double f, std::string_view) { progress(f / 2, "looking for the range"); }) : base::Progress();
    base::Result<TraceText> text = readTrace(**again, first, stop, half);
    if (!text) return base::fail(text.error());
    session::TimeNs begin = INT64_MIN, end = INT64_MAX;
    const session::TimeNs origin = first.firstTime().value_or(0);
    if (options.rangeBegin && __builtin_add_overflow(origin, *options.rangeBegin, &begin)) begin = *options.rangeBegin < 0 ? INT64_MIN : INT64_MAX;
    if (options.rangeEnd && __builtin_add_overflow(origin, *options.rangeEnd, &end)) end = *options.rangeEnd < 0 ? INT64_MIN : INT64_MAX;
    if (options.firstStep || options.lastStep) {
        session::TimeNs stepsBegin = INT64_MAX, stepsEnd = INT64_MIN;
        for (const ChromeTrace::Step& step : first.stepMarks()) {
            if (step.number < options.firstStep.value_or(INT64_MIN) || step.number > options.lastStep.value_or(INT64_MAX)) continue;
            stepsBegin = std::min(stepsBegin, step.start);
            stepsEnd = std::max(stepsEnd, step.start + step.duration);
        }
        if (stepsBegin > stepsEnd) return base::fail(base::ErrorCode::notFound, "the trace has no step in this range", {}, "open it whole to see which steps it marks");
        begin = std::max(begin, stepsBegin);
        end = std::min(end, stepsEnd);
    }
    trace.keepOnly(begin, end);
    return {};
}

base::Result<Imported> import(Input& input, const ImportOptions& options, std::string_view format, std::stop_token stop, const base::Progress& progress)
{
    ChromeTrace trace(options);
    if (const base::Status chosen = chooseRange(input, options, trace, stop, progress); !chosen) return base::fail(chosen.error());
    base::Result<TraceText> text = readTrace(*input.bytes, trace, stop, progress);
    if (!text) return base::fail(text.error());
    if (progress) progress(1.0, "putting in order");
    return trace.finish(input, format, std::move(*text));
}

} // namespace

Detection detectKineto(const Input& input)
{
    Shape shape = shapeOf(input);
    if (!shape.kineto || !shape.trace) return {};
    return {Confidence::certain, std::move(shape.why)};
}

Detection detectChrome(const Input& input)
{
    Shape shape = shapeOf(input);
    if (!shape.trace) {
        // The list of events may begin behind what detection sees, and a cut file may end before it.
        const std::string_view head = withoutMark(input.head);
        if (!shape.kineto && (head.empty() || head[0] != '{' || head.find("\"traceEvents\"") == std::string_view::npos)) return {};
        return {Confidence::likely, shape.why.empty() ? "the name \"traceEvents\" in its first part" : shape.why};
    }
    const bool empty = shape.why == "an empty list";
    return {empty ? Confidence::likely : Confidence::certain, std::move(shape.why)};
}

base::Result<Imported> importKineto(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress)
{
    return import(input, options, "kineto", std::move(stop), progress);
}

base::Result<Imported> importChrome(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress)
{
    return import(input, options, "chrome", std::move(stop), progress);
}

} // namespace stepscope::importers
