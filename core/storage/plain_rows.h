// Writes a session as plain SQL rows, for people who want to query it.
// Owner: core/storage (the only user of SQLite); core/exporters offers it as a format. Thread: any; meant for jobs.
#pragma once

#include "core/base/progress.h"
#include "core/session/session.h"
#include "core/storage/file_place.h"

#include <filesystem>
#include <stop_token>

namespace stepscope::storage {

// A fresh SQLite database: the tables span, label, layer, primitive, step, track, counter_sample, frame, stack,
// series, sample, environment, quality and the views spans, samples, step_phases, layer_times and primitive_times, which
// join the names to the numbers.
// Times are ns since the origin. The file appears under its name only when it is complete.
base::Status writePlainRows(const session::Session& session, const std::filesystem::path& path,
                            Existing existing = Existing::backup, std::stop_token stop = {},
                            const base::Progress& progress = {});

} // namespace stepscope::storage
