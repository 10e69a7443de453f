#include "ui/state/run_controller.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>

namespace stepscope::state {

namespace {
constexpr int kRenewMs = 500; // of the live view
}

RunController::RunController(Workbench& workbench, QObject* parent)
    : QObject(parent)
    , m_workbench(workbench)
{
    m_renew.setInterval(kRenewMs);
    connect(&m_renew, &QTimer::timeout, this, &RunController::renewSamples);
}

RunController::~RunController()
{
    if (m_trainer == nullptr) return;
    // The training thread reports to this object, and a job waits for that thread: both have to end first.
    m_trainer->requestStop();
    m_workbench.jobs().shutdown();
    m_trainer.reset();
}

QString RunController::newRecordingPath(const model::ModelFile& file) const
{
    const QString directory = QString::fromStdString(m_workbench.services().recordingsDirectory);
    QDir().mkpath(directory);
    QString name = QFileInfo(QString::fromStdString(file.file)).completeBaseName();
    if (name.isEmpty()) name = QStringLiteral("model");
    const QString stamp = QDateTime::currentDateTime().toString(QStringLiteral("yyyy-MM-dd HH.mm.ss"));
    QString path = QStringLiteral("%1/%2 %3.stepscope").arg(directory, name, stamp);
    for (int i = 2; QFileInfo::exists(path); ++i)
        path = QStringLiteral("%1/%2 %3 (%4).stepscope").arg(directory, name, stamp).arg(i);
    return path;
}

void RunController::start(model::ModelFile file, const engine::TrainOptions& options)
{
    if (active()) return;
    m_status.reset();
    m_result.reset();
    m_error.reset();
    m_history.clear();
    m_stopRequested = false;
    m_path = newRecordingPath(file);
    setState(State::starting);

    const Services& services = m_workbench.services();
    m_workbench.jobs().start<std::shared_ptr<Prepared>>(
        m_slot, tr("Preparing the run"),
        [createBackend = services.createBackend, createSink = services.createSink, environment = services.environment,
         path = m_path.toStdString(), file](std::stop_token, const base::Progress&) -> base::Result<std::shared_ptr<Prepared>> {
            auto made = std::make_shared<Prepared>();
            auto backend = createBackend();
            if (!backend) return base::fail(backend.error());
            made->backend = std::move(*backend);
            auto sink = createSink(path);
            if (!sink) return base::fail(sink.error());
            made->sink = std::make_unique<session::SampleMirror>(std::move(*sink));
            made->environment = environment ? environment(file) : std::vector<session::EnvironmentRow>();
            return made;
        },
        [this, file, options](base::Result<std::shared_ptr<Prepared>> result) { prepared(std::move(result), file, options); });
}

void RunController::prepared(base::Result<std::shared_ptr<Prepared>> result, model::ModelFile file,
                             const engine::TrainOptions& options)
{
    if (!result) return ended(base::fail(result.error()));
    m_prepared = std::move(*result);
    m_trainer = std::make_shared<engine::Trainer>();
    m_samplingOptions = options.sampling;
    m_sampling.reset();
    // The callback runs on the training thread: it only posts a copy.
    const auto callback = [this](const engine::TrainStatus& status) {
        QMetaObject::invokeMethod(this, [this, status] { report(status); }, Qt::QueuedConnection);
    };
    const base::Status started = m_trainer->start(std::move(file), options, *m_prepared->backend, m_prepared->sink.get(),
                                                  m_prepared->environment, callback);
    if (!started) return ended(base::fail(started.error()));
    m_workbench.setMeasuring(true);
    setState(State::running);
    m_renew.start();
    if (m_stopRequested) stop();
    waitForEnd();
}

void RunController::waitForEnd()
{
    // Trainer and backend stay alive in the job until the thread has ended.
    m_workbench.jobs().start<engine::TrainResult>(
        m_slot, QString(),
        [trainer = m_trainer, keep = m_prepared](std::stop_token stop, const base::Progress&) {
            const std::stop_callback request(stop, [&trainer] { trainer->requestStop(); });
            return trainer->wait();
        },
        [this](base::Result<engine::TrainResult> result) { ended(std::move(result)); });
}

void RunController::report(const engine::TrainStatus& status)
{
    if (!active()) return;
    m_status = status;
    if (status.state == engine::TrainState::running && status.step > 0) {
        if (m_history.size() == kHistory) m_history.erase(m_history.begin());
        m_history.push_back({status.loss, status.medianStepNs});
    }
    emit statusChanged();
}

void RunController::ended(base::Result<engine::TrainResult> result)
{
    m_renew.stop();
    m_snapshotSlot.cancel();
    m_samplerSlot.cancel();
    m_trainer.reset();
    m_workbench.samples().setLive(nullptr);
    if (m_sampling.has_value()) m_sampling->running = false;
    emit samplingChanged();
    const bool recorded = m_prepared != nullptr;
    m_prepared.reset(); // closes the file
    if (result) m_result = std::move(*result);
    else m_error = result.error();
    m_workbench.setMeasuring(false);
    setState(State::idle);
    emit finished();
    if (!recorded || !QFileInfo::exists(m_path)) return;
    if (m_status.has_value() && m_status->step > 0) m_workbench.open(m_path);
    else QFile::remove(m_path); // nothing was measured
}

// Twice a second at most, and never before the last snapshot is there.
void RunController::renewSamples()
{
    if (m_prepared == nullptr || m_trainer == nullptr) return;
    m_sampling = m_trainer->samplingStatistics();
    emit samplingChanged();
    if (m_snapshotSlot.busy()) return;
    m_workbench.jobs().start<session::SessionPtr>(
        m_snapshotSlot, QString(),
        [keep = m_prepared](std::stop_token, const base::Progress&) -> base::Result<session::SessionPtr> { return keep->sink->snapshot(); },
        [this](base::Result<session::SessionPtr> session) {
            if (session && *session != nullptr && active()) m_workbench.samples().setLive(*session);
        });
}

void RunController::startSampling()
{
    if (m_trainer == nullptr || m_samplerSlot.busy()) return;
    recording::SamplingOptions options = m_samplingOptions;
    if (options.mode == recording::SampleMode::off) options.mode = recording::SampleMode::cpu;
    // Finding the rate takes a quarter of a second.
    m_workbench.jobs().start<bool>(
        m_samplerSlot, tr("Starting the sampler"),
        [trainer = m_trainer, options](std::stop_token, const base::Progress&) -> base::Result<bool> {
            if (base::Status started = trainer->startSampling(options); !started) return base::fail(started.error());
            return true;
        },
        [this](base::Result<bool> started) {
            if (!started) emit m_workbench.failed(tr("Stacks cannot be sampled"), started.error());
            askSampler();
        });
}

void RunController::stopSampling()
{
    if (m_trainer == nullptr || m_samplerSlot.busy()) return;
    m_workbench.jobs().start<bool>(
        m_samplerSlot, QString(),
        [trainer = m_trainer](std::stop_token, const base::Progress&) -> base::Result<bool> {
            trainer->stopSampling();
            return true;
        },
        [this](base::Result<bool>) { askSampler(); });
}

void RunController::clearSamples()
{
    if (m_trainer == nullptr) return;
    m_trainer->clearSamples();
    askSampler();
}

void RunController::askSampler()
{
    if (m_trainer == nullptr) return;
    m_sampling = m_trainer->samplingStatistics();
    emit samplingChanged();
}

void RunController::pause()
{
    if (m_state != State::running) return;
    m_trainer->pause();
    setState(State::paused);
}

void RunController::resume()
{
    if (m_state != State::paused) return;
    m_trainer->resume();
    setState(State::running);
}

void RunController::stop()
{
    if (!active()) return;
    m_stopRequested = true;
    if (m_trainer == nullptr) return; // still preparing: stops as soon as it has started
    m_trainer->requestStop();
    setState(State::stopping);
}

void RunController::setState(State state)
{
    if (state == m_state) return;
    m_state = state;
    emit stateChanged();
}

} // namespace stepscope::state
