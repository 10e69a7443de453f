// Chrome trace JSON, strict, as Perfetto and chrome://tracing open it. Owner: core/exporters.
// Spans are "X" events, marks "i", counters "C"; samples with times are the "samples" and "stackFrames" of the format.
// Times are microseconds with every digit of the nanoseconds.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportChrome(const session::Session& session, const std::filesystem::path& path, bool replace,
                          std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kChromeExporter{"chrome", "json", "Chrome trace JSON, for Perfetto", exportChrome};

} // namespace stepscope::exporters
