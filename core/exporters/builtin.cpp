#include "core/exporters/benchmarktools_exporter.h"
#include "core/exporters/chrome_exporter.h"
#include "core/exporters/collapsed_exporter.h"
#include "core/exporters/csv_exporter.h"
#include "core/exporters/exporter.h"
#include "core/exporters/pprof_exporter.h"
#include "core/exporters/speedscope_exporter.h"
#include "core/exporters/sqlite_exporter.h"
#include "core/exporters/svg_exporter.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

constexpr std::array kExporters{
    kSqliteExporter, kChromeExporter, kSpeedscopeExporter, kCollapsedExporter, kPprofExporter, kSvgExporter, kCsvExporter, kBenchmarkToolsExporter,
};

std::string list(std::string_view Exporter::*what)
{
    std::string text;
    for (const Exporter& exporter : kExporters)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", exporter.*what);
    return text;
}

} // namespace

std::span<const Exporter> builtinExporters() { return kExporters; }

base::Result<const Exporter*> findExporter(std::string_view name, const std::filesystem::path& path)
{
    // "a.speedscope.json" ends in ".json" too, so the longest ending wins; packing stands behind it.
    std::string file = path.filename().string();
    std::transform(file.begin(), file.end(), file.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (file.ends_with(".gz")) file.resize(file.size() - 3);
    const Exporter* best = nullptr;
    for (const Exporter& exporter : kExporters) {
        if (!name.empty() && exporter.name == name) return &exporter;
        const bool fits = name.empty() && file.ends_with("." + std::string(exporter.extension));
        if (fits && (best == nullptr || exporter.extension.size() > best->extension.size())) best = &exporter;
    }
    if (best != nullptr) return best;
    const std::string extension = path.has_extension() ? path.extension().string().substr(1) : std::string();
    if (!name.empty())
        return base::fail(base::ErrorCode::unsupported, fmt::format("there is no format '{}'", name), {},
                          fmt::format("formats: {}", list(&Exporter::name)));
    return base::fail(base::ErrorCode::unsupported,
                      extension.empty() ? std::string("the name of the output has no extension that tells the format")
                                        : fmt::format("no format belongs to the extension '.{}'", extension),
                      {.file = path.string()}, fmt::format("extensions: {}", list(&Exporter::extension)));
}

} // namespace stepscope::exporters
