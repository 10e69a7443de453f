#include "core/importers/cpuprofile_importer.h"

#include "core/importers/cpu_profile.h"
#include "core/importers/json_head.h"
#include "core/importers/profile_builder.h"

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

struct HeadKeys {
    bool nodes = false, samples = false, deltas = false, start = false, head = false, selfSize = false, stamps = false;
};

HeadKeys headKeys(const Input& input)
{
    HeadKeys keys;
    forHeadKeys(input, [&](std::string_view key, std::string_view value) {
        keys.nodes |= key == "nodes" && value.starts_with('[');
        keys.samples |= key == "samples" && value.starts_with('[');
        keys.deltas |= key == "timeDeltas";
        keys.start |= key == "startTime";
        keys.stamps |= key == "timestamps";
        if (key == "head" && value.starts_with('{')) {
            keys.head = true;
            const std::string_view first = value.substr(0, 1000);
            keys.selfSize = first.find("\"selfSize\"") != std::string_view::npos;
        }
        return true;
    });
    return keys;
}

// Nodes fill the whole head of a big file, so the first of them has to do.
bool looksLikeNodes(const Input& input)
{
    bool fits = false;
    forHeadKeys(input, [&](std::string_view key, std::string_view value) {
        fits |= key == "nodes" && value.substr(0, 1000).find("\"callFrame\"") != std::string_view::npos;
        return true;
    });
    return fits;
}

void noteSamples(ProfileBuilder& out, const CpuProfile& profile)
{
    if (profile.unsorted() > 0)
        out.note("time-backwards", "samples recorded out of order were sorted by their time", {}, profile.unsorted());
    if (profile.unknownNodes() > 0)
        out.note("unknown-node", "samples of a node that is not in the file have no stack", {}, profile.unknownNodes());
    if (profile.badNumbers() > 0)
        out.note("bad-number", "nodes, times and children that are no numbers were taken as 0", {}, profile.badNumbers());
    // For readers that count samples: the first row is time, not a sample.
    if (profile.hasLead()) out.addEnvironment("import.lead-samples", "1");
}

base::Result<Imported> read(Input& input, const ImportOptions& options, std::stop_token stop,
                            const base::Progress& progress, bool heap)
{
    base::Result<WholeText> whole = readText(input, std::move(stop), progress);
    if (!whole) return base::fail(whole.error());
    ProfileBuilder out(options);
    CpuProfile profile(out.builder());
    JsonPull json(whole->text);
    profile.read(json);
    std::optional<ImportProblem> problem = whole->problem;
    if (!problem && json.problem()) problem = problemOf(*json.problem(), whole->text);
    if (profile.nodeCount() == 0) return base::fail(unusable(input, "there are no nodes in it", problem));

    session::SeriesRow series;
    series.isDefault = true;
    if (heap) series = {"allocated bytes", "bytes", session::SeriesKind::allocatedBytes, false, true};
    else series = {"time", "ns", session::SeriesKind::other, true, true};
    const session::SeriesId id = out.addSeries(series);
    session::Track track;
    track.name = heap ? "heap" : "main";
    const session::TrackId trackId = out.addTrack(track);
    for (session::SampleRecord& sample : heap ? profile.sizes() : profile.samples()) {
        sample.track = trackId;
        out.addSample(id, sample);
    }
    noteSamples(out, profile);
    return out.finish(input, heap ? kHeapProfileImporter.name : kCpuProfileImporter.name, problem);
}

} // namespace

Detection detectCpuProfile(const Input& input)
{
    const HeadKeys keys = headKeys(input);
    if (keys.nodes && keys.samples && keys.deltas)
        return {Confidence::certain, "keys \"nodes\", \"samples\" and \"timeDeltas\""};
    if (keys.head && !keys.selfSize) return {Confidence::likely, "key \"head\", the root of a tree of calls"};
    if (keys.nodes && looksLikeNodes(input)) return {Confidence::likely, "key \"nodes\" with call frames"};
    return {};
}

base::Result<Imported> importCpuProfile(Input& input, const ImportOptions& options, std::stop_token stop,
                                        const base::Progress& progress)
{
    return read(input, options, std::move(stop), progress, false);
}

Detection detectHeapProfile(const Input& input)
{
    const HeadKeys keys = headKeys(input);
    if (keys.head && keys.selfSize) return {Confidence::certain, "key \"head\" with \"selfSize\""};
    return {};
}

base::Result<Imported> importHeapProfile(Input& input, const ImportOptions& options, std::stop_token stop,
                                         const base::Progress& progress)
{
    return read(input, options, std::move(stop), progress, true);
}

} // namespace stepscope::importers
