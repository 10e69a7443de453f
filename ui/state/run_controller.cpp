#include "ui/state/run_controller.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>

namespace stepscope::state {

RunController::RunController(Workbench& workbench, QObject* parent)
    : QObject(parent)
    , m_workbench(workbench)
{
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
            made->sink = std::move(*sink);
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
    // The callback runs on the training thread: it only posts a copy.
    const auto callback = [this](const engine::TrainStatus& status) {
        QMetaObject::invokeMethod(this, [this, status] { report(status); }, Qt::QueuedConnection);
    };
    const base::Status started = m_trainer->start(std::move(file), options, *m_prepared->backend, m_prepared->sink.get(),
                                                  m_prepared->environment, callback);
    if (!started) return ended(base::fail(started.error()));
    m_workbench.setMeasuring(true);
    setState(State::running);
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
    m_trainer.reset();
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
