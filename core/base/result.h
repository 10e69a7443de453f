// Result<T>: a value or an Error, with the interface of std::expected (C++23), from tl::expected.
// Owner: core/base. Exceptions never cross a public function: they become an Error here.
#pragma once

#include "core/base/error.h"

#include <tl/expected.hpp>

#include <utility>

namespace stepscope::base {

template <class T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, Where where = {}, std::string hint = {})
{
    return tl::unexpected<Error>(Error{code, std::move(message), std::move(where), std::move(hint)});
}

} // namespace stepscope::base
