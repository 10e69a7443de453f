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
#include <limits>

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

std::vector<size_t> seriesWithStacks(const session::Session& session)
{
    std::vector<size_t> found;
    for (size_t i = 0; i < session.series().size(); ++i)
        if (session::hasStacks(session.series()[i].kind) && session.samples(base::SeriesId(i)).size() > 0) found.push_back(i);
    return found;
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
    }
    for (const size_t i : seriesWithStacks(session))
        known.push_back(session.series()[i].name);
    return base::fail(unknown("series", name, known));
}

// A thread by the name of its track or its number in the operating system.
base::Status addThreads(const session::Session& session, const std::vector<std::string>& names, std::vector<base::TrackId>& out)
{
    std::vector<std::string> known;
    for (const session::Track& track : session.tracks())
        known.push_back(session::trackTitle(track));
    for (const std::string& name : names) {
        const size_t before = out.size();
        for (size_t t = 0; t < session.tracks().size(); ++t) {
            const session::Track& track = session.tracks()[t];
            if (track.name == name || session::trackTitle(track) == name || (track.threadId != 0 && std::to_string(track.threadId) == name)) out.push_back(base::TrackId(t));
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
        if (name == "none" && names.size() == 1) continue;
        if (name == "nested" && names.size() == 1) {
            out.insert(out.end(), {SampleGroup::thread, SampleGroup::phase});
            continue;
        }
        const auto group = analysis::sampleGroupByName(name);
        if (!group || std::find(out.begin(), out.end(), *group) != out.end())
            return base::fail(base::ErrorCode::invalidArgument, fmt::format("--groupby {} '{}'", name == "none" || name == "nested" ? "takes nothing beside" : "cannot be", printable(name)), {},
                              "give none or nested alone, or some of thread, phase, layer with commas between");
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

// What left samples out, as a list; the options that the user gave come first.
std::string filterText(const session::Session& session, const SampleOptions& options, const analysis::SpanFilter& spans)
{
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (spans.firstStep > 0 || spans.lastStep < std::numeric_limits<int64_t>::max())
        add(spans.lastStep < std::numeric_limits<int64_t>::max() ? fmt::format("steps {} to {}", spans.firstStep, spans.lastStep)
                                                                 : fmt::format("steps from {} on", spans.firstStep));
    if (!options.threads.empty()) add("--threads " + listed(options.threads));
    if (!options.phases.empty()) add("--phase " + listed(options.phases));
    if (!options.layers.empty()) add("--layer " + listed(options.layers));
    if (!options.callersOf.empty()) add("--callers " + printable(options.callersOf));
    if (!options.calleesOf.empty()) add("--callees " + printable(options.calleesOf));
    if (session.steps().empty()) return text;
    if (text.empty()) text = "the steps";
    if (!spans.includeWarmup) text += "; warm-up steps count with --include-warmup";
    if (!options.outsideSteps) text += (spans.includeWarmup ? "; " : ", ") + std::string("what is outside of steps with --outside-steps");
    return text;
}

// Why a report of a session that has samples is empty; "" when it is not, or when there are none at all.
std::string nothingSelectedText(const analysis::SampleProfile& profile, const SampleOptions& options)
{
    if (profile.samples > profile.unknownStacks || !profile.series.valid()) return {};
    const session::Session& session = *profile.tree.session;
    const std::vector<size_t> known = seriesWithStacks(session);
    if (known.empty()) return {};
    const std::string name = printable(profile.tree.weightName);
    if (std::find(known.begin(), known.end(), profile.series.index()) == known.end()) {
        std::vector<std::string> names;
        for (const size_t i : known)
            names.push_back("'" + session.series()[i].name + "'");
        return fmt::format("The series '{}' has no stacks; {} {}.\n", name, listed(names), names.size() == 1 ? "has" : "have");
    }
    if (profile.samples > 0) return fmt::format("None of the {} selected samples of '{}' has a stack.\n", profile.samples, name);
    const std::string filters = filterText(session, options, profile.filter.spans);
    const size_t all = session.samples(profile.series).size();
    return fmt::format("No sample of '{}', which has {}, is in what was chosen{}.\n", name, all, filters.empty() ? "" : ": " + filters);
}

std::string jsonSamples(const analysis::SampleProfile& profile, const present::TableSource& table, bool tree)
{
    const session::Session& session = *profile.tree.session;
    JsonText json;
    json.beginObject();
    json.member("series", std::string_view(profile.tree.weightName));
    json.member("samples", profile.samples);
    json.member("total", profile.total);
    json.member("without_stack", profile.unknownStacks);
    json.key("rows");
    writeJsonRows(table, json, tree);
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
    add(parser.add_option("--noisefloor", options.noiseFloor, "Below the first level, hide n samples under N where n <= this times the square root of N; try 2")->check(CLI::Range(0.0, 1e9)));
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
        if (const std::string nothing = nothingSelectedText(profile, options); !nothing.empty()) return nothing;
    if (format == "text")
        return present::profileText(profile, flat ? present::ProfileFormat::flat : present::ProfileFormat::tree, screenWidth(options, toTerminal));
    const auto table = flat ? present::makeFlatSampleTable(profile) : present::makeSampleTreeTable(profile);
    return format == "csv" ? csvText(*table, !flat) : jsonSamples(profile, *table, !flat);
}

} // namespace stepscope::cli
