// Errors of core as text for people. Owner: ui/state. Thread: any.
#pragma once

#include "core/base/error.h"

#include <QString>

namespace stepscope::state {

// "FILE:LINE:COLUMN: message" and the hint on a line of its own.
inline QString errorText(const base::Error& error) { return QString::fromStdString(base::toText(error)); }

} // namespace stepscope::state
