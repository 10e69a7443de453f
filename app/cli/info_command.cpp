#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_code.h"
#include "app/cli/session_notes.h"
#include "core/analysis/reports.h"
#include "core/engine/data_source.h"
#include "core/model/parser.h"
#include "core/model/shapes.h"
#include "core/model/summary.h"
#include "core/present/format.h"
#include "core/present/report_sources.h"
#include "core/storage/session_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace stepscope::cli {

namespace {

constexpr const char* kFooter = R"(Whether FILE is a session or a model is decided by its content, not by its name.

Examples:
  stepscope info lenet.jl
  stepscope info lenet.stepscope
  stepscope info lenet.stepscope --model-text > lenet.jl)";

struct InfoOptions {
    std::string file;
    bool modelText = false;
};

enum class FileKind { database, binary, text };

// Told here, because nothing says yet whether the file should be a model or a session.
base::Status checkReadable(const std::string& path)
{
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return base::fail(base::ErrorCode::io, "this is a folder, not a file", {path});
    errno = 0;
    if (std::ifstream(path, std::ios::binary).is_open()) return {};
    const int code = errno;
    const bool missing = code == ENOENT || code == ENOTDIR;
    return base::fail(missing ? base::ErrorCode::notFound : base::ErrorCode::io,
        fmt::format("cannot open the file: {}", code != 0 ? std::strerror(code) : "unknown reason"), {path}, missing ? "check the path" : "");
}

// By the first bytes. A file that cannot be read counts as text: reading it gives the message.
FileKind sniff(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    std::string head(4096, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
    if (head.compare(0, 16, std::string("SQLite format 3\0", 16)) == 0) return FileKind::database;
    return head.find('\0') != std::string::npos ? FileKind::binary : FileKind::text;
}

int report(const base::Error& error)
{
    printError(error);
    return exitCodeOf(error, Stage::reading);
}

int print(const std::string& text)
{
    if (const base::Status written = writeResult("", text); !written) {
        printError(written.error());
        return exitCodeOf(written.error(), Stage::writing);
    }
    return kOk;
}

std::string sessionText(const session::Session& session, const std::string& file)
{
    std::error_code ignored;
    const auto bytes = std::filesystem::file_size(file, ignored);
    std::string text = fmt::format("{}: session, {}\n\n", printable(file), present::formatBytes(static_cast<double>(ignored ? 0 : bytes)));
    size_t width = 0;
    for (const session::EnvironmentRow& row : session.environment())
        width = std::max(width, columns(row.key));
    for (const session::EnvironmentRow& row : session.environment())
        text += fmt::format("{}{}  {}\n", printable(row.key), std::string(width - columns(row.key), ' '), printable(row.value));
    if (!session.environment().empty()) text += '\n';

    const session::SpanTable& spans = session.spans();
    text += fmt::format("steps       {}\n", present::stepSummaryText(analysis::stepStatistics(session)));
    text += fmt::format("spans       {}\n", present::formatCount(static_cast<int64_t>(spans.size())));
    for (size_t t = 0; t < session.tracks().size(); ++t) {
        const size_t count = t + 1 < spans.trackBegin.size() ? spans.trackBegin[t + 1] - spans.trackBegin[t] : 0;
        text += fmt::format("  {}  {}\n", printable(session.tracks()[t].name), present::formatCount(static_cast<int64_t>(count)));
    }
    text += fmt::format("layers      {}\n", session.layers().size());
    text += fmt::format("primitives  {}\n", session.primitives().size());
    for (const session::CounterRow& counter : session.counters())
        text += fmt::format("counter     {}{}\n", printable(counter.name), counter.unit.empty() ? "" : ", in " + printable(counter.unit));
    if (!session.modelText().empty())
        text += fmt::format("model       {} lines (--model-text prints them)\n", std::count(session.modelText().begin(), session.modelText().end(), '\n') + 1);
    const std::string notes = qualityText(session, "  ");
    return text + (notes.empty() ? "quality     nothing lost or repaired\n" : "quality\n" + notes);
}

int sessionInfo(const InfoOptions& options)
{
    base::Result<session::SessionPtr> opened = storage::openSession(options.file);
    if (!opened) return report(opened.error());
    if (!options.modelText) return print(sessionText(**opened, options.file));
    if ((*opened)->modelText().empty())
        return report({base::ErrorCode::notFound, "the session holds no model text", {options.file}});
    return print((*opened)->modelText());
}

// Shape of one sample when only the data files know it. Missing data is no mistake of the model: then the summary goes
// without shapes.
model::Dims inputFromData(const model::ModelFile& file)
{
    if (!file.dataGiven || file.data.kind == model::DataKind::made) return {};
    const base::Result<engine::DataSet> data = engine::openData(file.data, {}, {}, file.loss, 0, {}, {});
    if (data) return data->train->sampleShape();
    printNote("the data does not tell the input shape: " + base::toText(data.error()));
    return {};
}

int modelInfo(const InfoOptions& options)
{
    base::Result<model::ModelFile> file = model::readModelFile(options.file);
    if (!file) return report(file.error());
    model::Dims input = model::knownInput(*file);
    if (input.empty()) input = inputFromData(*file);
    if (input.empty()) {
        printNote("the input shape is not known, so output shapes are left out; add a line like `input = (28, 28, 1)`");
    } else if (const base::Status shaped = model::inferShapes(*file, input); !shaped) {
        return report(shaped.error());
    }
    std::string text = model::summary(*file);
    if (text.empty() || text.back() != '\n') text += '\n';
    if (!file->lossGiven) text += "# The loss is not given; the run chooses it for the data.\n";
    if (!file->dataGiven) text += "# No data is given; the run makes some of the model's shape.\n";
    return print(text);
}

int run(const InfoOptions& options)
{
    if (const base::Status readable = checkReadable(options.file); !readable) return report(readable.error());
    const FileKind kind = sniff(options.file);
    if (kind == FileKind::text) return modelInfo(options);
    return sessionInfo(options);
}

} // namespace

Command addInfoCommand(CLI::App& app)
{
    CLI::App* parser = app.add_subcommand("info", "Describe a model or a session");
    auto options = std::make_shared<InfoOptions>();
    parser->add_option("FILE", options->file, "Model text or session file")->required();
    parser->add_flag("--model-text", options->modelText, "Print the model that a session was recorded with");
    parser->footer(kFooter);
    return {parser, [options] { return run(*options); }};
}

} // namespace stepscope::cli
