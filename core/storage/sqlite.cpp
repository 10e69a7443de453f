#include "core/storage/sqlite.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

namespace stepscope::storage {

using base::ErrorCode;

namespace {

// Tries to write a little beyond the size of the file, into a nameless file beside it: ENOSPC, EDQUOT or EFBIG when
// that is what stops it, else 0.
int limitOfWriting(const std::filesystem::path& path)
{
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    const std::string directory = std::filesystem::absolute(path, error).parent_path().string();
    const int file = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return 0;
    const std::vector<char> bytes(65536);
    const ssize_t written =
        ::pwrite(file, bytes.data(), bytes.size(), size == ~uintmax_t{0} ? 0 : static_cast<off_t>(size));
    int reason = written < 0 ? errno : 0;
    if (written >= 0 && static_cast<size_t>(written) < bytes.size()) { // stopped at the limit: the next byte says why
        const auto end = static_cast<off_t>(size) + written;
        if (::pwrite(file, bytes.data(), 1, end) < 0) reason = errno;
    }
    ::close(file);
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG ? reason : 0;
}

} // namespace

Statement::Statement(Statement&& other) noexcept
    : m_database(other.m_database),
      m_statement(std::exchange(other.m_statement, nullptr))
{
}

Statement& Statement::operator=(Statement&& other) noexcept
{
    std::swap(m_database, other.m_database);
    std::swap(m_statement, other.m_statement);
    return *this;
}

Statement::~Statement() { sqlite3_finalize(m_statement); }

Statement& Statement::bind(int at, int64_t value)
{
    sqlite3_bind_int64(m_statement, at + 1, value);
    return *this;
}

Statement& Statement::bind(int at, double value)
{
    sqlite3_bind_double(m_statement, at + 1, value);
    return *this;
}

Statement& Statement::bind(int at, std::string_view text)
{
    sqlite3_bind_text64(m_statement, at + 1, text.data() != nullptr ? text.data() : "", text.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
    return *this;
}

Statement& Statement::bind(int at, std::span<const uint8_t> blob)
{
    sqlite3_bind_blob64(m_statement, at + 1, blob.data(), blob.size(), SQLITE_STATIC);
    return *this;
}

Statement& Statement::bindNull(int at)
{
    sqlite3_bind_null(m_statement, at + 1);
    return *this;
}

base::Result<bool> Statement::step()
{
    const int code = sqlite3_step(m_statement);
    if (code == SQLITE_ROW) return true;
    const int end = code == SQLITE_DONE ? SQLITE_OK : code;
    base::Error error;
    if (end != SQLITE_OK) error = m_database->failure(end);
    sqlite3_reset(m_statement);
    if (end != SQLITE_OK) return base::fail(std::move(error));
    return false;
}

base::Status Statement::run()
{
    for (;;) {
        const base::Result<bool> row = step();
        if (!row) return base::fail(row.error());
        if (!*row) return {};
    }
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(m_statement, column); }

double Statement::real(int column) const
{
    if (isNull(column)) return std::numeric_limits<double>::quiet_NaN();
    return sqlite3_column_double(m_statement, column);
}

std::string Statement::text(int column) const
{
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(m_statement, column));
    if (text == nullptr) return {};
    return std::string(text, static_cast<size_t>(sqlite3_column_bytes(m_statement, column)));
}

std::span<const uint8_t> Statement::blob(int column) const
{
    const auto* bytes = static_cast<const uint8_t*>(sqlite3_column_blob(m_statement, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(m_statement, column))};
}

bool Statement::isNull(int column) const { return sqlite3_column_type(m_statement, column) == SQLITE_NULL; }

base::Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& path, OpenMode mode)
{
    std::unique_ptr<Database> database(new Database(path));
    int flags = SQLITE_OPEN_NOMUTEX;
    switch (mode) {
    case OpenMode::readOnly: flags |= SQLITE_OPEN_READONLY; break;
    case OpenMode::readWrite: flags |= SQLITE_OPEN_READWRITE; break;
    case OpenMode::create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
    }
    // An absolute path cannot be taken for a URI or for ":memory:".
    std::error_code ignored;
    const std::string name = std::filesystem::absolute(path, ignored).string();
    const int code = sqlite3_open_v2(name.c_str(), &database->m_handle, flags, nullptr);
    if (code != SQLITE_OK) return base::fail(database->failure(code));
    sqlite3_busy_timeout(database->m_handle, 5000);
    return database;
}

Database::~Database() { sqlite3_close_v2(m_handle); }

base::Status Database::execute(const char* sql)
{
    const int code = sqlite3_exec(m_handle, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return base::fail(failure(code));
    return {};
}

base::Result<Statement> Database::prepare(std::string_view sql)
{
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(m_handle, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &statement, nullptr);
    if (code != SQLITE_OK) return base::fail(failure(code));
    return Statement(this, statement);
}

base::Result<int64_t> Database::integer(std::string_view sql)
{
    base::Result<Statement> statement = prepare(sql);
    if (!statement) return base::fail(statement.error());
    const base::Result<bool> row = statement->step();
    if (!row) return base::fail(row.error());
    return *row ? statement->integer(0) : 0;
}

void Database::setStop(std::stop_token stop)
{
    m_stop = std::move(stop);
    if (!m_stop.stop_possible()) {
        sqlite3_progress_handler(m_handle, 0, nullptr, nullptr);
        return;
    }
    sqlite3_progress_handler(
        m_handle, 10'000,
        [](void* stopToken) { return static_cast<std::stop_token*>(stopToken)->stop_requested() ? 1 : 0; }, &m_stop);
}

void Database::setBusyTimeout(int milliseconds) { sqlite3_busy_timeout(m_handle, milliseconds); }

bool Database::inTransaction() const { return sqlite3_get_autocommit(m_handle) == 0; }

base::Error Database::failure(int code)
{
    const int primary = code & 0xff;
    const int systemError = m_handle != nullptr ? sqlite3_system_errno(m_handle) : 0;
    const char* detail = m_handle != nullptr ? sqlite3_errmsg(m_handle) : sqlite3_errstr(code);
    base::Error error;
    error.where.file = m_path.string();
    // Only ENOSPC becomes SQLITE_FULL; the other limits look like any failed write, and SQLite has lost the reason.
    const int limit = primary == SQLITE_FULL ? ENOSPC : primary == SQLITE_IOERR ? limitOfWriting(m_path) : 0;
    if (limit != 0) {
        error.code = ErrorCode::diskFull;
        error.message = limit == EFBIG ? "the file may not grow further (file size limit)"
            : limit == EDQUOT          ? "the disk quota is used up"
                                       : "no space is left on the disk";
        error.hint = "free some space or choose another directory; what was stored before stays readable";
        return error;
    }
    switch (primary) {
    case SQLITE_INTERRUPT:
        error.code = ErrorCode::cancelled;
        error.message = "cancelled";
        break;
    case SQLITE_NOTADB:
        error.code = ErrorCode::wrongFormat;
        error.message = "not an SQLite database";
        break;
    case SQLITE_CORRUPT:
        error.code = ErrorCode::truncated;
        error.message = "the file is damaged or incomplete";
        error.hint = "copy the file again from where it was recorded";
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        error.code = ErrorCode::unavailable;
        error.message = "the file is in use by another program";
        error.hint = "close the other program or wait for its recording to end";
        break;
    case SQLITE_READONLY:
        error.code = ErrorCode::io;
        error.message = "the file may not be written";
        if (m_handle != nullptr && sqlite3_extended_errcode(m_handle) == SQLITE_READONLY_ROLLBACK) {
            error.message =
                "the recording was killed in the middle of a commit, and the file may not be written to undo it";
            error.hint = "copy the file, with the -journal file beside it, to a directory where you may write";
        }
        break;
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        error.code = systemError == ENOENT ? ErrorCode::notFound : ErrorCode::io;
        error.message =
            systemError != 0 ? fmt::format("{} ({})", detail, std::strerror(systemError)) : std::string(detail);
        break;
    default:
        error.code = ErrorCode::internal;
        error.message = detail;
        break;
    }
    return error;
}

} // namespace stepscope::storage
