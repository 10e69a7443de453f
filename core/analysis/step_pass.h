// StepPass: the one walk over the spans of the selected steps that all reports share.
// Owner: core/analysis, internal. Thread: any. Units: ns.
//
// A report maps every span to a key. A key gets the span's duration, and the key of the enclosing span loses it: so
// each nanosecond of a step ends up in one key. Sums are kept per step and handed on when the step is over.
#pragma once

#include "core/analysis/label_info.h"
#include "core/analysis/reports.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace stepscope::analysis {

// The tracks the reports follow: of every group the first one that runs steps and that the filter allows.
std::vector<base::TrackId> stepTracks(const session::Session& session, const SpanFilter& filter);

// Sums per step of one row; steps that are not in it count as 0.
class Series {
public:
    void add(base::TimeNs value)
    {
        if (value <= 0) return;
        m_values.push_back(value);
        m_total += value;
    }
    base::TimeNs total() const { return m_total; }
    RowTime finish(int64_t steps, base::TimeNs all);

private:
    std::vector<int64_t> m_values;
    base::TimeNs m_total = 0;
};

class StepPass {
public:
    static constexpr uint32_t kNoKey = 0xffffffffu;

    struct Step {
        size_t row = 0;                           // in Session::steps()
        const std::vector<base::TimeNs>& sums;    // by key
        const std::vector<uint32_t>& touched;     // keys with a sum, in no order
        base::TimeNs unrecorded = 0;              // of the step's duration, where its spans are missing
    };

    StepPass(const session::Session& session, const SpanFilter& filter)
        : m_session(session)
        , m_filter(filter)
        , m_selection(session, filter)
        , m_labels(labelInfos(session))
    {
    }

    const std::vector<LabelInfo>& labels() const { return m_labels; }
    int64_t steps() const { return m_selection.count(); }
    // Sum of what shares refer to: the steps' durations, or their spans where those are longer.
    base::TimeNs all() const { return m_all; }

    // key(label, parentKey) -> key in [0, keys), the parent's is kNoKey for the step itself; row(label, key) is told
    // of every span; step(Step) ends each selected step, also steps without spans. False when stopped.
    template <class Key, class Row>
    bool run(size_t keys, Key key, Row row, const std::function<void(const Step&)>& step, const std::stop_token& stop,
             const base::Progress& progress);

private:
    void flush(const std::function<void(const Step&)>& step);
    void flushUpTo(size_t stepRow, const std::function<void(const Step&)>& step);

    const session::Session& m_session;
    const SpanFilter& m_filter;
    StepSelection m_selection;
    std::vector<LabelInfo> m_labels;
    std::vector<base::TimeNs> m_sums;
    std::vector<uint8_t> m_isTouched;
    std::vector<uint32_t> m_touched;
    base::TimeNs m_stepSpans = 0; // of the current step
    uint32_t m_stepKey = 0;       // key of its own time
    size_t m_nextStep = 0;        // first row of Session::steps() that was not handed on
    base::TimeNs m_all = 0;
};

template <class Key, class Row>
bool StepPass::run(size_t keys, Key key, Row row, const std::function<void(const Step&)>& step, const std::stop_token& stop,
                   const base::Progress& progress)
{
    m_sums.assign(keys, 0);
    m_isTouched.assign(keys, 0);
    // Steps stand in the order of their groups, as tracks do.
    for (const base::TrackId track : stepTracks(m_session, m_filter)) {
        const session::SpanTable& spans = m_session.spans();
        const size_t begin = spans.trackBegin[track.index()], end = spans.trackBegin[track.index() + 1];
        const auto unknown = static_cast<uint32_t>(m_labels.size() - 1);
        base::HugeVector<uint32_t> keyOf(end - begin); // kNoKey: not within a selected step
        for (size_t i = begin; i < end; ++i) {
            if (((i - begin) & 0xfffff) == 0) {
                if (stop.stop_requested()) return false;
                if (progress) progress(static_cast<double>(i - begin) / static_cast<double>(end - begin), "summing spans");
            }
            const uint32_t label = std::min(spans.label[i], unknown);
            const base::TimeNs duration = std::max<base::TimeNs>(0, spans.duration[i]);
            uint32_t parentKey = kNoKey;
            if (spans.parent[i] == session::SpanTable::kNoParent) {
                const int64_t stepRow = m_labels[label].kind == session::SpanKind::step ? m_selection.rowOf(spans.step[i]) : -1;
                if (!m_selection.hasRow(stepRow) || static_cast<size_t>(stepRow) + 1 < m_nextStep) {
                    keyOf[i - begin] = kNoKey;
                    continue;
                }
                flushUpTo(static_cast<size_t>(stepRow), step);
                m_stepSpans += duration;
            } else {
                parentKey = keyOf[spans.parent[i] - begin];
                if (parentKey == kNoKey) {
                    keyOf[i - begin] = kNoKey;
                    continue;
                }
                m_sums[parentKey] -= duration;
            }
            const uint32_t own = key(label, parentKey);
            keyOf[i - begin] = own;
            if (parentKey == kNoKey) m_stepKey = own;
            m_sums[own] += duration;
            if (m_isTouched[own] == 0) {
                m_isTouched[own] = 1;
                m_touched.push_back(own);
            }
            row(label, own);
        }
    }
    flushUpTo(m_session.steps().size(), step);
    if (progress) progress(1, "summing spans");
    return true;
}

} // namespace stepscope::analysis
