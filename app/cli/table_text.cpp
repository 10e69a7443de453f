#include "app/cli/table_text.h"

#include "app/cli/console.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::cli {

namespace {

using present::Alignment;
using present::SortValue;
using present::TableSource;

constexpr size_t kGap = 2;
constexpr size_t kNarrowestFirst = 34; // "host to device, between primitives"

struct Column {
    int index = 0;
    size_t width = 0;
    bool left = false;
    std::vector<std::string> cells;
};

std::string padded(const std::string& text, size_t width, bool left)
{
    const std::string blanks(width - std::min(width, columns(text)), ' ');
    return left ? text + blanks : blanks + text;
}

// At most `width` characters, the last one an ellipsis when something is missing.
std::string shortened(const std::string& text, size_t width)
{
    if (columns(text) <= width) return text;
    size_t used = 0, end = 0;
    while (end < text.size()) {
        const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
        if (starts && ++used == width) break;
        ++end;
    }
    return text.substr(0, end) + "…";
}

Column makeColumn(const TableSource& table, int index)
{
    Column column;
    column.index = index;
    column.left = table.column(index).alignment == Alignment::left;
    for (size_t row = 0; row < table.rowCount(); ++row) {
        std::string text = printable(table.text(row, index));
        if (index == 0) text.insert(0, static_cast<size_t>(2 * table.indent(row)), ' ');
        column.width = std::max(column.width, columns(text));
        column.cells.push_back(std::move(text));
    }
    return column;
}

size_t totalWidth(const std::vector<Column>& shown)
{
    size_t width = 0;
    for (const Column& column : shown)
        width += column.width + kGap;
    return width - kGap;
}

std::string numberText(double value) { return fmt::format("{}", value); }

std::string csvField(const std::string& text)
{
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string field = "\"";
    for (const char c : text) {
        if (c == '"') field += '"';
        field += c;
    }
    return field + '"';
}

} // namespace

TextTable alignedText(const TableSource& table, const std::vector<std::string>& keys, int width)
{
    TextTable result;
    std::vector<Column> chosen;
    for (const std::string& key : keys) {
        for (int c = 0; c < table.columnCount(); ++c) {
            if (table.column(c).key != key) continue;
            Column column = makeColumn(table, c);
            if (column.width > 0) chosen.push_back(std::move(column));
        }
    }
    if (chosen.empty()) return result;
    for (Column& column : chosen)
        column.width = std::max(column.width, columns(table.column(column.index).title));

    const auto room = static_cast<size_t>(std::max(width, 40));
    // First the names give way, then the least important columns.
    const auto excess = [&] { return totalWidth(chosen) > room ? totalWidth(chosen) - room : 0; };
    while (excess() > 0 && chosen.size() > 1 && chosen[0].width < excess() + kNarrowestFirst) {
        result.leftOut.push_back(table.column(chosen.back().index).title);
        chosen.pop_back();
    }
    chosen[0].width -= std::min(chosen[0].width - 1, excess());
    std::reverse(result.leftOut.begin(), result.leftOut.end());
    std::sort(chosen.begin(), chosen.end(), [](const Column& a, const Column& b) { return a.index < b.index; });

    const auto line = [&](const auto& cellOf) {
        std::string text;
        for (const Column& column : chosen) {
            if (!text.empty()) text.append(kGap, ' ');
            text += padded(shortened(cellOf(column), column.width), column.width, column.left);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        result.text += text + '\n';
    };
    line([&](const Column& column) { return table.column(column.index).title; });
    line([&](const Column& column) { return std::string(column.width, '-'); });
    for (size_t row = 0; row < table.rowCount(); ++row)
        line([&](const Column& column) { return column.cells[row]; });
    return result;
}

namespace {

// The row that each row stands in, by the indentation; -1 at the top. Rows come after what they stand in.
std::vector<int64_t> parentRows(const TableSource& table)
{
    std::vector<int64_t> parents, open;
    for (size_t row = 0; row < table.rowCount(); ++row) {
        open.resize(std::min(open.size(), static_cast<size_t>(std::max(0, table.indent(row)))));
        parents.push_back(open.empty() ? -1 : open.back());
        open.push_back(static_cast<int64_t>(row));
    }
    return parents;
}

} // namespace

std::string csvText(const TableSource& table, bool tree)
{
    std::string text;
    const std::vector<int64_t> parents = tree ? parentRows(table) : std::vector<int64_t>();
    for (int c = 0; c < table.columnCount(); ++c)
        text += (c > 0 ? "," : "") + csvField(table.column(c).key);
    text += tree ? ",depth,parent\r\n" : "\r\n";
    for (size_t row = 0; row < table.rowCount(); ++row) {
        for (int c = 0; c < table.columnCount(); ++c) {
            if (c > 0) text += ',';
            const SortValue value = table.sortValue(row, c);
            if (const double* number = std::get_if<double>(&value)) text += numberText(*number);
            else if (const std::string* words = std::get_if<std::string>(&value)) text += csvField(*words);
        }
        if (tree) text += fmt::format(",{},{}", table.indent(row), parents[row] < 0 ? std::string() : std::to_string(parents[row]));
        text += "\r\n";
    }
    return text;
}

void writeJsonRows(const TableSource& table, JsonText& json, bool tree)
{
    const std::vector<int64_t> parents = tree ? parentRows(table) : std::vector<int64_t>();
    json.beginArray();
    for (size_t row = 0; row < table.rowCount(); ++row) {
        json.beginObject();
        for (int c = 0; c < table.columnCount(); ++c) {
            json.key(table.column(c).key);
            const SortValue value = table.sortValue(row, c);
            if (const double* number = std::get_if<double>(&value)) json.value(*number);
            else if (const std::string* words = std::get_if<std::string>(&value)) json.value(std::string_view(*words));
            else json.null();
        }
        if (tree) {
            json.member("depth", static_cast<int64_t>(table.indent(row)));
            json.key("parent");
            if (parents[row] < 0) json.null();
            else json.value(static_cast<double>(parents[row]));
        }
        json.endObject();
    }
    json.endArray();
}

} // namespace stepscope::cli
