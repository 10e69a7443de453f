// NsightSource: the tables of an Nsight Systems export, row by row. The implementation knows SQLite, its users do not.
// Owner: core/importers. Thread: one at a time.
#pragma once

#include "core/base/error.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers {

// Columns are numbered as they were asked for; one that the table lacks is null in every row.
class NsightRows {
public:
    virtual ~NsightRows() = default;
    virtual bool next() = 0; // false at the end, when stopped and after a failure (see NsightSource::failure())
    virtual bool isNull(int column) const = 0;
    virtual int64_t integer(int column) const = 0;      // 0 for null
    virtual double real(int column) const = 0;          // 0 for null
    virtual std::string_view text(int column) const = 0; // good until next(); "" for null

    int64_t integerOr(int column, int64_t otherwise) const { return isNull(column) ? otherwise : integer(column); }
    // For ids and sizes that fit; anything else is as unknown as null.
    int32_t smallOr(int column, int32_t otherwise) const
    {
        const int64_t value = integerOr(column, otherwise);
        return value < 0 || value > std::numeric_limits<int32_t>::max() ? otherwise : static_cast<int32_t>(value);
    }
};

class NsightSource {
public:
    virtual ~NsightSource() = default;
    virtual std::vector<std::string> tables() const = 0;
    virtual bool has(std::string_view table) const = 0;
    virtual bool hasColumn(std::string_view table, std::string_view column) const = 0;
    virtual int64_t count(std::string_view table) = 0;
    // Null when there is no such table. The column "rowid" is there always. `order` is a list of columns for ORDER BY, "" for the order of the file.
    virtual std::unique_ptr<NsightRows> read(std::string_view table, const std::vector<std::string_view>& columns,
                                             std::string_view order = {}) = 0;
    virtual std::optional<int64_t> least(std::string_view table, std::string_view column) = 0;
    virtual const std::optional<base::Error>& failure() const = 0; // the first one
    virtual bool stopped() const = 0;
};

} // namespace stepscope::importers
