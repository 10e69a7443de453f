#include "core/analysis/critical_path.h"

#include "core/analysis/device_reports.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace stepscope::analysis {

using base::TimeNs;
using session::SpanKind;
using session::SpanTable;

namespace {

constexpr uint32_t kNone = 0xffffffffu;

// Calls that return when the device is done.
bool blocks(std::string_view name)
{
    for (const std::string_view call : {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery", "cudaEventSynchronize", "cudaMemcpy", "cudaMemcpyAsync"})
        if (name == call || (name.starts_with(call) && name.substr(call.size()).starts_with("_v"))) return true;
    return false;
}

bool isWork(SpanKind kind) { return kind == SpanKind::operation || kind == SpanKind::call || kind == SpanKind::synchronisation; }

// Node 2 * s is the begin of span s of the graph, 2 * s + 1 its end.
struct Edge {
    uint32_t from = 0, to = 0;
    PathBound bound = PathBound::dependency;
    TimeNs time = 0;
};

class Graph {
public:
    Graph(const DeviceTrace& trace, base::TimeRange range, PathRule rule)
        : m_trace(trace)
        , m_spans(trace.session().spans())
        , m_range(range)
        , m_rule(rule)
    {
    }

    bool build(const std::stop_token& stop)
    {
        for (size_t track = 0; track + 1 < m_spans.trackBegin.size(); ++track) {
            if (m_trace.session().tracks()[track].kind != session::TrackKind::thread) continue;
            if (stop.stop_requested()) return false;
            addThread(track);
        }
        if (m_rule == PathRule::lastArrival) joinTrees();
        addDevices();
        return !stop.stop_requested();
    }

    CriticalPath path() const { return m_rule == PathRule::holistic ? longest() : lastArrival(); }

private:
    struct Tree { // an outermost operator or call
        std::pair<std::string_view, int64_t> process;
        uint32_t begin = 0, end = 0; // nodes
    };
    static uint32_t beginNode(uint32_t span) { return 2 * span; }
    static uint32_t endNode(uint32_t span) { return 2 * span + 1; }
    TimeNs timeOf(uint32_t node) const { return m_times[node]; }

    uint32_t addSpan(uint32_t row)
    {
        m_rows.push_back(row);
        m_times.push_back(m_trace.begin(row));
        m_times.push_back(m_trace.end(row));
        return static_cast<uint32_t>(m_rows.size() - 1);
    }
    void addEdge(uint32_t from, uint32_t to, PathBound bound, TimeNs time) { m_edges.push_back({from, to, bound, std::max<TimeNs>(0, time)}); }
    void addThread(size_t track);
    void joinTrees();
    void addDevices();
    void addWork(const DeviceActivity& activity, uint32_t& last, const std::unordered_map<uint32_t, int64_t>& lengths);
    void addWait(const DeviceActivity& wait, uint32_t call, const std::vector<uint32_t>& lastOf);
    void addWaitsWithoutRecord();
    bool counts(const DeviceActivity& activity) const;
    CriticalPath longest() const;
    CriticalPath lastArrival() const;
    CriticalPath trace(uint32_t end, const std::vector<uint32_t>& best) const;

    const DeviceTrace& m_trace;
    const SpanTable& m_spans;
    base::TimeRange m_range;
    PathRule m_rule;
    std::vector<uint32_t> m_rows;  // by span of the graph
    std::vector<TimeNs> m_times;   // by node
    std::vector<Edge> m_edges;
    std::unordered_map<uint32_t, uint32_t> m_spanOfRow; // of calls
    std::vector<Tree> m_trees;
    std::vector<uint32_t> m_blocking;  // spans of calls that return when the device is done
    std::vector<uint32_t> m_works;     // end nodes of device work
    std::unordered_map<uint32_t, uint32_t> m_workOfCall; // end node of the last work, by span of its call
    std::unordered_set<uint32_t> m_waited; // calls whose wait is on record
};

// Each begin and end of a thread leads to the next.
void Graph::addThread(size_t track)
{
    const bool holistic = m_rule == PathRule::holistic;
    const session::Track& thread = m_trace.session().tracks()[track];
    std::vector<uint32_t> open; // spans of the graph
    uint32_t last = kNone, lastTop = kNone;
    const auto close = [&] {
        const uint32_t span = open.back(), end = endNode(span);
        const bool waits = blocks(m_trace.name(m_rows[span]));
        if (waits) m_blocking.push_back(span);
        addEdge(last, end, PathBound::host, holistic && waits ? 0 : timeOf(end) - timeOf(last));
        last = end;
        open.pop_back();
        if (!open.empty()) return;
        m_trees.push_back({{thread.group, thread.processId}, beginNode(span), end});
        lastTop = last;
        last = kNone;
    };
    for (size_t row = m_spans.trackBegin[track]; row < m_spans.trackBegin[track + 1]; ++row) {
        const SpanKind kind = m_trace.kind(row);
        if (!isWork(kind)) continue;
        if (m_trace.session().details().deviceWork(m_spans.detailOf(row)) != nullptr) continue;
        const TimeNs begin = m_trace.begin(row);
        if (begin < m_range.begin || begin > m_range.end || m_trace.end(row) <= begin) continue;
        while (!open.empty() && timeOf(endNode(open.back())) <= begin)
            close();
        const uint32_t span = addSpan(static_cast<uint32_t>(row));
        if (kind != SpanKind::operation) m_spanOfRow.emplace(static_cast<uint32_t>(row), span);
        if (holistic && open.empty() && lastTop != kNone) addEdge(lastTop, beginNode(span), PathBound::dependency, 0);
        if (last != kNone) addEdge(last, beginNode(span), PathBound::host, begin - timeOf(last));
        last = beginNode(span);
        open.push_back(span);
    }
    while (!open.empty())
        close();
}

// An outermost operator follows the one that ended last in its process: the thread of backward goes on where that of
// forward stopped.
void Graph::joinTrees()
{
    std::stable_sort(m_trees.begin(), m_trees.end(), [&](const Tree& a, const Tree& b) { return std::tuple(a.process, timeOf(a.end)) < std::tuple(b.process, timeOf(b.end)); });
    for (const Tree& tree : m_trees) {
        const TimeNs begin = timeOf(tree.begin);
        const auto after = std::partition_point(m_trees.begin(), m_trees.end(), [&](const Tree& other) {
            return other.process < tree.process || (other.process == tree.process && timeOf(other.end) <= begin);
        });
        if (after == m_trees.begin()) continue;
        const Tree& before = *std::prev(after);
        if (before.process == tree.process) addEdge(before.end, tree.begin, PathBound::host, begin - timeOf(before.end));
    }
}

// Lengths of the queues at launches and begins, by row of the call and of the work: what was launched and not begun.
std::unordered_map<uint32_t, int64_t> queueLengths(const DeviceTrace& trace)
{
    struct Change {
        TimeNs time = 0;
        int by = 0;
        uint32_t row = 0;
    };
    std::vector<std::vector<Change>> changes(trace.queues().size());
    for (const DeviceActivity& activity : trace.activities()) {
        if (!activity.launched() || activity.deviceClass == DeviceClass::wait || !isLaunchCall(trace.name(activity.launch))) continue;
        changes[activity.queue].push_back({trace.begin(activity.launch), 1, activity.launch});
        changes[activity.queue].push_back({activity.begin, -1, activity.row});
    }
    std::unordered_map<uint32_t, int64_t> lengths;
    for (std::vector<Change>& list : changes) {
        std::stable_sort(list.begin(), list.end(), [](const Change& a, const Change& b) { return std::tie(a.time, b.by) < std::tie(b.time, a.by); });
        int64_t length = 0;
        for (const Change& change : list)
            lengths[change.row] = length += change.by;
    }
    return lengths;
}

void Graph::addWait(const DeviceActivity& wait, uint32_t call, const std::vector<uint32_t>& lastOf)
{
    const std::string_view name = m_trace.name(wait.row);
    const bool ofStream = name == "Stream Sync" || name == "Stream sync";
    if (!ofStream && name != "Context Sync" && name != "Context sync") return;
    m_waited.insert(call);
    const TimeNs end = timeOf(endNode(call));
    for (size_t queue = 0; queue < lastOf.size(); ++queue) {
        if (lastOf[queue] == kNone || (ofStream && queue != wait.queue)) continue;
        const DeviceQueue& own = m_trace.queues()[wait.queue];
        if (m_trace.queues()[queue].group != own.group) continue; // another file's device of that number
        if (!ofStream && m_trace.queues()[queue].device != own.device && own.device >= 0) continue;
        if (m_rule == PathRule::holistic) addEdge(lastOf[queue], endNode(call), PathBound::dependency, 0);
        else if (timeOf(lastOf[queue]) <= end) addEdge(lastOf[queue], endNode(call), PathBound::host, end - timeOf(lastOf[queue]));
    }
}

// A call that waits ends after the work it launched itself, or, where it launched none, after what the device finished
// last while it waited.
void Graph::addWaitsWithoutRecord()
{
    std::sort(m_works.begin(), m_works.end(), [&](uint32_t a, uint32_t b) { return timeOf(a) < timeOf(b); });
    for (const uint32_t call : m_blocking) {
        if (m_waited.contains(call)) continue;
        const TimeNs end = timeOf(endNode(call));
        uint32_t work = kNone;
        if (const auto own = m_workOfCall.find(call); own != m_workOfCall.end()) {
            work = own->second;
        } else {
            auto after = std::partition_point(m_works.begin(), m_works.end(), [&](uint32_t node) { return timeOf(node) <= end; });
            const size_t group = m_trace.groupOf(m_rows[call]); // not of another file's device
            while (after != m_works.begin() && timeOf(*std::prev(after)) > timeOf(beginNode(call)) && m_trace.groupOf(m_rows[*std::prev(after) / 2]) != group)
                --after;
            if (after != m_works.begin()) work = *std::prev(after);
        }
        if (work != kNone && timeOf(work) > timeOf(beginNode(call)) && timeOf(work) <= end) addEdge(work, endNode(call), PathBound::host, end - timeOf(work));
    }
}

bool Graph::counts(const DeviceActivity& activity) const
{
    if (activity.launched()) return m_spanOfRow.contains(activity.launch);
    return m_rule == PathRule::lastArrival && activity.deviceClass != DeviceClass::wait && activity.begin >= m_range.begin && activity.begin <= m_range.end;
}

void Graph::addWork(const DeviceActivity& activity, uint32_t& last, const std::unordered_map<uint32_t, int64_t>& lengths)
{
    const uint32_t span = addSpan(activity.row);
    addEdge(beginNode(span), endNode(span), activity.deviceClass == DeviceClass::communication ? PathBound::communication : PathBound::compute, activity.duration());
    m_works.push_back(endNode(span));
    bool afterLaunch = false;
    if (activity.launched()) {
        const uint32_t call = m_spanOfRow.at(activity.launch);
        const TimeNs launched = timeOf(beginNode(call));
        m_workOfCall[call] = endNode(span);
        afterLaunch = last == kNone || timeOf(last) < launched;
        if (m_rule == PathRule::holistic) {
            const auto atLaunch = lengths.find(activity.launch), atBegin = lengths.find(activity.row);
            afterLaunch = afterLaunch && atLaunch != lengths.end() && atLaunch->second == 1 && atBegin != lengths.end() && atBegin->second == 0;
        }
        if (afterLaunch) addEdge(beginNode(call), beginNode(span), PathBound::launchDelay, activity.begin - launched);
    }
    if (!afterLaunch && last != kNone) addEdge(last, beginNode(span), PathBound::kernelGap, activity.begin - timeOf(last));
    if (last == kNone || m_rule == PathRule::holistic || activity.end >= timeOf(last)) last = endNode(span); // streams of damaged files overlap
}

void Graph::addDevices()
{
    std::vector<const DeviceActivity*> activities;
    for (const DeviceActivity& activity : m_trace.activities())
        if (counts(activity)) activities.push_back(&activity);
    // A wait is over when it ends; what it waits for may begin after it has.
    const auto when = [](const DeviceActivity& a) { return a.deviceClass == DeviceClass::wait ? a.end : a.begin; };
    std::stable_sort(activities.begin(), activities.end(), [&](const DeviceActivity* a, const DeviceActivity* b) { return when(*a) < when(*b); });
    std::unordered_map<uint32_t, int64_t> lengths;
    if (m_rule == PathRule::holistic) lengths = queueLengths(m_trace);
    std::vector<uint32_t> lastOf(m_trace.queues().size(), kNone); // end nodes
    for (const DeviceActivity* activity : activities) {
        if (activity->deviceClass == DeviceClass::wait) addWait(*activity, m_spanOfRow.at(activity->launch), lastOf);
        else addWork(*activity, lastOf[activity->queue], lengths);
    }
    if (m_rule == PathRule::lastArrival) addWaitsWithoutRecord();
}

CriticalPath Graph::lastArrival() const
{
    std::vector<uint32_t> best(m_times.size(), kNone);
    for (uint32_t e = 0; e < m_edges.size(); ++e) {
        const Edge& edge = m_edges[e];
        if (timeOf(edge.from) > timeOf(edge.to)) continue; // clocks that do not agree
        uint32_t& chosen = best[edge.to];
        if (chosen == kNone || timeOf(edge.from) > timeOf(m_edges[chosen].from)) chosen = e;
    }
    uint32_t end = kNone;
    for (uint32_t node = 0; node < m_times.size(); ++node)
        if (end == kNone || timeOf(node) >= timeOf(end)) end = node;
    return trace(end, best);
}

CriticalPath Graph::longest() const
{
    const size_t nodes = m_times.size();
    std::vector<uint32_t> waiting(nodes, 0), firstOut(nodes + 1, 0), out(m_edges.size());
    for (const Edge& edge : m_edges) {
        ++waiting[edge.to];
        ++firstOut[edge.from + 1];
    }
    for (size_t n = 0; n < nodes; ++n)
        firstOut[n + 1] += firstOut[n];
    std::vector<uint32_t> next(firstOut.begin(), firstOut.end() - 1);
    for (uint32_t e = 0; e < m_edges.size(); ++e)
        out[next[m_edges[e].from]++] = e;
    std::vector<TimeNs> distance(nodes, 0);
    std::vector<uint32_t> best(nodes, kNone); // edge by which the longest way comes
    std::vector<uint32_t> ready;
    for (uint32_t n = 0; n < nodes; ++n)
        if (waiting[n] == 0) ready.push_back(n);
    uint32_t end = kNone;
    for (size_t done = 0; done < ready.size(); ++done) { // a cycle of damaged times is never ready and left out
        const uint32_t node = ready[done];
        if (end == kNone || distance[node] > distance[end]) end = node;
        for (uint32_t o = firstOut[node]; o < firstOut[node + 1]; ++o) {
            const Edge& edge = m_edges[out[o]];
            const TimeNs along = distance[node] + edge.time;
            if (best[edge.to] == kNone || along > distance[edge.to]) {
                distance[edge.to] = along;
                best[edge.to] = out[o];
            }
            if (--waiting[edge.to] == 0) ready.push_back(edge.to);
        }
    }
    return trace(end, best);
}

// Backwards from the end, by the edge that leads to each node.
CriticalPath Graph::trace(uint32_t end, const std::vector<uint32_t>& best) const
{
    CriticalPath path;
    if (end == kNone) return path;
    std::vector<uint8_t> seen(m_rows.size(), 0), passed(m_times.size(), 0);
    seen[end / 2] = 1;
    uint32_t node = end;
    for (; best[node] != kNone && passed[node] == 0; node = m_edges[best[node]].from) {
        const Edge& edge = m_edges[best[node]];
        passed[node] = 1; // times that are equal might lead round
        path.edges.push_back({m_rows[edge.from / 2], m_rows[edge.to / 2], edge.from % 2 == 0, edge.to % 2 == 0, edge.bound, edge.time});
        path.times[static_cast<size_t>(edge.bound)] += edge.time;
        path.total += edge.time;
        seen[edge.from / 2] = 1;
    }
    std::reverse(path.edges.begin(), path.edges.end());
    path.range = {timeOf(node), timeOf(end)};
    path.spans = std::count(seen.begin(), seen.end(), 1);
    return path;
}

} // namespace

std::string_view pathBoundName(PathBound bound)
{
    switch (bound) {
    case PathBound::host: return "host";
    case PathBound::compute: return "device: compute";
    case PathBound::communication: return "device: communication";
    case PathBound::kernelGap: return "device: between kernels";
    case PathBound::launchDelay: return "launch delay";
    case PathBound::dependency: return "dependency";
    }
    return "";
}

CriticalPath criticalPath(const DeviceTrace& trace, base::TimeRange range, PathRule rule, std::stop_token stop)
{
    Graph graph(trace, range, rule);
    if (!graph.build(stop)) return {};
    return graph.path();
}

namespace {

// The span that an edge's time belongs to. From the end of one span to the begin of the next it is the one around them.
uint32_t spanOf(const PathEdge& edge, const SpanTable& spans)
{
    if (edge.bound == PathBound::launchDelay || (!edge.fromBegin && !edge.toBegin)) return edge.to;
    if (edge.fromBegin) return edge.from;
    return edge.bound == PathBound::host ? spans.parent[edge.to] : edge.to;
}

} // namespace

std::vector<PathShare> pathShares(const DeviceTrace& trace, const CriticalPath& path)
{
    std::map<std::pair<PathBound, std::string_view>, PathShare> shares;
    for (const PathEdge& edge : path.edges) {
        if (edge.time == 0) continue;
        const uint32_t row = spanOf(edge, trace.session().spans());
        const bool between = row == SpanTable::kNoParent || (edge.bound == PathBound::host && !isWork(trace.kind(row)));
        const std::string_view name = between ? kBetweenOperators : trace.name(row);
        PathShare& share = shares[{edge.bound, name}];
        share.bound = edge.bound;
        ++share.count;
        share.time += edge.time;
    }
    std::vector<PathShare> rows;
    for (auto& [key, share] : shares) {
        share.name = key.second;
        share.share = path.total > 0 ? static_cast<double>(share.time) / static_cast<double>(path.total) : 0;
        rows.push_back(std::move(share));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
    return rows;
}

} // namespace stepscope::analysis
