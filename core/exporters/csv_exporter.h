// A folder with one CSV file per table (RFC 4180). Owner: core/exporters.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportCsv(const session::Session& session, const std::filesystem::path& path, bool replace,
                       std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kCsvExporter{"csv", "csv", "folder with one CSV file per table", exportCsv};

} // namespace stepscope::exporters
