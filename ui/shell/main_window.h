// MainWindow: menus, tool bar, docks, status bar; opening by menu, recent files and drag and drop; orderly closing.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include "ui/state/part_choice.h"
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
    // What is missing of the session that is shown: stays until it is dismissed or another session is shown.
    MessageBar& lastingNotice() { return *m_lasting; }
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
    void askForPart(const QString& path); // "": asks for the file first
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
    QHash<QDockWidget*, views::ViewFactory> m_shownFor;
    MessageBar *m_messages = nullptr, *m_lasting = nullptr;
    QToolBar* m_sampleBar = nullptr;
    StatusStrip* m_status = nullptr;
    QMenu* m_recentMenu = nullptr;
    QAction *m_openAction = nullptr, *m_saveAction = nullptr, *m_closeAction = nullptr, *m_quitAction = nullptr;
    QActionGroup* m_themeGroup = nullptr;
    state::PartChoice m_part; // the last one
    bool m_closing = false;   // close as soon as the run has stopped or the file is saved
    bool m_firstShow = true;
    bool m_detailsRaised = false; // for the session that is shown
    bool m_restored = false;
};

} // namespace stepscope::shell
