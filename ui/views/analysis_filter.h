// The filter of the workbench as the analyses take it. Owner: ui/views. Thread: any.
#pragma once

#include "core/analysis/span_filter.h"
#include "ui/state/workbench.h"

namespace stepscope::views {

inline analysis::SpanFilter analysisFilter(const state::StepFilter& filter)
{
    analysis::SpanFilter result;
    result.includeWarmup = filter.includeWarmup;
    return result;
}

} // namespace stepscope::views
