// RunProgress: the live numbers of a run: state, progress, step time, loss, throughput. Updated at most twice a second.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "ui/state/run_controller.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QLabel;
class QProgressBar;

namespace stepscope::views {

class Sparkline;

class RunProgress : public QWidget {
    Q_OBJECT
public:
    RunProgress(const state::RunController& runs, const theme::Theme& theme, QWidget* parent = nullptr);

    void refresh();
    QString stateText() const;

private:
    QString describe() const;

    const state::RunController& m_runs;
    const theme::Theme& m_theme;
    QLabel* m_state;
    QProgressBar* m_bar;
    QLabel* m_stepTime;
    QLabel* m_loss;
    QLabel* m_throughput;
    QLabel* m_accuracy;
    Sparkline* m_stepLine;
    Sparkline* m_lossLine;
};

} // namespace stepscope::views
