// MainWindow: menus, tool bar, docks, status bar; opening by menu, recent files and drag and drop; orderly closing.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include "ui/state/run_controller.h"
#include "ui/state/source_editor.h"
#include "ui/state/workbench.h"
#include "ui/theme/theme.h"
#include "ui/views/view.h"

#include <QHash>
#include <QMainWindow>

class QActionGroup;
class QDockWidget;
class QSettings;

namespace stepscope::shell {

class MessageBar;
class StatusStrip;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    // Everything passed in outlives the window.
    MainWindow(state::Workbench& workbench, state::RunController& runs, theme::Theme& theme, QSettings& settings);
    ~MainWindow() override;

    state::Workbench& workbench() { return m_workbench; }
    QDockWidget* dock(const QString& id) const { return m_docks.value(id); }
    MessageBar& messages() { return *m_messages; }
    void resetLayout();

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void setupDocks();
    void updateShownDocks();
    void raiseFilledDock();
    void setupActions();
    void setupMenus();
    void setupConnections();
    void tint();
    void restoreWindow();
    void fillRecentMenu();
    void updateTitle();
    void askForFile(const QString& directory);
    void askWhereToSave();
    void showKeys();
    void showAbout();
    void showQuality();
    void openSource(const QString& file, int line);
    void chooseEditor();
    void showSampleBar();
    void tellWhatIsMissing();
    void confirmStop();

    state::Workbench& m_workbench;
    state::RunController& m_runs;
    theme::Theme& m_theme;
    QSettings& m_settings;
    state::SourceEditor m_editor;
    QHash<QString, QDockWidget*> m_docks;
    QList<QDockWidget*> m_dockOrder;
    QHash<QDockWidget*, bool (*)(const session::Session&)> m_shownFor;
    MessageBar* m_messages = nullptr;
    QToolBar* m_sampleBar = nullptr;
    StatusStrip* m_status = nullptr;
    QMenu* m_recentMenu = nullptr;
    QAction *m_openAction = nullptr, *m_saveAction = nullptr, *m_closeAction = nullptr, *m_quitAction = nullptr;
    QActionGroup* m_themeGroup = nullptr;
    bool m_closing = false;   // close as soon as the run has stopped or the file is saved
    bool m_firstShow = true;
    bool m_restored = false;
};

} // namespace stepscope::shell
