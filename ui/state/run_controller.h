// RunController: prepares, starts, pauses and stops one training run and opens what it recorded.
// Owner: ui/state. Thread: UI thread. The Trainer's reports arrive by queued calls, at most twice a second.
#pragma once

#include "core/engine/trainer.h"
#include "core/model/model.h"
#include "core/session/sample_mirror.h"
#include "ui/state/workbench.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <memory>
#include <optional>
#include <vector>

namespace stepscope::state {

class RunController : public QObject {
    Q_OBJECT
public:
    enum class State { idle, starting, running, paused, stopping };

    explicit RunController(Workbench& workbench, QObject* parent = nullptr);
    ~RunController() override; // stops the run and waits for the step boundary

    State state() const { return m_state; }
    bool active() const { return m_state != State::idle; }
    // Starts a run. Options as in engine::TrainOptions. Ignored while one is active.
    void start(model::ModelFile file, const engine::TrainOptions& options);
    void pause();
    void resume();
    void stop(); // at the next step boundary

    // Stack samples of the running run; they add up until they are cleared.
    void startSampling();
    void stopSampling();
    void clearSamples();
    bool sampling() const { return m_sampling.has_value() && m_sampling->running; }
    const std::optional<recording::SamplingStatistics>& samplingStatistics() const { return m_sampling; }

    // Last report of the running or finished run.
    const std::optional<engine::TrainStatus>& status() const { return m_status; }
    // Loss and median step time of every report, oldest first, for the sparklines. At most kHistory.
    struct Point {
        double loss = 0;
        double stepNs = 0;
    };
    static constexpr size_t kHistory = 600;
    const std::vector<Point>& history() const { return m_history; }
    // Of the last finished run.
    const std::optional<engine::TrainResult>& result() const { return m_result; }
    const std::optional<base::Error>& error() const { return m_error; }
    QString recordingPath() const { return m_path; }

signals:
    void stateChanged();
    void statusChanged();
    void samplingChanged();
    // The run is over and its session, if there is one, is being opened.
    void finished();

private:
    struct Prepared {
        std::unique_ptr<engine::Backend> backend;
        std::unique_ptr<session::SampleMirror> sink;
        std::vector<session::EnvironmentRow> environment;
    };
    void prepared(base::Result<std::shared_ptr<Prepared>> result, model::ModelFile file, const engine::TrainOptions& options);
    void report(const engine::TrainStatus& status);
    void renewSamples(); // of the live view
    void askSampler();
    void waitForEnd();
    void ended(base::Result<engine::TrainResult> result);
    void setState(State state);
    QString newRecordingPath(const model::ModelFile& file) const;

    Workbench& m_workbench;
    jobs::JobSlot m_slot;
    std::shared_ptr<Prepared> m_prepared; // outlives the trainer
    std::shared_ptr<engine::Trainer> m_trainer;
    State m_state = State::idle;
    bool m_stopRequested = false;
    recording::SamplingOptions m_samplingOptions;
    std::optional<recording::SamplingStatistics> m_sampling;
    QTimer m_renew;
    jobs::JobSlot m_snapshotSlot, m_samplerSlot;
    std::optional<engine::TrainStatus> m_status;
    std::vector<Point> m_history;
    std::optional<engine::TrainResult> m_result;
    std::optional<base::Error> m_error;
    QString m_path;
};

} // namespace stepscope::state
