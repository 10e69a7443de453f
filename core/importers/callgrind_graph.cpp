#include "core/importers/callgrind_graph.h"

#include <algorithm>
#include <cmath>

namespace stepscope::importers {

namespace {

constexpr size_t kMaxPlaces = 300'000;
constexpr double kFirstThreshold = 1e-6; // of the whole program; smaller calls are not shown apart

} // namespace

size_t CallGraph::addFunction()
{
    m_functions.emplace_back();
    m_functions.back().self.assign(m_events, 0);
    m_functions.back().incoming.assign(m_events, 0);
    return m_functions.size() - 1;
}

void CallGraph::addTo(int64_t& sum, int64_t cost)
{
    int64_t result = 0;
    if (__builtin_add_overflow(sum, cost, &result)) ++m_overflows;
    else sum = result;
}

void CallGraph::addSelf(size_t function, const std::vector<int64_t>& cost)
{
    for (size_t i = 0; i < m_events && i < cost.size(); ++i) {
        addTo(m_functions[function].self[i], cost[i]);
    }
}

void CallGraph::addCall(size_t from, size_t to, int64_t calls, const std::vector<int64_t>& inclusive)
{
    Function& caller = m_functions[from];
    const auto [at, added] = caller.callOf.try_emplace(to, caller.calls.size());
    if (added) {
        Call call;
        call.to = to;
        call.inclusive.assign(m_events, 0);
        caller.calls.push_back(std::move(call));
    }
    Call& call = caller.calls[at->second];
    addTo(call.calls, calls);
    for (size_t i = 0; i < m_events && i < inclusive.size(); ++i)
        addTo(call.inclusive[i], inclusive[i]);
}

void CallGraph::sumIncoming()
{
    m_total.assign(m_events, 0);
    for (size_t from = 0; from < m_functions.size(); ++from) {
        for (size_t i = 0; i < m_events; ++i)
            m_total[i] += static_cast<double>(m_functions[from].self[i]);
        for (const Call& call : m_functions[from].calls) {
            if (call.to == from) continue; // recursion is no way in
            Function& callee = m_functions[call.to];
            callee.called = true;
            callee.incomingCalls += static_cast<double>(std::max<int64_t>(1, call.calls));
            for (size_t i = 0; i < m_events; ++i)
                callee.incoming[i] += static_cast<double>(call.inclusive[i]);
        }
    }
}

std::vector<double> CallGraph::shareOf(const Place& from, const Call& call) const
{
    const Function& callee = m_functions[call.to];
    std::vector<double> share(m_events);
    for (size_t i = 0; i < m_events; ++i) {
        const bool costly = callee.incoming[i] > 0;
        share[i] = from.share[i]
            * (costly ? static_cast<double>(call.inclusive[i]) / callee.incoming[i]
                      : static_cast<double>(std::max<int64_t>(1, call.calls)) / std::max(1.0, callee.incomingCalls));
    }
    return share;
}

bool CallGraph::worth(const std::vector<double>& share, const Call& call, double threshold) const
{
    const Function& callee = m_functions[call.to];
    for (size_t i = 0; i < m_events; ++i) {
        const double cost = share[i] * std::max(callee.incoming[i], static_cast<double>(callee.self[i]));
        if (cost > 0 && cost >= threshold * m_total[i]) return true;
    }
    return false;
}

// Depth first, with a stack of our own: the graph may be as deep as it has functions.
void CallGraph::expandFrom(size_t root, double threshold, const std::stop_token& stop)
{
    struct Open {
        size_t place = 0, nextCall = 0;
    };
    std::vector<Open> open;
    const auto enter = [&](size_t function, size_t parent, std::vector<double> share) {
        open.push_back({m_places.size(), 0});
        m_places.push_back({function, parent, std::move(share)});
        m_onPath[function] = 1;
        m_reached[function] = 1;
    };
    enter(root, kNoParent, std::vector<double>(m_events, 1.0));
    while (!open.empty() && !stop.stop_requested()) {
        const size_t place = open.back().place;
        const Function& function = m_functions[m_places[place].function];
        if (open.back().nextCall == function.calls.size() || m_tooMany) {
            m_order.push_back(place);
            m_onPath[m_places[place].function] = 0;
            open.pop_back();
            continue;
        }
        const Call& call = function.calls[open.back().nextCall++];
        if (m_onPath[call.to] != 0) continue;
        std::vector<double> share = shareOf(m_places[place], call);
        // What nothing else leads to is entered however small it is.
        if (m_reached[call.to] != 0 && !worth(share, call, threshold)) {
            ++m_leftOut;
            continue;
        }
        if (m_places.size() >= std::max(kMaxPlaces, 2 * m_functions.size())) m_tooMany = true;
        else enter(call.to, place, std::move(share));
    }
}

bool CallGraph::expand(double threshold, const std::stop_token& stop)
{
    m_places.clear();
    m_order.clear();
    m_reached.assign(m_functions.size(), 0);
    m_onPath.assign(m_functions.size(), 0);
    m_leftOut = 0;
    m_tooMany = false;
    // First the functions that nobody calls, then what cannot be reached from them: cycles, by their first function.
    for (const bool rootsOnly : {true, false})
        for (size_t i = 0; i < m_functions.size() && !m_tooMany; ++i) {
            if (stop.stop_requested()) return false;
            if (m_reached[i] == 0 && (!rootsOnly || !m_functions[i].called)) expandFrom(i, threshold, stop);
        }
    return !m_tooMany;
}

int64_t CallGraph::divide(const Enter& enter, const Visit& visit, const std::stop_token& stop)
{
    sumIncoming();
    for (double threshold = kFirstThreshold; !expand(threshold, stop); threshold *= 8)
        if (stop.stop_requested()) return -1;
    for (size_t i = 0; i < m_places.size(); ++i)
        enter(i, m_places[i].parent, m_places[i].function);

    // Shares of a function add up to less than 1 where cycles were cut or small calls left out: they are scaled.
    std::vector<double> sums(m_functions.size() * m_events, 0), given(sums.size(), 0);
    std::vector<size_t> lastPlace(m_functions.size(), kNoParent);
    for (const size_t place : m_order) {
        for (size_t i = 0; i < m_events; ++i)
            sums[m_places[place].function * m_events + i] += m_places[place].share[i];
        lastPlace[m_places[place].function] = place;
    }
    std::vector<int64_t> spent(sums.size(), 0), costs(m_events);
    for (const size_t place : m_order) {
        const size_t function = m_places[place].function;
        bool any = false;
        for (size_t i = 0; i < m_events; ++i) {
            const size_t at = function * m_events + i;
            const int64_t self = m_functions[function].self[i];
            given[at] += sums[at] > 0 ? m_places[place].share[i] / sums[at] : 0;
            // The running sum is rounded, so that the parts add up.
            const int64_t until = lastPlace[function] == place
                ? self
                : static_cast<int64_t>(std::llround(given[at] * static_cast<double>(self)));
            costs[i] = until - spent[at];
            spent[at] = until;
            any = any || costs[i] != 0;
        }
        if (any) visit(place, costs);
    }
    return m_leftOut;
}

} // namespace stepscope::importers
