// ChromeProfiles: the CPU profiles inside a Chrome trace (events "Profile" with "ProfileChunk", or "CpuProfile"), as
// DevTools' performance panel saves them. The importer of Chrome traces hands their events over.
// Owner: core/importers. Thread: one at a time. Units: ns, in the clock of the trace.
#pragma once

#include "core/session/session_builder.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers {

class ChromeProfiles {
public:
    explicit ChromeProfiles(session::SessionBuilder& builder) : m_builder(builder) {}

    static bool isProfileEvent(std::string_view name)
    {
        return name == "ProfileChunk" || name == "Profile" || name == "CpuProfile";
    }
    // pid, tid and id as they stand in the event (a profile is known by pid and id), `time` its ts in ns, `args` the
    // text of its args object. Events may come in any order.
    void add(std::string_view name, std::string_view pid, std::string_view tid, std::string_view id,
             session::TimeNs time, std::string_view args);
    bool empty() const { return m_profiles.empty(); }

    struct Profile {
        std::string pid, tid;                       // of the thread that was profiled
        std::vector<session::SampleRecord> samples; // in order of time, weights in ns, on no track
        bool hasLead = false;     // the first one is the time before the first sample, without a stack
        int64_t unsorted = 0;     // samples that had to be sorted
        int64_t unknownNodes = 0; // samples whose node is missing
        int64_t badNumbers = 0;   // no numbers, taken as 0
        bool broken = false;      // some args could not be read to their end
    };
    // One per profile with samples; frames and stacks are in the builder then.
    std::vector<Profile> finish();

private:
    struct Part {
        session::TimeNs time = 0;
        std::string args;
    };
    struct Collected {
        std::string pid, tid;
        session::TimeNs time = 0; // of the event that names the thread
        std::vector<Part> parts;
    };
    void read(const Collected& collected, Profile& profile);

    session::SessionBuilder& m_builder;
    std::map<std::string, Collected> m_profiles; // by pid and id
    int m_single = 0;                            // "CpuProfile" events, each a whole profile
};

} // namespace stepscope::importers
