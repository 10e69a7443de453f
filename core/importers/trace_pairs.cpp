#include "core/importers/trace_pairs.h"

#include <algorithm>

namespace stepscope::importers {

namespace {

using Mark = TracePairs::Mark;

constexpr size_t kSearched = 4096; // open begins that an end looks at; deeper ones of another name are not found

// The open begin that the end closes, or the end of the stack.
std::vector<Mark>::iterator opener(std::vector<Mark>& open, const Mark& end)
{
    if (open.empty() || end.name == TracePairs::kNoName) return open.empty() ? open.end() : open.end() - 1;
    const size_t searched = std::min(open.size(), kSearched);
    for (size_t i = 0; i < searched; ++i) {
        const auto at = open.end() - 1 - static_cast<ptrdiff_t>(i);
        if (at->name == end.name) return at;
    }
    return open.end();
}

} // namespace

void TracePairs::add(size_t list, const Mark& mark)
{
    if (m_lists.size() <= list) m_lists.resize(list + 1);
    m_lists[list].push_back(mark);
}

void TracePairs::match(TraceProblem withoutBegin, TraceProblems& problems, std::vector<session::Event*>& openSpans)
{
    const auto earlier = [](const Mark& a, const Mark& b) { return a.time < b.time; };
    std::vector<Mark> open;
    for (std::vector<Mark>& marks : m_lists) {
        // Of equal times the order of the file holds: an end before the next begin, or behind its own.
        if (!std::is_sorted(marks.begin(), marks.end(), earlier)) std::stable_sort(marks.begin(), marks.end(), earlier);
        open.clear();
        for (const Mark& mark : marks) {
            if (mark.begin != nullptr) {
                open.push_back(mark);
                continue;
            }
            const auto at = opener(open, mark);
            if (at == open.end()) {
                problems.add(withoutBegin, mark.place);
                continue;
            }
            at->begin->duration = mark.time - at->time;
            open.erase(at);
        }
        for (const Mark& mark : open) {
            problems.add(TraceProblem::unfinished, mark.place);
            openSpans.push_back(mark.begin);
        }
        std::vector<Mark>().swap(marks);
    }
}

} // namespace stepscope::importers
