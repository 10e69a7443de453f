#include "core/analysis/span_report.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>

namespace stepscope::analysis {

using session::SpanTable;

namespace {

class SpanPass {
public:
    SpanPass(const session::Session& session, const SpanFilter& filter) : m_session(session), m_filter(filter), m_spans(session.spans())
    {
        std::unordered_map<std::string_view, size_t> numbers;
        for (const session::Label& label : session.labels()) {
            const std::string_view name = session.string(label.name);
            const auto [at, isNew] = numbers.try_emplace(name, m_rows.size());
            if (isNew) m_rows.push_back({std::string(name)});
            m_rowOf.push_back(at->second);
        }
        m_open.assign(m_rows.size(), 0);
    }

    void addTrack(size_t begin, size_t end)
    {
        for (size_t row = begin; row < end; ++row) {
            while (!m_path.empty() && m_spans.parent[row] != m_path.back())
                leave();
            if (isSelected(row)) add(row);
            m_path.push_back(row);
            ++m_open[m_rowOf[m_spans.label[row]]];
        }
        while (!m_path.empty())
            leave();
    }

    SpanReport take()
    {
        SpanReport report;
        std::erase_if(m_rows, [](const SpanReportRow& row) { return row.count == 0; });
        for (const SpanReportRow& row : m_rows)
            report.self += row.self;
        std::sort(m_rows.begin(), m_rows.end(), [](const SpanReportRow& a, const SpanReportRow& b) { return a.self != b.self ? a.self > b.self : a.name < b.name; });
        report.rows = std::move(m_rows);
        return report;
    }

private:
    bool isSelected(size_t row) const
    {
        if (m_session.labels()[m_spans.label[row]].kind == session::SpanKind::instant) return false;
        const bool all = m_filter.firstStep <= 0 && m_filter.lastStep == std::numeric_limits<int64_t>::max();
        return all || (m_spans.step[row] >= m_filter.firstStep && m_spans.step[row] <= m_filter.lastStep);
    }

    void add(size_t row)
    {
        const size_t name = m_rowOf[m_spans.label[row]];
        const base::TimeNs duration = m_spans.duration[row];
        SpanReportRow& out = m_rows[name];
        out.shortest = out.count == 0 ? duration : std::min(out.shortest, duration);
        out.longest = std::max(out.longest, duration);
        ++out.count;
        out.sum += duration;
        out.self += duration;
        if (m_open[name] == 0) out.total += duration;
        if (!m_path.empty() && isSelected(m_path.back())) m_rows[m_rowOf[m_spans.label[m_path.back()]]].self -= duration;
    }

    void leave()
    {
        --m_open[m_rowOf[m_spans.label[m_path.back()]]];
        m_path.pop_back();
    }

    const session::Session& m_session;
    const SpanFilter& m_filter;
    const SpanTable& m_spans;
    std::vector<SpanReportRow> m_rows; // by name
    std::vector<size_t> m_rowOf;       // by label
    std::vector<int64_t> m_open;       // spans of the name around the current one
    std::vector<size_t> m_path;        // the spans around the current one
};

} // namespace

SpanReport spanReport(const session::Session& session, const SpanFilter& filter)
{
    SpanPass pass(session, filter);
    const SpanTable& spans = session.spans();
    for (size_t track = 0; track + 1 < spans.trackBegin.size(); ++track)
        pass.addTrack(spans.trackBegin[track], spans.trackBegin[track + 1]);
    return pass.take();
}

} // namespace stepscope::analysis
