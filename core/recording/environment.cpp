#include "core/recording/environment.h"

#include "core/recording/clock.h"
#include "core/recording/git_revision.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

using Rows = std::vector<session::EnvironmentRow>;

void add(Rows& rows, std::string key, std::string value)
{
    if (!value.empty()) rows.push_back({std::move(key), std::move(value)});
}

std::string firstLine(const char* path)
{
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

// Value of "name : value" in /proc/cpuinfo's first processor.
std::string cpuInfo(std::string_view name)
{
    std::ifstream in("/proc/cpuinfo");
    std::string line;
    while (std::getline(in, line)) {
        const size_t colon = line.find(':');
        if (colon == std::string::npos || !line.starts_with(name)) continue;
        const size_t value = line.find_first_not_of(" \t", colon + 1);
        return value == std::string::npos ? std::string() : line.substr(value);
    }
    return {};
}

// The instruction sets that decide about the speed of training, out of some hundred flags.
std::string instructionSets()
{
#if defined(__x86_64__)
    constexpr std::array<std::string_view, 12> kWanted{"sse4_2",      "avx",         "avx2",     "fma",
                                                       "f16c",        "avx512f",     "avx512bw", "avx512_vnni",
                                                       "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile"};
    const std::string flags = " " + cpuInfo("flags") + " ";
#else
    constexpr std::array<std::string_view, 5> kWanted{"asimd", "asimdhp", "sve", "sve2", "bf16"};
    const std::string flags = " " + cpuInfo("Features") + " ";
#endif
    std::string found;
    for (const std::string_view set : kWanted) {
        if (flags.find(fmt::format(" {} ", set)) == std::string::npos) continue;
        if (!found.empty()) found += ' ';
        found += set;
    }
    return found;
}

std::string compiler()
{
#if defined(__clang__)
    return fmt::format("Clang {}", __clang_version__);
#elif defined(__GNUC__)
    return fmt::format("GCC {}", __VERSION__);
#else
    return {};
#endif
}

std::string usableCores()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::to_string(CPU_COUNT(&set));
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? std::to_string(online) : std::string();
}

std::string memoryBytes()
{
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long size = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? std::to_string(int64_t{pages} * size) : std::string();
}

std::string utcNow()
{
    const time_t now = ::time(nullptr);
    tm parts{};
    if (::gmtime_r(&now, &parts) == nullptr) return {};
    char text[32];
    return std::string(text, ::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

} // namespace

std::vector<session::EnvironmentRow> collectEnvironment(const std::filesystem::path& directory)
{
    Rows rows;
    add(rows, "tool.version", STEPSCOPE_VERSION);
    add(rows, "tool.compiler", compiler());
    if (utsname names{}; ::uname(&names) == 0)
        add(rows, "os.kernel", fmt::format("{} {} {}", names.sysname, names.release, names.machine));
    add(rows, "cpu.model", cpuInfo("model name"));
    add(rows, "cpu.cores", usableCores());
    add(rows, "cpu.isa", instructionSets());
    add(rows, "cpu.governor", firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    add(rows, "memory.bytes", memoryBytes());
    add(rows, "memory.hugepages", firstLine("/sys/kernel/mm/transparent_hugepage/enabled"));
    add(rows, "clock", detail::kUseTsc ? "tsc" : "monotonic");
    add(rows, "perf_event_paranoid", firstLine("/proc/sys/kernel/perf_event_paranoid"));
    for (const char* name :
         {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "GOMP_CPU_AFFINITY",
          "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_VERBOSE", "MALLOC_ARENA_MAX", "LD_PRELOAD"})
        if (const char* value = std::getenv(name)) add(rows, fmt::format("env.{}", name), value);
    const std::string revision = gitRevision(directory);
    add(rows, "git.revision", revision);
    if (!revision.empty()) add(rows, "git.state", gitState(directory));
    add(rows, "start", utcNow());
    return rows;
}

} // namespace stepscope::recording
