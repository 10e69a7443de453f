#include "core/onednn/network.h"

#include "core/onednn/layer_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

namespace stepscope::onednn {

using base::ErrorCode;
using session::Phase;
using session::SpanKind;

namespace {

double secondsSince(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// FNV-1a: a short, stable name for a long problem.
uint64_t hashText(std::string_view text)
{
    uint64_t h = 0xcbf29ce484222325ull;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return h;
}

// Values around zero, so that timing runs see neither denormals nor all-zero shortcuts.
void fillForTiming(const Value& value)
{
    uint32_t state = 1;
    const size_t n = value.desc.get_size() / sizeof(float);
    for (size_t i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        value.data()[i] = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    }
}

bool hasImages(const model::Model& model)
{
    return std::any_of(model.layers.begin(), model.layers.end(), [](const model::Layer& l) {
        return l.kind == model::LayerKind::conv || l.kind == model::LayerKind::crossCor;
    });
}

std::string variantText(const PlanVariant& v)
{
    static constexpr const char* kLayouts[] = {"automatic", "channels last", "plain"};
    static constexpr const char* kThreads[] = {"chosen per primitive", "one", "all"};
    return fmt::format("layout {}, threads {}", kLayouts[static_cast<int>(v.layout)], kThreads[static_cast<int>(v.threads)]);
}

} // namespace

OneDnnNetwork::OneDnnNetwork(model::ModelFile file, engine::BuildOptions options, engine::Recording recording, TuningMemory& memory,
                             int availableThreads, bool wantInputGradient)
    : m_file(std::move(file))
    , m_options(options)
    , m_recording(recording)
    , m_memory(memory)
    , m_wantInputGradient(wantInputGradient)
    , m_engine(dnnl::engine::kind::cpu, 0)
    , m_stream(m_engine)
    , m_tuner(m_engine)
{
    m_maxThreads = options.threads > 0 ? options.threads : availableThreads;
}

base::Result<std::unique_ptr<Plan>> OneDnnNetwork::makePlan(ParameterStore& store, int64_t batch, const PlanVariant& variant, bool record,
                                                            std::stop_token stop, std::vector<std::string>* notes,
                                                            base::Progress progress)
{
    auto plan = std::make_unique<Plan>(m_options.poisonMemory);
    PlanBuilder::Context context = contextFor(store);
    context.stream = m_stream;
    if (record) context.recording = m_recording;
    context.tuner = &m_tuner;
    context.memory = &m_memory;
    context.variant = variant;
    context.wantInputGradient = m_wantInputGradient;
    context.stop = stop;
    context.notes = notes;
    context.progress = std::move(progress);
    PlanBuilder builder(std::move(context), *plan, batch);
    try {
        builder.build();
        if (!store.committed())
            if (base::Status status = store.commit(); !status) return base::fail(status.error());
        return plan;
    } catch (const Stopped&) {
        return base::fail(ErrorCode::cancelled, "building was stopped");
    } catch (const dnnl::error& e) {
        return base::fail(ErrorCode::unsupported, fmt::format("oneDNN cannot run this model: {} (status {})", e.what(), static_cast<int>(e.status)),
                          {.file = m_file.file});
    } catch (const std::bad_alloc&) {
        return base::fail(ErrorCode::unavailable, fmt::format("not enough memory for this model at batch size {}", batch),
                          {.file = m_file.file}, "choose a smaller batch");
    }
}

// What every builder of a plan of this network shares.
PlanBuilder::Context OneDnnNetwork::contextFor(ParameterStore& store) const
{
    PlanBuilder::Context context;
    context.engine = m_engine;
    context.model = &m_file.model;
    context.options = m_options;
    context.parameters = &store;
    context.maxThreads = m_maxThreads;
    return context;
}

double OneDnnNetwork::stepTime(Plan& plan, ParameterStore& store, engine::Optimiser& optimiser)
{
    fillForTiming(plan.input);
    PlanBuilder::Context context = contextFor(store);
    if (plan.threads == 1) context.variant.threads = PlanVariant::Threads::one;
    PlanBuilder builder(std::move(context), plan, plan.batch);
    plan.update = Program();
    builder.buildUpdate(optimiser);
    std::vector<double> times;
    double spent = 0;
    constexpr double kBudget = 0.15;
    for (int i = 0; i < 60 && (i < 6 || spent < kBudget); ++i) {
        const auto start = std::chrono::steady_clock::now();
        if (!plan.forward.run(m_stream, Operation::kTraining, nullptr)) return kNever;
        fillForTiming(plan.outputGradient);
        if (!plan.backward.run(m_stream, Operation::kTraining, nullptr)) return kNever;
        optimiser.beginStep();
        if (!plan.update.run(m_stream, Operation::kTraining, nullptr)) return kNever;
        const double seconds = secondsSince(start);
        spent += seconds;
        if (i >= 2) times.push_back(seconds);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 4];
}

int64_t OneDnnNetwork::referencePrimitives(const Plan& plan)
{
    const auto count = [](const Program& program) {
        return std::count_if(program.operations().begin(), program.operations().end(),
                             [](const Operation& o) { return o.reference && (o.modes & Operation::kTraining) != 0; });
    };
    return count(plan.forward) + count(plan.backward);
}

base::Result<PlanVariant> OneDnnNetwork::chooseVariant(std::stop_token stop, const base::Progress& progress)
{
    using Layout = PlanVariant::Layout;
    using Threads = PlanVariant::Threads;
    if (!m_options.tune) return PlanVariant{Layout::automatic, m_maxThreads == 1 ? Threads::one : Threads::all};
    std::vector<PlanVariant> variants;
    std::vector<Threads> teams{Threads::one};
    // A thread count that the user gave is used as it is.
    if (m_maxThreads > 1) teams = m_options.threads > 0 ? std::vector{Threads::all} : std::vector{Threads::mixed, Threads::one, Threads::all};
    for (Threads t : teams) variants.push_back({Layout::automatic, t});
    if (hasImages(m_file.model))
        for (Layout l : {Layout::channelsLast, Layout::plain}) variants.push_back({l, teams.front()});

    std::string problem = fmt::format("{} batch {} threads {} of {} fuse {} dx {} in {}", model::lossName(m_file.loss.kind), m_options.batchSize,
                                      m_options.threads, m_maxThreads, m_options.fuse, m_wantInputGradient, fmt::join(m_file.model.input, "x"));
    for (const model::Layer& layer : m_file.model.layers) problem += fmt::format(";{}:{}", layer.parent.value, layer.text);
    const std::string key = fmt::format("variant {:016x}", hashText(problem));
    if (const auto known = m_memory.find(key); known && known->size() == 2 && (*known)[0] >= 0 && (*known)[0] <= 2 && (*known)[1] >= 0 && (*known)[1] <= 2)
        return PlanVariant{static_cast<Layout>((*known)[0]), static_cast<Threads>((*known)[1])};

    // A way without reference code beats every way with it: on a busy machine one timing run says nothing about a factor of a hundred.
    PlanVariant best;
    std::pair<int64_t, double> bestCost{std::numeric_limits<int64_t>::max(), kNever}; // reference primitives, then time
    base::Error lastError;
    for (size_t i = 0; i < variants.size(); ++i) {
        const auto report = [&, done = static_cast<double>(i) / static_cast<double>(variants.size())](double, std::string_view layer) {
            if (progress) progress(done, layer.empty() ? "tuning: " + variantText(variants[i]) : fmt::format("tuning {}", layer));
        };
        report(0, "");
        ParameterStore store(m_engine, m_file.model, m_options.seed);
        auto plan = makePlan(store, m_options.batchSize, variants[i], false, stop, nullptr, report);
        if (!plan) {
            if (plan.error().code == ErrorCode::cancelled) return base::fail(plan.error());
            lastError = plan.error();
            continue;
        }
        engine::Optimiser optimiser(m_file.optimiser, store.size());
        const double time = stepTime(**plan, store, optimiser);
        if (time == kNever) {
            lastError = {ErrorCode::unsupported, "oneDNN cannot run a step of this model"};
            continue;
        }
        m_info.notes.push_back(fmt::format("{}: {:.0f} us per step", variantText(variants[i]), time * 1e6));
        if (const std::pair cost{referencePrimitives(**plan), time}; cost < bestCost) {
            bestCost = cost;
            best = variants[i];
        }
    }
    if (bestCost.second == kNever) return base::fail(lastError);
    if (!m_tuner.exhausted()) m_memory.store(key, {static_cast<int>(best.layout), static_cast<int>(best.threads)});
    (void)m_memory.save();
    return best;
}

base::Status OneDnnNetwork::build(std::stop_token stop, const base::Progress& progress)
{
    const auto start = std::chrono::steady_clock::now();
    recording::Recorder* recorder = m_recording.recorder;
    base::LabelId tuningLabel, primitivesLabel;
    if (recorder != nullptr) {
        tuningLabel = recorder->label("tuning", SpanKind::creation, Phase::setup);
        primitivesLabel = recorder->label("creating primitives", SpanKind::creation, Phase::setup);
        m_creationLabel = recorder->label("creating primitives", SpanKind::creation, Phase::hostToDevice).value;
        m_copyLabel = recorder->label("copy batch", SpanKind::primitive, Phase::hostToDevice,
                                      {}, recorder->addPrimitive({.name = "copy batch", .kind = "copy", .implementation = "stepscope",
                                                                  .phase = Phase::hostToDevice}))
                          .value;
        const std::string lossName = model::lossName(m_file.loss.kind);
        m_lossLabel = recorder->label(lossName, SpanKind::primitive, Phase::loss, {},
                                      recorder->addPrimitive({.name = lossName, .kind = "loss", .implementation = "stepscope",
                                                              .phase = Phase::loss}))
                          .value;
    }
    {
        const recording::Probe probe(m_recording.buffer, tuningLabel);
        const auto variant = chooseVariant(stop, progress);
        if (!variant) return base::fail(variant.error());
        m_variant = *variant;
    }
    const recording::Probe probe(m_recording.buffer, primitivesLabel);
    m_info.notes.push_back("chosen: " + variantText(m_variant));
    m_store = std::make_unique<ParameterStore>(m_engine, m_file.model, m_options.seed);
    auto plan = makePlan(*m_store, m_options.batchSize, m_variant, true, stop, &m_info.notes,
                         [&](double, std::string_view layer) {
                             if (progress) progress(1, fmt::format("building {}", layer));
                         });
    if (!plan) return base::fail(plan.error());
    m_optimiser = std::make_unique<engine::Optimiser>(m_file.optimiser, m_store->size());
    m_plan = plan->get();
    m_plans[m_options.batchSize] = std::move(*plan);
    for (int64_t size : m_options.smallerBatches) {
        if (size < 1 || size >= m_options.batchSize || m_plans.count(size) > 0) continue;
        auto smaller = makePlan(*m_store, size, m_variant, true, stop, nullptr, {});
        if (!smaller) return base::fail(smaller.error());
        m_plans[size] = std::move(*smaller);
    }
    PlanBuilder::Context context = contextFor(*m_store);
    context.recording = m_recording;
    if (m_plan->threads == 1) context.variant.threads = PlanVariant::Threads::one;
    PlanBuilder(std::move(context), *m_plan, m_options.batchSize).buildUpdate(*m_optimiser);
    measureInfo(secondsSince(start));
    return {};
}

void OneDnnNetwork::measureInfo(double seconds)
{
    m_info.threads = m_plan->threads;
    for (const Program* program : {&m_plan->forward, &m_plan->backward, &m_plan->update}) {
        for (const Operation& operation : program->operations()) {
            if (operation.kind == Operation::Kind::open || operation.kind == Operation::Kind::close) continue;
            if ((operation.modes & Operation::kTraining) == 0) continue;
            ++m_info.primitives;
            m_info.reorders += operation.reorder ? 1 : 0;
            m_info.referencePrimitives += operation.reference ? 1 : 0;
            if (operation.reference) m_info.notes.push_back(operation.name + " runs on the library's slow reference code");
        }
    }
    m_info.parameterBytes = m_store->size() * static_cast<int64_t>(sizeof(float));
    m_info.stateBytes = m_info.parameterBytes * m_optimiser->stateArrays();
    m_info.activationBytes = static_cast<int64_t>(m_plan->pool.totalBytes());
    m_info.buildSeconds = seconds;
}

base::Status OneDnnNetwork::switchBatch(int64_t count)
{
    if (m_plan->batch == count) return {};
    const auto found = m_plans.find(count);
    if (found != m_plans.end()) {
        m_plan = found->second.get();
        return {};
    }
    const recording::Probe probe(m_recording.buffer, base::LabelId{m_creationLabel});
    auto plan = makePlan(*m_store, count, m_variant, true, {}, nullptr, {}); // a size that nobody announced
    if (!plan) return base::fail(plan.error());
    // The update does not depend on the batch: every plan runs the first one's.
    m_plan = plan->get();
    m_plans[count] = std::move(*plan);
    return {};
}

base::Status OneDnnNetwork::setBatch(const engine::Batch& batch)
{
    if (batch.count < 1 || batch.count > m_options.batchSize)
        return base::fail(ErrorCode::invalidArgument, fmt::format("a batch of {} samples does not fit a network built for {}", batch.count, m_options.batchSize));
    if (auto status = switchBatch(batch.count); !status) return status;
    const auto values = static_cast<size_t>(batch.count * model::product(m_file.model.input));
    if (batch.x.size() < values) return base::fail(ErrorCode::invalidArgument, "the batch has too few values");
    const auto outputs = static_cast<size_t>(m_plan->outputs);
    if (batch.labels.empty() ? batch.targets.size() < static_cast<size_t>(batch.count) * outputs
                             : batch.labels.size() < static_cast<size_t>(batch.count))
        return base::fail(ErrorCode::invalidArgument, "the batch has too few labels or targets");
    for (const int32_t label : batch.labels)
        if (label < 0 || (outputs > 1 && label >= static_cast<int64_t>(outputs))) // one output: the label is the value
            return base::fail(ErrorCode::invalidArgument,
                              fmt::format("the batch has class {}, but the model has outputs for classes 0 to {}", label, outputs - 1));
    const recording::Probe probe(m_recording.buffer, base::LabelId{m_copyLabel});
    std::memcpy(m_plan->input.data(), batch.x.data(), values * sizeof(float));
    m_labels.assign(batch.labels.begin(), batch.labels.end());
    m_targets.assign(batch.targets.begin(), batch.targets.end());
    return {};
}

base::Status OneDnnNetwork::run(const Program& program, Operation::Mode mode)
{
    return program.run(m_stream, mode, m_recording.buffer);
}

base::Status OneDnnNetwork::forward(bool training)
{
    if (training) m_plan->step = ++m_trainingStep;
    return run(m_plan->forward, training ? Operation::kTraining : Operation::kInference);
}

engine::LossResult OneDnnNetwork::loss(bool wantGradient)
{
    const recording::Probe probe(m_recording.buffer, base::LabelId{m_lossLabel});
    return engine::evaluateLoss(m_file.loss, m_plan->output.data(), m_labels.empty() ? nullptr : m_labels.data(),
                                m_targets.empty() ? nullptr : m_targets.data(), m_plan->batch, m_plan->outputs,
                                wantGradient ? m_plan->outputGradient.data() : nullptr);
}

base::Status OneDnnNetwork::backward() { return run(m_plan->backward, Operation::kTraining); }

base::Status OneDnnNetwork::update()
{
    m_optimiser->beginStep();
    return run(m_plans.at(m_options.batchSize)->update, Operation::kTraining);
}

// ---- values ----

namespace {

// Conversions of layouts may fail inside the library; its exceptions end here.
template <class Convert>
auto guarded(const Convert& convert) -> decltype(convert())
{
    try {
        return convert();
    } catch (const std::exception& e) {
        return base::fail(ErrorCode::internal, fmt::format("a parameter could not be converted: {}", e.what()));
    }
}

} // namespace

base::Result<std::vector<float>> OneDnnNetwork::parameter(base::LayerId layer, int parameter) const
{
    if (const ParameterSlot* slot = m_store->find(layer, parameter))
        return guarded([&]() -> base::Result<std::vector<float>> { return m_store->read(*slot, false); });
    if (const StateSlot* state = m_store->findState(layer, parameter)) return state->values;
    return base::fail(ErrorCode::notFound, fmt::format("layer {} has no parameter {}", layer.value, parameter));
}

base::Status OneDnnNetwork::setParameter(base::LayerId layer, int parameter, const std::vector<float>& values)
{
    ParameterSlot* slot = m_store->find(layer, parameter);
    if (slot != nullptr) return guarded([&] { return m_store->write(*slot, values); });
    if (const StateSlot* found = m_store->findState(layer, parameter)) {
        if (found->values.size() != values.size()) return base::fail(ErrorCode::invalidArgument, "wrong number of values");
        // In place: primitives hold the address.
        std::copy(values.begin(), values.end(), m_store->state(layer, parameter, 0, 0).values.begin());
        return {};
    }
    return base::fail(ErrorCode::notFound, fmt::format("layer {} has no parameter {}", layer.value, parameter));
}

base::Result<std::vector<float>> OneDnnNetwork::gradient(base::LayerId layer, int parameter) const
{
    if (const ParameterSlot* slot = m_store->find(layer, parameter))
        return guarded([&]() -> base::Result<std::vector<float>> { return m_store->read(*slot, true); });
    return base::fail(ErrorCode::notFound, fmt::format("layer {} has no gradient {}", layer.value, parameter));
}

std::vector<float> OneDnnNetwork::output() const
{
    const float* y = m_plan->output.data();
    return {y, y + m_plan->batch * m_plan->outputs};
}

base::Result<std::vector<float>> OneDnnNetwork::inputGradient() const
{
    if (!m_plan->inputGradient)
        return base::fail(ErrorCode::notFound, "the network was built without the gradient for its input");
    const float* dx = m_plan->inputGradient.data();
    return std::vector<float>(dx, dx + m_plan->batch * m_plan->inputGradient.features());
}

} // namespace stepscope::onednn
