// PartChoice: which part of a large trace to load, as typed by the user, and its meaning for an importer.
// Owner: ui/state. Thread: plain values, any. Units: of times those of the text, without one seconds.
#pragma once

#include "core/base/result.h"
#include "core/importers/importer.h"

#include <QString>

namespace stepscope::state {

struct PartChoice {
    bool bySteps = false;
    QString from, to;           // times since the first event: "1.5", "200 ms", "2 min"; "" open
    QString firstStep, lastStep; // numbers of the trace; "" open
    QString stepName;           // the spans of this name are the steps; "" found by the rules of the format
};

// Digit by digit to ns: "1.5", "1.5 s", "200 ms", "7 us", "12 ns", "2 min". Errors: invalidArgument.
base::Result<base::TimeNs> timeOf(const QString& text);

// Errors: invalidArgument for what is no time or number, for an end before its begin, and for a choice of everything;
// Where::field is "from", "to", "firstStep", "lastStep" or "stepName".
base::Result<importers::ImportOptions> importOptions(const PartChoice& choice);

} // namespace stepscope::state
