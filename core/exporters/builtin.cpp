#include "core/exporters/exporter.h"
#include "core/exporters/sqlite_exporter.h"

#include <array>
#include <string>

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

constexpr std::array kExporters{
    kSqliteExporter,
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
    const std::string extension = path.has_extension() ? path.extension().string().substr(1) : std::string();
    for (const Exporter& exporter : kExporters)
        if (name.empty() ? exporter.extension == extension : exporter.name == name) return &exporter;
    if (!name.empty())
        return base::fail(base::ErrorCode::unsupported, fmt::format("there is no format '{}'", name), {},
                          fmt::format("formats: {}", list(&Exporter::name)));
    return base::fail(base::ErrorCode::unsupported,
                      extension.empty() ? std::string("the name of the output has no extension that tells the format")
                                        : fmt::format("no format belongs to the extension '.{}'", extension),
                      {.file = path.string()}, fmt::format("extensions: {}", list(&Exporter::extension)));
}

} // namespace stepscope::exporters
