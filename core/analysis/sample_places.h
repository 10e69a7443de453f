// SamplePlaces: which frames of a session count as the same place, and which are hidden.
// Owner: core/analysis, internal. Thread: immutable after construction.
#pragma once

#include "core/analysis/flame_tree.h"
#include "core/analysis/sample_filter.h"

#include <vector>

namespace stepscope::analysis {

// Flags that a hidden frame hands to the visible frame that called it, as FlameGraphs.jl does with those of C frames.
inline constexpr uint32_t kStatusFlags = session::kSlowPath | session::kAllocation | session::kWaiting;

// In a library or the system, and neither generated code nor of the program itself. What a thread waits in stays visible:
// it is the answer to the question, and often the only frame with a name.
constexpr bool isNative(uint32_t frameFlags)
{
    return (frameFlags & (session::kLibraryCode | session::kKernelMode)) != 0
        && (frameFlags & (session::kGenerated | session::kOwnCode | session::kWaiting)) == 0;
}

struct SamplePlaces {
    SamplePlaces(const session::Session& session, const SampleFilter& filter);

    std::vector<FlamePlace> places;
    std::vector<uint32_t> ofFrame;  // per frame of the session, and a last one for unknown frames
    std::vector<uint8_t> hidden;    // per frame likewise

    uint32_t frameIndex(base::FrameId frame) const
    {
        return frame.index() + 1 < ofFrame.size() ? frame.value : static_cast<uint32_t>(ofFrame.size() - 1);
    }
};

// The place of each in the order of file, function and line; places without a name last.
std::vector<uint32_t> placeRanks(const session::Session& session, const std::vector<FlamePlace>& places);

} // namespace stepscope::analysis
