// OneDnnNetwork: a model built on oneDNN: one plan per batch size, all on the same parameters.
// Owner: core/onednn. Thread: built and used on one thread.
#pragma once

#include "core/engine/optimiser.h"
#include "core/onednn/plan.h"

#include <map>
#include <memory>
#include <vector>

namespace stepscope::onednn {

class OneDnnNetwork final : public engine::Network {
public:
    OneDnnNetwork(model::ModelFile file, engine::BuildOptions options, engine::Recording recording, TuningMemory& memory,
                  int availableThreads, bool wantInputGradient);

    // Tunes and builds the plan of the full batch. `stop` ends it early with ErrorCode::cancelled.
    base::Status build(std::stop_token stop, const base::Progress& progress);

    base::Status setBatch(const engine::Batch& batch) override;
    base::Status forward(bool training) override;
    engine::LossResult loss(bool wantGradient) override;
    base::Status backward() override;
    base::Status update() override;
    base::Status synchronise() override { return {}; }
    const engine::BuildInfo& info() const override { return m_info; }
    const model::Model& model() const override { return m_file.model; }
    base::Result<std::vector<float>> parameter(base::LayerId layer, int parameter) const override;
    base::Status setParameter(base::LayerId layer, int parameter, const std::vector<float>& values) override;
    base::Result<std::vector<float>> gradient(base::LayerId layer, int parameter) const override;
    std::vector<float> output() const override;
    base::Result<std::vector<float>> inputGradient() const override;

    // For the benchmark: the operations of the current plan, and one run of each by itself.
    const Plan& plan() const { return *m_plan; }
    dnnl::stream& stream() { return m_stream; }

private:
    base::Result<std::unique_ptr<Plan>> makePlan(ParameterStore& store, int64_t batch, const PlanVariant& variant, bool record,
                                                 std::stop_token stop, std::vector<std::string>* notes, base::Progress progress);
    base::Result<PlanVariant> chooseVariant(std::stop_token stop, const base::Progress& progress);
    PlanBuilder::Context contextFor(ParameterStore& store) const;
    double stepTime(Plan& plan, ParameterStore& store, engine::Optimiser& optimiser);
    static int64_t referencePrimitives(const Plan& plan); // of a training step
    void measureInfo(double seconds);
    base::Status run(const Program& program, Operation::Mode mode);
    base::Status switchBatch(int64_t count);

    model::ModelFile m_file;
    engine::BuildOptions m_options;
    engine::Recording m_recording;
    TuningMemory& m_memory;
    bool m_wantInputGradient;
    dnnl::engine m_engine;
    dnnl::stream m_stream;
    Tuner m_tuner;
    PlanVariant m_variant;
    std::unique_ptr<ParameterStore> m_store;
    std::unique_ptr<engine::Optimiser> m_optimiser;
    std::map<int64_t, std::unique_ptr<Plan>> m_plans; // by batch size
    Plan* m_plan = nullptr;
    int m_maxThreads = 1;
    std::vector<int32_t> m_labels;
    std::vector<float> m_targets;
    uint64_t m_trainingStep = 0;
    uint32_t m_lossLabel = 0, m_copyLabel = 0, m_creationLabel = 0;
    engine::BuildInfo m_info;
};

} // namespace stepscope::onednn
