// SampledBatch: what the sampler's thread hands to the Collector: new rows of its tables, and samples that refer to them.
// Owner: core/recording. Thread: plain values. Units: ticks of the probe clock, ns, addresses.
#pragma once

#include "core/recording/raw_sample.h"
#include "core/recording/stack_trie.h"

#include <string>
#include <vector>

namespace stepscope::recording {

struct SampledModule {
    std::string path, name;
    bool program = false, openMp = false;
};

struct SampledThread {
    uint64_t serial = 0;
    int64_t id = 0;
    std::string name; // for threads that are no track of the recording
};

struct StackSample {
    enum class Kind : uint8_t { cpu, blocked, allocation };
    uint64_t ticks = 0;
    int64_t weight = 0;
    uint32_t stack = kNoStack;
    uint32_t label = 0;
    int32_t step = -1;
    uint32_t thread = 0; // index of SampledThread
    Kind kind = Kind::cpu;
    double count = 0; // allocations that this one stands for
};

struct SampledBatch {
    uint32_t generation = 0; // counts clear()
    bool wall = false;       // also make a series of wall-clock time
    std::vector<SampledModule> modules;
    std::vector<std::string> names; // of generated code
    std::vector<TrieFrame> frames;
    std::vector<TrieStack> stacks;
    std::vector<SampledThread> threads;
    std::vector<StackSample> samples;
};

} // namespace stepscope::recording
