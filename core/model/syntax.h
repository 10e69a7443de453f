// The expressions and statements of a model file, before they mean anything.
// Owner: core/model, private to it. Thread: any.
#pragma once

#include "core/model/failure.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::model {

struct NameAt {
    std::string text; // empty: a positional argument
    Place place;
};

struct Expr {
    enum class Kind {
        number,
        string,
        boolean,
        nothing,
        symbol, // :nearest, or ":" alone
        name,   // a variable, function or operator: relu, +
        call,   // text(items...); names[i] is the keyword of items[i]
        tuple,  // also named tuples, with names as for call
        vector,
        pair,   // a => b
        lambda, // names -> items[0]
        unary,
        binary,
        splat, // items[0]...
    };
    Kind kind = Kind::nothing;
    Place place;
    size_t begin = 0, end = 0; // bytes in the text
    std::string text;          // name, operator, string value; the callee of a call, without its module
    std::string module;        // "Flux" of Flux.Dense, "Flux.Losses", ...
    double number = 0;
    int64_t integer = 0;
    bool isInteger = false;
    bool boolean = false;
    bool broadcast = false; // f.(x)
    std::vector<Expr> items;
    std::vector<NameAt> names;

    bool is(Kind k) const { return kind == k; }
    bool isCall(std::string_view callee) const { return kind == Kind::call && text == callee; }
    bool isName(std::string_view name) const { return kind == Kind::name && text == name; }
};

// name = value, or name(parameters) = value (then value is a lambda).
struct Statement {
    NameAt name;
    bool function = false;
    Expr value;
};

// Expressions deeper than this are refused, so that no input can exhaust the stack.
inline constexpr int kMaxDepth = 100;

// Parses all statements of a text; `using` and `import` lines are skipped. Throws Failure.
std::vector<Statement> parseStatements(std::string_view text);

// "the number 3.5", "'relu'", "a call of 'Dense'": how an expression is named in a message.
std::string describe(const Expr& expr);

// The text of an expression as written, with runs of blanks and comments made one space.
std::string sourceText(std::string_view text, const Expr& expr);

} // namespace stepscope::model
