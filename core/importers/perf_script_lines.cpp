#include "core/importers/perf_script_lines.h"

#include "core/importers/decimal_text.h"
#include "core/session/types.h"

#include <algorithm>

namespace stepscope::importers::perf {

namespace {

bool isSpace(char c) { return c == ' ' || c == '\t'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string_view trim(std::string_view text)
{
    while (!text.empty() && isSpace(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && (isSpace(text.back()) || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

std::string_view firstWord(std::string_view text)
{
    return text.substr(0, std::min(text.find_first_of(" \t"), text.size()));
}

std::string_view takeLastWord(std::string_view& text)
{
    text = trim(text);
    const size_t space = text.find_last_of(" \t");
    const std::string_view word = space == std::string_view::npos ? text : text.substr(space + 1);
    text = trim(text.substr(0, text.size() - word.size()));
    return word;
}

bool isTimeStamp(std::string_view word) // "1807.792960:"
{
    if (!word.ends_with(':')) return false;
    word.remove_suffix(1);
    const size_t dot = word.find('.');
    if (dot == 0 || dot == std::string_view::npos || dot + 1 == word.size()) return false;
    return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(dot), isDigit)
        && std::all_of(word.begin() + static_cast<std::ptrdiff_t>(dot) + 1, word.end(), isDigit);
}

bool isProcessor(std::string_view word) // "[003]"
{
    return word.size() > 2 && word.front() == '[' && word.back() == ']'
        && std::all_of(word.begin() + 1, word.end() - 1, isDigit);
}

// "V8 Worker 3 4021/4055 [003]"
bool parseThread(std::string_view text, Header& header)
{
    std::string_view left = text;
    std::string_view word = takeLastWord(left);
    if (isProcessor(word)) word = takeLastWord(left);
    const size_t slash = word.find('/');
    const std::string_view tidText = slash == std::string_view::npos ? word : word.substr(slash + 1);
    const std::string_view pidText = slash == std::string_view::npos ? std::string_view() : word.substr(0, slash);
    const std::optional<int64_t> tid = scaledDecimal(tidText, 0);
    if (!tid || tidText.find_first_not_of("-0123456789") != std::string_view::npos) return false;
    header.tid = *tid;
    if (slash != std::string_view::npos) {
        const std::optional<int64_t> pid = scaledDecimal(pidText, 0);
        if (!pid || pidText.find_first_not_of("-0123456789") != std::string_view::npos) return false;
        header.pid = *pid;
    }
    header.comm = left;
    return true;
}

// "     250000 cycles:u: REST"; the event ends at the first colon that white space follows.
bool parseEvent(std::string_view text, Header& header)
{
    text = trim(text);
    const std::string_view word = firstWord(text);
    if (!word.empty() && std::all_of(word.begin(), word.end(), isDigit)) {
        header.period = scaledDecimal(word, 0);
        text = trim(text.substr(word.size()));
    }
    const std::string_view event = firstWord(text);
    if (event.size() > 1 && event.ends_with(':')) {
        header.event = event.substr(0, event.size() - 1);
        header.rest = trim(text.substr(event.size()));
        return true;
    }
    header.rest = text;
    return text.empty() || parseFrame(text).has_value();
}

} // namespace

std::optional<Header> parseHeader(std::string_view line)
{
    // The first time stamp with a thread before it. Fields of a tracepoint may hold anything, but stand behind it.
    for (size_t at = 0; at < line.size();) {
        while (at < line.size() && isSpace(line[at]))
            ++at;
        const std::string_view word = firstWord(line.substr(at));
        Header header;
        const bool stamp = !word.empty() && isDigit(word[0]) && isTimeStamp(word);
        if (stamp && parseThread(line.substr(0, at), header)) {
            const std::optional<int64_t> time = scaledDecimal(word.substr(0, word.size() - 1), 9);
            if (!time || !parseEvent(line.substr(at + word.size()), header)) return std::nullopt;
            header.timed = true;
            header.time = *time;
            return header;
        }
        // Printed without time stamps: the processor stands before the event.
        if (isProcessor(word) && parseThread(line.substr(0, at), header) && !header.comm.empty()
            && parseEvent(line.substr(at + word.size()), header) && !header.event.empty()
            && !isTimeStamp(firstWord(trim(line.substr(at + word.size())))))
            return header;
        at += word.size();
    }
    return std::nullopt;
}

std::optional<Frame> parseFrame(std::string_view line)
{
    line = trim(line);
    const std::string_view word = firstWord(line);
    if (word.empty() || !std::all_of(word.begin(), word.end(), isHex) || word.size() > 16) return std::nullopt;
    Frame frame;
    frame.address = wholeNumber(word, 16).value_or(0);
    std::string_view rest = trim(line.substr(word.size()));
    if (rest.empty()) return std::nullopt;
    if (rest.back() == ')') {
        int depth = 0;
        size_t open = rest.size();
        while (open > 0) {
            --open;
            if (rest[open] == ')') ++depth;
            if (rest[open] == '(' && --depth == 0) break;
        }
        if (rest[open] == '(' && (open == 0 || isSpace(rest[open - 1]))) {
            frame.module = rest.substr(open + 1, rest.size() - open - 2);
            rest = trim(rest.substr(0, open));
        }
    }
    frame.inlined = frame.module == "inlined";
    if (frame.inlined) frame.module = {};
    const size_t plus = rest.rfind("+0x");
    if (plus != std::string_view::npos && plus > 0
        && std::all_of(rest.begin() + static_cast<std::ptrdiff_t>(plus) + 3, rest.end(), isHex))
        rest = rest.substr(0, plus);
    frame.function = rest.empty() ? std::string_view("[unknown]") : rest;
    return frame;
}

std::optional<Place> parsePlace(std::string_view line)
{
    if (line.empty() || !isSpace(line[0])) return std::nullopt;
    line = trim(line);
    const size_t colon = line.rfind(':');
    if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
    const std::optional<uint64_t> number = wholeNumber(line.substr(colon + 1));
    const std::string_view file = line.substr(0, colon);
    if (!number || *number > 0x7fffffff || file.find(": ") != std::string_view::npos) return std::nullopt;
    return Place{file, static_cast<int32_t>(*number)};
}

uint32_t frameFlags(const Frame& frame)
{
    uint32_t flags = frame.inlined ? uint32_t{session::kInlined} : 0u;
    const std::string_view module = frame.module;
    if (module.empty() || module == "[unknown]") return flags;
    if (module.front() == '[') {
        const bool user = module == "[vdso]" || module == "[vsyscall]" || module == "[heap]"
            || module.starts_with("[stack") || module.starts_with("[anon");
        return user ? flags : flags | session::kKernelMode;
    }
    if (module.ends_with(".ko") || module.find(".ko.") != std::string_view::npos
        || module.find("vmlinux") != std::string_view::npos)
        return flags | session::kKernelMode;
    if (module.starts_with("/tmp/perf-") || module.starts_with("//anon")
        || module.find("jitted-") != std::string_view::npos)
        return flags | session::kGenerated;
    const bool library = module.ends_with(".so") || module.find(".so.") != std::string_view::npos;
    return flags | uint32_t{library ? session::kLibraryCode : session::kOwnCode};
}

} // namespace stepscope::importers::perf
