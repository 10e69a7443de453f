#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_code.h"
#include "app/cli/info_json.h"
#include "app/cli/input_options.h"
#include "app/cli/session_notes.h"
#include "core/analysis/reports.h"
#include "core/engine/data_source.h"
#include "core/model/parser.h"
#include "core/model/shapes.h"
#include "core/model/summary.h"
#include "core/present/format.h"
#include "core/present/report_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace stepscope::cli {

namespace {

constexpr const char* kFooter = R"(Whether FILE is a model, a session or the trace of another tool is decided by its content.

Examples:
  stepscope info lenet.jl
  stepscope info lenet.stepscope
  stepscope info trace.json.gz --format json | jq .warnings
  stepscope info rank0.json.gz rank1.json.gz
  stepscope info lenet.stepscope --model-text > lenet.jl)";

struct InfoOptions {
    InputChoice input;
    std::string format = "text";
    bool modelText = false;
};

// Told here, because nothing says yet whether the file should be a model or a session.
base::Status checkReadable(const std::string& path)
{
    std::error_code ignored;
    if (files::isPipe(path)) return {}; // can be opened once
    if (std::filesystem::is_directory(path, ignored)) return base::fail(base::ErrorCode::io, "this is a folder, not a file", {path});
    errno = 0;
    if (std::ifstream(path, std::ios::binary).is_open()) return {};
    const int code = errno;
    const bool missing = code == ENOENT || code == ENOTDIR;
    return base::fail(missing ? base::ErrorCode::notFound : base::ErrorCode::io,
        fmt::format("cannot open the file: {}", code != 0 ? std::strerror(code) : "unknown reason"), {path}, missing ? "check the path" : "");
}

// Text that no importer takes. Names decide where the content does not: every text could be a model with mistakes.
bool isModel(const std::string& path)
{
    if (path.ends_with(".jl")) return true;
    if (files::isPipe(path)) return false;
    const base::Result<importers::Input> input = importers::openInput(path);
    if (!input || !input->plain()) return false;
    const size_t first = input->head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    const bool json = first != std::string::npos && (input->head[first] == '{' || input->head[first] == '[');
    return !json && input->head.find('\0') == std::string::npos && !importers::chooseImporter(*input, "");
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

std::string weightText(int64_t total, const std::string& unit)
{
    if (unit == "ns") return present::formatTime(static_cast<double>(total));
    if (unit == "bytes") return present::formatBytes(static_cast<double>(total));
    return present::formatCount(total) + (unit.empty() ? "" : " " + printable(unit));
}

std::string sampleText(const session::Session& session)
{
    std::string text;
    for (size_t i = 0; i < session.series().size(); ++i) {
        const session::SeriesRow& series = session.series()[i];
        const session::SampleTable& samples = session.samples(base::SeriesId(i));
        double total = 0;
        for (const int64_t weight : samples.weight)
            total += static_cast<double>(weight);
        text += fmt::format("samples     {}: {}, in sum {}\n", printable(series.name), present::formatCount(static_cast<int64_t>(samples.size())),
            std::abs(total) < 9e18 ? weightText(static_cast<int64_t>(total), series.unit) : present::formatNumber(total));
    }
    if (!session.stacks().empty())
        text += fmt::format("stacks      {}, of {} frames\n", present::formatCount(static_cast<int64_t>(session.stacks().size())),
            present::formatCount(static_cast<int64_t>(session.frames().size())));
    return text;
}

// Rows as a table; the many properties of a device in one line.
std::string environmentText(const session::Session& session)
{
    constexpr std::string_view kDevice = "trace.device.";
    std::vector<std::pair<std::string, std::string>> rows;
    std::map<std::string, std::pair<size_t, size_t>> devices; // row and number of properties
    for (const session::EnvironmentRow& row : session.environment()) {
        const size_t dot = row.key.starts_with(kDevice) ? row.key.find('.', kDevice.size()) : std::string::npos;
        if (dot == std::string::npos) {
            rows.emplace_back(printable(row.key), printable(row.value));
            continue;
        }
        const auto [device, isNew] = devices.try_emplace(row.key.substr(0, dot), rows.size(), 0);
        if (isNew) rows.emplace_back(printable(device->first), "");
        ++device->second.second;
        if (std::string_view(row.key).substr(dot + 1) == "name") rows[device->second.first].second = printable(row.value);
    }
    for (const auto& [key, device] : devices)
        rows[device.first].second += fmt::format("{}{} properties (--format json has them)", rows[device.first].second.empty() ? "" : ", ", device.second);
    size_t width = 0;
    for (const auto& [key, value] : rows)
        width = std::max(width, columns(key));
    std::string text = rows.empty() ? "" : "\n";
    for (const auto& [key, value] : rows)
        text += fmt::format("{}{}  {}\n", key, std::string(width - columns(key), ' '), value);
    return text;
}

std::string sizeText(const std::filesystem::path& file)
{
    std::error_code ignored;
    const auto bytes = std::filesystem::file_size(file, ignored);
    return present::formatBytes(static_cast<double>(ignored ? 0 : bytes));
}

std::string fileText(const files::Opened& opened, const std::string& file)
{
    return opened.format == files::kSessionFormat
        ? fmt::format("{}: session, {}\n\n", printable(file), sizeText(file))
        : fmt::format("{}: {} ({}), {}\n\n", printable(file), opened.format, printable(opened.why), sizeText(file));
}

std::string filesText(const files::Opened& opened)
{
    std::string text = fmt::format("{} files as one session\n", opened.files.size());
    for (const files::OpenedFile& file : opened.files)
        text += fmt::format("  {}  {}: {} ({}), {}, from {} on\n", printable(file.group), printable(file.path.string()), file.format, printable(file.why),
            sizeText(file.path), present::formatTime(static_cast<double>(file.shift)));
    return text + '\n';
}

std::string sessionText(const files::Opened& opened, const std::string& file)
{
    const session::Session& session = *opened.session;
    std::string text = opened.files.empty() ? fileText(opened, file) : filesText(opened);
    const session::SpanTable& spans = session.spans();
    text += fmt::format("steps       {}\n", present::stepSummaryText(analysis::stepStatistics(session)));
    text += fmt::format("spans       {}\n", present::formatCount(static_cast<int64_t>(spans.size())));
    for (size_t t = 0; t < session.tracks().size(); ++t) {
        const size_t count = t + 1 < spans.trackBegin.size() ? spans.trackBegin[t + 1] - spans.trackBegin[t] : 0;
        text += fmt::format("  {}  {}\n", printable(session::trackTitle(session.tracks()[t])), present::formatCount(static_cast<int64_t>(count)));
    }
    text += fmt::format("layers      {}\n", session.layers().size());
    text += fmt::format("primitives  {}\n", session.primitives().size());
    for (const session::CounterRow& counter : session.counters())
        text += fmt::format("counter     {}{}\n", printable(counter.name), counter.unit.empty() ? "" : ", in " + printable(counter.unit));
    if (!session.modelText().empty())
        text += fmt::format("model       {} lines (--model-text prints them)\n", std::count(session.modelText().begin(), session.modelText().end(), '\n') + 1);
    text += sampleText(session);
    const std::string notes = qualityText(session, "  ");
    text += notes.empty() ? "quality     nothing lost or repaired\n" : "quality\n" + notes;
    return text + environmentText(session);
}

int sessionInfo(const InfoOptions& options)
{
    const base::Result<files::Opened> opened = openInput(options.input);
    if (!opened) return report(opened.error());
    noteOtherMembers(*opened, options.input);
    if (options.format == "json") return print(infoJson(*opened, options.input.name()));
    if (!options.modelText) return print(sessionText(*opened, options.input.name()));
    if (opened->session->modelText().empty())
        return report({base::ErrorCode::notFound, "the session holds no model text", {options.input.name()}});
    return print(opened->session->modelText());
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
    base::Result<model::ModelFile> file = model::readModelFile(options.input.files.front());
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
    const std::vector<std::string>& files = options.input.files;
    for (const std::string& file : files) {
        if (const base::Status readable = checkReadable(file); !readable) return report(readable.error());
        if (!options.input.format.empty()) continue;
        if (options.format == "json" && file.ends_with(".jl")) {
            printError({base::ErrorCode::invalidArgument, "this is a model text, which is described as text alone", {file},
                "leave --format json away"});
            return kUsage;
        }
        if (options.format != "text" || !isModel(file)) continue;
        if (files.size() == 1) return modelInfo(options);
        printError({base::ErrorCode::invalidArgument, "this is a model text, which is described alone", {file}, "leave the other files away"});
        return kUsage;
    }
    return sessionInfo(options);
}

} // namespace

Command addInfoCommand(CLI::App& app)
{
    CLI::App* parser = app.add_subcommand("info", "Describe a model, a session or the trace of another tool");
    auto options = std::make_shared<InfoOptions>();
    addInputFiles(*parser, options->input, "Model text, session file or trace of another tool; several sessions or traces are one session, with a group of tracks each");
    addInputOptions(*parser, options->input);
    parser->add_option("--format", options->format, "text or json; json is for sessions and traces")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "json"}));
    parser->add_flag("--model-text", options->modelText, "Print the model that a session was recorded with");
    parser->footer(kFooter);
    return {parser, [options] {
                if (!options->modelText || options->format == "text") return run(*options);
                printError({base::ErrorCode::invalidArgument, "--model-text prints the text of the model alone, not JSON", {},
                    "leave one of --model-text and --format json away"});
                return static_cast<int>(kUsage);
            }};
}

} // namespace stepscope::cli
