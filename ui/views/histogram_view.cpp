// Histogram of the step times.
#include "core/analysis/reports.h"
#include "core/present/report_sources.h"
#include "core/session/disturbed_steps.h"
#include "ui/histogram/histogram_widget.h"
#include "ui/state/error_text.h"
#include "ui/views/analysis_filter.h"
#include "ui/views/view.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace stepscope::views {

namespace {

struct StepTimes {
    histogram::HistogramData data;
    analysis::StepStatistics statistics;
};

StepTimes computeStepTimes(const session::Session& session, const analysis::SpanFilter& filter, bool fullRange)
{
    StepTimes result;
    std::vector<size_t> rows;
    const std::vector<double> durations = analysis::stepDurations(session, filter, &rows);
    const std::vector<uint8_t> marks = session::disturbedSteps(session.steps());
    std::vector<uint8_t> disturbed;
    disturbed.reserve(rows.size());
    for (const size_t row : rows) disturbed.push_back(marks[row]);
    stats::HistogramOptions options;
    options.fullRange = fullRange;
    result.data = histogram::makeHistogramData(durations, disturbed, options);
    result.statistics = analysis::stepStatistics(session, filter);
    return result;
}

class HistogramView : public QWidget {
public:
    HistogramView(const ViewContext& context, QWidget* parent)
        : QWidget(parent)
        , m_workbench(context.workbench)
        , m_theme(context.theme)
        , m_widget(new histogram::HistogramWidget(context.theme, this))
        , m_summary(new QLabel(this))
        , m_fullRange(new QCheckBox(tr("Full range"), this))
    {
        m_summary->setWordWrap(true);
        m_summary->setTextFormat(Qt::RichText);
        m_fullRange->setToolTip(tr("Show the slowest steps too instead of adding them up in one bar at the right"));
        auto* bar = new QHBoxLayout();
        bar->setContentsMargins(8, 4, 8, 0);
        bar->addWidget(m_summary, 1);
        bar->addWidget(m_fullRange, 0, Qt::AlignTop);
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(2);
        layout->addLayout(bar);
        layout->addWidget(m_widget, 1);
        m_widget->setEmptyText(tr("How long the steps take, and how much they scatter, once a session is open."));
        connect(&m_workbench, &state::Workbench::sessionChanged, this, [this] { rebuild(); });
        connect(&m_workbench, &state::Workbench::filterChanged, this, [this] { rebuild(); });
        connect(m_fullRange, &QCheckBox::toggled, this, [this] { rebuild(); });
        connect(&m_theme, &theme::Theme::changed, this, [this] { showSummary(); });
        rebuild();
    }

private:
    void rebuild()
    {
        const session::SessionPtr session = m_workbench.session();
        m_fullRange->setVisible(session != nullptr);
        if (session == nullptr) {
            m_job.cancel();
            m_statistics.reset();
            m_widget->setData(std::nullopt);
            showSummary();
            return;
        }
        m_workbench.jobs().start<StepTimes>(
            m_job, QString(),
            [session, filter = analysisFilter(m_workbench.filter()), full = m_fullRange->isChecked()](
                std::stop_token, const base::Progress&) -> base::Result<StepTimes> {
                return computeStepTimes(*session, filter, full);
            },
            [this](base::Result<StepTimes> times) {
                if (!times) {
                    m_widget->setData(std::nullopt);
                    m_widget->setEmptyText(state::errorText(times.error()));
                    return;
                }
                m_statistics = times->statistics;
                m_widget->setData(std::move(times->data));
                showSummary();
            });
    }

    void showSummary()
    {
        m_summary->setVisible(m_statistics.has_value());
        if (!m_statistics.has_value()) return;
        QString text = QString::fromStdString(present::stepSummaryText(*m_statistics)).toHtmlEscaped();
        if (m_statistics->disturbed > 0)
            text += QStringLiteral(" <span style='color:%1'>■</span> %2")
                        .arg(m_theme.colours().barDisturbed.name(), tr("in the chart"));
        m_summary->setText(text);
        m_summary->setToolTip(tr("A step is disturbed when the training thread was switched out against its will or had a page "
                                 "fault, and the step took longer than steps without either. Warm-up steps are left out unless they are switched on in the flame graph."));
    }

    state::Workbench& m_workbench;
    const theme::Theme& m_theme;
    histogram::HistogramWidget* m_widget;
    QLabel* m_summary;
    QCheckBox* m_fullRange;
    jobs::JobSlot m_job;
    std::optional<analysis::StepStatistics> m_statistics;
};

} // namespace

QWidget* makeHistogramView(const ViewContext& context, QWidget* parent) { return new HistogramView(context, parent); }

} // namespace stepscope::views
