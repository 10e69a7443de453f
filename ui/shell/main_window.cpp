#include "ui/shell/main_window.h"

#include "ui/shell/editor_dialog.h"
#include "ui/shell/help_texts.h"
#include "ui/shell/message_bar.h"
#include "ui/shell/part_dialog.h"
#include "ui/shell/status_strip.h"
#include "ui/theme/icons.h"
#include "ui/views/sample_bar.h"

#include <QActionGroup>
#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QTimer>
#include <QUrl>

namespace stepscope::shell {

namespace {

// Raised when the docks change, so that an old layout is not forced on new docks.
constexpr int kLayoutVersion = 3;
const QString kGeometryKey = QStringLiteral("window/geometry");
const QString kStateKey = QStringLiteral("window/state");
const QString kThemeKey = QStringLiteral("theme");

QStringList localFiles(const QMimeData* data)
{
    QStringList files;
    for (const QUrl& url : data->urls())
        if (url.isLocalFile()) files << url.toLocalFile();
    return files;
}

// "run.json.gz" becomes "run.stepscope": what is saved is a session, whatever was opened.
QString sessionName(const QString& path)
{
    static const QStringList kPacked{QStringLiteral("gz"), QStringLiteral("zst"), QStringLiteral("xz"), QStringLiteral("bz2")};
    QString name = QFileInfo(path).fileName();
    if (name.isEmpty()) return name;
    if (kPacked.contains(QFileInfo(name).suffix(), Qt::CaseInsensitive)) name = QFileInfo(name).completeBaseName();
    const QString base = QFileInfo(name).completeBaseName();
    return (base.isEmpty() ? name : base) + QStringLiteral(".stepscope");
}

} // namespace

MainWindow::MainWindow(state::Workbench& workbench, state::RunController& runs, theme::Theme& theme, QSettings& settings)
    : m_workbench(workbench)
    , m_runs(runs)
    , m_theme(theme)
    , m_settings(settings)
    , m_editor(settings)
{
    setObjectName(QStringLiteral("mainWindow"));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setDocumentMode(true);
    m_messages = new MessageBar(theme, this);
    m_lasting = new MessageBar(theme, this);
    m_lasting->setObjectName(QStringLiteral("lastingNotice"));
    m_status = new StatusStrip(workbench, theme, this);
    setStatusBar(m_status);
    setupDocks();
    setupActions();
    setupMenus();
    setupConnections();
    tint();
    restoreWindow();
    updateTitle();
}

MainWindow::~MainWindow() = default;

void MainWindow::setupDocks()
{
    const views::ViewContext context{m_workbench, m_runs, m_theme};
    for (const views::ViewFactory& factory : views::builtinViews()) {
        auto* made = new QDockWidget(factory.title, this);
        made->setObjectName(QStringLiteral("dock-") + factory.id);
        made->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetFloatable);
        made->setWidget(factory.make(context, made));
        m_docks.insert(factory.id, made);
        m_dockOrder << made;
        made->toggleViewAction()->setVisible(factory.shownFor == nullptr || factory.shownWithout);
        if (factory.shownFor != nullptr) m_shownFor.insert(made, factory);
    }
    resetLayout();
}

// Docks that only some sessions have anything for come and go with the session.
void MainWindow::updateShownDocks()
{
    // Samples of a run come before its session is open.
    const session::SessionPtr session = m_workbench.samples().live() ? nullptr : m_workbench.session();
    for (auto i = m_shownFor.cbegin(); i != m_shownFor.cend(); ++i) {
        const bool shown = session != nullptr ? i.value().shownFor(*session) : i.value().shownWithout;
        QAction* toggle = i.key()->toggleViewAction();
        if (shown && !toggle->isVisible()) i.key()->show(); // then the user decides
        if (!shown) i.key()->hide();
        toggle->setVisible(shown);
    }
}

// A session without layers starts with the reports that it has rows for.
void MainWindow::raiseFilledDock()
{
    const session::SessionPtr session = m_workbench.session();
    if (session == nullptr || !session->layers().empty()) return;
    QDockWidget* devices = dock(QStringLiteral("devices"));
    if (devices->toggleViewAction()->isVisible() && !devices->isHidden()) devices->raise();
    else if (session->spanCount() == 0 && session->sampleCount() > 0) dock(QStringLiteral("sample-flat"))->raise();
    else dock(session->steps().empty() ? QStringLiteral("session") : QStringLiteral("steps"))->raise();
}

void MainWindow::resetLayout()
{
    QDockWidget* run = dock(QStringLiteral("run"));
    QDockWidget* flame = dock(QStringLiteral("flame"));
    QDockWidget* histogram = dock(QStringLiteral("histogram"));
    QDockWidget* layers = dock(QStringLiteral("layers"));
    QDockWidget* details = dock(QStringLiteral("span-details"));
    for (QDockWidget* each : std::as_const(m_dockOrder)) {
        each->setFloating(false);
        removeDockWidget(each);
    }
    // Without a central widget the docks of one area fill the window.
    addDockWidget(Qt::LeftDockWidgetArea, run);
    splitDockWidget(run, flame, Qt::Horizontal);
    splitDockWidget(flame, histogram, Qt::Vertical);
    splitDockWidget(histogram, layers, Qt::Horizontal);
    tabifyDockWidget(histogram, details);
    QDockWidget* last = layers;
    for (QDockWidget* each : std::as_const(m_dockOrder)) {
        if (each != run && each != flame && each != histogram && each != layers && each != details) {
            tabifyDockWidget(last, each);
            last = each;
        }
        each->setVisible(each->toggleViewAction()->isVisible());
    }
    histogram->raise();
    layers->raise();
    raiseFilledDock();
    resizeDocks({run, flame}, {330, std::max(400, width() - 330)}, Qt::Horizontal);
    resizeDocks({flame, histogram}, {std::max(200, height() * 45 / 100), std::max(160, height() * 43 / 100)}, Qt::Vertical);
    const int right = std::max(400, width() - 330);
    resizeDocks({histogram, layers}, {right * 33 / 100, right * 67 / 100}, Qt::Horizontal);
}

void MainWindow::setupActions()
{
    m_openAction = new QAction(tr("&Open …"), this);
    m_openAction->setShortcut(QKeySequence::Open);
    m_openAction->setToolTip(tr("Open a session, a model or a trace of another tool (Ctrl+O)"));
    connect(m_openAction, &QAction::triggered, this, [this] { askForFile(QFileInfo(m_workbench.files().value(0)).absolutePath()); });
    m_saveAction = new QAction(tr("&Save As …"), this);
    m_saveAction->setShortcuts({QKeySequence::Save, QKeySequence::SaveAs});
    m_saveAction->setToolTip(tr("Save the session to a file (Ctrl+S)"));
    connect(m_saveAction, &QAction::triggered, this, &MainWindow::askWhereToSave);
    m_closeAction = new QAction(tr("&Close Session"), this);
    m_closeAction->setShortcut(QKeySequence::Close);
    connect(m_closeAction, &QAction::triggered, &m_workbench, &state::Workbench::close);
    m_quitAction = new QAction(tr("&Quit"), this);
    m_quitAction->setShortcut(QKeySequence::Quit);
    connect(m_quitAction, &QAction::triggered, this, &QWidget::close);

    m_themeGroup = new QActionGroup(this);
    const auto mode = [this](const QString& text, theme::ThemeMode value) {
        auto* action = new QAction(text, m_themeGroup);
        action->setCheckable(true);
        action->setData(static_cast<int>(value));
        connect(action, &QAction::triggered, this, [this, value] {
            m_theme.setMode(value);
            m_settings.setValue(kThemeKey, static_cast<int>(value));
        });
    };
    mode(tr("As the &system"), theme::ThemeMode::system);
    mode(tr("&Light"), theme::ThemeMode::light);
    mode(tr("&Dark"), theme::ThemeMode::dark);
}

void MainWindow::setupMenus()
{
    QMenu* file = menuBar()->addMenu(tr("&File"));
    file->addAction(m_openAction);
    m_recentMenu = file->addMenu(tr("Open &Recent"));
    connect(m_recentMenu, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
    file->addAction(tr("Open a &Part of a File …"), this, [this] { askForPart({}); })
        ->setToolTip(tr("Load only a range of time or some steps of a large trace"));
    file->addAction(tr("Open Unsaved Recor&ding …"), this,
                    [this] { askForFile(QString::fromStdString(m_workbench.services().recordingsDirectory)); });
    file->addSeparator();
    file->addAction(m_saveAction);
    file->addAction(m_closeAction);
    file->addSeparator();
    file->addAction(tr("Source &Editor …"), this, &MainWindow::chooseEditor);
    file->addSeparator();
    file->addAction(m_quitAction);

    QMenu* view = menuBar()->addMenu(tr("&View"));
    for (QDockWidget* each : std::as_const(m_dockOrder)) view->addAction(each->toggleViewAction());
    view->addSeparator();
    view->addAction(tr("&Reset Layout"), this, &MainWindow::resetLayout);
    QMenu* themes = view->addMenu(tr("&Theme"));
    themes->addActions(m_themeGroup->actions());

    QMenu* help = menuBar()->addMenu(tr("&Help"));
    QAction* keys = help->addAction(tr("&Keys and Mouse"), this, &MainWindow::showKeys);
    keys->setShortcuts({QKeySequence(QKeySequence::HelpContents), QKeySequence(Qt::Key_Question)});
    help->addAction(tr("&About Stepscope"), this, &MainWindow::showAbout);

    QToolBar* bar = addToolBar(tr("Main"));
    bar->setObjectName(QStringLiteral("mainToolBar"));
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    bar->setIconSize(QSize(18, 18));
    m_openAction->setIconText(tr("Open"));
    m_saveAction->setIconText(tr("Save"));
    bar->addAction(m_openAction);
    bar->addAction(m_saveAction);
    addToolBarBreak();
    addToolBar(m_messages);
    addToolBarBreak();
    addToolBar(m_lasting);
    addToolBarBreak();
    m_sampleBar = addToolBar(tr("Stack samples"));
    m_sampleBar->setObjectName(QStringLiteral("sampleToolBar"));
    m_sampleBar->setMovable(false);
    auto* filters = new views::SampleBar({m_workbench, m_runs, m_theme}, m_sampleBar);
    m_sampleBar->addWidget(filters);
    connect(filters, &views::SampleBar::qualityRequested, this, &MainWindow::showQuality);
}

void MainWindow::setupConnections()
{
    connect(&m_workbench, &state::Workbench::failed, m_messages, &MessageBar::showError);
    connect(&m_workbench, &state::Workbench::partSuggested, this, [this](const QString& path, const base::Error& error) {
        m_messages->showError(tr("%1 was not opened").arg(QFileInfo(path).fileName()), error);
        m_messages->offer(tr("Open a Part …"), [this, path] { askForPart(path); });
    });
    connect(&m_workbench, &state::Workbench::openingCancelled, this, [this](const QStringList& files) {
        m_messages->showNotice(tr("%1 was not opened: cancelled").arg(state::Workbench::namesOf(files)));
        if (files.size() == 1) m_messages->offer(tr("Open a Part …"), [this, path = files.front()] { askForPart(path); });
    });
    connect(&m_workbench, &state::Workbench::sessionChanged, this, [this] {
        if (m_workbench.session() != nullptr) m_messages->hide();
        m_lasting->hide();
        m_detailsRaised = false;
        updateShownDocks();
        tellWhatIsMissing();
        raiseFilledDock();
        updateTitle();
    });
    connect(&m_workbench, &state::Workbench::saved, this, [this](const QString& path) {
        m_messages->showNotice(tr("Saved to %1").arg(path));
        updateTitle();
        if (m_closing) close();
    });
    connect(&m_workbench, &state::Workbench::failed, this, [this] { m_closing = false; });
    connect(&m_workbench, &state::Workbench::modelRequested, this, [this](const QString& path) {
        m_workbench.recent().add(path);
        dock(QStringLiteral("run"))->show();
        dock(QStringLiteral("run"))->raise();
    });
    connect(&m_runs, &state::RunController::finished, this, [this] {
        if (auto* asked = findChild<QMessageBox*>(QStringLiteral("confirmStop"))) asked->close(); // nothing is left to stop
        if (m_closing) QTimer::singleShot(0, this, &QWidget::close);
    });
    connect(m_status, &StatusStrip::qualityRequested, this, &MainWindow::showQuality);
    connect(&m_workbench, &state::Workbench::sourceRequested, this, &MainWindow::openSource);
    connect(&m_workbench.samples(), &state::Samples::availableChanged, this, [this] {
        showSampleBar();
        updateShownDocks();
    });
    // The first click on a frame brings the details to the front; from then on the user arranges.
    connect(&m_workbench.spans(), &state::SpanSelection::picked, this, [this] {
        if (!std::exchange(m_detailsRaised, true) && !dock(QStringLiteral("span-details"))->isHidden()) dock(QStringLiteral("span-details"))->raise();
    });
    connect(&m_theme, &theme::Theme::changed, this, &MainWindow::tint);
}

void MainWindow::tint()
{
    m_openAction->setIcon(theme::icon(QStringLiteral("open"), m_theme.colours()));
    m_saveAction->setIcon(theme::icon(QStringLiteral("save"), m_theme.colours()));
}

void MainWindow::restoreWindow()
{
    const int mode = m_settings.value(kThemeKey, 0).toInt();
    const QList<QAction*> actions = m_themeGroup->actions();
    actions.at(mode >= 0 && mode < actions.size() ? mode : 0)->setChecked(true);
    m_theme.setMode(static_cast<theme::ThemeMode>(m_themeGroup->checkedAction()->data().toInt()));
    if (!restoreGeometry(m_settings.value(kGeometryKey).toByteArray())) resize(QSize(1440, 900).boundedTo(screen()->availableGeometry().size()));
    m_restored = restoreState(m_settings.value(kStateKey).toByteArray(), kLayoutVersion);
    updateShownDocks();
    m_messages->hide();
    m_lasting->hide();
    showSampleBar();
}

void MainWindow::showEvent(QShowEvent* event)
{
    QMainWindow::showEvent(event);
    if (!m_firstShow) return;
    m_firstShow = false;
    // Dock sizes are shares of the real size, which is known from here on.
    if (!m_restored) QTimer::singleShot(0, this, &MainWindow::resetLayout);
}

void MainWindow::fillRecentMenu()
{
    m_recentMenu->clear();
    const QStringList files = m_workbench.recent().files();
    int number = 0;
    for (const QString& path : files) {
        const QFileInfo info(path);
        QString text = QStringLiteral("&%1  %2  –  %3").arg(++number % 10).arg(info.fileName(), info.absolutePath());
        QAction* action = m_recentMenu->addAction(text, this, [this, path] { m_workbench.open(path); });
        action->setToolTip(path);
    }
    if (files.isEmpty()) m_recentMenu->addAction(tr("Nothing was opened yet"))->setEnabled(false);
    m_recentMenu->addSeparator();
    QAction* clear = m_recentMenu->addAction(tr("Clear the List"), &m_workbench.recent(), &state::RecentFiles::clear);
    clear->setEnabled(!files.isEmpty());
}

void MainWindow::updateTitle()
{
    const bool open = m_workbench.session() != nullptr;
    m_saveAction->setEnabled(open);
    m_closeAction->setEnabled(open);
    QString name;
    if (open) name = m_workbench.title().isEmpty() ? tr("session") : m_workbench.title();
    if (m_workbench.unsaved()) name += tr(" (not saved yet)");
    setWindowTitle(name.isEmpty() ? tr("Stepscope") : tr("%1 – Stepscope").arg(name));
}

void MainWindow::askForFile(const QString& directory)
{
    const QStringList files = QFileDialog::getOpenFileNames(this, tr("Open a session, a trace or a model, or several files as one session"), directory,
                                                      tr("All files (*);;Sessions (*.stepscope);;Models (*.jl);;"
                                                         "Traces (*.json *.json.gz *.json.zst *.sqlite *.data);;"
                                                         "Profiles (*.pb *.pb.gz *.folded *.cpuprofile *.jlprof *.perf)"));
    m_workbench.openTogether(files);
}

void MainWindow::askForPart(const QString& wanted)
{
    QString path = wanted;
    if (path.isEmpty())
        path = QFileDialog::getOpenFileName(this, tr("Open a part of a trace"), QFileInfo(m_workbench.path()).absolutePath(),
                                            tr("All files (*);;Traces (*.json *.json.gz *.json.zst *.sqlite *.data)"));
    if (path.isEmpty()) return;
    auto* dialog = new PartDialog(path, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setChoice(m_part);
    connect(dialog, &PartDialog::chosen, this, [this, dialog, path](const importers::ImportOptions& part) {
        m_part = dialog->choice();
        m_workbench.openPart(path, part);
    });
    connect(dialog, &PartDialog::wholeWanted, &m_workbench, [this, path] { m_workbench.openWhole(path); });
    dialog->open();
}

void MainWindow::askWhereToSave()
{
    if (m_workbench.session() == nullptr) return;
    const QString suggestion = sessionName(m_workbench.files().value(0));
    QString path = QFileDialog::getSaveFileName(this, tr("Save the session"), suggestion, tr("Sessions (*.stepscope)"));
    if (path.isEmpty()) return;
    if (QFileInfo(path).suffix().isEmpty()) path += QStringLiteral(".stepscope");
    m_workbench.saveAs(path);
}

void MainWindow::showKeys()
{
    QMessageBox box(QMessageBox::NoIcon, tr("Keys and mouse"), keysHtml(), QMessageBox::Close, this);
    box.setTextFormat(Qt::RichText);
    box.exec();
}

void MainWindow::showAbout()
{
    QMessageBox box(QMessageBox::NoIcon, tr("About Stepscope"),
                    aboutHtml(QString::fromStdString(m_workbench.services().version)), QMessageBox::Close, this);
    box.setIconPixmap(theme::applicationIcon().pixmap(QSize(64, 64), devicePixelRatioF()));
    box.setTextFormat(Qt::RichText);
    box.exec();
}

void MainWindow::tellWhatIsMissing()
{
    if (m_workbench.showsFirstPart()) {
        m_messages->showNotice(tr("This is the first part; the rest is being read"));
        if (const QString path = m_workbench.path(); !path.isEmpty()) m_messages->offer(tr("Open a Part …"), [this, path] { askForPart(path); });
        return;
    }
    QStringList missing;
    bool part = false;
    for (const session::QualityRow& row : m_workbench.quality()) {
        part |= row.code == "part-only";
        for (const char* code : {"incomplete-file", "part-only", "cut-short", "truncated-file"})
            if (row.code == code) missing << QString::fromStdString(row.message);
    }
    if (missing.isEmpty()) return;
    m_lasting->showWarning(missing.join(QLatin1Char('\n')));
    if (part && !m_workbench.path().isEmpty()) m_lasting->offer(tr("Another Part …"), [this, path = m_workbench.path()] { askForPart(path); });
}

void MainWindow::showQuality()
{
    dock(QStringLiteral("session"))->show();
    dock(QStringLiteral("session"))->raise();
}

// The filters of the samples take a row only where there are samples.
void MainWindow::showSampleBar() { m_sampleBar->setVisible(m_workbench.samples().available()); }

void MainWindow::openSource(const QString& file, int line)
{
    if (const base::Status opened = m_editor.open(file, line); !opened)
        m_messages->showError(tr("%1, line %2 cannot be shown in the editor").arg(QFileInfo(file).fileName()).arg(line), opened.error());
}

void MainWindow::chooseEditor() { EditorDialog(m_editor, this).exec(); }

void MainWindow::confirmStop()
{
    if (findChild<QMessageBox*>(QStringLiteral("confirmStop")) != nullptr) return;
    auto* box = new QMessageBox(QMessageBox::Question, tr("A run is being recorded"),
                                tr("Stop the run and close the window?"), QMessageBox::NoButton, this);
    box->setObjectName(QStringLiteral("confirmStop"));
    box->setInformativeText(tr("The run stops at the end of its step. What was recorded so far is kept and listed under "
                               "Open Recent."));
    QPushButton* stop = box->addButton(tr("Stop and Close"), QMessageBox::AcceptRole);
    box->addButton(tr("Keep Running"), QMessageBox::RejectRole);
    box->setAttribute(Qt::WA_DeleteOnClose);
    connect(box, &QMessageBox::buttonClicked, this, [this, box, stop](QAbstractButton* button) {
        if (button != stop) return;
        box->setObjectName({});
        m_closing = true;
        if (m_runs.active()) m_runs.stop();
        else close();
    });
    box->open();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (m_runs.active()) {
        event->ignore();
        if (!m_closing) confirmStop();
        return;
    }
    if (m_workbench.saving()) { // closes by itself when the file is complete
        event->ignore();
        m_closing = true;
        return;
    }
    // What this session has nothing for is there again at the next start.
    for (auto i = m_shownFor.cbegin(); i != m_shownFor.cend(); ++i)
        if (i.value().shownWithout && !i.key()->toggleViewAction()->isVisible()) i.key()->show();
    m_settings.setValue(kGeometryKey, saveGeometry());
    m_settings.setValue(kStateKey, saveState(kLayoutVersion));
    m_settings.sync();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!localFiles(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QStringList files = localFiles(event->mimeData());
    if (files.isEmpty()) return;
    event->acceptProposedAction();
    m_workbench.openTogether(files);
}

} // namespace stepscope::shell
