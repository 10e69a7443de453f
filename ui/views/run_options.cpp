#include "ui/views/run_options.h"

#include <QComboBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QThread>

#include <algorithm>

namespace stepscope::views {

namespace {

constexpr int kDefaultSteps = 500;
constexpr int64_t kMaxLength = 100000000;

QSpinBox* spin(int low, int high, int value, const QString& special, const QString& tip, QWidget* parent)
{
    auto* box = new QSpinBox(parent);
    box->setRange(low, high);
    box->setValue(value);
    if (!special.isEmpty()) box->setSpecialValueText(special);
    box->setToolTip(tip);
    box->setMinimumWidth(60);
    return box;
}

} // namespace

RunOptions::RunOptions(QWidget* parent)
    : QWidget(parent)
    , m_batch(spin(0, 1 << 20, 0, tr("as in file"), tr("Samples per step"), this))
    , m_length(spin(1, kMaxLength, kDefaultSteps, {}, tr("How long to train"), this))
    , m_unit(new QComboBox(this))
    , m_warmup(spin(0, 1000000, static_cast<int>(engine::TrainOptions().warmup), {}, tr("First steps that are left out of statistics"), this))
    , m_threads(spin(0, 1024, 0, tr("automatic"), tr("Threads of a primitive; automatic chooses by timing, since more are often slower"), this))
    , m_workers(spin(-1, 256, -1, tr("as in file"), tr("Threads that load data beside the training"), this))
    , m_samples(new QComboBox(this))
    , m_rate(spin(0, 20000, 0, tr("auto"), tr("Samples per second of a thread; automatic takes the most that costs 1 %"), this))
{
    m_unit->addItem(tr("steps"));
    m_unit->addItem(tr("epochs"));
    m_unit->setToolTip(m_length->toolTip());
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(4);
    const auto add = [&](int row, int column, const QString& text, QWidget* field) {
        auto* label = new QLabel(text, this);
        label->setBuddy(field);
        grid->addWidget(label, row, column * 2);
        grid->addWidget(field, row, column * 2 + 1);
    };
    auto* length = new QWidget(this);
    auto* row = new QHBoxLayout(length);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    row->addWidget(m_length, 1);
    row->addWidget(m_unit);
    auto* lengthLabel = new QLabel(tr("&Length"), this);
    lengthLabel->setBuddy(m_length);
    grid->addWidget(lengthLabel, 0, 0);
    grid->addWidget(length, 0, 1, 1, 3);
    add(1, 0, tr("&Batch"), m_batch);
    add(1, 1, tr("Warm-&up"), m_warmup);
    add(2, 0, tr("&Threads"), m_threads);
    add(2, 1, tr("&Workers"), m_workers);
    m_samples->addItem(tr("running"), static_cast<int>(recording::SampleMode::cpu));
    m_samples->addItem(tr("also waiting"), static_cast<int>(recording::SampleMode::wall));
    m_samples->addItem(tr("none"), static_cast<int>(recording::SampleMode::off));
    m_samples->setToolTip(tr("Stack samples: of threads that run (CPU time), also of those that wait (wall-clock time), or none"));
    m_rate->setSuffix(tr(" Hz"));
    auto* samplesLabel = new QLabel(tr("S&tacks"), this);
    samplesLabel->setBuddy(m_samples);
    grid->addWidget(samplesLabel, 3, 0);
    grid->addWidget(m_samples, 3, 1);
    add(3, 1, tr("&Rate"), m_rate);
    m_samples->setObjectName(QStringLiteral("sampleMode"));
    connect(m_samples, &QComboBox::activated, this, [this] {
        m_rate->setEnabled(m_samples->currentData().toInt() != static_cast<int>(recording::SampleMode::off));
        emit changed();
    });
    grid->setColumnStretch(1, 1);
    grid->setColumnStretch(3, 1);
    for (QSpinBox* box : {m_batch, m_length, m_warmup, m_threads, m_workers, m_rate})
        connect(box, &QSpinBox::valueChanged, this, &RunOptions::changed);
    connect(m_warmup, &QSpinBox::valueChanged, this, [this] { m_warmupChosen = true; });
    connect(m_length, &QSpinBox::valueChanged, this, &RunOptions::adaptWarmup);
    connect(m_unit, &QComboBox::activated, this, &RunOptions::unitChanged);
}

void RunOptions::unitChanged()
{
    // A number that made sense for the other unit rarely does for this one.
    m_length->setValue(m_unit->currentIndex() == 1 ? 1 : kDefaultSteps);
    adaptWarmup();
    emit changed();
}

void RunOptions::setLength(int64_t steps, int64_t epochs)
{
    m_unit->setCurrentIndex(epochs > 0 && steps == 0 ? 1 : 0);
    m_length->setValue(static_cast<int>(std::clamp<int64_t>(steps > 0 ? steps : epochs, 1, kMaxLength)));
    adaptWarmup();
}

// A short run keeps at least one step that counts, unless the user chose a warm-up.
void RunOptions::adaptWarmup()
{
    if (m_warmupChosen) return;
    const QSignalBlocker blocker(m_warmup);
    const auto usual = static_cast<int>(engine::TrainOptions().warmup);
    m_warmup->setValue(m_unit->currentIndex() == 1 ? usual : std::min(usual, m_length->value() - 1));
}

void RunOptions::setFileLength(int64_t steps, int64_t epochs, bool loaded)
{
    const bool given = steps > 0 || epochs > 0;
    const bool different = steps != m_fileSteps || epochs != m_fileEpochs;
    m_fileSteps = steps;
    m_fileEpochs = epochs;
    if (!different && !(loaded && given)) return;
    if (given) setLength(steps, epochs);
    else setLength(kDefaultSteps, 0);
}

void RunOptions::setDefaults(int64_t batchSize, int workers)
{
    m_batch->setSpecialValueText(tr("%1 (file)").arg(batchSize));
    m_workers->setSpecialValueText(tr("%1 (file)").arg(workers));
}

engine::TrainOptions RunOptions::options() const
{
    engine::TrainOptions options;
    (m_unit->currentIndex() == 1 ? options.epochs : options.steps) = m_length->value();
    options.warmup = m_warmup->value();
    options.shortenWarmup = !m_warmupChosen;
    options.batchSize = m_batch->value();
    options.threads = m_threads->value();
    if (m_workers->value() >= 0) options.workers = m_workers->value();
    options.sampling.mode = static_cast<recording::SampleMode>(m_samples->currentData().toInt());
    options.sampling.rateHz = m_rate->value();
    return options;
}

void RunOptions::setOptions(const engine::TrainOptions& options)
{
    m_warmup->setValue(static_cast<int>(options.warmup));
    m_warmupChosen = options.warmup != engine::TrainOptions().warmup;
    setLength(options.steps, options.epochs);
    m_batch->setValue(static_cast<int>(options.batchSize));
    m_threads->setValue(options.threads);
    m_workers->setValue(options.workers.value_or(-1));
    m_samples->setCurrentIndex(std::max(0, m_samples->findData(static_cast<int>(options.sampling.mode))));
    m_rate->setValue(options.sampling.rateHz);
}

} // namespace stepscope::views
