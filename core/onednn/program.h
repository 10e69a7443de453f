// Program: the operations of one phase, in order, ready to run without allocation.
// Owner: core/onednn. Thread: the training thread.
#pragma once

#include "core/base/result.h"
#include "core/onednn/compat.h"
#include "core/recording/probe.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stepscope::onednn {

struct Operation {
    enum class Kind : uint8_t { primitive, function, open, close };
    enum Mode : uint8_t { kTraining = 1, kInference = 2, kBoth = 3 };

    Kind kind = Kind::primitive;
    uint8_t modes = kBoth;
    int threads = 1;
    uint32_t label = 0;  // of the primitive, or of the layer for open and close
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
    std::function<void(int threads)> function;

    // For tuning, reports and the floor of the benchmark.
    std::string name, implementation;
    bool reorder = false;
    bool reference = false;
};

class Program {
public:
    std::vector<Operation>& operations() { return m_operations; }
    const std::vector<Operation>& operations() const { return m_operations; }
    // Runs the operations of a mode. With a buffer it records a span for every primitive and layer.
    base::Status run(dnnl::stream& stream, Operation::Mode mode, recording::SpanBuffer* buffer) const;
    // Runs one operation; DNNL status as returned.
    static dnnl_status_t execute(const Operation& operation, dnnl::stream& stream);

private:
    std::vector<Operation> m_operations;
};

// Sets the number of OpenMP threads of the calling thread; cheap when it is unchanged.
void setThreads(int threads);

} // namespace stepscope::onednn
