#include "core/importers/event_text.h"

#include "core/importers/decimal_text.h"
#include "core/importers/input.h"
#include "core/importers/json_pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace stepscope::importers {

namespace {

constexpr size_t kFirstRead = size_t{64} << 10;
constexpr size_t kLongestEvent = size_t{64} << 20;
constexpr size_t kLongestValue = size_t{16} << 10;

// The bytes of a file from a place on.
class PlaceReader {
public:
    static base::Result<PlaceReader> open(const std::string& path, const std::string& member, uint64_t place, const std::stop_token& stop,
                                          const base::Progress& progress)
    {
        PlaceReader reader;
        InputOptions options;
        options.member = member;
        base::Result<Input> input = openInput(path, options);
        if (!input && !member.empty()) input = openInput(path); // the name is that of the innermost packing
        if (!input) return base::fail(input.error());
        if (input->plain()) {
            reader.m_plain.open(path, std::ios::binary);
            reader.m_plain.seekg(static_cast<std::streamoff>(place));
            return reader;
        }
        reader.m_packed = std::move(input->bytes);
        std::string block(size_t{1} << 20, '\0');
        for (uint64_t left = place; left > 0;) {
            if (stop.stop_requested()) return base::fail(base::ErrorCode::cancelled, "cancelled");
            const base::Result<size_t> got = reader.m_packed->read({block.data(), static_cast<size_t>(std::min<uint64_t>(left, block.size()))});
            if (!got) return base::fail(got.error());
            if (*got == 0) break;
            left -= *got;
            if (progress) progress(1 - static_cast<double>(left) / static_cast<double>(place), "unpacking");
        }
        return reader;
    }

    // Appends; false at the end.
    base::Result<bool> more(std::string& text, size_t bytes)
    {
        const size_t before = text.size();
        text.resize(before + bytes);
        size_t got = 0;
        if (m_packed != nullptr) {
            const base::Result<size_t> read = m_packed->read({text.data() + before, bytes});
            if (!read) return base::fail(read.error());
            got = *read;
        } else {
            m_plain.read(text.data() + before, static_cast<std::streamsize>(bytes));
            got = static_cast<size_t>(m_plain.gcount());
        }
        text.resize(before + got);
        return got > 0;
    }

private:
    std::ifstream m_plain;
    std::unique_ptr<ByteSource> m_packed;
};

std::string valueOf(JsonPull& json, EventText& event)
{
    const JsonPull::Kind kind = json.kind();
    std::string_view text = kind == JsonPull::Kind::object || kind == JsonPull::Kind::array ? json.raw()
        : kind == JsonPull::Kind::string                                                    ? json.string()
                                                                                            : json.scalar();
    if (text.size() <= kLongestValue) return std::string(text);
    size_t end = kLongestValue;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end; // not within a character
    ++event.cutValues;
    return fmt::format("{} … ({} bytes)", text.substr(0, end), text.size());
}

// Nothing when the text ends before the object does.
std::optional<EventText> parse(std::string_view text)
{
    EventText event;
    JsonPull json(text);
    std::string_view key;
    for (bool in = json.enterObject(); in && json.nextKey(key);) {
        std::string name(key);
        if (name != "args" || json.kind() != JsonPull::Kind::object) {
            event.members.push_back({std::move(name), valueOf(json, event)});
            continue;
        }
        std::string_view argument;
        for (bool inside = json.enterObject(); inside && json.nextKey(argument);) {
            std::string argumentName(argument);
            event.arguments.push_back({std::move(argumentName), valueOf(json, event)});
        }
    }
    if (json.problem()) return std::nullopt;
    return event;
}

// The name that the session has, unless it is one of those that it shortens or repairs.
bool names(const EventText& event, std::string_view expected)
{
    const auto at = std::find_if(event.members.begin(), event.members.end(), [](const EventArgument& member) { return member.name == "name"; });
    const std::string_view name = at == event.members.end() ? std::string_view() : std::string_view(at->value);
    return name.starts_with(expected) || expected.find("\xef\xbf\xbd") != std::string_view::npos;
}

base::Error changed(const std::string& path)
{
    return {base::ErrorCode::wrongFormat, "the file is not the one that was opened: it has changed since", {path},
            "open it again to see its events"};
}

} // namespace

base::Result<EventText> readEvent(const session::Session& session, uint32_t row, std::stop_token stop, const base::Progress& progress)
{
    const session::SpanTable& spans = session.spans();
    if (row >= spans.size()) return base::fail(base::ErrorCode::invalidArgument, "there is no such span");
    const uint64_t place = session.details().placeOf(spans.detailOf(row));
    const std::string path(session.environmentValue("import.file"));
    if (place == session::DetailTable::kNoPlace || path.empty())
        return base::fail(base::ErrorCode::unsupported, "the file says no more of this event than is shown");
    std::error_code failed;
    const uint64_t bytes = std::filesystem::file_size(path, failed);
    if (failed)
        return base::fail(base::ErrorCode::notFound, "the arguments stand in the file that was imported, and it is not there any more", {path},
                          "put it back to see them");
    const std::optional<uint64_t> then = wholeNumber(session.environmentValue("import.bytes"));
    if (then && *then != bytes) return base::fail(changed(path));
    base::Result<PlaceReader> reader = PlaceReader::open(path, std::string(session.environmentValue("import.member")), place, stop, progress);
    if (!reader) return base::fail(reader.error());

    const session::Label* label = spans.label[row] < session.labels().size() ? &session.labels()[spans.label[row]] : nullptr;
    std::string text;
    for (size_t step = kFirstRead;; step = text.size()) {
        if (stop.stop_requested()) return base::fail(base::ErrorCode::cancelled, "cancelled");
        const base::Result<bool> got = reader->more(text, step);
        if (!got) return base::fail(got.error());
        if (text.empty() || text.front() != '{') return base::fail(changed(path));
        std::optional<EventText> event = parse(text);
        if (event && (label == nullptr || names(*event, session.string(label->name)))) return std::move(*event);
        if (event || !*got || text.size() >= kLongestEvent) return base::fail(changed(path));
    }
}

} // namespace stepscope::importers
