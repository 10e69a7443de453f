// Training under the stack sampler, with the truth beside it: CPU time per phase from the threads' clocks.
#pragma once

#include "core/engine/backend.h"
#include "core/engine/trainer.h"
#include "core/session/session.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace stepscope::testing {

using PhaseTimes = std::array<int64_t, session::kPhaseCount>; // ns

// Wraps a backend: measures the CPU time of every call of the network by phase.
class MeasuredBackend final : public engine::Backend {
public:
    // `clock` is read around each call. `beforeStep` is called in the training thread with the number of the step.
    MeasuredBackend(engine::Backend& inner, clockid_t clock, std::function<void(int64_t)> beforeStep = {});

    std::string name() const override { return m_inner.name(); }
    std::vector<std::pair<std::string, std::string>> environment() const override { return m_inner.environment(); }
    base::Status selfCheck() override { return m_inner.selfCheck(); }
    base::Result<std::unique_ptr<engine::Network>> build(const model::ModelFile& file, const engine::BuildOptions& options,
                                                         const engine::Recording& recording, std::stop_token stop,
                                                         const base::Progress& progress, bool wantInputGradient) override;
    const PhaseTimes& times() const { return m_times; }

private:
    engine::Backend& m_inner;
    clockid_t m_clock;
    std::function<void(int64_t)> m_beforeStep;
    PhaseTimes m_times{};
};

// What the samples of a session look like, over those taken in steps.
struct SampleSummary {
    int64_t samples = 0;          // of every thread, in steps or not
    int64_t complete = 0;         // reach the start of their thread
    int64_t generated = 0;        // the innermost frame is generated code
    int64_t generatedComplete = 0;
    int64_t generatedTagged = 0;  // ... and the sample's label is of a primitive
    int64_t approximate = 0;
    int64_t unknownLeaf = 0;      // code that belongs to nothing known
    int64_t phaseKnown = 0;       // the stack names a phase, by the function of the network
    int64_t phaseRight = 0;       // ... and it is the label's
    int64_t generatedPhaseKnown = 0, generatedPhaseRight = 0;
    PhaseTimes byPhase{};         // weights by the label's phase, in steps
};
// Of the samples of CPU time; `track` limits it to one thread (invalid: all).
SampleSummary summarise(const session::Session& session);

// The largest difference of a phase's share, in percentage points, over forward, loss, backward and optimiser.
double largestShareError(const PhaseTimes& measured, const PhaseTimes& truth);

struct SampledRun {
    session::SessionPtr session; // null when it failed
    std::string problem;
    PhaseTimes truth{};
};
// Trains and records in memory.
SampledRun trainSampled(const model::ModelFile& file, const engine::TrainOptions& options, engine::Backend& backend, clockid_t clock);

} // namespace stepscope::testing
