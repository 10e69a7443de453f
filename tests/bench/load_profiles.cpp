// What loading profiles of other tools costs: text of perf script and collapsed stacks, beside the bare reading of the
// same bytes. The files are made here: stacks of a program of some thousand functions.
//
//   bench_load_profiles [MEGABYTES]     of perf script text; default 204, with 2.7 MB of collapsed stacks
#include "core/importers/importer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

constexpr int kFunctions = 4000, kRuns = 3;

double seconds(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double peakMegabytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

// A walk through a call tree: neighbouring samples share most of their stack, as real ones do.
class Stacks {
public:
    const std::vector<int>& next()
    {
        const size_t keep = m_frames.empty()
            ? 0
            : std::uniform_int_distribution<size_t>(m_frames.size() / 2, m_frames.size())(m_random);
        m_frames.resize(keep);
        const int depth = std::uniform_int_distribution<int>(15, 45)(m_random);
        while (static_cast<int>(m_frames.size()) < depth) {
            // A function calls few others.
            const int from = m_frames.empty() ? 0 : m_frames.back();
            m_frames.push_back((from * 7 + 1 + std::uniform_int_distribution<int>(0, 5)(m_random)) % kFunctions);
        }
        return m_frames;
    }

private:
    std::mt19937 m_random{20};
    std::vector<int> m_frames; // outermost first
};

std::string functionName(int number)
{
    return "stepscope::layers::Convolution<float>::run" + std::to_string(number) + "(Tensor const&)";
}

void writePerfScript(const fs::path& path, size_t bytes)
{
    std::ofstream out(path, std::ios::binary);
    Stacks stacks;
    std::string text;
    size_t written = 0;
    for (int64_t sample = 0; written < bytes; ++sample) {
        const std::vector<int>& frames = stacks.next();
        char head[160];
        std::snprintf(head, sizeof head, "worker %d 4021/%d [%03d] %lld.%06lld:    1001001 cpu-clock: \n",
                      static_cast<int>(sample % 4), static_cast<int>(4055 + sample % 4), static_cast<int>(sample % 8),
                      static_cast<long long>(1000 + sample / 4000), static_cast<long long>(sample % 4000 * 250));
        text = head;
        for (size_t i = frames.size(); i-- > 0;) {
            char place[40];
            std::snprintf(place, sizeof place, "\t%16llx ", 0x401000ll + frames[i] * 64 + 4 * (sample % 3));
            text += place + functionName(frames[i])
                + (frames[i] % 3 == 0 ? "+0x1b (/usr/lib/libnetwork.so.2)\n" : "+0x8 (/opt/train/bin/train)\n");
        }
        text += '\n';
        written += text.size();
        out << text;
    }
}

void writeCollapsed(const fs::path& path, size_t bytes)
{
    std::ofstream out(path, std::ios::binary);
    Stacks stacks;
    for (size_t written = 0; written < bytes;) {
        std::string text;
        for (const int frame : stacks.next())
            text += (text.empty() ? "" : ";") + functionName(frame);
        text += " " + std::to_string(1 + written % 97) + "\n";
        written += text.size();
        out << text;
    }
}

// The best of some runs, by the clock of the processor: others may be at work.
void measure(const char* what, const fs::path& path)
{
    const double megabytes = static_cast<double>(fs::file_size(path)) / 1e6;
    double bare = 1e9, wall = 1e9, cpu = 1e9;
    size_t samples = 0;
    for (int run = 0; run < kRuns; ++run) {
        std::vector<char> buffer(size_t{1} << 20);
        double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
        base::Result<importers::Input> input = importers::openInput(path);
        size_t lines = 0;
        for (;;) {
            const base::Result<size_t> got = input->bytes->read(buffer);
            if (!got || *got == 0) break;
            lines += static_cast<size_t>(
                std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got), '\n'));
        }
        bare = std::min(bare, seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
        begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
        const double wallBegin = seconds(CLOCK_MONOTONIC);
        const base::Result<importers::Imported> imported = importers::importFile(path);
        cpu = std::min(cpu, seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
        wall = std::min(wall, seconds(CLOCK_MONOTONIC) - wallBegin);
        if (!imported) {
            std::fprintf(stderr, "%s\n", base::toText(imported.error()).c_str());
            std::exit(1);
        }
        samples = imported->session->sampleCount();
    }
    std::printf("%-22s %7.1f MB %8zu samples: %6.3f s (%.3f s CPU), reading alone %.3f s CPU, peak %.0f MB\n", what,
                megabytes, samples, wall, cpu, bare, peakMegabytes());
}

} // namespace

int main(int argc, char** argv)
{
    const double megabytes = argc > 1 ? std::atof(argv[1]) : 204;
    if (megabytes <= 0) {
        std::fprintf(stderr, "usage: bench_load_profiles [MEGABYTES]\n");
        return 2;
    }
    const fs::path folder = fs::temp_directory_path() / ("stepscope-load-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    writeCollapsed(folder / "stacks.folded", 2'700'000);
    writePerfScript(folder / "script.perf", static_cast<size_t>(megabytes * 1e6));
    measure("collapsed stacks", folder / "stacks.folded");
    measure("perf script text", folder / "script.perf");
    fs::remove_all(folder);
    return 0;
}
