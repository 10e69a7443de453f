#include "core/importers/memory_timeline_importer.h"

#include "core/importers/json_tokens.h"
#include "core/session/session_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace stepscope::importers {

namespace {

using base::TimeNs;

constexpr uint64_t kMostBytes = uint64_t{4} << 30;
constexpr size_t kCategories = 8;
// The profiler's categories in the order of their numbers.
constexpr std::array<const char*, kCategories> kNames = {"parameters", "optimiser state", "inputs", "temporary", "activations", "gradients",
    "autograd detail", "unknown"};

struct Row {
    TimeNs time = 0; // -1: allocated before the recording
    int64_t bytes = 0;
    int64_t category = 0;
};

// [time, action, bytes, category], all whole numbers.
std::optional<Row> rowOf(std::string_view element)
{
    if (element.empty() || element.front() != '[') return std::nullopt;
    std::array<int64_t, 4> numbers{};
    size_t count = 0;
    JsonCursor cursor(element);
    std::string_view token;
    while (cursor.nextElement(token)) {
        const std::optional<int64_t> number = isString(token) ? std::nullopt : wholeNumber(token);
        if (!number || count == numbers.size()) return std::nullopt;
        numbers[count++] = *number;
    }
    if (count != numbers.size() || cursor.broken()) return std::nullopt;
    constexpr int64_t kLimit = int64_t{1} << 61;
    if (numbers[0] < -1 || numbers[0] > kLimit || numbers[2] < -kLimit || numbers[2] > kLimit) return std::nullopt;
    if (numbers[3] < 0 || numbers[3] >= static_cast<int64_t>(kCategories)) return std::nullopt;
    return Row{numbers[0], numbers[2], numbers[3]};
}

std::string_view withoutBlanks(std::string_view text)
{
    text.remove_prefix(std::min(text.size(), skipBlanks(text, 0)));
    while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos)
        text.remove_suffix(1);
    return text;
}

} // namespace

Detection detectMemoryTimeline(const Input& input)
{
    const std::string_view head = input.head;
    const size_t at = skipBlanks(head, 0);
    if (at >= head.size() || head[at] != '[') return {};
    const size_t first = skipBlanks(head, at + 1);
    if (first >= head.size() || head[first] != '[') return {};
    const size_t end = endOfValue(head, first);
    if (end == std::string_view::npos || !rowOf(head.substr(first, end - first))) return {};
    return {Confidence::likely, "a list of lists of four whole numbers: time, action, bytes, category"};
}

base::Result<Imported> importMemoryTimeline(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress)
{
    base::Result<std::string> text = readAll(*input.bytes, kMostBytes);
    if (!text) return base::fail(text.error());
    session::SessionBuilder builder;
    std::array<std::vector<session::CounterRecord>, kCategories> records;
    std::array<double, kCategories> now{};
    std::optional<TimeNs> first;
    int64_t bad = 0, rows = 0;
    std::string places;
    const std::string_view body = withoutBlanks(*text);
    JsonCursor cursor(body);
    std::string_view element;
    while (cursor.nextElement(element)) {
        if ((++rows & 0xfffff) == 0) {
            if (stop.stop_requested()) return base::fail(base::ErrorCode::cancelled, "stopped");
            if (progress) progress(static_cast<double>(element.data() - text->data()) / static_cast<double>(text->size()), "reading");
        }
        const std::optional<Row> row = rowOf(element);
        if (!row) {
            if (bad++ < 5) places += fmt::format("{}byte {}", places.empty() ? "" : "; ", element.data() - text->data());
            continue;
        }
        const auto category = static_cast<size_t>(row->category);
        if (row->time >= 0 && !first) { // what was there at the begin
            first = row->time;
            for (size_t c = 0; c < kCategories; ++c)
                records[c].push_back({0, now[c]});
        }
        now[category] += static_cast<double>(row->bytes);
        if (row->time < 0) continue;
        std::vector<session::CounterRecord>& list = records[category];
        const TimeNs time = row->time - *first;
        if (!list.empty() && list.back().time == time) list.back().value = now[category];
        else list.push_back({time, now[category]});
    }
    if (rows == bad) return base::fail(base::ErrorCode::wrongFormat, "there is no row of a memory timeline in the file", {input.path.string(), 0},
        "a row is [time, action, bytes, category]; export_memory_timeline() of PyTorch's profiler writes them for a name that ends in .raw.json.gz");
    for (size_t c = 0; c < kCategories; ++c) {
        std::stable_sort(records[c].begin(), records[c].end(), [](const auto& a, const auto& b) { return a.time < b.time; });
        const base::CounterId id(static_cast<uint32_t>(c));
        builder.addCounter({fmt::format("memory: {}", kNames[c]), "bytes"});
        for (session::CounterRecord& record : records[c])
            record.time += options.clockOffset;
        builder.addCounterSamples(id, records[c]);
    }
    Imported imported;
    if (bad > 0) builder.addQuality({"bad-rows", bad, fmt::format("{} rows that are not four whole numbers were left out.", bad), places});
    // The bracket at the end may be that of the last row.
    const bool closed = body.ends_with(']') && element.data() + element.size() < body.data() + body.size();
    if (cursor.broken() || !closed) {
        imported.complete = false;
        imported.problem = ImportProblem{"unexpected-end", static_cast<int64_t>(text->size()), -1, -1, "the list has no end"};
        addProblemRow(builder.tables(), *imported.problem);
    }
    addImportRows(builder.tables(), input, "memory-timeline");
    builder.addEnvironment({"import.origin_ns", fmt::format("{}", first.value_or(0))});
    imported.session = builder.build();
    return imported;
}

} // namespace stepscope::importers
