#include "core/recording/process_setup.h"

#include "core/recording/generated_code.h"
#include "core/recording/thread_registry.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace stepscope::recording {

namespace {

constexpr const char* kVariable = "INTEL_JIT_PROFILER64";
constexpr const char* kAgent = "libstepscope-jit-agent.so";

std::string findAgent()
{
    std::error_code problem;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
    if (problem) return {};
    const std::filesystem::path folder = program.parent_path();
    std::vector<std::filesystem::path> places{folder / kAgent, folder.parent_path() / "lib" / "stepscope" / kAgent};
#ifdef STEPSCOPE_AGENT_FOLDER
    places.emplace_back(std::filesystem::path(STEPSCOPE_AGENT_FOLDER) / kAgent); // for programs in other folders of the build
#endif
    for (const auto& place : places)
        if (std::filesystem::exists(place, problem)) return place.string();
    return {};
}

void codeLoaded(const char* name, uint64_t address, uint64_t size) { codeRegistry().add(name, address, size); }

} // namespace

bool prepareProcess()
{
    threadRegistry().addCurrentThread(nullptr, nullptr);
    const char* set = std::getenv(kVariable);
    if (set != nullptr && std::filesystem::path(set).filename() != kAgent) return false; // else inherited from one of us
    const std::string agent = findAgent();
    if (agent.empty()) return false;
    void* library = ::dlopen(agent.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    using SetListener = void (*)(void (*)(const char*, uint64_t, uint64_t));
    const auto setListener = reinterpret_cast<SetListener>(::dlsym(library, "stepscopeSetCodeListener"));
    if (setListener == nullptr) return false;
    setListener(codeLoaded);
    ::setenv(kVariable, agent.c_str(), 1);
    return true;
}

} // namespace stepscope::recording
