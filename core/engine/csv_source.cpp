#include "core/engine/csv_source.h"

#include "core/engine/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>
#include <string_view>

namespace stepscope::engine {

namespace {

using base::Error;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;
using base::Where;

constexpr int64_t kLargestText = int64_t{16} << 30;

struct Field {
    std::string_view text; // unquoted; valid until the next record
    int line = 0, column = 0;
};

// Splits the text into records. Quoted fields may hold separators, quotes and line ends.
class Records {
public:
    Records(std::string_view text, std::string file) : m_text(text), m_file(std::move(file))
    {
        if (m_text.substr(0, 3) == "\xEF\xBB\xBF") m_text.remove_prefix(3);
        m_separator = findSeparator();
    }

    // False at the end. Blank lines are skipped.
    Result<bool> next(std::vector<Field>& fields)
    {
        fields.clear();
        while (m_at < m_text.size() && (m_text[m_at] == '\n' || m_text[m_at] == '\r'))
            step();
        if (m_at >= m_text.size()) return false;
        m_unquoted.clear();
        for (;;) {
            const Status field = readField(fields);
            if (!field) return fail(field.error());
            if (m_at >= m_text.size()) return true;
            if (m_text[m_at] == m_separator) {
                step();
                continue;
            }
            return true; // at a line end
        }
    }

private:
    char findSeparator() const
    {
        bool quoted = false;
        for (const char c : m_text) {
            if (c == '"') quoted = !quoted;
            if (quoted) continue;
            if (c == ',' || c == ';' || c == '\t') return c;
            if (c == '\n') break;
        }
        return ',';
    }

    void step()
    {
        const auto c = static_cast<unsigned char>(m_text[m_at++]);
        if (c == '\n') {
            ++m_line;
            m_column = 1;
        } else if ((c & 0xc0u) != 0x80u) {
            ++m_column; // bytes that continue a UTF-8 character do not count
        }
    }

    bool atFieldEnd() const
    {
        return m_at >= m_text.size() || m_text[m_at] == m_separator || m_text[m_at] == '\n' || m_text[m_at] == '\r';
    }

    Status readField(std::vector<Field>& fields)
    {
        while (m_at < m_text.size() && m_text[m_at] == ' ')
            step();
        Field field{{}, m_line, m_column};
        if (m_at < m_text.size() && m_text[m_at] == '"') {
            const Status quoted = readQuoted(field);
            if (!quoted) return quoted;
        } else {
            const size_t begin = m_at;
            while (!atFieldEnd())
                step();
            field.text = m_text.substr(begin, m_at - begin);
            while (!field.text.empty() && field.text.back() == ' ')
                field.text.remove_suffix(1);
        }
        fields.push_back(field);
        return {};
    }

    Status readQuoted(Field& field)
    {
        const Where where{m_file, -1, m_line, m_column};
        step();
        std::string& out = m_unquoted.emplace_back();
        for (;;) {
            if (m_at >= m_text.size()) return fail(ErrorCode::syntax, "the quote is never closed", where);
            if (m_text[m_at] == '"') {
                step();
                if (m_at >= m_text.size() || m_text[m_at] != '"') break;
            }
            out.push_back(m_text[m_at]);
            step();
        }
        while (m_at < m_text.size() && m_text[m_at] == ' ')
            step();
        if (!atFieldEnd()) {
            return fail(ErrorCode::syntax, "text after a closing quote, expected a separator",
                        {m_file, -1, m_line, m_column});
        }
        field.text = out;
        return {};
    }

    std::string_view m_text;
    std::string m_file;
    size_t m_at = 0;
    int m_line = 1, m_column = 1;
    char m_separator = ',';
    std::deque<std::string> m_unquoted; // owns the unquoted texts of the record; a deque keeps them in place
};

Result<std::string> readText(const std::string& path, std::stop_token stop)
{
    Result<DataFile> file = DataFile::open(path);
    if (!file) return fail(file.error());
    std::string text;
    if (!file->compressed()) text.reserve(static_cast<size_t>(std::min(file->fileSize(), kLargestText)));
    constexpr int64_t kBlock = int64_t{1} << 20;
    for (;;) {
        const size_t before = text.size();
        text.resize(before + kBlock);
        const Result<int64_t> got = file->read(text.data() + before, kBlock, stop);
        if (!got) return fail(got.error());
        text.resize(before + static_cast<size_t>(*got));
        if (*got < kBlock) return text;
        if (static_cast<int64_t>(text.size()) > kLargestText) {
            return fail(ErrorCode::unsupported, fmt::format("the text is larger than {} GiB", kLargestText >> 30),
                        {path}, "convert it to raw float32");
        }
    }
}

class Reader {
public:
    Reader(const std::string& path, const CsvOptions& options) : m_path(path), m_options(options) {}

    Result<CsvData> read(std::string_view text, std::stop_token stop)
    {
        Records records(text, m_path);
        std::vector<Field> fields;
        bool first = true;
        while (m_options.samples == 0 || m_rows < m_options.samples) {
            if (m_rows % 4096 == 0 && stop.stop_requested())
                return fail(ErrorCode::cancelled, "stopped while reading data", {m_path});
            const Result<bool> more = records.next(fields);
            if (!more) return fail(more.error());
            if (!*more) break;
            if (first) {
                const Status columns = setColumns(fields);
                if (!columns) return fail(columns.error());
                first = false;
                if (m_options.header) continue;
            }
            const Status row = addRow(fields);
            if (!row) return fail(row.error());
        }
        if (m_rows == 0) return fail(ErrorCode::truncated, "the file has no rows of data", {m_path});
        return finish();
    }

private:
    Where place(const Field& field, size_t column) const
    {
        return {m_path, -1, field.line, field.column, column < m_names.size() ? m_names[column] : std::string{}};
    }

    Status setColumns(const std::vector<Field>& fields)
    {
        m_columns = fields.size();
        const int64_t targets = m_options.targetColumns;
        if (targets < 1 || targets >= static_cast<int64_t>(m_columns)) {
            return fail(
                ErrorCode::invalidArgument,
                fmt::format("{} columns cannot hold {} target columns and at least one input", m_columns, targets),
                {m_path, -1, fields.front().line});
        }
        if (m_options.header) {
            for (const Field& field : fields)
                m_names.emplace_back(field.text);
        }
        return {};
    }

    Result<float> number(const Field& field, size_t column) const
    {
        std::string_view text = field.text;
        if (text.empty())
            return fail(ErrorCode::syntax, "the value is missing, expected a number", place(field, column));
        if (text.front() == '+') text.remove_prefix(1);
        float value = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (code == std::errc::result_out_of_range || (code == std::errc{} && !std::isfinite(value))) {
            const bool digits = text.find_first_of("0123456789") != std::string_view::npos;
            return fail(ErrorCode::syntax,
                        fmt::format("'{}' is {}", shortened(field.text), digits ? "outside the range of float32" : "not a finite number"),
                        place(field, column));
        }
        if (code != std::errc{} || end != text.data() + text.size()) {
            const bool firstRow = m_rows == 0 && !m_options.header;
            return fail(ErrorCode::syntax, fmt::format("'{}' is not a number", shortened(field.text)),
                        place(field, column), firstRow ? "if the first line names the columns, say header = true" : "");
        }
        return value;
    }

    static std::string shortened(std::string_view text)
    {
        return text.size() <= 40 ? std::string(text) : std::string(text.substr(0, 37)) + "...";
    }

    Status addRow(const std::vector<Field>& fields)
    {
        if (fields.size() != m_columns) {
            const Field& last = fields.back();
            return fail(ErrorCode::syntax,
                        fmt::format("the row has {} columns, the rows before have {}", fields.size(), m_columns),
                        {m_path, -1, last.line, last.column});
        }
        const size_t inputs = m_columns - static_cast<size_t>(m_options.targetColumns);
        for (size_t c = 0; c < m_columns; ++c) {
            if (c >= inputs && m_options.classification) {
                m_classes.emplace_back(fields[c].text);
                m_classPlaces.push_back({fields[c].line, fields[c].column});
                continue;
            }
            const Result<float> value = number(fields[c], c);
            if (!value) return fail(value.error());
            (c < inputs ? m_values : m_targets).push_back(*value);
        }
        ++m_rows;
        return {};
    }

    // Whole numbers are class numbers; if any class is not one, all are names.
    static bool classNumber(std::string_view text, int32_t& number)
    {
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (code != std::errc{}) return false;
        std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
        if (!rest.empty() && rest.front() == '.')
            rest.remove_prefix(std::min(rest.find_first_not_of('0', 1), rest.size())); // "3.0"
        return rest.empty() && number >= 0;
    }

    Status numberClasses(CsvData& result)
    {
        result.data.labels.resize(m_classes.size());
        std::vector<std::string>& names = result.classNames;
        names = m_options.classNames;
        bool numbers = names.empty();
        for (size_t i = 0; i < m_classes.size() && numbers; ++i)
            numbers = classNumber(m_classes[i], result.data.labels[i]);
        if (numbers) {
            result.data.classes = int64_t{*std::max_element(result.data.labels.begin(), result.data.labels.end())} + 1;
            return {};
        }
        if (names.empty()) {
            names = m_classes;
            std::sort(names.begin(), names.end());
            names.erase(std::unique(names.begin(), names.end()), names.end());
        }
        for (size_t i = 0; i < m_classes.size(); ++i) {
            const auto found = std::lower_bound(names.begin(), names.end(), m_classes[i]);
            if (found == names.end() || *found != m_classes[i] || m_classes[i].empty()) {
                const auto [line, column] = m_classPlaces[i];
                const Where where{m_path, -1, line, column, m_names.empty() ? std::string{} : m_names.back()};
                if (m_classes[i].empty()) return fail(ErrorCode::syntax, "the class is missing", where);
                return fail(ErrorCode::wrongFormat,
                            fmt::format("the class '{}' does not occur in the training data", shortened(m_classes[i])),
                            where);
            }
            result.data.labels[i] = static_cast<int32_t>(found - names.begin());
        }
        result.data.classes = static_cast<int64_t>(names.size());
        return {};
    }

    Result<CsvData> finish()
    {
        CsvData result;
        result.data.size = m_rows;
        result.data.sampleShape = {static_cast<int64_t>(m_columns) - m_options.targetColumns};
        result.data.values = std::move(m_values);
        if (m_options.classification) {
            const Status status = numberClasses(result);
            if (!status) return fail(status.error());
        } else {
            result.data.targets = std::move(m_targets);
            result.data.targetShape = {m_options.targetColumns};
        }
        return result;
    }

    struct Place {
        int line, column;
    };

    std::string m_path;
    const CsvOptions& m_options;
    size_t m_columns = 0;
    int64_t m_rows = 0;
    std::vector<std::string> m_names;
    base::HugeVector<float> m_values, m_targets;
    std::vector<std::string> m_classes; // as written
    std::vector<Place> m_classPlaces;
};

} // namespace

base::Result<CsvData> readCsv(const std::string& path, const CsvOptions& options, std::stop_token stop)
{
    if (options.classification && options.targetColumns != 1) {
        return fail(ErrorCode::invalidArgument,
                    fmt::format("classes need one target column, not {}", options.targetColumns), {path});
    }
    const Result<std::string> text = readText(path, stop);
    if (!text) return fail(text.error());
    return Reader(path, options).read(*text, stop);
}

} // namespace stepscope::engine
