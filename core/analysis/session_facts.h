// What is in a session, in numbers that other tools can be held against: `stepscope info FILE --format json`.
// Owner: core/analysis. Thread: any; make it in a job (it loads the columns). Units: ns; weights of samples in the unit of
// their series.
#pragma once

#include "core/session/session.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::analysis {

struct NamedSpans {
    int64_t count = 0;
    base::TimeNs total = 0;
    base::TimeNs self = 0;  // less the direct children on the same track
    base::TimeNs first = 0; // start of the first one
    bool unfinished = false; // at least one has no end in the file
};

struct SpanFacts {
    int64_t spans = 0;        // without marks of no length (instants)
    int64_t threadSpans = 0;  // not on asynchronous tracks
    int64_t asyncSpans = 0;
    int64_t asyncInstants = 0;
    int64_t instants = 0;
    int64_t tracks = 0;       // with spans or samples; further lanes belong to their track
    int64_t maxDepth = 0;     // from 1
    int64_t overlaps = 0;     // spans that overlap another one of their track without nesting
    std::optional<base::TimeRange> range; // since the session's origin
    std::map<std::string, NamedSpans> named;
    std::map<int64_t, base::TimeNs> deviceSum;  // kernels, copies and fills of each device
    std::map<int64_t, base::TimeNs> deviceBusy; // their union
    std::vector<std::pair<std::string, std::string>> arrows; // names of the spans; at most `limit`
    std::vector<std::pair<std::string, base::TimeNs>> asyncDurations; // at most `limit`
};
SpanFacts spanFacts(const session::Session& session, size_t limit);

struct SeriesFacts {
    std::string name, unit;
    int64_t samples = 0;
    int64_t total = 0;
    int64_t withoutStack = 0;
    int64_t maxDepth = 0;
    std::map<std::string, int64_t> self;      // by function
    std::map<std::string, int64_t> inclusive; // a function counts once per stack, however often it is in it
};
SeriesFacts seriesFacts(const session::Session& session, base::SeriesId series);

} // namespace stepscope::analysis
