#include "core/present/report_sources.h"

#include "core/present/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepscope::present {

namespace {

using analysis::RowTime;

double known(double value) { return value > 0 ? value : kEmptyCell; }

void addTimeColumns(MemoryTable& table)
{
    table.addColumn(CellFormat::time, "median_ns", "Median", "Median over the steps of the time in one step");
    table.addColumn(CellFormat::time, "mean_ns", "Mean", "Mean over the steps of the time in one step");
    table.addColumn(CellFormat::time, "total_ns", "Total", "Time in all selected steps");
    table.addColumn(CellFormat::share, "share", "Share", "Part of the time of all selected steps; the column sums to 100 %");
}

void addRateColumns(MemoryTable& table, const std::string& of)
{
    table.addColumn(CellFormat::flopRate, "flop_per_s", "FLOP rate", "Floating-point operations per second " + of + ", at the median");
    table.addColumn(CellFormat::byteRate, "bytes_per_s", "Memory rate", "Bytes per second " + of + ", at the median");
}

void addAllocationColumns(MemoryTable& table, bool counted, const std::string& what)
{
    if (!counted) return;
    table.addColumn(CellFormat::count, "allocations", "Allocations", "Allocations on the host " + what);
    table.addColumn(CellFormat::bytes, "allocated_bytes", "Allocated", "Bytes asked for on the host " + what);
}

// Per step, as the mean.
void addAllocationCells(TableRow& row, bool counted, const analysis::AllocationSum& sum, int64_t steps)
{
    if (!counted) return;
    const double count = static_cast<double>(std::max<int64_t>(1, steps));
    row.numbers.push_back(static_cast<double>(sum.allocations) / count);
    row.numbers.push_back(static_cast<double>(sum.bytes) / count);
}

std::string flagText(uint32_t flags)
{
    std::string text;
    const auto add = [&](session::PrimitiveFlag flag, const char* name) {
        if ((flags & flag) == 0) return;
        if (!text.empty()) text += ", ";
        text += name;
    };
    add(session::kReference, "reference");
    add(session::kReorder, "reorder");
    add(session::kNaive, "naive");
    return text;
}

// Backward is expected to take one to three times as long as forward; only layers that matter are marked. The rule holds
// where both the gradient of the input and that of the parameters are computed: not in layers without parameters, and
// not in the first one with parameters (`first`), whose input is the data.
bool oddRatio(const analysis::LayerReportRow& row, base::LayerId first)
{
    const double ratio = row.backwardOverForward;
    if (row.container || row.parameters == 0 || row.layer == first) return false;
    return row.total.share >= 0.01 && ratio > 0 && (ratio < 1 || ratio > 3);
}

base::LayerId firstWithParameters(const analysis::LayerReport& report)
{
    for (const analysis::LayerReportRow& row : report.rows)
        if (!row.container && row.layer.valid() && row.parameters > 0) return row.layer;
    return {};
}

// Slow paths that cost something: a small conversion of layouts is no reason to look.
bool slowMatters(const analysis::LayerReportRow& row)
{
    return static_cast<double>(row.slow) > 0.02 * static_cast<double>(row.total.total);
}

// Like the other times of the row, of one step.
std::string slowPerStep(const analysis::LayerReportRow& row, int64_t steps)
{
    return formatTime(static_cast<double>(row.slow) / static_cast<double>(std::max<int64_t>(1, steps)));
}

// Why the name of a layer is red; also a column of its own.
std::string layerNote(const analysis::LayerReportRow& row, bool odd, int64_t steps)
{
    std::string note;
    if (slowMatters(row)) note = "slow path " + slowPerStep(row, steps) + " per step";
    if (odd)
        note += fmt::format("{}backward {} x forward", note.empty() ? "" : ", ", formatNumber(row.backwardOverForward, 3));
    return note;
}

std::string layerTip(const analysis::LayerReportRow& row, bool odd, int64_t steps)
{
    if (!row.layer.valid()) return row.remainder ? "Time that no layer's probe covers" : "Not part of a layer";
    std::string tip = row.text;
    if (row.container) tip += "\nIncludes its layers";
    if (row.total.total == 0) tip += "\nNo time of its own: fused into the layer before it, or not run";
    if (row.slow > 0)
        tip += fmt::format("\nSlow paths (reference code, reorders, creation): {} per step, {} in all selected steps", slowPerStep(row, steps),
                           formatTime(static_cast<double>(row.slow)));
    if (odd) tip += fmt::format("\nBackward takes {} times as long as forward; 1 to 3 is usual", formatNumber(row.backwardOverForward, 3));
    return tip;
}

TableRow layerTableRow(const analysis::LayerReportRow& row, bool tree, bool odd, int64_t steps)
{
    const bool timed = row.total.total > 0;
    const auto median = [](const RowTime& time) { return time.total > 0 ? time.median : kEmptyCell; };
    TableRow out;
    out.texts = {row.name, row.type, row.text, layerNote(row, odd, steps)};
    out.numbers = {median(row.forward), median(row.backward), median(row.update), median(row.total), timed ? row.total.mean : kEmptyCell,
        static_cast<double>(row.total.total), tree ? row.total.share : row.own.share, known(row.forwardFlopPerSecond),
        known(row.backwardFlopPerSecond), known(row.forwardBytesPerSecond), known(row.backwardBytesPerSecond),
        known(row.backwardOverForward), row.layer.valid() ? static_cast<double>(row.parameters) : kEmptyCell,
        row.slow > 0 ? static_cast<double>(row.slow) : kEmptyCell};
    out.layer = row.layer;
    out.colour = row.layer.valid() ? ColourClass::other : row.remainder ? ColourClass::remainder : phaseColour(row.phase);
    out.emphasised = slowMatters(row) || odd;
    out.subdued = row.remainder;
    out.indent = tree ? row.depth : 0;
    out.tip = layerTip(row, odd, steps);
    return out;
}

} // namespace

std::unique_ptr<TableSource> makeSpanTable(analysis::SpanReport report)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "span", "Span", "Name of the spans");
    table->addColumn(CellFormat::share, "self_share", "Self share", "Part of the self time of all spans; the column sums to 100 %");
    table->addColumn(CellFormat::time, "self_ns", "Self", "Time of the spans without the spans inside");
    table->addColumn(CellFormat::time, "total_ns", "Total", "Time of the spans; of a name inside itself the outermost counts");
    table->addColumn(CellFormat::count, "count", "Count", "Spans of the name");
    table->addColumn(CellFormat::time, "mean_ns", "Mean", "Mean time of one span");
    table->addColumn(CellFormat::time, "min_ns", "Shortest", "Time of the shortest span");
    table->addColumn(CellFormat::time, "max_ns", "Longest", "Time of the longest span");
    const auto number = [](int64_t value) { return static_cast<double>(value); };
    for (analysis::SpanReportRow& row : report.rows) {
        TableRow out;
        out.texts = {std::move(row.name)};
        out.numbers = {report.self > 0 ? number(row.self) / number(report.self) : kEmptyCell, number(row.self), number(row.total),
            number(row.count), number(row.sum) / number(row.count), number(row.shortest), number(row.longest)};
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makePhaseTable(analysis::PhaseReport report)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "phase", "Phase", "Part of a training step");
    addTimeColumns(*table);
    table->addColumn(CellFormat::count, "count", "Count", "Number of spans in all selected steps");
    addRateColumns(*table, "of the primitives in it");
    addAllocationColumns(*table, report.allocationsCounted, "in one step, on average");
    for (const analysis::PhaseRow& row : report.rows) {
        TableRow out;
        out.texts = {row.name};
        out.numbers = {row.time.median, row.time.mean, static_cast<double>(row.time.total), row.time.share,
            row.count > 0 ? static_cast<double>(row.count) : kEmptyCell, known(row.flopPerSecond), known(row.bytesPerSecond)};
        addAllocationCells(out, report.allocationsCounted, row.allocations, report.steps.count);
        out.colour = row.remainder ? ColourClass::remainder : phaseColour(row.phase);
        out.subdued = row.remainder;
        if (row.remainder) out.tip = "Time of the step that no phase covers";
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeLayerTable(analysis::LayerReport report, bool containers)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "layer", "Layer", "Path of the layer in the model");
    table->addColumn(CellFormat::text, "type", "Type", "Kind of layer");
    table->addColumn(CellFormat::text, "text", "Definition", "The layer as Flux prints it");
    table->addColumn(CellFormat::time, "forward_median_ns", "Forward", "Median over the steps of the time in the forward pass");
    table->addColumn(CellFormat::time, "backward_median_ns", "Backward", "Median over the steps of the time in the backward pass");
    table->addColumn(CellFormat::time, "update_median_ns", "Update", "Median over the steps of the time in the optimiser");
    table->addColumn(CellFormat::time, "median_ns", "Median", "Median over the steps of the time in all phases");
    table->addColumn(CellFormat::time, "mean_ns", "Mean", "Mean over the steps of the time in all phases");
    table->addColumn(CellFormat::time, "total_ns", "Total", "Time in all selected steps");
    table->addColumn(CellFormat::share, "share", "Share",
        containers ? "Part of the time of all selected steps, layers inside included: of the mean step, not of the medians"
                   : "Part of the time of all selected steps: of the mean step, not of the medians; the column sums to 100 %");
    table->addColumn(CellFormat::flopRate, "forward_flop_per_s", "Forward rate", "Floating-point operations per second, forward, at the median");
    table->addColumn(CellFormat::flopRate, "backward_flop_per_s", "Backward rate", "Floating-point operations per second, backward, at the median");
    table->addColumn(CellFormat::byteRate, "forward_bytes_per_s", "Forward memory", "Least memory traffic per second, forward, at the median");
    table->addColumn(CellFormat::byteRate, "backward_bytes_per_s", "Backward memory", "Least memory traffic per second, backward, at the median");
    table->addColumn(CellFormat::ratio, "backward_over_forward", "Bwd/fwd", "Backward over forward, of the medians; 1 to 3 is usual");
    table->addColumn(CellFormat::count, "parameters", "Parameters", "Trainable values");
    table->addColumn(CellFormat::time, "slow_ns", "Slow paths", "Time in reference code, reorders and creation of primitives, in all selected steps");
    table->addColumn(CellFormat::text, "note", "Note",
                     "Why the name is red: more than 2 % of its time in slow paths, or backward takes less than 1 or more than 3 times as long as "
                     "forward, by the medians; layers without parameters and the first one with them are not judged by it");
    addAllocationColumns(*table, report.allocationsCounted, "in one step, on average");
    const base::LayerId first = firstWithParameters(report);
    const auto addRow = [&](const analysis::LayerReportRow& row, bool tree) {
        TableRow out = layerTableRow(row, tree, oddRatio(row, first), report.steps.count);
        addAllocationCells(out, report.allocationsCounted, tree ? row.allocations : row.ownAllocations, report.steps.count);
        table->addRow(std::move(out));
    };
    for (const analysis::LayerReportRow& row : report.rows) {
        // A container's own time is a row of its own, so that the shares sum to 1 without it.
        if (row.container && !containers) {
            if (row.own.total == 0) continue;
            analysis::LayerReportRow own = row;
            own.name += ", between layers";
            own.forward = own.backward = own.update = {};
            own.total = row.own;
            own.remainder = true;
            own.forwardFlopPerSecond = own.backwardFlopPerSecond = own.forwardBytesPerSecond = own.backwardBytesPerSecond = 0;
            own.backwardOverForward = 0;
            addRow(own, false);
            continue;
        }
        addRow(row, containers);
    }
    return table;
}

std::unique_ptr<TableSource> makePrimitiveTable(analysis::PrimitiveReport report)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "primitive", "Primitive", "One call into the backend");
    table->addColumn(CellFormat::text, "kind", "Kind", "The library's name of the operation");
    table->addColumn(CellFormat::text, "implementation", "Implementation", "The library's name of the code that runs");
    table->addColumn(CellFormat::text, "formats", "Memory formats", "Layouts of the arrays");
    table->addColumn(CellFormat::text, "flags", "Flags", "reference and reorder are slow paths");
    addTimeColumns(*table);
    table->addColumn(CellFormat::count, "count", "Count", "Executions in all selected steps");
    addRateColumns(*table, "while it runs");
    table->addColumn(CellFormat::count, "threads", "Threads", "Threads it may use");
    for (const analysis::PrimitiveReportRow& row : report.rows) {
        TableRow out;
        out.texts = {row.name, row.kind, row.implementation, row.formats, flagText(row.flags)};
        out.numbers = {row.time.median, row.time.mean, static_cast<double>(row.time.total), row.time.share,
            row.count > 0 ? static_cast<double>(row.count) : kEmptyCell, known(row.flopPerSecond), known(row.bytesPerSecond),
            row.threads > 0 ? row.threads : kEmptyCell};
        out.layer = row.layer;
        out.emphasised = (row.flags & (session::kReference | session::kReorder)) != 0;
        out.colour = out.emphasised ? ColourClass::slow
            : (row.flags & session::kNaive) != 0 ? ColourClass::naive
            : row.remainder ? ColourClass::remainder : phaseColour(row.phase);
        out.subdued = row.remainder;
        out.tip = row.formats;
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeStepTable(analysis::StepReport report)
{
    using session::Phase;
    auto table = std::make_unique<MemoryTable>();
    // Of imported traces only the times are known.
    const auto some = [&report](auto has) {
        return std::any_of(report.rows.begin(), report.rows.end(), [&](const analysis::StepReportRow& row) { return has(row.step); });
    };
    const bool grouped = some([](const session::StepRow& step) { return step.group.valid(); });
    if (grouped) table->addColumn(CellFormat::text, "group", "File", "Of several files that are open together");
    table->addColumn(CellFormat::count, "step", "Step", "Number of the step, from 0");
    const bool counted = some([](const session::StepRow& step) { return step.samples > 0 || step.epoch > 0 || step.disturbed(); });
    const bool lossKnown = some([](const session::StepRow& step) { return !std::isnan(step.loss); });
    if (counted) table->addColumn(CellFormat::count, "epoch", "Epoch", "From 0");
    table->addColumn(CellFormat::time, "duration_ns", "Duration", "From the begin to the end of the step");
    table->addColumn(CellFormat::share, "share", "Share", "Part of the time of all selected steps");
    std::vector<size_t> shown; // phases that occur
    for (size_t phase = 1; phase < session::kPhaseCount; ++phase) {
        for (const analysis::StepReportRow& row : report.rows) {
            if (row.phases[phase] == 0) continue;
            shown.push_back(phase);
            break;
        }
    }
    for (const size_t phase : shown) {
        std::string title(session::phaseName(static_cast<Phase>(phase)));
        if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
        table->addColumn(CellFormat::time, std::string(session::phaseKey(static_cast<Phase>(phase))) + "_ns", title, "Time in this phase");
    }
    table->addColumn(CellFormat::time, "between_phases_ns", "Between", "Time of the step that no phase covers");
    if (lossKnown) table->addColumn(CellFormat::number, "loss", "Loss", "Mean over the batch");
    if (counted) {
        table->addColumn(CellFormat::count, "samples", "Samples", "Size of the batch");
        table->addColumn(CellFormat::count, "involuntary_switches", "Switches", "Times the system took the CPU from the training thread");
        table->addColumn(CellFormat::count, "page_faults", "Faults", "Page faults of the training thread");
    }
    addAllocationColumns(*table, report.allocationsCounted, "in the step");
    table->addColumn(CellFormat::text, "note", "Note", "warm-up: left out of statistics; disturbed: the system interfered, and the step took longer than calm ones");
    for (const analysis::StepReportRow& row : report.rows) {
        const session::StepRow& step = row.step;
        TableRow out;
        out.numbers = {static_cast<double>(step.number())};
        if (counted) out.numbers.push_back(step.epoch);
        out.numbers.insert(out.numbers.end(), {static_cast<double>(step.duration), row.share});
        for (const size_t phase : shown)
            out.numbers.push_back(static_cast<double>(row.phases[phase]));
        out.numbers.push_back(static_cast<double>(row.phases[0]));
        if (lossKnown) out.numbers.push_back(step.loss); // NaN: empty
        if (counted)
            out.numbers.insert(out.numbers.end(), {static_cast<double>(step.samples), static_cast<double>(step.threadInvoluntarySwitches),
                static_cast<double>(step.threadMinorFaults + step.threadMajorFaults)});
        addAllocationCells(out, report.allocationsCounted, row.allocations, 1);
        if (grouped) out.texts.push_back(row.group);
        out.texts.emplace_back(step.warmup ? (row.disturbed ? "warm-up, disturbed" : "warm-up") : row.disturbed ? "disturbed" : "");
        out.colour = ColourClass::step;
        out.emphasised = row.disturbed;
        out.subdued = step.warmup;
        table->addRow(std::move(out));
    }
    return table;
}

std::string stepSummaryText(const analysis::StepStatistics& steps)
{
    if (steps.count == 0) return "no steps";
    std::string text = fmt::format("{} {}: median {}, p99 {}, min {}, mean {}", formatCount(steps.count), steps.count == 1 ? "step" : "steps",
        formatTime(steps.duration.median), formatTime(steps.duration.p99), formatTime(steps.duration.min), formatTime(steps.duration.mean));
    if (steps.samplesPerSecond > 0) text += fmt::format(", {} samples/s", formatCount(static_cast<int64_t>(steps.samplesPerSecond + 0.5)));
    if (steps.warmupOnly) text += "; only warm-up steps were recorded";
    else if (steps.warmupLeftOut > 0)
        text += fmt::format("; {} warm-up {} left out", formatCount(steps.warmupLeftOut), steps.warmupLeftOut == 1 ? "step" : "steps");
    if (steps.disturbed > 0) text += fmt::format("; {} disturbed by the system", formatCount(steps.disturbed));
    return text;
}

} // namespace stepscope::present
