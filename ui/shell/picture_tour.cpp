#include "ui/shell/picture_tour.h"

#include "core/present/sample_view.h"
#include "ui/flame/flame_widget.h"
#include "ui/shell/main_window.h"
#include "ui/shell/message_bar.h"
#include "ui/theme/theme.h"
#include "ui/views/model_editor.h"
#include "ui/views/search_bar.h"

#include <QDir>
#include <QDockWidget>
#include <QPixmap>
#include <QTimer>

#include <algorithm>

namespace stepscope::shell {

namespace {

constexpr int kPoll = 50;         // ms
constexpr int kLongest = 60'000;  // ms for one stop
constexpr int kSettle = 250;      // ms after the last job

// The largest frame of that name.
uint32_t findNode(const flame::FlameWidget& flame, std::string_view name)
{
    uint32_t best = 0;
    const auto& tree = flame.tree();
    for (uint32_t node = 1; tree != nullptr && node < tree->nodes.size(); ++node)
        if (tree->name(node) == name && (best == 0 || tree->node(node).total > tree->node(best).total)) best = node;
    return best;
}

// The function that most samples end in.
base::StringId busiestFunction(const state::Samples& samples)
{
    const analysis::FlatRow* best = nullptr;
    if (samples.view() == nullptr) return {};
    const analysis::SampleProfile& profile = samples.view()->profile;
    for (const analysis::FlatRow& row : profile.flat)
        if (row.place < profile.tree.places.size() && (best == nullptr || row.self > best->self)) best = &row;
    return best != nullptr ? profile.tree.places[best->place].function : base::StringId();
}

// The middle of the widest drawn frame of a row.
QPointF widestInRow(const flame::FlameWidget& flame, int row)
{
    const present::FlameRect* best = nullptr;
    for (const present::FlameRect& rect : flame.layout().rects)
        if (rect.row == row && rect.kind == present::FlameRectKind::frame && (best == nullptr || rect.w > best->w)) best = &rect;
    return best != nullptr ? flame.viewportRect(*best).center() : QPointF(200, 60);
}

} // namespace

PictureTour::PictureTour(MainWindow& window, theme::Theme& theme, const QString& file, const QString& directory)
    : QObject(&window)
    , m_window(window)
    , m_theme(theme)
    , m_directory(directory)
{
    auto* flame = window.findChild<flame::FlameWidget*>();
    auto* search = window.findChild<views::SearchBar*>();
    auto* editor = window.findChild<views::ModelEditor*>();
    m_stops = {
        {QStringLiteral("empty"), [this] { m_theme.setMode(theme::ThemeMode::light); }},
        {QStringLiteral("overview"), [this, file] { m_window.workbench().open(file); }},
        {QStringLiteral("hover"),
         [flame] { flame->hoverAt(widestInRow(*flame, flame->layout().rows - 1)); }},
        {QStringLiteral("zoom"), [flame] { flame->zoomTo(findNode(*flame, "backward")); }},
        {QStringLiteral("search"),
         [flame, search] {
             flame->showWhole();
             search->open();
             search->setText(QStringLiteral("conv"));
         }},
        {QStringLiteral("layer"),
         [this, search] {
             search->closeBar();
             const auto& layers = m_window.workbench().session()->layers();
             for (uint32_t i = 0; i < layers.size(); ++i)
                 if (layers[i].name == "conv2") m_window.workbench().selectLayer(base::LayerId(i));
         }},
        {QStringLiteral("samples"),
         [this] {
             m_window.workbench().selectLayer({});
             m_window.workbench().samples().setInFlame(true);
             m_window.dock(QStringLiteral("sample-flat"))->raise();
         }},
        {QStringLiteral("samples-hover"), [flame] { flame->hoverAt(widestInRow(*flame, std::min(10, flame->layout().rows - 1))); }},
        {QStringLiteral("samples-libraries"),
         [this, flame] {
             analysis::SampleFilter filter = m_window.workbench().samples().filter();
             filter.native = true;
             filter.groups = {analysis::SampleGroup::thread, analysis::SampleGroup::phase};
             m_window.workbench().samples().setFilter(filter);
             flame->setShowSelf(true);
             m_window.dock(QStringLiteral("sample-tree"))->raise();
         }},
        {QStringLiteral("samples-callers"),
         [this, flame] {
             state::Samples& samples = m_window.workbench().samples();
             flame->setShowSelf(false);
             samples.resetFilter();
             samples.showFunction(busiestFunction(samples), analysis::SampleShape::callers);
         }},
        {QStringLiteral("model-error"),
         [this, editor] {
             m_window.workbench().samples().resetFilter();
             m_window.workbench().samples().setInFlame(false);
             m_window.dock(QStringLiteral("layers"))->raise();
             editor->setPlainText(QStringLiteral("# A typing error is shown where it is.\nmodel = Chain(\n    Conv((5, 5), 1 => 6, relu),\n"
                                                 "    MaxPol((2, 2)),\n    Flux.flatten,\n    Dense(864 => 10))\n"
                                                 "loss = logitcrossentropy\n"));
         }},
        {QStringLiteral("dark"), [this] { m_theme.setMode(theme::ThemeMode::dark); }},
    };
}

void PictureTour::start()
{
    if (!QDir().mkpath(m_directory)) {
        emit done(false, tr("The folder %1 cannot be made").arg(m_directory));
        return;
    }
    QTimer::singleShot(kSettle, this, &PictureTour::next);
}

void PictureTour::next()
{
    if (m_at == m_stops.size()) {
        emit done(true, tr("%1 pictures in %2").arg(m_stops.size()).arg(m_directory));
        return;
    }
    m_stops[m_at].prepare();
    m_waited = 0;
    QTimer::singleShot(kSettle + 150, this, &PictureTour::take); // the model check starts after a short pause
}

bool PictureTour::settled() const { return m_window.workbench().jobs().running() == 0; }

void PictureTour::take()
{
    if (!settled() && m_waited < kLongest) {
        m_waited += kPoll;
        QTimer::singleShot(kPoll, this, &PictureTour::take);
        return;
    }
    if (m_stops[m_at].name == QLatin1String("overview") && m_window.workbench().session() == nullptr) {
        emit done(false, m_window.messages().text());
        return;
    }
    QTimer::singleShot(kSettle, this, [this] {
        const QPixmap picture = m_window.grab();
        const QString path = QStringLiteral("%1/%2.png").arg(m_directory, m_stops[m_at].name);
        if (!picture.save(path)) {
            emit done(false, tr("%1 cannot be written").arg(path));
            return;
        }
        ++m_at;
        next();
    });
}

} // namespace stepscope::shell
