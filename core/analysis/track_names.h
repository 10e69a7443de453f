// Names of tracks that tell them apart: "stream 7" of two devices is "stream 7 (device 0)" and "stream 7 (device 1)".
// Owner: core/analysis. Thread: any; pure.
#pragma once

#include "core/session/session.h"

#include <string>
#include <vector>

namespace stepscope::analysis {

// One per row of Session::tracks(). A name that only one track has stays as it is; to others is added, as far as it
// tells them apart, the file they came from, device, process, thread or stream and lane.
std::vector<std::string> distinctTrackNames(const session::Session& session);

} // namespace stepscope::analysis
