// A session made by hand whose sums are known: used by the tests of analysis and presentation.
//
// Step s takes kScale[s] * 1000 ns. In units of kScale[s], a step holds
//   data wait 100, forward 300, loss 30, backward 400, optimiser 120, between phases 50
// and its layers, without what lies inside them (forward + backward + update):
//   conv1 100 + 220 + 50, block 30 + 30, block.dense1 60 + 60 + 50, block.dense2 80 + 60
// Step 0 is warm-up. The loader works in the first half of each step.
#pragma once

#include "core/session/session_builder.h"

#include <array>

namespace stepscope::support {

inline constexpr std::array<int64_t, 4> kScale{10, 1, 2, 3};
inline constexpr int64_t kFirstStepStart = 5000;

struct MadeSession {
    session::SessionBuilder builder;
    std::vector<session::SpanRecord> training, loader;

    session::LabelId label(std::string_view name, session::SpanKind kind, session::Phase phase, int layer = -1, int primitive = -1)
    {
        session::Label row;
        row.name = builder.intern(name);
        row.kind = kind;
        row.phase = phase;
        if (layer >= 0) row.layer = base::LayerId(static_cast<uint32_t>(layer));
        if (primitive >= 0) row.primitive = base::PrimitiveId(static_cast<uint32_t>(primitive));
        return builder.internLabel(row);
    }

    void layer(std::string path, std::string type, int parent, int64_t forwardFlop, int64_t backwardFlop)
    {
        session::LayerRow row;
        row.name = path.substr(path.rfind('.') + 1);
        row.path = std::move(path);
        row.text = type + "(...)";
        row.type = std::move(type);
        if (parent >= 0) row.parent = base::LayerId(static_cast<uint32_t>(parent));
        row.forwardFlop = forwardFlop;
        row.backwardFlop = backwardFlop;
        builder.addLayer(row);
    }

    void primitive(std::string name, std::string kind, int layer, session::Phase phase, int64_t flop, int64_t bytes, uint32_t flags)
    {
        session::PrimitiveRow row;
        row.name = std::move(name);
        row.kind = std::move(kind);
        row.implementation = "jit:avx2";
        row.formats = "src:nchw dst:nchw";
        row.layer = base::LayerId(static_cast<uint32_t>(layer));
        row.phase = phase;
        row.flop = flop;
        row.bytes = bytes;
        row.flags = flags;
        builder.addPrimitive(row);
    }

    // Children first, as a recording delivers them.
    void step(int64_t index)
    {
        using session::Phase;
        using session::SpanKind;
        const int64_t scale = kScale[static_cast<size_t>(index)];
        int64_t start = kFirstStepStart;
        for (int64_t i = 0; i < index; ++i)
            start += kScale[static_cast<size_t>(i)] * 1000;
        const auto span = [&](session::LabelId id, int64_t begin, int64_t end) {
            training.push_back({start + begin * scale, (end - begin) * scale, id.value, static_cast<int32_t>(index)});
        };
        const auto phase = [&](std::string_view name, Phase which, int64_t begin, int64_t end) {
            span(label(name, SpanKind::phase, which), begin, end);
        };
        const auto inLayer = [&](std::string_view name, Phase which, int id, int64_t begin, int64_t end) {
            span(label(name, SpanKind::layer, which, id), begin, end);
        };
        const auto run = [&](std::string_view name, Phase which, int layerId, int id, int64_t begin, int64_t end) {
            span(label(name, SpanKind::primitive, which, layerId, id), begin, end);
        };
        phase("data wait", Phase::dataWait, 0, 100);
        run("conv1 forward", Phase::forward, 1, 0, 130, 200);
        if (index == 0) span(label("conv1 creation", SpanKind::creation, Phase::forward, 1), 201, 219);
        inLayer("conv1", Phase::forward, 1, 120, 220);
        run("dense1 forward", Phase::forward, 3, 3, 240, 290);
        inLayer("block.dense1", Phase::forward, 3, 240, 300);
        inLayer("block.dense2", Phase::forward, 4, 310, 390);
        inLayer("block", Phase::forward, 2, 230, 400);
        phase("forward", Phase::forward, 110, 410);
        phase("loss", Phase::loss, 420, 450);
        inLayer("block.dense2", Phase::backward, 4, 480, 540);
        inLayer("block.dense1", Phase::backward, 3, 550, 610);
        inLayer("block", Phase::backward, 2, 470, 620);
        run("conv1 reorder", Phase::backward, 1, 2, 640, 660);
        run("conv1 weights gradient", Phase::backward, 1, 1, 670, 840);
        inLayer("conv1", Phase::backward, 1, 630, 850);
        phase("backward", Phase::backward, 460, 860);
        inLayer("conv1", Phase::optimiser, 1, 880, 930);
        inLayer("block.dense1", Phase::optimiser, 3, 930, 980);
        phase("optimiser", Phase::optimiser, 870, 990);
        span(label("step", SpanKind::step, Phase::none), 0, 1000);
        loader.push_back({start, 500 * scale, label("batch", SpanKind::task, Phase::loading).value, -1});

        session::StepRow row;
        row.index = index;
        row.warmup = index == 0;
        row.start = start;
        row.duration = 1000 * scale;
        row.samples = 8;
        row.loss = 1.0 / static_cast<double>(index + 1);
        row.threadInvoluntarySwitches = index == 3 ? 1 : 0;
        builder.addStep(row);
    }

    MadeSession()
    {
        using session::Phase;
        builder.addTrack({"training", 11});
        builder.addTrack({"loader 0", 12});
        layer("", "Chain", -1, 600, 1200);
        layer("conv1", "Conv", 0, 400, 800);
        layer("block", "Chain", 0, 200, 400);
        layer("block.dense1", "Dense", 2, 120, 240);
        layer("block.dense2", "Dense", 2, 80, 160);
        primitive("conv1 forward", "convolution", 1, Phase::forward, 700, 140, session::kJit);
        primitive("conv1 weights gradient", "convolution", 1, Phase::backward, 1700, 340, session::kJit);
        primitive("conv1 reorder", "reorder", 1, Phase::backward, 0, 400, session::kReorder);
        primitive("dense1 forward", "naive", 3, Phase::forward, 500, 100, session::kNaive);
        training.push_back({0, 4000, label("preparation", session::SpanKind::creation, Phase::setup).value, -1});
        for (size_t i = 0; i < kScale.size(); ++i)
            step(static_cast<int64_t>(i));
        training.push_back({21500, 1000, label("evaluation", session::SpanKind::phase, Phase::evaluation).value, -1});
    }

    session::SessionPtr build()
    {
        builder.addSpans(base::TrackId(0u), training);
        builder.addSpans(base::TrackId(1u), loader);
        return builder.build();
    }
};

inline session::SessionPtr madeSession() { return MadeSession().build(); }

} // namespace stepscope::support
