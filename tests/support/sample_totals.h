// Plain sums over the samples of a session, written without any code of the analyses, to hold imports against.
#pragma once

#include "core/session/session.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stepscope::support {

struct SampleTotals {
    int64_t samples = 0, total = 0, withoutStack = 0;
    size_t maxDepth = 0;
    std::map<std::string, int64_t> self, inclusive; // by function; a stack counts once per function
    std::vector<std::vector<std::string>> stacks;   // of every sample, outermost first
    std::vector<session::TimeNs> times;
    std::vector<int64_t> weights;
};

inline std::vector<std::string> framesOf(const session::Session& session, uint32_t stack)
{
    std::vector<std::string> frames;
    for (session::StackId at(stack); at.valid(); at = session.stacks()[at.index()].parent)
        frames.emplace_back(session.string(session.frames()[session.stacks()[at.index()].frame.index()].function));
    std::reverse(frames.begin(), frames.end());
    return frames;
}

// Of one series; of one track when it is valid.
inline SampleTotals sampleTotals(const session::Session& session, session::SeriesId series, session::TrackId track = {})
{
    SampleTotals totals;
    const session::SampleTable& table = session.samples(series);
    for (size_t i = 0; i < table.size(); ++i) {
        if (track.valid() && table.track[i] != track.value) continue;
        ++totals.samples;
        totals.total += table.weight[i];
        totals.times.push_back(table.time[i]);
        totals.weights.push_back(table.weight[i]);
        std::vector<std::string> frames = framesOf(session, table.stack[i]);
        totals.maxDepth = std::max(totals.maxDepth, frames.size());
        if (frames.empty()) ++totals.withoutStack;
        else totals.self[frames.back()] += table.weight[i];
        for (const std::string& name : std::set<std::string>(frames.begin(), frames.end()))
            totals.inclusive[name] += table.weight[i];
        totals.stacks.push_back(std::move(frames));
    }
    std::erase_if(totals.self, [](const auto& entry) { return entry.second == 0; });
    return totals;
}

// The series shown first.
inline session::SeriesId defaultSeries(const session::Session& session)
{
    for (size_t i = 0; i < session.series().size(); ++i)
        if (session.series()[i].isDefault) return session::SeriesId(i);
    return {};
}

inline session::SeriesId seriesNamed(const session::Session& session, std::string_view name)
{
    for (size_t i = 0; i < session.series().size(); ++i)
        if (session.series()[i].name == name) return session::SeriesId(i);
    return {};
}

inline session::TrackId trackNamed(const session::Session& session, std::string_view name)
{
    for (size_t i = 0; i < session.tracks().size(); ++i)
        if (session.tracks()[i].name == name) return session::TrackId(i);
    return {};
}

// How often something was counted in the quality record; 0 when it is not there.
inline int64_t qualityCount(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.count;
    return 0;
}

inline std::string qualityPlaces(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.places;
    return {};
}

} // namespace stepscope::support
