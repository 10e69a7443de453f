// Tables of Firefox profiles as columns of numbers, whichever way the file stores them.
// Owner: core/importers. Thread: one at a time.
//
// Gecko: {"schema": {"stack": 0, ...}, "data": [[1, 0], ...]}, rows possibly shorter than the schema.
// Processed: {"length": 2, "stack": [1, null], ...}.
#pragma once

#include "core/importers/json_pull.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers::firefox {

inline constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

// Columns by name; a value that is null, missing or no number is kNull.
class Table {
public:
    // `wanted`: columns to keep, each with the powers of ten to multiply its numbers by. The value at `json` is taken.
    struct Wanted {
        std::string_view name;
        int shift = 0;
    };
    void read(JsonPull& json, std::string_view text, const std::vector<Wanted>& wanted);

    size_t size() const { return m_size; }
    bool has(std::string_view column) const { return m_columns.find(column) != m_columns.end(); }
    int64_t at(std::string_view column, size_t row) const;           // kNull outside
    const std::vector<int64_t>& column(std::string_view name) const; // may be shorter than size()

private:
    void readRows(JsonPull json, const std::map<int64_t, Wanted>& places);

    std::map<std::string, std::vector<int64_t>, std::less<>> m_columns;
    size_t m_size = 0;
};

} // namespace stepscope::importers::firefox
