// CpuProfile: a profile of V8 (nodes, samples, time deltas), as .cpuprofile files and Chrome's performance traces hold
// it. Owner: core/importers. Thread: one at a time. Units: ns; the file's microseconds are read digit by digit.
//
// The first delta counts from the start, each later one from the sample before; a sample lasts until the next one, the
// last until the end of the profile. Samples that V8 recorded out of order are sorted by their time.
#pragma once

#include "core/importers/json_pull.h"
#include "core/session/session_builder.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stepscope::importers {

class CpuProfile {
public:
    explicit CpuProfile(session::SessionBuilder& builder) : m_builder(builder) {}

    void setStart(session::TimeNs start) { m_start = start; }
    void setEnd(session::TimeNs end) { m_end = end; }
    std::optional<session::TimeNs> start() const { return m_start; }

    // The object with "nodes" or "head", "samples", "timeDeltas" or "timestamps", "startTime", "endTime", all optional.
    // Of a part of a profile (ProfileChunk), what was read before stays.
    void read(JsonPull& json);
    void readDeltas(JsonPull& json); // the array alone

    // Samples in order of time, on no track. One more with no stack, first, stands for the time before the first
    // sample.
    std::vector<session::SampleRecord> samples();
    bool hasLead() const { return m_lead; }                 // such a first one was made
    int64_t unknownNodes() const { return m_unknownNodes; } // samples whose node is not there
    int64_t unsorted() const { return m_unsorted; }         // negative deltas
    int64_t badNumbers() const { return m_badNumbers; }     // in lists of numbers: no number, taken as 0
    size_t nodeCount() const { return m_nodes.size(); }

    // Weights of a heap profile's tree ("head" with "selfSize"), one sample per node that has any.
    std::vector<session::SampleRecord> sizes();

private:
    struct Node {
        int64_t parent = -1; // an id, or in a tree -2 - index
        session::FrameId frame;
        int64_t selfSize = 0;
        uint32_t stack = session::StackId::kNone;
        bool resolving = false;
    };
    struct NodeText;
    void readNodes(JsonPull& json);
    void readTree(JsonPull& json);
    bool readField(JsonPull& json, std::string_view key, NodeText& node);
    Node nodeOf(const NodeText& text);
    session::StackId stackOf(size_t node);

    session::SessionBuilder& m_builder;
    std::vector<Node> m_nodes;
    std::unordered_map<int64_t, size_t> m_byId;
    std::unordered_map<int64_t, int64_t> m_parentOf; // from "children" lists
    std::vector<int64_t> m_samples;                  // ids
    std::vector<int64_t> m_deltas, m_timestamps;     // ns
    std::optional<session::TimeNs> m_start, m_end;
    bool m_lead = false;
    int64_t m_unknownNodes = 0, m_unsorted = 0, m_badNumbers = 0;
};

} // namespace stepscope::importers
