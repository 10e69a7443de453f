#include "core/session/event_details.h"

#include <algorithm>
#include <array>

namespace stepscope::session {

namespace {

constexpr std::array<std::string_view, kCopyKindCount> kCopyNames{
    "",             "host to device", "device to host", "device to device",
    "host to host", "peer to peer", "array",          "managed memory"};
constexpr std::array<std::string_view, kMemoryKindCount> kMemoryNames{
    "", "pageable", "pinned", "device", "array", "managed", "device static", "managed static"};

// Frees each part as soon as it is copied: peak memory is time.
template <class T>
void append(base::HugeVector<T>& to, base::HugeVector<T>& from)
{
    to.insert(to.end(), from.begin(), from.end());
    base::HugeVector<T>().swap(from);
}

bool isCall(SpanKind kind)
{
    return kind == SpanKind::call || kind == SpanKind::synchronisation;
}

struct Call {
    int64_t correlation;
    uint32_t row;
};

// For an outer row before the inner one. Spans of a track nest, so what begins within another one is inside of it.
bool encloses(const SpanTable& spans, uint32_t outer, uint32_t inner)
{
    if (spans.parent[inner] == outer) return true; // also where both are one moment
    const auto track = std::upper_bound(spans.trackBegin.begin(), spans.trackBegin.end(), size_t{outer});
    return (track == spans.trackBegin.end() || inner < *track) && spans.start[inner] < spans.end(outer);
}

} // namespace

std::string_view copyKindName(CopyKind kind)
{
    return static_cast<size_t>(kind) < kCopyNames.size() ? kCopyNames[static_cast<size_t>(kind)] : std::string_view();
}

std::string_view memoryKindName(MemoryKind kind)
{
    return static_cast<size_t>(kind) < kMemoryNames.size() ? kMemoryNames[static_cast<size_t>(kind)]
                                                           : std::string_view();
}

bool DetailTable::isUnfinished(uint32_t detail) const
{
    return std::binary_search(unfinished.begin(), unfinished.end(), detail);
}

uint32_t DetailBuilder::addDevice(const DeviceWork& work, int64_t correlation, uint64_t place)
{
    if (m_deviceCount > kIndexMask) return DetailTable::kNone;
    m_device.push_back(work);
    m_deviceCorrelation.push_back(correlation);
    m_devicePlace.push_back(place);
    return m_deviceCount++;
}

uint32_t DetailBuilder::addLinked(int64_t correlation, uint64_t place)
{
    if (m_linkedCount > kIndexMask) return DetailTable::kNone;
    m_linkedCorrelation.push_back(correlation);
    m_linkedPlace.push_back(place);
    return kLinked | m_linkedCount++;
}

uint32_t DetailBuilder::addPlain(uint64_t place)
{
    if (m_plainPlace.size() >= kIndexMask) return DetailTable::kNone;
    m_plainPlace.push_back(place);
    return kPlain | static_cast<uint32_t>(m_plainPlace.size() - 1);
}

DetailTable DetailBuilder::finish()
{
    DetailTable table;
    table.device = std::move(m_device);
    table.correlation = std::move(m_deviceCorrelation);
    append(table.correlation, m_linkedCorrelation);
    table.place = std::move(m_devicePlace);
    table.place.reserve(table.place.size() + m_linkedPlace.size() + m_plainPlace.size());
    append(table.place, m_linkedPlace);
    append(table.place, m_plainPlace);
    for (const uint32_t id : m_unfinished)
        table.unfinished.push_back(row(id));
    std::sort(table.unfinished.begin(), table.unfinished.end());
    return table;
}

LaunchCheck linkLaunches(const SpanTable& spans, const std::vector<Label>& labels, DetailTable& details)
{
    LaunchCheck check;
    if (details.deviceRows() == 0 || spans.detail.size() != spans.size()) return check;
    std::vector<Call> calls;
    for (uint32_t row = 0; row < spans.size(); ++row) {
        const uint32_t detail = spans.detail[row];
        if (detail >= details.linkedRows() || !isCall(labels[spans.label[row]].kind)) continue;
        if (detail < details.deviceRows()) continue; // a wait on a stream, not the call
        const int64_t correlation = details.correlation[detail];
        if (correlation != DetailTable::kNoCorrelation) calls.push_back({correlation, row});
    }
    // Rows are ordered by start within a track and parents come first, so the first of equal ids is the outermost.
    std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.correlation < b.correlation; });
    size_t kept = 0;
    for (const Call& call : calls) {
        if (kept > 0 && calls[kept - 1].correlation == call.correlation) {
            if (!encloses(spans, calls[kept - 1].row, call.row)) ++check.repeatedCalls;
            continue;
        }
        calls[kept++] = call;
    }
    calls.resize(kept);
    for (size_t i = 0; i < details.deviceRows(); ++i) {
        const int64_t correlation = details.correlation[i];
        if (correlation == DetailTable::kNoCorrelation) continue;
        const auto at = std::lower_bound(calls.begin(), calls.end(), correlation,
                                         [](const Call& call, int64_t id) { return call.correlation < id; });
        if (at != calls.end() && at->correlation == correlation) {
            details.device[i].launch = at->row;
            ++check.launched;
        } else {
            ++check.withoutCall;
        }
    }
    return check;
}

} // namespace stepscope::session
