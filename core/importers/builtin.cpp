// The list of importers. Those that decide by magic bytes stand first: of equal confidences the first wins.
#include "core/importers/benchmarktools_importer.h"
#include "core/importers/callgrind_importer.h"
#include "core/importers/chrome_importer.h"
#include "core/importers/collapsed_importer.h"
#include "core/importers/cpuprofile_importer.h"
#include "core/importers/firefox_importer.h"
#include "core/importers/importer.h"
#include "core/importers/jlprof_importer.h"
#include "core/importers/memory_timeline_importer.h"
#include "core/importers/nsight_importer.h"
#include "core/importers/onednn_importer.h"
#include "core/importers/perf_data_importer.h"
#include "core/importers/perf_script_importer.h"
#include "core/importers/pprof_importer.h"
#include "core/importers/speedscope_importer.h"

#include <array>

namespace stepscope::importers {

std::span<const Importer> builtinImporters()
{
    static constexpr std::array kImporters{
        kJlprofImporter,
        kPerfDataImporter,
        kNsightImporter,
        kSpeedscopeImporter,
        kFirefoxImporter,
        kCpuProfileImporter,
        kHeapProfileImporter,
        kBenchmarkToolsImporter,
        kKinetoImporter,
        kChromeImporter,
        kMemoryTimelineImporter,
        kCallgrindImporter,
        kOneDnnImporter,
        kPerfScriptImporter,
        kPprofImporter,
        kCollapsedImporter, // last: nearly any text with numbers fits
    };
    return kImporters;
}

} // namespace stepscope::importers
