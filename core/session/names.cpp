#include "core/session/types.h"

#include <array>

namespace stepscope::session {

namespace {

struct Names {
    std::string_view shown;
    std::string_view key;
};

constexpr std::array<Names, kPhaseCount> kPhases{{
    {"none", "none"},
    {"setup", "setup"},
    {"data wait", "data-wait"},
    {"host to device", "host-to-device"},
    {"forward", "forward"},
    {"loss", "loss"},
    {"backward", "backward"},
    {"optimiser", "optimiser"},
    {"device to host", "device-to-host"},
    {"loading", "loading"},
    {"evaluation", "evaluation"},
}};

constexpr std::array<std::string_view, kSpanKindCount> kKinds{
    "other", "step", "phase", "layer", "primitive", "creation", "task", "operation", "call", "kernel", "copy", "fill",
    "synchronisation", "annotation", "device annotation", "function", "overhead", "communication",
    "instant"};

constexpr std::array<std::string_view, kTrackKindCount> kTrackKinds{"thread", "stream", "asynchronous", "group"};

constexpr std::array<std::string_view, kSeriesKindCount> kSeriesKinds{
    "other", "cpu time", "wall time", "allocated bytes", "allocations", "hits",
    "counted allocations", "counted bytes", "counted time"};

} // namespace

std::string_view phaseName(Phase phase)
{
    const auto index = static_cast<size_t>(phase);
    return index < kPhases.size() ? kPhases[index].shown : kPhases[0].shown;
}

std::string_view phaseKey(Phase phase)
{
    const auto index = static_cast<size_t>(phase);
    return index < kPhases.size() ? kPhases[index].key : kPhases[0].key;
}

std::string_view spanKindName(SpanKind kind)
{
    const auto index = static_cast<size_t>(kind);
    return index < kKinds.size() ? kKinds[index] : kKinds[0];
}

std::string_view trackKindName(TrackKind kind)
{
    const auto index = static_cast<size_t>(kind);
    return index < kTrackKinds.size() ? kTrackKinds[index] : kTrackKinds[0];
}

std::string_view seriesKindName(SeriesKind kind)
{
    const auto index = static_cast<size_t>(kind);
    return index < kSeriesKinds.size() ? kSeriesKinds[index] : kSeriesKinds[0];
}

bool isReferenceImplementation(std::string_view name)
{
    constexpr std::string_view kReferenceName = "ref";
    for (size_t at = name.find(kReferenceName); at != std::string_view::npos; at = name.find(kReferenceName, at + 1))
        if (at == 0 || std::string_view(":+_").find(name[at - 1]) != std::string_view::npos) return true;
    return false;
}

std::string trackTitle(const Track& track)
{
    return track.group.empty() || track.group == track.name ? track.name : track.group + ": " + track.name;
}

} // namespace stepscope::session
