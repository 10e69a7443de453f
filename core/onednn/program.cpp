#include "core/onednn/program.h"

#include <array>

#include <omp.h>

namespace stepscope::onednn {

void setThreads(int threads) { omp_set_num_threads(threads); }

dnnl_status_t Program::execute(const Operation& operation, dnnl::stream& stream)
{
    if (operation.kind == Operation::Kind::primitive) {
        omp_set_num_threads(operation.threads);
        return dnnl_primitive_execute(operation.primitive.get(), stream.get(), static_cast<int>(operation.arguments.size()),
                                      operation.arguments.data());
    }
    if (operation.kind == Operation::Kind::function) operation.function(operation.threads);
    return dnnl_success;
}

base::Status Program::run(dnnl::stream& stream, Operation::Mode mode, recording::SpanBuffer* buffer) const
{
    constexpr size_t kMaxDepth = 256; // the model parser limits nesting far below
    std::array<uint64_t, kMaxDepth> starts;
    std::array<uint32_t, kMaxDepth> outer; // what samples of the stack were tagged with before
    size_t depth = 0;
    for (const Operation& operation : m_operations) {
        if ((operation.modes & mode) == 0) continue;
        switch (operation.kind) {
        case Operation::Kind::open:
            if (buffer != nullptr && depth < kMaxDepth) {
                outer[depth] = buffer->enter(operation.label);
                starts[depth] = recording::ticks();
            }
            ++depth;
            break;
        case Operation::Kind::close:
            --depth;
            if (buffer != nullptr && depth < kMaxDepth) {
                buffer->push(operation.label, starts[depth], recording::ticks());
                buffer->leave(outer[depth]);
            }
            break;
        default: {
            dnnl_status_t status = dnnl_success;
            {
                const recording::Probe probe(buffer, base::LabelId(operation.label));
                status = execute(operation, stream);
            }
            if (status != dnnl_success) {
                return base::fail(base::ErrorCode::internal,
                                  "oneDNN could not run '" + operation.name + "' (status " + std::to_string(status) + ")");
            }
        }
        }
    }
    return {};
}

} // namespace stepscope::onednn
