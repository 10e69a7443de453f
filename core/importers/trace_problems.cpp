#include "core/importers/trace_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace stepscope::importers {

namespace {

struct Kind {
    const char* code;
    const char* message; // before the number of them
};
constexpr std::array<Kind, kTraceProblemCount> kKinds{{
    {"bad-ts", "Events without a usable time, left out"},
    {"bad-dur", "Spans with a duration that is no number, left out"},
    {"negative-dur", "Spans with a negative duration, left out"},
    {"huge-dur", "Spans longer than a year, left out"},
    {"no-timing", "Events with the time 0 in a trace whose clock is far from 0, which the recorder could not time, left out"},
    {"E-without-B", "Ends (E) without a begin on their thread, left out"},
    {"unfinished", "Spans without an end in the file, drawn to the end of the trace and marked"},
    {"async-e-without-b", "Ends of asynchronous spans without a begin, left out"},
    {"flow-start-without-end", "Arrows that start and end nowhere, left out"},
    {"flow-end-without-start", "Arrows that end without a start, left out"},
    {"flow-unbound", "Arrows that begin or end where no span is, left out"},
    {"unknown-phase", "Events of no known phase (ph), left out"},
    {"unread-phase", "Events of a kind that is not shown (objects, memory dumps, clock marks)"},
    {"malformed-event", "Events that are broken inside, left out"},
    {"not-an-event", "Elements of the event list that are no events, left out"},
    {"non-finite-number", "Numbers that are NaN or infinite; as values of counters they leave a gap"},
    {"invalid-escape", "Backslashes in text that begin no escape, kept as they are"},
    {"control-character", "Control characters in text that are not escaped, kept"},
    {"invalid-utf8", "Sequences of bytes in text that are not UTF-8, shown as a replacement character"},
    {"bad-sample", "Samples without a known time or stack"},
    {"repeated-call", "Calls whose correlation id another call had before; device work goes to the first"},
    {"bad-counter", "Values of counters that are no numbers, and counters without values, left out"},
}};

std::string placeText(uint64_t byte, const LinePlace& place)
{
    return place.line > 0 ? fmt::format("line {}, byte {}", place.line, byte) : fmt::format("byte {}", byte);
}

} // namespace

std::vector<LinePlace> linesOf(const Input& input, const std::vector<uint64_t>& bytes)
{
    std::vector<LinePlace> places(bytes.size());
    if (bytes.empty() || !input.reopen) return places;
    const base::Result<std::unique_ptr<ByteSource>> source = input.reopen();
    if (!source) return places;
    std::vector<char> block(size_t{1} << 20);
    uint64_t offset = 0, lineBegin = 0;
    int64_t line = 1;
    size_t next = 0;
    while (next < bytes.size()) {
        const base::Result<size_t> got = (*source)->read(block);
        const size_t count = got ? *got : 0;
        size_t at = 0;
        for (;;) {
            const void* found = at < count ? std::memchr(block.data() + at, '\n', count - at) : nullptr;
            const uint64_t lineEnd = offset + (found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - block.data()) : count);
            // A byte at the very end of the file belongs to the line that ends there.
            while (next < bytes.size() && (bytes[next] <= lineEnd && (found != nullptr || bytes[next] < lineEnd || count == 0))) {
                places[next] = {line, static_cast<int64_t>(bytes[next] - lineBegin) + 1};
                ++next;
            }
            if (found == nullptr) break;
            at = static_cast<size_t>(lineEnd - offset) + 1;
            lineBegin = lineEnd + 1;
            ++line;
        }
        offset += count;
        if (count == 0) break;
    }
    return places;
}

std::vector<session::QualityRow> TraceProblems::rows(const Input& input) const
{
    std::vector<uint64_t> bytes;
    for (const Places& places : m_places)
        bytes.insert(bytes.end(), places.bytes, places.bytes + places.kept());
    std::sort(bytes.begin(), bytes.end());
    const std::vector<LinePlace> lines = linesOf(input, bytes);
    std::vector<session::QualityRow> rows;
    for (size_t kind = 0; kind < kKinds.size(); ++kind) {
        const Places& places = m_places[kind];
        const int64_t count = places.count + m_unplaced[kind];
        if (count == 0) continue;
        std::string text;
        for (size_t i = 0; i < places.kept(); ++i) {
            const auto at = static_cast<size_t>(std::lower_bound(bytes.begin(), bytes.end(), places.bytes[i]) - bytes.begin());
            text += (i == 0 ? "" : "; ") + placeText(places.bytes[i], lines[at]);
        }
        rows.push_back({kKinds[kind].code, count, fmt::format("{}: {}.", kKinds[kind].message, count), std::move(text)});
    }
    return rows;
}

} // namespace stepscope::importers
