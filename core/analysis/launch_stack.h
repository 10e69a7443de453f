// The stack of a piece of device work: the call that launched it and the host spans around that call.
// Owner: core/analysis. Thread: any.
#pragma once

#include "core/session/session.h"

#include <vector>

namespace stepscope::analysis {

// Rows of the SpanTable, outermost first and the work itself last. Nested by the spans of the thread; where the thread
// is one on which a framework runs its backward pass, the outermost span hangs below the range "## backward ##" of
// another thread of the process that was open when it began. Just the work when its call is not in the session.
std::vector<uint32_t> launchStack(const session::Session& session, uint32_t workRow);

} // namespace stepscope::analysis
