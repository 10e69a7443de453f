// RunRecording: what the Trainer writes into a session, or nothing at all without a sink.
// Owner: core/engine. Thread: the training thread.
#pragma once

#include "core/engine/backend.h"
#include "core/recording/allocation_recorder.h"
#include "core/recording/cpu_sampler.h"
#include "core/recording/probe.h"

#include <array>
#include <memory>
#include <string>

namespace stepscope::engine {

class RunRecording {
public:
    // Registers the calling thread as the track "training" and starts sampling stacks, if wanted. A null sink records
    // nothing. Where stacks cannot be sampled the quality record says why.
    RunRecording(session::SessionSink* sink, const recording::SamplingOptions& sampling, recording::AllocationOptions allocations = {});

    bool on() const { return m_recorder != nullptr; }
    recording::SpanBuffer* buffer() const { return m_buffer; }
    Recording forBackend() const { return {m_recorder.get(), m_buffer}; }
    recording::Recorder* recorder() const { return m_recorder.get(); }
    // Of any thread, one at a time. Errors: not recorded, no method works, sampling already.
    base::Status startSampling(const recording::SamplingOptions& options);
    recording::CpuSampler* sampler() const { return m_sampler.get(); } // null until stacks are sampled

    recording::AllocationRecorder* allocations() const { return m_recorder != nullptr ? m_recorder->allocations() : nullptr; }

    base::LabelId phase(session::Phase phase) const { return m_phases[static_cast<size_t>(phase)]; }
    base::LabelId step, openData, selfCheck, buildNetwork, buildLoader;
    base::CounterId loss, queueDepth, testAccuracy;

    void addEnvironment(std::string_view key, std::string_view value);
    void addQuality(std::string code, int64_t count, std::string message);
    // One row per layer; costs and traffic for `batch` samples, parameters included in the traffic.
    void addModel(const model::ModelFile& file, int64_t batch);

    bool failed() const { return m_recorder != nullptr && m_recorder->failed(); }
    base::Status finish();

private:
    std::unique_ptr<recording::Recorder> m_recorder;
    std::unique_ptr<recording::CpuSampler> m_sampler;
    recording::SpanBuffer* m_buffer = nullptr;
    std::array<base::LabelId, session::kPhaseCount> m_phases;
};

// The layer's row in a session, for `batch` samples per step.
session::LayerRow layerRow(const model::Layer& layer, int64_t batch);

} // namespace stepscope::engine
