// libFuzzer target of the packings: gzip, zstd, xz, zip and tar, in each other. Whatever a packing claims, no more than
// the limit is unpacked, and every byte before a fault is handed out.
#include "core/importers/input.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace stepscope;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    constexpr uint64_t kLimit = uint64_t{8} << 20;
    const int file = memfd_create("packed", MFD_CLOEXEC);
    if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
    importers::InputOptions options;
    options.maxUnpackedBytes = kLimit;
    base::Result<importers::Input> input = importers::openInput("/proc/self/fd/" + std::to_string(file), options);
    if (input) {
        std::vector<char> buffer(size_t{64} << 10);
        uint64_t total = 0;
        for (;;) {
            const base::Result<size_t> read = input->bytes->read(buffer);
            if (!read || *read == 0) break;
            total += *read;
            if (total > kLimit + buffer.size()) {
                std::fprintf(stderr, "broken: the limit of unpacked bytes\n");
                std::abort();
            }
        }
    } else if (input.error().message.empty()) {
        std::abort();
    }
    ::close(file);
    return 0;
}
