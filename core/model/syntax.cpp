#include "core/model/syntax.h"

#include "core/model/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stepscope::model {

namespace {

constexpr std::array<std::string_view, 22> kKeywords{
    "function", "for",    "while", "if",     "else",  "elseif", "end",    "begin", "let",      "do",    "struct",
    "mutable",  "return", "try",   "module", "quote", "macro",  "global", "local", "abstract", "where", "in"};

bool isKeyword(const Token& token)
{
    return token.kind == Token::Kind::name
        && std::find(kKeywords.begin(), kKeywords.end(), token.text) != kKeywords.end();
}

class Parser {
public:
    explicit Parser(std::string_view text) : m_tokens(tokenise(text)) {}

    std::vector<Statement> run()
    {
        std::vector<Statement> statements;
        while (skipSeparators()) {
            if (current().isName("using") || current().isName("import")) skipLine();
            else statements.push_back(parseStatement());
            if (!current().is(";") && current().kind != Token::Kind::newline) unexpectedAfterValue();
        }
        return statements;
    }

private:
    const Token& current() const { return m_tokens[m_at]; }
    const Token& next() const { return m_tokens[std::min(m_at + 1, m_tokens.size() - 1)]; }
    Token take() { return m_at + 1 < m_tokens.size() ? m_tokens[m_at++] : m_tokens[m_at]; }
    bool accept(std::string_view op)
    {
        if (!current().is(op)) return false;
        take();
        return true;
    }
    bool skipSeparators()
    {
        while (current().kind == Token::Kind::newline || current().is(";"))
            take();
        return current().kind != Token::Kind::end;
    }
    void skipNewlines()
    {
        while (current().kind == Token::Kind::newline && next().kind != Token::Kind::end)
            take();
    }
    void skipLine()
    {
        while (current().kind != Token::Kind::newline && current().kind != Token::Kind::end && !current().is(";"))
            take();
        // "using Flux," may go on in the next line
        if (m_at > 0 && m_tokens[m_at - 1].is(",") && current().kind == Token::Kind::newline
            && next().kind != Token::Kind::end) {
            take();
            skipLine();
        }
    }

    [[noreturn]] void unexpectedAfterValue() const
    {
        const Token& token = current();
        if (token.is("=") || token.is("==")) {
            failAt(token.place, fmt::format("unexpected {}", describe(token)),
                   "a statement is 'name = value', one to a line");
        }
        if (token.is("?") || token.is("::") || token.is("[") || token.is("'")) {
            failAt(token.place, fmt::format("{} is not supported in a model file", describe(token)),
                   "write the value out");
        }
        failAt(token.place, fmt::format("expected an operator or the end of the line, got {}", describe(token)),
               "put each statement on a line of its own");
    }

    Statement parseStatement()
    {
        refuseOtherJulia();
        if (current().isName("const")) take();
        Statement statement;
        if (current().kind == Token::Kind::name && current().text == "Random" && next().is(".")) return parseSeed();
        if (current().kind != Token::Kind::name) {
            failAt(current().place,
                   fmt::format("expected a statement such as 'model = Chain(...)', got {}", describe(current())),
                   "a model file sets model, loss, optimiser, data, input, seed, epochs or steps");
        }
        const size_t first = m_at;
        const Token name = take();
        statement.name = {name.text, name.place};
        if (current().is("(")) {
            m_at = first;
            Expr head = parsePostfix();
            if (!current().is("=")) notAStatement(head);
            return parseFunction(std::move(head));
        }
        if (!current().is("=")) {
            m_at = first;
            notAStatement(parseExpression());
        }
        take();
        skipNewlines();
        statement.value = parseExpression();
        return statement;
    }

    [[noreturn]] void notAStatement(const Expr& expr) const
    {
        if (expr.is(Expr::Kind::call)
            && (expr.text == "train!" || expr.text == "update!" || expr.text == "gradient"
                || expr.text == "withgradient")) {
            failAt(expr.place,
                   fmt::format("'{}' belongs to a training loop, which a model file does not hold", expr.text),
                   "remove the loop: the program trains by itself, from loss, optimiser and data");
        }
        if (expr.is(Expr::Kind::name) && (current().is(",") || current().is("."))) {
            failAt(current().place, fmt::format("expected '=' after '{}', got {}", expr.text, describe(current())),
                   "a statement is 'name = value'");
        }
        failAt(expr.place, fmt::format("{} stands alone: expected 'name = value'", describe(expr)),
               expr.is(Expr::Kind::call)
                   ? "name the model: model = Chain(...)"
                   : "a model file sets model, loss, optimiser, data, input, seed, epochs or steps");
    }

    // loss(m, x, y) = ...
    Statement parseFunction(Expr head)
    {
        Statement statement;
        statement.name = {head.text, head.place};
        statement.function = true;
        statement.value.kind = Expr::Kind::lambda;
        statement.value.place = head.place;
        statement.value.begin = head.begin;
        for (size_t i = 0; i < head.items.size(); ++i)
            statement.value.names.push_back(parameterName(head.items[i], head.names[i]));
        take();
        skipNewlines();
        statement.value.items.push_back(parseExpression());
        statement.value.end = previousEnd();
        return statement;
    }

    // Random.seed!(1) or Random.seed!(rng, 1)
    Statement parseSeed()
    {
        Expr call = parsePostfix();
        if (!call.isCall("seed!") || call.items.empty()) failAt(call.place, "expected Random.seed!(number)");
        Statement statement;
        statement.name = {"seed", call.place};
        statement.value = std::move(call.items.back());
        return statement;
    }

    void refuseOtherJulia() const
    {
        const Token& token = current();
        if (token.is("@")) {
            failAt(token.place, "macros are not supported in a model file",
                   "remove the line: a model file only sets model, loss, optimiser and data");
        }
        if (isKeyword(token)) {
            failAt(token.place,
                   fmt::format("'{}' is not supported: a model file is a list of 'name = value'", token.text),
                   token.text == "function"
                       ? "write loss(ŷ, y) = ... in one line; functions of your own are not supported"
                       : "remove the loop or block: the program trains by itself, from loss, optimiser and data");
        }
    }

    // Counts how deep the recursion stands and refuses too deep nesting.
    class DepthGuard {
    public:
        DepthGuard(int& depth, Place place) : m_depth(depth)
        {
            if (++m_depth > kMaxDepth) {
                --m_depth;
                failAt(place, fmt::format("brackets and operators are nested more than {} deep", kMaxDepth),
                       "split the model into named parts");
            }
        }
        ~DepthGuard() { --m_depth; }
        DepthGuard(const DepthGuard&) = delete;
        DepthGuard& operator=(const DepthGuard&) = delete;

    private:
        int& m_depth;
    };

    size_t previousEnd() const { return m_at == 0 ? 0 : m_tokens[m_at - 1].end; }

    static Expr make(Expr::Kind kind, const Token& token)
    {
        Expr expr;
        expr.kind = kind;
        expr.place = token.place;
        expr.begin = token.begin;
        expr.end = token.end;
        return expr;
    }

    // Lambdas and pairs: both bind to the right and more loosely than everything else.
    Expr parseExpression()
    {
        const DepthGuard guard(m_depth, current().place);
        Expr left = parsePipe();
        if (current().is("->")) return parseLambda(std::move(left));
        if (!current().is("=>")) return left;
        const Token arrow = take();
        skipNewlines();
        Expr pair = wrap(Expr::Kind::pair, arrow.text, std::move(left));
        pair.items.push_back(parseExpression());
        pair.end = previousEnd();
        return pair;
    }

    static NameAt parameterName(const Expr& expr, const NameAt& keyword)
    {
        if (!keyword.text.empty()) failAt(keyword.place, "keyword parameters are not supported here");
        if (expr.is(Expr::Kind::name)) return {expr.text, expr.place};
        if (expr.is(Expr::Kind::splat) && expr.items[0].is(Expr::Kind::name))
            return {expr.items[0].text + "...", expr.place};
        failAt(expr.place, fmt::format("expected the name of a parameter, got {}", describe(expr)),
               "a function is written x -> ... or (a, b) -> ...");
    }

    Expr parseLambda(Expr parameters)
    {
        Expr lambda;
        lambda.kind = Expr::Kind::lambda;
        lambda.place = parameters.place;
        lambda.begin = parameters.begin;
        if (parameters.is(Expr::Kind::tuple)) {
            for (size_t i = 0; i < parameters.items.size(); ++i)
                lambda.names.push_back(parameterName(parameters.items[i], parameters.names[i]));
        } else {
            lambda.names.push_back(parameterName(parameters, {}));
        }
        take();
        skipNewlines();
        lambda.items.push_back(parseExpression());
        lambda.end = previousEnd();
        return lambda;
    }

    static Expr wrap(Expr::Kind kind, std::string op, Expr left)
    {
        Expr expr;
        expr.kind = kind;
        expr.place = left.place;
        expr.begin = left.begin;
        expr.text = std::move(op);
        expr.items.push_back(std::move(left));
        return expr;
    }

    // Left-associative operators; a long row of them is as deep a tree as brackets are.
    template <class Operand>
    Expr parseBinary(std::initializer_list<std::string_view> operators, Operand operand)
    {
        Expr left = operand();
        int length = 0;
        while (std::any_of(operators.begin(), operators.end(), [&](std::string_view op) { return current().is(op); })) {
            if (++length > kMaxDepth)
                failAt(current().place, fmt::format("more than {} operators in a row", kMaxDepth),
                       "split the expression");
            const Token op = take();
            skipNewlines();
            left = wrap(Expr::Kind::binary, op.text, std::move(left));
            left.items.push_back(operand());
            left.end = previousEnd();
        }
        return left;
    }

    Expr parsePipe()
    {
        Expr left = parseBinary({"|>"}, [&] { return parseSum(); });
        return left;
    }
    Expr parseSum()
    {
        return parseBinary({"+", "-", ".+", ".-"}, [&] { return parseProduct(); });
    }
    Expr parseProduct()
    {
        return parseBinary({"*", "/", "÷", ".*", "./"}, [&] { return parseUnary(); });
    }

    // An operator that stands where a value is expected and is followed by ',' or ')' is the function itself:
    // Parallel(+, ...).
    bool isOperatorName() const
    {
        static constexpr std::array<std::string_view, 6> kNames{"+", "-", "*", ".+", ".*", "/"};
        return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view op) { return current().is(op); })
            && (next().is(",") || next().is(")") || next().is(";"));
    }

    Expr parseUnary()
    {
        const Token token = current();
        if (isOperatorName()) {
            Expr name = make(Expr::Kind::name, take());
            name.text = token.text;
            return name;
        }
        if (!token.is("-") && !token.is("+") && !token.is("√")) return parsePower();
        const DepthGuard guard(m_depth, token.place);
        take();
        Expr expr = make(Expr::Kind::unary, token);
        expr.text = token.text;
        expr.items.push_back(parseUnary());
        expr.end = previousEnd();
        return expr;
    }

    Expr parsePower()
    {
        Expr base = parsePostfix();
        if (!current().is("^")) return base;
        const DepthGuard guard(m_depth, current().place);
        const Token op = take();
        Expr power = wrap(Expr::Kind::binary, op.text, std::move(base));
        power.items.push_back(parseUnary());
        power.end = previousEnd();
        return power;
    }

    Expr parsePostfix()
    {
        Expr expr = parsePrimary();
        int length = 0;
        while (true) {
            if (++length > kMaxDepth) failAt(current().place, "too many calls in a row");
            if (expr.is(Expr::Kind::name) && current().is(".") && next().kind == Token::Kind::name) {
                take();
                const Token name = take();
                expr.module += (expr.module.empty() ? "" : ".") + expr.text;
                if (expr.module.size() > 200) failAt(expr.place, "this name is too long");
                expr.text = name.text;
                expr.end = name.end;
            } else if (current().is(".") && next().is("(")) {
                take();
                expr = parseCall(std::move(expr));
                expr.broadcast = true;
            } else if (current().is("(")) {
                if (current().begin != previousEnd()) return expr; // "f (x)" is no call in Julia
                expr = parseCall(std::move(expr));
            } else if (current().is("...")) {
                take();
                expr = wrap(Expr::Kind::splat, "...", std::move(expr));
                expr.end = previousEnd();
            } else return expr;
        }
    }

    Expr parseCall(Expr callee)
    {
        if (!callee.is(Expr::Kind::name)) {
            failAt(current().place, fmt::format("{} cannot be called here", describe(callee)),
                   "write the layers and functions by their names");
        }
        callee.kind = Expr::Kind::call;
        parseArguments(callee, ")");
        callee.end = previousEnd();
        return callee;
    }

    // The items of a call, tuple or vector up to `close`; the opening bracket is the current token. Returns whether it
    // held a comma or semicolon.
    bool parseArguments(Expr& into, std::string_view close)
    {
        const Token open = take();
        bool separated = false, keywordsOnly = false;
        while (!current().is(close)) {
            if (accept(";")) {
                separated = keywordsOnly = true;
                continue;
            }
            parseArgument(into, keywordsOnly);
            if (current().is(close)) break;
            if (accept(",")) separated = true;
            else if (!current().is(";")) unclosed(open, close);
        }
        take();
        return separated;
    }

    [[noreturn]] void unclosed(const Token& open, std::string_view close) const
    {
        const std::string opened =
            fmt::format("'{}' was opened at {}:{}", open.text, open.place.line, open.place.column);
        if (current().kind == Token::Kind::end || current().kind == Token::Kind::newline) {
            failAt(open.place, fmt::format("'{}' is never closed", open.text), fmt::format("add a '{}'", close));
        }
        if (current().isName("for"))
            failAt(current().place, "comprehensions are not supported", "write the layers out");
        failAt(current().place, fmt::format("expected ',' or '{}', got {}", close, describe(current())), opened);
    }

    void parseArgument(Expr& into, bool keywordsOnly)
    {
        if (current().kind == Token::Kind::name && next().is("=")) {
            const Token name = take();
            take();
            into.names.push_back({name.text, name.place});
            into.items.push_back(parseExpression());
            return;
        }
        Expr value = parseExpression();
        if (keywordsOnly && value.is(Expr::Kind::name))
            into.names.push_back({value.text, value.place}); // f(; stride) is f(; stride = stride)
        else if (keywordsOnly) {
            failAt(value.place, fmt::format("expected 'name = value' after ';', got {}", describe(value)),
                   "arguments without a name come before the ';'");
        } else into.names.push_back({});
        into.items.push_back(std::move(value));
    }

    Expr parsePrimary()
    {
        const Token token = current();
        switch (token.kind) {
        case Token::Kind::number: {
            Expr expr = make(Expr::Kind::number, take());
            expr.number = token.number;
            expr.integer = token.integer;
            expr.isInteger = token.isInteger;
            return expr;
        }
        case Token::Kind::string: {
            Expr expr = make(Expr::Kind::string, take());
            expr.text = token.text;
            return expr;
        }
        case Token::Kind::name: return parseName();
        default: break;
        }
        if (token.is("(")) return parseParenthesis();
        if (token.is("[")) {
            Expr expr = make(Expr::Kind::vector, token);
            parseArguments(expr, "]");
            for (const NameAt& name : expr.names)
                if (!name.text.empty()) failAt(name.place, "names do not belong into '[...]'");
            expr.end = previousEnd();
            return expr;
        }
        if (token.is(":")) {
            Expr expr = make(Expr::Kind::symbol, take());
            if (current().kind == Token::Kind::name && current().begin == token.end) expr.text = take().text;
            expr.end = previousEnd();
            return expr;
        }
        failAt(token.place, fmt::format("expected a value, got {}", describe(token)),
               token.is("@") ? "macros are not supported" : "");
    }

    Expr parseName()
    {
        const Token token = take();
        if (isKeyword(token))
            failAt(token.place, fmt::format("'{}' is not supported in a model file", token.text),
                   "write the value out");
        Expr expr = make(Expr::Kind::name, token);
        if (token.text == "true" || token.text == "false") {
            expr.kind = Expr::Kind::boolean;
            expr.boolean = token.text == "true";
        } else if (token.text == "nothing") expr.kind = Expr::Kind::nothing;
        expr.text = token.text;
        return expr;
    }

    // (a) is a itself, (a,) and (a, b) are tuples, () is the empty tuple.
    Expr parseParenthesis()
    {
        Expr expr = make(Expr::Kind::tuple, current());
        const bool separated = parseArguments(expr, ")");
        expr.end = previousEnd();
        if (separated || expr.items.size() != 1 || !expr.names[0].text.empty()) return expr;
        Expr inner = std::move(expr.items[0]);
        inner.begin = expr.begin;
        inner.end = expr.end;
        return inner;
    }

    std::vector<Token> m_tokens;
    size_t m_at = 0;
    int m_depth = 0;
};

} // namespace

std::vector<Statement> parseStatements(std::string_view text) { return Parser(text).run(); }

} // namespace stepscope::model
