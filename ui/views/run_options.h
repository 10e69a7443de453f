// RunOptions: the form of a run: batch, length, warm-up, threads, workers, stack samples.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "core/engine/trainer.h"

#include <QWidget>

class QComboBox;
class QSpinBox;

namespace stepscope::views {

class RunOptions : public QWidget {
    Q_OBJECT
public:
    explicit RunOptions(QWidget* parent = nullptr);

    engine::TrainOptions options() const;
    void setOptions(const engine::TrainOptions& options);
    // What "from the file" means for the model that is loaded.
    void setDefaults(int64_t batchSize, int workers);
    // The length that the model text gives, 0 where it gives none. It is taken over when a model is loaded and when
    // the text's own numbers change, so that a length chosen by hand outlives other edits.
    void setFileLength(int64_t steps, int64_t epochs, bool loaded);

signals:
    void changed();

private:
    void unitChanged();
    void setLength(int64_t steps, int64_t epochs);
    void adaptWarmup();

    QSpinBox* m_batch;
    QSpinBox* m_length;
    QComboBox* m_unit;
    QSpinBox* m_warmup;
    QSpinBox* m_threads;
    QSpinBox* m_workers;
    QComboBox* m_samples;
    QSpinBox* m_rate;
    int64_t m_fileSteps = 0, m_fileEpochs = 0;
    bool m_warmupChosen = false; // else a short run shortens it
};

} // namespace stepscope::views
