#include "tests/support/sampled_training.h"

#include "core/session/session_builder.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <type_traits>

namespace stepscope::testing {

namespace {

using session::Phase;

int64_t read(clockid_t clock)
{
    timespec t;
    ::clock_gettime(clock, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class MeasuredNetwork final : public engine::Network {
public:
    MeasuredNetwork(std::unique_ptr<engine::Network> inner, clockid_t clock, PhaseTimes& times, const std::function<void(int64_t)>& beforeStep)
        : m_inner(std::move(inner)), m_clock(clock), m_times(times), m_beforeStep(beforeStep)
    {
    }
    base::Status setBatch(const engine::Batch& batch) override
    {
        if (m_beforeStep) m_beforeStep(m_step++);
        return measured(Phase::hostToDevice, [&] { return m_inner->setBatch(batch); });
    }
    base::Status forward(bool training) override
    {
        return measured(Phase::forward, [&] { return m_inner->forward(training); });
    }
    engine::LossResult loss(bool wantGradient) override
    {
        return measured(Phase::loss, [&] { return m_inner->loss(wantGradient); });
    }
    base::Status backward() override
    {
        return measured(Phase::backward, [&] { return m_inner->backward(); });
    }
    base::Status update() override
    {
        return measured(Phase::optimiser, [&] { return m_inner->update(); });
    }
    base::Status synchronise() override { return m_inner->synchronise(); }
    const engine::BuildInfo& info() const override { return m_inner->info(); }
    const model::Model& model() const override { return m_inner->model(); }
    base::Result<std::vector<float>> parameter(base::LayerId layer, int p) const override { return m_inner->parameter(layer, p); }
    base::Status setParameter(base::LayerId layer, int p, const std::vector<float>& values) override { return m_inner->setParameter(layer, p, values); }
    base::Result<std::vector<float>> gradient(base::LayerId layer, int p) const override { return m_inner->gradient(layer, p); }
    std::vector<float> output() const override { return m_inner->output(); }
    base::Result<std::vector<float>> inputGradient() const override { return m_inner->inputGradient(); }

private:
    template <class Call>
    std::invoke_result_t<Call> measured(Phase phase, Call&& call)
    {
        const int64_t start = read(m_clock);
        auto result = call();
        m_times[static_cast<size_t>(phase)] += read(m_clock) - start;
        return result;
    }

    std::unique_ptr<engine::Network> m_inner;
    clockid_t m_clock;
    PhaseTimes& m_times;
    const std::function<void(int64_t)>& m_beforeStep;
    int64_t m_step = 0;
};

// By the function of the network that the stack is in.
std::optional<Phase> phaseOfFunction(std::string_view function)
{
    if (function.find("OneDnnNetwork::") == std::string_view::npos) return std::nullopt;
    if (function.find("::forward(") != std::string_view::npos) return Phase::forward;
    if (function.find("::backward(") != std::string_view::npos) return Phase::backward;
    if (function.find("::update(") != std::string_view::npos) return Phase::optimiser;
    if (function.find("::loss(") != std::string_view::npos) return Phase::loss;
    if (function.find("::setBatch(") != std::string_view::npos) return Phase::hostToDevice;
    return std::nullopt;
}

struct StackFacts {
    bool complete = true, generated = false, approximate = false, unknownLeaf = false;
    std::optional<Phase> phase;
};

StackFacts factsOf(const session::Session& session, base::StackId stack)
{
    StackFacts facts;
    const uint32_t leafFlags = session.frames()[session.stacks()[stack.index()].frame.index()].flags;
    facts.generated = (leafFlags & session::kGenerated) != 0;
    facts.unknownLeaf = (leafFlags & (session::kGenerated | session::kLibraryCode | session::kOwnCode)) == 0;
    for (base::StackId at = stack; at.valid(); at = session.stacks()[at.index()].parent) {
        const session::FrameRow& frame = session.frames()[session.stacks()[at.index()].frame.index()];
        if ((frame.flags & session::kTruncated) != 0) facts.complete = false;
        if ((frame.flags & session::kApproximate) != 0) facts.approximate = true;
        if (!facts.phase) facts.phase = phaseOfFunction(session.string(frame.function));
    }
    return facts;
}

} // namespace

MeasuredBackend::MeasuredBackend(engine::Backend& inner, clockid_t clock, std::function<void(int64_t)> beforeStep)
    : m_inner(inner), m_clock(clock), m_beforeStep(std::move(beforeStep))
{
}

base::Result<std::unique_ptr<engine::Network>> MeasuredBackend::build(const model::ModelFile& file, const engine::BuildOptions& options,
                                                                      const engine::Recording& recording, std::stop_token stop,
                                                                      const base::Progress& progress, bool wantInputGradient)
{
    auto built = m_inner.build(file, options, recording, std::move(stop), progress, wantInputGradient);
    if (!built) return built;
    return std::make_unique<MeasuredNetwork>(std::move(*built), m_clock, m_times, m_beforeStep);
}

SampleSummary summarise(const session::Session& session)
{
    SampleSummary sum;
    for (size_t s = 0; s < session.series().size(); ++s) {
        if (session.series()[s].kind != session::SeriesKind::cpuTime) continue;
        const session::SampleTable& samples = session.samples(base::SeriesId(s));
        for (size_t i = 0; i < samples.size(); ++i) {
            ++sum.samples;
            const StackFacts facts = factsOf(session, base::StackId(samples.stack[i]));
            const bool labelled = samples.label[i] != base::LabelId::kNone;
            const session::Label label = labelled ? session.labels()[samples.label[i]] : session::Label{};
            sum.complete += facts.complete ? 1 : 0;
            sum.approximate += facts.approximate ? 1 : 0;
            sum.unknownLeaf += facts.unknownLeaf ? 1 : 0;
            sum.generated += facts.generated ? 1 : 0;
            sum.generatedComplete += facts.generated && facts.complete ? 1 : 0;
            if (samples.step[i] < 0) continue;
            sum.byPhase[static_cast<size_t>(label.phase)] += samples.weight[i];
            sum.generatedTagged += facts.generated && label.primitive.valid() ? 1 : 0;
            if (!facts.phase) continue;
            const bool right = *facts.phase == label.phase;
            ++sum.phaseKnown;
            sum.phaseRight += right ? 1 : 0;
            sum.generatedPhaseKnown += facts.generated ? 1 : 0;
            sum.generatedPhaseRight += facts.generated && right ? 1 : 0;
        }
    }
    return sum;
}

double largestShareError(const PhaseTimes& measured, const PhaseTimes& truth)
{
    constexpr std::array kPhases{Phase::forward, Phase::loss, Phase::backward, Phase::optimiser};
    double measuredSum = 0, truthSum = 0, worst = 0;
    for (const Phase phase : kPhases) {
        measuredSum += static_cast<double>(measured[static_cast<size_t>(phase)]);
        truthSum += static_cast<double>(truth[static_cast<size_t>(phase)]);
    }
    for (const Phase phase : kPhases) {
        const auto i = static_cast<size_t>(phase);
        worst = std::max(worst, std::abs(static_cast<double>(measured[i]) / measuredSum - static_cast<double>(truth[i]) / truthSum));
    }
    return 100 * worst;
}

SampledRun trainSampled(const model::ModelFile& file, const engine::TrainOptions& options, engine::Backend& backend, clockid_t clock)
{
    SampledRun run;
    MeasuredBackend measured(backend, clock);
    session::SessionBuilder builder;
    engine::Trainer trainer;
    if (const base::Status started = trainer.start(file, options, measured, &builder, {}, [](const engine::TrainStatus&) {}); !started) {
        run.problem = base::toText(started.error());
        return run;
    }
    if (const auto result = trainer.wait(); !result) {
        run.problem = base::toText(result.error());
        return run;
    }
    run.truth = measured.times();
    run.session = builder.build();
    return run;
}

} // namespace stepscope::testing
