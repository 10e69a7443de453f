// What the loader knows of the modules of this process.
// Owner: core/recording, internal. Thread: any; not from a signal handler.
#pragma once

#include <string>
#include <vector>

namespace stepscope::recording {

// The build-id of a loaded module in hexadecimal, by its path; "" when it is not loaded or has none. The program itself
// goes by the path of /proc/self/exe.
std::string loadedBuildId(const std::string& path);

// A copy of the library that the system maps into every process; empty without one.
std::vector<char> systemLibraryImage();

} // namespace stepscope::recording
