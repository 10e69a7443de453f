#include "app/cli/info_json.h"

#include "app/cli/json_text.h"
#include "core/analysis/session_facts.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::cli {

namespace {

constexpr size_t kLimit = 1000; // entries of lists that would otherwise grow with the trace

using analysis::NamedSpans;
using analysis::SeriesFacts;
using analysis::SpanFacts;

int64_t number(const session::Session& session, std::string_view key)
{
    const std::string_view text = session.environmentValue(key);
    int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// Quality rows that have members of their own.
bool isWarning(const std::string& code)
{
    return code != "overlap-lanes" && code != "incomplete-file";
}

void writeNamed(const SpanFacts& facts, JsonText& json)
{
    json.key("named");
    json.beginObject();
    for (const auto& [name, spans] : facts.named) {
        json.key(name);
        json.beginObject();
        json.member("count", spans.count);
        json.member("total_ns", spans.total);
        json.member("self_ns", spans.self);
        if (spans.unfinished) json.member("at_least", true);
        json.endObject();
    }
    json.endObject();
    json.key("unfinished");
    json.beginArray();
    for (const auto& [name, spans] : facts.named)
        if (spans.unfinished) json.value(name);
    json.endArray();
}

void writeByDevice(const char* key, const std::map<int64_t, base::TimeNs>& times, JsonText& json)
{
    json.key(key);
    json.beginObject();
    for (const auto& [device, time] : times)
        json.member(std::to_string(device), time);
    json.endObject();
}

void writeSpans(const session::Session& session, const SpanFacts& facts, JsonText& json)
{
    json.member("spans", facts.spans);
    json.member("thread_spans", facts.threadSpans);
    json.member("async_spans", facts.asyncSpans);
    json.member("async_instants", facts.asyncInstants);
    json.member("instants", facts.instants);
    json.member("tracks", facts.tracks);
    json.member("overlaps", facts.overlaps);
    const int64_t origin = number(session, "import.origin_ns");
    json.key("range_ns");
    json.beginArray();
    if (facts.range) {
        json.value(origin + facts.range->begin);
        json.value(std::max(origin + facts.range->end, number(session, "import.end_ns")));
    }
    json.endArray();
    writeNamed(facts, json);
    if (const int64_t base = number(session, "trace.baseTimeNanoseconds"); base != 0) {
        json.key("absolute_start_ns");
        json.beginObject();
        for (const auto& [name, spans] : facts.named)
            json.member(name, base + origin + spans.first);
        json.endObject();
    }
    if (!facts.deviceSum.empty()) {
        writeByDevice("device_sum_ns", facts.deviceSum, json);
        writeByDevice("device_busy_ns", facts.deviceBusy, json);
    }
    json.key("arrows");
    json.beginArray();
    for (const auto& [from, to] : facts.arrows) {
        json.beginArray();
        json.value(from);
        json.value(to);
        json.endArray();
    }
    json.endArray();
    json.key("async_durations_ns");
    json.beginArray();
    for (const auto& [name, duration] : facts.asyncDurations) {
        json.beginArray();
        json.value(name);
        json.value(duration);
        json.endArray();
    }
    json.endArray();
}

void writeSeries(const SeriesFacts& facts, JsonText& json)
{
    json.member("samples", facts.samples);
    json.member("total", facts.total);
    json.member("without_stack", facts.withoutStack);
    for (const auto& [key, weights] : {std::pair{"self", &facts.self}, std::pair{"inclusive", &facts.inclusive}}) {
        json.key(key);
        json.beginObject();
        for (const auto& [name, weight] : *weights)
            json.member(name, weight);
        json.endObject();
    }
}

void writeCounters(const session::Session& session, JsonText& json)
{
    json.key("counter_points");
    json.beginObject();
    for (size_t i = 0; i < session.counters().size(); ++i) {
        const session::CounterSamples& samples = session.counterSamples(base::CounterId(i));
        json.key(session.counters()[i].name);
        json.beginArray();
        for (size_t s = 0; s < std::min(samples.time.size(), kLimit); ++s) {
            json.beginArray();
            json.value(number(session, "import.origin_ns") + samples.time[s]);
            json.value(samples.value[s]);
            json.endArray();
        }
        json.endArray();
    }
    json.endObject();
}

// Of several files each has its row of a kind: one member has their sum.
void writeWarnings(const session::Session& session, JsonText& json)
{
    std::vector<std::string> codes;
    std::map<std::string, std::pair<int64_t, std::string>> sums;
    for (const session::QualityRow& row : session.quality()) {
        const auto [at, added] = sums.try_emplace(row.code);
        if (added) codes.push_back(row.code);
        at->second.first += row.count;
        if (!row.places.empty()) at->second.second += (at->second.second.empty() ? "" : "; ") + row.places;
    }
    json.key("warnings");
    json.beginObject();
    for (const std::string& code : codes)
        if (isWarning(code)) json.member(code, sums[code].first);
    json.endObject();
    json.key("warning_places");
    json.beginObject();
    for (const std::string& code : codes)
        if (!sums[code].second.empty()) json.member(code, std::string_view(sums[code].second));
    json.endObject();
}

void writeFiles(const files::Opened& opened, JsonText& json)
{
    json.key("files");
    json.beginArray();
    for (const files::OpenedFile& file : opened.files) {
        json.beginObject();
        json.member("file", std::string_view(file.path.string()));
        json.member("group", std::string_view(file.group));
        json.member("format", std::string_view(file.format));
        json.member("why", std::string_view(file.why));
        json.member("complete", file.complete);
        json.member("shift_ns", file.shift);
        json.endObject();
    }
    json.endArray();
}

void writeProblem(const files::Opened& opened, JsonText& json)
{
    json.member("complete", opened.complete);
    json.key("error");
    if (!opened.problem) return json.null();
    json.beginObject();
    json.member("kind", std::string_view(opened.problem->kind));
    json.member("message", std::string_view(opened.problem->message));
    json.member("byte_offset", opened.problem->byteOffset);
    json.member("line", opened.problem->line);
    json.member("column", opened.problem->column);
    json.endObject();
}

} // namespace

std::string infoJson(const files::Opened& opened, const std::string& file)
{
    const session::Session& session = *opened.session;
    const SpanFacts spans = analysis::spanFacts(session, kLimit);
    JsonText json;
    json.beginObject();
    json.member("file", std::string_view(file));
    json.member("format", std::string_view(opened.format));
    json.member("why", std::string_view(opened.why));
    writeProblem(opened, json);
    writeWarnings(session, json);
    if (!opened.files.empty()) writeFiles(opened, json);

    base::SeriesId shown;
    for (size_t i = 0; i < session.series().size(); ++i)
        if (!shown.valid() || session.series()[i].isDefault) {
            shown = base::SeriesId(i);
            if (session.series()[i].isDefault) break;
        }
    SeriesFacts samples = analysis::seriesFacts(session, shown);
    // The time before a profile's first sample is a row without a stack, but no sample.
    const int64_t leads = std::min(number(session, "import.lead-samples"), samples.withoutStack);
    samples.samples -= leads;
    samples.withoutStack -= leads;
    json.member("max_depth", std::max(spans.maxDepth, samples.maxDepth));
    json.member("total_ns", spans.range ? std::max(spans.range->end, number(session, "import.end_ns") - number(session, "import.origin_ns")) - spans.range->begin : int64_t{0});
    json.member("steps", static_cast<int64_t>(session.steps().size()));
    writeSpans(session, spans, json);
    writeCounters(session, json);
    if (shown.valid()) {
        json.member("series", std::string_view(samples.name));
        json.member("unit", std::string_view(samples.unit));
        writeSeries(samples, json);
        json.key("by_event");
        json.beginObject();
        for (size_t i = 0; i < session.series().size(); ++i) {
            const SeriesFacts facts = analysis::seriesFacts(session, base::SeriesId(i));
            json.key(facts.name);
            json.beginObject();
            writeSeries(facts, json);
            json.endObject();
        }
        json.endObject();
    }
    if (const std::string_view skipped = session.environmentValue("import.skipped_objects"); !skipped.empty())
        json.member("skipped_objects", number(session, "import.skipped_objects"));
    if (!session.environmentValue("import.unpacked_bytes").empty()) json.member("unpacked_bytes", number(session, "import.unpacked_bytes"));
    if (!session.environmentValue("import.bytes").empty()) json.member("file_bytes", number(session, "import.bytes"));
    json.key("environment");
    json.beginObject();
    for (const session::EnvironmentRow& row : session.environment())
        json.member(row.key, std::string_view(row.value));
    json.endObject();
    json.endObject();
    return json.take();
}

} // namespace stepscope::cli
