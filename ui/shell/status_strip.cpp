#include "ui/shell/status_strip.h"

#include "core/analysis/sample_tree.h"
#include "core/present/format.h"
#include "core/present/sample_view.h"
#include "ui/theme/icons.h"

#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include <algorithm>

namespace stepscope::shell {

StatusStrip::StatusStrip(state::Workbench& workbench, const theme::Theme& theme, QWidget* parent)
    : QStatusBar(parent)
    , m_workbench(workbench)
    , m_theme(theme)
    , m_activity(new QLabel(this))
    , m_progress(new QProgressBar(this))
    , m_cancel(new QToolButton(this))
    , m_session(new QLabel(this))
    , m_badge(new QToolButton(this))
{
    setSizeGripEnabled(false);
    setContentsMargins(8, 0, 4, 0);
    m_progress->setMaximumWidth(160);
    m_progress->setMaximumHeight(10);
    m_progress->setTextVisible(false);
    m_progress->setRange(0, 1000);
    m_cancel->setText(tr("Cancel"));
    m_cancel->setAutoRaise(true);
    m_badge->setAutoRaise(true);
    m_badge->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_badge->setObjectName(QStringLiteral("qualityBadge"));
    addWidget(m_activity);
    addWidget(m_progress);
    addWidget(m_cancel);
    addPermanentWidget(m_session);
    addPermanentWidget(m_badge);
    connect(m_cancel, &QToolButton::clicked, &m_workbench, &state::Workbench::cancelOpening);
    connect(m_badge, &QToolButton::clicked, this, &StatusStrip::qualityRequested);
    connect(&m_workbench.jobs(), &jobs::JobRunner::activityChanged, this, &StatusStrip::showActivity);
    connect(&m_workbench, &state::Workbench::openingChanged, this, &StatusStrip::showActivity);
    connect(&m_workbench, &state::Workbench::measuringChanged, this, &StatusStrip::showActivity);
    connect(&m_workbench, &state::Workbench::qualityChanged, this, &StatusStrip::showSession);
    connect(&m_workbench.samples(), &state::Samples::viewChanged, this, &StatusStrip::showSession);
    connect(&m_theme, &theme::Theme::changed, this, &StatusStrip::showSession);
    showActivity();
    showSession();
}

QString StatusStrip::badgeText() const { return m_badge->text(); }

QString StatusStrip::sessionText() const { return m_session->text(); }

void StatusStrip::showActivity()
{
    const jobs::Activity activity = m_workbench.jobs().activity();
    // The run panel reports on a run; the strip stays still meanwhile.
    QString text = activity.title;
    if (text.isEmpty()) text = m_workbench.measuring() ? tr("Measuring: this window updates twice a second") : tr("Ready");
    else if (!activity.detail.isEmpty() && activity.detail != activity.title) text += QStringLiteral(" – ") + activity.detail;
    if (m_activity->text() != text) m_activity->setText(text);
    m_progress->setVisible(!activity.title.isEmpty() && activity.fraction >= 0);
    if (activity.fraction >= 0) m_progress->setValue(static_cast<int>(std::clamp(activity.fraction, 0.0, 1.0) * 1000));
    m_cancel->setVisible(m_workbench.opening());
}

void StatusStrip::showSession()
{
    const session::SessionPtr& session = m_workbench.session();
    m_badge->setVisible(session != nullptr);
    m_session->setVisible(session != nullptr);
    if (session == nullptr) return;
    const auto count = [](size_t n) { return QString::fromStdString(present::formatCount(static_cast<int64_t>(n))); };
    QStringList parts;
    if (session->spanCount() > 0 || session->sampleCount() == 0)
        parts << tr("%1 steps").arg(count(session->steps().size())) << tr("%1 spans").arg(count(session->spanCount()));
    // Of the main series: the others count the same moments or other things. What has no stacks was not sampled. Known
    // as soon as the columns are loaded for a view.
    const base::SeriesId series = analysis::seriesOf(*session, {});
    const state::Samples& samples = m_workbench.samples();
    if (series.valid() && samples.view() != nullptr && samples.view()->profile.tree.session == session
        && session::hasStacks(session->series()[series.index()].kind))
        if (const size_t rows = session->samples(series).size(); rows > 0) parts << tr("%1 samples").arg(count(rows));
    m_session->setText(parts.join(QStringLiteral(" · ")));

    const std::vector<session::QualityRow> rows = m_workbench.quality();
    theme::Colours colours = m_theme.colours();
    colours.text = rows.empty() ? colours.good : colours.warning;
    m_badge->setIcon(theme::icon(rows.empty() ? QStringLiteral("check") : QStringLiteral("warning"), colours));
    QStringList lines;
    for (const session::QualityRow& row : rows)
        lines << QStringLiteral("%1 × %2").arg(row.count).arg(QString::fromStdString(row.message));
    m_badge->setText(rows.empty() ? tr("complete") : rows.size() == 1 ? tr("1 remark") : tr("%1 remarks").arg(rows.size()));
    m_badge->setToolTip(rows.empty() ? tr("Nothing was skipped, repaired or lost") : lines.join(QLatin1Char('\n')));
}

} // namespace stepscope::shell
