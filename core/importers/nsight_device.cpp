// Work of devices: kernels, copies, fills, graphs and waits.
#include "core/importers/nsight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

namespace stepscope::importers {

using session::CopyKind;
using session::MemoryKind;
using session::SpanKind;

namespace {

// The numbers of Nsight Systems differ from those of CUPTI, so the file's own table of names decides when it has one.
CopyKind copyKind(int64_t number, const std::map<int64_t, std::string>& names)
{
    static const std::map<std::string_view, CopyKind> kByName = {{"HTOD", CopyKind::hostToDevice}, {"DTOH", CopyKind::deviceToHost},
        {"DTOD", CopyKind::deviceToDevice}, {"HTOH", CopyKind::hostToHost}, {"PTOP", CopyKind::peerToPeer}, {"HTOA", CopyKind::array},
        {"ATOH", CopyKind::array}, {"ATOA", CopyKind::array}, {"ATOD", CopyKind::array}, {"DTOA", CopyKind::array},
        {"UVM_HTOD", CopyKind::managed}, {"UVM_DTOH", CopyKind::managed}, {"UVM_DTOD", CopyKind::managed}};
    static constexpr std::string_view kUsual[] = {"", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH", "PTOP", "UVM_HTOD", "UVM_DTOH", "UVM_DTOD"};
    std::string_view name;
    if (const auto known = names.find(number); known != names.end()) {
        name = known->second;
        constexpr std::string_view kPrefix = "CUDA_MEMCPY_KIND_";
        if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    } else if (names.empty() && number >= 0 && number < static_cast<int64_t>(std::size(kUsual))) {
        name = kUsual[number];
    }
    const auto kind = kByName.find(name);
    return kind == kByName.end() ? CopyKind::unknown : kind->second;
}

MemoryKind memoryKind(int64_t number, const std::map<int64_t, std::string>& names)
{
    static const std::map<std::string_view, MemoryKind> kByName = {{"PAGEABLE", MemoryKind::pageable}, {"PINNED", MemoryKind::pinned},
        {"DEVICE", MemoryKind::device}, {"ARRAY", MemoryKind::array}, {"MANAGED", MemoryKind::managed},
        {"DEVICE_STATIC", MemoryKind::deviceStatic}, {"MANAGED_STATIC", MemoryKind::managedStatic}};
    static constexpr std::string_view kUsual[] = {"PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC"};
    std::string_view name;
    if (const auto known = names.find(number); known != names.end()) {
        name = known->second;
        constexpr std::string_view kPrefix = "CUDA_MEMOPR_MEMORY_KIND_";
        if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    } else if (names.empty() && number >= 0 && number < static_cast<int64_t>(std::size(kUsual))) {
        name = kUsual[number];
    }
    const auto kind = kByName.find(name);
    return kind == kByName.end() ? MemoryKind::unknown : kind->second;
}

// The columns that every table of device work begins with.
constexpr int kContext = 4, kStream = 5, kCorrelation = 6, kProcess = 7, kGraphNode = 8, kFirstOwn = 9;
std::vector<std::string_view> columns(std::initializer_list<std::string_view> own)
{
    std::vector<std::string_view> all = {"rowid", "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId"};
    all.insert(all.end(), own);
    return all;
}

} // namespace

void NsightReader::addDevice(const NsightRows& row, const Times& time, session::LabelId label, session::DeviceWork work)
{
    work.device = row.smallOr(3, -1);
    work.context = row.smallOr(kContext, -1);
    work.stream = row.integerOr(kStream, -1);
    if (work.stream == 0xffffffff) work.stream = -1; // CUPTI: of no stream
    work.graphNode = row.integerOr(kGraphNode, -1);
    const int64_t process = row.integer(kProcess);
    const int64_t correlation = row.isNull(kCorrelation) ? session::DetailTable::kNoCorrelation : correlationOf(process, row.integer(kCorrelation));
    session::Event event{time.start, time.duration, label.value, -1};
    if (const auto step = m_stepOfCall.find(correlation); step != m_stepOfCall.end()) event.step = step->second;
    event.detail = m_details.addDevice(work, correlation);
    if (time.unfinished) m_details.setUnfinished(event.detail);
    session::Event* kept = m_events.add(streamTrack(process, work.device, work.context, work.stream), event);
    if (time.unfinished) m_open.push_back(kept);
}

void NsightReader::readKernels()
{
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
    const auto rows = m_source.read(kTable, columns({"demangledName", "shortName", "mangledName", "registersPerThread", "gridX", "gridY", "gridZ",
        "blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory"}));
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 2, true, kTable);
        if (!time) continue;
        std::string_view name;
        for (int column = kFirstOwn; column < kFirstOwn + 3 && name.empty(); ++column)
            if (!rows->isNull(column)) name = stringOf(rows->integer(column));
        const std::string noName = name.empty() ? nameOf(rows->integer(rows->isNull(kFirstOwn) ? kFirstOwn + 1 : kFirstOwn), "kernel") : std::string();
        session::DeviceWork work;
        work.registers = rows->smallOr(kFirstOwn + 3, -1);
        for (int i = 0; i < 3; ++i) {
            work.grid[i] = rows->smallOr(kFirstOwn + 4 + i, -1);
            work.block[i] = rows->smallOr(kFirstOwn + 7 + i, -1);
        }
        const int32_t fixed = rows->smallOr(kFirstOwn + 10, -1), dynamic = rows->smallOr(kFirstOwn + 11, -1);
        if (fixed >= 0 && dynamic >= 0 && fixed < std::numeric_limits<int32_t>::max() - dynamic) work.sharedBytes = fixed + dynamic;
        addDevice(*rows, *time, label(name.empty() ? noName : name, SpanKind::kernel, "kernel"), work);
    }
}

void NsightReader::readCopies()
{
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMCPY";
    const auto rows = m_source.read(kTable, columns({"bytes", "copyKind", "srcKind", "dstKind"}));
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 2, true, kTable);
        if (!time) continue;
        session::DeviceWork work;
        work.bytes = std::max<int64_t>(-1, rows->integerOr(kFirstOwn, -1));
        work.copy = copyKind(rows->integerOr(kFirstOwn + 1, -1), m_copyKinds);
        work.source = memoryKind(rows->integerOr(kFirstOwn + 2, -1), m_memoryKinds);
        work.destination = memoryKind(rows->integerOr(kFirstOwn + 3, -1), m_memoryKinds);
        std::string name = "Memcpy";
        if (const std::string_view kind = session::copyKindName(work.copy); !kind.empty()) name = fmt::format("Memcpy {}", kind);
        else if (const auto known = m_copyKinds.find(rows->integerOr(kFirstOwn + 1, -1)); known != m_copyKinds.end()) name = "Memcpy " + known->second;
        addDevice(*rows, *time, label(name, SpanKind::copy, "gpu_memcpy"), work);
    }
}

void NsightReader::readFills()
{
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMSET";
    const auto rows = m_source.read(kTable, columns({"bytes", "memKind"}));
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 2, true, kTable);
        if (!time) continue;
        session::DeviceWork work;
        work.bytes = std::max<int64_t>(-1, rows->integerOr(kFirstOwn, -1));
        work.destination = memoryKind(rows->integerOr(kFirstOwn + 1, -1), m_memoryKinds);
        addDevice(*rows, *time, label("Memset", SpanKind::fill, "gpu_memset"), work);
    }
}

// A whole graph as one piece of work, when its nodes were not traced.
void NsightReader::readGraphs()
{
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    const auto rows = m_source.read(kTable, columns({"graphId"}));
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 2, true, kTable);
        if (!time) continue;
        addDevice(*rows, *time, label(fmt::format("CUDA graph {}", rows->integer(kFirstOwn)), SpanKind::kernel, "graph"), {});
    }
}

void NsightReader::readWaits()
{
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    const auto rows = m_source.read(kTable, columns({"syncType"}));
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 2, true, kTable);
        if (!time) continue;
        std::string name = fmt::format("synchronisation {}", rows->integer(kFirstOwn));
        if (const auto known = m_syncKinds.find(rows->integer(kFirstOwn)); known != m_syncKinds.end() && !known->second.empty()) name = known->second;
        addDevice(*rows, *time, label(name, SpanKind::synchronisation, "cuda_sync"), {});
    }
}

} // namespace stepscope::importers
