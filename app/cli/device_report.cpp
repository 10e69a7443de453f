#include "app/cli/device_report.h"

#include "app/cli/console.h"
#include "app/cli/session_notes.h"
#include "app/cli/table_text.h"
#include "core/present/format.h"

#include <fmt/format.h>

namespace stepscope::cli {

namespace {

const present::DeviceReportKind* kindOf(std::string_view name)
{
    for (const present::DeviceReportKind& kind : present::deviceReportKinds())
        if (name == kind.name) return &kind;
    return nullptr;
}

std::string asText(const session::Session& session, const present::DeviceReportKind& kind, const present::DeviceReport& report,
                   const std::string& file, int width)
{
    std::string text = printable(file) + '\n';
    if (const std::string origin = sessionOrigin(session); !origin.empty()) text += origin + '\n';
    text += fmt::format("{}: {}\n\n", kind.title, kind.description);
    if (report.table->rowCount() == 0) {
        text += "Nothing of this kind is in the session.\n";
    } else {
        const TextTable table = alignedText(*report.table, kind.textColumns, width);
        text += table.text;
        for (size_t i = 0; i < table.leftOut.size(); ++i)
            text += (i == 0 ? "\nNo room for: " : ", ") + table.leftOut[i];
        if (!table.leftOut.empty()) text += " (--format csv has all).";
        text += '\n';
    }
    for (const std::string& note : report.notes)
        text += note + '\n';
    if (const std::string notes = qualityText(session, "  "); !notes.empty()) text += "\nTo know about this session:\n" + notes;
    return text;
}

std::string asJson(const session::Session& session, const std::string& name, const present::DeviceReport& report, const std::string& file)
{
    JsonText json;
    json.beginObject();
    json.member("file", std::string_view(file));
    json.member("by", std::string_view(name));
    json.key("steps");
    json.beginObject();
    json.member("count", report.steps);
    json.endObject();
    json.key("rows");
    writeJsonRows(*report.table, json);
    json.key("notes");
    json.beginArray();
    for (const std::string& note : report.notes)
        json.value(std::string_view(note));
    json.endArray();
    json.key("quality");
    writeQuality(session, json);
    json.endObject();
    return json.take();
}

} // namespace

std::vector<std::string> deviceReportNames()
{
    std::vector<std::string> names;
    for (const present::DeviceReportKind& kind : present::deviceReportKinds())
        names.emplace_back(kind.name);
    return names;
}

bool isDeviceReport(const std::string& name, const session::Session& session)
{
    if (kindOf(name) == nullptr) return false;
    const std::string_view format = session.environmentValue("import.format"); // trials of BenchmarkTools are times alone
    return name != "step" || analysis::DeviceTrace::present(session) || (!format.empty() && format != "benchmarktools");
}

std::string deviceReportText(const session::Session& session, const std::string& name, const std::string& file, const std::string& format,
                             const analysis::SpanFilter& filter, int width)
{
    analysis::DeviceOptions options;
    options.filter = filter;
    const present::DeviceReport report = present::makeDeviceReport(name, session, options);
    if (format == "json") return asJson(session, name, report, file);
    if (format == "csv") return csvText(*report.table);
    return asText(session, *kindOf(name), report, file, width);
}

} // namespace stepscope::cli
