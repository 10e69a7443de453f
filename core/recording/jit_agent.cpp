// The agent that libraries with a just-in-time compiler load because INTEL_JIT_PROFILER64 names it: it passes on what
// code they make. The interface is that of Intel's JIT profiling API, which knows it as a library with two functions.
// Owner: core/recording, as a library of its own. Thread: any.
#include <atomic>
#include <cstdint>

namespace {

using Listener = void (*)(const char* name, uint64_t address, uint64_t size);
std::atomic<Listener> g_listener{nullptr};

constexpr int kMethodLoadFinished = 13;
constexpr int kSamplingOn = 1;

// The start of iJIT_Method_Load.
struct MethodLoad {
    unsigned id;
    const char* name;
    void* address;
    unsigned size;
};

} // namespace

extern "C" {

__attribute__((visibility("default"))) void stepscopeSetCodeListener(Listener listener) { g_listener.store(listener); }

__attribute__((visibility("default"))) unsigned Initialize() { return kSamplingOn; }

__attribute__((visibility("default"))) unsigned NotifyEvent(unsigned event, void* data)
{
    const Listener listener = g_listener.load();
    if (event != kMethodLoadFinished || data == nullptr || listener == nullptr) return 1;
    const auto* load = static_cast<const MethodLoad*>(data);
    listener(load->name != nullptr ? load->name : "", reinterpret_cast<uint64_t>(load->address), load->size);
    return 1;
}

} // extern "C"
