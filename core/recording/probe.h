// Probes: what the measured threads call. A probe costs two reads of the tick clock and a few stores.
// Owner: core/recording. Thread: a SpanBuffer belongs to the thread that registered it. Units: ticks.
#pragma once

#include "core/recording/clock.h"
#include "core/recording/span_buffer.h"

namespace stepscope::recording {

using base::LabelId;

// Records one span from construction to destruction, and tags samples of the thread's stack with its label meanwhile. A
// null buffer records nothing.
class Probe {
public:
    Probe(SpanBuffer* buffer, LabelId label) noexcept
        : m_buffer(buffer), m_label(label.value)
    {
        if (m_buffer == nullptr) return;
        m_outer = m_buffer->enter(m_label);
        m_start = ticks();
    }
    ~Probe()
    {
        if (m_buffer == nullptr) return;
        m_buffer->push(m_label, m_start, ticks());
        m_buffer->leave(m_outer);
    }
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

private:
    SpanBuffer* m_buffer;
    uint32_t m_label;
    uint32_t m_outer = 0;
    uint64_t m_start = 0;
};

// Tags samples of the thread's stack with a label where the span itself is pushed by hand.
class Published {
public:
    Published(SpanBuffer* buffer, LabelId label) noexcept : m_buffer(buffer)
    {
        if (m_buffer != nullptr) m_outer = m_buffer->enter(label.value);
    }
    ~Published()
    {
        if (m_buffer != nullptr) m_buffer->leave(m_outer);
    }
    Published(const Published&) = delete;
    Published& operator=(const Published&) = delete;

private:
    SpanBuffer* m_buffer;
    uint32_t m_outer = 0;
};

} // namespace stepscope::recording
