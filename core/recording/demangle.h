// demangled: the C++ name behind a linker's name.
// Owner: core/recording. Thread: any.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::recording {

// "_ZN3foo3barEi" -> "foo::bar(int)". Names that are none of C++, or longer than 16 KiB, come back as they are. The
// version that the linker appends ("@@GLIBC_2.14") is left out.
std::string demangled(std::string_view name);

} // namespace stepscope::recording
