// JsonText: writes JSON (RFC 8259), indented by two blanks.
// Owner: app/cli. Thread: one. Text that is not UTF-8 gets replacement characters; NaN and infinities become null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::cli {

class JsonText {
public:
    void beginObject() { open('{'); }
    void endObject() { close('}'); }
    void beginArray() { open('['); }
    void endArray() { close(']'); }
    void key(std::string_view name);
    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(double number);
    void value(int64_t number);
    void value(bool yes);
    void null();
    template <class T>
    void member(std::string_view name, const T& content)
    {
        key(name);
        value(content);
    }

    // The document with a final line feed.
    std::string take();

private:
    void open(char bracket);
    void close(char bracket);
    void separate(); // comma, line break and indent before a value

    std::string m_text;
    std::vector<int64_t> m_counts; // values so far, per open bracket
    bool m_afterKey = false;
};

} // namespace stepscope::cli
