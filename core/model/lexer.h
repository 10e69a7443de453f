// Splits model text into tokens.
// Owner: core/model, private to it. Thread: any.
#pragma once

#include "core/model/failure.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::model {

struct Token {
    enum class Kind { name, number, string, op, newline, end };
    Kind kind = Kind::end;
    Place place;
    size_t begin = 0, end = 0; // bytes in the text
    std::string text;          // name, operator, or the string's value without quotes and escapes
    double number = 0;
    int64_t integer = 0;
    bool isInteger = false;

    bool is(std::string_view op) const { return kind == Kind::op && text == op; }
    bool isName(std::string_view name) const { return kind == Kind::name && text == name; }
};

// Reads Julia's tokens as far as model files need them. Comments vanish; newlines inside brackets too. The last token
// is `end`. Throws Failure for bytes that are not UTF-8, NUL bytes, unknown characters, bad numbers and open strings.
std::vector<Token> tokenise(std::string_view text);

// How a token is named in a message: "'=>'", "the end of the line".
std::string describe(const Token& token);

} // namespace stepscope::model
