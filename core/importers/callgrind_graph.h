// CallGraph: costs of functions and of calls between them, and their division over stacks.
// Owner: core/importers. Thread: one at a time. Units: those of the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <vector>

namespace stepscope::importers {

class CallGraph {
public:
    explicit CallGraph(size_t events) : m_events(events) {}

    size_t addFunction(); // numbers count up from 0
    void addSelf(size_t function, const std::vector<int64_t>& cost);
    void addCall(size_t from, size_t to, int64_t calls, const std::vector<int64_t>& inclusive);

    size_t functions() const { return m_functions.size(); }
    int64_t self(size_t function, size_t event) const { return m_functions[function].self[event]; }

    int64_t overflows() const { return m_overflows; } // costs that were not added, the sum being too large

    // Calls enter(place, parent, function) for every place on a stack, callers before callees (kNoParent: outermost),
    // then visit(place, costs) for every place with a cost of its own, callees before their callers. A function that is
    // on the stack already is not entered again (a cycle is cut there). The costs of a function over all its places add
    // up to its self cost exactly. Returns how many calls were too small to be shown apart, or -1 when stopped.
    static constexpr size_t kNoParent = static_cast<size_t>(-1);
    using Enter = std::function<void(size_t, size_t, size_t)>;
    using Visit = std::function<void(size_t, const std::vector<int64_t>&)>;
    int64_t divide(const Enter& enter, const Visit& visit, const std::stop_token& stop);

private:
    struct Call {
        size_t to = 0;
        int64_t calls = 0;
        std::vector<int64_t> inclusive;
    };
    struct Function {
        std::vector<int64_t> self;
        std::vector<Call> calls;         // in the order of the file
        std::map<size_t, size_t> callOf; // callee -> place in calls
        std::vector<double> incoming;    // cost of the calls into it, per event
        double incomingCalls = 0;
        bool called = false; // by another function
    };
    // A function on a stack; `share` of the function's activity that belongs to this place, per event.
    struct Place {
        size_t function = 0;
        size_t parent = 0;
        std::vector<double> share;
    };
    void addTo(int64_t& sum, int64_t cost);
    void sumIncoming();
    bool expand(double threshold, const std::stop_token& stop);
    void expandFrom(size_t root, double threshold, const std::stop_token& stop);
    std::vector<double> shareOf(const Place& from, const Call& call) const;
    bool worth(const std::vector<double>& share, const Call& call, double threshold) const;

    size_t m_events;
    std::vector<Function> m_functions;
    std::vector<Place> m_places; // callers before callees
    std::vector<size_t> m_order; // places, callees before callers
    std::vector<double> m_total; // per event
    std::vector<char> m_reached, m_onPath;
    int64_t m_leftOut = 0, m_overflows = 0;
    bool m_tooMany = false;
};

} // namespace stepscope::importers
