// The part of TrainingRun before the first step.
#include "core/engine/data_check.h"
#include "core/engine/training_run.h"
#include "core/model/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace stepscope::engine {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;
using model::DataKind;
using model::LossKind;
using recording::Probe;
using session::Phase;

namespace {

constexpr int64_t kDefaultBatch = 64; // without a data statement
constexpr int kMaxThreads = 1024, kMaxWorkers = 256;

base::Error invalid(std::string message, std::string hint = {})
{
    return {ErrorCode::invalidArgument, std::move(message), {}, std::move(hint)};
}

// A relative path is meant from the data folder, else from beside the model file when it exists there.
std::string resolve(const std::string& path, const std::string& folder, const std::string& modelFile)
{
    namespace fs = std::filesystem;
    if (path.empty() || fs::path(path).is_absolute()) return path;
    if (!folder.empty()) return (fs::path(folder) / path).string();
    std::error_code ignored;
    const fs::path beside = fs::path(modelFile).parent_path() / path;
    return fs::exists(beside, ignored) ? beside.string() : path;
}

void resolvePaths(model::DataSpec& spec, const std::string& folder, const std::string& modelFile)
{
    if (spec.kind == DataKind::fashionMnist || spec.kind == DataKind::mnist) {
        spec.path = folder.empty() ? resolve(spec.path, {}, modelFile) : folder;
        return;
    }
    for (std::string* path : {&spec.path, &spec.labelsPath, &spec.testPath, &spec.testLabelsPath})
        *path = resolve(*path, folder, modelFile);
}

// The loss of a file that names none: classes want cross-entropy, on logits unless the model ends with softmax.
LossKind usualLoss(const model::Model& model, bool classes)
{
    if (!classes) return LossKind::mse;
    const model::Layer* last = &model.root();
    while (last->kind == model::LayerKind::chain && !last->children.empty())
        last = &model.at(last->children.back());
    const bool softmax = last->options.activation.kind == model::ActivationKind::softmax;
    return softmax ? LossKind::crossentropy : LossKind::logitcrossentropy;
}

} // namespace

Status checkOptions(const TrainOptions& options)
{
    if (options.steps < 0)
        return fail(invalid(fmt::format("{} steps: the number must not be negative", options.steps)));
    if (options.steps > INT32_MAX)
        return fail(invalid(fmt::format("{} steps; at most {} are possible", options.steps, INT32_MAX)));
    if (options.epochs < 0)
        return fail(invalid(fmt::format("{} epochs: the number must not be negative", options.epochs)));
    if (options.warmup < 0)
        return fail(invalid(fmt::format("{} warm-up steps: the number must not be negative", options.warmup)));
    if (options.batchSize < 0)
        return fail(invalid(fmt::format("a batch of {}: the number must not be negative", options.batchSize)));
    if (options.threads < 0 || options.threads > kMaxThreads) {
        return fail(
            invalid(fmt::format("{} threads; 0 (chosen by timing) to {} are possible", options.threads, kMaxThreads)));
    }
    if (options.workers && (*options.workers < 0 || *options.workers > kMaxWorkers)) {
        return fail(invalid(fmt::format("{} loader workers; 0 to {} are possible", *options.workers, kMaxWorkers)));
    }
    if (options.steps > 0 && options.warmup > options.steps && !options.shortenWarmup) {
        return fail(invalid(
            fmt::format("{} warm-up steps are more than the {} steps of the run", options.warmup, options.steps),
            "run more steps or fewer warm-up steps"));
    }
    return {};
}

base::Progress TrainingRun::progress()
{
    return [this](double fraction, std::string_view what) {
        if (stopRequested()) m_stop.request_stop();
        m_meter.setActivity(fraction, what);
    };
}

Status TrainingRun::prepare()
{
    const Probe setup(m_recording.buffer(), m_recording.phase(Phase::setup));
    const TrainOptions& options = m_inputs.options;
    model::ModelFile& file = m_inputs.file;
    if (file.model.layers.empty()) return fail(ErrorCode::invalidArgument, "the file holds no model", {file.file});
    m_seed = options.seed.value_or(file.seed);
    if (options.batchSize > 0) file.data.batchSize = options.batchSize;
    else if (!file.dataGiven) file.data.batchSize = kDefaultBatch;
    if (options.workers) file.data.numWorkers = *options.workers;
    m_batchSize = file.data.batchSize;

    if (const Status status = checkBackend(); !status) return status;
    if (const Status status = openDataSet(); !status) return status;
    if (const Status status = chooseSizes(); !status) return status;
    describe();
    if (const Status status = build(); !status) return status;
    return startLoader();
}

Status TrainingRun::checkBackend()
{
    m_meter.setState(TrainState::preparing, fmt::format("checking {}", m_inputs.backend->name()));
    const Probe probe(m_recording.buffer(), m_recording.selfCheck);
    return m_inputs.backend->selfCheck();
}

Status TrainingRun::openDataSet()
{
    const Probe probe(m_recording.buffer(), m_recording.openData);
    model::ModelFile& file = m_inputs.file;
    resolvePaths(file.data, m_inputs.options.dataDirectory, file.file);
    model::Dims input = file.model.input.empty() ? model::impliedInput(file.model) : file.model.input;
    model::Dims output;
    if (file.data.kind == DataKind::made) {
        if (!file.data.sampleShape.empty()) input = file.data.sampleShape;
        if (!input.empty()) { // made data takes its shape from the model, files the other way round
            if (const Status shaped = model::inferShapes(file, input); !shaped) return shaped;
            output = file.model.root().output;
        }
        if (!file.lossGiven) file.loss.kind = usualLoss(file.model, file.data.classes > 0);
    }
    Result<DataSet> data = openData(file.data, input, output, file.loss, m_seed, m_stop.get_token(), progress());
    if (!data) return fail(data.error());
    m_data = std::move(*data);
    if (stopRequested()) return fail(ErrorCode::cancelled, "stopped while preparing");
    if (file.data.kind != DataKind::made) {
        if (const Status shaped = model::inferShapes(file, m_data.train->sampleShape()); !shaped) return shaped;
        if (!file.lossGiven) file.loss.kind = usualLoss(file.model, m_data.train->classes() > 0);
    }
    return checkTargets(*m_data.train, file.model.root().output, file.loss, file.data.path);
}

// Steps, epochs and batch size, now that the size of the data is known.
Status TrainingRun::chooseSizes()
{
    TrainOptions& options = m_inputs.options;
    const model::ModelFile& file = m_inputs.file;
    const int64_t samples = m_data.train->size();
    if (m_batchSize > samples) {
        return fail(
            invalid(fmt::format("a batch of {} samples is larger than the data set of {}", m_batchSize, samples),
                    "choose a smaller batch size"));
    }
    m_stepsPerEpoch = file.data.partial ? (samples + m_batchSize - 1) / m_batchSize : samples / m_batchSize;
    int64_t epochs = options.epochs > 0 ? options.epochs : file.epochs;
    if (options.steps > 0) m_totalSteps = options.steps;
    else if (options.epochs == 0 && file.steps > 0) m_totalSteps = file.steps;
    else {
        epochs = std::max<int64_t>(epochs, 1);
        if (epochs > INT32_MAX / m_stepsPerEpoch)
            return fail(invalid(fmt::format("{} epochs of {} steps; at most {} steps are possible", epochs,
                                            m_stepsPerEpoch, INT32_MAX)));
        m_totalSteps = epochs * m_stepsPerEpoch;
    }
    if (options.shortenWarmup) options.warmup = std::min(options.warmup, m_totalSteps - 1);
    if (options.warmup > m_totalSteps) {
        return fail(
            invalid(fmt::format("{} warm-up steps are more than the {} steps of the run", options.warmup, m_totalSteps),
                    "run more steps or fewer warm-up steps"));
    }
    m_meter.status().totalSteps = m_totalSteps;
    m_meter.status().totalEpochs = static_cast<int32_t>((m_totalSteps + m_stepsPerEpoch - 1) / m_stepsPerEpoch);
    return {};
}

void TrainingRun::describe()
{
    const model::ModelFile& file = m_inputs.file;
    const TrainOptions& options = m_inputs.options;
    if (!m_recording.on()) return;
    for (const session::EnvironmentRow& row : m_inputs.environment)
        m_recording.addEnvironment(row.key, row.value);
    m_recording.addEnvironment("backend", m_inputs.backend->name());
    for (const auto& [key, value] : m_inputs.backend->environment())
        m_recording.addEnvironment(key, value);
    m_recording.addEnvironment("model.file", std::filesystem::path(file.file).filename().string());
    m_recording.addEnvironment("model.loss", model::lossName(file.loss.kind));
    m_recording.addEnvironment("model.optimiser", file.optimiser.text);
    const bool made = file.data.kind == DataKind::made;
    m_recording.addEnvironment("data.source",
                               made ? "synthetic: " + (file.data.text.empty() ? "made for the model" : file.data.text)
                                    : file.data.text);
    m_recording.addEnvironment("data.samples", fmt::format("{}", m_data.train->size()));
    if (m_data.test != nullptr) m_recording.addEnvironment("data.test_samples", fmt::format("{}", m_data.test->size()));
    m_recording.addEnvironment("option.batch", fmt::format("{}", m_batchSize));
    m_recording.addEnvironment("option.steps", fmt::format("{}", m_totalSteps));
    m_recording.addEnvironment("option.warmup", fmt::format("{}", options.warmup));
    m_recording.addEnvironment("option.shuffle", file.data.shuffle ? "true" : "false");
    m_recording.addEnvironment("option.workers", fmt::format("{}", file.data.numWorkers));
    m_recording.addEnvironment("option.threads",
                               options.threads == 0 ? "by timing" : fmt::format("{}", options.threads));
    m_recording.addEnvironment("option.seed", fmt::format("{}", m_seed));
    m_recording.addEnvironment("option.fuse", options.fuse ? "true" : "false");
    m_recording.addModel(file, m_batchSize);
}

Status TrainingRun::build()
{
    m_meter.setState(TrainState::preparing, "building the network");
    BuildOptions options;
    options.batchSize = m_batchSize;
    const int64_t last = m_data.train->size() % m_batchSize;
    if (m_inputs.file.data.partial && last != 0) options.smallerBatches.push_back(last);
    options.threads = m_inputs.options.threads;
    options.fuse = m_inputs.options.fuse;
    options.seed = m_seed;
    const Probe probe(m_recording.buffer(), m_recording.buildNetwork);
    Result<std::unique_ptr<Network>> network =
        m_inputs.backend->build(m_inputs.file, options, m_recording.forBackend(), m_stop.get_token(), progress());
    if (!network) return fail(network.error());
    m_network = std::move(*network);
    m_result.build = m_network->info();
    describeBuild();
    if (stopRequested()) return fail(ErrorCode::cancelled, "stopped while preparing");
    return {};
}

void TrainingRun::describeBuild()
{
    const BuildInfo& info = m_result.build;
    m_recording.addEnvironment("threads", fmt::format("{}", info.threads));
    m_recording.addEnvironment("build.primitives", fmt::format("{}", info.primitives));
    m_recording.addEnvironment("build.reference_primitives", fmt::format("{}", info.referencePrimitives));
    m_recording.addEnvironment("build.reorders", fmt::format("{}", info.reorders));
    m_recording.addEnvironment("build.parameter_bytes", fmt::format("{}", info.parameterBytes));
    m_recording.addEnvironment("build.activation_bytes", fmt::format("{}", info.activationBytes));
    m_recording.addEnvironment("build.state_bytes", fmt::format("{}", info.stateBytes));
    m_recording.addEnvironment("build.seconds", fmt::format("{:.3f}", info.buildSeconds));
    for (size_t i = 0; i < info.notes.size(); ++i)
        m_recording.addEnvironment(fmt::format("build.note.{}", i + 1), info.notes[i]);
}

Status TrainingRun::startLoader()
{
    const Probe probe(m_recording.buffer(), m_recording.buildLoader);
    const model::DataSpec& spec = m_inputs.file.data;
    LoaderOptions options;
    options.batchSize = m_batchSize;
    options.shuffle = spec.shuffle;
    options.partial = spec.partial;
    options.workers = spec.numWorkers;
    options.queueDepth = spec.queueDepth;
    options.batches = m_totalSteps;
    options.seed = m_seed;
    options.transforms = spec.transforms;
    Result<std::unique_ptr<Loader>> loader =
        Loader::make(*m_data.train, options, {m_recording.recorder(), m_recording.buffer(), Phase::dataWait});
    if (!loader) return fail(loader.error());
    m_loader = std::move(*loader);
    if (!m_inputs.options.evaluate || m_data.test == nullptr || m_data.test->classes() == 0) return {};
    Result<std::unique_ptr<Loader>> test = makeTestLoader();
    if (!test) return fail(test.error());
    m_testLoader = std::move(*test);
    return {};
}

// The test set in its own order, on the training thread, with those transforms alone that change no content.
Result<std::unique_ptr<Loader>> TrainingRun::makeTestLoader()
{
    LoaderOptions options;
    options.batchSize = std::min(m_batchSize, m_data.test->size());
    for (const TransformSpec& transform : m_inputs.file.data.transforms) {
        if (transform.kind == TransformSpec::Kind::normalise) options.transforms.push_back(transform);
    }
    return Loader::make(*m_data.test, options, {m_recording.recorder(), m_recording.buffer(), Phase::evaluation});
}

} // namespace stepscope::engine
