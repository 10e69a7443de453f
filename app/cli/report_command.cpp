#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/device_report.h"
#include "app/cli/exit_code.h"
#include "app/cli/input_options.h"
#include "app/cli/sample_report.h"
#include "app/cli/session_notes.h"
#include "app/cli/table_text.h"
#include "core/analysis/reports.h"
#include "core/analysis/span_report.h"
#include "core/present/format.h"
#include "core/present/report_sources.h"
#include "core/storage/file_place.h"
#include "core/storage/session_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include <unistd.h>

namespace stepscope::cli {

namespace {

constexpr int kTextWidth = 100;
constexpr int64_t kMaxStep = int64_t{1} << 62;

constexpr const char* kFooter = R"(Shares sum to the step: every nanosecond is counted in one row, and time that no probe covers has rows
of its own ("between phases"). Warm-up steps are left out unless --include-warmup is given.
CSV and JSON hold all columns, in nanoseconds, 0..1, FLOP/s and bytes/s.
Of traces with device work: step, operator, kernel, copy, device, idle, launch, overlap, queue and critical-path; the
names of their columns tell the unit, else times are in microseconds and rates in GB/s.

Examples:
  stepscope report lenet.stepscope
  stepscope report lenet.stepscope --by layer
  stepscope report lenet.stepscope --by primitive --format csv -o primitives.csv
  stepscope report trace.json.gz --by operator
  stepscope report trace.json.gz --by span
  stepscope report rank0.json.gz rank1.json.gz --by step --offset rank1.json.gz=-20us
  stepscope report lenet.stepscope --samples tree --noisefloor 2
  stepscope report lenet.stepscope --samples flat --sortedby overhead --series cpu
  stepscope report lenet.stepscope --by step --format json | jq '.rows[] | select(.note != null)')";

struct ReportOptions {
    std::string file, by, format = "text", output; // file: the name of all
    InputChoice input;
    SampleOptions samples;
    bool includeWarmup = false;
    int64_t firstStep = 0;
    int64_t lastStep = std::numeric_limits<int64_t>::max();
};

struct Report {
    std::unique_ptr<present::TableSource> table;
    std::unique_ptr<present::TableSource> tree; // layers with their containers
    analysis::StepStatistics steps;
    std::vector<analysis::BesideRow> beside;
    std::vector<std::string> textColumns; // most important first
};

Report makeReport(const session::Session& session, const std::string& by, const analysis::SpanFilter& filter)
{
    Report report;
    if (by == "layer") {
        analysis::LayerReport layers = analysis::layerReport(session, filter);
        report.steps = layers.steps;
        report.tree = present::makeLayerTable(layers, true);
        report.table = present::makeLayerTable(std::move(layers));
        report.textColumns = {"layer", "share", "forward_median_ns", "backward_median_ns", "update_median_ns", "forward_flop_per_s", "allocations",
            "allocated_bytes", "backward_flop_per_s", "slow_ns", "type", "median_ns"};
    } else if (by == "primitive") {
        analysis::PrimitiveReport primitives = analysis::primitiveReport(session, filter);
        report.steps = primitives.steps;
        report.table = present::makePrimitiveTable(std::move(primitives));
        report.textColumns = {"primitive", "share", "median_ns", "implementation", "flop_per_s", "bytes_per_s", "flags", "count"};
    } else if (by == "span") {
        report.steps = analysis::stepStatistics(session, filter);
        report.table = present::makeSpanTable(analysis::spanReport(session, filter));
        report.textColumns = {"span", "self_share", "self_ns", "total_ns", "count", "mean_ns", "max_ns", "min_ns"};
    } else if (by == "step") {
        analysis::StepReport steps = analysis::stepReport(session, filter);
        report.steps = steps.steps;
        report.table = present::makeStepTable(std::move(steps));
        report.textColumns = {"step", "group", "duration_ns", "note", "data-wait_ns", "forward_ns", "loss_ns", "backward_ns", "optimiser_ns", "allocations",
            "allocated_bytes", "between_phases_ns", "loss", "share", "host-to-device_ns", "device-to-host_ns", "epoch", "samples"};
    } else {
        analysis::PhaseReport phases = analysis::phaseReport(session, filter);
        report.steps = phases.steps;
        report.beside = phases.beside;
        report.table = present::makePhaseTable(std::move(phases));
        report.textColumns = {"phase", "share", "median_ns", "mean_ns", "total_ns", "allocations", "allocated_bytes", "flop_per_s", "bytes_per_s", "count"};
    }
    return report;
}

double shareSum(const present::TableSource& table)
{
    double sum = 0;
    for (int c = 0; c < table.columnCount(); ++c) {
        if (table.column(c).key != "share") continue;
        for (size_t row = 0; row < table.rowCount(); ++row)
            if (const present::SortValue value = table.sortValue(row, c); std::holds_alternative<double>(value)) sum += std::get<double>(value);
    }
    return sum;
}

int textWidth(const ReportOptions& options)
{
    const bool toTerminal = options.output.empty() && isTerminal(STDOUT_FILENO);
    return toTerminal ? std::max(kTextWidth, terminalWidth(STDOUT_FILENO, kTextWidth)) : kTextWidth;
}

// Whose allocations the columns show.
std::string allocationText(const session::Session& session)
{
    const std::string_view counted = session.environmentValue("allocations");
    if (counted.empty()) return {};
    if (counted != "counted") return fmt::format("Allocations were {}.", printable(std::string(counted)));
    const std::string_view device = session.environmentValue("allocations.device");
    return fmt::format("Allocations are those on the host, per step; on devices {}.", printable(std::string(device.empty() ? "they are not known" : device)));
}

// Tables mix the two, and a median of one column must not be held against a mean of another.
std::string medianText(const std::string& by)
{
    return by == "step" ? "" : " They are parts of the mean step; times are medians over the steps where no column says otherwise.";
}

std::string textReport(const session::Session& session, const Report& report, const ReportOptions& options)
{
    std::string text = printable(options.file) + '\n';
    if (const std::string origin = sessionOrigin(session); !origin.empty()) text += origin + '\n';
    text += present::stepSummaryText(report.steps) + '\n';
    if (report.steps.undisturbed)
        text += fmt::format("without the disturbed steps: median {}, p99 {}\n", present::formatTime(report.steps.undisturbed->median),
            present::formatTime(report.steps.undisturbed->p99));
    text += '\n';
    const TextTable table = alignedText(*report.table, report.textColumns, textWidth(options));
    text += table.text;
    if (options.by == "span") text += "\nTimes are of all spans of a name; self is without the spans inside, and its shares sum to 100 %.";
    else if (report.steps.count > 0) text += fmt::format("\nShares sum to {} of the step.{}", present::formatShare(shareSum(*report.table)), medianText(options.by));
    if (!table.leftOut.empty()) {
        text += " No room for:";
        for (size_t i = 0; i < table.leftOut.size(); ++i)
            text += (i == 0 ? " " : ", ") + table.leftOut[i];
        text += " (--format csv has all).";
    }
    text += '\n';
    if (const std::string allocations = allocationText(session); !allocations.empty()) text += allocations + '\n';
    for (const analysis::BesideRow& row : report.beside)
        text += fmt::format("Beside the step: {} is busy {} of the time ({} spans).\n", printable(row.track), present::formatShare(row.share),
            present::formatCount(row.count));
    if (const std::string notes = qualityText(session, "  "); !notes.empty()) text += "\nTo know about this session:\n" + notes;
    return text;
}

void writeSummary(const char* name, const stats::Summary& summary, JsonText& json)
{
    json.key(name);
    json.beginObject();
    json.member("count", summary.count);
    json.member("min", summary.min);
    json.member("p25", summary.p25);
    json.member("median", summary.median);
    json.member("mean", summary.mean);
    json.member("p75", summary.p75);
    json.member("p90", summary.p90);
    json.member("p99", summary.p99);
    json.member("max", summary.max);
    json.member("standard_deviation", summary.deviation);
    json.endObject();
}

std::string jsonReport(const session::Session& session, const Report& report, const ReportOptions& options)
{
    JsonText json;
    json.beginObject();
    json.member("file", std::string_view(options.file));
    json.member("by", std::string_view(options.by));
    json.key("steps");
    json.beginObject();
    json.member("count", report.steps.count);
    json.member("warmup_left_out", report.steps.warmupLeftOut);
    json.member("warmup_only", report.steps.warmupOnly);
    json.member("disturbed", report.steps.disturbed);
    json.member("samples", report.steps.samples);
    json.member("samples_per_s", report.steps.samplesPerSecond);
    json.member("total_ns", report.steps.total);
    writeSummary("duration_ns", report.steps.duration, json);
    if (report.steps.undisturbed) writeSummary("undisturbed_duration_ns", *report.steps.undisturbed, json);
    json.endObject();
    json.member("allocations", session.environmentValue("allocations"));
    json.member("device_allocations", session.environmentValue("allocations.device"));
    json.key("rows");
    writeJsonRows(*report.table, json);
    if (report.tree != nullptr) {
        json.key("tree");
        writeJsonRows(*report.tree, json);
    }
    json.key("beside");
    json.beginArray();
    for (const analysis::BesideRow& row : report.beside) {
        json.beginObject();
        json.member("track", std::string_view(row.track));
        json.member("busy_ns", row.busy);
        json.member("share", row.share);
        json.member("count", row.count);
        json.endObject();
    }
    json.endArray();
    json.key("quality");
    writeQuality(session, json);
    json.endObject();
    return json.take();
}

// A recording cannot be made again, so no report is written over one. The report is written to OUT.part at first.
base::Status checkOutput(const ReportOptions& options)
{
    if (options.output.empty() || options.output == "-") return {};
    for (const std::string& place : {options.output, storage::behindLinks(options.output).string() + ".part"}) {
        for (const std::string& file : options.input.files) {
            std::error_code ignored;
            if (std::filesystem::equivalent(file, place, ignored))
                return base::fail(base::ErrorCode::invalidArgument, "the report would replace the session it is made from", {place},
                    "give another name with -o OUT");
        }
        if (storage::isSessionFile(place))
            return base::fail(base::ErrorCode::invalidArgument, "the report would replace a recorded session", {place},
                "give another name with -o OUT, or delete the session first");
    }
    return {};
}

base::Status checkOptions(const ReportOptions& options)
{
    if (options.firstStep > options.lastStep)
        return base::fail(base::ErrorCode::invalidArgument,
            fmt::format("--first-step {} is behind --last-step {}", options.firstStep, options.lastStep), {}, "exchange the two");
    return checkOutput(options);
}

int runSamples(const session::SessionPtr& session, const ReportOptions& options, const analysis::SpanFilter& steps)
{
    const base::Result<analysis::SampleFilter> filter = sampleFilter(*session, options.samples, steps);
    if (!filter) {
        printError(filter.error());
        return kUsage;
    }
    const analysis::SampleProfile profile = analysis::sampleProfile(session, *filter);
    const bool toTerminal = options.output.empty() && isTerminal(STDOUT_FILENO);
    if (const base::Status written = writeResult(options.output, sampleReport(profile, options.samples, options.format, toTerminal)); !written) {
        printError(written.error());
        return exitCodeOf(written.error(), Stage::writing);
    }
    if (options.format != "json")
        for (const session::QualityRow& row : session->quality())
            printNote(printable(row.message));
    if (profile.tree.cut) printNote("there are so many different callers that the outermost of them were left out");
    return kOk;
}

bool hasPhases(const session::Session& session)
{
    return std::any_of(session.labels().begin(), session.labels().end(),
        [](const session::Label& label) { return label.kind == session::SpanKind::phase; });
}

// Arguments that give a report with rows, the most telling one first.
std::vector<std::string> reportsWithRows(const session::Session& session, const analysis::SpanFilter& filter)
{
    std::vector<std::string> names;
    if (hasPhases(session)) names.emplace_back("--by phase");
    if (!session.layers().empty()) names.emplace_back("--by layer");
    if (!session.primitives().empty()) names.emplace_back("--by primitive");
    analysis::DeviceOptions options;
    options.filter = filter;
    for (const char* name : {"operator", "kernel"})
        if (const present::DeviceReport report = present::makeDeviceReport(name, session, options); report.table != nullptr && report.table->rowCount() > 0)
            names.emplace_back(std::string("--by ") + name);
    if (!session.steps().empty()) names.emplace_back("--by step");
    if (session.spanCount() > 0) names.emplace_back("--by span");
    if (session.sampleCount() > 0) names.emplace_back("--samples flat");
    return names;
}

// Phases for what was recorded here; of a trace without any the first report that has rows.
void chooseReport(const session::Session& session, const analysis::SpanFilter& filter, ReportOptions& options)
{
    if (!options.by.empty() || options.samples.wanted()) return;
    options.by = "phase";
    if (hasPhases(session)) return;
    const std::vector<std::string> names = reportsWithRows(session, filter);
    if (names.empty()) return;
    if (names.front() == "--samples flat") options.samples.shape = "flat";
    else options.by = names.front().substr(names.front().find(' ') + 1);
}

void hintAtRows(const session::Session& session, const analysis::SpanFilter& filter)
{
    std::string text;
    for (const std::string& name : reportsWithRows(session, filter))
        text += (text.empty() ? "" : ", ") + name;
    if (!text.empty()) printNote("reports that have rows for this session: " + text);
}

int run(const ReportOptions& given)
{
    ReportOptions options = given;
    options.file = options.input.name();
    if (const base::Status possible = checkOptions(options); !possible) {
        printError(possible.error());
        return kUsage;
    }
    const base::Result<files::Opened> opened = openInput(options.input);
    if (!opened) {
        printError(opened.error());
        return exitCodeOf(opened.error(), Stage::reading);
    }
    const session::Session& session = *opened->session;
    analysis::SpanFilter filter;
    filter.includeWarmup = options.includeWarmup;
    filter.firstStep = options.firstStep;
    filter.lastStep = options.lastStep;
    noteOtherMembers(*opened, options.input);
    chooseReport(session, filter, options);
    if (options.samples.wanted()) return runSamples(opened->session, options, filter);
    std::string text;
    int64_t steps = -1; // not asked for
    bool empty = false;
    if (isDeviceReport(options.by, session)) {
        text = deviceReportText(session, options.by, options.file, options.format, filter, textWidth(options));
        empty = text.find("Nothing of this kind is in the session.") != std::string::npos;
    } else {
        const Report report = makeReport(session, options.by, filter);
        if (options.by != "span") steps = report.steps.count;
        if (options.format == "json") text = jsonReport(session, report, options);
        else if (options.format == "csv") text = csvText(*report.table);
        else text = textReport(session, report, options);
    }
    if (options.format == "csv")
        for (const session::QualityRow& row : session.quality())
            printNote(printable(row.message));
    if (const base::Status written = writeResult(options.output, text); !written) {
        printError(written.error());
        return exitCodeOf(written.error(), Stage::writing);
    }
    if (steps == 0) printNote("the session has no such steps, so there is nothing to sum up");
    if (steps == 0 || empty) hintAtRows(session, filter);
    return kOk;
}

} // namespace

Command addReportCommand(CLI::App& app)
{
    CLI::App* parser = app.add_subcommand("report", "Show where the time of a training step goes");
    auto options = std::make_shared<ReportOptions>();
    std::vector<std::string> names{"phase", "layer", "primitive", "span"};
    for (std::string& name : deviceReportNames())
        names.push_back(std::move(name));
    addInputFiles(*parser, options->input, "Session file (.stepscope), or the trace of another tool; several are one session, with a group of tracks each");
    addInputOptions(*parser, options->input);
    parser->add_option("--by", options->by, "Rows: phase, layer, primitive, step, or span: all spans of a name; of device work: step, operator, kernel, copy, device, idle, launch, overlap, queue or critical-path. Default: phase; of a trace without phases the first that has rows")
        ->check(CLI::IsMember(names));
    parser->add_option("--format", options->format, "text, csv or json")->capture_default_str()->check(CLI::IsMember({"text", "csv", "json"}));
    parser->add_flag("--include-warmup", options->includeWarmup, "Count the warm-up steps, too");
    parser->add_option("--first-step", options->firstStep, "First step to count, from 0")->check(CLI::Range(int64_t{0}, kMaxStep));
    parser->add_option("--last-step", options->lastStep, "Last step to count")->check(CLI::Range(int64_t{0}, kMaxStep));
    parser->add_option("-o,--output", options->output, "Write to this file instead of standard output")
        ->check([](const std::string& name) { return std::string(name.empty() ? "the name must not be empty" : ""); });
    addSampleOptions(*parser, options->samples);
    parser->get_option("--samples")->excludes(parser->get_option("--by"));
    parser->footer(kFooter);
    return {parser, [options] { return run(*options); }};
}

} // namespace stepscope::cli
