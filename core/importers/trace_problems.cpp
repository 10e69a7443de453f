#include "core/importers/trace_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace stepscope::importers {

namespace {

struct Kind {
    const char* code;
    const char* message; // behind the number of events
};
constexpr std::array<Kind, kTraceProblemCount> kKinds{{
    {"bad-ts", "events have no usable time and were left out"},
    {"bad-dur", "spans have a duration that is no number and were left out"},
    {"negative-dur", "spans have a negative duration and were left out"},
    {"huge-dur", "spans are longer than a year and were left out"},
    {"no-timing", "events have the time 0 in a trace whose clock is far from 0: the recorder could not time them; they were left out"},
    {"E-without-B", "ends (E) have no begin on their thread and were left out"},
    {"unfinished", "spans have no end in the file; they are drawn to the end of the trace and marked"},
    {"async-e-without-b", "ends of asynchronous spans have no begin and were left out"},
    {"flow-start-without-end", "arrows start and end nowhere"},
    {"flow-end-without-start", "arrows end without a start"},
    {"flow-unbound", "arrows begin or end where no span is"},
    {"unknown-phase", "events have no known phase (ph) and were left out"},
    {"unread-phase", "events are of a kind that is not shown (objects, memory dumps, clock marks)"},
    {"malformed-event", "events are broken inside and were left out"},
    {"not-an-event", "elements of the event list are no events and were left out"},
    {"non-finite-number", "numbers are NaN or infinite; as values of counters they leave a gap"},
    {"invalid-escape", "backslashes in text begin no escape and were kept as they are"},
    {"control-character", "control characters stand in text without being escaped"},
    {"invalid-utf8", "bytes in text are not UTF-8 and are shown as a replacement character"},
    {"bad-sample", "samples have no time or stack that is known and were left out"},
    {"work-without-call", "pieces of device work have a correlation id that no call in the file has"},
    {"repeated-call", "calls have a correlation id that another call had before"},
    {"flow-disagrees", "launch arrows of the file lead to device work whose correlation id says otherwise"},
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
        rows.push_back({kKinds[kind].code, count, fmt::format("{} {}.", count, kKinds[kind].message), std::move(text)});
    }
    return rows;
}

} // namespace stepscope::importers
