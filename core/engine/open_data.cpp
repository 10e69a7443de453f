#include "core/engine/csv_source.h"
#include "core/engine/data_check.h"
#include "core/engine/idx_source.h"
#include "core/engine/made_source.h"
#include "core/engine/raw_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>

namespace stepscope::engine {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;
using model::DataKind;
using model::DataSpec;
using model::Dims;
using model::LossKind;

constexpr int64_t kDefaultSamples = 4096;
constexpr const char* kFashionHint = "apt install dataset-fashion-mnist, or name the folder that holds the four files";
constexpr const char* kMnistHint = "name the folder that holds the four files: MNIST(dir = \"...\")";

bool lossOfClasses(LossKind kind)
{
    return kind == LossKind::crossentropy || kind == LossKind::logitcrossentropy || kind == LossKind::binarycrossentropy
        || kind == LossKind::logitbinarycrossentropy;
}

bool wantsClasses(const DataSpec& spec, const model::LossSpec& loss)
{
    if (spec.classes > 0) return true;
    return spec.targetShape.empty() && spec.targetColumns == 1 && lossOfClasses(loss.kind);
}

// A sample read from a file takes the wanted shape when it has as many values.
Status reshape(MemoryData& data, const Dims& wanted, bool explicitly, const std::string& path)
{
    if (wanted.empty() || wanted == data.sampleShape) return {};
    if (model::product(wanted) == model::product(data.sampleShape)) {
        data.sampleShape = wanted;
        return {};
    }
    if (!explicitly) return {}; // shape inference will name both shapes and the layer
    return fail(ErrorCode::invalidArgument,
                fmt::format("a sample holds {} values, its shape was given as {} ({} values)",
                            model::product(data.sampleShape), fmt::join(wanted, " x "), model::product(wanted)),
                {path});
}

class Opener {
public:
    Opener(const DataSpec& spec, const Dims& input, const Dims& output, const model::LossSpec& loss, uint64_t seed,
           std::stop_token stop, const base::Progress& progress)
        : m_spec(spec),
          m_input(input),
          m_output(output),
          m_loss(loss),
          m_seed(seed),
          m_stop(std::move(stop)),
          m_progress(progress)
    {
    }

    Result<DataSet> open()
    {
        switch (m_spec.kind) {
        case DataKind::made: return made();
        case DataKind::fashionMnist:
            return mnistFamily("/usr/share/datasets/fashion-mnist", "Fashion-MNIST", kFashionHint);
        case DataKind::mnist: return mnistFamily("/usr/share/datasets/mnist", "MNIST", kMnistHint);
        case DataKind::idx: return idx();
        case DataKind::csv: return csv();
        case DataKind::raw: return raw();
        }
        return fail(ErrorCode::internal, "unknown kind of data");
    }

private:
    void report(double fraction, const std::string& what) const
    {
        if (m_progress) m_progress(fraction, what);
    }

    Result<DataSet> made() const
    {
        MadeOptions options;
        options.samples = m_spec.samples > 0 ? m_spec.samples : kDefaultSamples;
        options.sampleShape = m_spec.sampleShape.empty() ? m_input : m_spec.sampleShape;
        options.seed = m_seed;
        if (options.sampleShape.empty() || m_output.empty()) {
            return fail(ErrorCode::invalidArgument,
                        "the shape of the model's input is not known, so no data can be made for it", {},
                        "say `input = (28, 28, 1)` or `data = Random((28, 28, 1))`");
        }
        const int64_t outputs = model::product(m_output);
        const bool binary =
            m_loss.kind == LossKind::binarycrossentropy || m_loss.kind == LossKind::logitbinarycrossentropy;
        if (wantsClasses(m_spec, m_loss))
            options.classes = m_spec.classes > 0 ? m_spec.classes : outputs == 1 && binary ? 2 : outputs;
        else options.targetShape = m_spec.targetShape.empty() ? m_output : m_spec.targetShape;
        report(0, "making synthetic data");
        DataSet set;
        set.train = std::make_unique<MadeSource>(options);
        if (options.classes > 0) {
            options.firstSample = options.samples;
            options.samples = std::max<int64_t>(options.samples / 4, 1);
            set.test = std::make_unique<MadeSource>(options);
        }
        return finish(std::move(set), {});
    }

    static std::string findFile(const std::string& folder, const std::string& stem, const std::string& kind)
    {
        const std::string first = folder + "/" + stem + "-" + kind + "-ubyte.gz";
        std::error_code ignored;
        for (const std::string& name :
             {first, folder + "/" + stem + "-" + kind + "-ubyte", folder + "/" + stem + "." + kind + "-ubyte"}) {
            if (std::filesystem::exists(name, ignored)) return name;
        }
        return first; // opening it gives the message
    }

    Result<DataSet> mnistFamily(const std::string& usualFolder, const std::string& name, const std::string& hint) const
    {
        const std::string folder = m_spec.path.empty() ? usualFolder : m_spec.path;
        report(0, "loading " + name);
        Result<MemoryData> train = images(findFile(folder, "train-images", "idx3"),
                                          findFile(folder, "train-labels", "idx1"), m_spec.samples, hint);
        if (!train) return fail(train.error());
        report(0.8, "loading " + name);
        Result<MemoryData> test =
            images(findFile(folder, "t10k-images", "idx3"), findFile(folder, "t10k-labels", "idx1"), 0, hint);
        if (!test) return fail(test.error());
        return both(std::move(*train), std::move(*test), findFile(folder, "train-images", "idx3"),
                    findFile(folder, "t10k-images", "idx3"));
    }

    Result<MemoryData> images(const std::string& imagesPath, const std::string& labelsPath, int64_t samples,
                              const std::string& hint) const
    {
        Result<MemoryData> data = readIdx(imagesPath, labelsPath, samples, hint, m_stop);
        if (!data) return data;
        const Status shaped = reshape(*data, m_spec.sampleShape.empty() ? m_input : m_spec.sampleShape,
                                      !m_spec.sampleShape.empty(), imagesPath);
        if (!shaped) return fail(shaped.error());
        return data;
    }

    Result<DataSet> idx() const
    {
        report(0, "loading images");
        Result<MemoryData> train = images(m_spec.path, m_spec.labelsPath, m_spec.samples, {});
        if (!train) return fail(train.error());
        if (m_spec.testPath.empty()) return only(std::move(*train), m_spec.labelsPath);
        Result<MemoryData> test = images(m_spec.testPath, m_spec.testLabelsPath, 0, {});
        if (!test) return fail(test.error());
        return both(std::move(*train), std::move(*test), m_spec.path, m_spec.testPath);
    }

    Result<DataSet> csv() const
    {
        CsvOptions options;
        options.header = m_spec.header;
        options.targetColumns = m_spec.targetColumns;
        options.classification = wantsClasses(m_spec, m_loss);
        options.samples = m_spec.samples;
        report(0, "reading " + m_spec.path);
        Result<CsvData> train = readCsv(m_spec.path, options, m_stop);
        if (!train) return fail(train.error());
        if (const Status shaped = shapeCsv(train->data, m_spec.path); !shaped) return fail(shaped.error());
        if (m_spec.testPath.empty()) return only(std::move(train->data), m_spec.path);
        options.classNames = train->classNames;
        options.samples = 0;
        Result<CsvData> test = readCsv(m_spec.testPath, options, m_stop);
        if (!test) return fail(test.error());
        if (const Status shaped = shapeCsv(test->data, m_spec.testPath); !shaped) return fail(shaped.error());
        return both(std::move(train->data), std::move(test->data), m_spec.path, m_spec.testPath);
    }

    Status shapeCsv(MemoryData& data, const std::string& path) const
    {
        if (!m_spec.targetShape.empty() && !data.targets.empty()) {
            if (model::product(m_spec.targetShape) != model::product(data.targetShape)) {
                return fail(ErrorCode::invalidArgument,
                            fmt::format("{} target columns do not fill a target of shape {}", m_spec.targetColumns,
                                        fmt::join(m_spec.targetShape, " x ")),
                            {path});
            }
            data.targetShape = m_spec.targetShape;
        }
        return reshape(data, m_spec.sampleShape.empty() ? m_input : m_spec.sampleShape, !m_spec.sampleShape.empty(),
                       path);
    }

    Result<DataSet> raw() const
    {
        RawOptions options;
        options.sampleShape = m_spec.sampleShape.empty() ? m_input : m_spec.sampleShape;
        options.classification = wantsClasses(m_spec, m_loss);
        options.targetShape = m_spec.targetShape.empty() ? m_output : m_spec.targetShape;
        options.samples = m_spec.samples;
        if (!options.classification && options.targetShape.empty()) {
            return fail(ErrorCode::invalidArgument, "raw data for regression needs the shape of a target",
                        {m_spec.path}, "say target_shape = (1,)");
        }
        report(0, "reading " + m_spec.path);
        Result<MemoryData> train =
            readRaw(m_spec.path, beside(m_spec.path, m_spec.labelsPath, options), options, m_stop);
        if (!train) return fail(train.error());
        if (m_spec.testPath.empty()) return only(std::move(*train), m_spec.path);
        options.samples = 0;
        Result<MemoryData> test =
            readRaw(m_spec.testPath, beside(m_spec.testPath, m_spec.testLabelsPath, options), options, m_stop);
        if (!test) return fail(test.error());
        return both(std::move(*train), std::move(*test), m_spec.path, m_spec.testPath);
    }

    // "train.f32" has its labels in "train.labels" or its targets in "train.targets" unless a file is named.
    static std::string beside(const std::string& path, const std::string& named, const RawOptions& options)
    {
        if (!named.empty()) return named;
        return std::filesystem::path(path).replace_extension(options.classification ? ".labels" : ".targets").string();
    }

    Result<DataSet> only(MemoryData train, const std::string& path) const
    {
        train.classes = std::max(train.classes, train.labels.empty() ? 0 : m_spec.classes);
        DataSet set;
        set.train = std::make_unique<MemorySource>(std::move(train));
        return finish(std::move(set), path);
    }

    Result<DataSet> both(MemoryData train, MemoryData test, const std::string& trainPath,
                         const std::string& testPath) const
    {
        if (test.sampleShape != train.sampleShape) {
            return fail(ErrorCode::wrongFormat,
                        fmt::format("the test samples have shape {}, those of {} have {}",
                                    fmt::join(test.sampleShape, " x "), trainPath, fmt::join(train.sampleShape, " x ")),
                        {testPath});
        }
        test.classes = train.classes =
            std::max({train.classes, test.classes, train.labels.empty() ? 0 : m_spec.classes});
        DataSet set;
        set.train = std::make_unique<MemorySource>(std::move(train));
        set.test = std::make_unique<MemorySource>(std::move(test));
        return finish(std::move(set), trainPath);
    }

    Result<DataSet> finish(DataSet set, const std::string& path) const
    {
        if (!m_output.empty()) {
            const Status fits = checkTargets(*set.train, m_output, m_loss, path);
            if (!fits) return fail(fits.error());
        }
        report(1, "data is ready");
        return set;
    }

    const DataSpec& m_spec;
    const Dims& m_input;
    const Dims& m_output;
    const model::LossSpec& m_loss;
    uint64_t m_seed;
    std::stop_token m_stop;
    const base::Progress& m_progress;
};

} // namespace

base::Result<DataSet> openData(const DataSpec& spec, const Dims& modelInput, const Dims& modelOutput,
                               const model::LossSpec& loss, uint64_t seed, std::stop_token stop,
                               const base::Progress& progress)
{
    try {
        return Opener(spec, modelInput, modelOutput, loss, seed, std::move(stop), progress).open();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::unavailable, "not enough memory for the data set", {spec.path},
                    "say samples = N to take fewer");
    } catch (const std::exception& e) {
        return fail(ErrorCode::internal, fmt::format("opening the data failed: {}", e.what()), {spec.path});
    }
}

base::Status checkTargets(const DataSource& source, const Dims& output, const model::LossSpec& loss,
                          const std::string& path)
{
    const int64_t outputs = model::product(output);
    if (source.classes() == 0) {
        const int64_t targets = model::product(source.targetShape());
        if (targets == outputs) return {};
        return fail(ErrorCode::invalidArgument,
                    fmt::format("a target has {} values ({}), the model gives {} ({})", targets,
                                fmt::join(source.targetShape(), " x "), outputs, fmt::join(output, " x ")),
                    {path});
    }
    const bool binary = loss.kind == LossKind::binarycrossentropy || loss.kind == LossKind::logitbinarycrossentropy;
    if (outputs == 1) {
        if (!binary && loss.kind != LossKind::crossentropy && loss.kind != LossKind::logitcrossentropy)
            return {}; // the label is the value
        if (binary && source.classes() <= 2) return {};
        return fail(ErrorCode::invalidArgument,
                    fmt::format("the data has {} classes, but the model has one output, which tells {}",
                                source.classes(), binary ? "only two apart" : "none apart"),
                    {path}, "end the model with as many outputs as classes");
    }
    if (source.classes() <= outputs) return {};
    return fail(ErrorCode::invalidArgument,
                fmt::format("class label {} is out of range: the model has {} outputs for the classes 0 to {}",
                            source.classes() - 1, outputs, outputs - 1),
                {path}, "class numbers count from 0; end the model with as many outputs as classes");
}

} // namespace stepscope::engine
