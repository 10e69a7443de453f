// pprof (profile.proto): every series is a sample type; of sessions with spans alone the self time of every path.
// Owner: core/exporters.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportPprof(const session::Session& session, const std::filesystem::path& path, bool replace,
                         std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kPprofExporter{"pprof", "pb", "pprof profile (.pb, or packed .pb.gz)", exportPprof};

} // namespace stepscope::exporters
