// Chrome trace JSON in all its shapes, and PyTorch Kineto JSON, which is the same with a vocabulary of its own.
// Owner: core/importers.
//
// Time is microseconds as decimal text, whatever displayTimeUnit says, and is read into ns without a floating-point
// number. `baseTimeNanoseconds` is kept as the environment row "trace.baseTimeNanoseconds"; times of the session count
// from its first event, which stands at "import.origin_ns" of the file's clock.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectKineto(const Input& input);
Detection detectChrome(const Input& input);
base::Result<Imported> importKineto(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress);
base::Result<Imported> importChrome(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress);

inline constexpr Importer kKinetoImporter{"kineto", "Trace of the PyTorch profiler (Kineto), JSON", detectKineto, importKineto};
inline constexpr Importer kChromeImporter{"chrome", "Chrome trace event format, JSON", detectChrome, importChrome};

} // namespace stepscope::importers
