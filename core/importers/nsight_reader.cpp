#include "core/importers/nsight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace stepscope::importers {

using base::TimeNs;
using session::SpanKind;

namespace {

constexpr int64_t kIdBits = 0x1000000; // of a thread and of a process in a "global" id
constexpr size_t kPlaces = 5;          // rows named in a quality record
constexpr TimeNs kLimit = TimeNs{1} << 61; // epoch times in ns are below

int64_t processOf(int64_t globalId) { return globalId / kIdBits % kIdBits; }
int64_t threadOf(int64_t globalTid) { return globalTid % kIdBits; }

} // namespace

NsightReader::NsightReader(NsightSource& source, const ImportOptions& options, const base::Progress& progress)
    : m_source(source)
    , m_options(options)
    , m_progress(progress)
{
}

bool NsightReader::read()
{
    readNames();
    chooseRange();
    const std::pair<const char*, void (NsightReader::*)()> parts[] = {
        {"ranges", &NsightReader::readRanges}, {"kernels", &NsightReader::readKernels}, {"copies", &NsightReader::readCopies},
        {"fills", &NsightReader::readFills}, {"graphs", &NsightReader::readGraphs}, {"waits", &NsightReader::readWaits},
        {"samples", &NsightReader::readSamples}, {"metrics", &NsightReader::readCounters}, {"memory", &NsightReader::readMemoryUsage}};
    double done = 0;
    for (const auto& [what, part] : parts) {
        if (m_progress) m_progress(0.25 + 0.6 * done / static_cast<double>(std::size(parts)), what);
        (this->*part)();
        if (done++ == 0) { // the device's work takes its step from its call
            readCalls("CUPTI_ACTIVITY_KIND_RUNTIME", SpanKind::call, "cuda");
            readCalls("CUPTI_ACTIVITY_KIND_DRIVER", SpanKind::call, "cuda");
            readCalls("CUDNN_EVENTS", SpanKind::annotation, "cuDNN");
            readCalls("CUBLAS_EVENTS", SpanKind::annotation, "cuBLAS");
            readCalls("OSRT_API", SpanKind::other, "OS runtime");
            readOverheads("CUPTI_ACTIVITY_KIND_OVERHEAD");
            readOverheads("PROFILER_OVERHEAD");
        }
        if (m_source.stopped()) return false;
    }
    countOtherTables();
    return true;
}

void NsightReader::readNames()
{
    if (const auto rows = m_source.read("StringIds", {"id", "value"}))
        while (rows->next())
            m_strings.emplace(rows->integer(0), rows->text(1));
    if (const auto rows = m_source.read("ThreadNames", {"globalTid", "nameId"}))
        while (rows->next())
            m_threadNames.emplace(rows->integer(0), stringOf(rows->integer(1)));
    if (const auto rows = m_source.read("PROCESSES", {"globalPid", "name"}))
        while (rows->next())
            m_processNames.emplace(rows->integer(0) / kIdBits, rows->text(1));
    if (const auto rows = m_source.read("TARGET_INFO_GPU", {"id", "name"}))
        while (rows->next())
            m_deviceNames.emplace(rows->smallOr(0, -1), rows->text(1));
    m_copyKinds = enumeration("ENUM_CUDA_MEMCPY_OPER", "name");
    m_memoryKinds = enumeration("ENUM_CUDA_MEM_KIND", "name");
    m_syncKinds = enumeration("ENUM_CUPTI_SYNC_TYPE", "label");
}

std::map<int64_t, std::string> NsightReader::enumeration(std::string_view table, std::string_view column) const
{
    std::map<int64_t, std::string> names;
    if (const auto rows = m_source.read(table, {"id", column}))
        while (rows->next())
            names.emplace(rows->integer(0), rows->text(1));
    return names;
}

std::string_view NsightReader::stringOf(int64_t id) const
{
    const auto found = m_strings.find(id);
    return found == m_strings.end() ? std::string_view() : std::string_view(found->second);
}

std::string NsightReader::nameOf(int64_t id, std::string_view what) const
{
    const std::string_view name = stringOf(id);
    return name.empty() ? fmt::format("{} {}", what, id) : std::string(name);
}

session::LabelId NsightReader::label(std::string_view name, SpanKind kind, std::string_view category)
{
    const auto [known, isNew] = m_labels.try_emplace({std::string(name), kind, std::string(category)});
    if (isNew) {
        session::Label row;
        row.name = m_builder.intern(name);
        row.kind = kind;
        row.category = m_builder.intern(category);
        known->second = m_builder.internLabel(row);
    }
    return known->second;
}

base::TrackId NsightReader::threadTrack(int64_t globalTid)
{
    const auto [known, isNew] = m_threads.try_emplace(globalTid);
    if (isNew) {
        session::Track track;
        track.threadId = threadOf(globalTid);
        track.processId = processOf(globalTid);
        if (const auto name = m_threadNames.find(globalTid); name != m_threadNames.end()) track.name = name->second;
        if (track.name.empty()) track.name = fmt::format("thread {}", track.threadId);
        if (const auto name = m_processNames.find(globalTid / kIdBits); name != m_processNames.end()) track.process = name->second;
        track.group = m_options.group;
        known->second = base::TrackId(static_cast<uint32_t>(m_builder.tables().tracks.size()));
        m_builder.addTrack(track);
    }
    return known->second;
}

base::TrackId NsightReader::streamTrack(int64_t globalPid, int32_t device, int32_t context, int64_t stream)
{
    const auto [known, isNew] = m_streams.try_emplace({globalPid, device, context, stream});
    if (isNew) {
        session::Track track;
        track.kind = session::TrackKind::stream;
        track.threadId = stream;
        track.processId = processOf(globalPid);
        track.device = device;
        track.name = stream >= 0 ? fmt::format("stream {}", stream) : std::string("whole context");
        track.process = fmt::format("GPU {}", device);
        if (const auto name = m_deviceNames.find(device); name != m_deviceNames.end() && !name->second.empty()) track.process += " " + name->second;
        track.group = m_options.group;
        track.sortIndex = 1000 + device;
        known->second = base::TrackId(static_cast<uint32_t>(m_builder.tables().tracks.size()));
        m_builder.addTrack(track);
    }
    return known->second;
}

base::TrackId NsightReader::rangeTrack(int64_t globalPid)
{
    const auto [known, isNew] = m_ranges.try_emplace(globalPid / kIdBits);
    if (isNew) {
        session::Track track;
        track.kind = session::TrackKind::asynchronous;
        track.processId = processOf(globalPid);
        track.name = "NVTX ranges";
        if (const auto name = m_processNames.find(globalPid / kIdBits); name != m_processNames.end()) track.process = name->second;
        track.group = m_options.group;
        known->second = base::TrackId(static_cast<uint32_t>(m_builder.tables().tracks.size()));
        m_builder.addTrack(track);
    }
    return known->second;
}

int64_t NsightReader::correlationOf(int64_t globalPid, int64_t id)
{
    constexpr int64_t kIds = int64_t{1} << 40;
    if (id < 0 || id >= kIds) return session::DetailTable::kNoCorrelation;
    const auto [known, isNew] = m_processes.try_emplace(globalPid / kIdBits, static_cast<int64_t>(m_processes.size()));
    return known->second < (int64_t{1} << 22) ? known->second * kIds + id : session::DetailTable::kNoCorrelation;
}

void NsightReader::note(std::string_view code, std::string_view sentence, std::string_view table, int64_t rowNumber)
{
    session::QualityRow& row = m_notes[std::string(code)];
    row.code = code;
    row.message = sentence;
    if (row.count++ < static_cast<int64_t>(kPlaces)) row.places += fmt::format("{}{} row {}", row.places.empty() ? "" : "; ", table, rowNumber);
}

// The times of a row, or nothing when it has none that can be shown; that is counted.
std::optional<NsightReader::Times> NsightReader::times(const NsightRows& row, int start, int end, bool device, std::string_view table)
{
    const int64_t rowNumber = row.integer(0);
    if (row.isNull(start) || (device && row.integer(start) == 0 && row.integer(end) == 0)) {
        note("no-timing", "spans without times in the file were left out", table, rowNumber);
        return std::nullopt;
    }
    Times out;
    out.start = row.integer(start);
    if (out.start < -kLimit || out.start > kLimit) {
        note("bad-time", "spans with impossible times were left out", table, rowNumber);
        return std::nullopt;
    }
    out.start += m_options.clockOffset;
    if (row.isNull(end)) {
        out.unfinished = true;
        note("unfinished", "spans without an end are shown to the end of the recording", table, rowNumber);
    } else {
        const int64_t stop = row.integer(end);
        if (stop < out.start - m_options.clockOffset) {
            note("negative-dur", "spans that end before they begin were left out", table, rowNumber);
            return std::nullopt;
        }
        if (stop > kLimit) {
            note("bad-time", "spans with impossible times were left out", table, rowNumber);
            return std::nullopt;
        }
        out.duration = stop + m_options.clockOffset - out.start;
    }
    if (!wanted(out.start, out.start + out.duration)) return std::nullopt;
    if (!m_any || out.start < m_first) m_first = out.start;
    if (!m_any || out.start + out.duration > m_last) m_last = out.start + out.duration;
    m_any = true;
    return out;
}

bool NsightReader::wanted(TimeNs start, TimeNs end) const
{
    return (!m_rangeBegin || end > *m_rangeBegin || (end == start && start >= *m_rangeBegin)) && (!m_rangeEnd || start < *m_rangeEnd);
}

void NsightReader::chooseRange()
{
    findSteps();
    if (m_options.firstStep || m_options.lastStep) { // whole steps, whatever lies between them included
        for (const StepRange& step : m_steps) {
            if (step.index < m_options.firstStep.value_or(step.index) || step.index > m_options.lastStep.value_or(step.index)) continue;
            m_rangeBegin = std::min(m_rangeBegin.value_or(step.begin), step.begin);
            m_rangeEnd = std::max(m_rangeEnd.value_or(step.end), step.end);
        }
        if (!m_rangeBegin) m_rangeBegin = m_rangeEnd = std::numeric_limits<TimeNs>::max(); // no such step
        return;
    }
    if (!m_options.rangeBegin && !m_options.rangeEnd) return;
    std::optional<int64_t> first;
    for (const std::string_view table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
             "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API", "COMPOSITE_EVENTS"})
        if (const std::optional<int64_t> least = m_source.least(table, "start"); least && (!first || *least < *first)) first = least;
    const TimeNs zero = std::clamp<TimeNs>(first.value_or(0), -kLimit, kLimit) + m_options.clockOffset;
    if (m_options.rangeBegin) m_rangeBegin = zero + *m_options.rangeBegin;
    if (m_options.rangeEnd) m_rangeEnd = zero + *m_options.rangeEnd;
}

// Tables of events that are not shown, so that nobody believes the file had none.
void NsightReader::countOtherTables()
{
    static constexpr std::string_view kRead[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
        "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD", "NVTX_EVENTS", "OSRT_API", "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS",
        "GPU_METRICS", "CUDA_GPU_MEMORY_USAGE_EVENTS", "CUDNN_EVENTS", "CUBLAS_EVENTS"};
    for (const std::string& table : m_source.tables()) {
        const bool events = table.starts_with("CUPTI_ACTIVITY_KIND_") || table.ends_with("_EVENTS") || table.ends_with("_API")
            || table.ends_with("_CALLCHAINS") || table.ends_with("_METRICS") || table.ends_with("_WORKLOAD");
        if (!events || table.starts_with("ENUM_") || table.starts_with("TARGET_INFO_") || std::find(std::begin(kRead), std::end(kRead), table) != std::end(kRead)) continue;
        const int64_t count = m_source.count(table);
        if (count <= 0) continue;
        session::QualityRow& row = m_notes["tables-not-read"];
        row.code = "tables-not-read";
        row.message = "rows are in tables that are not shown here";
        row.count += count;
        row.places += fmt::format("{}{} ({} rows)", row.places.empty() ? "" : "; ", table, count);
    }
    for (const std::string_view table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS", "StringIds"}) {
        if (m_source.has(table)) continue;
        session::QualityRow& row = m_notes["missing-tables"];
        row.code = "missing-tables";
        row.message = "usual tables are not in the file: there was no such data, or it was not collected";
        ++row.count;
        row.places += fmt::format("{}{}", row.places.empty() ? "" : "; ", table);
    }
}

void NsightReader::readEnvironment()
{
    if (const auto rows = m_source.read("META_DATA_EXPORT", {"name", "value"}))
        while (rows->next()) {
            if (rows->text(0) == "EXPORT_PRODUCT_VERSION") m_builder.addEnvironment({"tool.version", "Nsight Systems " + std::string(rows->text(1))});
            if (rows->text(0) == "EXPORT_SCHEMA_VERSION") m_builder.addEnvironment({"import.schema", std::string(rows->text(1))});
        }
    if (const auto rows = m_source.read("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "utcTime"}); rows && rows->next()) {
        m_builder.addEnvironment({"import.session_start_utc_ns", fmt::format("{}", rows->integer(0))});
        m_builder.addEnvironment({"import.session_start_utc", std::string(rows->text(1))});
    }
    for (const auto& [device, name] : m_deviceNames)
        m_builder.addEnvironment({fmt::format("gpu.{}", device), name});
}

session::SessionPtr NsightReader::build(const Input& input, const std::optional<ImportProblem>& problem)
{
    for (session::Event* event : m_open)
        event->duration = std::max<TimeNs>(0, m_last - event->start);
    addSteps();
    addSamplesAndCounters();
    readEnvironment();
    addImportRows(m_builder.tables(), input, "nsight");
    m_builder.addEnvironment({"import.origin_ns", fmt::format("{}", m_first)});
    session::EventBuilder::Finished finished = m_events.finish(m_builder.tables().tracks, m_builder.tables().labels.size(), m_first, std::move(m_details));
    const session::LaunchCheck check = session::linkLaunches(finished.spans, m_builder.tables().labels, finished.details);
    for (const session::QualityRow& row : session::eventQuality(finished))
        m_builder.addQuality(row);
    for (const auto& [code, row] : m_notes) {
        session::QualityRow counted = row;
        counted.message = fmt::format("{} {}.", row.count, row.message);
        m_builder.addQuality(counted);
    }
    if (check.withoutCall > 0)
        m_builder.addQuality({"work-without-launch", check.withoutCall, fmt::format("{} pieces of device work have no launch call in the file.", check.withoutCall), ""});
    if (problem) addProblemRow(m_builder.tables(), *problem);
    return m_builder.build(std::move(finished.spans), std::move(finished.details));
}

base::Result<Imported> readNsight(NsightSource& source, const Input& input, const ImportOptions& options, std::stop_token stop,
                                  const base::Progress& progress)
{
    NsightReader reader(source, options, progress);
    if (!reader.read() || stop.stop_requested()) return base::fail(base::ErrorCode::cancelled, "stopped");
    Imported imported;
    if (const std::optional<base::Error>& failure = source.failure()) {
        imported.complete = false;
        imported.problem = ImportProblem{"damaged-database", -1, -1, -1, failure->message};
    }
    if (progress) progress(0.9, "sorting");
    imported.session = reader.build(input, imported.problem);
    return imported;
}

} // namespace stepscope::importers
