#include "core/engine/run_recording.h"

#include "core/model/shapes.h"
#include "core/recording/code_names.h"

namespace stepscope::engine {

namespace {

using session::Phase;
using session::SpanKind;

std::string typeName(const model::Layer& layer)
{
    using model::LayerKind;
    switch (layer.kind) {
    case LayerKind::chain: return "Chain";
    case LayerKind::dense: return "Dense";
    case LayerKind::naiveDense: return "NaiveDense";
    case LayerKind::conv: return "Conv";
    case LayerKind::crossCor: return "CrossCor";
    case LayerKind::maxPool: return "MaxPool";
    case LayerKind::meanPool: return "MeanPool";
    case LayerKind::globalMaxPool: return "GlobalMaxPool";
    case LayerKind::globalMeanPool: return "GlobalMeanPool";
    case LayerKind::batchNorm: return "BatchNorm";
    case LayerKind::layerNorm: return "LayerNorm";
    case LayerKind::dropout: return "Dropout";
    case LayerKind::flatten: return "flatten";
    case LayerKind::activation: return model::activationName(layer.options.activation.kind);
    case LayerKind::skipConnection: return "SkipConnection";
    case LayerKind::parallel: return "Parallel";
    }
    return "layer";
}

} // namespace

session::LayerRow layerRow(const model::Layer& layer, int64_t batch)
{
    const int64_t parameterBytes = layer.parameterCount * static_cast<int64_t>(sizeof(float));
    session::LayerRow row;
    row.name = layer.name;
    row.path = layer.path;
    row.type = typeName(layer);
    row.text = layer.text;
    row.parent = layer.parent;
    row.input = model::fluxShape(layer.input, batch);
    row.output = model::fluxShape(layer.output, batch);
    row.parameters = layer.parameterCount;
    row.forwardFlop = layer.forward.flop * batch;
    row.backwardFlop = layer.backward.flop * batch;
    row.forwardBytes = layer.forward.bytes * batch + parameterBytes;
    row.backwardBytes =
        layer.backward.bytes * batch + 2 * parameterBytes; // reads the parameters, writes their gradients
    return row;
}

RunRecording::RunRecording(session::SessionSink* sink, const recording::SamplingOptions& sampling, recording::AllocationOptions allocations)
{
    if (sink == nullptr) return;
    m_recorder = std::make_unique<recording::Recorder>(*sink);
    allocations.stacks = allocations.stacks || sampling.mode != recording::SampleMode::off;
    m_recorder->countAllocations(allocations);
    if (allocations.count) m_recorder->addEnvironment("allocations.device", "0, as this backend computes on the CPU");
    m_buffer = m_recorder->registerTrack("training");
    for (int i = 1; i < session::kPhaseCount; ++i) {
        const auto phase = static_cast<Phase>(i);
        m_phases[static_cast<size_t>(i)] = m_recorder->label(session::phaseName(phase), SpanKind::phase, phase);
    }
    step = m_recorder->label("step", SpanKind::step, Phase::none);
    openData = m_recorder->label("open data", SpanKind::other, Phase::setup);
    selfCheck = m_recorder->label("self-check", SpanKind::other, Phase::setup);
    buildNetwork = m_recorder->label("build network", SpanKind::creation, Phase::setup);
    buildLoader = m_recorder->label("start loader", SpanKind::other, Phase::setup);
    loss = m_recorder->addCounter("loss", "");
    queueDepth = m_recorder->addCounter("queue depth", "batches");
    testAccuracy = m_recorder->addCounter("test accuracy", "");
    if (sampling.mode == recording::SampleMode::off) return;
    const base::Status started = startSampling(sampling);
    if (started) return;
    std::string text = started.error().message;
    if (!started.error().hint.empty()) text += " (" + started.error().hint + ")";
    text += ".";
    m_recorder->addEnvironment("sampler.method", "none");
    m_recorder->addQuality({"no-stack-samples", 1, "No stack samples: " + text});
}

base::Status RunRecording::startSampling(const recording::SamplingOptions& options)
{
    if (!on()) return base::fail(base::ErrorCode::unavailable, "the run is not recorded, so there is nothing to sample into");
    if (m_sampler != nullptr) return m_sampler->start(options);
    m_sampler = std::make_unique<recording::CpuSampler>(*m_recorder, std::make_unique<recording::CodeNames>());
    const base::Status started = m_sampler->start(options);
    if (!started) m_sampler.reset();
    return started;
}

void RunRecording::addEnvironment(std::string_view key, std::string_view value)
{
    if (on()) m_recorder->addEnvironment(key, value);
}

void RunRecording::addQuality(std::string code, int64_t count, std::string message)
{
    if (on()) m_recorder->addQuality({std::move(code), count, std::move(message)});
}

void RunRecording::addModel(const model::ModelFile& file, int64_t batch)
{
    if (!on()) return;
    m_recorder->setModelText(file.text);
    for (const model::Layer& layer : file.model.layers)
        m_recorder->addLayer(layerRow(layer, batch));
}

base::Status RunRecording::finish()
{
    if (!on()) return {};
    return m_recorder->finish();
}

} // namespace stepscope::engine
