#include "core/importers/trace_reader.h"

#include "core/importers/text_window.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstring>

namespace stepscope::importers {

namespace {

using simdjson::ondemand::field;
using simdjson::ondemand::object;

constexpr size_t kMaxEvent = size_t{256} << 20;
constexpr size_t kMaxFastWindow = size_t{3} << 20; // simdjson's memory follows the window
static_assert(TextWindow::kPadding >= simdjson::SIMDJSON_PADDING);

// Which member of RawEvent a key is for; null for keys that nothing here needs.
std::string_view RawEvent::* memberFor(std::string_view key)
{
    switch (key.size()) {
    case 1: return key == "s" ? &RawEvent::scope : nullptr;
    case 2:
        if (key == "ph") return &RawEvent::phase;
        if (key == "ts") return &RawEvent::time;
        if (key == "id") return &RawEvent::id;
        if (key == "bp") return &RawEvent::bind;
        return key == "sf" ? &RawEvent::stackFrame : nullptr;
    case 3:
        if (key == "cat") return &RawEvent::category;
        if (key == "pid") return &RawEvent::process;
        if (key == "tid") return &RawEvent::thread;
        if (key == "dur") return &RawEvent::duration;
        return key == "id2" ? &RawEvent::id2 : nullptr;
    case 4:
        if (key == "name") return &RawEvent::name;
        return key == "args" ? &RawEvent::args : nullptr;
    case 5: return key == "scope" ? &RawEvent::scope : nullptr;
    case 6: return key == "weight" ? &RawEvent::weight : nullptr;
    default: return nullptr;
    }
}

std::string_view withoutBlanks(std::string_view token)
{
    while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ')
        token.remove_suffix(1);
    return token;
}

class Reader {
public:
    Reader(ByteSource& source, TraceSink& sink, std::stop_token stop, const base::Progress& progress)
        : m_window(source), m_sink(sink), m_stop(std::move(stop)), m_progress(progress)
    {
    }

    base::Result<TraceText> run()
    {
        m_window.more();
        if (m_window.text().substr(0, 3) == "\xef\xbb\xbf") m_window.advance(3);
        const int first = peek();
        if (first == '[') {
            m_out.array = true;
            m_window.advance(1);
            readEvents();
        } else if (first == '{') {
            m_window.advance(1);
            readMembers();
        } else {
            return base::fail(base::ErrorCode::wrongFormat, "the file holds no JSON object and no array",
                              {"", static_cast<int64_t>(m_window.offset())});
        }
        if (m_cancelled) return base::fail(base::ErrorCode::cancelled, "loading was cancelled");
        m_out.bytes = m_window.offset() + m_window.size();
        noteStrictness();
        return std::move(m_out);
    }

private:
    // ---- the text -----------------------------------------------------------------------------------------------------
    // The next byte that is not blank, or -1 at the end.
    int peek()
    {
        for (;;) {
            m_window.advance(skipBlanks(m_window.text(), 0));
            if (m_window.size() > 0) return static_cast<unsigned char>(m_window.text()[0]);
            if (!more()) return -1;
        }
    }
    bool more()
    {
        if (m_progress) m_progress(m_window.fraction(), "reading");
        if (m_stop.stop_requested()) m_cancelled = true;
        return !m_cancelled && m_window.more();
    }

    void breakOff(const char* kind, std::string message, uint64_t byte)
    {
        if (!m_out.complete || m_cancelled) return;
        m_out.complete = false;
        m_out.problem = ImportProblem{kind, static_cast<int64_t>(byte), -1, -1, std::move(message)};
    }
    // The text ends where it must not: the packing's error, a read error or a cut file.
    void endOfText(bool inString)
    {
        if (m_cancelled) return;
        if (m_window.error()) {
            if (!m_out.complete) return;
            m_out.complete = false;
            m_out.problem = problemOf(*m_window.error());
            return;
        }
        const uint64_t end = m_window.offset() + m_window.size();
        if (inString) breakOff("unterminated-string", "the file ends inside a string", end);
        else breakOff("unexpected-end", "the file ends before its last bracket", end);
    }
    void unexpected(const char* wanted)
    {
        const std::string_view near = m_window.text().substr(0, 24);
        breakOff("syntax", fmt::format("{} expected, found \"{}\"", wanted, near.substr(0, near.find('\n'))), m_window.offset());
    }

    // True when the window holds the whole value at its begin; reads more as needed, up to `limit` bytes.
    bool complete(size_t& end, size_t limit)
    {
        for (;;) {
            end = endOfValue(m_window.text(), 0);
            if (end != std::string_view::npos) return true;
            const size_t before = m_window.size();
            if (before > limit) return false;
            // Looking at the whole again after every block would cost the square of a large value: double what is there.
            while (m_window.size() < 2 * before + 1)
                if (!more()) {
                    end = endOfValue(m_window.text(), 0);
                    return end != std::string_view::npos;
                }
        }
    }
    bool endsInString() const
    {
        bool inString = false;
        for (size_t at = 0; at < m_window.size(); ++at) {
            const char c = m_window.text()[at];
            if (inString && c == '\\') ++at;
            else if (c == '"') inString = !inString;
        }
        return inString;
    }

    // ---- the top-level object -----------------------------------------------------------------------------------------
    void readMembers()
    {
        for (;;) {
            int c = peek();
            while (c == ',') {
                m_window.advance(1);
                c = peek();
            }
            if (c == '}') return finishFile();
            if (c < 0) return endOfText(false);
            if (c != '"') return unexpected("a name in quotes");
            size_t end = 0;
            if (!complete(end, kMaxEvent)) return endOfText(true);
            const std::string key = decoded(m_window.text().substr(0, end));
            m_window.advance(end);
            c = peek();
            if (c < 0) return endOfText(false);
            if (c != ':') return unexpected("a colon");
            m_window.advance(1);
            c = peek();
            if (c < 0) return endOfText(false);
            if (key == "traceEvents" && c == '[') {
                m_window.advance(1);
                if (!readEvents()) return;
            } else if (!readMember(key)) {
                return;
            }
        }
    }

    bool readMember(const std::string& key)
    {
        size_t end = 0;
        if (!complete(end, TraceSink::kMaxMember)) {
            endOfText(endsInString());
            return false;
        }
        if (end == 0) {
            unexpected("a value");
            return false;
        }
        const std::string_view value = m_window.text().substr(0, end);
        checkJson(value, m_window.offset(), m_out.repairs);
        m_sink.member(key, value);
        m_window.advance(end);
        return true;
    }

    void finishFile()
    {
        m_window.advance(1);
        const int c = peek();
        if (c < 0) {
            if (m_window.error()) endOfText(false);
            return;
        }
        if (c != 0) breakOff("trailing-text", "there is text behind the end of the trace", m_window.offset());
    }

    // ---- the list of events -------------------------------------------------------------------------------------------
    // False when reading ends here.
    bool readEvents()
    {
        for (;;) {
            if (m_cancelled) return false;
            readFast();
            int c = peek();
            while (c == ',') {
                m_window.advance(1);
                c = peek();
            }
            if (c == ']') {
                if (m_out.array) finishFile();
                else m_window.advance(1);
                return m_out.complete;
            }
            if (c < 0) {
                endOfEvents();
                return false;
            }
            if (!readOne(c)) return false;
        }
    }

    // The format allows the array form to end anywhere between two events.
    void endOfEvents()
    {
        if (!m_out.array || m_window.error() || m_cancelled) return endOfText(false);
        m_out.problem = ImportProblem{"unexpected-end", static_cast<int64_t>(m_window.offset()), -1, -1,
                                      "the list of events is not closed, which its format allows"};
    }

    // One element, by the forgiving way.
    bool readOne(int first)
    {
        size_t end = 0;
        if (!complete(end, kMaxEvent)) {
            if (m_window.size() > kMaxEvent) breakOff("event-too-large", "an event has more than 256 MB", m_window.offset());
            else endOfText(endsInString());
            return false;
        }
        if (end == 0) {
            unexpected("an event");
            return false;
        }
        const std::string_view text = m_window.text().substr(0, end);
        checkJson(text, m_window.offset(), m_out.repairs);
        if (first != '{') m_out.notEvents.add(m_window.offset());
        else deliver(text);
        m_window.advance(end);
        const int next = peek();
        if (next >= 0 && next != ',' && next != ']') {
            unexpected("a comma or the end of the list");
            return false;
        }
        return true;
    }

    void deliver(std::string_view text)
    {
        RawEvent event;
        event.place = m_window.offset();
        JsonCursor cursor(text);
        std::string_view key, value;
        bool any = false;
        while (cursor.nextMember(key, value)) {
            any = true;
            if (std::string_view RawEvent::* const member = memberFor(key)) event.*member = value;
        }
        if (cursor.broken()) m_out.malformed.add(m_window.offset());
        else if (!any) ++m_out.emptyObjects;
        else m_sink.event(event);
    }

    // ---- the fast way -------------------------------------------------------------------------------------------------
    // Handles as many whole events at the begin of the window as are clean; the rest is left.
    void readFast()
    {
        for (;;) {
            while (m_window.size() < TextWindow::kBlock)
                if (!more()) break;
            if (m_cancelled || m_window.offset() < m_slowUntil) return;
            const std::string_view text = m_window.text();
            size_t start = 0;
            while (start < text.size() && (text[start] == ',' || static_cast<unsigned char>(text[start]) <= ' '))
                ++start;
            if (start == text.size() || text[start] != '{') return;
            m_window.advance(start);
            const size_t end = lastBoundary();
            if (end == 0 || end > kMaxFastWindow) return;
            const uint64_t behind = m_window.offset() + end;
            const size_t done = maybeDeviates(m_window.text().substr(0, end)) ? 0 : parse(end);
            m_window.advance(done);
            if (done < end) {
                m_slowUntil = behind;
                return;
            }
        }
    }

    // The end of the last object in the window that another object follows, or 0. In a list within an event that may be
    // an object of that list; then the parser stops at the event.
    size_t lastBoundary() const
    {
        std::string_view text = m_window.text();
        for (int tries = 0; tries < 64; ++tries) {
            const size_t open = text.rfind('{');
            if (open == std::string_view::npos || open == 0) return 0;
            size_t at = open;
            const auto blanksBack = [&] {
                while (at > 0 && static_cast<unsigned char>(text[at - 1]) <= ' ')
                    --at;
            };
            blanksBack();
            if (at > 0 && text[at - 1] == ',') {
                --at;
                blanksBack();
                const size_t name = skipBlanks(m_window.text(), open + 1);
                if (at > 0 && text[at - 1] == '}' && name < m_window.size() && (m_window.text()[name] == '"' || m_window.text()[name] == '}')) return at;
            }
            text = text.substr(0, open);
        }
        return 0;
    }

    // Parses the events in the first `size` bytes as a JSON array; returns the bytes of those that were handled.
    size_t parse(size_t size)
    {
        char* const text = m_window.data();
        const char before = text[-1], behind = text[size];
        text[-1] = '[';
        text[size] = ']';
        const size_t done = parseArray(std::string_view(text - 1, size + 2));
        text[-1] = before;
        text[size] = behind;
        return done;
    }

    size_t parseArray(std::string_view array)
    {
        simdjson::ondemand::document document;
        const size_t room = m_window.capacityLeft() + 1;
        if (m_parser.iterate(array.data(), array.size(), room).get(document) != simdjson::SUCCESS) return 0;
        simdjson::ondemand::array events;
        if (document.get_array().get(events) != simdjson::SUCCESS) return 0;
        const char* const begin = array.data() + 1;
        size_t done = 0;
        for (auto element : events) {
            object members;
            simdjson::ondemand::value value;
            if (element.get(value) != simdjson::SUCCESS) return done;
            const char* const start = value.raw_json_token().data();
            done = static_cast<size_t>(start - begin);
            if (value.get_object().get(members) != simdjson::SUCCESS) return done;
            if (!parseEvent(members, static_cast<size_t>(start - begin))) return done;
            const char* behind = nullptr;
            if (document.current_location().get(behind) != simdjson::SUCCESS) return array.size() - 2;
            done = static_cast<size_t>(behind - begin); // this event is not to be handled again
        }
        return done; // not the whole when the list of events ends within, and other lists of objects follow it
    }

    bool parseEvent(object& members, size_t at)
    {
        RawEvent event;
        event.place = m_window.offset() + at;
        bool any = false;
        for (auto member : members) {
            field f;
            if (std::move(member).get(f) != simdjson::SUCCESS) return false;
            any = true;
            const char* const name = f.key().raw();
            size_t length = 0;
            while (length < 8 && name[length] != '"')
                ++length;
            std::string_view RawEvent::* const wanted = memberFor({name, length});
            if (wanted == nullptr) continue; // skipped by the iterator
            const std::string_view token = f.value().raw_json_token();
            if (token.front() == '{' || token.front() == '[') {
                std::string_view whole;
                if (token.front() == '{') {
                    object inner;
                    if (f.value().get_object().get(inner) != simdjson::SUCCESS || inner.raw_json().get(whole) != simdjson::SUCCESS) return false;
                } else {
                    simdjson::ondemand::array inner;
                    if (f.value().get_array().get(inner) != simdjson::SUCCESS || inner.raw_json().get(whole) != simdjson::SUCCESS) return false;
                }
                event.*wanted = withoutBlanks(whole);
            } else {
                event.*wanted = withoutBlanks(token);
            }
        }
        if (any) m_sink.event(event);
        else ++m_out.emptyObjects;
        return true;
    }

    // ---- at the end ---------------------------------------------------------------------------------------------------
    // A file that is whole may still not be strict JSON; the first such place is told.
    void noteStrictness()
    {
        static constexpr const char* kMessages[] = {
            "a number that JSON does not know (NaN or infinity)", "a backslash that begins no escape",
            "a control character inside a string", "a byte that is not UTF-8"};
        if (m_out.problem) return;
        std::optional<JsonRepair> first;
        for (int i = 0; i < kJsonRepairCount; ++i)
            if (m_out.repairs[i].count > 0 && (!first || m_out.repairs[i].bytes[0] < m_out.repairs[static_cast<size_t>(*first)].bytes[0]))
                first = static_cast<JsonRepair>(i);
        if (!first) return;
        const auto index = static_cast<size_t>(*first);
        m_out.problem = ImportProblem{repairKind(*first), static_cast<int64_t>(m_out.repairs[index].bytes[0]), -1, -1, kMessages[index]};
    }

    TextWindow m_window;
    TraceSink& m_sink;
    std::stop_token m_stop;
    const base::Progress& m_progress;
    simdjson::ondemand::parser m_parser;
    TraceText m_out;
    bool m_cancelled = false;
    uint64_t m_slowUntil = 0; // events before this byte go the forgiving way
};

} // namespace

base::Result<TraceText> readTrace(ByteSource& source, TraceSink& sink, std::stop_token stop, const base::Progress& progress)
{
    return Reader(source, sink, std::move(stop), progress).run();
}

} // namespace stepscope::importers
