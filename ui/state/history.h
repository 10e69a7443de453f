// History: undo and redo of a view's position (zoom, range), like a browser's back and forward.
// Owner: ui/state. Thread: plain value.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace stepscope::state {

template <class T>
class History {
public:
    explicit History(T home = {}) : m_entries{home} {}

    const T& current() const { return m_entries[m_at]; }
    // Goes to a new place and forgets what could be redone. The current place again changes nothing.
    void go(T place)
    {
        if (place == current()) return;
        m_entries.resize(m_at + 1);
        m_entries.push_back(std::move(place));
        if (m_entries.size() > kLimit) m_entries.erase(m_entries.begin());
        m_at = m_entries.size() - 1;
    }
    // Changes the current place without a new entry (wheel steps, dragging).
    void replace(T place) { m_entries[m_at] = std::move(place); }
    bool canUndo() const { return m_at > 0; }
    bool canRedo() const { return m_at + 1 < m_entries.size(); }
    bool undo() { return canUndo() && (--m_at, true); }
    bool redo() { return canRedo() && (++m_at, true); }
    // Every entry becomes convert(entry): the same places in a later state of what is shown.
    template <class Convert>
    void convert(Convert convert)
    {
        for (T& entry : m_entries) entry = convert(std::as_const(entry));
    }
    void reset(T home)
    {
        m_entries.assign(1, std::move(home));
        m_at = 0;
    }

private:
    static constexpr size_t kLimit = 1000;
    std::vector<T> m_entries;
    size_t m_at = 0;
};

} // namespace stepscope::state
