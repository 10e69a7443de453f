// EventText: all that the file of another tool says of one event, read on demand at the place that the session kept.
// Owner: core/importers. Thread: any; a job, as a packed file is unpacked up to the place. Units: bytes.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/session/session.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace stepscope::importers {

struct EventArgument {
    std::string name;
    std::string value; // text of strings without quotes; lists and objects as they stand in the file
};

struct EventText {
    std::vector<EventArgument> members;   // "ph", "ts", ... in the order of the file, without the arguments
    std::vector<EventArgument> arguments; // members of "args"
    int64_t cutValues = 0;                // values that were too long to be given whole
};

// Of the span in that row of the SpanTable. Errors: unsupported for spans whose format keeps no places; notFound when the
// file is gone; wrongFormat when it is another one now than the one that was imported; io; cancelled.
base::Result<EventText> readEvent(const session::Session& session, uint32_t row, std::stop_token stop = {},
                                  const base::Progress& progress = {});

} // namespace stepscope::importers
