#include "core/importers/trace_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace stepscope::importers {

namespace {

using session::Track;
using session::TrackId;
using session::TrackKind;

constexpr char kText = '"'; // begins the normal form of ids that are no numbers

std::optional<int64_t> numberOf(const std::string& id)
{
    if (id.empty() || id[0] == kText) return std::nullopt;
    return wholeNumber(id);
}

std::string shown(const std::string& id)
{
    return !id.empty() && id[0] == kText ? id.substr(1) : id;
}

int32_t clamped(int64_t value)
{
    return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

} // namespace

std::string normalId(std::string_view token)
{
    if (token.empty() || token == "null") return {};
    if (const std::optional<int64_t> number = wholeNumber(token)) return fmt::format("{}", *number);
    return kText + decoded(token);
}

TrackId TraceTracks::find(Purpose purpose, std::string_view process, std::string_view thread, bool onDevice)
{
    const TrackId id = m_byTokens[static_cast<size_t>(purpose)].find(process, thread, [&] {
        std::string processId = normalId(process);
        std::string threadId = purpose == Purpose::asynchronous ? decoded(thread) : normalId(thread);
        const auto [at, added] =
            m_byIds.try_emplace({purpose, processId, threadId}, TrackId(m_tracks.size()));
        if (added) m_tracks.push_back({purpose, std::move(processId), std::move(threadId), false});
        return at->second;
    });
    if (onDevice) m_tracks[id.index()].onDevice = true;
    return id;
}

bool TraceTracks::metadata(std::string_view name, std::string_view process, std::string_view thread, std::string_view args)
{
    const auto number = [&](std::string_view key) { return clamped(wholeNumber(memberOf(args, key)).value_or(0)); };
    if (name == "process_name") m_processes[normalId(process)].name = decoded(memberOf(args, "name"));
    else if (name == "process_labels") m_processes[normalId(process)].labels = decoded(memberOf(args, "labels"));
    else if (name == "process_sort_index") m_processes[normalId(process)].sortIndex = number("sort_index");
    else if (name == "thread_name") m_threads[{normalId(process), normalId(thread)}].name = decoded(memberOf(args, "name"));
    else if (name == "thread_sort_index") m_threads[{normalId(process), normalId(thread)}].sortIndex = number("sort_index");
    else return false;
    return true;
}

std::string TraceTracks::processName(std::string_view process) const
{
    const std::string id = normalId(process);
    const auto found = m_processes.find(id);
    if (found != m_processes.end() && !found->second.name.empty()) return found->second.name;
    return numberOf(id) ? std::string() : shown(id);
}

std::vector<Track> TraceTracks::finish(const std::string& group) const
{
    std::vector<Track> tracks;
    tracks.reserve(m_tracks.size());
    for (const Made& made : m_tracks) {
        Track track;
        track.group = group;
        track.processId = numberOf(made.process).value_or(0);
        const auto process = m_processes.find(made.process);
        if (process != m_processes.end()) {
            track.process = process->second.name;
            if (!process->second.labels.empty())
                track.process += fmt::format("{}({})", track.process.empty() ? "" : " ", process->second.labels);
        }
        if (track.process.empty() && !numberOf(made.process)) track.process = shown(made.process);
        const std::optional<int64_t> thread = numberOf(made.thread);
        const auto named = m_threads.find({made.process, made.thread});
        if (made.purpose == Purpose::asynchronous) {
            track.kind = TrackKind::asynchronous;
            track.name = made.thread.empty() ? "asynchronous" : made.thread;
            tracks.push_back(std::move(track));
            continue;
        }
        track.threadId = thread.value_or(0);
        const bool stream = made.onDevice || made.purpose == Purpose::deviceAnnotations;
        if (named != m_threads.end()) {
            track.name = named->second.name;
            track.sortIndex = named->second.sortIndex;
        }
        if (stream) {
            track.kind = TrackKind::stream;
            track.device = clamped(numberOf(made.process).value_or(-1));
        }
        while (!track.name.empty() && track.name.back() == ' ')
            track.name.pop_back();
        if (track.name.empty()) {
            if (!thread) track.name = made.thread.empty() ? "no thread id" : shown(made.thread);
            else track.name = fmt::format("{} {}", stream ? "stream" : "thread", *thread);
        }
        if (made.purpose == Purpose::deviceAnnotations) track.name += ", annotations";
        tracks.push_back(std::move(track));
    }
    return tracks;
}

} // namespace stepscope::importers
