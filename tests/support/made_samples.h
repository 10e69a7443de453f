// Makes sessions of stack samples for tests: frames by name, stacks as lists of frames.
#pragma once

#include "core/session/session_builder.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::support {

class SampleMaker {
public:
    explicit SampleMaker(const session::SeriesRow& series = {"cpu time", "ns", session::SeriesKind::cpuTime, true, true})
    {
        addSeries(series);
    }

    session::SeriesId addSeries(const session::SeriesRow& series)
    {
        builder.addSeries(series);
        return session::SeriesId(m_series++);
    }

    // Names a frame. Frames that were never named become functions of no file.
    void frame(const std::string& name, const std::string& function, const std::string& file, int line, uint32_t flags = 0,
               uint64_t address = 0, const std::string& module = "")
    {
        session::FrameRow row;
        row.function = function.empty() ? session::StringId{} : builder.intern(function);
        row.file = file.empty() ? session::StringId{} : builder.intern(file);
        row.module = module.empty() ? session::StringId{} : builder.intern(module);
        row.line = line;
        row.flags = flags;
        row.address = address;
        m_frames[name] = builder.internFrame(row);
    }

    // "main;work;leaf", outermost first; "" is the unknown stack.
    session::StackId stack(std::string_view frames)
    {
        session::StackId at;
        while (!frames.empty()) {
            const size_t end = std::min(frames.find(';'), frames.size());
            const std::string name(frames.substr(0, end));
            if (!m_frames.contains(name)) frame(name, name, "", 0);
            at = builder.internStack({at, m_frames[name]});
            frames.remove_prefix(std::min(end + 1, frames.size()));
        }
        return at;
    }

    struct Tags {
        session::LabelId label;
        session::TrackId track;
        int step = -1;
        session::SeriesId series{0u};
    };

    // `count` samples of `weight` each.
    void add(std::string_view frames, int count, int64_t weight, const Tags& tags)
    {
        const session::StackId id = stack(frames);
        for (int i = 0; i < count; ++i) {
            const session::SampleRecord sample{m_time++, weight, id, tags.label, tags.track, tags.step};
            builder.addSamples(tags.series, std::span(&sample, 1));
        }
    }
    void add(std::string_view frames, int count, int64_t weight = 1'000'000) { add(frames, count, weight, Tags{}); }

    session::LabelId label(session::Phase phase, session::LayerId layer = {}, session::PrimitiveId primitive = {},
                           session::SpanKind kind = session::SpanKind::phase)
    {
        return builder.internLabel({builder.intern(session::phaseName(phase)), kind, phase, layer, primitive});
    }

    session::SessionPtr build() { return builder.build(); }

    session::SessionBuilder builder;

private:
    std::map<std::string, session::FrameId> m_frames;
    uint32_t m_series = 0;
    int64_t m_time = 0;
};

// A series as files of collapsed stacks have it: sums without times.
inline session::SeriesRow foldedSeries() { return {"samples", "", session::SeriesKind::other, false, true}; }

// 100 samples of 1 ms: main calls step (70), which calls generated code through a library (60); main itself 30. 7 were lost.
// Besides, 40 entries of counted bytes, 1 KiB each, which have no stacks, and a series "nothing" without samples.
inline session::SessionPtr sampledSession()
{
    SampleMaker maker;
    maker.builder.addTrack({"training", 4711});
    maker.frame("main", "main", "main.cpp", 10, session::kOwnCode);
    maker.frame("step", "net::step(int)", "step.cpp", 42, session::kOwnCode);
    maker.frame("lib", "dnnl_execute", "", 0, session::kLibraryCode, 0x10, "libdnnl.so.2");
    maker.frame("jit", "jit_conv", "", 0, session::kGenerated);
    const SampleMaker::Tags training{maker.label(session::Phase::forward), session::TrackId(0u)};
    maker.add("main;step;lib;jit", 60, 1'000'000, training);
    maker.add("main;step", 10, 1'000'000, training);
    maker.add("main", 30, 1'000'000, training);
    SampleMaker::Tags counted = training;
    counted.series = maker.addSeries({"counted bytes", "bytes", session::SeriesKind::countedBytes, true, false});
    maker.add("", 40, 1024, counted);
    maker.addSeries({"nothing", "", session::SeriesKind::other, true, false});
    maker.builder.addQuality({"lost-stack-samples", 7, "7 of 107 stack samples were lost.", ""});
    return maker.build();
}

} // namespace stepscope::support
