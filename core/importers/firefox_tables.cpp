#include "core/importers/firefox_tables.h"

#include <algorithm>

namespace stepscope::importers::firefox {

namespace {

const std::vector<int64_t> kEmpty;

int64_t numberOf(JsonPull& json, int shift)
{
    const JsonPull::Kind kind = json.kind();
    if (kind == JsonPull::Kind::number) return json.integer(shift).value_or(kNull);
    json.skip();
    return kNull;
}

} // namespace

void Table::read(JsonPull& json, std::string_view text, const std::vector<Wanted>& wanted)
{
    std::map<int64_t, Wanted> places; // of Gecko's columns
    std::string_view key, data;
    for (bool in = json.enterObject(); in && json.nextKey(key);) {
        const auto column = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.name == key; });
        if (key == "schema") {
            for (bool names = json.enterObject(); names && json.nextKey(key);) {
                const auto named =
                    std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.name == key; });
                const int64_t place = json.integer().value_or(-1);
                if (named != wanted.end() && place >= 0) places[place] = *named;
            }
        } else if (key == "data" && json.kind() == JsonPull::Kind::array) {
            data = json.raw();
        } else if (key == "length") {
            json.skip(); // the columns themselves tell it
        } else if (column != wanted.end() && json.kind() == JsonPull::Kind::array) {
            std::vector<int64_t>& values = m_columns[std::string(key)];
            for (bool in2 = json.enterArray(); in2 && json.nextElement();)
                values.push_back(numberOf(json, column->shift));
            m_size = std::max(m_size, values.size());
        } else {
            json.skip();
        }
    }
    if (!data.empty() && !places.empty()) readRows(JsonPull(text, data), places);
}

void Table::readRows(JsonPull json, const std::map<int64_t, Wanted>& places)
{
    for (const auto& [place, wanted] : places)
        m_columns[std::string(wanted.name)];
    for (bool in = json.enterArray(); in && json.nextElement();) {
        int64_t place = 0;
        for (bool row = json.enterArray(); row && json.nextElement(); ++place) {
            const auto found = places.find(place);
            if (found == places.end()) {
                json.skip();
                continue;
            }
            std::vector<int64_t>& values = m_columns.find(found->second.name)->second;
            values.resize(m_size, kNull);
            values.push_back(numberOf(json, found->second.shift));
        }
        if (json.problem()) break; // the row is cut
        ++m_size;
    }
    for (auto& [name, values] : m_columns)
        values.resize(m_size, kNull);
}

int64_t Table::at(std::string_view name, size_t row) const
{
    const std::vector<int64_t>& values = column(name);
    return row < values.size() ? values[row] : kNull;
}

const std::vector<int64_t>& Table::column(std::string_view name) const
{
    const auto found = m_columns.find(name);
    return found == m_columns.end() ? kEmpty : found->second;
}

} // namespace stepscope::importers::firefox
