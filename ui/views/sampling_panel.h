// SamplingPanel: start, stop and clear stack samples of the run that goes on, and what they cost.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "ui/state/run_controller.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace stepscope::views {

class SamplingPanel : public QWidget {
    Q_OBJECT
public:
    explicit SamplingPanel(state::RunController& runs, QWidget* parent = nullptr);
    QString text() const;

private:
    void refresh();

    state::RunController& m_runs;
    QLabel* m_text;
    QPushButton* m_toggle;
    QPushButton* m_clear;
};

} // namespace stepscope::views
