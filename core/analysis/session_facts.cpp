#include "core/analysis/session_facts.h"

#include "core/analysis/intervals.h"

#include <algorithm>

namespace stepscope::analysis {

namespace {

using base::TimeNs;
using session::SpanKind;
using session::SpanTable;

bool isDeviceWork(SpanKind kind)
{
    return kind == SpanKind::kernel || kind == SpanKind::copy || kind == SpanKind::fill || kind == SpanKind::communication;
}

std::string nameOf(const session::Session& session, const SpanTable& spans, uint32_t row)
{
    return row < spans.size() ? std::string(session.string(session.labels()[spans.label[row]].name)) : std::string();
}

int64_t qualityCount(const session::Session& session, std::string_view code)
{
    int64_t count = 0; // of several files each has its row
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) count += row.count;
    return count;
}

void include(std::optional<base::TimeRange>& range, TimeNs begin, TimeNs end)
{
    if (!range) range = base::TimeRange{begin, end};
    range->begin = std::min(range->begin, begin);
    range->end = std::max(range->end, end);
}

class SpanCounter {
public:
    SpanCounter(const session::Session& session, size_t limit)
        : m_session(session), m_spans(session.spans()), m_details(session.details()), m_limit(limit), m_self(m_spans.size()),
          m_depth(m_spans.size()), m_byLabel(session.labels().size())
    {
    }

    SpanFacts run()
    {
        for (size_t row = 0; row < m_spans.size(); ++row)
            countSelf(row);
        std::map<int64_t, std::vector<base::TimeRange>> busy;
        for (size_t track = 0; track < m_session.tracks().size(); ++track)
            countTrack(track, busy);
        for (auto& [device, ranges] : busy)
            m_facts.deviceBusy[device] = IntervalSet(std::move(ranges)).length();
        for (size_t label = 0; label < m_byLabel.size(); ++label)
            mergeLabel(label);
        for (const session::FlowRow& flow : m_details.flows)
            if (m_facts.arrows.size() < m_limit)
                m_facts.arrows.emplace_back(nameOf(m_session, m_spans, flow.from), nameOf(m_session, m_spans, flow.to));
        std::sort(m_facts.arrows.begin(), m_facts.arrows.end());
        std::sort(m_facts.asyncDurations.begin(), m_facts.asyncDurations.end());
        m_facts.overlaps = qualityCount(m_session, "overlap-lanes");
        addRange();
        return std::move(m_facts);
    }

private:
    SpanKind kindOf(size_t row) const { return m_session.labels()[m_spans.label[row]].kind; }

    void countSelf(size_t row)
    {
        m_self[row] = m_spans.duration[row];
        const uint32_t parent = m_spans.parent[row];
        if (parent == SpanTable::kNoParent) {
            m_depth[row] = 1;
        } else {
            m_self[parent] -= m_spans.duration[row];
            m_depth[row] = m_depth[parent] + 1;
        }
        if (kindOf(row) != SpanKind::instant) m_facts.maxDepth = std::max<int64_t>(m_facts.maxDepth, m_depth[row]);
    }

    void countTrack(size_t index, std::map<int64_t, std::vector<base::TimeRange>>& busy)
    {
        const session::Track& track = m_session.tracks()[index];
        const size_t begin = m_spans.trackBegin[index], end = m_spans.trackBegin[index + 1];
        if (begin != end && track.lane == 0) ++m_facts.tracks;
        const bool async = track.kind == session::TrackKind::asynchronous;
        for (size_t row = begin; row < end; ++row) {
            include(m_facts.range, m_spans.start[row], m_spans.end(row));
            const SpanKind kind = kindOf(row);
            if (kind == SpanKind::instant) {
                ++(async ? m_facts.asyncInstants : m_facts.instants);
                continue;
            }
            ++m_facts.spans;
            ++(async ? m_facts.asyncSpans : m_facts.threadSpans);
            NamedSpans& sums = m_byLabel[m_spans.label[row]];
            if (sums.count == 0 || m_spans.start[row] < sums.first) sums.first = m_spans.start[row];
            ++sums.count;
            sums.total += m_spans.duration[row];
            sums.self += m_self[row];
            sums.unfinished |= m_details.isUnfinished(m_spans.detailOf(row));
            if (async && m_facts.asyncDurations.size() < m_limit)
                m_facts.asyncDurations.emplace_back(nameOf(m_session, m_spans, static_cast<uint32_t>(row)), m_spans.duration[row]);
            if (isDeviceWork(kind)) {
                m_facts.deviceSum[track.device] += m_spans.duration[row];
                busy[track.device].push_back({m_spans.start[row], m_spans.end(row)});
            }
        }
    }

    void mergeLabel(size_t label)
    {
        const NamedSpans& from = m_byLabel[label];
        if (from.count == 0) return;
        NamedSpans& to = m_facts.named[std::string(m_session.string(m_session.labels()[label].name))];
        to.first = to.count == 0 ? from.first : std::min(to.first, from.first);
        to.count += from.count;
        to.total += from.total;
        to.self += from.self;
        to.unfinished |= from.unfinished;
    }

    // Ends that nothing began, counters and samples belong to the time that the file is about.
    void addRange()
    {
        for (size_t i = 0; i < m_session.counters().size(); ++i) {
            const auto& times = m_session.counterSamples(base::CounterId(i)).time;
            if (!times.empty()) include(m_facts.range, times.front(), times.back());
        }
        for (size_t i = 0; i < m_session.series().size(); ++i) {
            const auto& times = m_session.samples(base::SeriesId(i)).time;
            if (!times.empty() && m_session.series()[i].timed) include(m_facts.range, times.front(), times.back());
        }
        if (m_facts.range) m_facts.range->begin = std::min<TimeNs>(m_facts.range->begin, 0);
    }

    const session::Session& m_session;
    const SpanTable& m_spans;
    const session::DetailTable& m_details;
    const size_t m_limit;
    base::HugeVector<TimeNs> m_self;
    base::HugeVector<uint32_t> m_depth;
    std::vector<NamedSpans> m_byLabel;
    SpanFacts m_facts;
};

// Inclusive weights of functions: of nested places with one name only the outermost counts.
void addInclusive(const session::Session& session, const std::vector<int64_t>& below, SeriesFacts& facts)
{
    const std::vector<session::StackRow>& stacks = session.stacks();
    std::vector<uint32_t> firstChild(stacks.size(), base::StackId::kNone), nextSibling(stacks.size(), base::StackId::kNone);
    uint32_t firstRoot = base::StackId::kNone;
    for (size_t i = stacks.size(); i-- > 0;) {
        uint32_t& first = stacks[i].parent.valid() ? firstChild[stacks[i].parent.index()] : firstRoot;
        nextSibling[i] = first;
        first = static_cast<uint32_t>(i);
    }
    std::vector<uint32_t> open(session.tables().strings.size() + 1); // how often each name is on the way to here
    const auto nameIndex = [&](uint32_t stack) {
        const base::FrameId frame = stacks[stack].frame;
        const base::StringId name = frame.index() < session.frames().size() ? session.frames()[frame.index()].function : base::StringId();
        return name.index() < open.size() - 1 ? name.index() : open.size() - 1;
    };
    // One step of a walk through the tree without recursion: down, else sideways, else up.
    uint32_t at = firstRoot;
    bool down = true;
    while (at != base::StackId::kNone) {
        const size_t name = nameIndex(at);
        if (down) {
            if (open[name]++ == 0 && below[at] != 0)
                facts.inclusive[name < open.size() - 1 ? session.tables().strings[name] : std::string()] += below[at];
            if (firstChild[at] != base::StackId::kNone) {
                at = firstChild[at];
                continue;
            }
        }
        --open[name];
        if (nextSibling[at] != base::StackId::kNone) {
            at = nextSibling[at];
            down = true;
        } else {
            at = stacks[at].parent.valid() ? stacks[at].parent.value : base::StackId::kNone;
            down = false;
        }
    }
}

} // namespace

SpanFacts spanFacts(const session::Session& session, size_t limit)
{
    return SpanCounter(session, limit).run();
}

SeriesFacts seriesFacts(const session::Session& session, base::SeriesId id)
{
    SeriesFacts facts;
    if (id.index() >= session.series().size()) return facts;
    facts.name = session.series()[id.index()].name;
    facts.unit = session.series()[id.index()].unit;
    const session::SampleTable& samples = session.samples(id);
    const std::vector<session::StackRow>& stacks = session.stacks();
    std::vector<int64_t> below(stacks.size());
    std::vector<bool> used(stacks.size());
    facts.samples = static_cast<int64_t>(samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
        facts.total += samples.weight[i];
        if (samples.stack[i] >= stacks.size()) {
            ++facts.withoutStack;
            continue;
        }
        below[samples.stack[i]] += samples.weight[i];
        used[samples.stack[i]] = true;
    }
    std::vector<uint32_t> depth(stacks.size());
    for (size_t i = 0; i < stacks.size(); ++i) {
        depth[i] = stacks[i].parent.valid() ? depth[stacks[i].parent.index()] + 1 : 1;
        if (!used[i]) continue;
        facts.maxDepth = std::max<int64_t>(facts.maxDepth, depth[i]);
        const base::FrameId frame = stacks[i].frame;
        const base::StringId name = frame.index() < session.frames().size() ? session.frames()[frame.index()].function : base::StringId();
        facts.self[std::string(session.string(name))] += below[i];
    }
    for (size_t i = stacks.size(); i-- > 0;)
        if (stacks[i].parent.valid()) below[stacks[i].parent.index()] += below[i];
    addInclusive(session, below, facts);
    return facts;
}

} // namespace stepscope::analysis
