// What naming an address costs: CPU time per new address of a module, the opening of its files included.
// Addresses lie evenly over the code of each file, which is worse than a profile, whose addresses are close together.
#include "core/recording/code_names.h"
#include "core/recording/elf_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

using namespace stepscope::recording;

namespace {

double cpuMicroseconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

std::vector<uint64_t> addressesOf(const std::string& path, size_t count)
{
    std::vector<uint64_t> addresses;
    const auto file = ElfFile::open(path);
    if (!file) return addresses;
    for (const ElfFile::Section& section : file->codeSections()) {
        if (section.name != ".text") continue;
        const uint64_t step = std::max<uint64_t>(1, (section.end - section.begin) / count);
        for (uint64_t address = section.begin; address < section.end && addresses.size() < count; address += step)
            addresses.push_back(address);
    }
    return addresses;
}

} // namespace

// bench_symbols [COUNT [FILE...]]
int main(int argc, char** argv)
{
    const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 650;
    std::vector<std::string> files;
    for (int i = 2; i < argc; ++i)
        files.push_back(std::filesystem::absolute(argv[i]).string());
    if (files.empty()) files.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
    CodeNames names;
    for (const std::string& file : files) {
        const std::vector<uint64_t> addresses = addressesOf(file, count);
        size_t named = 0, lines = 0, frames = 0;
        const double start = cpuMicroseconds();
        for (const uint64_t address : addresses) {
            const auto found = names.resolve({file, address});
            named += !found.empty();
            frames += found.size();
            lines += !found.empty() && found.front().line > 0;
        }
        const double first = cpuMicroseconds() - start;
        for (const uint64_t address : addresses)
            names.resolve({file, address});
        const double second = cpuMicroseconds() - start - first;
        const double n = static_cast<double>(std::max<size_t>(1, addresses.size()));
        fmt::print("{}: {} addresses, {:.1f} us each when new, {:.1f} us asked again; {} named, {} with a line, {} frames\n", file,
            addresses.size(), first / n, second / n, named, lines, frames);
    }
}
