#include "core/analysis/critical_path.h"

#include "core/analysis/device_reports.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

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

// Node 2 * s is the begin of span s of the graph, 2 * s + 1 its end.
struct Edge {
    uint32_t from = 0, to = 0;
    PathBound bound = PathBound::dependency;
    TimeNs time = 0;
};

class Graph {
public:
    Graph(const DeviceTrace& trace, base::TimeRange range)
        : m_trace(trace)
        , m_spans(trace.session().spans())
        , m_range(range)
    {
    }

    bool build(const std::stop_token& stop)
    {
        for (size_t track = 0; track + 1 < m_spans.trackBegin.size(); ++track) {
            if (m_trace.session().tracks()[track].kind != session::TrackKind::thread) continue;
            if (stop.stop_requested()) return false;
            addThread(track);
        }
        addDevices();
        return !stop.stop_requested();
    }

    CriticalPath longest() const;

private:
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
    void addDevices();
    void addWait(const DeviceActivity& wait, uint32_t call, const std::vector<uint32_t>& lastOf);

    const DeviceTrace& m_trace;
    const SpanTable& m_spans;
    base::TimeRange m_range;
    std::vector<uint32_t> m_rows;  // by span of the graph
    std::vector<TimeNs> m_times;   // by node
    std::vector<Edge> m_edges;
    std::unordered_map<uint32_t, uint32_t> m_spanOfRow; // of calls
};

// Each begin and end of a thread leads to the next; whole trees follow each other without taking time.
void Graph::addThread(size_t track)
{
    std::vector<uint32_t> open; // spans of the graph
    uint32_t last = kNone, lastTop = kNone;
    const auto close = [&] {
        const uint32_t span = open.back(), end = endNode(span);
        addEdge(last, end, PathBound::host, blocks(m_trace.name(m_rows[span])) ? 0 : timeOf(end) - timeOf(last));
        last = end;
        open.pop_back();
        if (!open.empty()) return;
        lastTop = last;
        last = kNone;
    };
    for (size_t row = m_spans.trackBegin[track]; row < m_spans.trackBegin[track + 1]; ++row) {
        const SpanKind kind = m_trace.kind(row);
        if (kind != SpanKind::operation && kind != SpanKind::call && kind != SpanKind::synchronisation) continue;
        if (m_trace.session().details().deviceWork(m_spans.detailOf(row)) != nullptr) continue;
        const TimeNs begin = m_trace.begin(row);
        if (begin < m_range.begin || begin > m_range.end || m_trace.end(row) <= begin) continue;
        while (!open.empty() && timeOf(endNode(open.back())) <= begin)
            close();
        const uint32_t span = addSpan(static_cast<uint32_t>(row));
        if (kind != SpanKind::operation) m_spanOfRow.emplace(static_cast<uint32_t>(row), span);
        if (open.empty() && lastTop != kNone) addEdge(lastTop, beginNode(span), PathBound::dependency, 0);
        if (last != kNone) addEdge(last, beginNode(span), PathBound::host, begin - timeOf(last));
        last = beginNode(span);
        open.push_back(span);
    }
    while (!open.empty())
        close();
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
    for (size_t queue = 0; queue < lastOf.size(); ++queue) {
        if (lastOf[queue] == kNone || (ofStream && queue != wait.queue)) continue;
        if (!ofStream && m_trace.queues()[queue].device != m_trace.queues()[wait.queue].device && m_trace.queues()[wait.queue].device >= 0) continue;
        addEdge(lastOf[queue], endNode(call), PathBound::dependency, 0);
    }
}

void Graph::addDevices()
{
    std::vector<const DeviceActivity*> activities;
    for (const DeviceActivity& activity : m_trace.activities())
        if (activity.launched() && m_spanOfRow.contains(activity.launch)) activities.push_back(&activity);
    // A wait is over when it ends; what it waits for may begin after it has.
    const auto when = [](const DeviceActivity& a) { return a.deviceClass == DeviceClass::wait ? a.end : a.begin; };
    std::stable_sort(activities.begin(), activities.end(), [&](const DeviceActivity* a, const DeviceActivity* b) { return when(*a) < when(*b); });
    const std::unordered_map<uint32_t, int64_t> lengths = queueLengths(m_trace);
    std::vector<uint32_t> lastOf(m_trace.queues().size(), kNone); // end nodes
    for (const DeviceActivity* activity : activities) {
        const uint32_t call = m_spanOfRow.at(activity->launch);
        if (activity->deviceClass == DeviceClass::wait) {
            addWait(*activity, call, lastOf);
            continue;
        }
        const uint32_t span = addSpan(activity->row);
        addEdge(beginNode(span), endNode(span), activity->deviceClass == DeviceClass::communication ? PathBound::communication : PathBound::compute, activity->duration());
        const auto atLaunch = lengths.find(activity->launch), atBegin = lengths.find(activity->row);
        uint32_t& last = lastOf[activity->queue];
        const TimeNs launched = timeOf(beginNode(call));
        if (atLaunch != lengths.end() && atLaunch->second == 1 && atBegin != lengths.end() && atBegin->second == 0
            && (last == kNone || timeOf(last) < launched)) {
            addEdge(beginNode(call), beginNode(span), PathBound::launchDelay, activity->begin - launched);
        } else if (last != kNone) {
            addEdge(last, beginNode(span), PathBound::kernelGap, activity->begin - timeOf(last));
        }
        last = endNode(span);
    }
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
    CriticalPath path;
    if (end == kNone) return path;
    std::vector<uint8_t> seen(m_rows.size(), 0);
    seen[end / 2] = 1;
    for (uint32_t node = end; best[node] != kNone; node = m_edges[best[node]].from) {
        const Edge& edge = m_edges[best[node]];
        path.edges.push_back({m_rows[edge.from / 2], m_rows[edge.to / 2], edge.from % 2 == 0, edge.to % 2 == 0, edge.bound, edge.time});
        path.times[static_cast<size_t>(edge.bound)] += edge.time;
        seen[edge.from / 2] = 1;
    }
    std::reverse(path.edges.begin(), path.edges.end());
    path.total = distance[end];
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

CriticalPath criticalPath(const DeviceTrace& trace, base::TimeRange range, std::stop_token stop)
{
    Graph graph(trace, range);
    if (!graph.build(stop)) return {};
    return graph.longest();
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
        const std::string_view name = row == SpanTable::kNoParent ? std::string_view() : trace.name(row);
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
