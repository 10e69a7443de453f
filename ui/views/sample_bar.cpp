#include "ui/views/sample_bar.h"

#include "core/analysis/sample_tree.h"
#include "core/present/format.h"
#include "core/present/sample_view.h"
#include "ui/theme/icons.h"

#include <QBoxLayout>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>
#include <QVariant>
#include <QWidgetAction>

#include <algorithm>

namespace stepscope::views {

namespace {

using analysis::SampleFilter;
using analysis::SampleGroup;
using analysis::SampleShape;

constexpr int kNoLimit = 999'999'999;

QString fromUtf8(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

QString capital(QString text)
{
    if (text.startsWith(QLatin1String("cpu "))) return QStringLiteral("CPU") + text.mid(3);
    if (!text.isEmpty()) text[0] = text[0].toUpper();
    return text;
}

const std::vector<std::vector<SampleGroup>>& groupChoices()
{
    static const std::vector<std::vector<SampleGroup>> choices{
        {}, {SampleGroup::thread}, {SampleGroup::phase}, {SampleGroup::layer}, {SampleGroup::thread, SampleGroup::phase},
        {SampleGroup::phase, SampleGroup::layer}};
    return choices;
}

void choose(QComboBox& box, const QVariant& data)
{
    const int at = box.findData(data);
    box.setCurrentIndex(at < 0 ? 0 : at);
}

QComboBox* combo(const QString& tip, int width, QWidget* parent)
{
    auto* box = new QComboBox(parent);
    box->setToolTip(tip);
    box->setAccessibleName(tip);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(width);
    box->setFocusPolicy(Qt::TabFocus);
    return box;
}

QSpinBox* spin(int high, const QString& special, const QString& tip, QWidget* parent)
{
    auto* box = new QSpinBox(parent);
    box->setRange(-1, high);
    box->setSpecialValueText(special);
    box->setToolTip(tip);
    box->setKeyboardTracking(false);
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    box->setFixedWidth(64);
    return box;
}

} // namespace

SampleBar::SampleBar(const ViewContext& context, QWidget* parent)
    : QWidget(parent)
    , m_workbench(context.workbench)
    , m_samples(context.workbench.samples())
    , m_theme(context.theme)
{
    setObjectName(QStringLiteral("sampleBar"));
    setupFields();
    setupMore();
    setupLayout();
    setupConnections();
    fill();
}

void SampleBar::setupFields()
{
    m_source = combo(tr("What the flame graph shows: recorded spans, or stack samples"), 9, this);
    m_source->setObjectName(QStringLiteral("sampleSource"));
    m_shape = combo(tr("Which way the stacks are read"), 9, this);
    m_shape->addItem(tr("Top-down"), static_cast<int>(SampleShape::topDown));
    m_shape->addItem(tr("Bottom-up"), static_cast<int>(SampleShape::bottomUp));
    m_group = combo(tr("Group the samples"), 11, this);
    const QStringList groups{tr("No groups"), tr("By thread"), tr("By phase"), tr("By layer"), tr("Thread › phase"), tr("Phase › layer")};
    m_group->addItems(groups);
    m_thread = combo(tr("Only samples of this thread"), 8, this);
    m_phase = combo(tr("Only samples of this phase"), 8, this);
    m_layer = combo(tr("Only samples of this layer and of those inside it"), 8, this);
    m_first = spin(kNoLimit, tr("first"), tr("First step whose samples count"), this);
    m_last = spin(kNoLimit, tr("last"), tr("Last step whose samples count"), this);
    m_native = new QCheckBox(tr("Libraries"), this);
    m_native->setObjectName(QStringLiteral("nativeFrames"));
    m_native->setToolTip(tr("Also show frames of libraries and of the operating system. Without them their time belongs to the code that "
                            "called them, and its colour tells when they were slow or allocated."));
    m_live = new QLabel(tr("live"), this);
    m_live->setObjectName(QStringLiteral("liveBadge"));
    m_live->setToolTip(tr("Samples of the run that is going on, renewed twice a second"));
    m_live->hide();
    m_lost = new QToolButton(this);
    m_lost->setObjectName(QStringLiteral("lostBadge"));
    m_lost->setAutoRaise(true);
    m_lost->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_lost->hide();
}

// The settings that are changed less often, in a menu of their own.
void SampleBar::setupMore()
{
    auto* page = new QWidget(this);
    auto* form = new QFormLayout(page);
    m_merge = new QComboBox(page);
    m_merge->addItem(tr("same line"), static_cast<int>(analysis::SampleMerge::line));
    m_merge->addItem(tr("same function"), static_cast<int>(analysis::SampleMerge::function));
    m_merge->addItem(tr("same address"), static_cast<int>(analysis::SampleMerge::address));
    m_recursion = new QComboBox(page);
    m_recursion->addItem(tr("as it is"), static_cast<int>(analysis::SampleRecursion::off));
    m_recursion->addItem(tr("flat, as a loop"), static_cast<int>(analysis::SampleRecursion::flat));
    m_order = new QComboBox(page);
    m_order->addItem(tr("file and line"), static_cast<int>(analysis::SampleOrder::fileLine));
    m_order->addItem(tr("samples"), static_cast<int>(analysis::SampleOrder::count));
    m_order->addItem(tr("own samples"), static_cast<int>(analysis::SampleOrder::overhead));
    m_depth = spin(kNoLimit, tr("all"), tr("Deepest level that is shown, from 0"), page);
    m_count = spin(kNoLimit, tr("all"), tr("Frames with fewer samples are hidden"), page);
    m_noise = new QDoubleSpinBox(page);
    m_noise->setRange(0, 1000);
    m_noise->setDecimals(1);
    m_noise->setSingleStep(0.5);
    m_noise->setSpecialValueText(tr("off"));
    m_noise->setKeyboardTracking(false);
    m_noise->setFixedWidth(64);
    m_noise->setToolTip(tr("Hides n samples below N where n ≤ this × √N: what may be chance. A value to try is 2."));
    m_outside = new QCheckBox(tr("outside of steps, too"), page);
    m_outside->setToolTip(tr("Setup, evaluation and what else the training thread does between steps"));
    form->addRow(tr("&Merge frames of"), m_merge);
    form->addRow(tr("&Recursion"), m_recursion);
    form->addRow(tr("&Sort by"), m_order);
    form->addRow(tr("&Depth"), m_depth);
    form->addRow(tr("At &least"), m_count);
    form->addRow(tr("&Noise floor"), m_noise);
    form->addRow(QString(), m_outside);
    m_reset = new QPushButton(tr("Reset All Filters"), page);
    form->addRow(m_reset);
    m_more = new QToolButton(this);
    m_more->setObjectName(QStringLiteral("moreFilters"));
    m_more->setText(tr("More"));
    m_more->setPopupMode(QToolButton::InstantPopup);
    m_more->setToolTip(tr("How frames are merged, sorted and hidden"));
    auto* menu = new QMenu(m_more);
    auto* action = new QWidgetAction(menu);
    action->setDefaultWidget(page);
    menu->addAction(action);
    m_more->setMenu(menu);
    m_back = new QToolButton(this);
    m_back->setAutoRaise(true);
    m_back->setToolTip(tr("Undo the last change of the filters"));
}

void SampleBar::setupLayout()
{
    const auto makeRow = [this](QWidget*& holder) {
        holder = new QWidget(this);
        auto* row = new QHBoxLayout(holder);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(4);
        return row;
    };
    QHBoxLayout* what = makeRow(m_what);
    const auto caption = [&](const QString& text) {
        auto* label = new QLabel(text, m_what);
        label->setForegroundRole(QPalette::PlaceholderText);
        what->addWidget(label);
    };
    caption(tr("Flame graph:"));
    what->addWidget(m_source);
    what->addSpacing(8);
    caption(tr("Samples:"));
    for (QComboBox* box : {m_shape, m_group}) what->addWidget(box);
    what->addStretch(1);
    QHBoxLayout* which = makeRow(m_which);
    for (QComboBox* box : {m_thread, m_phase, m_layer}) which->addWidget(box);
    which->addSpacing(4);
    which->addWidget(new QLabel(tr("Steps"), m_which));
    which->addWidget(m_first);
    which->addWidget(new QLabel(QStringLiteral("–"), m_which));
    which->addWidget(m_last);
    which->addSpacing(4);
    which->addWidget(m_native);
    which->addWidget(m_more);
    which->addWidget(m_back);
    which->addStretch(1);
    which->addWidget(m_live);
    which->addWidget(m_lost);
    m_rows = new QBoxLayout(QBoxLayout::LeftToRight, this);
    m_rows->setContentsMargins(6, 2, 6, 2);
    m_rows->setSpacing(4);
    m_rows->addWidget(m_what);
    m_rows->addWidget(m_which, 1);
}

QSize SampleBar::minimumSizeHint() const
{
    const QMargins margins = m_rows->contentsMargins();
    const int widest = std::max(m_what->sizeHint().width(), m_which->sizeHint().width());
    return {widest + margins.left() + margins.right(), m_rows->minimumSize().height()};
}

void SampleBar::arrangeRows()
{
    const QMargins margins = m_rows->contentsMargins();
    const int needed = m_what->sizeHint().width() + m_which->sizeHint().width() + m_rows->spacing() + margins.left() + margins.right();
    m_rows->setDirection(needed <= width() ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

void SampleBar::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrangeRows();
}

bool SampleBar::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest) arrangeRows(); // a field came or went
    return QWidget::event(event);
}

void SampleBar::setupConnections()
{
    connect(m_source, &QComboBox::activated, this, [this] {
        const bool spans = m_source->currentData().toInt() < 0;
        if (!spans) addSeries();
        m_samples.setInFlame(!spans);
    });
    for (QComboBox* box : {m_shape, m_group, m_thread, m_phase, m_layer, m_merge, m_order, m_recursion})
        connect(box, &QComboBox::activated, this, &SampleBar::apply);
    for (QSpinBox* box : {m_first, m_last, m_depth, m_count}) connect(box, &QSpinBox::valueChanged, this, &SampleBar::apply);
    connect(m_noise, &QDoubleSpinBox::valueChanged, this, &SampleBar::apply);
    for (QCheckBox* box : {m_native, m_outside}) connect(box, &QCheckBox::toggled, this, &SampleBar::apply);
    connect(m_reset, &QPushButton::clicked, &m_samples, &state::Samples::resetFilter);
    connect(m_back, &QToolButton::clicked, &m_samples, &state::Samples::undo);
    connect(m_lost, &QToolButton::clicked, this, &SampleBar::qualityRequested);
    connect(&m_samples, &state::Samples::availableChanged, this, &SampleBar::fill);
    connect(&m_samples, &state::Samples::filterChanged, this, &SampleBar::showState);
    connect(&m_samples, &state::Samples::inFlameChanged, this, &SampleBar::showState);
    connect(&m_workbench, &state::Workbench::qualityChanged, this, &SampleBar::showLosses);
    connect(&m_theme, &theme::Theme::changed, this, &SampleBar::showLosses);
}

void SampleBar::addSeries()
{
    SampleFilter next = m_samples.filter();
    next.series = base::SeriesId(static_cast<uint32_t>(m_source->currentData().toInt()));
    m_samples.setFilter(next);
}

void SampleBar::fill()
{
    m_quiet = true;
    for (QComboBox* box : {m_source, m_thread, m_phase, m_layer}) box->clear();
    m_source->addItem(tr("Spans"), -1);
    m_thread->addItem(tr("All threads"), -1);
    m_phase->addItem(tr("All phases"), -1);
    m_layer->addItem(tr("All layers"), -1);
    if (const session::SessionPtr& session = m_samples.session()) {
        for (size_t i = 0; i < session->series().size(); ++i)
            m_source->addItem(capital(fromUtf8(session->series()[i].name)), static_cast<int>(i));
        for (size_t i = 0; i < session->tracks().size(); ++i)
            if (session->tracks()[i].kind == session::TrackKind::thread && session->tracks()[i].lane == 0)
                m_thread->addItem(fromUtf8(session::trackTitle(session->tracks()[i])), static_cast<int>(i));
        uint32_t phases = 0;
        for (const session::Label& label : session->labels()) phases |= analysis::phaseBit(label.phase);
        for (int i = 1; i < session::kPhaseCount; ++i)
            if ((phases & (1u << i)) != 0) m_phase->addItem(capital(fromUtf8(session::phaseName(static_cast<session::Phase>(i)))), i);
        for (size_t i = 0; i < session->layers().size(); ++i)
            if (!session->layers()[i].path.empty()) m_layer->addItem(fromUtf8(session->layers()[i].path), static_cast<int>(i));
    }
    for (QComboBox* box : {m_thread, m_phase, m_layer}) box->setEnabled(box->count() > 1);
    const bool steps = m_samples.session() != nullptr && !m_samples.session()->steps().empty();
    for (QWidget* field : {static_cast<QWidget*>(m_first), static_cast<QWidget*>(m_last), static_cast<QWidget*>(m_outside)})
        field->setEnabled(steps);
    m_quiet = false;
    showState();
    showLosses();
}

void SampleBar::showState()
{
    const SampleFilter& filter = m_samples.filter();
    m_quiet = true;
    const session::SessionPtr& session = m_samples.session();
    const base::SeriesId series = session != nullptr ? analysis::seriesOf(*session, filter) : base::SeriesId();
    choose(*m_source, (m_samples.inFlame() || m_samples.live()) && series.valid() ? static_cast<int>(series.value) : -1);
    // Callers and callees are of a function that was chosen elsewhere.
    while (m_shape->count() > 2) m_shape->removeItem(2);
    if (filter.function.valid() && session != nullptr) {
        const QString name = fromUtf8(analysis::shortFunctionName(session->string(filter.function)));
        m_shape->addItem(tr("Callers of %1").arg(name), static_cast<int>(SampleShape::callers));
        m_shape->addItem(tr("What %1 calls").arg(name), static_cast<int>(SampleShape::callees));
    }
    choose(*m_shape, static_cast<int>(filter.shape));
    const auto& groups = groupChoices();
    const auto group = std::find(groups.begin(), groups.end(), filter.groups);
    m_group->setCurrentIndex(group == groups.end() ? 0 : static_cast<int>(group - groups.begin()));
    choose(*m_thread, filter.spans.tracks.size() == 1 ? static_cast<int>(filter.spans.tracks[0].value) : -1);
    int phase = -1;
    for (int i = 0; i < session::kPhaseCount; ++i)
        if (filter.spans.phases == (1u << i)) phase = i;
    choose(*m_phase, phase);
    choose(*m_layer, filter.layers.size() == 1 ? static_cast<int>(filter.layers[0].value) : -1);
    m_first->setValue(filter.spans.firstStep <= 0 ? -1 : static_cast<int>(std::min<int64_t>(filter.spans.firstStep, kNoLimit)));
    m_last->setValue(filter.spans.lastStep > kNoLimit ? -1 : static_cast<int>(filter.spans.lastStep));
    m_native->setChecked(filter.native);
    m_outside->setChecked(filter.spans.outsideSteps);
    choose(*m_merge, static_cast<int>(filter.merge));
    choose(*m_order, static_cast<int>(filter.order));
    choose(*m_recursion, static_cast<int>(filter.recursion));
    m_depth->setValue(filter.maxDepth > kNoLimit ? -1 : filter.maxDepth);
    m_count->setValue(filter.minCount <= 0 ? -1 : static_cast<int>(std::min<int64_t>(filter.minCount, kNoLimit)));
    m_noise->setValue(filter.noiseFloor);
    m_quiet = false;

    int changed = 0;
    const SampleFilter plain;
    changed += filter.merge != plain.merge ? 1 : 0;
    changed += filter.order != plain.order ? 1 : 0;
    changed += filter.recursion != plain.recursion ? 1 : 0;
    changed += filter.maxDepth != plain.maxDepth ? 1 : 0;
    changed += filter.minCount > 0 ? 1 : 0;
    changed += filter.noiseFloor > 0 ? 1 : 0;
    changed += filter.spans.outsideSteps ? 1 : 0;
    m_more->setText(changed == 0 ? tr("More") : tr("More (%1)").arg(changed));
    m_reset->setEnabled(m_samples.filtered());
    m_back->setEnabled(m_samples.canUndo());
    m_live->setVisible(m_samples.live());
}

void SampleBar::showLosses()
{
    m_back->setIcon(theme::icon(QStringLiteral("back"), m_theme.colours()));
    const int64_t lost = present::lostSamples(m_workbench.quality());
    m_lost->setVisible(lost > 0 && !m_samples.live());
    m_lost->setText(tr("%1 samples lost").arg(fromUtf8(present::formatCount(lost))));
    m_lost->setToolTip(tr("They came faster than they could be fetched. Click for all that is known of this session's gaps."));
    m_lost->setIcon(theme::icon(QStringLiteral("warning"), m_theme.colours()));
    QPalette palette = m_lost->palette();
    palette.setColor(QPalette::ButtonText, m_theme.colours().warning);
    m_lost->setPalette(palette);
    QPalette live = m_live->palette();
    live.setColor(QPalette::WindowText, m_theme.colours().good);
    m_live->setPalette(live);
}

void SampleBar::apply()
{
    if (m_quiet) return;
    SampleFilter next = m_samples.filter();
    next.shape = static_cast<SampleShape>(m_shape->currentData().toInt());
    next.groups = groupChoices()[static_cast<size_t>(std::max(0, m_group->currentIndex()))];
    next.spans.tracks.clear();
    if (const int track = m_thread->currentData().toInt(); track >= 0) next.spans.tracks.emplace_back(static_cast<uint32_t>(track));
    const int phase = m_phase->currentData().toInt();
    next.spans.phases = phase < 0 ? analysis::kAllPhases : 1u << phase;
    next.layers.clear();
    if (const int layer = m_layer->currentData().toInt(); layer >= 0) next.layers.emplace_back(static_cast<uint32_t>(layer));
    next.spans.firstStep = std::max(0, m_first->value());
    next.spans.lastStep = m_last->value() < 0 ? analysis::SpanFilter().lastStep : m_last->value();
    next.native = m_native->isChecked();
    next.spans.outsideSteps = m_outside->isChecked();
    next.merge = static_cast<analysis::SampleMerge>(m_merge->currentData().toInt());
    next.order = static_cast<analysis::SampleOrder>(m_order->currentData().toInt());
    next.recursion = static_cast<analysis::SampleRecursion>(m_recursion->currentData().toInt());
    next.maxDepth = m_depth->value() < 0 ? SampleFilter().maxDepth : m_depth->value();
    next.minCount = std::max(0, m_count->value());
    next.noiseFloor = m_noise->value();
    m_samples.setFilter(next);
}

} // namespace stepscope::views
