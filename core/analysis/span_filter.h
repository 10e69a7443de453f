// SpanFilter: which spans of a session an analysis looks at. StepSelection: its steps, resolved.
// Owner: core/analysis. Thread: plain values.
#pragma once

#include "core/session/session.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stepscope::analysis {

inline constexpr uint32_t kAllPhases = (1u << session::kPhaseCount) - 1;
constexpr uint32_t phaseBit(session::Phase phase) { return 1u << static_cast<unsigned>(phase); }

struct SpanFilter {
    bool includeWarmup = false;
    int64_t firstStep = 0; // StepRow.number(), inclusive: of several files these steps of each
    int64_t lastStep = std::numeric_limits<int64_t>::max(); // inclusive
    std::vector<int64_t> steps;          // not empty: only these StepRow.index values
    std::vector<base::TrackId> tracks;   // empty: all tracks
    uint32_t phases = kAllPhases;        // phaseBit()s; spans without a phase go with their children
    bool outsideSteps = false;           // also what the training thread does outside of steps: setup, evaluation
    friend bool operator==(const SpanFilter&, const SpanFilter&) = default;
};

// The steps a filter selects. When leaving out the warm-up leaves no step at all, the warm-up steps are taken
// instead and warmupOnly says so.
class StepSelection {
public:
    StepSelection(const session::Session& session, const SpanFilter& filter);

    // Row in Session::steps() of a StepRow.index; -1 when there is no such step.
    int64_t rowOf(int64_t stepIndex) const;
    bool hasRow(int64_t row) const { return row >= 0 && m_selected[static_cast<size_t>(row)] != 0; }
    bool hasStep(int64_t stepIndex) const { return hasRow(rowOf(stepIndex)); }

    int64_t count() const { return m_count; }
    int64_t warmupLeftOut() const { return m_warmupLeftOut; }
    bool warmupOnly() const { return m_warmupOnly; }
    base::TimeNs total() const { return m_total; } // sum of the selected steps' durations

private:
    const session::Session* m_session;
    std::vector<uint8_t> m_selected; // one per row of Session::steps()
    bool m_contiguous = false;
    int64_t m_first = 0;
    int64_t m_count = 0, m_warmupLeftOut = 0;
    bool m_warmupOnly = false;
    base::TimeNs m_total = 0;
};

// The rows of Session::steps() that are about a track: all, and of several files in one session those of its group.
class StepRows {
public:
    explicit StepRows(const session::Session& session);
    std::pair<size_t, size_t> of(base::TrackId track) const // [first, second)
    {
        return track.index() < m_rows.size() ? m_rows[track.index()] : m_all;
    }

private:
    std::vector<std::pair<size_t, size_t>> m_rows; // by track
    std::pair<size_t, size_t> m_all;
};

// True for a track that runs steps (the training thread).
bool runsSteps(const session::Session& session, base::TrackId track);

} // namespace stepscope::analysis
