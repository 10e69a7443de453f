// ReportTable: a sortable table of a present::TableSource, with the selection of layers.
// Owner: ui/models. Thread: UI thread.
#pragma once

#include "ui/models/cell_delegate.h"
#include "ui/models/table_model.h"

#include <QTableView>

#include <string>
#include <vector>

namespace stepscope::models {

class ReportTable : public QTableView {
    Q_OBJECT
public:
    ReportTable(const theme::Theme& theme, CellDelegate::Swatch swatch, QWidget* parent = nullptr);

    // Keeps the sort order and, where possible, the selected layer.
    void setSource(std::shared_ptr<const present::TableSource> source);
    void setEmptyText(const QString& text);
    // Keys of the columns that stand right after the first one, for tables that rarely fit. The other numbers follow, and
    // then the words. Takes effect with the next source.
    void setLeadingColumns(std::vector<std::string> keys) { m_leading = std::move(keys); }
    // Selects the row of a layer without a signal; none: clears.
    void selectLayer(base::LayerId layer);
    TableModel& model() { return m_model; }

signals:
    void layerSelected(stepscope::base::LayerId layer); // by the user; none for rows without one

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override; // Ctrl+C copies the selected rows, tab-separated
    void selectionChanged(const QItemSelection& selected, const QItemSelection& deselected) override;

private:
    void fitColumns();
    void orderColumns();
    void copySelection() const;

    const theme::Theme& m_theme;
    TableModel m_model;
    SortModel m_sorted;
    QString m_emptyText;
    std::vector<std::string> m_leading;
    bool m_quiet = false;  // a selection that the program makes
    bool m_fitted = false; // columns were sized once; the user's widths stay
};

} // namespace stepscope::models
