// Vocabulary of a session: phases, span kinds and the rows of its small tables.
// Owner: core/session. Thread: plain values. Units: ns, bytes, floating-point operations (FLOP).
#pragma once

#include "core/base/ids.h"
#include "core/base/time_ns.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::session {

using base::CounterId;
using base::FrameId;
using base::LabelId;
using base::LayerId;
using base::PrimitiveId;
using base::SeriesId;
using base::StackId;
using base::StringId;
using base::TimeNs;
using base::TrackId;

// Part of a training step. The numeric values are written to files: append only.
enum class Phase : uint8_t {
    none = 0,
    setup = 1,        // before the first step: self-check, creation of primitives, tuning
    dataWait = 2,     // the training thread waits for the loader
    hostToDevice = 3, // the batch enters the backend's memory
    forward = 4,
    loss = 5,
    backward = 6,
    optimiser = 7,
    deviceToHost = 8, // results leave the backend's memory
    loading = 9,      // work of a loader thread, beside the step
    evaluation = 10,  // test accuracy between epochs, not part of a step
};
inline constexpr int kPhaseCount = 11;

// English name as shown ("data wait", "forward", ...) and stable key ("data-wait", "forward", ...).
std::string_view phaseName(Phase phase);
// Whether oneDNN's name of an implementation tells of its slow reference code, also inside of a wrapper: "ref:any",
// "jit_uni_ncsp_convolution:conv+ref:any".
bool isReferenceImplementation(std::string_view name);
std::string_view phaseKey(Phase phase);

// What a span measures. The numeric values are written to files: append only.
enum class SpanKind : uint8_t {
    other = 0,
    step = 1,      // one training step, children are phases
    phase = 2,     // children are layers
    layer = 3,     // children are layers (containers) or primitives
    primitive = 4, // one execution of a backend primitive
    creation = 5,  // making primitives (compilation, tuning); a cost of the first step or of setup
    task = 6,      // work of a helper thread, e.g. a loader making one batch
    // From here on found in traces of other tools.
    operation = 7,   // host operator of a framework ("aten::mm")
    call = 8,        // runtime or driver API call ("cudaLaunchKernel")
    kernel = 9,      // on a device
    copy = 10,       // memory copy on a device
    fill = 11,       // memset on a device
    synchronisation = 12, // waiting for the device, on the host or between streams
    annotation = 13, // range named by the user (NVTX, record_function) on the host
    deviceAnnotation = 14, // the same range as it shows on the device
    function = 15,   // function of an interpreter ("train.py(12): step")
    overhead = 16,   // of the tool that recorded
    communication = 17, // collective between devices
    instant = 18,    // a mark at one time: no length
};
inline constexpr int kSpanKindCount = 19;
std::string_view spanKindName(SpanKind kind);

// Flags of a primitive, shown and coloured by the views. Bits are written to files: append only.
enum PrimitiveFlag : uint32_t {
    kReference = 1u << 0, // the library's slow reference implementation ("ref")
    kReorder = 1u << 1,   // a layout conversion
    kNaive = 1u << 2,     // our deliberately naive code
    kJit = 1u << 3,       // code generated at run time
};

// What is equal for all spans of one kind of event; a span row refers to one label.
struct Label {
    StringId name;
    SpanKind kind = SpanKind::other;
    Phase phase = Phase::none;
    LayerId layer;         // none outside layers
    PrimitiveId primitive; // set for kind primitive only
    StringId category;     // as the file of another tool has it; none in recorded sessions
    friend bool operator==(const Label&, const Label&) = default;
};

// What a track stands for. The numeric values are written to files: append only.
enum class TrackKind : uint8_t {
    thread = 0,
    stream = 1,       // queue of a device: kernels, copies
    asynchronous = 2, // spans with a life of their own, on no thread
    group = 3,        // a process or device as a whole, e.g. for counters and markers
};
inline constexpr int kTrackKindCount = 4;
std::string_view trackKindName(TrackKind kind);

// One row of a timeline. Spans of one track nest; spans that overlap without nesting are put on further lanes, which
// are tracks that differ in `lane` alone.
struct Track {
    std::string name;     // "training", "loader 0", ...
    int64_t threadId = 0; // of the operating system, or the number of the stream; 0 when unknown
    TrackKind kind = TrackKind::thread;
    int64_t processId = 0;
    std::string process;  // its name; "" when unknown
    std::string group;    // of the file it came from, e.g. "rank 1"; "" when there is only one
    int32_t device = -1;  // of a stream; -1 on the host
    int32_t lane = 0;     // above 0: for spans that overlapped those on the lanes before
    int32_t sortIndex = 0; // lower first, then in table order
};

// Name with the group before it, where there is one: "rank 1: training".
std::string trackTitle(const Track& track);

// What a frame is, for its colour and for filters. Bits are written to files: append only.
enum FrameFlag : uint32_t {
    kSlowPath = 1u << 0,      // reference code, reorders the library put in, creation within a warm step
    kAllocation = 1u << 1,    // allocator or page fault
    kGenerated = 1u << 2,     // code generated at run time
    kLibraryCode = 1u << 3,   // in a shared library
    kKernelMode = 1u << 4,    // in the operating system
    kOwnCode = 1u << 5,       // in the program itself
    kInlined = 1u << 6,       // inlined into its caller
    kWaiting = 1u << 7,       // off the processor, or waiting in a loop of OpenMP
    kApproximate = 1u << 8,   // found by searching the stack, not by exact rules
    kTruncated = 1u << 9,     // the stack below (towards the thread's start) is missing
    kFolded = 1u << 10,       // stands for several frames without names
};

// One place in the code. Equal rows are one frame.
struct FrameRow {
    StringId function;   // whole, demangled; for generated code the library's name of the kernel
    StringId module;     // file name of the program or library, "" unknown
    StringId file;       // source file, none when unknown
    int32_t line = 0;    // 0 unknown
    uint64_t address = 0; // in the module's file, 0 unknown or merged
    uint32_t flags = 0;  // FrameFlag
    PrimitiveId primitive; // of generated code whose primitive is known
    friend bool operator==(const FrameRow&, const FrameRow&) = default;
};

// Stacks form a tree: each is one frame called from a parent stack. Parents stand before their children.
struct StackRow {
    StackId parent; // none: the outermost frame (the thread's start)
    FrameId frame;
    friend bool operator==(const StackRow&, const StackRow&) = default;
};

// How a series of samples was taken. The numeric values are written to files: append only.
enum class SeriesKind : uint8_t {
    other = 0,
    cpuTime = 1,        // threads that run; weight in ns
    wallTime = 2,       // every thread, running or not; weight in ns
    allocatedBytes = 3,
    allocations = 4,
    hits = 5,           // of a counter or tracepoint
    // Sums by label and step, without stacks: every allocation counts. For tables, not for trees.
    countedAllocations = 6,
    countedBytes = 7,
    countedTime = 8,    // in the allocator, in ns
};
inline constexpr int kSeriesKindCount = 9;
constexpr bool hasStacks(SeriesKind kind) { return kind < SeriesKind::countedAllocations; }
std::string_view seriesKindName(SeriesKind kind);

// One kind of weight that stacks were sampled by. Series are never added to each other.
struct SeriesRow {
    std::string name;    // "cpu time", "cycles", "alloc_space", ...
    std::string unit;    // "ns", "bytes", "" for a plain count
    SeriesKind kind = SeriesKind::other;
    bool timed = true;   // false: the samples have no times (collapsed stacks)
    bool isDefault = false; // shown first
};

struct StepRow {
    int64_t index = 0; // 0-based number of the step since the start of training; unique in the session
    int32_t epoch = 0; // 0-based
    bool warmup = false; // left out of statistics
    TimeNs start = 0;
    TimeNs duration = 0;
    int32_t samples = 0; // batch size of this step
    double loss = 0;     // mean over the batch; NaN when not known
    // Disturbances during the step. "thread" counts the training thread alone, "process" every thread.
    int32_t threadInvoluntarySwitches = 0;
    int32_t threadMinorFaults = 0;
    int32_t threadMajorFaults = 0;
    int32_t processInvoluntarySwitches = 0;
    int32_t processMinorFaults = 0;
    // Of several files that are one session: the group of the tracks that ran the step, and what was added to the
    // number of the file so that no two steps share one.
    StringId group;
    int64_t indexShift = 0;

    int64_t number() const { return index - indexShift; } // as the user knows it
    // A step is disturbed when the system interfered with the training thread.
    bool disturbed() const { return threadInvoluntarySwitches > 0 || threadMinorFaults > 0 || threadMajorFaults > 0; }
};

struct LayerRow {
    std::string name;  // last part of the path, "conv1" or "3"
    std::string path;  // "features.conv1"; empty for the whole model
    std::string type;  // "Conv", "Dense", "Chain", ...
    std::string text;  // as Flux prints it: "Conv((5, 5), 1 => 6, relu)"
    LayerId parent;    // none for the whole model
    std::string input; // shapes as Flux prints them, "(28, 28, 1, 64)"
    std::string output;
    int64_t parameters = 0;     // number of trainable values, children included
    int64_t forwardFlop = 0;    // per step at the recorded batch size, children included
    int64_t backwardFlop = 0;
    int64_t forwardBytes = 0;   // minimum memory traffic: inputs + parameters + outputs, float32
    int64_t backwardBytes = 0;
    friend bool operator==(const LayerRow&, const LayerRow&) = default;
};

struct PrimitiveRow {
    std::string name;           // "conv1 forward", "conv1 weights gradient", ...
    std::string kind;           // "convolution", "inner_product", "reorder", ...
    std::string implementation; // the library's name, "jit:avx512_core"
    std::string formats;        // "src:nchw wei:Acdb16a dst:nChw16c"
    LayerId layer;
    Phase phase = Phase::none;
    int64_t flop = 0;  // per execution
    int64_t bytes = 0; // per execution, inputs + outputs
    int32_t threads = 1;
    uint32_t flags = 0; // PrimitiveFlag
    friend bool operator==(const PrimitiveRow&, const PrimitiveRow&) = default;
};

struct CounterRow {
    std::string name; // "loss", "queue depth", ...
    std::string unit; // "", "samples", "bytes", ...
};

struct EnvironmentRow {
    std::string key; // "tool.version", "library.onednn", "cpu.model", "threads", "git.revision", "option.batch", ...
    std::string value;
};

// Something skipped, repaired, clamped or lost, counted by reason.
struct QualityRow {
    std::string code;    // stable: "cut-short", "lost-spans", "damaged-chunk", ...
    int64_t count = 0;
    std::string message; // one English sentence
    std::string places;  // the first places in an imported file: "line 12, byte 345; line 80, byte 2101"
};

} // namespace stepscope::session
