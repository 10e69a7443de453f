#include "core/recording/demangle.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace stepscope::recording {

std::string demangled(std::string_view name)
{
    constexpr size_t kLongest = 16384; // the demangler's memory on the stack grows with the name
    std::string text(name.substr(0, name.find('@')));
    if (text.size() > kLongest || text.rfind("_Z", 0) != 0) return text;
    // The compiler's clones ("foo.isra.0", "foo.cold") keep their suffix in brackets, as binutils shows them.
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> whole(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && whole != nullptr ? std::string(whole.get()) : text;
}

} // namespace stepscope::recording
