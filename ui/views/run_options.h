// RunOptions: the form of a run: batch, length, warm-up, threads, workers.
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

signals:
    void changed();

private:
    void unitChanged();

    QSpinBox* m_batch;
    QSpinBox* m_length;
    QComboBox* m_unit;
    QSpinBox* m_warmup;
    QSpinBox* m_threads;
    QSpinBox* m_workers;
};

} // namespace stepscope::views
