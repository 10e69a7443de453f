#include "core/session/event_builder.h"

#include "core/session/span_runs.h"
#include "core/session/table_check.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::session {

namespace {

constexpr size_t kFirstBlock = 32; // many traces have hundreds of tracks with few spans
constexpr size_t kLargestBlock = size_t{1} << 16; // 2 MB: one huge page, sorted within the cache
static_assert(sizeof(Event) == 32);

bool sortsBefore(const Event& a, const Event& b)
{
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
}

} // namespace

Event* EventBuilder::add(TrackId track, const Event& event)
{
    if (m_tracks.size() <= track.index()) m_tracks.resize(track.index() + 1);
    std::vector<Block>& blocks = m_tracks[track.index()];
    if (blocks.empty() || blocks.back().size() == blocks.back().capacity()) {
        const size_t capacity = blocks.empty() ? kFirstBlock : std::min(blocks.back().capacity() * 8, kLargestBlock);
        blocks.emplace_back().reserve(capacity);
    }
    ++m_size;
    return &blocks.back().emplace_back(event);
}

void EventBuilder::fill(SpanRuns& runs, Block& block, size_t labelCount, TimeNs origin, const DetailBuilder& details,
                        int64_t& unusable) const
{
    const auto bad = [&](Event& event) {
        // Far from the origin only in damaged files; saturated, so that nothing overflows, and then left out.
        if (__builtin_sub_overflow(event.start, origin, &event.start)) event.duration = -1;
        return !usable({event.start, event.duration, event.label, event.step}, labelCount);
    };
    const auto withdrawn = [](const Event& event) { return event.label == LabelId::kNone; };
    block.erase(std::remove_if(block.begin(), block.end(), withdrawn), block.end());
    const auto end = std::remove_if(block.begin(), block.end(), bad);
    unusable += block.end() - end;
    block.erase(end, block.end());
    if (!std::is_sorted(block.begin(), block.end(), sortsBefore))
        std::stable_sort(block.begin(), block.end(), sortsBefore);
    const SpanRows rows = runs.beginRun(block.size());
    for (size_t i = 0; i < block.size(); ++i) {
        rows.start[i] = block[i].start;
        rows.duration[i] = block[i].duration;
        rows.label[i] = block[i].label;
        rows.step[i] = block[i].step;
        rows.detail[i] = details.row(block[i].detail);
    }
    runs.endRun(block.size());
    Block().swap(block);
}

EventBuilder::Finished EventBuilder::finish(std::vector<Track>& tracks, size_t labelCount, TimeNs origin,
                                            DetailBuilder details)
{
    Finished finished;
    finished.details = details.finish();
    m_tracks.resize(std::max(m_tracks.size(), tracks.size()));
    while (tracks.size() < m_tracks.size())
        tracks.push_back({fmt::format("track {}", tracks.size()), 0});
    SpanRuns runs(m_size, true, true);
    for (std::vector<Block>& blocks : m_tracks) {
        runs.beginTrack();
        for (Block& block : blocks)
            fill(runs, block, labelCount, origin, details, finished.unusable);
        std::vector<Block>().swap(blocks);
    }
    LaneReport lanes;
    finished.spans = runs.finishInLanes(lanes);
    finished.overlaps = lanes.overlaps;
    for (const LaneReport::Lane& lane : lanes.added) {
        Track track = tracks[lane.of.index()];
        track.lane = lane.lane;
        finished.laneOf.push_back(lane.of);
        tracks.push_back(std::move(track));
    }
    *this = EventBuilder();
    return finished;
}

std::vector<QualityRow> eventQuality(const EventBuilder::Finished& finished)
{
    std::vector<QualityRow> rows;
    if (finished.overlaps > 0)
        rows.push_back({"overlap-lanes", finished.overlaps,
                        fmt::format("{} spans overlap another span of their track without lying in it; they are shown on "
                                    "further lanes, with their full length.",
                                    finished.overlaps)});
    if (finished.unusable > 0)
        rows.push_back({"unusable-spans", finished.unusable,
                        fmt::format("{} spans had an impossible time or length and were left out.", finished.unusable)});
    return rows;
}

} // namespace stepscope::session
