#include "app/cli/sample_report.h"

#include "app/cli/console.h"
#include "app/cli/json_text.h"
#include "app/cli/session_notes.h"
#include "app/cli/table_text.h"
#include "core/present/profile_text.h"
#include "core/present/sample_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace stepscope::cli {

namespace {

using analysis::SampleFilter;

constexpr int kDefaultWidth = 80; // as Julia takes where there is no terminal

// "training, loader 0, ...": the first names of a long list.
std::string listed(const std::vector<std::string>& names)
{
    constexpr size_t kMost = 12;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
        text += (i == 0 ? "" : ", ") + printable(names[i]);
    if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
    return text.empty() ? "none" : text;
}

base::Error unknown(const char* what, const std::string& name, const std::vector<std::string>& known)
{
    return {base::ErrorCode::invalidArgument, fmt::format("the session has no {} '{}'", what, printable(name)), {},
            fmt::format("it has: {}", listed(known))};
}

// "cpu", "wall", "bytes" and "allocations" by kind, anything else by the name of the series.
base::Result<base::SeriesId> findSeries(const session::Session& session, const std::string& name)
{
    using session::SeriesKind;
    std::vector<std::string> known;
    for (size_t i = 0; i < session.series().size(); ++i) {
        const session::SeriesRow& row = session.series()[i];
        const bool byKind = (name == "cpu" && row.kind == SeriesKind::cpuTime) || (name == "wall" && row.kind == SeriesKind::wallTime)
            || (name == "bytes" && row.kind == SeriesKind::allocatedBytes) || (name == "allocations" && row.kind == SeriesKind::allocations);
        if (byKind || row.name == name) return base::SeriesId(i);
        known.push_back(row.name);
    }
    return base::fail(unknown("series", name, known));
}

// A thread by the name of its track or its number in the operating system.
base::Status addThreads(const session::Session& session, const std::vector<std::string>& names, std::vector<base::TrackId>& out)
{
    std::vector<std::string> known;
    for (const session::Track& track : session.tracks())
        known.push_back(track.name);
    for (const std::string& name : names) {
        const size_t before = out.size();
        for (size_t t = 0; t < session.tracks().size(); ++t) {
            const session::Track& track = session.tracks()[t];
            if (track.name == name || (track.threadId != 0 && std::to_string(track.threadId) == name)) out.push_back(base::TrackId(t));
        }
        if (out.size() == before) return base::fail(unknown("thread", name, known));
    }
    return {};
}

base::Status addPhases(const std::vector<std::string>& names, uint32_t& out)
{
    if (names.empty()) return {};
    out = 0;
    std::vector<std::string> known;
    for (int i = 0; i < session::kPhaseCount; ++i)
        known.emplace_back(session::phaseKey(static_cast<session::Phase>(i)));
    for (const std::string& name : names) {
        const auto at = std::find(known.begin(), known.end(), name);
        if (at == known.end()) return base::fail(unknown("phase", name, known));
        out |= analysis::phaseBit(static_cast<session::Phase>(at - known.begin()));
    }
    return {};
}

base::Status addLayers(const session::Session& session, const std::vector<std::string>& names, std::vector<base::LayerId>& out)
{
    std::vector<std::string> known;
    for (const session::LayerRow& layer : session.layers())
        known.push_back(layer.path);
    for (const std::string& name : names) {
        const auto at = std::find(known.begin(), known.end(), name);
        if (at == known.end()) return base::fail(unknown("layer", name, known));
        out.emplace_back(static_cast<size_t>(at - known.begin()));
    }
    return {};
}

// A function by its whole or its short name.
base::Result<base::StringId> findFunction(const session::Session& session, const std::string& name)
{
    base::StringId byShortName;
    std::vector<std::string> known;
    for (const session::FrameRow& frame : session.frames()) {
        const std::string_view whole = session.string(frame.function);
        if (whole == name) return frame.function;
        const std::string shown = analysis::shortFunctionName(whole);
        if (shown == name && !byShortName.valid()) byShortName = frame.function;
        if (known.size() < 100 && shown.find(name) != std::string::npos && std::find(known.begin(), known.end(), shown) == known.end())
            known.push_back(shown);
    }
    if (byShortName.valid()) return byShortName;
    base::Error error = unknown("function", name, known);
    error.hint = known.empty() ? "see --samples flat for the functions there are" : "names that contain it: " + listed(known);
    return base::fail(std::move(error));
}

base::Status addGroups(const std::vector<std::string>& names, std::vector<analysis::SampleGroup>& out)
{
    using analysis::SampleGroup;
    for (const std::string& name : names) {
        if (name == "none") continue;
        if (name == "nested") {
            out.insert(out.end(), {SampleGroup::thread, SampleGroup::phase});
            continue;
        }
        const auto group = analysis::sampleGroupByName(name);
        if (!group || std::find(out.begin(), out.end(), *group) != out.end())
            return base::fail(base::ErrorCode::invalidArgument, fmt::format("--groupby cannot be '{}'", printable(name)), {},
                              "give none, thread, phase, layer, nested, or some of thread, phase and layer with commas between");
        out.push_back(*group);
    }
    return {};
}

base::Status resolve(const session::Session& session, const SampleOptions& options, SampleFilter& filter)
{
    if (options.shape == "flat" && options.recursion != "off")
        return base::fail(base::ErrorCode::invalidArgument, "the flat table counts a function once per stack, so --recur has no place in it",
                          {}, "leave --recur out, or ask for --samples tree");
    if (base::Status status = addGroups(options.groupBy, filter.groups); !status) return status;
    if (base::Status status = addThreads(session, options.threads, filter.spans.tracks); !status) return status;
    if (base::Status status = addPhases(options.phases, filter.spans.phases); !status) return status;
    if (base::Status status = addLayers(session, options.layers, filter.layers); !status) return status;
    if (!options.series.empty()) {
        const auto series = findSeries(session, options.series);
        if (!series) return base::fail(series.error());
        filter.series = *series;
    }
    const std::string& function = options.callersOf.empty() ? options.calleesOf : options.callersOf;
    if (!function.empty()) {
        const auto found = findFunction(session, function);
        if (!found) return base::fail(found.error());
        filter.function = *found;
        filter.shape = options.callersOf.empty() ? analysis::SampleShape::callees : analysis::SampleShape::callers;
    } else if (options.fromLeaves) {
        filter.shape = analysis::SampleShape::bottomUp;
    }
    return {};
}

std::string jsonSamples(const analysis::SampleProfile& profile, const present::TableSource& table)
{
    const session::Session& session = *profile.tree.session;
    JsonText json;
    json.beginObject();
    json.member("series", std::string_view(profile.tree.weightName));
    json.member("samples", profile.samples);
    json.member("total", profile.total);
    json.member("without_stack", profile.unknownStacks);
    json.key("rows");
    writeJsonRows(table, json);
    json.key("quality");
    writeQuality(session, json);
    json.endObject();
    return json.take();
}

int screenWidth(const SampleOptions& options, bool toTerminal)
{
    if (options.width > 0) return options.width;
    if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) >= 20) return std::atoi(columns);
    return toTerminal ? terminalWidth(STDOUT_FILENO, kDefaultWidth) : kDefaultWidth;
}

} // namespace

void addSampleOptions(CLI::App& parser, SampleOptions& options)
{
    const std::string group = "Stack samples (options as of Julia's Profile.print)";
    CLI::Option* samples = parser.add_option("--samples", options.shape, "Show stack samples: tree or flat")->check(CLI::IsMember({"tree", "flat"}))->group(group);
    const auto add = [&](CLI::Option* option) { return option->group(group)->needs(samples); };
    add(parser.add_option("--series", options.series, "cpu, wall, bytes, allocations, or the name of a series; default: the session's main one"));
    add(parser.add_flag("--native,-C", options.native, "Also show frames of libraries and of the operating system"));
    add(parser.add_option("--combine", options.combine, "Frames that are one: of the same line, of the same function, or off: each address alone")->capture_default_str()->check(CLI::IsMember({"line", "function", "off"})));
    add(parser.add_option("--maxdepth", options.maxDepth, "Deepest level shown, from 0")->check(CLI::Range(0, INT32_MAX)));
    add(parser.add_option("--mincount", options.minCount, "Hide what has fewer samples")->check(CLI::Range(int64_t{0}, INT64_MAX)));
    add(parser.add_option("--noisefloor", options.noiseFloor, "Hide n samples below N where n <= this times the square root of N; try 2")->check(CLI::Range(0.0, 1e9)));
    add(parser.add_option("--sortedby", options.sortedBy, "fileline, count or overhead; largest last")->capture_default_str()->check(CLI::IsMember({"fileline", "count", "overhead"})));
    add(parser.add_option("--groupby", options.groupBy, "none, thread, phase, layer, nested (thread,phase), or a list")->delimiter(','));
    add(parser.add_option("--recur", options.recursion, "off, or flat: recursion as a loop")->capture_default_str()->check(CLI::IsMember({"off", "flat"})));
    add(parser.add_option("--threads", options.threads, "Only these threads, by name or number")->delimiter(','));
    add(parser.add_option("--phase", options.phases, "Only these phases: forward, backward, data-wait, ...")->delimiter(','));
    add(parser.add_option("--layer", options.layers, "Only these layers, with those inside them")->delimiter(','));
    add(parser.add_flag("--outside-steps", options.outsideSteps, "Also samples of the training thread outside of steps"));
    CLI::Option* leaves = add(parser.add_flag("--bottom-up", options.fromLeaves, "From the functions that ran to their callers"));
    CLI::Option* callers = add(parser.add_option("--callers", options.callersOf, "The callers of this function"));
    CLI::Option* callees = add(parser.add_option("--callees", options.calleesOf, "What this function calls"));
    leaves->excludes(callers)->excludes(callees);
    callers->excludes(callees);
    add(parser.add_option("--width", options.width, "Columns of the text; default: the terminal's, or 80")->check(CLI::Range(20, 10000)));
}

base::Result<SampleFilter> sampleFilter(const session::Session& session, const SampleOptions& options, const analysis::SpanFilter& steps)
{
    SampleFilter filter;
    filter.spans = steps;
    filter.spans.outsideSteps = options.outsideSteps;
    filter.native = options.native;
    filter.merge = options.combine == "off" ? analysis::SampleMerge::address
        : options.combine == "function"     ? analysis::SampleMerge::function
                                            : analysis::SampleMerge::line;
    filter.order = options.sortedBy == "count" ? analysis::SampleOrder::count
        : options.sortedBy == "overhead"       ? analysis::SampleOrder::overhead
                                               : analysis::SampleOrder::fileLine;
    filter.recursion = options.recursion == "flat" ? analysis::SampleRecursion::flat : analysis::SampleRecursion::off;
    if (options.maxDepth >= 0) filter.maxDepth = options.maxDepth;
    filter.minCount = options.minCount;
    filter.noiseFloor = options.noiseFloor;
    if (base::Status status = resolve(session, options, filter); !status) return base::fail(status.error());
    return filter;
}

std::string sampleReport(const analysis::SampleProfile& profile, const SampleOptions& options, const std::string& format, bool toTerminal)
{
    const bool flat = options.shape == "flat";
    if (format == "text")
        return present::profileText(profile, flat ? present::ProfileFormat::flat : present::ProfileFormat::tree, screenWidth(options, toTerminal));
    const auto table = flat ? present::makeFlatSampleTable(profile) : present::makeSampleTreeTable(profile);
    return format == "csv" ? csvText(*table) : jsonSamples(profile, *table);
}

} // namespace stepscope::cli
