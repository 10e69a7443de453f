#include "core/present/memory_table.h"

#include <algorithm>

namespace stepscope::present {

void MemoryTable::addColumn(CellFormat format, std::string key, std::string title, std::string tip)
{
    Column column;
    const bool isText = format == CellFormat::text;
    column.column = {std::move(key), std::move(title), std::move(tip), isText ? Alignment::left : Alignment::right, !isText};
    column.format = format;
    for (const Column& other : m_columns)
        if ((other.format == CellFormat::text) == isText) ++column.place;
    m_columns.push_back(std::move(column));
}

std::string MemoryTable::text(size_t row, int column) const
{
    const Column& shown = m_columns[static_cast<size_t>(column)];
    if (shown.format == CellFormat::text) return m_rows[row].texts[shown.place];
    const double value = m_rows[row].numbers[shown.place];
    if (std::isnan(value)) return {};
    switch (shown.format) {
    case CellFormat::time: return formatTime(value);
    case CellFormat::count: return formatCount(static_cast<int64_t>(value));
    case CellFormat::share: return formatShare(value);
    case CellFormat::ratio: return formatNumber(value, 3);
    case CellFormat::number: return formatNumber(value);
    case CellFormat::flopRate: return formatFlopRate(value);
    case CellFormat::byteRate: return formatByteRate(value);
    case CellFormat::bytes: return formatBytes(value);
    case CellFormat::microseconds: return formatTime(value * 1000);
    case CellFormat::gigabyteRate: return formatByteRate(value * 1e9);
    case CellFormat::text: break;
    }
    return {};
}

SortValue MemoryTable::sortValue(size_t row, int column) const
{
    const Column& shown = m_columns[static_cast<size_t>(column)];
    if (shown.format == CellFormat::text) {
        const std::string& text = m_rows[row].texts[shown.place];
        return text.empty() ? SortValue{} : SortValue{text};
    }
    const double value = m_rows[row].numbers[shown.place];
    return std::isnan(value) ? SortValue{} : SortValue{value};
}

double MemoryTable::bar(size_t row, int column) const
{
    const Column& shown = m_columns[static_cast<size_t>(column)];
    if (shown.format != CellFormat::share) return -1;
    const double value = m_rows[row].numbers[shown.place];
    return std::isnan(value) ? -1 : std::clamp(value, 0.0, 1.0);
}

} // namespace stepscope::present
