#include "core/recording/stack_capture.h"

#include "core/recording/clock.h"
#include "core/recording/raw_copy.h"
#include "core/recording/thread_registry.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

constexpr size_t kUsualStackBytes = 64 * 1024;
constexpr size_t kMaxStackBytes = 256 * 1024;
constexpr size_t kOtherBytes = 256;  // where oneDNN's matrix kernels keep the stack pointer they replaced
constexpr uint64_t kRedZone = 128;   // below the stack pointer, in use all the same; rules of gcc refer to it
constexpr uint64_t kPage = 4096;

using OtherMemory = std::array<std::byte, kOtherBytes>;

// Copies from an address that need not be valid, by the kernel, which reports what this thread would fault on. Returns
// the number of bytes there are, in whole words. The pages are named apart, as the kernel may give each whole or not at all.
uint32_t copyOther(uint64_t address, OtherMemory& to)
{
    const uint64_t first = std::min<uint64_t>(kOtherBytes, kPage - (address & (kPage - 1)));
    const iovec local{to.data(), to.size()};
    const iovec remote[2] = {{reinterpret_cast<void*>(address), first}, {reinterpret_cast<void*>(address + first), kOtherBytes - first}};
    const long got = ::syscall(SYS_process_vm_readv, ::getpid(), &local, 1UL, remote, first < kOtherBytes ? 2UL : 1UL, 0UL);
    return got > 0 ? static_cast<uint32_t>(got) & ~uint32_t{7} : 0;
}

uint32_t upToEnd(const RegisteredThread& thread, uint64_t from, size_t most)
{
    return static_cast<uint32_t>(std::min<uint64_t>((thread.stackHigh - from) & ~uint64_t{7}, most));
}

void takeStack(RawSample& sample, const RegisteredThread& thread, uint64_t from, size_t most = kMaxStackBytes)
{
    sample.stackAddress = from;
    sample.stackBytes = upToEnd(thread, from, most); // one that is cut ends early
}

// The first word that points into [low, high); 0 when there is none.
uint64_t findPointer(const std::byte* memory, uint64_t bytes, uint64_t low, uint64_t high)
{
    for (uint64_t offset = 0; offset + 8 <= bytes; offset += 8) {
        uint64_t word;
        rawCopy(&word, memory + offset, sizeof(word));
        if (word >= low && word < high && (word & 7) == 0) return word;
    }
    return 0;
}

// The stack pointer points elsewhere: the true one may be in the memory there.
void takeSwitchedStack(RawSample& sample, OtherMemory& other, const RegisteredThread& thread, uint64_t sp)
{
    if ((sp & 7) != 0) return;
    sample.otherAddress = sp;
    sample.otherBytes = copyOther(sp, other);
    const uint64_t old = findPointer(other.data(), sample.otherBytes, thread.stackLow, thread.stackHigh);
    if (old != 0) takeStack(sample, thread, old);
}

// oneDNN's matrix kernels may have their work space on the stack, the old stack pointer at its begin: where that space is
// large, it is left out from the copy, but not the frames of the callers beyond. Returns where these begin.
const void* takeOwnStack(RawSample& sample, const RegisteredThread& thread, uint64_t sp)
{
    const uint64_t aligned = sp & ~uint64_t{7};
    takeStack(sample, thread, aligned - kRedZone, kUsualStackBytes);
    const uint64_t end = sample.stackAddress + sample.stackBytes;
    if (end + 8 > thread.stackHigh) return nullptr;
    const uint64_t old = findPointer(reinterpret_cast<const std::byte*>(aligned), kOtherBytes, end, thread.stackHigh);
    if (old == 0 || old - sample.stackAddress < kMaxStackBytes / 2) { // near enough to copy all that lies between
        takeStack(sample, thread, sample.stackAddress);
        return nullptr;
    }
    sample.otherAddress = old;
    sample.otherBytes = upToEnd(thread, old, kMaxStackBytes);
    return reinterpret_cast<const void*>(old);
}

bool capture(RegisteredThread& thread, SampleRing& ring, RawSample& sample) noexcept
{
    const ThreadMarker& marker = markerOf(thread);
    sample.ticks = ticks();
    sample.label = marker.label.load(std::memory_order_relaxed);
    sample.step = marker.step.load(std::memory_order_relaxed);
    OtherMemory other;
    const void* second = other.data();
    const uint64_t sp = sample.registers[kStackRegister];
    if (sp >= thread.stackLow + kRedZone && sp < thread.stackHigh) {
        second = takeOwnStack(sample, thread, sp);
    } else {
        takeSwitchedStack(sample, other, thread, sp);
    }
    sample.size = static_cast<uint32_t>(sizeof(sample)) + sample.stackBytes + sample.otherBytes;
    if (!ring.reserve(sample.size)) return false;
    ring.put(&sample, sizeof(sample));
    ring.put(reinterpret_cast<const void*>(sample.stackAddress), sample.stackBytes);
    ring.put(second, sample.otherBytes);
    ring.commit();
    return true;
}

#if defined(__x86_64__)

RegisterValues registersOf(const ucontext_t& context)
{
    constexpr int kOrder[kRegisters] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    RegisterValues values;
    for (int i = 0; i < kRegisters; ++i)
        values[static_cast<size_t>(i)] = static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[i]]);
    return values;
}

__attribute__((always_inline)) inline RegisterValues registersHere()
{
    RegisterValues r{};
    asm volatile("movq %%rbx, %0\n\tmovq %%rbp, %1\n\tmovq %%r12, %2\n\tmovq %%r13, %3" : "=m"(r[3]), "=m"(r[6]), "=m"(r[12]), "=m"(r[13]));
    asm volatile("movq %%r14, %0\n\tmovq %%r15, %1\n\tmovq %%rsp, %2" : "=m"(r[14]), "=m"(r[15]), "=m"(r[7]));
    asm volatile("leaq 0(%%rip), %%rax\n\tmovq %%rax, %0" : "=m"(r[16]) : : "rax");
    return r;
}

#else

RegisterValues registersOf(const ucontext_t&) { return {}; }
inline RegisterValues registersHere() { return {}; }

#endif

// The thread's mark that it is writing; false when it was set: a signal came while captureHere() writes.
class Capturing {
public:
    explicit Capturing(RegisteredThread& thread) noexcept : m_thread(thread), m_first(thread.capturing.exchange(1) == 0) {}
    ~Capturing()
    {
        if (m_first) m_thread.capturing.store(0, std::memory_order_release);
    }
    Capturing(const Capturing&) = delete;
    Capturing& operator=(const Capturing&) = delete;
    bool first() const { return m_first; }

private:
    RegisteredThread& m_thread;
    bool m_first;
};

void onSampleSignal(int, siginfo_t* info, void* context)
{
    RegisteredThread* thread = currentThread();
    if (thread == nullptr || info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE) return;
    const int savedErrno = errno;
    {
        const Capturing mark(*thread);
        SampleRing* ring = thread->ring.load();
        int64_t weight = thread->weight.load(std::memory_order_relaxed);
        if (info->si_code == SI_TIMER) weight *= 1 + info->si_overrun;
        if (ring != nullptr && !mark.first()) thread->deferred.fetch_add(weight, std::memory_order_relaxed);
        if (ring != nullptr && mark.first()) {
            RawSample sample;
            sample.registers = registersOf(*static_cast<const ucontext_t*>(context));
            sample.weight = weight + thread->deferred.exchange(0, std::memory_order_relaxed);
            capture(*thread, *ring, sample);
        }
    }
    errno = savedErrno;
}

bool isOurs(const struct sigaction& action)
{
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == onSampleSignal;
}

} // namespace

base::Status installSampleHandler()
{
    struct sigaction old{};
    ::sigaction(kSampleSignal, nullptr, &old);
    if (isOurs(old)) return {};
    const bool free = (old.sa_flags & SA_SIGINFO) == 0 && (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN);
    if (!free) {
        return base::fail(base::ErrorCode::unavailable, "the program has a handler of its own for SIGPROF, so stacks cannot be sampled", {},
                          "switch off the other profiler that uses SIGPROF");
    }
    struct sigaction action{};
    action.sa_sigaction = onSampleSignal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    if (::sigaction(kSampleSignal, &action, nullptr) != 0)
        return base::fail(base::ErrorCode::unavailable, "the system refuses a handler for SIGPROF");
    return {};
}

bool sampleHandlerInstalled() noexcept
{
    struct sigaction now{};
    return ::sigaction(kSampleSignal, nullptr, &now) == 0 && isOurs(now);
}

bool captureHere(SampleKind kind, int64_t weight, int64_t bytes) noexcept
{
    RegisteredThread* thread = currentThread();
    if (thread == nullptr) return false;
    const Capturing mark(*thread);
    SampleRing* ring = thread->ring.load();
    if (ring == nullptr || !mark.first()) return false;
    RawSample sample;
    sample.registers = registersHere();
    sample.kind = kind;
    sample.weight = weight;
    sample.bytes = bytes;
    const bool captured = capture(*thread, *ring, sample);
    // A signal that came meanwhile found the ring in use; its sample would have been of this place.
    if (const int64_t deferred = thread->deferred.exchange(0, std::memory_order_relaxed); deferred > 0) {
        RawSample late;
        late.registers = sample.registers;
        late.weight = deferred;
        capture(*thread, *ring, late);
    }
    return captured;
}

} // namespace stepscope::recording
