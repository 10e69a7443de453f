// EventBuilder: the spans of an imported trace, in the order of the file, on their way to sorted and nested columns.
// Owner: core/session. Thread: one at a time. Units: ns, in whatever clock the file has until finish().
//
// Spans may come in any order; nearly sorted ones cost linear time. Of spans with equal start and duration the one that
// was added first is the outer one. Memory is handed over block by block, so that the peak is the finished table.
#pragma once

#include "core/session/event_details.h"
#include "core/session/span_table.h"
#include "core/session/types.h"

#include <cstddef>
#include <vector>

namespace stepscope::session {

struct Event {
    TimeNs start = 0;
    TimeNs duration = 0;
    uint32_t label = 0; // LabelId.value
    int32_t step = -1;
    uint32_t detail = DetailTable::kNone; // an id of DetailBuilder

    void withdraw() { label = LabelId::kNone; } // leaves it out without counting it
};

class EventBuilder {
public:
    // Returns the place where it is kept, good until finish(): a span whose end is not known yet takes its row when it
    // begins and gets its duration later. A span that still has a negative duration at the end is left out.
    Event* add(TrackId track, const Event& event);
    size_t size() const { return m_size; }
    bool empty() const { return m_size == 0; }

    // Calls visit(TrackId, Event&) for every span, track by track in the order of adding.
    template <class Visit>
    void forEach(Visit&& visit)
    {
        for (size_t t = 0; t < m_tracks.size(); ++t)
            for (auto& block : m_tracks[t])
                for (Event& event : block)
                    visit(TrackId(t), event);
    }

    struct Finished {
        SpanTable spans;
        DetailTable details;
        std::vector<TrackId> laneOf; // for every appended track, in order: the track whose spans overlapped
        int64_t overlaps = 0; // see LaneReport
        int64_t unusable = 0; // left out: no known label, impossible times
    };
    // Subtracts `origin` from every start, sorts, spreads overlaps over lanes and puts the lanes' tracks at the end of
    // `tracks`, whose ids stay. The builder is empty afterwards.
    Finished finish(std::vector<Track>& tracks, size_t labelCount, TimeNs origin, DetailBuilder details);

private:
    using Block = base::HugeVector<Event>;
    void fill(class SpanRuns& runs, Block& block, size_t labelCount, TimeNs origin, const DetailBuilder& details,
              int64_t& unusable) const;

    std::vector<std::vector<Block>> m_tracks;
    size_t m_size = 0;
};

// Quality rows of what finish() met, for the session: "overlap-lanes" and "unusable-spans".
std::vector<QualityRow> eventQuality(const EventBuilder::Finished& finished);

} // namespace stepscope::session
