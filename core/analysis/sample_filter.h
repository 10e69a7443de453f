// SampleFilter: which stack samples are looked at and how they are merged: the state of the filter bar that the flame
// graph, the tree and the flat table of the workbench share, and the options of `stepscope report --samples`.
// Owner: core/analysis. Thread: plain values.
#pragma once

#include "core/analysis/span_filter.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace stepscope::analysis {

enum class SampleShape : uint8_t {
    topDown,  // from the thread's start to the leaf
    bottomUp, // from the leaf to its callers; weights are self weights
    callers,  // of one function, upwards; each stack counts once, at its outermost call
    callees,  // of one function, downwards, likewise
};
enum class SampleMerge : uint8_t { address, line, function }; // frames that count as the same place
enum class SampleOrder : uint8_t { fileLine, count, overhead };
enum class SampleRecursion : uint8_t {
    off,
    flat, // a place that is on the stack already is entered again instead of nested, as if the recursion were a loop
};
enum class SampleGroup : uint8_t { thread, phase, layer };

struct SampleFilter {
    SpanFilter spans;                  // steps, warm-up, threads, phases, outside of steps
    base::SeriesId series;             // none: the default series of the session
    std::vector<base::LayerId> layers; // empty: all; a layer includes those inside it

    std::vector<SampleGroup> groups;   // outermost first
    SampleShape shape = SampleShape::topDown;
    base::StringId function;           // of the shapes callers and callees
    bool native = false;               // also frames of libraries and of the system
    SampleMerge merge = SampleMerge::line;
    SampleRecursion recursion = SampleRecursion::off;
    SampleOrder order = SampleOrder::fileLine;

    // What is hidden stays in the numbers of the frames around it.
    int32_t maxDepth = std::numeric_limits<int32_t>::max(); // levels below the first
    int64_t minCount = 0;              // hides frames with fewer samples
    double noiseFloor = 0;             // hides n <= noiseFloor * sqrt(samples of the parent), below the first level
    friend bool operator==(const SampleFilter&, const SampleFilter&) = default;
};

// The series that the filter shows; none when the session has no samples at all.
base::SeriesId seriesOf(const session::Session& session, const SampleFilter& filter);

// "thread", "phase", "layer" and back.
std::string_view sampleGroupName(SampleGroup group);
std::optional<SampleGroup> sampleGroupByName(std::string_view name);

} // namespace stepscope::analysis
