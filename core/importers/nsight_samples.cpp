// Stack samples of the CPU, metrics of devices and their memory over time.
#include "core/importers/nsight_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::importers {

namespace {
constexpr int64_t kDeepest = 1 << 20;
} // namespace

void NsightReader::readSamples()
{
    std::unordered_map<int64_t, session::StackId> stackOf;
    // The leaf has depth 0, so the deepest comes first: the outermost frame.
    if (const auto rows = m_source.read("SAMPLING_CALLCHAINS", {"id", "stackDepth", "symbol", "module", "kernelMode", "unresolved", "originalIP"}, "id, stackDepth DESC")) {
        int64_t current = 0, depth = 0;
        session::StackId stack;
        while (rows->next()) {
            const int64_t id = rows->integer(0);
            if (id != current || stackOf.empty()) {
                stack = {};
                depth = 0;
            }
            current = id;
            if (++depth > kDeepest) continue;
            session::FrameRow frame;
            std::string function(stringOf(rows->integerOr(2, -1)));
            if (function.empty()) function = rows->isNull(6) ? std::string("[unknown]") : fmt::format("0x{:x}", static_cast<uint64_t>(rows->integer(6)));
            frame.function = m_builder.intern(function);
            frame.module = m_builder.intern(stringOf(rows->integerOr(3, -1)));
            if (rows->integer(4) != 0) frame.flags |= session::kKernelMode;
            stack = m_builder.internStack({stack, m_builder.internFrame(frame)});
            stackOf[id] = stack;
        }
    }
    const auto rows = m_source.read("COMPOSITE_EVENTS", {"rowid", "start", "id", "globalTid"});
    std::vector<session::SampleRecord> samples;
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 1, false, "COMPOSITE_EVENTS");
        if (!time) continue;
        session::SampleRecord sample;
        sample.time = time->start;
        sample.weight = 1;
        if (const auto stack = stackOf.find(rows->integer(2)); stack != stackOf.end()) sample.stack = stack->second;
        sample.track = threadTrack(rows->integer(3));
        sample.step = stepAt(time->start);
        samples.push_back(sample);
    }
    if (samples.empty()) return;
    m_builder.addSeries({"CPU samples", "", session::SeriesKind::hits, true, true});
    m_samples = std::move(samples);
}

base::CounterId NsightReader::counter(const std::string& name, const std::string& unit)
{
    const auto [known, isNew] = m_counters.try_emplace(name);
    if (isNew) {
        known->second = base::CounterId(static_cast<uint32_t>(m_builder.tables().counters.size()));
        m_builder.addCounter({name, unit});
        m_counterSamples.emplace_back();
    }
    return known->second;
}

void NsightReader::readCounters()
{
    std::map<std::pair<int64_t, int64_t>, std::string> names;
    if (const auto rows = m_source.read("TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"}))
        while (rows->next())
            names.emplace(std::pair{rows->integer(0), rows->integer(1)}, rows->text(2));
    const std::string_view time = m_source.hasColumn("GPU_METRICS", "timestamp") ? "timestamp" : "start";
    const auto rows = m_source.read("GPU_METRICS", {"rowid", time, "typeId", "metricId", "value"});
    std::map<std::pair<int64_t, int64_t>, base::CounterId> counters;
    while (rows && rows->next()) {
        const std::optional<Times> at = times(*rows, 1, 1, false, "GPU_METRICS");
        if (!at) continue;
        const std::pair<int64_t, int64_t> key{rows->integer(2), rows->integer(3)};
        const auto [known, isNew] = counters.try_emplace(key);
        if (isNew) {
            const auto name = names.find(key);
            // The lower bits of the type are the number of the GPU.
            known->second = counter(fmt::format("GPU {}: {}", key.first & 0xff, name != names.end() ? name->second : fmt::format("metric {}", key.second)), "");
        }
        m_counterSamples[known->second.index()].push_back({at->start, rows->real(4)});
    }
}

void NsightReader::readMemoryUsage()
{
    const std::map<int64_t, std::string> kinds = enumeration("ENUM_CUDA_MEM_KIND", "label");
    const auto rows = m_source.read("CUDA_GPU_MEMORY_USAGE_EVENTS", {"rowid", "start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"}, "\"start\"");
    std::map<std::string, double> now;
    while (rows && rows->next()) {
        const std::optional<Times> at = times(*rows, 1, 1, false, "CUDA_GPU_MEMORY_USAGE_EVENTS");
        if (!at) continue;
        const auto kind = kinds.find(rows->integer(5));
        const std::string name = fmt::format("GPU {} memory, {} (process {})", rows->integer(3), kind != kinds.end() ? kind->second : fmt::format("kind {}", rows->integer(5)),
            rows->integer(2) / 0x1000000 % 0x1000000);
        double& bytes = now[name];
        bytes += (rows->integer(6) == 1 ? -1.0 : 1.0) * static_cast<double>(rows->integer(4));
        m_counterSamples[counter(name, "bytes").index()].push_back({at->start, bytes});
    }
}

// Times get the session's origin, which is known when everything was read.
void NsightReader::addSamplesAndCounters()
{
    for (session::SampleRecord& sample : m_samples)
        sample.time -= m_first;
    if (!m_samples.empty()) m_builder.addSamples(base::SeriesId(0u), m_samples);
    for (size_t c = 0; c < m_counterSamples.size(); ++c) {
        for (session::CounterRecord& record : m_counterSamples[c])
            record.time -= m_first;
        std::stable_sort(m_counterSamples[c].begin(), m_counterSamples[c].end(), [](const auto& a, const auto& b) { return a.time < b.time; });
        m_builder.addCounterSamples(base::CounterId(static_cast<uint32_t>(c)), m_counterSamples[c]);
    }
}

} // namespace stepscope::importers
