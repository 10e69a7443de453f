#include "core/session/session.h"

#include <exception>

#include <fmt/format.h>

namespace stepscope::session {

namespace {

// Views index by track and counter without looking: every Session has a slot for each.
void completeColumns(LoadedColumns& columns, const SessionTables& tables)
{
    if (columns.spans.trackBegin.empty()) columns.spans.trackBegin.push_back(0);
    while (columns.spans.trackBegin.size() < tables.tracks.size() + 1)
        columns.spans.trackBegin.push_back(columns.spans.size());
    if (columns.counters.size() < tables.counters.size()) columns.counters.resize(tables.counters.size());
    if (columns.samples.size() < tables.series.size()) columns.samples.resize(tables.series.size());
}

std::vector<std::string> titlesOf(const std::vector<Track>& tracks)
{
    std::vector<std::string> titles;
    for (const Track& track : tracks)
        titles.push_back(trackTitle(track));
    return titles;
}

} // namespace

Session::Session(SessionTables tables, LoadedColumns columns) : m_tables(std::move(tables)), m_trackTitles(titlesOf(m_tables.tracks))
{
    m_tables.spanCount = columns.spans.size();
    m_tables.sampleCount = 0;
    for (const SampleTable& samples : columns.samples)
        m_tables.sampleCount += samples.size();
    completeColumns(columns, m_tables);
    m_columns = std::move(columns);
}

Session::Session(SessionTables tables, ColumnLoader loader)
    : m_tables(std::move(tables)), m_trackTitles(titlesOf(m_tables.tracks)), m_loader(std::move(loader))
{
}

std::string_view Session::string(StringId id) const
{
    return id.index() < m_tables.strings.size() ? std::string_view(m_tables.strings[id.index()]) : std::string_view();
}

std::string_view Session::trackTitle(TrackId id) const
{
    return id.index() < m_trackTitles.size() ? std::string_view(m_trackTitles[id.index()]) : std::string_view();
}

std::string_view Session::environmentValue(std::string_view key) const
{
    for (const EnvironmentRow& row : m_tables.environment)
        if (row.key == key) return row.value;
    return {};
}

const CounterSamples& Session::counterSamples(CounterId id) const
{
    static const CounterSamples kEmpty;
    const auto& counters = columns().counters;
    return id.index() < counters.size() ? counters[id.index()] : kEmpty;
}

const SampleTable& Session::samples(SeriesId id) const
{
    static const SampleTable kEmpty;
    const auto& samples = columns().samples;
    return id.index() < samples.size() ? samples[id.index()] : kEmpty;
}

std::vector<QualityRow> Session::quality() const
{
    std::vector<QualityRow> rows = m_tables.quality;
    const std::lock_guard lock(m_qualityMutex);
    if (m_columns) rows.insert(rows.end(), m_columns->quality.begin(), m_columns->quality.end());
    return rows;
}

const LoadedColumns& Session::columns() const
{
    std::call_once(m_once, [this] {
        if (m_columns) return;
        LoadedColumns columns;
        try {
            if (m_loader) columns = m_loader();
        } catch (const std::exception& e) {
            columns = {};
            columns.quality.push_back(
                {"columns-not-loaded", 1, fmt::format("The spans could not be loaded: {}.", e.what())});
        }
        m_loader = nullptr; // releases what it holds
        completeColumns(columns, m_tables);
        const std::lock_guard lock(m_qualityMutex);
        m_columns = std::move(columns);
    });
    return *m_columns;
}

} // namespace stepscope::session
