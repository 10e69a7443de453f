// TableSource: a table without a toolkit: columns, rows, text and sort keys. ui/models adapts it to Qt.
// Owner: core/present. Thread: immutable after construction, any.
#pragma once

#include "core/base/ids.h"
#include "core/present/colour_class.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace stepscope::present {

enum class Alignment { left, right };

struct TableColumn {
    std::string key;   // stable, for settings, CSV and JSON: "forward_median_ns"
    std::string title; // "Forward"
    std::string tip;   // one sentence
    Alignment alignment = Alignment::left;
    bool descendingFirst = false; // sort order of the first click
};

// Numbers before texts; an empty cell sorts last in both directions (std::monostate).
using SortValue = std::variant<std::monostate, double, std::string>;

class TableSource {
public:
    virtual ~TableSource() = default;
    virtual int columnCount() const = 0;
    virtual const TableColumn& column(int column) const = 0;
    virtual size_t rowCount() const = 0;
    virtual std::string text(size_t row, int column) const = 0;
    virtual SortValue sortValue(size_t row, int column) const = 0;
    virtual std::string tip(size_t, int) const { return {}; }
    virtual base::LayerId layer(size_t) const { return {}; }            // to link selections
    virtual ColourClass colour(size_t) const { return ColourClass::other; }
    virtual double bar(size_t, int) const { return -1; }                // 0..1: draw a bar behind the cell
    virtual bool emphasised(size_t) const { return false; }             // outliers and slow paths
    virtual bool subdued(size_t) const { return false; }                // remainder rows
    virtual int indent(size_t) const { return 0; }                      // of the first column, for trees
};

// -1, 0, 1 for an ascending sort; empty cells count as larger than all others (see TableSource).
int compare(const SortValue& a, const SortValue& b);

} // namespace stepscope::present
