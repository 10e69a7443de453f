// A backend for tests of the Trainer: one dense layer on the flattened input, in plain loops.
// The arithmetic is real, so losses and accuracies mean something; hooks let a test look in or make it fail.
#pragma once

#include "core/engine/backend.h"
#include "core/engine/initialise.h"
#include "core/engine/optimiser.h"
#include "core/recording/probe.h"

#include <functional>
#include <stdexcept>

namespace stepscope::testing {

struct NaiveHooks {
    std::function<void(int64_t call)> onForward; // with the number of the forward in training mode
    base::Status selfCheck;
    bool nanLoss = false;
    bool failBuild = false;
};

class NaiveNetwork final : public engine::Network {
public:
    NaiveNetwork(const model::ModelFile& file, const engine::BuildOptions& options, const engine::Recording& recording, const NaiveHooks& hooks)
        : m_file(file)
        , m_batchSize(options.batchSize)
        , m_in(model::product(file.model.input))
        , m_out(model::product(file.model.root().output))
        , m_optimiser(file.optimiser, (m_in + 1) * m_out)
        , m_hooks(hooks)
        , m_recording(recording)
    {
        model::Parameter weight{"weight", {m_in, m_out}, {}, m_in, m_out};
        m_w = engine::initialValues(weight, options.seed, 1, 0);
        m_w.resize(static_cast<size_t>((m_in + 1) * m_out), 0.0f); // the bias
        m_g.resize(m_w.size());
        m_y.resize(static_cast<size_t>(options.batchSize * m_out));
        m_dy.resize(m_y.size());
        if (recording.recorder != nullptr) {
            m_layer = recording.recorder->label("dense", session::SpanKind::layer, session::Phase::forward, base::LayerId(0u));
        }
        m_info.primitives = 3;
        m_info.notes = {"plain loops"};
    }

    base::Status setBatch(const engine::Batch& batch) override
    {
        if (batch.count > m_batchSize) return base::fail(base::ErrorCode::invalidArgument, "the batch is too large");
        m_batch = &batch;
        return {};
    }

    base::Status forward(bool training) override
    {
        if (training && m_hooks.onForward) m_hooks.onForward(m_forwards++);
        const recording::Probe probe(m_recording.buffer, m_layer);
        for (int64_t i = 0; i < m_batch->count; ++i) {
            for (int64_t o = 0; o < m_out; ++o) {
                float sum = m_w[static_cast<size_t>(m_in * m_out + o)];
                for (int64_t k = 0; k < m_in; ++k) sum += m_w[static_cast<size_t>(k * m_out + o)] * m_batch->x[static_cast<size_t>(i * m_in + k)];
                m_y[static_cast<size_t>(i * m_out + o)] = m_hooks.nanLoss ? std::numeric_limits<float>::quiet_NaN() : sum;
            }
        }
        return {};
    }

    engine::LossResult loss(bool wantGradient) override
    {
        return engine::evaluateLoss(m_file.loss, m_y.data(), m_batch->labels.empty() ? nullptr : m_batch->labels.data(),
                                    m_batch->targets.empty() ? nullptr : m_batch->targets.data(), m_batch->count, m_out,
                                    wantGradient ? m_dy.data() : nullptr);
    }

    base::Status backward() override
    {
        std::fill(m_g.begin(), m_g.end(), 0.0f);
        for (int64_t i = 0; i < m_batch->count; ++i) {
            for (int64_t o = 0; o < m_out; ++o) {
                const float d = m_dy[static_cast<size_t>(i * m_out + o)];
                for (int64_t k = 0; k < m_in; ++k) m_g[static_cast<size_t>(k * m_out + o)] += d * m_batch->x[static_cast<size_t>(i * m_in + k)];
                m_g[static_cast<size_t>(m_in * m_out + o)] += d;
            }
        }
        return {};
    }

    base::Status update() override
    {
        m_optimiser.beginStep();
        m_optimiser.modify(m_w.data(), m_g.data(), 0, static_cast<int64_t>(m_w.size()));
        m_optimiser.update(m_w.data(), m_g.data(), 0, static_cast<int64_t>(m_w.size()));
        return {};
    }

    base::Status synchronise() override { return {}; }
    const engine::BuildInfo& info() const override { return m_info; }
    const model::Model& model() const override { return m_file.model; }
    base::Result<std::vector<float>> parameter(base::LayerId, int) const override { return m_w; }
    base::Status setParameter(base::LayerId, int, const std::vector<float>& values) override
    {
        m_w = values;
        return {};
    }
    base::Result<std::vector<float>> gradient(base::LayerId, int) const override { return m_g; }
    std::vector<float> output() const override { return m_y; }
    base::Result<std::vector<float>> inputGradient() const override { return base::fail(base::ErrorCode::unsupported, "not computed"); }

private:
    model::ModelFile m_file;
    int64_t m_batchSize, m_in, m_out;
    engine::Optimiser m_optimiser;
    const NaiveHooks& m_hooks;
    engine::Recording m_recording;
    base::LabelId m_layer;
    engine::BuildInfo m_info;
    const engine::Batch* m_batch = nullptr;
    std::vector<float> m_w, m_g, m_y, m_dy;
    int64_t m_forwards = 0;
};

class NaiveBackend final : public engine::Backend {
public:
    NaiveHooks hooks;

    std::string name() const override { return "naive"; }
    std::vector<std::pair<std::string, std::string>> environment() const override { return {{"library.naive", "1"}}; }
    base::Status selfCheck() override { return hooks.selfCheck; }
    base::Result<std::unique_ptr<engine::Network>> build(const model::ModelFile& file, const engine::BuildOptions& options,
                                                         const engine::Recording& recording, std::stop_token, const base::Progress& progress,
                                                         bool) override
    {
        if (progress) progress(0.5, "building");
        if (hooks.failBuild) throw std::runtime_error("a bug in the backend");
        return std::make_unique<NaiveNetwork>(file, options, recording, hooks);
    }
};

} // namespace stepscope::testing
