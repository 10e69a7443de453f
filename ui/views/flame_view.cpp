// The flame graph with its tool row, search bar and legend.
#include "core/analysis/flame_tree.h"
#include "core/present/format.h"
#include "core/present/profile_text.h"
#include "core/present/sample_view.h"
#include "ui/flame/flame_widget.h"
#include "ui/flame/legend_widget.h"
#include "ui/state/error_text.h"
#include "ui/theme/icons.h"
#include "ui/views/analysis_filter.h"
#include "ui/views/sample_menu.h"
#include "ui/views/search_bar.h"
#include "ui/views/view.h"

#include <QAction>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QShortcut>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

namespace stepscope::views {

namespace {

// A path that gives up its middle first: where one is, and in what.
class PathLabel : public QLabel {
public:
    using QLabel::QLabel;

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const QRect room = contentsRect();
        style()->drawItemText(&painter, room, Qt::AlignVCenter | Qt::AlignLeft, palette(), isEnabled(),
                              fontMetrics().elidedText(text(), Qt::ElideMiddle, room.width()), foregroundRole());
    }
};

class FlameView : public QWidget {
public:
    FlameView(const ViewContext& context, QWidget* parent)
        : QWidget(parent)
        , m_workbench(context.workbench)
        , m_samples(context.workbench.samples())
        , m_theme(context.theme)
        , m_flame(new flame::FlameWidget(context.theme, this))
        , m_legend(new flame::LegendWidget(context.theme, this))
        , m_search(new SearchBar(context.theme, this))
        , m_path(new PathLabel(this))
        , m_warmup(new QCheckBox(tr("Warm-up steps"), this))
    {
        setObjectName(QStringLiteral("flameView"));
        setupActions();
        setupLayout();
        setupConnections();
        tint();
        rebuild();
    }

private:
    QToolButton* button(const QString& icon, const QString& tip)
    {
        auto* made = new QToolButton(this);
        made->setAutoRaise(true);
        made->setToolTip(tip);
        made->setFocusPolicy(Qt::NoFocus);
        m_buttons.push_back({made, icon});
        return made;
    }

    void setupActions()
    {
        m_back = button(QStringLiteral("back"), tr("Undo the zoom (Backspace, Alt+Left)"));
        m_forward = button(QStringLiteral("forward"), tr("Redo the zoom (Alt+Right)"));
        m_whole = button(QStringLiteral("whole"), tr("Show the whole step (0)"));
        m_flip = button(QStringLiteral("flip"), tr("Root at the bottom, like flames"));
        m_flip->setCheckable(true);
        m_self = button(QStringLiteral("self"), tr("Show what frames spend themselves: what they spend in others turns pale"));
        m_self->setCheckable(true);
        m_widest = button(QStringLiteral("widest"), tr("Follow the widest path to its leaf"));
        m_find = button(QStringLiteral("search"), tr("Find (Ctrl+F)"));
        m_warmup->setToolTip(tr("Include the first steps, which are marked as warm-up because they still set things up"));
        m_warmup->setFocusPolicy(Qt::TabFocus);
        auto* shortcut = new QShortcut(QKeySequence::Find, this);
        shortcut->setContext(Qt::WindowShortcut);
        connect(shortcut, &QShortcut::activated, m_search, &SearchBar::open);
        connect(m_find, &QToolButton::clicked, m_search, &SearchBar::open);
        connect(m_back, &QToolButton::clicked, m_flame, &flame::FlameWidget::undoZoom);
        connect(m_forward, &QToolButton::clicked, m_flame, &flame::FlameWidget::redoZoom);
        connect(m_whole, &QToolButton::clicked, m_flame, &flame::FlameWidget::showWhole);
        connect(m_flip, &QToolButton::toggled, m_flame, &flame::FlameWidget::setRootAtBottom);
        connect(m_self, &QToolButton::toggled, m_flame, &flame::FlameWidget::setShowSelf);
        connect(m_widest, &QToolButton::clicked, m_flame, &flame::FlameWidget::followWidest);
    }

    void setupLayout()
    {
        auto* bar = new QHBoxLayout();
        bar->setContentsMargins(6, 3, 8, 3);
        bar->setSpacing(2);
        for (QToolButton* tool : {m_back, m_forward, m_whole, m_flip, m_self, m_widest, m_find}) bar->addWidget(tool);
        bar->addSpacing(8);
        m_path->setObjectName(QStringLiteral("flamePath"));
        m_path->setMinimumWidth(40);
        m_path->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        bar->addWidget(m_path, 1);
        bar->addSpacing(12);
        bar->addWidget(m_warmup);
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(0);
        layout->addLayout(bar);
        layout->addWidget(m_search);
        layout->addWidget(m_flame, 1);
        layout->addWidget(m_legend);
    }

    void setupConnections()
    {
        connect(&m_workbench, &state::Workbench::sessionChanged, this, [this] {
            if (m_workbench.session() == nullptr) m_search->closeBar();
            rebuild();
        });
        connect(&m_workbench, &state::Workbench::filterChanged, this, [this] { rebuild(); });
        connect(&m_workbench, &state::Workbench::openingChanged, this, [this] { showEmptyText(); });
        connect(&m_workbench, &state::Workbench::selectedLayerChanged, this,
                [this] { m_flame->setHighlightedLayer(m_workbench.selectedLayer()); });
        connect(m_warmup, &QCheckBox::toggled, this, [this](bool on) { m_workbench.setFilter({on}); });
        connect(m_search, &SearchBar::searched, m_flame, &flame::FlameWidget::setSearch);
        connect(m_search, &SearchBar::nextRequested, m_flame, &flame::FlameWidget::nextMatch);
        connect(m_search, &SearchBar::closed, m_flame, [this] { m_flame->setFocus(); });
        connect(m_flame, &flame::FlameWidget::searchCleared, m_search, &SearchBar::hide);
        connect(m_flame, &flame::FlameWidget::matchesChanged, this,
                [this] { m_search->showResult(m_flame->matches(), m_flame->currentMatch()); });
        connect(m_flame, &flame::FlameWidget::placeChanged, this, [this] { showPlace(); });
        connect(m_flame, &flame::FlameWidget::selectionChanged, this, [this](uint32_t node) { selected(node); });
        connect(m_flame, &flame::FlameWidget::menuRequested, this, [this](uint32_t node, const QPoint& at) { showMenu(node, at); });
        connect(m_flame, &flame::FlameWidget::sourceRequested, this, [this](uint32_t node) {
            if (const analysis::FlamePlace* place = m_flame->tree()->place(node)) openPlace(m_workbench, *m_flame->tree()->session, *place);
        });
        connect(&m_workbench.spans(), &state::SpanSelection::nodeRequested, this, [this](uint32_t node) {
            m_flame->select(node);
            m_flame->ensureVisible(node);
        });
        connect(&m_samples, &state::Samples::inFlameChanged, this, [this] { rebuild(); });
        connect(&m_samples, &state::Samples::viewChanged, this, [this] {
            if (showsSamples()) showSamples();
        });
        connect(&m_samples, &state::Samples::availableChanged, this, [this] { rebuild(); });
        connect(&m_theme, &theme::Theme::changed, this, [this] { tint(); });
    }

    // A run that goes on is seen by its samples; its spans open when it is over.
    bool showsSamples() const { return m_samples.live() || (m_samples.inFlame() && m_samples.available()); }

    void selected(uint32_t node)
    {
        const auto& tree = m_flame->tree();
        if (tree != nullptr && tree->ofSamples) {
            const analysis::FlamePlace* place = node == present::kNoNode ? nullptr : tree->place(node);
            m_samples.selectFunction(place != nullptr ? place->function : base::StringId());
            return;
        }
        const session::Label* label = node == present::kNoNode || tree == nullptr ? nullptr : tree->label(node);
        m_workbench.selectLayer(label != nullptr ? label->layer : base::LayerId());
        const session::SessionPtr& session = m_workbench.session();
        if (session != nullptr && showsSpanDetails(*session)) m_workbench.spans().setNode(tree, node);
    }

    void showMenu(uint32_t node, const QPoint& at)
    {
        const flame::FlameWidget::TreePtr tree = m_flame->tree(); // stays while the menu is open
        QMenu menu;
        if (node != present::kNoNode && tree != nullptr) {
            menu.addAction(tr("&Zoom Here\tEnter"), m_flame, [this, node, tree] {
                if (m_flame->tree() == tree) m_flame->zoomTo(node);
            });
            if (const analysis::FlamePlace* place = tree->place(node)) addPlaceActions(menu, m_workbench, tree->session, *place);
            else menu.addAction(tr("Copy &Name"), this, [name = std::string(tree->name(node))] { copyText(QString::fromStdString(name)); });
            menu.addAction(tr("Copy &Path"), this, [path = tree->path(node)] { copyText(QString::fromStdString(path)); });
            menu.addSeparator();
        }
        QAction* whole = menu.addAction(tr("Show the &Whole\t0"), m_flame, &flame::FlameWidget::showWhole);
        whole->setEnabled(!m_flame->atHome());
        menu.exec(at);
    }

    void showSamples()
    {
        m_job.cancel();
        const state::Samples::ViewPtr view = m_samples.view();
        if (view == nullptr) {
            m_flame->setEmptyText(m_samples.available() ? tr("Merging stacks …") : QString::fromStdString(present::noSamplesText()));
            showTree(nullptr);
            return;
        }
        m_flame->setEmptyText(QString::fromStdString(present::noFramesText(view->profile)));
        showTree({view, &view->profile.tree});
    }

    void tint()
    {
        for (const auto& [tool, icon] : m_buttons) tool->setIcon(theme::icon(icon, m_theme.colours()));
    }

    static QString stepsText(const analysis::FlameTree& tree)
    {
        QString text = tree.steps == 1 ? tr("1 step") : tr("%1 steps").arg(QString::fromStdString(present::formatCount(tree.steps)));
        if (tree.warmupOnly) text += tr(", all of them warm-up");
        else if (tree.warmupLeftOut == 1) text += tr(", 1 warm-up step left out");
        else if (tree.warmupLeftOut > 1) text += tr(", %1 warm-up steps left out").arg(tree.warmupLeftOut);
        return text;
    }

    void showPlace()
    {
        const auto& tree = m_flame->tree();
        m_back->setEnabled(m_flame->canUndo());
        m_forward->setEnabled(m_flame->canRedo());
        m_whole->setEnabled(tree != nullptr && !m_flame->atHome());
        QString text;
        if (tree != nullptr) {
            text = m_flame->atHome()
                ? (tree->ofSamples && m_samples.view() != nullptr ? QString::fromStdString(present::sampleSummary(m_samples.view()->profile))
                                                                   : stepsText(*tree))
                : m_flame->zoomedNode() == 0 ? tr("everything that was recorded in these steps")
                                             : QString::fromStdString(tree->path(m_flame->zoomedNode()));
        }
        m_path->setText(text);
        m_path->setToolTip(text);
    }

    void showEmptyText()
    {
        m_flame->setEmptyText(m_workbench.opening()
                                  ? tr("Opening the session …")
                                  : tr("No session is open.\n\nOpen a recorded session or a trace of another tool (Ctrl+O), drop the file here,\n"
                                       "or choose a model in the Run panel and press Start."));
    }

    void rebuild()
    {
        using TreePtr = flame::FlameWidget::TreePtr;
        const session::SessionPtr session = m_workbench.session();
        m_warmup->setEnabled(session != nullptr);
        if (showsSamples()) return showSamples();
        if (session == nullptr) {
            m_job.cancel();
            showTree(nullptr);
            showEmptyText();
            return;
        }
        if (m_flame->tree() == nullptr) m_flame->setEmptyText(tr("Building the flame graph …"));
        m_workbench.jobs().start<TreePtr>(
            m_job, tr("Building the flame graph"),
            [session, filter = analysisFilter(m_workbench.filter())](std::stop_token stop,
                                                                     const base::Progress& progress) -> base::Result<TreePtr> {
                return std::make_shared<const analysis::FlameTree>(
                    analysis::buildFlameTree(session, filter, analysis::ChildOrder::firstOccurrence, stop, progress));
            },
            [this](base::Result<TreePtr> tree) {
                if (!tree) m_flame->setEmptyText(state::errorText(tree.error()));
                showTree(tree ? *tree : nullptr);
                m_workbench.columnsLoaded();
            });
    }

    void showTree(const flame::FlameWidget::TreePtr& tree)
    {
        const bool drawable = tree != nullptr && tree->nodes.size() > 1;
        m_legend->setTree(drawable ? tree.get() : nullptr);
        m_legend->setVisible(drawable);
        for (QToolButton* tool : {m_flip, m_self, m_widest, m_find}) tool->setEnabled(drawable);
        const auto& before = m_flame->tree();
        const bool sameRun = m_samples.live() && tree != nullptr && before != nullptr && tree->ofSamples && before->ofSamples;
        m_flame->setTree(tree, sameRun);
        m_flame->setHighlightedLayer(m_workbench.selectedLayer());
        showPlace();
    }

    state::Workbench& m_workbench;
    state::Samples& m_samples;
    const theme::Theme& m_theme;
    flame::FlameWidget* m_flame;
    flame::LegendWidget* m_legend;
    SearchBar* m_search;
    QLabel* m_path;
    QCheckBox* m_warmup;
    QToolButton *m_back = nullptr, *m_forward = nullptr, *m_whole = nullptr, *m_flip = nullptr, *m_self = nullptr, *m_widest = nullptr,
        *m_find = nullptr;
    std::vector<std::pair<QToolButton*, QString>> m_buttons;
    jobs::JobSlot m_job;
};

} // namespace

QWidget* makeFlameView(const ViewContext& context, QWidget* parent) { return new FlameView(context, parent); }

} // namespace stepscope::views
