#include "core/session/sample_rows.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace stepscope::session {

namespace {

constexpr uint32_t kNone = StackId::kNone;

template <class Column>
void permute(Column& column, const std::vector<uint32_t>& order)
{
    Column sorted;
    sorted.resize(column.size());
    for (size_t i = 0; i < order.size(); ++i)
        sorted[i] = column[order[i]];
    column = std::move(sorted);
}

int64_t clearFrom(base::HugeVector<uint32_t>& column, size_t limit)
{
    int64_t cleared = 0;
    for (uint32_t& value : column) {
        if (value == kNone || value < limit) continue;
        value = kNone;
        ++cleared;
    }
    return cleared;
}

} // namespace

void appendSamples(SampleTable& table, std::span<const SampleRecord> records)
{
    for (const SampleRecord& record : records) {
        table.time.push_back(record.time);
        table.weight.push_back(record.weight);
        table.stack.push_back(record.stack.value);
        table.label.push_back(record.label.value);
        table.track.push_back(record.track.value);
        table.step.push_back(record.step);
    }
}

void sortSamples(SampleTable& table)
{
    if (std::is_sorted(table.time.begin(), table.time.end())) return;
    std::vector<uint32_t> order(table.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return table.time[a] < table.time[b]; });
    permute(table.time, order);
    permute(table.weight, order);
    permute(table.stack, order);
    permute(table.label, order);
    permute(table.track, order);
    permute(table.step, order);
}

void repairSamples(LoadedColumns& columns, const SessionTables& tables)
{
    repairSamples(columns, SampleLimits{tables.stacks.size(), tables.labels.size(), tables.tracks.size()});
}

void repairSamples(LoadedColumns& columns, const SampleLimits& limits)
{
    int64_t cleared = 0;
    for (SampleTable& samples : columns.samples)
        cleared += clearFrom(samples.stack, limits.stacks) + clearFrom(samples.label, limits.labels)
            + clearFrom(samples.track, limits.tracks);
    if (cleared > 0)
        columns.quality.push_back(
            {"broken-sample-reference", cleared,
             fmt::format("{} references of samples pointed nowhere and were cleared.", cleared)});
}

} // namespace stepscope::session
