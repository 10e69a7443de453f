#include "app/cli/session_notes.h"

#include "app/cli/console.h"

#include <fmt/format.h>

namespace stepscope::cli {

std::string sessionOrigin(const session::Session& session)
{
    std::string text;
    const auto add = [&](std::string_view value, const char* before = "", const char* after = "") {
        if (value.empty()) return;
        if (!text.empty()) text += ", ";
        text += before;
        text += printable(value);
        text += after;
    };
    add(session.environmentValue("model.file"));
    add(session.environmentValue("backend"));
    const std::string_view threads = session.environmentValue("threads");
    add(threads, "", threads == "1" ? " thread" : " threads");
    add(session.environmentValue("option.batch"), "batch ");
    add(session.environmentValue("cpu.model"));
    add(session.environmentValue("start"));
    return text;
}

std::string qualityText(const session::Session& session, const std::string& prefix)
{
    std::string text;
    for (const session::QualityRow& row : session.quality())
        text += fmt::format("{}{} ({})\n", prefix, printable(row.message), printable(row.code));
    return text;
}

void writeQuality(const session::Session& session, JsonText& json)
{
    json.beginArray();
    for (const session::QualityRow& row : session.quality()) {
        json.beginObject();
        json.member("code", std::string_view(row.code));
        json.member("count", row.count);
        json.member("message", std::string_view(row.message));
        json.endObject();
    }
    json.endArray();
}

} // namespace stepscope::cli
