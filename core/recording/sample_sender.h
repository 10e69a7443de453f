// SampleSender: turns the sampler's stacks into rows of a session: names them, marks them, folds what has no name.
// Owner: core/recording. Thread: the Collector's. Units: ticks of the probe clock in, ns out.
#pragma once

#include "core/recording/recorder.h"
#include "core/recording/sampled_batch.h"
#include "core/recording/symbolizer.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace stepscope::recording {

class SampleSender {
public:
    SampleSender(Recorder& recorder, std::unique_ptr<Symbolizer> symbolizer);
    ~SampleSender();

    void send(const SampledBatch& batch, const TickClock& clock);

private:
    // A frame of the trie is one or more rows, outermost first: functions may be inlined into each other.
    struct Frame {
        std::vector<session::FrameRow> rows;
        uint32_t module = 0;   // of a frame of a module
        bool nameless = false; // in a library whose internals have no names: folds with its neighbours
        bool waits = false;    // as a leaf: waits for other threads of OpenMP
        bool counting = false; // our own, within the replaced allocator: left out of stacks of allocations
        bool named = false;    // `rows` are made
    };
    // What a sample adds to its stack.
    struct Context {
        base::PrimitiveId primitive; // the generated code belongs to
        uint32_t leafFlags = 0;
    };
    struct Key {
        uint32_t stack = 0, primitive = 0, leafFlags = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct KeyHash {
        size_t operator()(const Key& key) const noexcept;
    };

    void take(const SampledBatch& batch);
    void makeSeries(const SampledBatch& batch);
    void sendAllocations(std::vector<session::SampleRecord> bytes, const std::vector<double>& counts);
    session::SampleRecord record(const StackSample& sample, const TickClock& clock);
    Context contextOf(const StackSample& sample, const session::Label& label);
    base::StackId stackOf(uint32_t stack, const Context& context);
    base::StackId append(base::StackId parent, const Frame& frame, const Context& context, bool leaf);
    base::StackId fold(base::StackId parent, const Frame& frame, uint32_t leafFlags, bool leaf);
    const Frame& frame(uint32_t index);
    void nameFrame(const TrieFrame& raw, Frame& frame);
    void nameModuleFrame(const TrieFrame& raw, Frame& frame);

    Recorder& m_recorder;
    std::unique_ptr<Symbolizer> m_symbolizer;
    std::vector<SampledModule> m_modules;
    std::vector<std::string> m_names;
    std::vector<TrieFrame> m_rawFrames;
    std::vector<TrieStack> m_rawStacks;
    std::vector<Frame> m_frames;
    std::vector<base::TrackId> m_tracks; // by SampledThread
    std::unordered_map<Key, base::StackId, KeyHash> m_stacks;
    struct Fold {
        base::StackId below;
        uint32_t module = 0;
    };
    std::unordered_map<uint32_t, Fold> m_folds; // by stack: those whose last frame is a fold
    uint32_t m_generation = 0;
    base::SeriesId m_cpu, m_wall, m_allocated, m_allocations;
    double m_countLeft = 0; // parts of allocations that were not counted yet
};

} // namespace stepscope::recording
