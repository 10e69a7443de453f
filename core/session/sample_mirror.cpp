#include "core/session/sample_mirror.h"

#include "core/session/sample_rows.h"
#include "core/session/table_check.h"

#include <algorithm>

namespace stepscope::session {

void SampleMirror::addString(std::string_view text)
{
    m_to->addString(text);
    const std::lock_guard lock(m_mutex);
    m_tables.strings.emplace_back(text);
}

void SampleMirror::addTrack(const Track& track)
{
    m_to->addTrack(track);
    const std::lock_guard lock(m_mutex);
    m_tables.tracks.push_back(track);
}

void SampleMirror::addLabel(const Label& label)
{
    m_to->addLabel(label);
    const std::lock_guard lock(m_mutex);
    m_tables.labels.push_back(label);
}

void SampleMirror::addLayer(const LayerRow& layer)
{
    m_to->addLayer(layer);
    const std::lock_guard lock(m_mutex);
    m_tables.layers.push_back(layer);
}

void SampleMirror::addPrimitive(const PrimitiveRow& primitive)
{
    m_to->addPrimitive(primitive);
    const std::lock_guard lock(m_mutex);
    m_tables.primitives.push_back(primitive);
}

void SampleMirror::addQuality(const QualityRow& row)
{
    m_to->addQuality(row);
    const std::lock_guard lock(m_mutex);
    m_tables.quality.push_back(row);
}

void SampleMirror::addStep(const StepRow& step)
{
    m_to->addStep(step);
    const std::lock_guard lock(m_mutex);
    m_tables.steps.push_back(step);
}

void SampleMirror::addFrame(const FrameRow& frame)
{
    m_to->addFrame(frame);
    const std::lock_guard lock(m_mutex);
    m_tables.frames.push_back(frame);
}

void SampleMirror::addStack(const StackRow& stack)
{
    m_to->addStack(stack);
    const std::lock_guard lock(m_mutex);
    m_tables.stacks.push_back(stack);
}

void SampleMirror::addSeries(const SeriesRow& series)
{
    m_to->addSeries(series);
    const std::lock_guard lock(m_mutex);
    m_tables.series.push_back(series);
    m_changed = true;
}

void SampleMirror::addSamples(SeriesId series, std::span<const SampleRecord> samples)
{
    m_to->addSamples(series, samples);
    const std::lock_guard lock(m_mutex);
    if (!series.valid() || m_kept >= kMostSamples) return;
    if (m_samples.size() <= series.index()) m_samples.resize(series.index() + 1);
    const auto kept = samples.first(std::min(samples.size(), kMostSamples - m_kept));
    appendSamples(m_samples[series.index()], kept);
    m_kept += kept.size();
    m_changed = true;
}

SessionPtr SampleMirror::snapshot()
{
    SessionTables tables;
    LoadedColumns columns;
    {
        const std::lock_guard lock(m_mutex);
        if (!m_changed) return nullptr;
        m_changed = false;
        tables = m_tables;
        columns.samples = m_samples;
    }
    repairTables(tables);
    columns.samples.resize(tables.series.size());
    for (SampleTable& samples : columns.samples)
        sortSamples(samples);
    repairSamples(columns, tables);
    return std::make_shared<const Session>(std::move(tables), std::move(columns));
}

} // namespace stepscope::session
