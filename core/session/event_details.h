// DetailTable: what an imported trace knows of single events beyond their time, label and step.
// Owner: core/session. Thread: immutable after construction. Units: bytes, threads, blocks.
//
// SpanTable::detail holds the row of a span here, or DetailTable::kNone. Rows stand in three classes, one after the
// other, so that the columns need no references to each other:
//   [0, deviceRows())            work of a device: every column
//   [deviceRows(), linkedRows()) other events with a correlation id, mostly calls: `correlation` and `place`
//   [linkedRows(), size())       everything else: `place`
// DetailBuilder numbers rows while a file is read in any order and puts them into this order at the end.
#pragma once

#include "core/base/huge_vector.h"
#include "core/session/span_table.h"
#include "core/session/types.h"

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace stepscope::session {

// Direction of a copy. The numeric values are written to files: append only.
enum class CopyKind : uint8_t {
    unknown = 0,
    hostToDevice = 1,
    deviceToHost = 2,
    deviceToDevice = 3, // within one device
    hostToHost = 4,
    peerToPeer = 5,     // between devices
    array = 6,          // from or to an array (texture)
    managed = 7,        // migration of managed memory
};
inline constexpr int kCopyKindCount = 8;
std::string_view copyKindName(CopyKind kind); // "host to device", ...; "" unknown

// The numeric values are written to files: append only.
enum class MemoryKind : uint8_t {
    unknown = 0,
    pageable = 1,
    pinned = 2,
    device = 3,
    array = 4,
    managed = 5,
    deviceStatic = 6,
    managedStatic = 7,
};
inline constexpr int kMemoryKindCount = 8;
std::string_view memoryKindName(MemoryKind kind); // "pageable", ...; "" unknown

// One kernel, copy, fill or wait of a device. Numbers that the file does not tell are -1 or NaN.
struct DeviceWork {
    int64_t bytes = -1;     // copies and fills
    int64_t stream = -1;
    int64_t graphNode = -1; // of a graph launch
    int32_t device = -1;
    int32_t context = -1;
    int32_t grid[3] = {-1, -1, -1};
    int32_t block[3] = {-1, -1, -1};
    int32_t registers = -1;   // per thread
    int32_t sharedBytes = -1; // per block, static and dynamic
    float occupancy = std::numeric_limits<float>::quiet_NaN(); // estimated achieved, 0..1
    float blocksPerSm = std::numeric_limits<float>::quiet_NaN();
    float warpsPerSm = std::numeric_limits<float>::quiet_NaN();
    uint32_t launch = SpanTable::kNoParent; // row of the span that launched it; linkLaunches() sets it
    CopyKind copy = CopyKind::unknown;
    MemoryKind source = MemoryKind::unknown;
    MemoryKind destination = MemoryKind::unknown;
};

// An arrow of the file that is not the launch of a piece of device work: from span to span.
struct FlowRow {
    uint32_t from = SpanTable::kNoParent; // rows of the SpanTable
    uint32_t to = SpanTable::kNoParent;
    StringId name;
    friend bool operator==(const FlowRow&, const FlowRow&) = default;
};

struct DetailTable {
    static constexpr uint32_t kNone = SpanTable::kNoDetail;
    static constexpr uint64_t kNoPlace = ~uint64_t{0};
    static constexpr int64_t kNoCorrelation = -1;

    std::vector<DeviceWork> device;
    // Joins device work with the call that started it; unique within the session: where a format repeats its ids per
    // process or file, the importer has made them unique (see DetailBuilder). Never joined by time.
    base::HugeVector<int64_t> correlation;
    // Where the importer finds the rest of the event again: for text formats the first byte of the event in the
    // unpacked file. Empty when the format has no places.
    base::HugeVector<uint64_t> place;
    std::vector<uint32_t> unfinished; // detail rows of spans whose end is not in the file; ascending
    std::vector<FlowRow> flows;

    size_t deviceRows() const { return device.size(); }
    size_t linkedRows() const { return correlation.size(); }
    size_t size() const { return place.size() > correlation.size() ? place.size() : correlation.size(); }
    bool empty() const { return size() == 0 && flows.empty(); }

    const DeviceWork* deviceWork(uint32_t detail) const { return detail < device.size() ? &device[detail] : nullptr; }
    int64_t correlationOf(uint32_t detail) const
    {
        return detail < correlation.size() ? correlation[detail] : kNoCorrelation;
    }
    uint64_t placeOf(uint32_t detail) const { return detail < place.size() ? place[detail] : kNoPlace; }
    bool isUnfinished(uint32_t detail) const;
};

// Collects details in the order of the file. The ids it gives out are only good for row() after finish().
class DetailBuilder {
public:
    // Every id of the input is tagged by its class in the upper two bits; each class holds up to 2^30 rows.
    uint32_t addDevice(const DeviceWork& work, int64_t correlation, uint64_t place = DetailTable::kNoPlace);
    uint32_t addLinked(int64_t correlation, uint64_t place = DetailTable::kNoPlace);
    uint32_t addPlain(uint64_t place);
    void setUnfinished(uint32_t id) { m_unfinished.push_back(id); }
    DeviceWork& device(uint32_t id) { return m_device[id & kIndexMask]; } // of an id of addDevice()

    // The row of an id in the table that finish() makes.
    uint32_t row(uint32_t id) const
    {
        if (id == DetailTable::kNone) return id;
        const uint32_t index = id & kIndexMask;
        if (id < kLinked) return index;
        return id < kPlain ? m_deviceCount + index : m_deviceCount + m_linkedCount + index;
    }
    // Call when everything is added; row() stays usable afterwards.
    DetailTable finish();

private:
    static constexpr uint32_t kIndexMask = 0x3fffffffu;
    static constexpr uint32_t kLinked = 0x40000000u;
    static constexpr uint32_t kPlain = 0x80000000u;

    std::vector<DeviceWork> m_device;
    base::HugeVector<int64_t> m_deviceCorrelation, m_linkedCorrelation;
    base::HugeVector<uint64_t> m_devicePlace, m_linkedPlace, m_plainPlace;
    std::vector<uint32_t> m_unfinished;
    uint32_t m_deviceCount = 0, m_linkedCount = 0;
};

// Sets DeviceWork::launch from equal correlation ids: the call is the span of kind `call` or `synchronisation` with the
// id; of several the outermost, and of several on one level the first. Returns what did not match.
struct LaunchCheck {
    int64_t launched = 0;      // device work with its call
    int64_t withoutCall = 0;   // with a correlation id that no call has
    int64_t repeatedCalls = 0; // further calls with an id that a call before had, outside of that call
};
LaunchCheck linkLaunches(const SpanTable& spans, const std::vector<Label>& labels, DetailTable& details);

} // namespace stepscope::session
