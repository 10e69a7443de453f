// MemoryTable: a TableSource over numbers and texts in memory; numbers become text only when asked for.
// Owner: core/present, internal to its sources. Thread: immutable after filling.
#pragma once

#include "core/present/format.h"
#include "core/present/table_source.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace stepscope::present {

// `microseconds` and `gigabyteRate` are for numbers that scripts expect in these units; they show as times and rates do.
enum class CellFormat { text, time, count, share, ratio, number, flopRate, byteRate, bytes, microseconds, gigabyteRate };

inline constexpr double kEmptyCell = std::numeric_limits<double>::quiet_NaN();

struct TableRow {
    std::vector<std::string> texts; // of the text columns, in order
    std::vector<double> numbers;    // of the other columns, in order; kEmptyCell: nothing
    base::LayerId layer;
    ColourClass colour = ColourClass::other;
    bool emphasised = false;
    bool subdued = false;
    int indent = 0;
    std::string tip;
};

class MemoryTable final : public TableSource {
public:
    void addColumn(CellFormat format, std::string key, std::string title, std::string tip);
    void addRow(TableRow row) { m_rows.push_back(std::move(row)); }

    int columnCount() const override { return static_cast<int>(m_columns.size()); }
    const TableColumn& column(int column) const override { return m_columns[static_cast<size_t>(column)].column; }
    size_t rowCount() const override { return m_rows.size(); }
    std::string text(size_t row, int column) const override;
    SortValue sortValue(size_t row, int column) const override;
    std::string tip(size_t row, int) const override { return m_rows[row].tip; }
    base::LayerId layer(size_t row) const override { return m_rows[row].layer; }
    ColourClass colour(size_t row) const override { return m_rows[row].colour; }
    double bar(size_t row, int column) const override;
    bool emphasised(size_t row) const override { return m_rows[row].emphasised; }
    bool subdued(size_t row) const override { return m_rows[row].subdued; }
    int indent(size_t row) const override { return m_rows[row].indent; }

private:
    struct Column {
        TableColumn column;
        CellFormat format = CellFormat::text;
        size_t place = 0; // in TableRow::texts or numbers
    };
    std::vector<Column> m_columns;
    std::vector<TableRow> m_rows;
};

} // namespace stepscope::present
