#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_code.h"
#include "app/cli/input_options.h"
#include "core/exporters/exporter.h"
#include "core/present/format.h"
#include "core/storage/session_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace stepscope::cli {

namespace {

constexpr const char* kSessionName = "stepscope";

constexpr const char* kExamples = R"(
A file that is already there is replaced only with --force.

Example:
  stepscope convert lenet.stepscope lenet.sqlite
  sqlite3 lenet.sqlite 'SELECT * FROM step_phases LIMIT 5')";

struct ConvertOptions {
    std::string from, to, format;
    InputChoice input;
    bool force = false;
};

// The list in the help: every exporter, and the session file itself.
std::string footer()
{
    std::string text = "Formats, chosen by the ending of OUT or with --to:\n";
    for (const exporters::Exporter& exporter : exporters::builtinExporters())
        text += fmt::format("  {:10} .{:10} {}\n", exporter.name, exporter.extension, exporter.description);
    return text + fmt::format("  {:10} .{:10} {}\n", kSessionName, kSessionName, "session file, repaired and packed again") + kExamples;
}

base::Status write(const session::Session& session, const ConvertOptions& options)
{
    const std::filesystem::path path(options.to);
    const bool packs = options.format == kSessionName || (options.format.empty() && path.extension() == ".stepscope");
    if (packs) return storage::saveSession(session, path, options.force ? storage::Existing::replace : storage::Existing::refuse);
    const base::Result<const exporters::Exporter*> exporter = exporters::findExporter(options.format, path);
    if (!exporter) return base::fail(exporter.error());
    return (*exporter)->run(session, path, options.force, {}, {});
}

int run(const ConvertOptions& options)
{
    std::error_code ignored;
    if (std::filesystem::equivalent(options.from, options.to, ignored)) {
        printError({base::ErrorCode::invalidArgument, "FILE and OUT are the same file", {options.to}, "give OUT another name"});
        return kUsage;
    }
    const base::Result<files::Opened> opened = files::openAny(options.from, options.input.options());
    if (!opened) {
        printError(opened.error());
        return exitCodeOf(opened.error(), Stage::reading);
    }
    const session::Session& session = *opened->session;
    if (const base::Status written = write(session, options); !written) {
        base::Error error = written.error();
        const bool replaceable = !options.force && std::filesystem::exists(options.to, ignored) && !std::filesystem::is_directory(options.to, ignored);
        if (error.code == base::ErrorCode::invalidArgument && replaceable) error.hint = "choose another name or replace the file with --force";
        printError(error);
        return written.error().code == base::ErrorCode::unsupported ? kUsage : exitCodeOf(written.error(), Stage::writing);
    }
    for (const session::QualityRow& row : session.quality())
        printNote(printable(row.message));
    const bool sampled = session.spans().size() == 0 && session.sampleCount() > 0;
    std::string what = sampled ? present::formatCount(static_cast<int64_t>(session.sampleCount())) + " samples"
                               : present::formatCount(static_cast<int64_t>(session.spans().size())) + " spans";
    const auto bytes = std::filesystem::file_size(options.to, ignored); // fails for a folder of tables
    if (!ignored) what += ", " + present::formatBytes(static_cast<double>(bytes));
    const std::string text = fmt::format("wrote {} ({})\n", printable(options.to), what);
    return writeResult("", text) ? kOk : kFailed;
}

} // namespace

Command addConvertCommand(CLI::App& app)
{
    CLI::App* parser = app.add_subcommand("convert", "Write a session or a trace in another format");
    auto options = std::make_shared<ConvertOptions>();
    parser->add_option("FILE", options->from, "Session file (.stepscope), or the trace of another tool")->required();
    parser->add_option("OUT", options->to, "File to write; its ending chooses the format")->required();
    addInputOptions(*parser, options->input);
    parser->add_option("--to", options->format, "Format, whatever the ending");
    parser->add_flag("--force", options->force, "Replace OUT if it exists");
    parser->footer(footer());
    return {parser, [options] { return run(*options); }};
}

} // namespace stepscope::cli
