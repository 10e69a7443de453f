// What the trees of stack samples cost: selecting, merging and ordering one million samples of a training run.
// The stacks have 20 to 60 frames and end in a few thousand different places, as those of a network of 40 layers do.
//
//   bench_sample_tree [SAMPLES]     default: 1 million; the limit for that many is 200 ms
#include "core/analysis/sample_tree.h"
#include "core/session/session_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <time.h>

using namespace stepscope;

namespace {

// CPU time: on a busy machine the clock on the wall says nothing about the code, which is one thread.
double seconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

session::SessionPtr makeSession(size_t count)
{
    session::SessionBuilder builder;
    std::mt19937 random(7);
    for (const char* name : {"training", "OpenMP 1", "loader 0", "loader 1"})
        builder.addTrack({name, 1});
    builder.addSeries({"cpu time", "ns", session::SeriesKind::cpuTime, true, true});
    std::vector<base::FrameId> frames;
    for (int i = 0; i < 4000; ++i) {
        const uint32_t flags = i % 3 == 0 ? session::kOwnCode : i % 3 == 1 ? session::kLibraryCode : session::kGenerated;
        frames.push_back(builder.internFrame({builder.intern("net::layer" + std::to_string(i / 8) + "::run(float const*, int)"),
                                              builder.intern("libnet.so"), builder.intern("net.cpp"), i, uint64_t(i) * 16, flags, {}}));
    }
    std::vector<base::LabelId> labels;
    for (uint32_t layer = 0; layer < 40; ++layer) {
        builder.addLayer({});
        for (const auto phase : {session::Phase::forward, session::Phase::backward})
            labels.push_back(builder.internLabel({{}, session::SpanKind::layer, phase, base::LayerId(layer), {}, {}}));
    }
    std::vector<base::StackId> leaves;
    for (int i = 0; i < 5'000; ++i) {
        // Branches off an earlier stack, so that stacks share their outer frames.
        base::StackId at = leaves.empty() ? base::StackId{} : leaves[random() % leaves.size()];
        for (int up = static_cast<int>(random() % 30); up > 0 && at.valid(); --up)
            at = builder.tables().stacks[at.index()].parent;
        for (uint32_t deeper = 1 + random() % 20; deeper > 0; --deeper)
            at = builder.internStack({at, frames[random() % frames.size()]});
        leaves.push_back(at);
    }
    for (int i = 0; i < 1000; ++i) {
        session::StepRow step;
        step.index = i;
        step.warmup = i < 10;
        step.start = i * 1'000'000;
        step.duration = 1'000'000;
        builder.addStep(step);
    }
    std::vector<session::SampleRecord> samples;
    for (size_t i = 0; i < count; ++i) {
        const auto step = static_cast<int>(i * 1000 / count);
        const size_t leaf = random() % leaves.size();
        samples.push_back({static_cast<int64_t>(i * 1000), 1'000'000, leaves[leaf], labels[leaf % labels.size()],
                           base::TrackId(static_cast<uint32_t>(random() % 4)), step});
    }
    builder.addSamples(base::SeriesId(0u), samples);
    return builder.build();
}

void measure(const char* name, const session::SessionPtr& session, const analysis::SampleFilter& filter)
{
    double best = 1e9;
    size_t nodes = 0;
    for (int round = 0; round < 5; ++round) {
        const double begin = seconds();
        const analysis::SampleProfile profile = analysis::sampleProfile(session, filter);
        best = std::min(best, seconds() - begin);
        nodes = profile.tree.nodes.size();
    }
    std::printf("%-28s %8.1f ms  %9zu nodes\n", name, best * 1e3, nodes);
}

} // namespace

int main(int argc, char** argv)
{
    const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    const session::SessionPtr session = makeSession(count);
    std::printf("%zu samples, %zu stacks, %zu frames; CPU time, best of 5\n", count, session->stacks().size(), session->frames().size());
    analysis::SampleFilter filter;
    measure("own code", session, filter);
    filter.native = true;
    measure("all frames", session, filter);
    filter.groups = {analysis::SampleGroup::thread, analysis::SampleGroup::phase};
    measure("by thread and phase", session, filter);
    filter.groups = {analysis::SampleGroup::layer};
    measure("by layer", session, filter);
    filter.groups.clear();
    filter.shape = analysis::SampleShape::bottomUp;
    measure("bottom-up", session, filter);
    filter.shape = analysis::SampleShape::topDown;
    filter.recursion = analysis::SampleRecursion::flat;
    measure("recursion flattened", session, filter);
    return 0;
}
