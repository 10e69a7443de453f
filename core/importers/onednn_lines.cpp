#include "core/importers/onednn_lines.h"

#include "core/importers/decimal_text.h"

#include <algorithm>
#include <array>

namespace stepscope::importers::onednn {

namespace {

constexpr std::array<std::string_view, 3> kMarkers{"onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,"};
constexpr int kMilliseconds = 6;       // powers of ten to ns
constexpr size_t kExecutionFields = 9; // engine to time

// Where the first marker begins; `length` gets its length.
size_t findMarker(std::string_view line, size_t from, size_t& length)
{
    size_t first = std::string_view::npos;
    for (const std::string_view marker : kMarkers) {
        const size_t at = line.find(marker, from);
        if (at >= first) continue;
        first = at;
        length = marker.size();
    }
    return first;
}

std::vector<std::string_view> split(std::string_view text)
{
    std::vector<std::string_view> fields;
    for (size_t at = 0;;) {
        const size_t end = text.find(',', at);
        fields.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
        if (end == std::string_view::npos) return fields;
        at = end + 1;
    }
}

bool isNumber(std::string_view text)
{
    return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos
        && scaledDecimal(text, 0).has_value();
}

std::string_view trimEnd(std::string_view text)
{
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

// Behind the operation: engine, kind, implementation, propagation, memory, attributes, auxiliary, problem, time.
void parseExecution(const std::vector<std::string_view>& fields, size_t at, Line& line)
{
    const size_t count = fields.size() - at;
    line.kind = LineKind::bad;
    if (count < kExecutionFields || !(fields[at].starts_with("cpu") || fields[at].starts_with("gpu"))) return;
    const std::string_view time = fields.back();
    const std::optional<int64_t> duration = scaledDecimal(time, kMilliseconds);
    if (!duration || *duration < 0) return;
    line.duration = *duration;
    line.engine = fields[at];
    line.primitive = fields[at + 1];
    line.implementation = fields[at + 2];
    line.propagation = fields[at + 3];
    line.memory = fields[at + 4];
    line.attributes = fields[at + 5];
    line.auxiliary = fields[at + 6];
    line.problem = fields[fields.size() - 2];
    line.kind = LineKind::execution;
}

// graph: engine, partition id, partition kind, op names, formats, tensors, math mode, implementation, backend, time.
void parsePartition(const std::vector<std::string_view>& fields, size_t at, Line& line)
{
    parseExecution(fields, at, line);
    if (line.kind != LineKind::execution) return;
    line.primitive = "graph partition";
    line.implementation = fields[fields.size() - 3];
    line.propagation = fields[at + 2];
    line.memory = fields[at + 4];
    line.attributes = line.auxiliary = {};
    line.problem = fields[at + 3];
}

} // namespace

Line parseLine(std::string_view whole)
{
    Line line;
    size_t length = 0, another = 0;
    const size_t marker = findMarker(whole, 0, length);
    if (marker == std::string_view::npos) return line;
    line.kind = LineKind::bad;
    if (findMarker(whole, marker + length, another) != std::string_view::npos) return line; // two threads wrote at once
    const std::string_view rest = trimEnd(whole.substr(marker + length));
    const std::vector<std::string_view> fields = split(rest);
    size_t at = 0;
    const auto is = [&](std::string_view word) { return at < fields.size() && fields[at] == word; };
    if (is("v0") || is("v1")) ++at;
    if (at < fields.size() && isNumber(fields[at]) && fields.size() > at + 1) {
        line.start = scaledDecimal(fields[at], kMilliseconds);
        ++at;
    }
    const bool graph = is("graph");
    if (graph || is("primitive") || is("common") || is("ukernel")) ++at;
    if (at >= fields.size()) return line;
    const std::string_view operation = fields[at];
    line.text = rest.substr(static_cast<size_t>(operation.data() - rest.data()));
    if (operation == "info") {
        line.kind = LineKind::info;
        line.text.remove_prefix(std::min(line.text.size(), operation.size() + 1));
        return line;
    }
    const bool execution = operation.starts_with("exec"), nested = operation.starts_with("create_nested"),
               creation = operation.starts_with("create") || (graph && operation.starts_with("compile"));
    if (operation.ends_with(":check") || operation.ends_with(":dispatch") || operation.ends_with(":error")
        || operation == "error" || operation == "warn") {
        line.kind = LineKind::message;
        return line;
    }
    if (!execution && !creation) return line;
    if (graph) parsePartition(fields, at + 1, line);
    else parseExecution(fields, at + 1, line);
    if (line.kind == LineKind::execution && !execution) line.kind = nested ? LineKind::nested : LineKind::creation;
    return line;
}

} // namespace stepscope::importers::onednn
