#include "core/model/parser.h"

#include "core/model/arguments.h"
#include "core/model/environment.h"
#include "core/model/layer_builder.h"
#include "core/model/names.h"
#include "core/model/settings_builder.h"
#include "core/model/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepscope::model {

namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr int64_t kMaxRun = int64_t{1} << 40;

enum class Setting { model, loss, optimiser, data, input, seed, epochs, steps };

std::optional<Setting> settingByName(std::string_view name)
{
    if (name == "model") return Setting::model;
    if (name == "loss") return Setting::loss;
    if (name == "optimiser" || name == "optimizer" || name == "opt" || name == "opt_state") return Setting::optimiser;
    if (name == "data" || name == "loader" || name == "train_loader") return Setting::data;
    if (name == "input") return Setting::input;
    if (name == "seed") return Setting::seed;
    if (name == "epochs") return Setting::epochs;
    if (name == "steps") return Setting::steps;
    return std::nullopt;
}

const std::vector<std::string_view> kSettings{"model", "loss", "optimiser", "data", "input", "seed", "epochs", "steps"};
const std::vector<std::string_view> kLoaderKeywords{"batchsize", "batch_size", "shuffle", "num_workers",
                                                    "partial",   "transforms", "lr",      "learning_rate"};

class Reader {
public:
    Reader(std::string_view text, std::string file)
    {
        m_file.file = std::move(file);
        m_file.text = std::string(text);
    }

    ModelFile run()
    {
        const std::vector<Statement> statements = parseStatements(m_file.text);
        if (statements.empty()) {
            failAt({}, "the file holds no statement", "a model file says at least: model = Chain(Dense(784 => 10))");
        }
        for (const Statement& statement : statements)
            readStatement(statement);
        checkUnused();
        if (!m_hasModel) failWithoutModel();
        return std::move(m_file);
    }

    const std::optional<Dims>& input() const { return m_input; }

private:
    void readStatement(const Statement& statement)
    {
        const std::optional<Setting> setting = settingByName(statement.name.text);
        if (statement.function && setting != Setting::loss) {
            failAt(
                statement.name.place,
                fmt::format("functions of your own are not supported: '{}(...) = ...'", shortened(statement.name.text)),
                "only loss may be written as a function; write layers out");
        }
        Expr value = m_environment.fold(statement.value);
        if (setting) apply(*setting, value);
        else checkVariable(statement.name, value);
        m_environment.set(statement.name, std::move(value));
    }

    void apply(Setting setting, const Expr& value)
    {
        switch (setting) {
        case Setting::model:
            m_file.model = buildModel(value, m_file.text);
            m_hasModel = true;
            break;
        case Setting::loss:
            m_file.loss = readLoss(value);
            m_file.lossGiven = true;
            break;
        case Setting::optimiser: m_file.optimiser = readOptimiser(value, m_file.text); break;
        case Setting::data:
            m_file.data = readData(value, m_file.text);
            m_file.dataGiven = true;
            break;
        case Setting::input: m_input = reversedShape(value, "input"); break;
        case Setting::seed:
            m_file.seed = static_cast<uint64_t>(wholeNumber(value, "seed", 0, INT64_MAX));
            m_file.seedGiven = true;
            break;
        case Setting::epochs: m_file.epochs = wholeNumber(value, "epochs", 1, kMaxRun); break;
        case Setting::steps: m_file.steps = wholeNumber(value, "steps", 1, kMaxRun); break;
        }
    }

    // A variable may hold what some later statement can use.
    static void checkVariable(const NameAt& name, const Expr& value)
    {
        if (!value.is(Expr::Kind::call)) return;
        static const std::vector<std::string_view> others{"SamePad",    "Normalise", "Normalize", "FlipHorizontal",
                                                          "Shift",      "Noise",     "PerBatch",  "setup",
                                                          "cpu_device", "gpu_device"};
        const bool onlyKeywords =
            std::none_of(value.names.begin(), value.names.end(), [](const NameAt& n) { return n.text.empty(); });
        if (onlyKeywords && initByName(value.text))
            return; // kaiming_normal(gain = 2), but not the arrays of rand(10, 100)
        for (const auto* names : {&layerNames(), &optimiserNames(), &dataNames(), &lossNames(), &others})
            if (std::find(names->begin(), names->end(), value.text) != names->end()) return;
        const std::string nearest = nearestName(name.text, kSettings);
        failAt(value.place, fmt::format("unknown function '{}'", shortened(value.text)),
               nearest.empty()
                   ? "a variable holds a number, a text, a tuple or a layer; remove what belongs to the training script"
                   : fmt::format("did you mean '{} = ...'?", nearest));
    }

    // A setting with a spelling mistake must not be silently without effect.
    void checkUnused() const
    {
        std::vector<std::pair<Place, std::string>> unused;
        for (const auto& [name, variable] : m_environment.variables())
            if (!variable.used && !settingByName(name)) unused.emplace_back(variable.place, name);
        std::sort(unused.begin(), unused.end(), [](const auto& a, const auto& b) {
            return std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
        });
        for (const auto& [place, name] : unused) {
            const std::string nearest = name.size() < 4 ? std::string() : nearestName(name, kSettings, false);
            if (!nearest.empty())
                failAt(place, fmt::format("unknown setting '{}'; did you mean '{}'?", shortened(name), nearest),
                       fmt::format("settings are: {}", fmt::join(kSettings, ", ")));
            if (std::find(kLoaderKeywords.begin(), kLoaderKeywords.end(), name) == kLoaderKeywords.end()) continue;
            failAt(place, fmt::format("'{}' is set but nothing uses it", name),
                   name == "lr" || name == "learning_rate"
                       ? fmt::format("write optimiser = Adam({})", name)
                       : fmt::format("write it into the data: data = FashionMNIST({} = ...)", name));
        }
    }

    [[noreturn]] void failWithoutModel() const
    {
        for (const auto& [name, variable] : m_environment.variables()) {
            const Expr& value = variable.value;
            const auto& layers = layerNames();
            if (!value.is(Expr::Kind::call) || std::find(layers.begin(), layers.end(), value.text) == layers.end())
                continue;
            failAt(variable.place, "the file sets no model",
                   fmt::format("'{}' holds a {}: name it 'model'", shortened(name), value.text),
                   base::ErrorCode::notFound);
        }
        failAt({}, "the file sets no model", "write model = Chain(...)", base::ErrorCode::notFound);
    }

    ModelFile m_file;
    Environment m_environment;
    std::optional<Dims> m_input;
    bool m_hasModel = false;
};

void refuseOtherFiles(std::string_view text)
{
    if (text.starts_with("SQLite format 3")) {
        failAt({}, "this is a SQLite file, perhaps a recorded session, not a model file",
               "sessions are shown by: stepscope report FILE", base::ErrorCode::wrongFormat);
    }
    if (text.size() > kMaxBytes) {
        failAt({}, fmt::format("the text has more than {} bytes", kMaxBytes),
               "a model file is a short text; is this another kind of file?", base::ErrorCode::wrongFormat);
    }
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        failAt({}, "the file is empty", "a model file says at least: model = Chain(Dense(784 => 10))");
    }
}

} // namespace

base::Result<ModelFile> parseModelText(std::string_view text, std::string file)
{
    try {
        refuseOtherFiles(text);
        Reader reader(text, file);
        ModelFile result = reader.run();
        if (reader.input()) {
            if (base::Status status = inferShapes(result, *reader.input()); !status) return base::fail(status.error());
        }
        return result;
    } catch (Failure& failure) {
        failure.error.where.file = std::move(file);
        return base::fail(std::move(failure.error));
    } catch (const std::bad_alloc&) {
        return base::fail(base::ErrorCode::unavailable, "not enough memory to read the model",
                          {.file = std::move(file)});
    } catch (const std::exception& exception) {
        return base::fail(base::ErrorCode::internal, exception.what(), {.file = std::move(file)});
    }
}

base::Result<ModelFile> readModelFile(const std::string& path)
{
    const auto failWith = [&](int code, const char* doing) {
        const base::ErrorCode kind =
            code == ENOENT || code == ENOTDIR ? base::ErrorCode::notFound : base::ErrorCode::io;
        return base::fail(kind, fmt::format("cannot {} the model file: {}", doing, std::strerror(code)), {.file = path},
                          kind == base::ErrorCode::notFound ? "check the path; sample models are in resources/models"
                                                            : "");
    };
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return failWith(errno, "open");
    struct stat status {};
    std::string text;
    int error = ::fstat(descriptor, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
    while (error == 0 && text.size() <= kMaxBytes) {
        char buffer[1 << 16];
        const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) error = errno;
        if (count <= 0) break;
        text.append(buffer, static_cast<size_t>(count));
    }
    ::close(descriptor);
    if (error != 0) return failWith(error, "read");
    return parseModelText(text, path);
}

} // namespace stepscope::model
