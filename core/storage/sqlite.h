// Thin owners of an SQLite connection and its statements, with our errors. Internal to core/storage.
// Owner: core/storage. Thread: one at a time.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace stepscope::storage {

class Database;

// A prepared statement. Parameters and columns count from 0. Text and blobs that are bound must live until step().
class Statement {
public:
    Statement() = default;
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) noexcept;
    ~Statement();

    Statement& bind(int at, int64_t value);
    Statement& bind(int at, double value); // NaN is stored as NULL
    Statement& bind(int at, std::string_view text);
    Statement& bind(int at, std::span<const uint8_t> blob);
    Statement& bindNull(int at);
    template <class... Values>
    Statement& bindAll(const Values&... values)
    {
        int at = 0;
        (bind(at++, values), ...);
        return *this;
    }

    // True with a row, false at the end. The statement is reset at the end and after an error.
    base::Result<bool> step();
    // Runs to the end and resets, for statements without rows.
    base::Status run();

    int64_t integer(int column) const;
    double real(int column) const; // NaN for NULL
    std::string text(int column) const;
    std::span<const uint8_t> blob(int column) const; // valid until the next step()
    bool isNull(int column) const;

private:
    friend class Database;
    Statement(Database* database, sqlite3_stmt* statement) : m_database(database), m_statement(statement) {}

    Database* m_database = nullptr;
    sqlite3_stmt* m_statement = nullptr;
};

enum class OpenMode { readOnly, readWrite, create };

class Database {
public:
    // Opens without reading: whether it is a database shows at the first statement.
    static base::Result<std::unique_ptr<Database>> open(const std::filesystem::path& path, OpenMode mode);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    base::Status execute(const char* sql); // one or more statements without results
    base::Result<Statement> prepare(std::string_view sql);
    base::Result<int64_t> integer(std::string_view sql); // first column of the first row
    // Statements end with "cancelled" once a stop is requested.
    void setStop(std::stop_token stop);
    void setBusyTimeout(int milliseconds);

    bool inTransaction() const;
    const std::filesystem::path& path() const { return m_path; }
    base::Error failure(int code); // our error for an SQLite result code

private:
    explicit Database(std::filesystem::path path) : m_path(std::move(path)) {}

    sqlite3* m_handle = nullptr;
    std::filesystem::path m_path;
    std::stop_token m_stop;
};

} // namespace stepscope::storage
