// StatusStrip: the status bar: what is being loaded, with progress and cancel, and the quality badge of the session.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include "ui/state/workbench.h"
#include "ui/theme/theme.h"

#include <QStatusBar>

class QLabel;
class QProgressBar;
class QToolButton;

namespace stepscope::shell {

class StatusStrip : public QStatusBar {
    Q_OBJECT
public:
    StatusStrip(state::Workbench& workbench, const theme::Theme& theme, QWidget* parent = nullptr);

    QString badgeText() const;
    QString sessionText() const; // "300 steps · 19_827 spans · 854 samples"

signals:
    void qualityRequested(); // the badge was clicked

private:
    void showActivity();
    void showSession();

    state::Workbench& m_workbench;
    const theme::Theme& m_theme;
    QLabel* m_activity;
    QProgressBar* m_progress;
    QToolButton* m_cancel;
    QLabel* m_session;
    QToolButton* m_badge;
};

} // namespace stepscope::shell
