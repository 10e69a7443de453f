// CallFrameRules: the unwind rules of one program or library, from its .eh_frame or .debug_frame, read with libdw.
// Owner: core/recording. Thread: one at a time. Units: addresses in the module's own terms.
#pragma once

#include "core/recording/unwind_rule.h"

#include <map>
#include <memory>
#include <string>

namespace stepscope::recording {

class CallFrameRules {
public:
    explicit CallFrameRules(std::string path); // opens the file at the first question
    ~CallFrameRules();

    // The rule that holds at an address. A rule is read once for the range of addresses it holds for. An address
    // without any has the rule "unknown".
    const UnwindRule& at(uint64_t address);

private:
    struct File;
    struct Range {
        uint64_t end = 0;
        UnwindRule rule;
    };
    const UnwindRule& read(uint64_t address);

    std::string m_path;
    std::unique_ptr<File> m_file;
    std::map<uint64_t, Range> m_ranges; // by start
};

} // namespace stepscope::recording
