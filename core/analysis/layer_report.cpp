#include "core/analysis/step_pass.h"

namespace stepscope::analysis {

namespace {

using session::Phase;

enum Part { kForward, kBackward, kUpdate, kTotal, kOwn, kParts };

// Keys are phase * (layers + 1) + layer, where the last layer stands for none; twice: the second half is slow paths.
class LayerPass {
public:
    LayerPass(const session::Session& session, const SpanFilter& filter)
        : m_session(session)
        , m_pass(session, filter)
        , m_layers(session.layers().size())
        , m_stride(m_layers + 1)
        , m_keys(session::kPhaseCount * m_stride)
        , m_series(m_layers)
        , m_current(m_layers)
        , m_noLayer(session::kPhaseCount)
        , m_slow(m_layers, 0)
        , m_count(m_layers, 0)
    {
    }

    bool run(const std::stop_token& stop, const base::Progress& progress);
    void rows(LayerReport& report, const AllocationSums& sums);

private:
    uint32_t key(uint32_t label, uint32_t parent) const;
    void addStep(const StepPass::Step& step);
    void addToAncestors(size_t layer, Phase phase, base::TimeNs time);
    void appendLayer(size_t layer, LayerReport& report);
    void appendOthers(LayerReport& report);
    bool isContainer(size_t layer) const;
    void sumAllocations(const AllocationSums& sums);

    const session::Session& m_session;
    StepPass m_pass;
    size_t m_layers, m_stride, m_keys;
    std::vector<std::array<Series, kParts>> m_series;       // per layer
    std::vector<std::array<base::TimeNs, kParts>> m_current; // of the step being added
    std::vector<size_t> m_touchedLayers;
    std::vector<Series> m_noLayer;                          // per phase
    Series m_unrecorded;
    std::vector<base::TimeNs> m_slow;
    std::vector<int64_t> m_count;
    std::vector<AllocationSum> m_allocations, m_ownAllocations; // per layer
    std::array<AllocationSum, session::kPhaseCount> m_otherAllocations{};
};

uint32_t LayerPass::key(uint32_t label, uint32_t parent) const
{
    const LabelInfo& info = m_pass.labels()[label];
    auto phase = static_cast<size_t>(info.phase);
    size_t layer = info.layer == base::LayerId::kNone ? m_layers : info.layer;
    bool slow = info.slow;
    if (parent != StepPass::kNoKey) {
        const size_t plain = parent % m_keys;
        if (phase == 0) phase = plain / m_stride;
        if (layer == m_layers) layer = plain % m_stride;
        slow = slow || parent >= m_keys;
    }
    return static_cast<uint32_t>(phase * m_stride + layer + (slow ? m_keys : 0));
}

void LayerPass::addToAncestors(size_t layer, Phase phase, base::TimeNs time)
{
    const int part = phase == Phase::forward ? kForward : phase == Phase::backward ? kBackward : phase == Phase::optimiser ? kUpdate : kTotal;
    m_current[layer][kOwn] += time;
    // Parents come before their children (pre-order), which also ends the walk in a damaged table.
    for (size_t at = layer;;) {
        if (m_current[at][kTotal] == 0) m_touchedLayers.push_back(at);
        m_current[at][kTotal] += time;
        if (part != kTotal) m_current[at][static_cast<size_t>(part)] += time;
        const base::LayerId parent = m_session.layers()[at].parent;
        if (parent.index() >= at) break;
        at = parent.index();
    }
}

void LayerPass::addStep(const StepPass::Step& step)
{
    std::vector<base::TimeNs> noLayer(session::kPhaseCount, 0);
    for (const uint32_t key : step.touched) {
        const base::TimeNs time = step.sums[key];
        if (time <= 0) continue;
        const size_t plain = key % m_keys, layer = plain % m_stride, phase = plain / m_stride;
        if (layer == m_layers) {
            noLayer[phase] += time;
            continue;
        }
        addToAncestors(layer, static_cast<Phase>(phase), time);
        if (key >= m_keys) m_slow[layer] += time;
    }
    for (size_t phase = 0; phase < noLayer.size(); ++phase)
        m_noLayer[phase].add(noLayer[phase]);
    for (const size_t layer : m_touchedLayers) {
        for (size_t part = 0; part < kParts; ++part)
            m_series[layer][part].add(m_current[layer][part]);
        m_current[layer] = {};
    }
    m_touchedLayers.clear();
    m_unrecorded.add(step.unrecorded);
}

bool LayerPass::run(const std::stop_token& stop, const base::Progress& progress)
{
    return m_pass.run(
        2 * m_keys, [this](uint32_t label, uint32_t parent) { return key(label, parent); },
        [this](uint32_t label, uint32_t key) {
            const LabelInfo& info = m_pass.labels()[label];
            if (info.kind == session::SpanKind::layer && info.layer != base::LayerId::kNone
                && key % m_keys / m_stride == static_cast<size_t>(Phase::forward))
                ++m_count[info.layer];
        },
        [this](const StepPass::Step& step) { addStep(step); }, stop, progress);
}

void LayerPass::sumAllocations(const AllocationSums& sums)
{
    m_ownAllocations.assign(m_layers, {});
    for (size_t label = 0; label < sums.byLabel.size(); ++label) {
        const LabelInfo& info = m_pass.labels()[label];
        if (info.layer == base::LayerId::kNone) m_otherAllocations[static_cast<size_t>(info.phase)] += sums.byLabel[label];
        else m_ownAllocations[info.layer] += sums.byLabel[label];
    }
    m_allocations = m_ownAllocations;
    for (size_t layer = m_layers; layer-- > 0;) // children come after their parents
        if (const size_t parent = m_session.layers()[layer].parent.index(); parent < layer) m_allocations[parent] += m_allocations[layer];
}

bool LayerPass::isContainer(size_t layer) const
{
    // Pre-order: a container's first child follows it.
    return layer + 1 < m_layers && m_session.layers()[layer + 1].parent.index() == layer;
}

void LayerPass::appendLayer(size_t layer, LayerReport& report)
{
    const session::LayerRow& source = m_session.layers()[layer];
    const auto finish = [&](Part part) { return m_series[layer][part].finish(m_pass.steps(), m_pass.all()); };
    LayerReportRow row;
    row.layer = base::LayerId(layer);
    row.name = source.path.empty() ? "(model)" : source.path;
    row.type = source.type;
    row.text = source.text;
    const size_t parent = source.parent.index();
    row.depth = parent < layer ? report.rows[parent].depth + 1 : 0;
    row.container = isContainer(layer);
    row.forward = finish(kForward);
    row.backward = finish(kBackward);
    row.update = finish(kUpdate);
    row.total = finish(kTotal);
    row.own = finish(kOwn);
    row.count = m_count[layer];
    const auto rate = [](int64_t amountPerStep, const RowTime& time) {
        return ratePerSecond(static_cast<double>(amountPerStep), time, 1);
    };
    row.forwardFlopPerSecond = rate(source.forwardFlop, row.forward);
    row.backwardFlopPerSecond = rate(source.backwardFlop, row.backward);
    row.forwardBytesPerSecond = rate(source.forwardBytes, row.forward);
    row.backwardBytesPerSecond = rate(source.backwardBytes, row.backward);
    if (row.forward.median > 0) row.backwardOverForward = row.backward.median / row.forward.median;
    row.slow = m_slow[layer];
    row.parameters = source.parameters;
    row.allocations = m_allocations[layer];
    row.ownAllocations = m_ownAllocations[layer];
    report.rows.push_back(std::move(row));
}

void LayerPass::appendOthers(LayerReport& report)
{
    const auto append = [&](Phase phase, std::string name, Series& series, bool remainder) {
        LayerReportRow row;
        row.phase = phase;
        row.name = std::move(name);
        row.remainder = remainder;
        row.total = series.finish(m_pass.steps(), m_pass.all());
        row.own = row.total;
        if (&series != &m_unrecorded) row.allocations = row.ownAllocations = m_otherAllocations[static_cast<size_t>(phase)];
        if (phase == Phase::forward) row.forward = row.total;
        if (phase == Phase::backward) row.backward = row.total;
        if (phase == Phase::optimiser) row.update = row.total;
        report.rows.push_back(std::move(row));
    };
    const auto inLayers = [&](Part part) {
        return std::any_of(m_series.begin(), m_series.end(), [&](const auto& series) { return series[part].total() > 0; });
    };
    for (size_t i = 1; i < m_noLayer.size(); ++i) {
        if (m_noLayer[i].total() == 0) continue;
        const auto phase = static_cast<Phase>(i);
        const bool rest = (phase == Phase::forward && inLayers(kForward)) || (phase == Phase::backward && inLayers(kBackward))
            || (phase == Phase::optimiser && inLayers(kUpdate));
        append(phase, std::string(session::phaseName(phase)) + (rest ? ", between layers" : ""), m_noLayer[i], rest);
    }
    if (m_noLayer[0].total() > 0) append(Phase::none, "between phases", m_noLayer[0], true);
    if (m_unrecorded.total() > 0) append(Phase::none, "without spans", m_unrecorded, true);
}

void LayerPass::rows(LayerReport& report, const AllocationSums& sums)
{
    sumAllocations(sums);
    report.allocationsCounted = sums.counted;
    for (size_t layer = 0; layer < m_layers; ++layer)
        appendLayer(layer, report);
    appendOthers(report);
}

} // namespace

LayerReport layerReport(const session::Session& session, const SpanFilter& filter, std::stop_token stop, const base::Progress& progress)
{
    LayerReport report;
    LayerPass pass(session, filter);
    if (!pass.run(stop, progress)) return report;
    report.steps = stepStatistics(session, filter);
    pass.rows(report, allocationSums(session, filter));
    return report;
}

} // namespace stepscope::analysis
