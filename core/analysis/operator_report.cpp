#include "core/analysis/device_reports.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stepscope::analysis {

using base::TimeNs;
using session::SpanKind;
using session::SpanTable;

namespace {

constexpr uint32_t kNone = 0xffffffffu;

struct Operator {
    uint32_t name = 0;       // in OperatorPass::m_names
    uint32_t parent = kNone; // operator around it
    uint32_t children = 0;   // operators directly inside
    bool counts = true;
    TimeNs host = 0, hostSelf = 0;
    TimeNs deviceSelf = 0, deviceTotal = 0;
};

// Ranges that frameworks put around their loops; old traces give them the kind of operators.
bool isListed(std::string_view name)
{
    for (const std::string_view prefix : {"ProfilerStep#", "enumerate(DataLoader)#", "Optimizer.step#", "Optimizer.zero_grad#"})
        if (name.starts_with(prefix)) return false;
    return true;
}

// PyTorch's NVTX ranges carry a number of the call: "aten::mm, op_id = 12".
std::string_view withoutNumber(std::string_view name)
{
    for (const std::string_view mark : {", op_id = ", ", seq = "})
        if (const size_t at = name.find(mark); at != std::string_view::npos) return name.substr(0, at);
    return name;
}

class OperatorPass {
public:
    explicit OperatorPass(const DeviceTrace& trace)
        : m_trace(trace)
        , m_session(trace.session())
        , m_spans(m_session.spans())
        , m_operatorOf(m_spans.size(), kNone)
    {
        std::map<std::string_view, uint32_t> numbers;
        for (const session::Label& label : m_session.labels()) {
            const std::string_view name = withoutNumber(m_session.string(label.name));
            const auto [known, isNew] = numbers.try_emplace(name, static_cast<uint32_t>(m_names.size()));
            if (isNew) m_names.push_back(name);
            m_nameOf.push_back(known->second);
        }
    }

    bool nest(const std::stop_token& stop)
    {
        for (size_t track = 0; track + 1 < m_spans.trackBegin.size(); ++track) {
            if (m_session.tracks()[track].kind != session::TrackKind::thread) continue;
            for (size_t row = m_spans.trackBegin[track]; row < m_spans.trackBegin[track + 1]; ++row) {
                if ((row & 0xfffff) == 0 && stop.stop_requested()) return false;
                addSpan(row);
            }
        }
        return true;
    }

    void addDeviceTime()
    {
        for (const DeviceActivity& activity : m_trace.activities()) {
            if (!activity.launched() || activity.deviceClass == DeviceClass::wait) continue;
            const uint32_t around = operatorAround(activity.launch);
            if (around != kNone) m_operators[around].deviceSelf += activity.duration();
        }
        for (Operator& op : m_operators)
            op.deviceTotal = op.deviceSelf;
        for (size_t i = m_operators.size(); i-- > 0;) // what is inside comes later
            if (m_operators[i].parent != kNone) m_operators[m_operators[i].parent].deviceTotal += m_operators[i].deviceTotal;
    }

    std::vector<OperatorRow> rows() const
    {
        std::map<uint32_t, OperatorRow> byName;
        const std::vector<uint8_t> within = withinItself();
        for (size_t i = 0; i < m_operators.size(); ++i) {
            const Operator& op = m_operators[i];
            if (!op.counts) continue;
            OperatorRow& row = byName[op.name];
            row.deviceSelf += op.deviceSelf;
            row.hostSelf += op.hostSelf;
            const bool oneWithParent = op.parent != kNone && m_operators[op.parent].name == op.name && m_operators[op.parent].children == 1;
            if (!oneWithParent) ++row.calls;
            if (within[i] != 0) continue;
            row.deviceTotal += op.deviceTotal;
            row.hostTotal += op.host;
        }
        std::vector<OperatorRow> rows;
        for (auto& [name, row] : byName) {
            row.name = m_names[name];
            if (isListed(row.name)) rows.push_back(std::move(row));
        }
        std::sort(rows.begin(), rows.end(), [](const OperatorRow& a, const OperatorRow& b) {
            return std::tie(b.deviceSelf, b.hostSelf, a.name) < std::tie(a.deviceSelf, a.hostSelf, b.name);
        });
        return rows;
    }

private:
    void addSpan(size_t row)
    {
        const uint32_t parentRow = m_spans.parent[row];
        const uint32_t parent = parentRow == SpanTable::kNoParent ? kNone : m_operatorOf[parentRow];
        const SpanKind kind = m_trace.kind(row);
        m_operatorOf[row] = parent;
        const bool isCall = kind == SpanKind::call || kind == SpanKind::synchronisation;
        if (kind != SpanKind::operation && !isCall) return;
        const TimeNs duration = m_trace.end(row) - m_trace.begin(row);
        // A call inside of a call is a part of that one.
        const bool inCall = isCall && parentRow != SpanTable::kNoParent && m_trace.kind(parentRow) == SpanKind::call;
        if (parent != kNone && !inCall) m_operators[parent].hostSelf -= duration;
        if (isCall) return;
        if (parent != kNone) ++m_operators[parent].children;
        Operator op;
        op.name = m_nameOf[m_spans.label[row]];
        op.parent = parent;
        op.counts = m_trace.hostCounts(row) && m_trace.inChosenSteps(row);
        op.host = op.hostSelf = duration;
        m_operatorOf[row] = static_cast<uint32_t>(m_operators.size());
        m_operators.push_back(op);
    }

    // The innermost operator around a call. A call that overlaps its operator without nesting lies on another lane of
    // its thread; then it is the innermost operator of the lanes before in which the call begins.
    uint32_t operatorAround(uint32_t row) const
    {
        if (m_operatorOf[row] != kNone) return m_operatorOf[row];
        const size_t track = static_cast<size_t>(std::upper_bound(m_spans.trackBegin.begin(), m_spans.trackBegin.end(), row) - m_spans.trackBegin.begin()) - 1;
        const session::Track& own = m_session.tracks()[track];
        if (own.lane == 0) return kNone;
        uint32_t best = kNone;
        TimeNs bestBegin = 0;
        for (size_t other = 0; other < m_session.tracks().size(); ++other) {
            const session::Track& lane = m_session.tracks()[other];
            if (lane.lane >= own.lane || lane.threadId != own.threadId || lane.processId != own.processId || lane.group != own.group
                || lane.kind != own.kind || lane.name != own.name)
                continue;
            const uint32_t around = spanAt(other, m_spans.start[row]);
            if (around == SpanTable::kNoParent || m_operatorOf[around] == kNone) continue;
            if (best == kNone || m_spans.start[around] > bestBegin) {
                best = m_operatorOf[around];
                bestBegin = m_spans.start[around];
            }
        }
        return best;
    }

    // The innermost span of a track that runs at a time.
    uint32_t spanAt(size_t track, TimeNs time) const
    {
        const auto begin = m_spans.start.begin() + static_cast<std::ptrdiff_t>(m_spans.trackBegin[track]);
        const auto end = m_spans.start.begin() + static_cast<std::ptrdiff_t>(m_spans.trackBegin[track + 1]);
        const auto after = std::upper_bound(begin, end, time);
        if (after == begin) return SpanTable::kNoParent;
        auto row = static_cast<uint32_t>(after - m_spans.start.begin() - 1);
        while (row != SpanTable::kNoParent && m_spans.end(row) <= time)
            row = m_spans.parent[row];
        return row;
    }

    // 1 for what is inside of an operator of its name, whose times include this one's. One walk over the tree, with the
    // names on the path counted.
    std::vector<uint8_t> withinItself() const
    {
        std::vector<uint32_t> firstChild(m_operators.size(), kNone), next(m_operators.size(), kNone);
        uint32_t at = kNone; // the first of those without an operator around them
        for (size_t i = m_operators.size(); i-- > 0;) {
            uint32_t& first = m_operators[i].parent == kNone ? at : firstChild[m_operators[i].parent];
            next[i] = first;
            first = static_cast<uint32_t>(i);
        }
        std::vector<uint8_t> within(m_operators.size(), 0);
        std::vector<uint32_t> open(m_names.size(), 0);
        while (at != kNone) {
            within[at] = open[m_operators[at].name]++ > 0 ? 1 : 0;
            if (firstChild[at] != kNone) {
                at = firstChild[at];
                continue;
            }
            while (at != kNone) {
                --open[m_operators[at].name];
                if (next[at] != kNone) break;
                at = m_operators[at].parent;
            }
            if (at != kNone) at = next[at];
        }
        return within;
    }

    const DeviceTrace& m_trace;
    const session::Session& m_session;
    const SpanTable& m_spans;
    std::vector<std::string_view> m_names;
    std::vector<uint32_t> m_nameOf;      // by label
    std::vector<uint32_t> m_operatorOf;  // by row: the innermost operator at or around the span
    std::vector<Operator> m_operators;   // in the order of their rows
};

} // namespace

std::vector<OperatorRow> operatorReport(const DeviceTrace& trace, std::stop_token stop)
{
    OperatorPass pass(trace);
    if (!pass.nest(stop)) return {};
    pass.addDeviceTime();
    return pass.rows();
}

} // namespace stepscope::analysis
