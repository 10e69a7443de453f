// The tracks of a Chrome trace: found by process and thread ids as they stand in the events, named by its metadata.
// Owner: core/importers. Thread: one at a time.
//
// Ids are keys, not numbers to compute with: a string of digits equals the number, other strings are ids of their own,
// and so is a missing id.
#pragma once

#include "core/importers/json_tokens.h"
#include "core/importers/token_table.h"
#include "core/session/types.h"

#include <map>
#include <string>
#include <vector>

namespace stepscope::importers {

class TraceTracks {
public:
    enum class Purpose : uint8_t { events, deviceAnnotations, asynchronous };

    // Raw tokens of an event; for asynchronous spans `thread` is the token of the category. `onDevice`: the event is work
    // of a device, whose number is the process and whose stream is the thread.
    session::TrackId find(Purpose purpose, std::string_view process, std::string_view thread, bool onDevice = false);
    // An event of phase M. False when the name is not known.
    bool metadata(std::string_view name, std::string_view process, std::string_view thread, std::string_view args);

    size_t size() const { return m_tracks.size(); }
    // The tracks with their names; `group` for every Track::group.
    std::vector<session::Track> finish(const std::string& group) const;
    std::string processName(std::string_view process) const; // "" when there is none

private:
    struct Made {
        Purpose purpose = Purpose::events;
        std::string process, thread; // normal form
        bool onDevice = false;
    };
    struct Named {
        std::string name, labels;
        int32_t sortIndex = 0;
    };

    std::vector<Made> m_tracks;
    TokenTable<session::TrackId> m_byTokens[3];
    std::map<std::tuple<Purpose, std::string, std::string>, session::TrackId> m_byIds;
    std::map<std::string, Named> m_processes;
    std::map<std::pair<std::string, std::string>, Named> m_threads;
};

// Digits for numbers, "\"text" for other strings, "" when there is none.
std::string normalId(std::string_view token);

} // namespace stepscope::importers
