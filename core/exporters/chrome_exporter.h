// Chrome trace JSON, strict, as Perfetto and chrome://tracing open it. Owner: core/exporters.
// Spans are "X" events, those on no thread "b" and "e", marks "i" and "n", counters "C"; samples are the "samples" and
// "stackFrames" of the format. Times are microseconds with every digit of the nanoseconds. What our importer needs beyond
// that stands in "otherData" and in arguments that begin with "stepscope:".
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportChrome(const session::Session& session, const std::filesystem::path& path, bool replace,
                          std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kChromeExporter{"chrome", "json", "Chrome trace JSON, for Perfetto", exportChrome};

} // namespace stepscope::exporters
