// Reports: where the time of a step goes, by phase, layer, primitive and step.
// Owner: core/analysis. Thread: any; build in a job (they load the span columns). Units: ns, FLOP, bytes; shares 0..1.
//
// Every nanosecond of a step is counted in exactly one row of a report: a row owns the time of its spans less that of
// the spans inside them that belong to other rows. So `share` sums to 1 over the rows; what no probe covers has rows
// of its own with `remainder` set ("between phases", ...).
#pragma once

#include "core/analysis/allocation_sums.h"
#include "core/analysis/span_filter.h"
#include "core/base/progress.h"
#include "core/stats/estimators.h"

#include <array>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace stepscope::analysis {

// Time of one row over the selected steps.
struct RowTime {
    double median = 0;      // over the steps, of the sum within a step; steps without it count as 0
    double mean = 0;        // total / steps
    base::TimeNs total = 0; // over all selected steps
    double share = 0;       // total / total of the steps
};

// The one rule for rates: the amount of one step over the median time of a step. For work that is in less than half
// of the steps (the median is 0) the amount over the total time; 0 when unknown. `amount` is that of all `steps`.
double ratePerSecond(double amount, const RowTime& time, int64_t steps);

struct StepStatistics {
    stats::Summary duration;        // ns, over the selected steps
    int64_t count = 0;              // selected steps
    int64_t warmupLeftOut = 0;
    bool warmupOnly = false;        // only warm-up steps exist, so they are counted
    int64_t disturbed = 0;          // among the selected; session::disturbedSteps() says which
    std::optional<stats::Summary> undisturbed; // durations of the others, when some are disturbed and some are not
    base::TimeNs total = 0;
    int64_t samples = 0;            // over the selected steps
    double samplesPerSecond = 0;    // samples / total; 0 when unknown
    double lastLoss = 0;            // NaN when not known
};
StepStatistics stepStatistics(const session::Session& session, const SpanFilter& filter = {});
// Durations in ns of the selected steps, in order, for a histogram; `rows` gets their rows in Session::steps().
std::vector<double> stepDurations(const session::Session& session, const SpanFilter& filter = {}, std::vector<size_t>* rows = nullptr);

struct PhaseRow {
    session::Phase phase = session::Phase::none;
    std::string name;          // "forward", or "between phases"
    RowTime time;
    int64_t count = 0;         // phase spans
    double flopPerSecond = 0;  // ratePerSecond() by the primitives' own numbers
    double bytesPerSecond = 0;
    AllocationSum allocations; // on the host, in all selected steps
    bool remainder = false;
};
// Work beside the steps: a loader thread. Not part of the step's sum.
struct BesideRow {
    std::string track;
    base::TimeNs busy = 0; // in spans, from the begin of the first to the end of the last selected step
    double share = 0;      // of that range
    int64_t count = 0;     // outermost spans
};
struct PhaseReport {
    StepStatistics steps;
    bool allocationsCounted = false;
    std::vector<PhaseRow> rows; // in the order of a step
    std::vector<BesideRow> beside;
};
PhaseReport phaseReport(const session::Session& session, const SpanFilter& filter = {}, std::stop_token stop = {}, const base::Progress& progress = {});

struct LayerReportRow {
    base::LayerId layer;         // none for rows that belong to no layer
    session::Phase phase = session::Phase::none; // of a row without layer
    std::string name;            // path of the layer, "(model)" for the model itself; "data wait", "forward, between layers"
    std::string type;            // "Conv"; empty without a layer
    std::string text;            // "Conv((5, 5), 1 => 6, relu)"
    int depth = 0;               // in the layer tree; the model has 0
    bool container = false;      // has child layers: forward, backward, update and total include them, own does not
    bool remainder = false;      // time that no layer's probe covers
    RowTime forward, backward, update; // children included
    RowTime total;               // all phases, children included
    RowTime own;                 // without child layers; own.share sums to 1 over all rows
    int64_t count = 0;           // layer spans of the forward phase
    double forwardFlopPerSecond = 0, backwardFlopPerSecond = 0;   // at the median; 0 when unknown
    double forwardBytesPerSecond = 0, backwardBytesPerSecond = 0; // of the least traffic
    double backwardOverForward = 0;                               // of the medians; 0 when unknown
    base::TimeNs slow = 0;       // in reference code, reorders and creation
    int64_t parameters = 0;
    AllocationSum allocations;    // children included; on the host, in all selected steps
    AllocationSum ownAllocations; // without child layers
};
struct LayerReport {
    StepStatistics steps;
    bool allocationsCounted = false;
    std::vector<LayerReportRow> rows; // layers in pre-order, then the rows without layer
};
LayerReport layerReport(const session::Session& session, const SpanFilter& filter = {}, std::stop_token stop = {}, const base::Progress& progress = {});

struct PrimitiveReportRow {
    base::PrimitiveId primitive; // none for remainder and creation rows
    base::LayerId layer;
    session::Phase phase = session::Phase::none;
    std::string name;            // "conv1 forward"; "creation of primitives, forward"; "forward, between primitives"
    std::string kind, implementation, formats;
    uint32_t flags = 0;          // session::PrimitiveFlag
    int threads = 0;
    RowTime time;
    int64_t count = 0;           // executions
    double flopPerSecond = 0;    // ratePerSecond() of flop * count
    double bytesPerSecond = 0;
    bool remainder = false;
};
struct PrimitiveReport {
    StepStatistics steps;
    std::vector<PrimitiveReportRow> rows; // largest share first, remainder rows last
};
PrimitiveReport primitiveReport(const session::Session& session, const SpanFilter& filter = {}, std::stop_token stop = {},
                                const base::Progress& progress = {});

struct StepReportRow {
    session::StepRow step;
    std::string group;                                       // of the file it came from
    std::array<base::TimeNs, session::kPhaseCount> phases{}; // by Phase; [none] is the time between phases
    double share = 0;                                        // of all selected steps together
    AllocationSum allocations;                               // on the host
    bool disturbed = false;                                  // session::disturbedSteps()
};
struct StepReport {
    StepStatistics steps;
    bool allocationsCounted = false;
    std::vector<StepReportRow> rows;
};
StepReport stepReport(const session::Session& session, const SpanFilter& filter = {}, std::stop_token stop = {}, const base::Progress& progress = {});

} // namespace stepscope::analysis
