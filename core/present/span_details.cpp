#include "core/present/span_details.h"

#include "core/analysis/launch_stack.h"
#include "core/analysis/span_nodes.h"
#include "core/present/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepscope::present {

namespace {

using session::SpanTable;

class Writer {
public:
    Writer(const session::Session& session, uint32_t row)
        : m_session(session)
        , m_spans(session.spans())
        , m_row(row)
    {
    }

    SpanDetails write(const std::stop_token& stop)
    {
        m_out.name = nameOf(m_row);
        addTimes();
        addPlace();
        const uint32_t detail = m_spans.detailOf(m_row);
        const int64_t correlation = m_session.details().correlationOf(detail);
        if (correlation != session::DetailTable::kNoCorrelation) add("correlation id", fmt::format("{}", correlation));
        if (const session::DeviceWork* work = m_session.details().deviceWork(detail)) {
            addWork(*work);
            addLaunch();
        } else {
            addLaunched(stop);
        }
        addArrows();
        return std::move(m_out);
    }

private:
    void add(std::string title, std::string value)
    {
        if (!value.empty()) m_out.fields.push_back({std::move(title), std::move(value)});
    }
    void addNumber(const char* title, int64_t value)
    {
        if (value >= 0) add(title, formatCount(value));
    }
    const session::Label* labelOf(uint32_t row) const
    {
        return m_spans.label[row] < m_session.labels().size() ? &m_session.labels()[m_spans.label[row]] : nullptr;
    }
    std::string nameOf(uint32_t row) const
    {
        const session::Label* label = labelOf(row);
        return label != nullptr ? std::string(m_session.string(label->name)) : "unknown label";
    }
    std::string timeOf(uint32_t row) const
    {
        return fmt::format("{} at {}", formatTime(static_cast<double>(m_spans.duration[row])), formatTime(static_cast<double>(m_spans.start[row])));
    }

    void addTimes()
    {
        base::TimeNs nested = 0;
        const uint32_t end = analysis::endOfSubtree(m_spans, m_row);
        for (uint32_t at = m_row + 1; at < end; ++at)
            if (m_spans.parent[at] == m_row) nested += m_spans.duration[at];
        const base::TimeNs duration = m_spans.duration[m_row];
        add("start", formatTime(static_cast<double>(m_spans.start[m_row])) + " (" + formatTimeExact(m_spans.start[m_row]) + ")");
        add("duration", formatTime(static_cast<double>(duration)) + " (" + formatTimeExact(duration) + ")");
        if (nested > 0) add("own time", formatTime(static_cast<double>(std::max<base::TimeNs>(0, duration - nested))));
        if (m_session.details().isUnfinished(m_spans.detailOf(m_row))) add("end", "not in the file: closed where the trace ends");
    }

    int64_t stepNumber(int64_t index) const // as its file has it
    {
        for (const session::StepRow& step : m_session.steps())
            if (step.index == index) return step.number();
        return index;
    }

    void addPlace()
    {
        if (const session::Label* label = labelOf(m_row)) {
            add("kind", std::string(session::spanKindName(label->kind)));
            add("category", std::string(m_session.string(label->category)));
        }
        const auto after = std::upper_bound(m_spans.trackBegin.begin(), m_spans.trackBegin.end(), size_t{m_row});
        const auto index = static_cast<size_t>(after - m_spans.trackBegin.begin() - 1);
        if (index < m_session.tracks().size()) {
            const session::Track& track = m_session.tracks()[index];
            std::string text = track.name;
            if (!track.process.empty() && track.process != track.name) text += fmt::format(" of {}", track.process);
            if (!track.group.empty()) text += fmt::format(" ({})", track.group);
            add(track.kind == session::TrackKind::stream ? "stream" : "thread", text);
        }
        if (m_spans.step[m_row] >= 0) add("step", fmt::format("{}", stepNumber(m_spans.step[m_row])));
    }

    void addWork(const session::DeviceWork& work)
    {
        const auto triple = [](const int32_t(&n)[3]) { return n[0] < 0 ? std::string() : fmt::format("{} × {} × {}", n[0], n[1], n[2]); };
        addNumber("device", work.device);
        addNumber("stream number", work.stream);
        addNumber("context", work.context);
        add("grid", triple(work.grid));
        add("block", triple(work.block));
        addNumber("registers per thread", work.registers);
        if (work.sharedBytes >= 0) add("shared memory per block", formatBytes(work.sharedBytes));
        if (!std::isnan(work.occupancy)) add("occupancy, estimated", formatShare(work.occupancy));
        if (!std::isnan(work.blocksPerSm)) add("blocks per SM", formatNumber(work.blocksPerSm));
        if (!std::isnan(work.warpsPerSm)) add("warps per SM", formatNumber(work.warpsPerSm));
        add("direction", std::string(session::copyKindName(work.copy)));
        const std::string from(session::memoryKindName(work.source)), to(session::memoryKindName(work.destination));
        if (!from.empty() || !to.empty()) add("memory", from == to || to.empty() ? from : from.empty() ? to : from + " to " + to);
        if (work.bytes >= 0) {
            add("bytes", formatBytes(static_cast<double>(work.bytes)));
            const auto ns = static_cast<double>(m_spans.duration[m_row]);
            if (ns > 0) add("rate", formatByteRate(static_cast<double>(work.bytes) / ns * 1e9));
        }
        addNumber("node of the graph", work.graphNode);
    }

    void link(const char* relation, uint32_t row)
    {
        if (row >= m_spans.size() || row == m_row) return;
        const auto same = std::count_if(m_out.links.begin(), m_out.links.end(), [&](const SpanLink& known) { return known.relation == relation; });
        if (same >= static_cast<ptrdiff_t>(SpanDetails::kMostLinks)) ++m_out.linksLeftOut;
        else m_out.links.push_back({relation, row, nameOf(row), timeOf(row)});
    }

    // The call, then what was around it, from the inside out.
    void addLaunch()
    {
        const std::vector<uint32_t> stack = analysis::launchStack(m_session, m_row);
        bool call = true;
        for (size_t i = stack.size(); i-- > 0;) {
            if (stack[i] == m_row) continue;
            link(std::exchange(call, false) ? "launched by" : "inside of", stack[i]);
        }
    }

    // Work whose call is this span or lies within it.
    void addLaunched(const std::stop_token& stop)
    {
        const session::DetailTable& details = m_session.details();
        if (details.deviceRows() == 0) return;
        const uint32_t end = analysis::endOfSubtree(m_spans, m_row);
        const auto inside = [&](const session::DeviceWork& work) { return work.launch >= m_row && work.launch < end; };
        if (std::none_of(details.device.begin(), details.device.end(), inside)) return;
        int64_t count = 0;
        base::TimeNs total = 0;
        std::vector<uint32_t> rows;
        for (uint32_t at = 0; at < m_spans.size(); ++at) {
            if ((at & 0xfffff) == 0 && stop.stop_requested()) return;
            const session::DeviceWork* work = details.deviceWork(m_spans.detailOf(at));
            if (work == nullptr || !inside(*work)) continue;
            ++count;
            total += m_spans.duration[at];
            rows.push_back(at);
        }
        add("work on devices", fmt::format("{} in {} {}", formatTime(static_cast<double>(total)), formatCount(count), count == 1 ? "piece" : "pieces"));
        std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return m_spans.duration[a] > m_spans.duration[b]; });
        for (const uint32_t row : rows) link("launches", row);
    }

    void addArrows()
    {
        for (const session::FlowRow& flow : m_session.details().flows) {
            if (flow.to == m_row) link("arrow from", flow.from);
            if (flow.from == m_row) link("arrow to", flow.to);
        }
    }

    const session::Session& m_session;
    const SpanTable& m_spans;
    uint32_t m_row;
    SpanDetails m_out;
};

} // namespace

SpanDetails spanDetails(const session::Session& session, uint32_t row, std::stop_token stop)
{
    if (row >= session.spans().size()) return {};
    return Writer(session, row).write(stop);
}

} // namespace stepscope::present
