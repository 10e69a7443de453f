// A small session with a row in every table, for tests.
#pragma once

#include "core/session/session_builder.h"

#include <limits>

namespace stepscope::tests {

// The frames main > step > (conv, which is generated code | memcpy) as stacks 0 to 3, and two series.
inline void sendSampleTables(session::SessionSink& sink)
{
    using namespace session;
    for (const char* text : {"main", "train::step(int)", "jit_conv", "memcpy", "stepscope", "libc.so.6", "step.cpp"})
        sink.addString(text); // 5 to 11
    sink.addFrame({StringId(5u), StringId(9u), StringId(11u), 10, 0x1000, kOwnCode, {}});
    sink.addFrame({StringId(6u), StringId(9u), StringId(11u), 42, 0x1040, kOwnCode | kInlined, {}});
    sink.addFrame({StringId(7u), {}, {}, 0, 0, kGenerated, PrimitiveId(0u)});
    sink.addFrame({StringId(8u), StringId(10u), {}, 0, 0xffffffff81000000u, kLibraryCode, {}});
    sink.addStack({StackId{}, FrameId(0u)});
    sink.addStack({StackId(0u), FrameId(1u)});
    sink.addStack({StackId(1u), FrameId(2u)});
    sink.addStack({StackId(1u), FrameId(3u)});
    sink.addSeries({"cpu time", "ns", SeriesKind::cpuTime, true, true});
    sink.addSeries({"allocations", "", SeriesKind::allocations, false, false});
}

// Three samples per step in series 0, the last one before the others, and one in series 1.
inline void sendSamples(session::SessionSink& sink, int step)
{
    using namespace session;
    const TimeNs begin = 1'000'000 + TimeNs{step} * 100'000;
    const SampleRecord cpu[] = {{begin + 3'000, 1'000'000, StackId(2u), LabelId(3u), TrackId(0u), step},
                                {begin + 4'000, 1'000'001, StackId(3u), LabelId(1u), TrackId(0u), step},
                                {begin + 2'000, 999'999, StackId{}, LabelId{}, TrackId{}, -1}};
    sink.addSamples(SeriesId(0u), cpu);
    const SampleRecord allocation[] = {{0, -3, StackId(1u), LabelId(0u), TrackId(1u), step}};
    sink.addSamples(SeriesId(1u), allocation);
}

// Sends 2 tracks, `steps` steps of 4 nested spans on track 0 and one task per step on track 1, 1 counter and
// the samples above.
inline void sendSample(session::SessionSink& sink, int steps)
{
    using namespace session;
    for (const char* text : {"step", "forward", "conv1", "conv1 forward", "make batch"})
        sink.addString(text);
    sink.addTrack({"training", 4711});
    sink.addTrack({"loader 0", 0, TrackKind::asynchronous, 99, "python", "rank 1", 2, 1, -7});
    LayerRow model;
    model.type = "Chain";
    model.parameters = 156;
    sink.addLayer(model);
    LayerRow conv;
    conv.name = conv.path = "conv1";
    conv.type = "Conv";
    conv.text = "Conv((5, 5), 1 => 6, relu)";
    conv.parent = LayerId(0u);
    conv.input = "(28, 28, 1, 64)";
    conv.output = "(24, 24, 6, 64)";
    conv.parameters = 156;
    conv.forwardFlop = 11'059'200;
    conv.backwardFlop = 22'118'400;
    conv.forwardBytes = 1'086'000;
    conv.backwardBytes = 2'172'000;
    sink.addLayer(conv);
    sink.addPrimitive({"conv1 forward", "convolution", "jit:avx512_core", "src:nchw wei:Acdb16a dst:nChw16c",
                       LayerId(1u), Phase::forward, 11'059'200, 1'086'000, 2, kJit});
    sink.addLabel({StringId(0u), SpanKind::step, Phase::none, {}, {}});
    sink.addLabel({StringId(1u), SpanKind::phase, Phase::forward, {}, {}});
    sink.addLabel({StringId(2u), SpanKind::layer, Phase::forward, LayerId(1u), {}});
    sink.addLabel({StringId(3u), SpanKind::primitive, Phase::forward, LayerId(1u), PrimitiveId(0u)});
    sink.addLabel({StringId(4u), SpanKind::task, Phase::loading, {}, {}, StringId(4u)});
    sink.addCounter({"loss", ""});
    sink.addCounter({"queue depth", "batches"});
    sink.addEnvironment({"threads", "2"});
    sink.addEnvironment({"unicode", "σ ≤ β"});
    sink.addQuality({"lost-spans", 3, "3 spans were lost.", "line 12, byte 345"});
    sendSampleTables(sink);
    sink.setModelText("model = Chain(conv1 = Conv((5, 5), 1 => 6, relu))\n");
    for (int i = 0; i < steps; ++i) {
        const TimeNs begin = 1'000'000 + TimeNs{i} * 100'000;
        StepRow step;
        step.index = i;
        step.epoch = i / 10;
        step.warmup = i < 2;
        step.start = begin;
        step.duration = i % 10 == 9 ? 95'000 : 90'000;
        step.samples = 64;
        step.loss = i % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / (1 + i);
        step.threadInvoluntarySwitches = i % 5;
        step.processMinorFaults = 7;
        sink.addStep(step);
        const SpanRecord spans[] = {{begin + 2'000, 50'000 + i % 7, 3, i}, // a child before its parent
                                    {begin + 1'500, 52'000, 2, i},
                                    {begin + 1'000, 60'000, 1, i},
                                    {begin, 90'000, 0, i}};
        sink.addSpans(TrackId(0u), spans);
        const SpanRecord task[] = {{begin - 500'000, 30'000, 4, -1}};
        sink.addSpans(TrackId(1u), task);
        const CounterRecord loss[] = {{begin, step.loss}};
        sink.addCounterSamples(CounterId(0u), loss);
        sendSamples(sink, i);
    }
}

} // namespace stepscope::tests
