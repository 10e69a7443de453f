// CodeNames: the Symbolizer over the files of programs and libraries: symbol tables, debug information within the file
// or apart from it, and debuginfod servers where the user has configured some.
// Owner: core/recording. Thread: one at a time; reads files, so never a measured thread.
#pragma once

#include "core/recording/symbolizer.h"

#include <chrono>
#include <memory>

namespace stepscope::recording {

struct CodeNameOptions {
    std::vector<std::string> debugDirectories = {"/usr/lib/debug"};
    bool useDebuginfod = true; // if DEBUGINFOD_URLS is set
    // How long first addresses of modules wait for downloads, all in all. Whatever comes later does not wait: it is named
    // by what is there, so that a slow server never holds up a run. What was fetched is there in the next run.
    std::chrono::milliseconds debuginfodPatience{300};
};

class CodeNames final : public Symbolizer {
public:
    explicit CodeNames(CodeNameOptions options = {});
    ~CodeNames() override;

    std::vector<SymbolFrame> resolve(const CodeAddress& address) override;

    // What the user may want to know: "libfoo.so was replaced on disk ...". One English sentence each.
    std::vector<std::string> notes() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::recording
