#include "core/onednn/onednn_backend.h"

#include "core/onednn/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <omp.h>

namespace stepscope::onednn {
namespace {

std::string versionText()
{
    const dnnl_version_t* v = dnnl_version();
    return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

std::string isaText(dnnl::cpu_isa isa)
{
    switch (isa) {
    case dnnl::cpu_isa::sse41: return "SSE4.1";
    case dnnl::cpu_isa::avx: return "AVX";
    case dnnl::cpu_isa::avx2: return "AVX2";
    case dnnl::cpu_isa::avx2_vnni: return "AVX2 + VNNI";
    case dnnl::cpu_isa::avx512_core: return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni: return "AVX-512 + VNNI";
    case dnnl::cpu_isa::avx512_core_bf16: return "AVX-512 + BF16";
    default: return fmt::format("oneDNN ISA {:#x}", static_cast<unsigned>(isa)); // newer than this list
    }
}

std::string processorName()
{
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (const size_t colon = line.find(": "); line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
    return "unknown processor";
}

// OMP_NUM_THREADS is respected. Asked once: networks change the number for their own thread.
int availableThreads()
{
    static const int threads = std::min(omp_get_max_threads(), omp_get_num_procs());
    return threads;
}

class OneDnnBackend final : public engine::Backend {
public:
    explicit OneDnnBackend(BackendSettings settings)
        : m_memory(std::move(settings.tuningFile),
                   fmt::format("{}/{}/{} cpus/oneDNN {}/", processorName(), isaText(dnnl::get_effective_cpu_isa()), availableThreads(), versionText()),
                   settings.freshTuning ? TuningMemory::Start::fresh : TuningMemory::Start::remembering)
    {
        // The library's cache answers a request with the implementation made last for the same problem, so that "the second
        // implementation" would mean another one each time. We make every primitive once; the cache has nothing to give.
        dnnl::set_primitive_cache_capacity(0);
    }

    std::string name() const override { return "oneDNN"; }

    std::vector<std::pair<std::string, std::string>> environment() const override
    {
        return {{"library.onednn", versionText()},
                {"library.onednn.hash", dnnl_version()->hash},
                {"library.onednn.isa", isaText(dnnl::get_effective_cpu_isa())},
                {"openmp.max_threads", std::to_string(availableThreads())}};
    }

    base::Status selfCheck() override
    {
        if (auto status = checkReorder(); !status) return status;
        return checkConvolution();
    }

    base::Result<std::unique_ptr<engine::Network>> build(const model::ModelFile& file, const engine::BuildOptions& options,
                                                         const engine::Recording& recording, std::stop_token stop,
                                                         const base::Progress& progress, bool wantInputGradient) override
    {
        try {
            auto network = std::make_unique<OneDnnNetwork>(file, options, recording, m_memory, availableThreads(), wantInputGradient);
            if (auto status = network->build(stop, progress); !status) return base::fail(status.error());
            return network;
        } catch (const std::exception& e) {
            return base::fail(base::ErrorCode::internal, fmt::format("building the network failed: {}", e.what()), {.file = file.file});
        }
    }

private:
    TuningMemory m_memory;
};

} // namespace

std::unique_ptr<engine::Backend> createBackend(BackendSettings settings)
{
    return std::make_unique<OneDnnBackend>(std::move(settings));
}

std::string defaultTuningFile()
{
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') return std::string(cache) + "/stepscope/onednn-tuning";
    if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return std::string(home) + "/.cache/stepscope/onednn-tuning";
    return {};
}

} // namespace stepscope::onednn
