#include "core/recording/sample_sender.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace stepscope::recording {

namespace {

using session::FrameRow;
namespace flag = session; // FrameFlag and PrimitiveFlag

constexpr uint32_t kSlowPrimitive = session::kReference | session::kReorder | session::kNaive;
constexpr std::string_view kOneDnnName = "oneDNN internals";
constexpr std::string_view kOpenMpName = "OpenMP runtime";
constexpr std::string_view kOpenMpWaitName = "OpenMP wait";
constexpr std::string_view kRunnableName = "(waiting for a processor)";
constexpr std::string_view kMissingName = "(start of the stack not found)";

bool isOneDnn(std::string_view module) { return module.starts_with("libdnnl") || module.starts_with("libmkldnn"); }

// The allocator and what it asks the system for, by the names that a program calls them.
bool allocates(std::string_view function)
{
    constexpr std::array<std::string_view, 26> kNames{
        "malloc", "free", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc", "cfree",
        "__libc_malloc", "__libc_free", "__libc_calloc", "__libc_realloc", "__libc_memalign", "_int_malloc", "_int_free",
        "malloc_consolidate", "sysmalloc", "systrim", "mmap", "mmap64", "munmap", "madvise", "brk", "sbrk"};
    if (function.starts_with("operator new") || function.starts_with("operator delete")) return true;
    return std::find(kNames.begin(), kNames.end(), function) != kNames.end();
}

// Code of ours that runs within an allocation.
bool isCounting(const SymbolFrame& symbol)
{
    constexpr std::array<std::string_view, 3> kFiles{"/allocation_hooks.cpp", "/allocation_counter.cpp", "/stack_capture.cpp"};
    return std::any_of(kFiles.begin(), kFiles.end(), [&](std::string_view file) { return symbol.file.ends_with(file); });
}

bool waits(std::string_view function)
{
    return function.find("barrier") != std::string_view::npos || function.find("wait") != std::string_view::npos;
}

} // namespace

SampleSender::SampleSender(Recorder& recorder, std::unique_ptr<Symbolizer> symbolizer)
    : m_recorder(recorder), m_symbolizer(std::move(symbolizer))
{
}

SampleSender::~SampleSender() = default;

size_t SampleSender::KeyHash::operator()(const Key& key) const noexcept
{
    const uint64_t h = (uint64_t{key.stack} << 32 | key.primitive) * 0x9e3779b97f4a7c15u ^ key.leafFlags * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

void SampleSender::take(const SampledBatch& batch)
{
    m_modules.insert(m_modules.end(), batch.modules.begin(), batch.modules.end());
    m_names.insert(m_names.end(), batch.names.begin(), batch.names.end());
    m_rawFrames.insert(m_rawFrames.end(), batch.frames.begin(), batch.frames.end());
    m_rawStacks.insert(m_rawStacks.end(), batch.stacks.begin(), batch.stacks.end());
    m_frames.resize(m_rawFrames.size());
    for (const SampledThread& thread : batch.threads)
        m_tracks.push_back(m_recorder.trackOfThread(thread.serial, thread.id, thread.name));
}

void SampleSender::makeSeries(const SampledBatch& batch)
{
    if (batch.generation != m_generation) { // cleared: what comes now stands for itself
        m_generation = batch.generation;
        m_cpu = m_wall = m_allocated = m_allocations = {};
    }
    using session::SeriesKind;
    const bool wall = batch.wall;
    if (wall && !m_wall.valid()) m_wall = m_recorder.addSeries({"wall-clock time", "ns", SeriesKind::wallTime, true, true});
    if (!m_cpu.valid()) m_cpu = m_recorder.addSeries({"cpu time", "ns", SeriesKind::cpuTime, true, !wall});
}

// Twice: by bytes, and by the number of allocations that each stands for.
void SampleSender::sendAllocations(std::vector<session::SampleRecord> bytes, const std::vector<double>& counts)
{
    if (bytes.empty()) return;
    if (!m_allocated.valid()) {
        m_allocated = m_recorder.addSeries({"allocated bytes", "bytes", session::SeriesKind::allocatedBytes, true, false});
        m_allocations = m_recorder.addSeries({"allocations", "", session::SeriesKind::allocations, true, false});
    }
    std::vector<session::SampleRecord> allocations;
    for (size_t i = 0; i < bytes.size(); ++i) {
        m_countLeft += counts[i]; // whole numbers are written; what is left over goes to the next one
        session::SampleRecord row = bytes[i];
        row.weight = static_cast<int64_t>(m_countLeft);
        m_countLeft -= static_cast<double>(row.weight);
        if (row.weight > 0) allocations.push_back(row);
    }
    m_recorder.addSamples(m_allocated, std::move(bytes));
    m_recorder.addSamples(m_allocations, std::move(allocations));
}

void SampleSender::send(const SampledBatch& batch, const TickClock& clock)
{
    take(batch);
    if (batch.samples.empty()) return;
    makeSeries(batch);
    std::vector<session::SampleRecord> cpu, wall, allocated;
    std::vector<double> counts;
    for (const StackSample& sample : batch.samples) {
        const session::SampleRecord row = record(sample, clock);
        if (sample.kind == StackSample::Kind::allocation) {
            allocated.push_back(row);
            counts.push_back(sample.count);
            continue;
        }
        if (sample.kind == StackSample::Kind::cpu) cpu.push_back(row);
        if (m_wall.valid()) wall.push_back(row);
    }
    m_recorder.addSamples(m_cpu, std::move(cpu));
    if (m_wall.valid()) m_recorder.addSamples(m_wall, std::move(wall));
    sendAllocations(std::move(allocated), counts);
}

session::SampleRecord SampleSender::record(const StackSample& sample, const TickClock& clock)
{
    session::SampleRecord row;
    row.time = clock.toNs(sample.ticks);
    row.weight = sample.weight;
    row.label = LabelId(sample.label);
    row.step = sample.step;
    row.track = m_tracks[sample.thread];
    uint32_t stack = sample.stack;
    if (sample.kind == StackSample::Kind::allocation)
        while (stack != kNoStack && frame(m_rawStacks[stack].frame).counting)
            stack = m_rawStacks[stack].parent;
    row.stack = stackOf(stack, contextOf(sample, m_recorder.labelRow(row.label)));
    return row;
}

SampleSender::Context SampleSender::contextOf(const StackSample& sample, const session::Label& label)
{
    Context context;
    context.primitive = label.primitive;
    if (sample.kind == StackSample::Kind::blocked) context.leafFlags |= flag::kWaiting;
    if (sample.kind == StackSample::Kind::allocation) context.leafFlags |= flag::kAllocation;
    const bool slowPrimitive = label.primitive.valid() && (m_recorder.primitiveFlags(label.primitive) & kSlowPrimitive) != 0;
    // Making primitives is the cost of the first step; later on it is a mistake.
    const bool lateCreation = label.kind == session::SpanKind::creation && sample.step > 0;
    if (slowPrimitive || lateCreation) context.leafFlags |= flag::kSlowPath;
    return context;
}

base::StackId SampleSender::stackOf(uint32_t stack, const Context& context)
{
    if (stack == kNoStack) return {};
    // From the leaf towards the root until a stack that is known; then back.
    std::vector<std::pair<uint32_t, Key>> chain;
    base::StackId at;
    bool leaf = true;
    for (uint32_t raw = stack; raw != kNoStack; raw = m_rawStacks[raw].parent) {
        Key key{raw, base::PrimitiveId::kNone, leaf ? context.leafFlags : 0};
        if (m_rawStacks[raw].generated) key.primitive = context.primitive.value;
        leaf = false;
        if (const auto known = m_stacks.find(key); known != m_stacks.end()) {
            at = known->second;
            break;
        }
        chain.emplace_back(raw, key);
    }
    for (auto step = chain.rbegin(); step != chain.rend(); ++step) {
        const auto& [raw, key] = *step;
        Context own{base::PrimitiveId(key.primitive), key.leafFlags};
        at = append(at, frame(m_rawStacks[raw].frame), own, raw == stack);
        m_stacks.emplace(key, at);
    }
    return at;
}

base::StackId SampleSender::append(base::StackId parent, const Frame& frame, const Context& context, bool leaf)
{
    uint32_t leafFlags = leaf ? context.leafFlags | (frame.waits ? uint32_t{flag::kWaiting} : 0) : 0;
    // A thread that waits while a slow primitive runs is not itself on a slow path.
    if ((leafFlags & flag::kWaiting) != 0) leafFlags &= ~uint32_t{flag::kSlowPath};
    if (frame.nameless) return fold(parent, frame, leafFlags, leaf);
    for (const FrameRow& made : frame.rows) {
        FrameRow row = made;
        const bool last = &made == &frame.rows.back();
        if ((row.flags & flag::kGenerated) != 0) row.primitive = context.primitive;
        if (last) row.flags |= leafFlags;
        parent = m_recorder.stack({parent, m_recorder.frame(row)});
    }
    return parent;
}

// A run of frames without names says nothing: one frame stands for it.
base::StackId SampleSender::fold(base::StackId parent, const Frame& frame, uint32_t leafFlags, bool leaf)
{
    const auto before = m_folds.find(parent.value);
    const bool joins = before != m_folds.end() && before->second.module == frame.module;
    const base::StackId below = joins ? before->second.below : parent;
    FrameRow row = frame.rows.front();
    const bool openMp = m_modules[frame.module].openMp;
    row.function = m_recorder.string(!openMp ? kOneDnnName : leaf ? kOpenMpWaitName : kOpenMpName);
    row.address = 0;
    row.flags |= flag::kFolded | leafFlags;
    const base::StackId made = m_recorder.stack({below, m_recorder.frame(row)});
    m_folds.insert_or_assign(made.value, Fold{below, frame.module});
    return made;
}

const SampleSender::Frame& SampleSender::frame(uint32_t index)
{
    Frame& frame = m_frames[index];
    if (!frame.named) {
        nameFrame(m_rawFrames[index], frame);
        frame.named = true;
    }
    return frame;
}

void SampleSender::nameFrame(const TrieFrame& raw, Frame& frame)
{
    FrameRow row;
    if (raw.approximate) row.flags |= flag::kApproximate;
    switch (raw.kind) {
    case TrieFrame::Kind::module: nameModuleFrame(raw, frame); return;
    case TrieFrame::Kind::generated:
        row.function = m_recorder.string(m_names[raw.place]);
        row.module = m_recorder.string("generated code");
        row.flags |= flag::kGenerated;
        break;
    case TrieFrame::Kind::unknown:
        row.function = m_recorder.string("(unknown code)");
        row.module = m_recorder.string("");
        break;
    case TrieFrame::Kind::missing:
        row.function = m_recorder.string(kMissingName);
        row.module = m_recorder.string("");
        row.flags |= flag::kTruncated;
        break;
    case TrieFrame::Kind::runnable:
        row.function = m_recorder.string(kRunnableName);
        row.module = m_recorder.string("");
        row.flags |= flag::kWaiting;
        break;
    }
    frame.rows.push_back(row);
}

void SampleSender::nameModuleFrame(const TrieFrame& raw, Frame& frame)
{
    const SampledModule& module = m_modules[raw.place];
    FrameRow row;
    row.module = m_recorder.string(module.name);
    row.address = raw.address;
    row.flags = (module.program ? flag::kOwnCode : flag::kLibraryCode) | (raw.approximate ? uint32_t{flag::kApproximate} : 0);
    std::vector<SymbolFrame> symbols;
    if (m_symbolizer != nullptr) symbols = m_symbolizer->resolve({module.path, raw.address});
    frame.module = raw.place;
    std::erase_if(symbols, [](const SymbolFrame& symbol) { return symbol.function.empty(); });
    if (symbols.empty()) {
        frame.nameless = module.openMp || isOneDnn(module.name);
        frame.waits = module.openMp;
        row.function = m_recorder.string(fmt::format("{}+{:#x}", module.name, raw.address));
        frame.rows.push_back(row);
        return;
    }
    if (isCounting(symbols.back())) { // of malloc() itself the name is enough
        frame.counting = !allocates(symbols.back().function);
        symbols.erase(symbols.begin(), symbols.end() - 1);
    }
    for (size_t i = symbols.size(); i-- > 0;) { // outermost first
        const SymbolFrame& symbol = symbols[i];
        FrameRow named = row;
        named.function = m_recorder.string(symbol.function);
        if (!symbol.file.empty()) named.file = m_recorder.string(symbol.file);
        named.line = symbol.line;
        if (i + 1 < symbols.size()) named.flags |= flag::kInlined;
        if (module.openMp && waits(symbol.function)) frame.waits = true;
        if (allocates(symbol.function)) named.flags |= flag::kAllocation;
        frame.rows.push_back(named);
    }
}

} // namespace stepscope::recording
