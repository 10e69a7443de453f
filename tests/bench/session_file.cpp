// What a session file costs: saving, opening, reading everything, grouping by name, and the bytes per span.
// The spans are training steps of 40 nested spans with jittered times, as a small convolutional network makes them.
//
//   bench_session_file [SPANS] [DIRECTORY]     default: 10 million spans in the temporary directory
#include "core/storage/session_file.h"
#include "core/session/session_builder.h"
#include "core/storage/session_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

using namespace stepscope;
namespace fs = std::filesystem;

namespace {

constexpr size_t kSpansPerStep = 40;
constexpr uint32_t kPhases = 7, kLayers = 16, kPrimitives = 16;

double seconds(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Both clocks: on a busy machine only the CPU time says something about the code.
struct Time {
    double wall = 0, cpu = 0;
    static Time now() { return {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)}; }
    Time since(const Time& begin) const { return {wall - begin.wall, cpu - begin.cpu}; }
    Time& operator+=(const Time& other)
    {
        wall += other.wall;
        cpu += other.cpu;
        return *this;
    }
    Time scaled(double factor) const { return {wall * factor, cpu * factor}; }
    Time rate(double count) const { return {count / wall, count / cpu}; }
};

// Makes one step after the other, in order of completion.
class Steps {
public:
    void names(session::SessionSink& sink) const
    {
        sink.addTrack({"training", 1});
        const auto label = [&](const std::string& name, session::SpanKind kind, session::Phase phase) {
            sink.addString(name);
            sink.addLabel({base::StringId(m_next++), kind, phase, {}, {}});
        };
        label("step", session::SpanKind::step, session::Phase::none);
        for (uint32_t i = 0; i < kPhases; ++i)
            label("phase " + std::to_string(i), session::SpanKind::phase, session::Phase::forward);
        for (uint32_t i = 0; i < kLayers; ++i)
            label("layer " + std::to_string(i), session::SpanKind::layer, session::Phase::forward);
        for (uint32_t i = 0; i < kPrimitives; ++i)
            label("primitive " + std::to_string(i), session::SpanKind::primitive, session::Phase::forward);
    }

    // One step: 16 primitives, each in a layer, in 7 phases, in the step. 40 spans.
    void step(std::vector<session::SpanRecord>& out, session::StepRow& row)
    {
        const auto number = static_cast<int32_t>(m_step++);
        const int64_t begin = m_time;
        uint32_t item = 0;
        for (uint32_t phase = 0; phase < kPhases; ++phase) {
            m_time += jitter(60);
            const int64_t phaseBegin = m_time;
            for (const uint32_t last = item + (phase < 2 ? 3 : 2); item < last && item < kLayers; ++item) {
                m_time += jitter(40);
                const int64_t layerBegin = m_time;
                m_time += jitter(50);
                const int64_t work = 2'000 + 1'700 * (item * 7 % 16) + jitter(900);
                out.push_back({m_time, work, 1 + kPhases + kLayers + item, number});
                m_time += work + jitter(50);
                out.push_back({layerBegin, m_time - layerBegin, 1 + kPhases + item, number});
            }
            m_time += jitter(60);
            out.push_back({phaseBegin, m_time - phaseBegin, 1 + phase, number});
        }
        m_time += jitter(200);
        out.push_back({begin, m_time - begin, 0, number});
        row.index = number;
        row.start = begin;
        row.duration = m_time - begin;
        row.samples = 64;
        row.loss = 2.3 / (1 + number * 1e-4);
    }

private:
    int64_t jitter(int64_t mean) { return mean + static_cast<int64_t>(m_random() % static_cast<uint64_t>(mean)); }

    std::mt19937_64 m_random{42};
    int64_t m_time = 1'000'000;
    int64_t m_step = 0;
    mutable uint32_t m_next = 0;
};

struct Goal {
    double value = 0; // 0: none
    bool atLeast = false;
};

void print(const char* what, const Time& value, const char* unit, Goal goal = {})
{
    std::printf("%-36s %10.3f %10.3f  %-10s", what, value.wall, value.cpu, unit);
    if (goal.value > 0) {
        const bool met = goal.atLeast ? value.wall >= goal.value : value.wall <= goal.value;
        std::printf(" goal %s %-8g %s", goal.atLeast ? ">=" : "<=", goal.value, met ? "met" : "MISSED");
    }
    std::printf("\n");
}

void print(const char* what, double value, const char* unit, double limit = 0)
{
    std::printf("%-36s %10.3f %10s  %-10s", what, value, "", unit);
    if (limit > 0) std::printf(" goal <= %-8g %s", limit, value <= limit ? "met" : "MISSED");
    std::printf("\n");
}

double peakMegabytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

Time medianOf(int rounds, const std::function<void()>& body)
{
    std::vector<Time> times;
    for (int i = 0; i < rounds; ++i) {
        const Time begin = Time::now();
        body();
        times.push_back(Time::now().since(begin));
    }
    std::sort(times.begin(), times.end(), [](const Time& a, const Time& b) { return a.wall < b.wall; });
    return times[times.size() / 2];
}

[[noreturn]] void die(const base::Error& error)
{
    std::fprintf(stderr, "%s\n", base::toText(error).c_str());
    std::exit(1);
}

// Records through the writer as the Collector does: batches, and a flush every 200 000 spans (half a second of a
// busy training). Returns the time spent in the writer.
Time record(const fs::path& path, size_t spans)
{
    auto writer = storage::SessionWriter::create(path, storage::Existing::replace);
    if (!writer) die(writer.error());
    Steps steps;
    steps.names(**writer);
    std::vector<session::SpanRecord> batch;
    std::vector<session::StepRow> rows;
    Time spent;
    for (size_t done = 0; done < spans;) {
        batch.clear();
        rows.clear();
        while (batch.size() < 200'000 && done + batch.size() < spans)
            steps.step(batch, rows.emplace_back());
        const Time begin = Time::now();
        (*writer)->addSpans(base::TrackId(0u), batch);
        for (const session::StepRow& row : rows)
            (*writer)->addStep(row);
        if (base::Status status = (*writer)->flush(); !status) die(status.error());
        spent += Time::now().since(begin);
        done += batch.size();
    }
    if (base::Status status = (*writer)->finish(); !status) die(status.error());
    return spent;
}

// Sorting and nesting alone, from memory, as a recording without a file does it.
Time nest(size_t spans)
{
    Steps steps;
    std::vector<base::HugeVector<session::SpanRecord>> tracks(1);
    std::vector<session::SpanRecord> batch;
    session::StepRow row;
    tracks[0].reserve(spans + kSpansPerStep);
    while (tracks[0].size() < spans) {
        batch.clear();
        steps.step(batch, row);
        tracks[0].insert(tracks[0].end(), batch.begin(), batch.end());
    }
    const Time begin = Time::now();
    const session::LoadedColumns columns = session::nestSpans(std::move(tracks));
    const Time time = Time::now().since(begin);
    if (!columns.quality.empty()) std::printf("nesting cut spans: this must not be\n");
    return time;
}

session::SessionPtr open(const fs::path& path)
{
    auto opened = storage::openSession(path);
    if (!opened) die(opened.error());
    return *opened;
}

} // namespace

int main(int argc, char** argv)
{
    const size_t spans = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
    const fs::path directory = argc > 2 ? fs::path(argv[2]) : fs::temp_directory_path();
    const fs::path recorded = directory / ("bench-" + std::to_string(getpid()) + ".stepscope");
    const fs::path saved = directory / ("bench-saved-" + std::to_string(getpid()) + ".stepscope");

    const Time recording = record(recorded, spans);
    const auto bytes = static_cast<double>(fs::file_size(recorded));
    session::SessionPtr session;
    const Time opening = medianOf(3, [&] { session = open(recorded); });
    const auto count = static_cast<double>(session->spanCount());
    size_t rows = 0;
    const Time reading = medianOf(1, [&] { rows = session->spans().size(); });
    const Time saving = medianOf(1, [&] {
        if (base::Status status = storage::saveSession(*session, saved, storage::Existing::replace); !status)
            die(status.error());
    });
    session::SessionPtr again;
    const Time second = medianOf(1, [&] {
        again = open(saved);
        again->spans();
    });
    const bool same =
        again->spans().start == session->spans().start && again->spans().parent == session->spans().parent;

    std::vector<int64_t> sums;
    const Time grouping = medianOf(5, [&] {
        const session::SpanTable& t = session->spans();
        sums.assign(session->labels().size(), 0);
        for (size_t row = 0; row < t.size(); ++row)
            sums[t.label[row]] += t.duration[row];
    });
    fs::remove(recorded);
    fs::remove(saved);
    const double peak = peakMegabytes();
    const Time nesting = nest(spans);

    const double scale = count / 1e7; // the goals are for 10 million spans
    std::printf("%.3f million spans %32s %10s\n", count / 1e6, "elapsed", "CPU");
    print("recorded (in the writer)", recording.rate(count / 1e6), "M spans/s", {5, true});
    print("saved", saving.rate(count / 1e6), "M spans/s", {5, true});
    print("opened: small tables", opening, "s", {0.3 * scale, false});
    print("read: all spans, nested", reading, "s", {1.0 * scale, false});
    print("saved file opened and read", second, "s", {1.3 * scale, false});
    print("nested in memory", nesting, "s");
    print("group by name in memory", grouping.scaled(1000), "ms", {50 * scale, false});
    print("bytes per span on disk", bytes / count, "bytes", 16);
    print("peak memory, two sessions open", peak, "MB");
    std::printf("rows %zu, equal after saving: %s, sum of the step spans %.3f s\n", rows, same ? "yes" : "NO",
                static_cast<double>(sums.empty() ? 0 : sums[0]) * 1e-9);
    return same && rows == session->spanCount() ? 0 : 1;
}
