#include "core/analysis/track_names.h"

#include <array>
#include <map>
#include <set>

namespace stepscope::analysis {

namespace {

using session::Track;

std::string processOf(const Track& track) { return track.device < 0 && track.processId != 0 ? "process " + std::to_string(track.processId) : ""; }

std::string numberOf(const Track& track)
{
    if (track.threadId == 0) return {};
    return (track.device >= 0 ? "stream " : "thread ") + std::to_string(track.threadId);
}

using Part = std::string (*)(const Track&);
constexpr std::array<Part, 5> kParts{
    [](const Track& track) { return track.group; },
    [](const Track& track) { return track.device >= 0 ? "device " + std::to_string(track.device) : std::string(); },
    processOf,
    numberOf,
    [](const Track& track) { return track.lane > 0 ? "lane " + std::to_string(track.lane + 1) : std::string(); },
};

} // namespace

std::vector<std::string> distinctTrackNames(const session::Session& session)
{
    const std::vector<Track>& tracks = session.tracks();
    std::map<std::string_view, std::vector<size_t>> byName;
    for (size_t i = 0; i < tracks.size(); ++i)
        byName[tracks[i].name].push_back(i);
    std::vector<std::string> added(tracks.size());
    for (const auto& [name, same] : byName) {
        // A part is added to all or none, so that the names stay alike.
        for (const Part part : kParts) {
            std::set<std::string> before, after;
            for (const size_t i : same) {
                before.insert(added[i]);
                after.insert(added[i] + '\n' + part(tracks[i]));
            }
            if (before.size() == same.size()) break;
            if (after.size() == before.size()) continue;
            for (const size_t i : same)
                if (const std::string text = part(tracks[i]); !text.empty()) added[i] += (added[i].empty() ? "" : ", ") + text;
        }
    }
    std::vector<std::string> names;
    names.reserve(tracks.size());
    for (size_t i = 0; i < tracks.size(); ++i)
        names.push_back(added[i].empty() ? tracks[i].name : tracks[i].name + " (" + added[i] + ")");
    return names;
}

} // namespace stepscope::analysis
