#include "core/recording/allocation_recorder.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stepscope::recording {

namespace {

uint32_t modesOf(const AllocationOptions& options)
{
    if (!options.count) return 0;
    return kCountAllocations | (options.time ? uint32_t{kTimeAllocations} : 0u) | (options.stacks ? uint32_t{kSampleAllocations} : 0u);
}

std::string distanceText(uint64_t bytes)
{
    if (bytes <= 1) return "every allocation";
    return bytes < 1024 ? fmt::format("one per {} bytes", bytes) : fmt::format("one per {:.1f} KiB", static_cast<double>(bytes) / 1024);
}

} // namespace

AllocationRecorder::AllocationRecorder(Recorder& recorder, const AllocationOptions& options)
    : m_recorder(recorder), m_options(options), m_counting(modesOf(options)), m_on(options.count && *whyNoAllocationCounts() == '\0')
{
    if (!options.count) return;
    m_recorder.addEnvironment("allocations", m_on ? "counted" : fmt::format("not counted: {}", whyNoAllocationCounts()));
    if (!m_on) return;
    using session::SeriesKind;
    m_allocations = m_recorder.addSeries({"counted allocations", "", SeriesKind::countedAllocations, true, false});
    m_bytes = m_recorder.addSeries({"counted bytes", "bytes", SeriesKind::countedBytes, true, false});
    if (options.time) m_time = m_recorder.addSeries({"counted allocator time", "ns", SeriesKind::countedTime, true, false});
    m_live = m_recorder.addCounter("live bytes", "bytes");
    m_peak = m_recorder.addCounter("peak bytes", "bytes");
    m_allocated = m_recorder.addCounter("allocated bytes", "bytes");
    m_totalsBefore = allocationsOfProcess();
    if (options.stacks) setAllocationSampling(1); // of short runs every allocation; a burst widens the distance by itself
    m_recorder.addSource(*this);
}

AllocationRecorder::~AllocationRecorder()
{
    if (m_on) m_recorder.removeSource(*this);
}

AllocationLog* AllocationRecorder::logForThisThread(base::TrackId track)
{
    if (!m_on) return nullptr;
    attributeAllocationsByProbes();
    ThreadAllocations* counts = allocationsOfThisThread();
    if (counts == nullptr) return nullptr;
    auto log = std::make_unique<AllocationLog>(*counts);
    const std::lock_guard lock(m_mutex);
    m_logs.push_back({track, std::move(log)});
    return m_logs.back().log.get();
}

void AllocationRecorder::stepBegins() noexcept
{
    ThreadAllocations* counts = m_on ? allocationsOfThisThread() : nullptr;
    if (counts == nullptr) return;
    m_bytesAtStep = counts->bytes.load(std::memory_order_relaxed) + counts->helperBytes.load(std::memory_order_relaxed);
    counts->peak.store(counts->live.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void AllocationRecorder::stepEnded(uint64_t ticks) noexcept
{
    ThreadAllocations* counts = m_on ? allocationsOfThisThread() : nullptr;
    if (counts == nullptr) return;
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const int64_t own = counts->live.load(kRelaxed);
    const auto live = static_cast<double>(heapBeforeCounting() + allocationsOfProcess().live);
    const uint64_t bytes = counts->bytes.load(kRelaxed) + counts->helperBytes.load(kRelaxed);
    m_recorder.addCounterSample(m_live, ticks, live);
    m_recorder.addCounterSample(m_peak, ticks, live + static_cast<double>(std::max<int64_t>(0, counts->peak.load(kRelaxed) - own)));
    m_recorder.addCounterSample(m_allocated, ticks, static_cast<double>(bytes - m_bytesAtStep));
}

void AllocationRecorder::collect(const TickClock& clock)
{
    std::vector<session::SampleRecord> allocations, bytes, times;
    {
        const std::lock_guard lock(m_mutex);
        for (const TrackLog& of : m_logs) {
            AttributedAllocations change;
            while (of.log->take(change)) {
                session::SampleRecord row;
                row.time = clock.toNs(change.atTicks);
                row.label = LabelId(change.label);
                row.step = change.step;
                row.track = of.track;
                row.weight = static_cast<int64_t>(change.allocations);
                if (row.weight != 0) allocations.push_back(row);
                row.weight = static_cast<int64_t>(change.bytes);
                if (row.weight != 0) bytes.push_back(row);
                row.weight = std::llround(static_cast<double>(change.allocatorTicks) * clock.nsPerTick());
                if (row.weight != 0 && m_time.valid()) times.push_back(row);
            }
        }
    }
    m_recorder.addSamples(m_allocations, std::move(allocations));
    m_recorder.addSamples(m_bytes, std::move(bytes));
    if (m_time.valid()) m_recorder.addSamples(m_time, std::move(times));
    if (m_options.stacks) adaptSampling();
}

// So that about as many stacks are taken as wanted, and every allocation's when there are few.
void AllocationRecorder::adaptSampling()
{
    const AllocationTotals totals = allocationsOfProcess();
    const AllocationTotals since{totals.allocations - m_totalsBefore.allocations, totals.bytes - m_totalsBefore.bytes, 0};
    m_totalsBefore = totals;
    const uint64_t wanted = static_cast<uint64_t>(std::max(1, m_options.stacksPerSecond)) / 4; // this is called four times a second
    const uint64_t distance = since.allocations <= wanted ? 1 : std::max<uint64_t>(1, since.bytes / std::max<uint64_t>(1, wanted));
    setAllocationSampling(distance);
    if (since.allocations == 0) return;
    m_leastDistance = m_leastDistance == 0 ? distance : std::min(m_leastDistance, distance);
    m_mostDistance = std::max(m_mostDistance, distance);
}

void AllocationRecorder::finish()
{
    if (m_options.stacks && m_mostDistance > 0) {
        const std::string text = m_leastDistance == m_mostDistance
            ? distanceText(m_leastDistance)
            : fmt::format("from {} to {} allocated on average, as often as about {} per second are taken; each stands for the bytes between",
                  distanceText(m_leastDistance), distanceText(m_mostDistance), m_options.stacksPerSecond);
        m_recorder.addEnvironment("allocations.stacks", text);
    }
    uint64_t lost = 0;
    {
        const std::lock_guard lock(m_mutex);
        for (const TrackLog& of : m_logs)
            lost += of.log->lost();
    }
    if (lost > 0)
        m_recorder.addQuality({"lost-allocations", static_cast<int64_t>(lost),
            fmt::format("Allocations of {} probes came faster than they could be stored: counts by layer and phase are too small.", lost), ""});
    if (const uint64_t threads = threadsWithoutCounts(); threads > 0)
        m_recorder.addQuality({"uncounted-threads", static_cast<int64_t>(threads),
            fmt::format("{} threads were too many at once for their allocations to be counted.", threads), ""});
}

} // namespace stepscope::recording
