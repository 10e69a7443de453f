// Puts sample records into the columns of a SampleTable and in order.
// Owner: core/session. Thread: any, on the caller's tables.
#pragma once

#include "core/session/session.h"
#include "core/session/session_sink.h"

#include <span>

namespace stepscope::session {

void appendSamples(SampleTable& table, std::span<const SampleRecord> records);

// By time, records of equal time in their order; linear when they are in order already.
void sortSamples(SampleTable& table);

// How many rows the tables have that samples refer to.
struct SampleLimits {
    size_t stacks = 0, labels = 0, tracks = 0;
};

// Clears references of samples that point outside the tables and counts them in columns.quality as
// "broken-sample-reference".
void repairSamples(LoadedColumns& columns, const SampleLimits& limits);
void repairSamples(LoadedColumns& columns, const SessionTables& tables);

} // namespace stepscope::session
