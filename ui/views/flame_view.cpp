// The flame graph with its tool row, search bar and legend.
#include "core/analysis/flame_tree.h"
#include "core/present/format.h"
#include "ui/flame/flame_widget.h"
#include "ui/flame/legend_widget.h"
#include "ui/state/error_text.h"
#include "ui/theme/icons.h"
#include "ui/views/analysis_filter.h"
#include "ui/views/search_bar.h"
#include "ui/views/view.h"

#include <QAction>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QShortcut>
#include <QToolButton>
#include <QVBoxLayout>

namespace stepscope::views {

namespace {

class FlameView : public QWidget {
public:
    FlameView(const ViewContext& context, QWidget* parent)
        : QWidget(parent)
        , m_workbench(context.workbench)
        , m_theme(context.theme)
        , m_flame(new flame::FlameWidget(context.theme, this))
        , m_legend(new flame::LegendWidget(context.theme, this))
        , m_search(new SearchBar(context.theme, this))
        , m_path(new QLabel(this))
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
    }

    void setupLayout()
    {
        auto* bar = new QHBoxLayout();
        bar->setContentsMargins(6, 3, 8, 3);
        bar->setSpacing(2);
        for (QToolButton* tool : {m_back, m_forward, m_whole, m_flip, m_find}) bar->addWidget(tool);
        bar->addSpacing(8);
        m_path->setTextInteractionFlags(Qt::TextSelectableByMouse);
        m_path->setMinimumWidth(40);
        m_path->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        bar->addWidget(m_path, 1);
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
        connect(m_flame, &flame::FlameWidget::selectionChanged, this, [this](uint32_t node) {
            const session::Label* label = node == present::kNoNode ? nullptr : m_flame->tree()->label(node);
            m_workbench.selectLayer(label != nullptr ? label->layer : base::LayerId());
        });
        connect(&m_theme, &theme::Theme::changed, this, [this] { tint(); });
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
                ? stepsText(*tree)
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
                                  : tr("No session is open.\n\nOpen a recorded session (Ctrl+O), drop a .stepscope file here,\n"
                                       "or choose a model in the Run panel and press Start."));
    }

    void rebuild()
    {
        using TreePtr = flame::FlameWidget::TreePtr;
        const session::SessionPtr session = m_workbench.session();
        m_warmup->setEnabled(session != nullptr);
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
        for (QToolButton* tool : {m_flip, m_find}) tool->setEnabled(drawable);
        m_flame->setTree(tree);
        m_flame->setHighlightedLayer(m_workbench.selectedLayer());
        showPlace();
    }

    state::Workbench& m_workbench;
    const theme::Theme& m_theme;
    flame::FlameWidget* m_flame;
    flame::LegendWidget* m_legend;
    SearchBar* m_search;
    QLabel* m_path;
    QCheckBox* m_warmup;
    QToolButton *m_back = nullptr, *m_forward = nullptr, *m_whole = nullptr, *m_flip = nullptr, *m_find = nullptr;
    std::vector<std::pair<QToolButton*, QString>> m_buttons;
    jobs::JobSlot m_job;
};

} // namespace

QWidget* makeFlameView(const ViewContext& context, QWidget* parent) { return new FlameView(context, parent); }

} // namespace stepscope::views
