#include "app/cli/console.h"

#include "core/storage/file_place.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <sys/ioctl.h>
#include <unistd.h>

namespace stepscope::cli {

namespace {

base::Error writeError(const std::string& path, int code)
{
    base::Error error;
    error.code = code == ENOSPC || code == EDQUOT ? base::ErrorCode::diskFull : base::ErrorCode::io;
    error.message = fmt::format("cannot write: {}", std::strerror(code));
    error.where.file = path;
    if (error.code == base::ErrorCode::diskFull) error.hint = "make room on that disk or choose another place";
    return error;
}

base::Status writeAll(std::FILE* file, std::string_view text, const std::string& path)
{
    errno = 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
    if (!written) return base::fail(writeError(path, errno != 0 ? errno : EIO));
    return {};
}

void line(std::string_view kind, std::string_view text)
{
    const std::string whole = fmt::format("stepscope: {}: {}\n", kind, text);
    std::fflush(stdout); // keeps the order where both go to one place
    std::fwrite(whole.data(), 1, whole.size(), stderr);
}

} // namespace

bool isTerminal(int descriptor) { return ::isatty(descriptor) == 1; }

int terminalWidth(int descriptor, int fallback)
{
    winsize size{};
    if (!isTerminal(descriptor) || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return fallback;
    return size.ws_col;
}

void printError(const base::Error& error) { line("error", base::toText(error)); }
void printNote(std::string_view text) { line("note", text); }

base::Status writeResult(const std::string& path, std::string_view text)
{
    if (path.empty() || path == "-") return writeAll(stdout, text, "standard output");
    std::error_code code;
    // Devices and pipes are written in place; a regular file is replaced as a whole, also behind a link.
    const auto status = std::filesystem::status(path, code);
    const bool there = std::filesystem::exists(status), inPlace = there && !std::filesystem::is_regular_file(status);
    const std::string whole = inPlace ? path : storage::behindLinks(path).string();
    const std::string part = inPlace ? path : whole + ".part";
    std::FILE* file = std::fopen(part.c_str(), "wb");
    if (file == nullptr) return base::fail(writeError(path, errno));
    base::Status result = writeAll(file, text, path);
    if (std::fclose(file) != 0 && result) result = base::fail(writeError(path, errno));
    if (inPlace) return result;
    if (result && there) std::filesystem::permissions(part, status.permissions(), code);
    if (result && std::rename(part.c_str(), whole.c_str()) != 0) result = base::fail(writeError(path, errno));
    if (!result) std::remove(part.c_str());
    return result;
}

std::string printable(std::string_view text)
{
    std::string clean(text);
    for (char& c : clean)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return clean;
}

size_t columns(std::string_view text)
{
    size_t count = 0;
    for (const char c : text)
        if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++count;
    return count;
}

} // namespace stepscope::cli
