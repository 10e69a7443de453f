// A TableSource as aligned text, CSV or JSON rows.
// Owner: app/cli. Thread: main.
#pragma once

#include "app/cli/json_text.h"
#include "core/present/table_source.h"

#include <string>
#include <vector>

namespace stepscope::cli {

struct TextTable {
    std::string text;
    std::vector<std::string> leftOut; // titles of columns that had no room
};

// The columns named by `keys`, most important first after the first one; from the end on they are left out until the table fits
// `width`. Columns without any content do not appear. Shown in the table's own order.
TextTable alignedText(const present::TableSource& table, const std::vector<std::string>& keys, int width);

// All columns with their keys as header line; numbers in full in base units (ns, 1, FLOP/s), empty cells empty.
// RFC 4180: lines end with CR LF, fields with commas, quotes or line breaks are quoted.
// Of a tree also `depth`, from 0, and `parent`: the row around it, counted from 0, empty at the top.
std::string csvText(const present::TableSource& table, bool tree = false);

// An array of objects by column key; empty cells are null. Of a tree also `depth` and `parent`.
void writeJsonRows(const present::TableSource& table, JsonText& json, bool tree = false);

} // namespace stepscope::cli
