#include "tests/architecture/include_rules.h"

namespace stepscope::architecture {

Rules rules()
{
    Rules r;
    r.allowed = {
        {"app/files", {"core"}},
        {"app/cli", {"app/files", "core", "gpu"}},
        {"app/desktop", {"app/files", "core", "gpu", "ui"}},
        {"core/base", {}},
        {"core/session", {"core/base"}},
        {"core/storage", {"core/base", "core/session"}},
        {"core/importers", {"core/base", "core/session"}},
        {"core/exporters", {"core/base", "core/session"}},
        {"core/stats", {"core/base"}},
        {"core/analysis", {"core/base", "core/session", "core/stats"}},
        {"core/model", {"core/base"}},
        {"core/engine", {"core/base", "core/model", "core/recording"}},
        {"core/onednn", {"core/base", "core/model", "core/engine", "core/recording"}},
        {"core/recording", {"core/base", "core/session"}},
        {"core/advisor", {"core/base", "core/session", "core/stats", "core/analysis"}},
        {"core/present", {"core/base", "core/session", "core/stats", "core/analysis", "core/advisor"}},
        {"gpu/device", {"core/base"}},
        {"gpu/none", {"core/base", "gpu/device"}},
        {"gpu/kernels", {"gpu/device", "core/base", "core/engine", "core/model"}},
        {"gpu/capture", {"gpu/device", "core/base", "core/recording"}},
        {"ui/theme", {}},
        {"ui/jobs", {"core"}},
        {"ui/state", {"ui/jobs", "core"}},
        {"ui/models", {"ui/state", "ui/theme", "core"}},
        {"ui/timeline", {"ui/state", "ui/theme", "core"}},
        {"ui/flame", {"ui/state", "ui/theme", "core"}},
        {"ui/histogram", {"ui/state", "ui/theme", "core"}},
        {"ui/views",
         {"ui/theme", "ui/jobs", "ui/state", "ui/models", "ui/timeline", "ui/flame", "ui/histogram", "core"}},
        {"ui/shell", {"ui", "core"}},
    };
    r.deviations = {
        {"core/engine", "core/session", "the Trainer writes steps, layers and the environment as session rows"},
        {"core/exporters", "core/storage", "the plain SQLite rows are written where SQLite is at home"},
    };
    r.foreign = {
        {"Qt", {"Q", "qt", "qglobal.h", "qobject.h", "qstring.h", "qdebug.h", "private/q"}, {"ui", "app/desktop"}},
        {"CUPTI", {"cupti"}, {"gpu/capture"}},
        {"CUDA", {"cuda", "cublas", "cudnn", "nvml", "nvtx"}, {"gpu"}},
        {"oneDNN", {"dnnl", "oneapi/dnnl"}, {"core/onednn"}},
        {"SQLite", {"sqlite3"}, {"core/storage", "core/importers/nsight_importer.cpp"}},
    };
    return r;
}

} // namespace stepscope::architecture
