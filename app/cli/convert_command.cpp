#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_code.h"
#include "app/cli/input_options.h"
#include "core/exporters/exporter.h"
#include "core/exporters/left_out.h"
#include "core/present/format.h"
#include "core/storage/session_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

namespace stepscope::cli {

namespace {

constexpr const char* kSessionName = "stepscope";

constexpr const char* kExamples = R"(
OUT is the second name of two, or that of -o. A file that is already there is replaced only with --force.

Examples:
  stepscope convert rank0.json.gz rank1.json.gz -o run.stepscope
  stepscope convert lenet.stepscope lenet.sqlite
  sqlite3 lenet.sqlite 'SELECT * FROM step_phases LIMIT 5')";

struct ConvertOptions {
    std::string to, format;
    InputChoice input; // its last file is OUT where --output is not given
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
    const bool packs = options.format == kSessionName || (options.format.empty() && (path.extension() == ".stepscope" || path.extension() == ".STEPSCOPE"));
    if (packs) return storage::saveSession(session, path, options.force ? storage::Existing::replace : storage::Existing::refuse);
    const base::Result<const exporters::Exporter*> exporter = exporters::findExporter(options.format, path);
    if (!exporter) return base::fail(exporter.error());
    if (const base::Status written = (*exporter)->run(session, path, options.force, {}, {}); !written) return written;
    for (const std::string& text : exporters::leftOut(session, (*exporter)->name))
        printNote(printable(text));
    return {};
}

// Of the file, or of the tables in the folder.
std::optional<uintmax_t> sizeOf(const std::filesystem::path& path)
{
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
        const auto bytes = std::filesystem::file_size(path, failed);
        return failed ? std::nullopt : std::optional(bytes);
    }
    uintmax_t sum = 0;
    for (auto at = std::filesystem::directory_iterator(path, failed); !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
        std::error_code none;
        const auto bytes = at->path().extension() == ".csv" ? std::filesystem::file_size(at->path(), none) : 0;
        if (!none) sum += bytes;
    }
    return failed ? std::nullopt : std::optional(sum);
}

// FILE OUT, or any number of files and --output.
base::Status findOutput(ConvertOptions& options)
{
    std::vector<std::string>& files = options.input.files;
    if (!options.to.empty()) return {};
    if (files.size() == 1) return base::fail(base::ErrorCode::invalidArgument, "OUT is missing", {}, "stepscope convert FILE OUT");
    if (files.size() > 2)
        return base::fail(base::ErrorCode::invalidArgument, "which of the files is OUT must be said with -o where there are several", {},
            "stepscope convert FILE... -o OUT");
    options.to = files.back();
    files.pop_back();
    if (options.to.empty()) options.to = "-"; // is told below
    return {};
}

int run(const ConvertOptions& given)
{
    std::error_code ignored;
    ConvertOptions options = given;
    if (const base::Status found = findOutput(options); !found) {
        printError(found.error());
        return kUsage;
    }
    if (options.to == "-") {
        printError({base::ErrorCode::invalidArgument, "OUT must be the name of a file; standard output is none", {}, "write to a file"});
        return kUsage;
    }
    for (const std::string& from : options.input.files)
        if (std::filesystem::equivalent(from, options.to, ignored)) {
            printError({base::ErrorCode::invalidArgument, "FILE and OUT are the same file", {options.to}, "give OUT another name"});
            return kUsage;
        }
    const base::Result<files::Opened> opened = openInput(options.input);
    if (!opened) {
        printError(opened.error());
        return exitCodeOf(opened.error(), Stage::reading);
    }
    const session::Session& session = *opened->session;
    noteOtherMembers(*opened, options.input);
    if (const base::Status written = write(session, options); !written) {
        base::Error error = written.error();
        const bool replaceable = !options.force && std::filesystem::is_regular_file(options.to, ignored);
        if (error.code == base::ErrorCode::invalidArgument && replaceable) error.hint = "choose another name or replace the file with --force";
        printError(error);
        return written.error().code == base::ErrorCode::unsupported ? kUsage : exitCodeOf(written.error(), Stage::writing);
    }
    for (const session::QualityRow& row : session.quality())
        printNote(printable(row.message));
    const bool sampled = session.spans().size() == 0 && session.sampleCount() > 0;
    std::string what = sampled ? present::formatCount(static_cast<int64_t>(session.sampleCount())) + " samples"
                               : present::formatCount(static_cast<int64_t>(session.spans().size())) + " spans";
    if (const std::optional<uintmax_t> bytes = sizeOf(options.to)) what += ", " + present::formatBytes(static_cast<double>(*bytes));
    const std::string text = fmt::format("wrote {} ({})\n", printable(options.to), what);
    return writeResult("", text) ? kOk : kFailed;
}

} // namespace

Command addConvertCommand(CLI::App& app)
{
    CLI::App* parser = app.add_subcommand("convert", "Write a session or a trace in another format");
    auto options = std::make_shared<ConvertOptions>();
    addInputFiles(*parser, options->input, "Session file (.stepscope), or the trace of another tool, and the file to write, OUT; with -o any number of files, which are one session");
    parser->add_option("-o,--output", options->to, "File to write; its ending chooses the format")->type_name("OUT");
    addInputOptions(*parser, options->input);
    parser->add_option("--to", options->format, "Format, whatever the ending");
    parser->add_flag("--force", options->force, "Replace OUT if it exists");
    parser->footer(footer());
    return {parser, [options] { return run(*options); }};
}

} // namespace stepscope::cli
