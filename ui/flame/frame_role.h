// The colour classes of core/present as roles of ui/theme. Owner: ui/flame. Thread: any.
#pragma once

#include "core/present/colour_class.h"
#include "ui/theme/colours.h"

namespace stepscope::flame {

static_assert(present::kColourClassCount == theme::kFrameRoleCount);
static_assert(static_cast<int>(present::ColourClass::other) == static_cast<int>(theme::FrameRole::other));

inline theme::FrameRole frameRole(present::ColourClass colour) { return static_cast<theme::FrameRole>(colour); }

} // namespace stepscope::flame
