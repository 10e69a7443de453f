// SampleBar: the one filter bar of the stack samples; flame graph, tree and flat table follow it together.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "core/analysis/sample_filter.h"
#include "ui/views/view.h"

#include <QWidget>

class QBoxLayout;
class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QSpinBox;
class QToolButton;

namespace stepscope::views {

class SampleBar : public QWidget {
    Q_OBJECT
public:
    SampleBar(const ViewContext& context, QWidget* parent);
    // In one row where there is room, else in two.
    QSize minimumSizeHint() const override;

signals:
    void qualityRequested(); // the user wants to know what was lost

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void arrangeRows();
    void setupFields();
    void setupMore();
    void setupLayout();
    void setupConnections();
    void fill();      // choices that depend on the session
    void showState(); // the fields from the filter
    void showLosses();
    void apply();     // the filter from the fields
    void addSeries();

    state::Workbench& m_workbench;
    state::Samples& m_samples;
    const theme::Theme& m_theme;
    bool m_quiet = false; // the program sets fields

    QComboBox *m_source = nullptr, *m_shape = nullptr, *m_group = nullptr, *m_thread = nullptr, *m_phase = nullptr, *m_layer = nullptr;
    QSpinBox *m_first = nullptr, *m_last = nullptr;
    QCheckBox *m_native = nullptr, *m_outside = nullptr;
    QToolButton *m_more = nullptr, *m_back = nullptr;
    QPushButton* m_reset = nullptr;
    QComboBox *m_merge = nullptr, *m_order = nullptr, *m_recursion = nullptr;
    QSpinBox *m_depth = nullptr, *m_count = nullptr;
    QDoubleSpinBox* m_noise = nullptr;
    QBoxLayout* m_rows = nullptr;
    QWidget *m_what = nullptr, *m_which = nullptr; // the rows, or halves of the one row
    QLabel *m_live = nullptr;
    QToolButton* m_lost = nullptr;
};

} // namespace stepscope::views
