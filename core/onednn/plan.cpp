#include "core/onednn/plan.h"

#include "core/onednn/layer_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace stepscope::onednn {

using session::Phase;

int64_t Value::features() const
{
    const compat::Dims d = dims();
    int64_t n = 1;
    for (size_t i = 1; i < d.size(); ++i) n *= d[i];
    return n;
}

const char* implementationName(const dnnl::primitive_desc_base& desc) { return desc.impl_info_str(); }

bool isReference(const dnnl::primitive_desc_base& desc) { return session::isReferenceImplementation(implementationName(desc)); }

dnnl::primitive_attr PlanBuilder::attributes() const
{
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attr;
}

Program& PlanBuilder::program()
{
    switch (m_phase) {
    case Phase::backward: return m_plan.backward;
    case Phase::optimiser: return m_plan.update;
    default: return m_plan.forward;
    }
}

void PlanBuilder::note(std::string text)
{
    if (m_context.notes != nullptr) m_context.notes->push_back(std::move(text));
}

int PlanBuilder::threadsFor(int64_t values) const
{
    constexpr int64_t kWorthATeam = 32768; // starting a team costs some microseconds
    return values >= kWorthATeam && m_context.variant.threads != PlanVariant::Threads::one ? m_context.maxThreads : 1;
}

std::vector<int> PlanBuilder::threadChoices() const
{
    if (m_context.maxThreads == 1 || m_context.variant.threads == PlanVariant::Threads::one) return {1};
    if (m_context.variant.threads == PlanVariant::Threads::all) return {m_context.maxThreads};
    return {1, m_context.maxThreads}; // one first: its time is steady on a busy machine and cuts hopeless teams off
}

// ---- values ----

Value PlanBuilder::allocate(const compat::Desc& desc)
{
    Value value;
    value.desc = desc;
    value.block = m_plan.pool.acquire(desc.get_size());
    value.memory = dnnl::memory(desc, m_context.engine, value.block.get());
    m_plan.memories.push_back(value.memory);
    return value;
}

Value PlanBuilder::view(const Value& value, const compat::Dims& dims)
{
    Value seen = value;
    seen.desc = plainDesc(dims);
    seen.memory = dnnl::memory(seen.desc, m_context.engine, value.block.get());
    seen.flattened = false;
    m_plan.memories.push_back(seen.memory);
    return seen;
}

void PlanBuilder::convertInto(const Value& from, const dnnl::memory& to, const std::string& what)
{
    const compat::Desc target = to.get_desc();
    const std::string key = fmt::format("reorder {}>{}", describe(from.desc), describe(target));
    const auto make = [&](int skip) -> dnnl::primitive_desc_base {
        if (skip > 0) throw dnnl::error(dnnl_unimplemented, "a conversion has one implementation");
        return dnnl::reorder::primitive_desc(m_context.engine, from.desc, m_context.engine, target, attributes());
    };
    const auto arguments = [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
        return {{DNNL_ARG_FROM, from.desc}, {DNNL_ARG_TO, target}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
    };
    add({what, "reorder"}, pick(key, make, arguments), {{DNNL_ARG_FROM, from.memory}, {DNNL_ARG_TO, to}}, 0, Operation::kBoth, true);
}

Value PlanBuilder::converted(const Value& value, const compat::Desc& want, const std::string& what)
{
    if (value.desc == want) return value;
    Value result = allocate(want);
    result.flattened = value.flattened;
    result.fromRelu = value.fromRelu;
    result.reluApplied = value.reluApplied;
    convertInto(value, result.memory, what);
    return result;
}

Value PlanBuilder::plainMatrix(const Value& value, const std::string& what)
{
    const compat::Dims dims = value.dims();
    const Value plain = converted(value, plainDesc(dims), what);
    if (dims.size() == 2) {
        Value same = plain;
        same.flattened = false;
        return same;
    }
    return view(plain, {dims[0], value.features()});
}

Value PlanBuilder::restored(const Value& gradient, const Value& like, const std::string& what)
{
    Value result = gradient;
    if (compat::dimsOf(gradient.desc) != like.dims()) result = view(converted(gradient, plainDesc(gradient.dims()), what), like.dims());
    result = converted(result, like.desc, what);
    result.flattened = like.flattened;
    return result;
}

// ---- operations ----

uint32_t PlanBuilder::label(const PrimitiveNames& names, session::PrimitiveRow row)
{
    const engine::Recording& recording = m_context.recording;
    if (recording.recorder == nullptr) return 0;
    row.layer = m_open.empty() ? base::LayerId{} : m_open.back();
    row.phase = m_phase;
    row.kind = names.kind;
    row.name = names.what;
    if (row.layer.valid() && !layer(row.layer).path.empty()) row.name = layer(row.layer).path + " " + names.what;
    // The plan of a smaller last batch has primitives of its own.
    if (m_batch != m_context.options.batchSize) row.name += fmt::format(" ({} samples)", m_batch);
    const auto id = recording.recorder->addPrimitive(row);
    return recording.recorder->label(row.name, session::SpanKind::primitive, m_phase, row.layer, id).value;
}

void PlanBuilder::add(const PrimitiveNames& names, const Pick& pick, PrimitiveArguments arguments, int64_t flop, Operation::Mode modes,
                      bool reorder)
{
    Operation operation;
    operation.kind = Operation::Kind::primitive;
    operation.modes = modes;
    operation.threads = pick.threads;
    setThreads(pick.threads);
    operation.primitive = dnnl::primitive(pick.desc.get());
    operation.reorder = reorder;
    operation.reference = isReference(pick.desc);
    operation.name = (m_open.empty() ? std::string() : layer(m_open.back()).path + " ") + names.what;
    operation.implementation = implementationName(pick.desc);

    session::PrimitiveRow row;
    row.implementation = operation.implementation;
    row.flop = flop;
    row.threads = pick.threads;
    row.flags = (operation.reference ? session::kReference : 0u) | (reorder ? session::kReorder : 0u)
        | (row.implementation.find("jit") != std::string::npos || row.implementation.rfind("brg", 0) == 0 ? session::kJit : 0u);
    static constexpr std::pair<int, const char*> kShown[] = {
        {DNNL_ARG_SRC_0, "src"}, {DNNL_ARG_WEIGHTS, "wei"}, {DNNL_ARG_DST_0, "dst"}, {DNNL_ARG_DIFF_SRC_0, "diff_src"},
        {DNNL_ARG_DIFF_WEIGHTS, "diff_wei"}, {DNNL_ARG_DIFF_DST_0, "diff_dst"}};
    for (const auto& [id, memory] : arguments) {
        operation.arguments.push_back({id, memory.get()});
        m_plan.memories.push_back(memory);
        const compat::Desc desc = memory.get_desc();
        row.bytes += static_cast<int64_t>(desc.get_size());
        for (const auto& [shown, text] : kShown)
            if (id == shown) row.formats += fmt::format("{}{}:{}", row.formats.empty() ? "" : " ", text, compat::layoutText(desc));
    }
    operation.label = label(names, std::move(row));
    m_plan.threads = std::max(m_plan.threads, pick.threads);
    const compat::Desc scratch = pick.desc.scratchpad_desc();
    if (scratch.get_size() > 0) {
        m_scratchUses.push_back({&program(), program().operations().size(), scratch});
        m_scratchBytes = std::max(m_scratchBytes, scratch.get_size());
    }
    program().operations().push_back(std::move(operation));
}

void PlanBuilder::addFunction(const PrimitiveNames& names, const std::string& implementation, std::function<void(int)> function, int threads,
                              int64_t flop, int64_t bytes, Operation::Mode modes, uint32_t flags)
{
    Operation operation;
    operation.kind = Operation::Kind::function;
    operation.modes = modes;
    operation.threads = threads;
    operation.function = std::move(function);
    operation.name = (m_open.empty() ? std::string() : layer(m_open.back()).path + " ") + names.what;
    session::PrimitiveRow row;
    row.implementation = implementation;
    row.flop = flop;
    row.bytes = bytes;
    row.threads = threads;
    row.flags = flags;
    operation.label = label(names, std::move(row));
    m_plan.threads = std::max(m_plan.threads, threads);
    program().operations().push_back(std::move(operation));
}

void PlanBuilder::openLayer(base::LayerId id)
{
    m_open.push_back(id);
    Operation operation;
    operation.kind = Operation::Kind::open;
    program().operations().push_back(std::move(operation));
}

void PlanBuilder::closeLayer()
{
    auto& operations = program().operations();
    const base::LayerId id = m_open.back();
    m_open.pop_back();
    if (operations.back().kind == Operation::Kind::open) { // nothing happened: no span
        operations.pop_back();
        return;
    }
    Operation operation;
    operation.kind = Operation::Kind::close;
    if (m_context.recording.recorder != nullptr) {
        const std::string& path = layer(id).path;
        operation.label
            = m_context.recording.recorder->label(path.empty() ? "model" : path, session::SpanKind::layer, m_phase, id).value;
    }
    operations.push_back(std::move(operation));
}

// ---- choosing ----

Pick PlanBuilder::pick(const std::string& problem, const Make& make, const Arguments& arguments)
{
    constexpr int kTried = 3; // implementations per thread count
    // Reference code is a hundred to a thousand times slower: not worth a timing run, and never chosen beside anything else,
    // however long a busy machine made the timing runs of the others: hence a time beyond any sum of measured ones.
    constexpr double kReferenceTime = 1e15;
    const auto create = [&](int skip, int t) {
        Pick pick;
        pick.implementation = skip;
        pick.threads = t;
        setThreads(t);
        try {
            pick.desc = make(skip);
        } catch (const dnnl::error&) {
            pick.time = kNever;
        }
        return pick;
    };
    // Remembered per thread count, so that plans with other thread choices share the timings.
    const auto bestFor = [&](int t, double giveUp) {
        const std::string key = fmt::format("{} t{}", problem, t);
        if (const auto known = m_context.memory->find(key); known && known->size() == 2) {
            Pick pick = create((*known)[0], t);
            if (pick && !isReference(pick.desc)) {
                pick.time = (*known)[1];
                return pick;
            }
        }
        Pick best;
        best.time = kNever;
        for (int skip = 0; skip < kTried; ++skip) {
            Pick candidate = create(skip, t);
            if (!candidate) break;
            // Taken only where nothing else exists. It need not be the last: oneDNN 3 lists a wrapper of it before the products.
            if (best && isReference(candidate.desc)) continue;
            if (!m_context.options.tune || m_context.tuner->exhausted()) {
                candidate.time = isReference(candidate.desc) ? kReferenceTime : 0;
                if (candidate.time < best.time) best = candidate;
                if (candidate.time < kReferenceTime) break;
                continue;
            }
            candidate.time = isReference(candidate.desc)
                ? kReferenceTime
                : m_context.tuner->time(candidate.desc, arguments(candidate.desc), t, std::min(best.time, giveUp));
            if (candidate.time < best.time) best = candidate;
        }
        // A choice that was not timed is not worth remembering.
        if (best && m_context.options.tune && !m_context.tuner->exhausted()) m_context.memory->store(key, {best.implementation, static_cast<int>(std::min(best.time, 2e9))});
        return best;
    };
    Pick best;
    best.time = kNever;
    std::vector<int> threads = threadChoices();
    if (m_context.tuner->exhausted()) std::reverse(threads.begin(), threads.end()); // untimed, the first wins: the whole team
    for (int t : threads) {
        const Pick candidate = bestFor(t, best.time);
        if (candidate && candidate.time < best.time) best = candidate;
    }
    if (!best) throw dnnl::error(dnnl_unimplemented, "no implementation");
    return best;
}

PlanBuilder::OwnPick PlanBuilder::pickOwn(const std::string& problem, const std::function<void(int)>& run)
{
    OwnPick best{1, kNever};
    for (int t : threadChoices()) {
        const std::string key = fmt::format("{} t{}", problem, t);
        double time = 0;
        if (const auto known = m_context.memory->find(key); known && known->size() == 2) {
            time = (*known)[1];
        } else if (m_context.tuner->exhausted()) {
            time = kNever; // not timed, not taken
        } else {
            time = m_context.tuner->time([&] { run(t); }, best.time);
            m_context.memory->store(key, {0, static_cast<int>(std::min(time, 2e9))});
        }
        if (time < best.time) best = {t, time};
    }
    return best;
}

double PlanBuilder::reorderTime(const compat::Desc& from, const compat::Desc& to)
{
    return m_context.tuner->reorderTime(from, to, threadChoices().back());
}

// ---- the whole plan ----

void PlanBuilder::finishScratchpad()
{
    if (m_scratchBytes == 0) return;
    // Not from the pool: by now its free blocks are those of values that live while the primitives run.
    m_plan.scratchpad = {reinterpret_cast<float*>(touchedMemory(m_scratchBytes, m_context.options.poisonMemory).release()), std::free};
    for (const ScratchUse& use : m_scratchUses) {
        m_plan.memories.emplace_back(use.desc, m_context.engine, m_plan.scratchpad.get());
        use.program->operations()[use.operation].arguments.push_back({DNNL_ARG_SCRATCHPAD, m_plan.memories.back().get()});
    }
}

void PlanBuilder::markInputGradients(base::LayerId id, bool wanted)
{
    m_wantsInput[id.index()] = wanted;
    const model::Layer& l = layer(id);
    for (base::LayerId child : l.children) {
        markInputGradients(child, wanted);
        if (l.kind == model::LayerKind::chain) wanted = wanted || layer(child).parameterCount > 0;
    }
}

void PlanBuilder::build()
{
    m_wantsInput.assign(m_context.model->layers.size(), false);
    markInputGradients(base::LayerId{size_t{0}}, m_context.wantInputGradient);
    m_plan.batch = m_batch;
    compat::Dims inputDims{m_batch};
    for (int64_t d : m_context.model->input) inputDims.push_back(d);
    m_plan.input = allocate(plainDesc(inputDims));

    const base::LayerId rootId{size_t{0}};
    m_phase = Phase::forward;
    const LayerNodePtr root = makeLayer(*this, rootId);
    // A single layer without a Chain around it still gets its span.
    const bool single = layer(rootId).kind != model::LayerKind::chain;
    if (single) openLayer(rootId);
    Value y = root->forward(*this, m_plan.input);
    m_plan.output = plainMatrix(y, "to plain");
    m_plan.outputs = m_plan.output.features();
    if (single) closeLayer();
    const compat::Desc outputDesc = y.desc;

    m_phase = Phase::backward;
    m_plan.outputGradient = allocate(m_plan.output.desc);
    if (single) openLayer(rootId);
    Value dy = m_plan.outputGradient;
    if (!(outputDesc == m_plan.output.desc)) {
        if (compat::dimsOf(outputDesc).size() != 2) dy = view(dy, compat::dimsOf(outputDesc));
        dy = converted(dy, outputDesc, "gradient from plain");
    }
    Value dx = root->backward(*this, dy, m_context.wantInputGradient);
    if (m_context.wantInputGradient && dx) m_plan.inputGradient = converted(dx, plainDesc(inputDims), "input gradient");
    if (single) closeLayer();
    m_plan.nodes.push_back(root);
    finishScratchpad();
}

void PlanBuilder::buildUpdate(engine::Optimiser& optimiser)
{
    m_phase = Phase::optimiser;
    auto& slots = m_context.parameters->slots();
    float* w = m_context.parameters->values();
    float* g = m_context.parameters->gradients();
    for (size_t i = 0; i < slots.size();) {
        const base::LayerId id = slots[i]->layer;
        const size_t first = i;
        const int64_t offset = slots[i]->offset;
        int64_t end = offset;
        for (; i < slots.size() && slots[i]->layer == id; ++i) end = slots[i]->offset + (slots[i]->size + 15) / 16 * 16;
        const int64_t n = end - offset;
        std::vector<std::pair<int64_t, int64_t>> arrays;
        for (size_t k = first; k < i; ++k) arrays.emplace_back(slots[k]->offset, slots[k]->size);
        openLayer(id);
        const int64_t traffic = n * static_cast<int64_t>(sizeof(float)) * (3 + 2 * optimiser.stateArrays());
        addFunction({"update", "optimiser"}, "stepscope",
                    [&optimiser, w, g, offset, n, arrays](int threads) {
                        if (optimiser.hasModifiers())
                            for (const auto& [at, size] : arrays) optimiser.modify(w, g, at, size);
                        if (threads == 1) {
                            optimiser.update(w, g, offset, n);
                            return;
                        }
                        const int64_t part = (n / threads + 15) / 16 * 16;
#pragma omp parallel for schedule(static) num_threads(threads)
                        for (int t = 0; t < threads; ++t) {
                            const int64_t begin = std::min(n, t * part), stop = t + 1 == threads ? n : std::min(n, begin + part);
                            if (stop > begin) optimiser.update(w, g, offset + begin, stop - begin);
                        }
                    },
                    threadsFor(n), 0, traffic);
        closeLayer();
    }
}

} // namespace stepscope::onednn
