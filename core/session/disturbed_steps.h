// Which steps the system disturbed.
// Owner: core/session. Thread: any; pure functions. Units: ns.
#pragma once

#include "core/session/types.h"

#include <cstdint>
#include <vector>

namespace stepscope::session {

// The system interferes with a step when it takes the processor from the training thread or the thread meets page
// faults. Most such moments cost next to nothing, and on a busy machine nearly every step has one: a step is disturbed
// when it also took longer than calm steps do, those without interference. The limit is Tukey's: the upper quartile of
// the calm steps plus one and a half times the distance between their quartiles. Warm-up steps do not count for it,
// unless there are no others. Where fewer than half of the steps and fewer than five are calm, the limit is that of all.
double longestCalmStep(const std::vector<StepRow>& steps); // the limit; 0 without steps

// Per row of `steps`: 1 when it was disturbed, as compared with the steps of its own file (StepRow::group).
std::vector<uint8_t> disturbedSteps(const std::vector<StepRow>& steps);

} // namespace stepscope::session
