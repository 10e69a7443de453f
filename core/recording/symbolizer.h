// Symbolizer: names for addresses of code.
// Owner: core/recording. Thread: one at a time; the recording calls it from the Collector's thread, never from a
// measured one. May read files and take milliseconds; each address is asked once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::recording {

// A place in the code of a module (the program, a shared library, "[vdso]").
struct CodeAddress {
    std::string module;   // path as the loader knows it, absolute; "[vdso]"
    uint64_t address = 0; // in the module's own terms (what addr2line takes): pc less the load bias. Of a caller it is
                          // one byte before the return address, so that it lies within the call
};

struct SymbolFrame {
    std::string function; // whole and demangled; "" unknown
    std::string file;     // source file as the debug information has it; "" unknown
    int line = 0;         // 0 unknown
    uint64_t offset = 0;  // of the address in the function when only a symbol table knew it
};

class Symbolizer {
public:
    virtual ~Symbolizer() = default;
    // The frames at an address: the innermost inlined function first, the function that holds the code last. Empty
    // when nothing is known.
    virtual std::vector<SymbolFrame> resolve(const CodeAddress& address) = 0;
};

} // namespace stepscope::recording
