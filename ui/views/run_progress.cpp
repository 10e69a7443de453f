#include "ui/views/run_progress.h"

#include "core/present/format.h"
#include "ui/state/error_text.h"
#include "ui/views/sparkline.h"

#include <QGridLayout>
#include <QLabel>
#include <QProgressBar>

#include <algorithm>
#include <cmath>

namespace stepscope::views {

namespace {

QString fromUtf8(const std::string& text) { return QString::fromStdString(text); }
const QString kNothing = QStringLiteral("—");

QLabel* number(QWidget* parent)
{
    auto* label = new QLabel(kNothing, parent);
    QFont font = label->font();
    font.setPointSizeF(font.pointSizeF() * 1.25);
    font.setBold(true);
    label->setFont(font);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    // A longer number must not widen the panel: that would lay out, and paint, the whole window anew during a run.
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    return label;
}

QLabel* caption(const QString& text, const QString& tip, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setToolTip(tip);
    return label;
}

} // namespace

RunProgress::RunProgress(const state::RunController& runs, const theme::Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_runs(runs)
    , m_theme(theme)
    , m_state(new QLabel(this))
    , m_bar(new QProgressBar(this))
    , m_stepTime(number(this))
    , m_loss(number(this))
    , m_throughput(number(this))
    , m_accuracy(number(this))
    , m_stepLine(new Sparkline(theme, this))
    , m_lossLine(new Sparkline(theme, this))
{
    m_state->setWordWrap(true);
    m_state->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_state->setMinimumHeight(2 * fontMetrics().height());
    m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_bar->setRange(0, 1000);
    m_bar->setTextVisible(false);
    m_bar->setMaximumHeight(8);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(3);
    grid->addWidget(m_bar, 0, 0, 1, 2);
    grid->addWidget(m_state, 1, 0, 1, 2);
    grid->addWidget(caption(tr("Step time"), tr("Median of the last 256 steps"), this), 2, 0);
    grid->addWidget(caption(tr("Loss"), tr("Mean over the steps of the last half second"), this), 2, 1);
    grid->addWidget(m_stepTime, 3, 0);
    grid->addWidget(m_loss, 3, 1);
    grid->addWidget(m_stepLine, 4, 0);
    grid->addWidget(m_lossLine, 4, 1);
    grid->addWidget(caption(tr("Throughput"), tr("Over the last half second, with everything between the steps"), this), 5, 0);
    grid->addWidget(caption(tr("Test accuracy"), tr("After the last whole epoch"), this), 5, 1);
    grid->addWidget(m_throughput, 6, 0);
    grid->addWidget(m_accuracy, 6, 1);
    grid->setColumnStretch(0, 1);
    grid->setColumnStretch(1, 1);
    refresh();
}

QString RunProgress::stateText() const { return m_state->text(); }

QString RunProgress::describe() const
{
    using State = state::RunController::State;
    const auto& status = m_runs.status();
    const auto count = [](int64_t n) { return fromUtf8(present::formatCount(n)); };
    QString steps;
    if (status.has_value() && status->step > 0) {
        steps = status->totalSteps > 0 ? tr("step %1 of %2").arg(count(status->step), count(status->totalSteps))
                                       : tr("step %1").arg(count(status->step));
        if (status->totalEpochs > 1) steps += tr(", epoch %1 of %2").arg(status->epoch + 1).arg(status->totalEpochs);
    }
    const auto with = [&steps](const QString& text) { return steps.isEmpty() ? text : text + QStringLiteral(" · ") + steps; };
    switch (m_runs.state()) {
    case State::starting: return tr("Preparing …");
    case State::running: {
        QString activity = status.has_value() ? fromUtf8(status->activity) : QString();
        if (activity.isEmpty()) activity = tr("training");
        activity[0] = activity[0].toUpper();
        return with(activity);
    }
    case State::paused: return with(tr("Paused"));
    case State::stopping: return tr("Stopping at the end of this step …");
    case State::idle: break;
    }
    if (m_runs.error().has_value()) return state::errorText(*m_runs.error());
    if (m_runs.result().has_value()) {
        const QString done = tr("%1 steps").arg(count(m_runs.result()->steps));
        return m_runs.result()->stoppedByUser ? tr("Stopped after %1.").arg(done) : tr("Finished: %1.").arg(done);
    }
    return tr("Ready.");
}

void RunProgress::refresh()
{
    const auto& status = m_runs.status();
    m_state->setText(describe());
    QPalette palette = m_state->palette();
    const bool failed = !m_runs.active() && m_runs.error().has_value();
    palette.setColor(QPalette::WindowText, failed ? m_theme.colours().error : m_theme.colours().text);
    m_state->setPalette(palette);
    const double fraction = status.has_value() ? status->fraction : 0;
    m_bar->setValue(m_runs.active() ? static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 1000) : 0);

    const bool measured = status.has_value() && status->step > 0;
    m_stepTime->setText(measured ? fromUtf8(present::formatTime(status->medianStepNs)) : kNothing);
    m_loss->setText(measured ? fromUtf8(present::formatNumber(status->loss)) : kNothing);
    m_throughput->setText(measured ? tr("%1 samples/s").arg(fromUtf8(present::formatCount(std::llround(status->samplesPerSecond))))
                                   : kNothing);
    m_accuracy->setText(status.has_value() && status->testAccuracy.has_value()
                            ? fromUtf8(present::formatShare(*status->testAccuracy)) : kNothing);
    std::vector<double> losses, steps;
    for (const state::RunController::Point& point : m_runs.history()) {
        losses.push_back(point.loss);
        steps.push_back(point.stepNs);
    }
    m_lossLine->setValues(std::move(losses));
    m_stepLine->setValues(std::move(steps));
}

} // namespace stepscope::views
