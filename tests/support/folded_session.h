// A session from collapsed stacks ("app;work;malloc 20"), one span tree without steps, for tests of flame graphs.
#pragma once

#include "core/session/session_builder.h"

#include <algorithm>
#include <string>
#include <vector>

namespace stepscope::support {

struct FoldedStack {
    std::vector<std::string> frames; // outermost first
    int64_t weight = 0;
};

// Spans of one track named "stacks": stacks that share their first frames and follow each other share spans.
inline session::SessionPtr foldedSession(const std::vector<FoldedStack>& stacks)
{
    session::SessionBuilder builder;
    builder.addTrack({"stacks", 1});
    std::vector<session::SpanRecord> spans;
    std::vector<std::pair<std::string, size_t>> open; // frame and its span
    int64_t now = 0;
    for (const FoldedStack& stack : stacks) {
        size_t common = 0;
        while (common < open.size() && common < stack.frames.size() && open[common].first == stack.frames[common])
            ++common;
        open.resize(common);
        for (size_t i = common; i < stack.frames.size(); ++i) {
            open.emplace_back(stack.frames[i], spans.size());
            const base::LabelId label = builder.internLabel({builder.intern(stack.frames[i])});
            spans.push_back({now, 0, label.value, -1});
        }
        now += stack.weight;
        for (const auto& [frame, span] : open)
            spans[span].duration = now - spans[span].start;
    }
    std::reverse(spans.begin(), spans.end()); // a recording delivers children before their parents
    builder.addSpans(base::TrackId(0u), spans);
    return builder.build();
}

} // namespace stepscope::support
