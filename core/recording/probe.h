// Probes: what the measured threads call. A probe costs two reads of the tick clock and one store.
// Owner: core/recording. Thread: a SpanBuffer belongs to the thread that registered it. Units: ticks.
#pragma once

#include "core/recording/clock.h"
#include "core/recording/span_buffer.h"

namespace stepscope::recording {

using base::LabelId;

// Records one span from construction to destruction. A null buffer records nothing.
class Probe {
public:
    Probe(SpanBuffer* buffer, LabelId label) noexcept
        : m_buffer(buffer), m_label(label.value), m_start(buffer != nullptr ? ticks() : 0)
    {
    }
    ~Probe()
    {
        if (m_buffer != nullptr) m_buffer->push(m_label, m_start, ticks());
    }
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

private:
    SpanBuffer* m_buffer;
    uint32_t m_label;
    uint64_t m_start;
};

} // namespace stepscope::recording
