// The run panel: model text, options, Start / Pause / Stop and live numbers.
#include "ui/state/error_text.h"
#include "ui/theme/icons.h"
#include "ui/views/model_check.h"
#include "ui/views/model_editor.h"
#include "ui/views/run_options.h"
#include "ui/views/run_progress.h"
#include "ui/views/sampling_panel.h"
#include "ui/views/view.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSaveFile>
#include <QScrollArea>
#include <QTextDocument>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>


namespace stepscope::views {

namespace {

constexpr int kCheckDelay = 250;                      // ms after the last key
constexpr qint64 kLargestModelFile = qint64{4} << 20; // bytes

base::Result<QString> readText(const QString& path)
{
    QFile file(path);
    const base::Where where{path.toStdString()};
    if (!file.open(QIODevice::ReadOnly))
        return base::fail(base::ErrorCode::io, "The model file cannot be read: " + file.errorString().toStdString(), where);
    if (file.size() > kLargestModelFile)
        return base::fail(base::ErrorCode::wrongFormat, "This file is too large for a model text (more than 4 MiB)", where,
                          "Choose a text file with a model = Chain(...) in it.");
    return QString::fromUtf8(file.readAll());
}

base::Result<bool> writeText(const QString& path, const QString& text)
{
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(text.toUtf8()) < 0 || !file.commit())
        return base::fail(base::ErrorCode::io, "The model file cannot be written: " + file.errorString().toStdString(),
                          {path.toStdString()});
    return true;
}

class RunView : public QWidget {
public:
    RunView(const ViewContext& context, QWidget* parent)
        : QWidget(parent)
        , m_workbench(context.workbench)
        , m_runs(context.runs)
        , m_theme(context.theme)
        , m_editor(new ModelEditor(context.theme, this))
        , m_options(new RunOptions(this))
        , m_progress(new RunProgress(context.runs, context.theme, this))
    {
        setObjectName(QStringLiteral("runView"));
        setupLayout();
        setupConnections();
        tint();
        openFirstSample();
        refresh();
    }

private:
    void setupLayout()
    {
        m_name = new QLabel(this);
        m_name->setObjectName(QStringLiteral("modelName"));
        m_name->setMinimumWidth(40);
        m_name->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        m_open = new QToolButton(this);
        m_open->setToolTip(tr("Open a model file or a sample"));
        m_open->setPopupMode(QToolButton::InstantPopup);
        m_open->setMenu(makeOpenMenu());
        m_save = new QToolButton(this);
        m_save->setToolTip(tr("Save the model text"));
        for (QToolButton* tool : {m_open, m_save}) tool->setAutoRaise(true);
        auto* top = new QHBoxLayout();
        top->addWidget(m_name, 1);
        top->addWidget(m_open);
        top->addWidget(m_save);

        m_message = new QLabel(this);
        m_message->setObjectName(QStringLiteral("modelMessage"));
        m_message->setWordWrap(true);
        m_message->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::LinksAccessibleByMouse);
        m_editor->setMinimumHeight(120);

        m_start = new QPushButton(tr("Start"), this);
        m_pause = new QPushButton(tr("Pause"), this);
        m_stop = new QPushButton(tr("Stop"), this);
        m_start->setObjectName(QStringLiteral("start"));
        m_pause->setObjectName(QStringLiteral("pause"));
        m_stop->setObjectName(QStringLiteral("stop"));
        m_start->setToolTip(tr("Train this model and record every step (Ctrl+R)"));
        m_start->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_R));
        m_stop->setToolTip(tr("Stop at the end of the current step; what was recorded opens"));
        auto* buttons = new QHBoxLayout();
        for (QPushButton* button : {m_start, m_pause, m_stop}) buttons->addWidget(button, 1);

        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(8, 6, 8, 8);
        layout->setSpacing(6);
        layout->addLayout(top);
        layout->addWidget(m_editor, 1);
        layout->addWidget(m_message);
        layout->addWidget(m_options);
        layout->addLayout(buttons);
        layout->addWidget(m_progress);
        layout->addWidget(new SamplingPanel(m_runs, this));
        setMinimumWidth(300);
    }

    QMenu* makeOpenMenu()
    {
        auto* menu = new QMenu(this);
        menu->addAction(tr("Open model file …"), this, [this] { askForFile(); });
        const QDir samples(QString::fromStdString(m_workbench.services().samplesDirectory));
        const QFileInfoList files = m_workbench.services().samplesDirectory.empty()
            ? QFileInfoList() : samples.entryInfoList({QStringLiteral("*.jl")}, QDir::Files, QDir::Name);
        if (!files.isEmpty()) menu->addSection(tr("Samples"));
        for (const QFileInfo& file : files)
            menu->addAction(file.completeBaseName(), this, [this, path = file.absoluteFilePath()] { loadFile(path); });
        if (!files.isEmpty()) m_firstSample = files.first().absoluteFilePath();
        for (const QFileInfo& file : files)
            if (file.fileName() == QLatin1String("fashion-lenet.jl")) m_firstSample = file.absoluteFilePath();
        return menu;
    }

    void setupConnections()
    {
        m_checkTimer.setSingleShot(true);
        m_checkTimer.setInterval(kCheckDelay);
        connect(&m_checkTimer, &QTimer::timeout, this, [this] { check(); });
        connect(m_editor, &QPlainTextEdit::textChanged, this, [this] {
            m_checked.reset();
            m_checkTimer.start();
            refresh();
        });
        connect(m_editor->document(), &QTextDocument::modificationChanged, this, [this] { refresh(); });
        connect(m_save, &QToolButton::clicked, this, [this] { save(); });
        connect(m_start, &QPushButton::clicked, this, [this] { start(); });
        connect(m_pause, &QPushButton::clicked, this, [this] {
            if (m_runs.state() == state::RunController::State::paused) m_runs.resume();
            else m_runs.pause();
        });
        connect(m_stop, &QPushButton::clicked, &m_runs, &state::RunController::stop);
        connect(m_message, &QLabel::linkActivated, m_editor, &ModelEditor::goToError);
        connect(&m_runs, &state::RunController::stateChanged, this, [this] { refresh(); });
        connect(&m_runs, &state::RunController::finished, this, [this] { refresh(); });
        connect(&m_runs, &state::RunController::statusChanged, m_progress, &RunProgress::refresh);
        connect(&m_workbench, &state::Workbench::sessionChanged, this, [this] {
            takeModelOfSession();
            refresh();
        });
        connect(&m_workbench, &state::Workbench::modelRequested, this, [this](const QString& path) { loadFile(path); });
        connect(&m_theme, &theme::Theme::changed, this, [this] {
            tint();
            showMessage();
            m_progress->refresh();
        });
    }

    void tint()
    {
        const theme::Colours& c = m_theme.colours();
        m_open->setIcon(theme::icon(QStringLiteral("open"), c));
        m_save->setIcon(theme::icon(QStringLiteral("save"), c));
        m_start->setIcon(theme::icon(QStringLiteral("start"), c));
        m_pause->setIcon(theme::icon(QStringLiteral("pause"), c));
        m_stop->setIcon(theme::icon(QStringLiteral("stop"), c));
    }

    void openFirstSample()
    {
        if (!m_firstSample.isEmpty()) loadFile(m_firstSample);
    }

    // The panel follows the session that is shown, unless the user has changed the text or a run is going on.
    void takeModelOfSession()
    {
        const session::SessionPtr& session = m_workbench.session();
        if (session == nullptr || session->modelText().empty() || m_runs.active() || m_editor->document()->isModified()) return;
        const QString text = QString::fromStdString(session->modelText());
        if (text == m_editor->toPlainText()) return;
        m_path.clear();
        m_editor->setPlainText(text);
        m_editor->document()->setModified(false);
        m_loaded = true;
        check();
    }

    void askForFile()
    {
        const QString path = QFileDialog::getOpenFileName(this, tr("Open a model file"), QFileInfo(m_path).absolutePath(),
                                                          tr("Models (*.jl);;All files (*)"));
        if (!path.isEmpty()) loadFile(path);
    }

    void loadFile(const QString& path)
    {
        m_workbench.jobs().start<QString>(
            m_fileJob, QString(), [path](std::stop_token, const base::Progress&) { return readText(path); },
            [this, path](base::Result<QString> text) {
                if (!text) {
                    emit m_workbench.failed(tr("%1 could not be opened").arg(QFileInfo(path).fileName()), text.error());
                    return;
                }
                m_path = path;
                m_editor->setPlainText(*text);
                m_editor->document()->setModified(false);
                m_loaded = true;
                check();
            });
    }

    void save()
    {
        if (m_path.isEmpty() || m_path.startsWith(QString::fromStdString(m_workbench.services().samplesDirectory))) {
            const QString path = QFileDialog::getSaveFileName(this, tr("Save the model text"), QFileInfo(m_path).fileName(),
                                                              tr("Models (*.jl)"));
            if (path.isEmpty()) return;
            m_path = path;
        }
        m_workbench.jobs().start<bool>(
            m_fileJob, QString(),
            [path = m_path, text = m_editor->toPlainText()](std::stop_token, const base::Progress&) { return writeText(path, text); },
            [this](base::Result<bool> done) {
                if (!done) emit m_workbench.failed(tr("The model could not be saved"), done.error());
                else m_editor->document()->setModified(false);
                refresh();
            });
    }

    QString fileName() const { return m_path.isEmpty() ? tr("model text") : QFileInfo(m_path).fileName(); }

    // Samples live inside the program and have no path that means anything outside.
    std::string modelFileName() const
    {
        if (m_path.isEmpty()) return "model.jl";
        return (m_path.startsWith(QLatin1Char(':')) ? QFileInfo(m_path).fileName() : m_path).toStdString();
    }

    void check()
    {
        m_checkTimer.stop();
        const std::string text = m_editor->toPlainText().toStdString();
        if (m_editor->toPlainText().trimmed().isEmpty()) {
            m_checkJob.cancel();
            m_checked.reset();
            m_error.reset();
            m_editor->setError({});
            showMessage();
            return;
        }
        m_workbench.jobs().start<CheckedModel>(
            m_checkJob, QString(),
            [text, file = modelFileName()](
                std::stop_token, const base::Progress&) { return checkModel(text, file); },
            [this](base::Result<CheckedModel> checked) {
                m_error.reset();
                m_checked.reset();
                if (checked) takeChecked(std::move(*checked));
                else m_error = checked.error();
                m_editor->setError(m_error);
                showMessage();
                if (m_startWhenChecked && m_checked.has_value()) start();
                m_startWhenChecked = false;
                refresh();
            });
    }

    void takeChecked(CheckedModel checked)
    {
        const model::ModelFile& file = checked.file;
        m_options->setDefaults(file.data.batchSize, file.data.numWorkers);
        m_options->setFileLength(file.steps, file.epochs, m_loaded);
        m_loaded = false;
        m_checked = std::move(checked);
    }

    void showMessage()
    {
        QPalette palette = m_message->palette();
        palette.setColor(QPalette::WindowText, m_error.has_value() ? m_theme.colours().error : m_theme.colours().dimText);
        m_message->setPalette(palette);
        if (m_error.has_value()) {
            base::Error shown = *m_error;
            shown.where.file = fileName().toStdString();
            const QStringList lines = state::errorText(shown).toHtmlEscaped().split(QLatin1Char('\n'));
            m_message->setText(lines.join(QStringLiteral("<br>")));
        } else if (m_checked.has_value()) {
            m_message->setText((QString::fromStdString(dataText(m_checked->file.data, m_checked->file.dataGiven))
                                + QLatin1Char('\n') + QString::fromStdString(modelText(*m_checked)))
                                   .toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")));
        } else {
            m_message->setText(m_editor->toPlainText().trimmed().isEmpty()
                                   ? tr("Open a model file or paste a model in Flux notation.") : QString());
        }
    }

    void start()
    {
        if (m_runs.active()) return;
        if (!m_checked.has_value()) { // a key was pressed a moment ago: check what stands there now
            m_startWhenChecked = true;
            check();
            return;
        }
        m_runs.start(m_checked->file, m_options->options());
    }

    void refresh()
    {
        using State = state::RunController::State;
        const State now = m_runs.state();
        const bool idle = now == State::idle;
        const session::SessionPtr& session = m_workbench.session();
        const bool foreign = session != nullptr && session->modelText().empty() && session->layers().empty();
        const QString name = fileName() + (m_editor->document()->isModified() ? QStringLiteral(" *") : QString());
        m_name->setText(foreign ? tr("For a new run: %1").arg(name) : name);
        m_name->setToolTip(foreign ? tr("The opened file has no model in it. This one is what Start trains.") : m_path);
        m_start->setEnabled(idle && !m_error.has_value() && !m_editor->document()->isEmpty());
        m_pause->setEnabled(now == State::running || now == State::paused);
        m_pause->setText(now == State::paused ? tr("Resume") : tr("Pause"));
        m_stop->setEnabled(now == State::starting || now == State::running || now == State::paused);
        m_options->setEnabled(idle);
        m_open->setEnabled(idle);
        // Read-only also stops the blinking cursor, which would repaint during the measurement.
        m_editor->setReadOnly(!idle);
        m_progress->refresh();
    }

    state::Workbench& m_workbench;
    state::RunController& m_runs;
    const theme::Theme& m_theme;
    ModelEditor* m_editor;
    RunOptions* m_options;
    RunProgress* m_progress;
    QLabel *m_name = nullptr, *m_message = nullptr;
    QToolButton *m_open = nullptr, *m_save = nullptr;
    QPushButton *m_start = nullptr, *m_pause = nullptr, *m_stop = nullptr;
    QTimer m_checkTimer;
    jobs::JobSlot m_fileJob, m_checkJob;
    QString m_path, m_firstSample;
    std::optional<CheckedModel> m_checked;
    std::optional<base::Error> m_error;
    bool m_startWhenChecked = false;
    bool m_loaded = false; // a file was loaded and not yet checked
};

} // namespace

// In a low window the panel is scrolled: its fields have no smaller form.
QWidget* makeRunView(const ViewContext& context, QWidget* parent)
{
    auto* area = new QScrollArea(parent);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* view = new RunView(context, area);
    area->setWidget(view);
    area->setMinimumWidth(view->minimumWidth());
    return area;
}

} // namespace stepscope::views
