#include "core/importers/chrome_profiles.h"

#include "core/importers/cpu_profile.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::importers {

void ChromeProfiles::add(std::string_view name, std::string_view pid, std::string_view tid, std::string_view id,
                         session::TimeNs time, std::string_view args)
{
    const bool single = name == "CpuProfile";
    const std::string key =
        single ? fmt::format("{}/{}/single {}", pid, tid, ++m_single) : fmt::format("{}/{}", pid, id);
    Collected& collected = m_profiles[key];
    if (collected.parts.empty() || name == "Profile") { // chunks are sent by another thread
        collected.pid = pid;
        collected.tid = tid;
        collected.time = time;
    }
    collected.parts.push_back({time, std::string(args)});
}

void ChromeProfiles::read(const Collected& collected, Profile& profile)
{
    CpuProfile tree(m_builder);
    for (const Part& part : collected.parts) {
        JsonPull args(part.args);
        std::string_view key;
        for (bool in = args.enterObject(); in && args.nextKey(key);) {
            if (key != "data") {
                args.skip();
                continue;
            }
            for (bool data = args.enterObject(); data && args.nextKey(key);) {
                if (key == "cpuProfile") tree.read(args);
                else if (key == "timeDeltas") tree.readDeltas(args);
                else if (key == "startTime") tree.setStart(args.integer(3).value_or(part.time));
                else if (key == "endTime") tree.setEnd(args.integer(3).value_or(part.time));
                else args.skip();
            }
        }
        profile.broken |= args.problem().has_value();
    }
    if (!tree.start()) tree.setStart(collected.time);
    profile.samples = tree.samples();
    profile.hasLead = tree.hasLead();
    profile.unsorted = tree.unsorted();
    profile.badNumbers = tree.badNumbers();
    profile.unknownNodes = tree.unknownNodes();
}

std::vector<ChromeProfiles::Profile> ChromeProfiles::finish()
{
    std::vector<Profile> result;
    for (auto& [key, collected] : m_profiles) {
        std::stable_sort(collected.parts.begin(), collected.parts.end(),
                         [](const Part& a, const Part& b) { return a.time < b.time; });
        Profile profile;
        profile.pid = collected.pid;
        profile.tid = collected.tid;
        read(collected, profile);
        if (!profile.samples.empty() || profile.broken) result.push_back(std::move(profile));
    }
    m_profiles.clear();
    return result;
}

} // namespace stepscope::importers
