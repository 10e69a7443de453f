#include "core/model/syntax.h"

#include <fmt/format.h>

namespace stepscope::model {

std::string describe(const Expr& expr)
{
    const std::string text = shortened(expr.text);
    switch (expr.kind) {
    case Expr::Kind::number:
        return expr.isInteger ? fmt::format("{}", expr.integer) : fmt::format("the number {}", expr.number);
    case Expr::Kind::string: return fmt::format("the text \"{}\"", text);
    case Expr::Kind::boolean: return expr.boolean ? "true" : "false";
    case Expr::Kind::nothing: return "nothing";
    case Expr::Kind::symbol: return fmt::format("':{}'", text);
    case Expr::Kind::name: return fmt::format("'{}'", text);
    case Expr::Kind::call: return fmt::format("'{}(...)'", text);
    case Expr::Kind::tuple: return fmt::format("a tuple of {}", expr.items.size());
    case Expr::Kind::vector: return "a vector";
    case Expr::Kind::pair: return "a pair 'a => b'";
    case Expr::Kind::lambda: return "an anonymous function";
    case Expr::Kind::unary:
    case Expr::Kind::binary: return fmt::format("an expression with '{}'", text);
    case Expr::Kind::splat: return "'...'";
    }
    return "something else";
}

std::string sourceText(std::string_view text, const Expr& expr)
{
    std::string result;
    const auto addBlank = [&] {
        if (!result.empty() && result.back() != ' ' && result.back() != '(' && result.back() != '[') result += ' ';
    };
    bool inString = false;
    for (size_t i = expr.begin; i < expr.end && i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            result += c;
            if (c == '\\' && i + 1 < expr.end) result += text[++i];
            else if (c == '"') inString = false;
        } else if (c == '#') {
            const bool block = text.substr(i, 2) == "#=";
            const size_t close = text.find(block ? "=#" : "\n", i);
            i = close == std::string_view::npos ? text.size() : close + (block ? 1 : 0);
            addBlank();
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') addBlank();
        else {
            if (c == '"') inString = true;
            const bool closes = c == ')' || c == ']' || c == ',';
            if (closes && !result.empty() && result.back() == ' ') result.pop_back();
            result += c;
        }
    }
    return result;
}

} // namespace stepscope::model
