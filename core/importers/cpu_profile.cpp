#include "core/importers/cpu_profile.h"

#include "core/importers/decimal_text.h"
#include "core/importers/text_encoding.h"

#include <algorithm>

namespace stepscope::importers {

namespace {

constexpr int kMicroseconds = 3; // powers of ten to ns

std::string valid(std::string_view text) { return isUtf8(text) ? std::string(text) : repairUtf8(text); }

// Returns how many of them are no numbers; those are 0.
int64_t readNumbers(JsonPull& json, int shift, std::vector<int64_t>& into)
{
    int64_t bad = 0;
    for (bool in = json.enterArray(); in && json.nextElement();) {
        const std::optional<int64_t> value = json.integer(shift);
        if (json.problem()) return bad;
        into.push_back(value.value_or(0));
        bad += value ? 0 : 1;
    }
    return bad;
}

} // namespace

struct CpuProfile::NodeText {
    int64_t id = -1, parent = -1, line = -1, selfSize = 0;
    std::string function, url;
    std::vector<int64_t> children;
};

// A field of a node or of its "callFrame". False: an unknown key, whose value is still there.
bool CpuProfile::readField(JsonPull& json, std::string_view key, NodeText& node)
{
    if (key == "id") node.id = json.integer().value_or(-1);
    else if (key == "parent") node.parent = json.integer().value_or(-1);
    else if (key == "functionName") node.function = valid(json.string());
    else if (key == "url") node.url = valid(json.string());
    else if (key == "lineNumber") node.line = json.integer().value_or(-1);
    else if (key == "selfSize") node.selfSize = json.integer().value_or(0);
    else if (key == "callFrame") {
        std::string_view inner;
        for (bool in = json.enterObject(); in && json.nextKey(inner);)
            if (inner == "callFrame" || !readField(json, inner, node)) json.skip();
    } else return false;
    return true;
}

CpuProfile::Node CpuProfile::nodeOf(const NodeText& text)
{
    session::FrameRow row;
    row.function =
        m_builder.intern(text.function.empty() ? std::string_view("(anonymous)") : std::string_view(text.function));
    row.module = m_builder.intern("");
    if (!text.url.empty()) row.file = m_builder.intern(text.url);
    if (text.line >= 0 && text.line < 0x7ffffffe)
        row.line = static_cast<int32_t>(text.line) + 1; // the file counts from 0
    Node node;
    node.parent = text.parent;
    node.selfSize = text.selfSize;
    node.frame = m_builder.internFrame(row);
    return node;
}

void CpuProfile::readNodes(JsonPull& json)
{
    std::string_view key;
    for (bool in = json.enterArray(); in && json.nextElement();) {
        NodeText node;
        for (bool fields = json.enterObject(); fields && json.nextKey(key);) {
            if (key == "children") m_badNumbers += readNumbers(json, 0, node.children);
            else if (!readField(json, key, node)) json.skip();
        }
        if (json.problem() && node.id < 0) return;
        m_byId.try_emplace(node.id, m_nodes.size());
        for (const int64_t child : node.children)
            m_parentOf.try_emplace(child, node.id);
        m_nodes.push_back(nodeOf(node));
    }
}

// {"functionName": ..., "children": [{...}, ...]}, nested as deep as the stacks were, so read with a stack of our own.
void CpuProfile::readTree(JsonPull& json)
{
    struct Open {
        NodeText text;
        size_t index = 0;
    };
    std::vector<Open> open;
    const auto begin = [&] {
        const int64_t parent = open.empty() ? -1 : static_cast<int64_t>(open.back().index);
        Open next;
        next.index = m_nodes.size();
        next.text.parent = parent;
        m_nodes.emplace_back();
        open.push_back(std::move(next));
    };
    const auto nextChild = [&] { // into the next object of the list of children that is being read
        while (json.nextElement())
            if (json.enterObject()) {
                begin();
                return;
            }
    };
    if (!json.enterObject()) return;
    begin();
    std::string_view key;
    while (!open.empty()) {
        if (json.nextKey(key)) {
            if (key == "children") {
                if (json.enterArray()) nextChild();
            } else if (key == "parent" || !readField(json, key, open.back().text)) {
                json.skip();
            }
            continue;
        }
        // The node is complete; it has its place already, so that parents stand before children.
        const Open done = std::move(open.back());
        open.pop_back();
        Node& node = m_nodes[done.index];
        node = nodeOf(done.text);
        node.parent = done.text.parent < 0 ? -1 : -2 - done.text.parent; // an index, not an id
        if (done.text.id >= 0) m_byId.try_emplace(done.text.id, done.index);
        if (!open.empty() && !json.problem()) nextChild();
    }
}

void CpuProfile::readDeltas(JsonPull& json) { m_badNumbers += readNumbers(json, kMicroseconds, m_deltas); }

void CpuProfile::read(JsonPull& json)
{
    std::string_view key;
    for (bool in = json.enterObject(); in && json.nextKey(key);) {
        if (key == "nodes") readNodes(json);
        else if (key == "head") readTree(json);
        else if (key == "samples") m_badNumbers += readNumbers(json, 0, m_samples);
        else if (key == "timeDeltas") readDeltas(json);
        else if (key == "timestamps") m_badNumbers += readNumbers(json, kMicroseconds, m_timestamps);
        else if (key == "startTime") m_start = json.integer(kMicroseconds);
        else if (key == "endTime") m_end = json.integer(kMicroseconds);
        else json.skip();
    }
}

session::StackId CpuProfile::stackOf(size_t index)
{
    std::vector<size_t> path; // nodes without a stack yet, innermost first
    session::StackId stack;
    for (size_t at = index;;) {
        Node& node = m_nodes[at];
        if (node.stack != session::StackId::kNone) {
            stack = session::StackId(node.stack);
            break;
        }
        if (node.resolving) break; // a cycle in a broken file
        node.resolving = true;
        path.push_back(at);
        if (node.parent <= -2) {
            at = static_cast<size_t>(-2 - node.parent);
            continue;
        }
        const auto parent = node.parent >= 0 ? m_byId.find(node.parent) : m_byId.end();
        if (parent == m_byId.end()) break;
        at = parent->second;
    }
    for (size_t i = path.size(); i-- > 0;) {
        Node& node = m_nodes[path[i]];
        stack = m_builder.internStack({stack, node.frame});
        node.stack = stack.value;
        node.resolving = false;
    }
    return stack;
}

std::vector<session::SampleRecord> CpuProfile::samples()
{
    for (const auto& [id, index] : m_byId) // "children" tell what "parent" does not
        if (Node& node = m_nodes[index]; node.parent == -1)
            if (const auto found = m_parentOf.find(id); found != m_parentOf.end()) node.parent = found->second;

    std::vector<session::SampleRecord> result;
    const bool stamped = m_deltas.empty() && !m_timestamps.empty();
    if (stamped && m_timestamps.size() > m_samples.size()) m_end = m_timestamps[m_samples.size()];
    session::TimeNs now = m_start.value_or(0);
    for (size_t i = 0; i < m_samples.size(); ++i) {
        session::SampleRecord sample;
        if (stamped) now = i < m_timestamps.size() ? m_timestamps[i] : now;
        else if (i < m_deltas.size() && __builtin_add_overflow(now, m_deltas[i], &now)) break;
        if (!stamped && i < m_deltas.size() && m_deltas[i] < 0) ++m_unsorted;
        sample.time = now;
        if (const auto node = m_byId.find(m_samples[i]); node != m_byId.end()) sample.stack = stackOf(node->second);
        else ++m_unknownNodes;
        result.push_back(sample);
    }
    if (result.empty()) return result;
    const auto earlier = [](const session::SampleRecord& a, const session::SampleRecord& b) { return a.time < b.time; };
    std::stable_sort(result.begin(), result.end(), earlier);
    const auto length = [](session::TimeNs from, session::TimeNs to) {
        int64_t weight = 0;
        return __builtin_sub_overflow(to, from, &weight) || weight < 0 ? 0 : weight;
    };
    for (size_t i = 0; i < result.size(); ++i)
        result[i].weight =
            length(result[i].time, i + 1 < result.size() ? result[i + 1].time : m_end.value_or(result[i].time));
    // Old files have start and end in seconds, beside stamps in microseconds.
    if (m_start && !stamped && *m_start < result.front().time) {
        session::SampleRecord lead;
        lead.time = *m_start;
        lead.weight = length(*m_start, result.front().time);
        result.insert(result.begin(), lead);
        m_lead = true;
    }
    return result;
}

std::vector<session::SampleRecord> CpuProfile::sizes()
{
    std::vector<session::SampleRecord> result;
    for (size_t i = 0; i < m_nodes.size(); ++i) {
        if (m_nodes[i].selfSize == 0) continue;
        session::SampleRecord sample;
        sample.weight = m_nodes[i].selfSize;
        sample.stack = stackOf(i);
        result.push_back(sample);
    }
    return result;
}

} // namespace stepscope::importers
