// speedscope's JSON: one evented profile per track of spans, one sampled profile per track and series. Owner:
// core/exporters.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportSpeedscope(const session::Session& session, const std::filesystem::path& path, bool replace,
                              std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kSpeedscopeExporter{"speedscope", "speedscope.json", "profile for speedscope",
                                              exportSpeedscope};

} // namespace stepscope::exporters
