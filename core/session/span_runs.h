// SpanRuns: turns sorted runs of spans into the sorted, nested columns of a SpanTable, in linear time for the
// nearly sorted data of a recording.
// Owner: core/session. Thread: one at a time. Units: ns since the session's origin.
//
// Tracks are filled one after the other. Each run is sorted by (start, longer first); a run is merged with the
// rows before it, which touches only the rows where the two overlap. Of spans with equal start and duration, the
// one of the later run is the outer one, because a parent completes after its children; storedInOrder turns that
// round for rows that were written in table order.
//
// With details the table has its `detail` column: the caller fills it for the runs that it fills itself, and addRun()
// sets kNoDetail.
#pragma once

#include "core/session/session_sink.h"
#include "core/session/span_lanes.h"
#include "core/session/span_table.h"

#include <cstdint>
#include <span>
#include <vector>

namespace stepscope::session {

// Where sorted rows are written: pointers to uninitialised columns.
struct SpanRows {
    TimeNs* start = nullptr;
    TimeNs* duration = nullptr;
    uint32_t* label = nullptr;
    int32_t* step = nullptr;
    uint32_t* detail = nullptr; // null when the table has no details
};

// Sorts records by (start, longer first, later record first). Linear for records in order of completion.
class SpanSorter {
public:
    void sort(std::span<const SpanRecord> records, const SpanRows& rows);

private:
    bool placeCompleted(std::span<const SpanRecord> records, const SpanRows& rows);

    std::vector<uint32_t> m_order; // begins of subtrees, or the order of the rows
    std::vector<uint32_t> m_stack;
};

class SpanRuns {
public:
    explicit SpanRuns(size_t expectedSpans, bool storedInOrder = false, bool withDetails = false);

    // The rows that follow belong to the next track (the first call: track 0).
    void beginTrack();
    // Makes room for a run at the end of the current track. The caller fills it, sorted, and calls endRun() with
    // the number of rows that it really filled.
    SpanRows beginRun(size_t count);
    void endRun(size_t filled);
    // Sorts the records (of any order, best of all in order of completion) and adds them as one run.
    void addRun(std::span<const SpanRecord> records);

    // Merges what is left, computes parents and clips overlaps. The object is empty afterwards.
    SpanTable finish();
    // The same, but spans that overlap go to further lanes, which are appended as tracks; nothing is clipped.
    SpanTable finishInLanes(LaneReport& report);
    int64_t overlapping() const { return m_overlapping; } // clipped spans, known after finish()

private:
    bool before(size_t a, size_t b) const;
    void resize(size_t rows);
    void mergeLastTwo();
    void endTrack();
    void nestTrack(size_t begin, size_t end);
    void closeTracks();

    SpanTable m_table;
    SpanSorter m_sorter;
    bool m_storedInOrder = false;
    bool m_withDetails = false;
    size_t m_size = 0;               // filled rows
    std::vector<size_t> m_runBegins; // of the current track
    std::vector<SpanRecord> m_merge; // the moved part of the later run
    std::vector<uint32_t> m_mergeDetail;
    int64_t m_overlapping = 0;
};

} // namespace stepscope::session
