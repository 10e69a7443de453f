// Failure: an error on its way out of the parser.
// Owner: core/model, private to it. Thrown by the reading code and turned into a Result by the public functions, so
// that the many small readers need no plumbing; it never leaves core/model. The file name is filled in on the way out.
#pragma once

#include "core/base/error.h"

#include <string>
#include <utility>

namespace stepscope::model {

struct Place {
    int line = 0, column = 0; // 1-based, columns in characters
};

struct Failure {
    base::Error error;
};

// At most about 60 bytes of a name for a message, never cut inside a character.
inline std::string shortened(const std::string& text)
{
    size_t length = 60;
    if (text.size() <= length) return text;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
        --length;
    return text.substr(0, length) + "...";
}

[[noreturn]] inline void failAt(Place place, std::string message, std::string hint = {},
                                base::ErrorCode code = base::ErrorCode::syntax)
{
    base::Where where;
    where.line = place.line;
    where.column = place.column;
    throw Failure{base::Error{code, std::move(message), std::move(where), std::move(hint)}};
}

} // namespace stepscope::model
