#include "core/analysis/sample_tree.h"

namespace stepscope::analysis {

namespace {

// Without what stands between matching brackets, "operator<" and "operator()" excepted.
std::string withoutBrackets(std::string_view text)
{
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::string out;
    int round = 0, angle = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (round == 0 && angle == 0 && text.substr(i).starts_with("operator")) {
            size_t end = i + 8;
            if (text.substr(end).starts_with("()")) end += 2;
            else
                while (end < text.size() && std::string_view("<>=!+-*/%^&|~,[]").find(text[end]) != std::string_view::npos) ++end;
            out += text.substr(i, end - i);
            i = end - 1;
            continue;
        }
        if (angle == 0 && text.substr(i).starts_with(kAnonymous)) {
            if (round == 0) out += kAnonymous;
            i += kAnonymous.size() - 1;
            continue;
        }
        const char c = text[i];
        if (c == '(') ++round;
        else if (c == ')') round -= round > 0 ? 1 : 0;
        else if (c == '<' && round == 0) ++angle;
        else if (c == '>' && round == 0 && (i == 0 || text[i - 1] != '-')) angle -= angle > 0 ? 1 : 0;
        else if (round == 0 && angle == 0) out += c;
    }
    return out;
}

} // namespace

std::string shortFunctionName(std::string_view whole)
{
    // Only C++ names have the parts that are taken away here; others, such as those of generated code, stay.
    if (whole.find("::") == std::string_view::npos && whole.find('(') == std::string_view::npos && whole.find('<') == std::string_view::npos)
        return std::string(whole);
    if (whole.starts_with('[') || whole.starts_with('<')) return std::string(whole);
    std::string_view text = whole;
    if (const size_t clone = text.find(" [clone "); clone != std::string_view::npos) text = text.substr(0, clone);
    if (const size_t with = text.find(" [with "); with != std::string_view::npos) text = text.substr(0, with);
    std::string name = withoutBrackets(text);
    constexpr std::string_view kConst = " const";
    while (name.ends_with(kConst)) name.resize(name.size() - kConst.size());
    while (name.ends_with(' ') || name.ends_with('&')) name.pop_back();
    // The return type of a template: everything up to the last space, but not the one of "operator bool".
    const size_t special = name.find("operator");
    const size_t anonymous = name.rfind("(anonymous namespace)");
    size_t from = anonymous == std::string::npos ? std::string::npos : name.rfind(' ', anonymous);
    if (anonymous == std::string::npos) from = name.rfind(' ', special == std::string::npos ? std::string::npos : special);
    if (from != std::string::npos) name.erase(0, from + 1);
    return name.empty() ? std::string(whole) : name;
}

} // namespace stepscope::analysis
