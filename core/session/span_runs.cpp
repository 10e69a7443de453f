#include "core/session/span_runs.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace stepscope::session {

namespace {

constexpr bool sortsBefore(TimeNs startA, TimeNs durationA, TimeNs startB, TimeNs durationB)
{
    return startA != startB ? startA < startB : durationA > durationB;
}

} // namespace

// In order of completion a subtree is a contiguous block that ends with its root. Sorted by start the same block
// begins with its root, so a span moves to the begin of its block plus one place for every span around it.
bool SpanSorter::placeCompleted(std::span<const SpanRecord> records, const SpanRows& rows)
{
    const size_t count = records.size();
    m_order.resize(count); // begin of each block
    m_stack.clear();       // spans that nothing encloses so far
    for (size_t i = 0; i < count; ++i) {
        const SpanRecord& span = records[i];
        const TimeNs end = span.start + span.duration;
        uint32_t begin = static_cast<uint32_t>(i);
        while (!m_stack.empty()) {
            const SpanRecord& top = records[m_stack.back()];
            const TimeNs topEnd = top.start + top.duration;
            if (topEnd > end) return false; // not in order of completion
            if (top.start < span.start) {
                if (topEnd > span.start) return false; // overlap without nesting
                break;
            }
            begin = m_order[m_stack.back()];
            m_stack.pop_back();
        }
        m_order[i] = begin;
        m_stack.push_back(static_cast<uint32_t>(i));
    }

    m_stack.clear(); // begins of the blocks around the current span
    for (size_t i = count; i-- > 0;) {
        while (!m_stack.empty() && m_stack.back() > i)
            m_stack.pop_back();
        const size_t at = m_order[i] + m_stack.size();
        rows.start[at] = records[i].start;
        rows.duration[at] = records[i].duration;
        rows.label[at] = records[i].label;
        rows.step[at] = records[i].step;
        m_stack.push_back(m_order[i]);
    }
    // Empty spans at the end of their parent may be out of place; they are rare.
    for (size_t i = 1; i < count; ++i)
        if (sortsBefore(rows.start[i], rows.duration[i], rows.start[i - 1], rows.duration[i - 1])) return false;
    return true;
}

void SpanSorter::sort(std::span<const SpanRecord> records, const SpanRows& rows)
{
    if (placeCompleted(records, rows)) return;
    m_order.resize(records.size());
    std::iota(m_order.begin(), m_order.end(), 0u);
    std::sort(m_order.begin(), m_order.end(), [&](uint32_t a, uint32_t b) {
        const SpanRecord& x = records[a];
        const SpanRecord& y = records[b];
        if (x.start == y.start && x.duration == y.duration) return a > b;
        return sortsBefore(x.start, x.duration, y.start, y.duration);
    });
    for (size_t i = 0; i < records.size(); ++i) {
        const SpanRecord& span = records[m_order[i]];
        rows.start[i] = span.start;
        rows.duration[i] = span.duration;
        rows.label[i] = span.label;
        rows.step[i] = span.step;
    }
}

SpanRuns::SpanRuns(size_t expectedSpans, bool storedInOrder, bool withDetails)
    : m_storedInOrder(storedInOrder), m_withDetails(withDetails)
{
    m_table.start.reserve(expectedSpans);
    m_table.duration.reserve(expectedSpans);
    m_table.label.reserve(expectedSpans);
    m_table.step.reserve(expectedSpans);
    if (withDetails) m_table.detail.reserve(expectedSpans);
}

void SpanRuns::resize(size_t rows)
{
    m_table.start.resize(rows);
    m_table.duration.resize(rows);
    m_table.label.resize(rows);
    m_table.step.resize(rows);
    if (m_withDetails) m_table.detail.resize(rows);
}

void SpanRuns::beginTrack()
{
    endTrack();
    m_table.trackBegin.push_back(m_size);
}

SpanRows SpanRuns::beginRun(size_t count)
{
    assert(!m_table.trackBegin.empty());
    resize(m_size + count);
    return {m_table.start.data() + m_size, m_table.duration.data() + m_size, m_table.label.data() + m_size,
            m_table.step.data() + m_size, m_withDetails ? m_table.detail.data() + m_size : nullptr};
}

void SpanRuns::endRun(size_t filled)
{
    if (filled > 0) {
        m_runBegins.push_back(m_size);
        m_size += filled;
        // Runs of similar length are merged first, so that even badly ordered data costs n log(runs).
        while (m_runBegins.size() >= 2) {
            const size_t last = m_runBegins[m_runBegins.size() - 1];
            const size_t previous = m_runBegins[m_runBegins.size() - 2];
            if (last - previous > m_size - last) break;
            mergeLastTwo();
        }
    }
    resize(m_size);
}

void SpanRuns::addRun(std::span<const SpanRecord> records)
{
    if (records.empty()) return;
    const SpanRows rows = beginRun(records.size());
    m_sorter.sort(records, rows);
    if (rows.detail != nullptr) std::fill_n(rows.detail, records.size(), SpanTable::kNoDetail);
    endRun(records.size());
}

bool SpanRuns::before(size_t a, size_t b) const
{
    return sortsBefore(m_table.start[a], m_table.duration[a], m_table.start[b], m_table.duration[b]);
}

void SpanRuns::mergeLastTwo()
{
    const size_t middle = m_runBegins.back();
    m_runBegins.pop_back();
    const size_t begin = m_runBegins.back();
    const bool equalLaterFirst = !m_storedInOrder;
    const auto laterGoesFirst = [&](size_t later, size_t earlier) {
        return equalLaterFirst ? !before(earlier, later) : before(later, earlier);
    };
    if (!laterGoesFirst(middle, middle - 1)) return;

    // Only rows from the place of the later run's first span on move, and only its spans up to our last one.
    size_t low = begin;
    for (size_t length = middle - begin; length > 0;) {
        const size_t half = length / 2;
        if (laterGoesFirst(middle, low + half)) {
            length = half;
        } else {
            low += half + 1;
            length -= half + 1;
        }
    }
    size_t high = middle;
    for (size_t length = m_size - middle; length > 0;) {
        const size_t half = length / 2;
        if (laterGoesFirst(high + half, middle - 1)) {
            high += half + 1;
            length -= half + 1;
        } else {
            length = half;
        }
    }

    SpanTable& t = m_table;
    m_merge.resize(high - middle);
    for (size_t i = middle; i < high; ++i)
        m_merge[i - middle] = {t.start[i], t.duration[i], t.label[i], t.step[i]};
    if (m_withDetails)
        m_mergeDetail.assign(t.detail.begin() + static_cast<ptrdiff_t>(middle),
                             t.detail.begin() + static_cast<ptrdiff_t>(high));
    size_t left = middle; // one past the next row of the earlier run
    size_t out = high;
    for (size_t i = m_merge.size(); i-- > 0;) {
        const SpanRecord& span = m_merge[i];
        const auto goesBefore = [&](size_t row) {
            return equalLaterFirst ? !sortsBefore(t.start[row], t.duration[row], span.start, span.duration)
                                   : sortsBefore(span.start, span.duration, t.start[row], t.duration[row]);
        };
        while (left > low && goesBefore(left - 1)) {
            --left;
            --out;
            t.start[out] = t.start[left];
            t.duration[out] = t.duration[left];
            t.label[out] = t.label[left];
            t.step[out] = t.step[left];
            if (m_withDetails) t.detail[out] = t.detail[left];
        }
        --out;
        t.start[out] = span.start;
        t.duration[out] = span.duration;
        t.label[out] = span.label;
        t.step[out] = span.step;
        if (m_withDetails) t.detail[out] = m_mergeDetail[i];
    }
}

void SpanRuns::endTrack()
{
    while (m_runBegins.size() >= 2)
        mergeLastTwo();
    m_runBegins.clear();
}

void SpanRuns::nestTrack(size_t begin, size_t end)
{
    const TimeNs* start = m_table.start.data();
    TimeNs* duration = m_table.duration.data();
    uint32_t* parent = m_table.parent.data();
    uint32_t top = SpanTable::kNoParent; // innermost open span; its parents are the open spans around it
    TimeNs topEnd = 0;
    for (size_t row = begin; row < end; ++row) {
        while (top != SpanTable::kNoParent && topEnd <= start[row]) {
            top = parent[top];
            if (top != SpanTable::kNoParent) topEnd = start[top] + duration[top];
        }
        parent[row] = top;
        TimeNs rowEnd = start[row] + duration[row];
        if (top != SpanTable::kNoParent && rowEnd > topEnd) {
            duration[row] = topEnd - start[row];
            rowEnd = topEnd;
            ++m_overlapping;
        }
        top = static_cast<uint32_t>(row);
        topEnd = rowEnd;
    }
}

void SpanRuns::closeTracks()
{
    endTrack();
    if (m_table.trackBegin.empty()) m_table.trackBegin.push_back(0);
    else m_table.trackBegin.push_back(m_size);
}

SpanTable SpanRuns::finish()
{
    closeTracks();
    m_table.parent.resize(m_size);
    for (size_t t = 0; t + 1 < m_table.trackBegin.size(); ++t)
        nestTrack(m_table.trackBegin[t], m_table.trackBegin[t + 1]);
    m_size = 0;
    return std::move(m_table);
}

SpanTable SpanRuns::finishInLanes(LaneReport& report)
{
    closeTracks();
    m_size = 0;
    report = nestIntoLanes(m_table);
    return std::move(m_table);
}

} // namespace stepscope::session
