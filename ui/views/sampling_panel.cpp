#include "ui/views/sampling_panel.h"

#include "core/present/format.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace stepscope::views {

SamplingPanel::SamplingPanel(state::RunController& runs, QWidget* parent)
    : QWidget(parent)
    , m_runs(runs)
    , m_text(new QLabel(this))
    , m_toggle(new QPushButton(this))
    , m_clear(new QPushButton(tr("Clear"), this))
{
    setObjectName(QStringLiteral("samplingPanel"));
    m_toggle->setObjectName(QStringLiteral("toggleSampling"));
    m_clear->setObjectName(QStringLiteral("clearSamples"));
    m_clear->setToolTip(tr("Forget the samples so far; those that follow are shown alone"));
    // A longer number must not widen the panel and lay out the window anew during a run.
    m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    row->addWidget(m_text, 1);
    row->addWidget(m_toggle);
    row->addWidget(m_clear);
    connect(m_toggle, &QPushButton::clicked, this, [this] {
        if (m_runs.sampling()) m_runs.stopSampling();
        else m_runs.startSampling();
    });
    connect(m_clear, &QPushButton::clicked, &m_runs, &state::RunController::clearSamples);
    connect(&m_runs, &state::RunController::samplingChanged, this, &SamplingPanel::refresh);
    connect(&m_runs, &state::RunController::stateChanged, this, &SamplingPanel::refresh);
    refresh();
}

QString SamplingPanel::text() const { return m_text->text(); }

void SamplingPanel::refresh()
{
    const auto& statistics = m_runs.samplingStatistics();
    const bool running = m_runs.state() == state::RunController::State::running || m_runs.state() == state::RunController::State::paused;
    m_toggle->setText(m_runs.sampling() ? tr("Stop") : tr("Sample"));
    m_toggle->setToolTip(m_runs.sampling() ? tr("Stop taking stack samples; the run goes on")
                                           : tr("Take stack samples of all threads; they add up until they are cleared"));
    m_toggle->setEnabled(running);
    m_clear->setEnabled(running && statistics.has_value());
    setVisible(m_runs.active() || statistics.has_value());
    if (!statistics.has_value()) {
        m_text->setText(tr("No stack samples"));
        m_text->setToolTip({});
        return;
    }
    const auto count = [](int64_t n) { return QString::fromStdString(present::formatCount(n)); };
    QString text = tr("%1 samples").arg(count(statistics->samples));
    if (statistics->lost > 0) text += tr(", %1 lost").arg(count(statistics->lost));
    m_text->setText(text);
    QString tip = tr("%1 Hz by %2, which takes %3 of the threads' time")
                      .arg(statistics->rateHz)
                      .arg(QString::fromUtf8(recording::samplingMethodName(statistics->method)),
                           QString::fromStdString(present::formatShare(statistics->cost)));
    if (!statistics->message.empty()) tip += QLatin1Char('\n') + QString::fromStdString(statistics->message);
    m_text->setToolTip(tip);
}

} // namespace stepscope::views
