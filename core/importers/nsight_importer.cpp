// Nsight Systems exports (nsys export --type sqlite). The only file of this folder that knows SQLite.
#include "core/importers/nsight_importer.h"

#include "core/importers/nsight_reader.h"
#include "core/importers/nsight_source.h"
#include "core/importers/temporary_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cctype>
#include <map>
#include <set>

namespace stepscope::importers {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic = "SQLite format 3\0"sv;
constexpr int kProgressOperations = 20000; // of SQLite's machine between two looks at the stop token

std::string quoted(std::string_view name)
{
    std::string text = "\"";
    for (const char c : name)
        text += c == '"' ? "\"\"" : std::string(1, c);
    return text + '"';
}

struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class SqliteSource;

class SqliteRows final : public NsightRows {
public:
    SqliteRows(SqliteSource& source, std::unique_ptr<sqlite3_stmt, Close> statement, std::vector<int> places)
        : m_source(source)
        , m_statement(std::move(statement))
        , m_places(std::move(places))
    {
    }
    bool next() override;
    bool isNull(int column) const override { return place(column) < 0 || sqlite3_column_type(m_statement.get(), place(column)) == SQLITE_NULL; }
    int64_t integer(int column) const override { return place(column) < 0 ? 0 : sqlite3_column_int64(m_statement.get(), place(column)); }
    double real(int column) const override { return place(column) < 0 ? 0 : sqlite3_column_double(m_statement.get(), place(column)); }
    std::string_view text(int column) const override
    {
        if (place(column) < 0) return {};
        const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(m_statement.get(), place(column)));
        if (bytes == nullptr) return {};
        return {bytes, static_cast<size_t>(sqlite3_column_bytes(m_statement.get(), place(column)))};
    }

private:
    int place(int column) const { return m_places[static_cast<size_t>(column)]; }

    SqliteSource& m_source;
    std::unique_ptr<sqlite3_stmt, Close> m_statement;
    std::vector<int> m_places; // of the columns asked for among those of the statement; -1: the table has none
    int64_t m_rows = 0;
};

class SqliteSource final : public NsightSource {
public:
    static base::Result<std::unique_ptr<SqliteSource>> open(const std::filesystem::path& path, const std::string& shownName,
                                                            std::stop_token stop);

    std::vector<std::string> tables() const override
    {
        std::vector<std::string> names;
        for (const auto& [name, columns] : m_columns)
            names.push_back(name);
        return names;
    }
    bool has(std::string_view table) const override { return m_columns.find(table) != m_columns.end(); }
    bool hasColumn(std::string_view table, std::string_view column) const override
    {
        const auto found = m_columns.find(table);
        return found != m_columns.end() && found->second.contains(column);
    }
    // Row by row: count(*) is one instruction, which a damaged tree of pages can keep busy for ever.
    int64_t count(std::string_view table) override
    {
        int64_t rows = 0;
        if (const auto all = read(table, {"rowid"}, {}))
            while (all->next())
                ++rows;
        return rows;
    }
    std::optional<int64_t> least(std::string_view table, std::string_view column) override
    {
        if (!hasColumn(table, column)) return std::nullopt;
        return single(fmt::format("SELECT min({}) FROM {}", quoted(column), quoted(table)));
    }
    std::unique_ptr<NsightRows> read(std::string_view table, const std::vector<std::string_view>& columns, std::string_view order) override;
    const std::optional<base::Error>& failure() const override { return m_failure; }
    bool stopped() const override { return m_stop.stop_requested(); }
    bool mayGoOn() { return !stopped() && m_looksLeft-- > 0; }

    // False for SQLITE_DONE and for what makes reading end: the error is kept.
    bool goesOn(int code)
    {
        if (code == SQLITE_ROW) return true;
        if (code == SQLITE_DONE || stopped()) return false;
        if (!m_failure)
            m_failure = base::Error{code == SQLITE_NOMEM ? base::ErrorCode::io : base::ErrorCode::wrongFormat,
                fmt::format("the database is damaged ({})", sqlite3_errmsg(m_database.get())), {m_shownName},
                "export the report again with: nsys export --type sqlite FILE"};
        return false;
    }
    // More rows than a file can hold mean a damaged tree of pages.
    int64_t mostRows() const { return m_mostRows; }
    void tooManyRows()
    {
        if (!m_failure)
            m_failure = base::Error{base::ErrorCode::wrongFormat, "the database is damaged (a table has more rows than the file has room for)",
                {m_shownName}, "export the report again with: nsys export --type sqlite FILE"};
    }

private:
    std::unique_ptr<sqlite3_stmt, Close> prepare(const std::string& sql)
    {
        sqlite3_stmt* statement = nullptr;
        const int code = sqlite3_prepare_v2(m_database.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
        if (code != SQLITE_OK) goesOn(code);
        return std::unique_ptr<sqlite3_stmt, Close>(statement);
    }
    std::optional<int64_t> single(const std::string& sql)
    {
        const auto statement = prepare(sql);
        if (!statement || !goesOn(sqlite3_step(statement.get())) || sqlite3_column_type(statement.get(), 0) == SQLITE_NULL) return std::nullopt;
        return sqlite3_column_int64(statement.get(), 0);
    }
    void readSchema();

    std::unique_ptr<sqlite3, Close> m_database;
    std::string m_shownName;
    std::stop_token m_stop;
    int64_t m_mostRows = 0;
    int64_t m_looksLeft = 0; // until reading has taken longer than any sound file of this size
    std::map<std::string, std::set<std::string, std::less<>>, std::less<>> m_columns; // of every table
    std::optional<base::Error> m_failure;
};

bool SqliteRows::next()
{
    if (m_source.failure() || !m_source.goesOn(sqlite3_step(m_statement.get()))) return false;
    if (++m_rows > m_source.mostRows()) {
        m_source.tooManyRows();
        return false;
    }
    return true;
}

// As a URI, so that SQLite neither writes beside the file nor follows a journal that lies there.
std::string uriOf(const std::filesystem::path& path)
{
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(path).string()) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_') uri += c;
        else uri += fmt::format("%{:02X}", byte);
    }
    return uri + "?mode=ro&immutable=1";
}

base::Result<std::unique_ptr<SqliteSource>> SqliteSource::open(const std::filesystem::path& path, const std::string& shownName, std::stop_token stop)
{
    auto source = std::make_unique<SqliteSource>();
    source->m_shownName = shownName;
    source->m_stop = std::move(stop);
    std::error_code failed;
    source->m_mostRows = static_cast<int64_t>(std::filesystem::file_size(path, failed)) / 2; // a row takes two bytes at least
    sqlite3* database = nullptr;
    const int code = sqlite3_open_v2(uriOf(path).c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    source->m_database.reset(database);
    if (code != SQLITE_OK)
        return base::fail(base::ErrorCode::io, fmt::format("the database cannot be opened ({})", database != nullptr ? sqlite3_errmsg(database) : "no memory"), {shownName});
    // The file is not ours: no code and no tricks of its schema.
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 64 << 20);
    sqlite3_exec(database, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
    sqlite3_progress_handler(database, kProgressOperations, [](void* self) { return static_cast<SqliteSource*>(self)->mayGoOn() ? 0 : 1; }, source.get());
    source->m_looksLeft = 1000 + source->m_mostRows / 25; // hundreds of operations for each byte: a few are usual
    source->readSchema();
    if (source->m_failure && source->m_columns.empty()) return base::fail(*source->m_failure);
    return source;
}

void SqliteSource::readSchema()
{
    std::vector<std::string> names;
    {
        // Plain tables only: a view or virtual table could run anything.
        const auto statement = prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE%'");
        while (statement && goesOn(sqlite3_step(statement.get())))
            if (const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0))) names.emplace_back(name);
    }
    for (const std::string& name : names) {
        const auto statement = prepare(fmt::format("SELECT name FROM pragma_table_info('{}')", [&] {
            std::string text;
            for (const char c : name)
                text += c == '\'' ? "''" : std::string(1, c);
            return text;
        }()));
        auto& columns = m_columns[name];
        while (statement && goesOn(sqlite3_step(statement.get())))
            if (const auto* column = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0))) columns.emplace(column);
    }
}

std::unique_ptr<NsightRows> SqliteSource::read(std::string_view table, const std::vector<std::string_view>& columns, std::string_view order)
{
    if (!has(table)) return nullptr;
    std::vector<int> places;
    std::string list;
    int next = 0;
    for (const std::string_view column : columns) {
        if (column != "rowid" && !hasColumn(table, column)) {
            places.push_back(-1);
            continue;
        }
        list += (next == 0 ? "" : ", ") + quoted(column);
        places.push_back(next++);
    }
    if (next == 0) return nullptr;
    std::string sql = fmt::format("SELECT {} FROM {}", list, quoted(table));
    if (!order.empty()) sql += fmt::format(" ORDER BY {}", order);
    auto statement = prepare(sql);
    if (!statement) return nullptr;
    return std::make_unique<SqliteRows>(*this, std::move(statement), std::move(places));
}

bool zeroedHeader(const Input& input)
{
    const std::string_view begin = std::string_view(input.head).substr(0, 100);
    return begin.size() == 100 && begin.find_first_not_of('\0') == std::string_view::npos;
}

bool namedLikeDatabase(const Input& input)
{
    for (const std::string_view ending : {".sqlite", ".sqlite3", ".db"})
        if (input.name.ends_with(ending)) return true;
    return false;
}

} // namespace

Detection detectNsight(const Input& input)
{
    const std::string_view head = input.head;
    if (zeroedHeader(input) && namedLikeDatabase(input)) return {Confidence::certain, "a SQLite file whose header was never written"};
    if (!head.starts_with(kMagic)) return {};
    for (const std::string_view table : {"CUPTI_ACTIVITY_KIND_"sv, "NVTX_EVENTS"sv, "META_DATA_EXPORT"sv, "COMPOSITE_EVENTS"sv, "OSRT_API"sv})
        if (head.find(table) != std::string_view::npos)
            return {Confidence::certain, fmt::format("a SQLite file with the table {}{}", table, table.ends_with('_') ? "..." : "")};
    if (head.find("StringIds") != std::string_view::npos) return {Confidence::likely, "a SQLite file with the table StringIds"};
    return {Confidence::name, "a SQLite file"};
}

namespace {

bool looksLikeExport(const NsightSource& source)
{
    for (const std::string& table : source.tables())
        if (table.starts_with("CUPTI_ACTIVITY_KIND_") || table == "NVTX_EVENTS" || table == "OSRT_API" || table == "COMPOSITE_EVENTS"
            || table == "META_DATA_EXPORT")
            return true;
    return false;
}

} // namespace

base::Result<Imported> importNsight(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress)
{
    if (zeroedHeader(input))
        return base::fail(base::ErrorCode::truncated, "the export was interrupted: the header of the database is empty", {input.path.string(), 0},
            "export the report again with: nsys export --type sqlite FILE");
    if (!std::string_view(input.head).starts_with(kMagic))
        return base::fail(base::ErrorCode::wrongFormat, "this is no SQLite file", {input.path.string(), 0}, "export the report with: nsys export --type sqlite FILE");
    TemporaryFile unpacked;
    std::filesystem::path path = input.path;
    if (!input.plain() || path.empty()) {
        if (const base::Status filled = unpacked.fill(*input.bytes, stop, progress); !filled) return base::fail(filled.error());
        path = unpacked.path();
    }
    const std::string shown = input.path.empty() ? input.name : input.path.string();
    base::Result<std::unique_ptr<SqliteSource>> source = SqliteSource::open(path, shown, stop);
    if (!source) return base::fail(source.error());
    if (!looksLikeExport(**source))
        return base::fail(base::ErrorCode::wrongFormat, "this SQLite file is no export of Nsight Systems: it has none of its tables", {shown},
            "export the report with: nsys export --type sqlite FILE");
    return readNsight(**source, input, options, stop, progress);
}

} // namespace stepscope::importers
