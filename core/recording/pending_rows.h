// Rows on their way from the Recorder to the sink, and the hashes by which equal ones are found.
// Owner: core/recording. Thread: plain values.
#pragma once

#include "core/session/session_sink.h"

#include <string>
#include <variant>
#include <vector>

namespace stepscope::recording {

struct StringRow {
    std::string text;
};
struct ModelText {
    std::string text;
};
// A row on its way to the sink, in the order of registration.
using PendingRow = std::variant<StringRow, session::Track, session::Label, session::LayerRow, session::PrimitiveRow,
                                session::CounterRow, session::EnvironmentRow, session::QualityRow, ModelText, session::FrameRow,
                                session::StackRow, session::SeriesRow>;

struct RowSender {
    session::SessionSink& sink;
    void operator()(const StringRow& row) const { sink.addString(row.text); }
    void operator()(const session::Track& row) const { sink.addTrack(row); }
    void operator()(const session::Label& row) const { sink.addLabel(row); }
    void operator()(const session::LayerRow& row) const { sink.addLayer(row); }
    void operator()(const session::PrimitiveRow& row) const { sink.addPrimitive(row); }
    void operator()(const session::CounterRow& row) const { sink.addCounter(row); }
    void operator()(const session::EnvironmentRow& row) const { sink.addEnvironment(row); }
    void operator()(const session::QualityRow& row) const { sink.addQuality(row); }
    void operator()(const ModelText& row) const { sink.setModelText(row.text); }
    void operator()(const session::FrameRow& row) const { sink.addFrame(row); }
    void operator()(const session::StackRow& row) const { sink.addStack(row); }
    void operator()(const session::SeriesRow& row) const { sink.addSeries(row); }
};

struct SeriesSamples {
    base::SeriesId series;
    std::vector<session::SampleRecord> samples;
};

struct LabelHash {
    size_t operator()(const session::Label& label) const noexcept
    {
        uint64_t h = label.name.value;
        for (const uint64_t part : {uint64_t{label.layer.value}, uint64_t{label.primitive.value},
                                    static_cast<uint64_t>(label.kind), static_cast<uint64_t>(label.phase)})
            h = (h ^ part) * 0x9e3779b97f4a7c15u + (h >> 29);
        return h;
    }
};

inline uint64_t mix(uint64_t h, uint64_t part) { return (h ^ part) * 0x9e3779b97f4a7c15u + (h >> 29); }

struct FrameHash {
    size_t operator()(const session::FrameRow& row) const noexcept
    {
        uint64_t h = mix(row.address, uint64_t{row.function.value} << 32 | row.module.value);
        h = mix(h, uint64_t{row.file.value} << 32 | static_cast<uint32_t>(row.line));
        return mix(h, uint64_t{row.flags} << 32 | row.primitive.value);
    }
};
struct StackHash {
    size_t operator()(const session::StackRow& row) const noexcept
    {
        return mix(0, uint64_t{row.parent.value} << 32 | row.frame.value);
    }
};

} // namespace stepscope::recording
