// Output of Valgrind's callgrind and of others that write its format (Xdebug).
// Owner: core/importers. Thread: any.
//
// The file holds a call graph: what each function cost itself, and what each call cost in all. A flame graph needs
// stacks, so costs are handed down from the functions that nobody calls, in proportion to the costs of the calls. Costs
// of single functions stay exact; how they divide over stacks is the same estimate that every viewer of this format
// makes.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectCallgrind(const Input& input);
base::Result<Imported> importCallgrind(Input& input, const ImportOptions& options, std::stop_token stop,
                                       const base::Progress& progress);

inline constexpr Importer kCallgrindImporter{"callgrind", "callgrind profile (Valgrind, Xdebug)", detectCallgrind,
                                             importCallgrind};

} // namespace stepscope::importers
