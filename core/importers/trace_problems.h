// What is counted while a Chrome trace is read, by kind and with its first places; and places as line and column.
// Owner: core/importers. Thread: one at a time. Units: bytes of the unpacked file.
#pragma once

#include "core/importers/importer.h"
#include "core/importers/json_tokens.h"
#include "core/session/types.h"

#include <array>

namespace stepscope::importers {

enum class TraceProblem : uint8_t {
    badTime, badDuration, negativeDuration, hugeDuration, noTiming, endWithoutBegin, unfinished, asyncEndWithoutBegin,
    flowStartWithoutEnd, flowEndWithoutStart, flowUnbound, unknownPhase, unreadPhase, malformed, notAnEvent,
    nonFinite, invalidEscape, controlCharacter, invalidUtf8, badSample, repeatedCall, badCounter,
};
inline constexpr size_t kTraceProblemCount = 22;

class TraceProblems {
public:
    void add(TraceProblem problem, uint64_t byte) { m_places[static_cast<size_t>(problem)].add(byte); }
    void addUnplaced(TraceProblem problem, int64_t count) { m_unplaced[static_cast<size_t>(problem)] += count; }
    void set(TraceProblem problem, const Places& places) { m_places[static_cast<size_t>(problem)] = places; }
    // One row per kind that was met. `input` is read again from its start to find the lines.
    std::vector<session::QualityRow> rows(const Input& input) const;

private:
    std::array<Places, kTraceProblemCount> m_places;
    std::array<int64_t, kTraceProblemCount> m_unplaced = {};
};

// Line and column of a byte, from 1; nothing when the input cannot be read again.
struct LinePlace {
    int64_t line = -1, column = -1;
};
// `bytes` ascending.
std::vector<LinePlace> linesOf(const Input& input, const std::vector<uint64_t>& bytes);

} // namespace stepscope::importers
