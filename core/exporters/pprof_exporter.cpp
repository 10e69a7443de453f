#include "core/exporters/pprof_exporter.h"

#include "core/exporters/output_file.h"
#include "core/exporters/stack_weights.h"

#include <map>
#include <string>
#include <unordered_map>

#include <protozero/pbf_writer.hpp>

namespace stepscope::exporters {

namespace {

using protozero::pbf_writer;

// Field numbers of profile.proto.
enum Field : uint32_t {
    kSampleType = 1,
    kSample = 2,
    kMapping = 3,
    kLocation = 4,
    kFunction = 5,
    kStringTable = 6,
    kDefaultSampleType = 14,
};

class PprofWriter {
public:
    explicit PprofWriter(const session::Session& session) : m_session(session) { stringId(""); }

    bool build(const std::stop_token& stop)
    {
        const bool sampled = hasSamples(m_session);
        const StackWeights spans = sampled ? StackWeights{} : stackWeights(m_session);
        if (sampled) {
            for (const session::SeriesRow& series : m_session.series())
                addType(series.name, series.unit == "ns" ? "nanoseconds" : series.unit.empty() ? "count" : series.unit);
            if (!addSamples(stop)) return false;
            pbf_writer(m_message).add_int64(kDefaultSampleType,
                                            stringId(m_session.series()[shownSeries(m_session)].name));
        } else {
            addType(spans.name, "nanoseconds");
            for (uint32_t i = 0; i < spans.nodes.size(); ++i) {
                if (spans.self[i] == 0) continue;
                if (stop.stop_requested()) return false;
                std::vector<uint64_t> locations;
                for (uint32_t at = i; at != StackWeights::kNone; at = spans.nodes[at].parent)
                    locations.push_back(locationOf(spans.nodes[at].name, {}, {}, 0, 0));
                addSample(locations, {spans.self[i]}, {}, {});
            }
        }
        pbf_writer writer(m_message);
        for (const std::string& text : m_strings)
            writer.add_string(kStringTable, text);
        return true;
    }
    const std::string& message() const { return m_message; }

private:
    int64_t stringId(std::string_view text)
    {
        const auto [at, added] = m_stringIds.try_emplace(std::string(text), static_cast<int64_t>(m_strings.size()));
        if (added) m_strings.emplace_back(text);
        return at->second;
    }

    void addType(std::string_view type, std::string_view unit)
    {
        pbf_writer writer(m_message);
        pbf_writer value(writer, kSampleType);
        value.add_int64(1, stringId(type));
        value.add_int64(2, stringId(unit));
    }

    // Samples of equal stack, label and track are one, with a value per series.
    bool addSamples(const std::stop_token& stop)
    {
        struct Key {
            uint32_t stack, label, track;
            auto operator<=>(const Key&) const = default;
        };
        std::map<Key, std::vector<int64_t>> sums;
        const size_t count = m_session.series().size();
        for (size_t s = 0; s < count; ++s) {
            const session::SampleTable& samples = m_session.samples(session::SeriesId(s));
            for (size_t i = 0; i < samples.size(); ++i) {
                if (i % 65536 == 0 && stop.stop_requested()) return false;
                std::vector<int64_t>& values = sums[{samples.stack[i], samples.label[i], samples.track[i]}];
                values.resize(count, 0);
                values[s] += samples.weight[i];
            }
        }
        const bool threads = m_session.tracks().size() > 1;
        std::vector<uint64_t> locations;
        for (const auto& [key, values] : sums) {
            locations.clear();
            for (session::StackId at(key.stack); at.valid() && at.index() < m_session.stacks().size();
                 at = m_session.stacks()[at.index()].parent)
                if (const session::FrameId frame = m_session.stacks()[at.index()].frame; frame.valid())
                    locations.push_back(locationOf(frame));
            const std::string thread = threads && key.track < m_session.tracks().size()
                ? session::trackTitle(m_session.tracks()[key.track])
                : std::string();
            const std::string_view label = key.label < m_session.labels().size()
                ? m_session.string(m_session.labels()[key.label].name)
                : std::string_view();
            addSample(locations, values, thread, label);
        }
        return true;
    }

    void addSample(const std::vector<uint64_t>& locations, const std::vector<int64_t>& values, std::string_view thread,
                   std::string_view label)
    {
        pbf_writer writer(m_message);
        pbf_writer sample(writer, kSample);
        sample.add_packed_uint64(1, locations.begin(), locations.end());
        sample.add_packed_int64(2, values.begin(), values.end());
        for (const auto& [key, value] : {std::pair{"thread", thread}, std::pair{"label", label}}) {
            if (value.empty()) continue;
            pbf_writer message(sample, 3);
            message.add_int64(1, stringId(key));
            message.add_int64(2, stringId(value));
        }
    }

    uint64_t locationOf(session::FrameId id)
    {
        if (m_locationOf.size() <= id.index()) m_locationOf.resize(m_session.frames().size(), 0);
        uint64_t& location = m_locationOf[id.index()];
        if (location == 0) {
            const session::FrameRow& frame = m_session.frames()[id.index()];
            location = newLocation(m_session.string(frame.function), m_session.string(frame.module),
                                   m_session.string(frame.file), frame.line, frame.address);
        }
        return location;
    }

    uint64_t locationOf(std::string_view name, std::string_view module, std::string_view file, int32_t line,
                        uint64_t address)
    {
        const auto [at, added] = m_named.try_emplace(std::string(name), 0);
        if (added) at->second = newLocation(name, module, file, line, address);
        return at->second;
    }

    uint64_t newLocation(std::string_view name, std::string_view module, std::string_view file, int32_t line,
                         uint64_t address)
    {
        const uint64_t mapping = module.empty() ? 0 : mappingOf(module);
        const uint64_t function = functionOf(name, file);
        pbf_writer writer(m_message);
        pbf_writer location(writer, kLocation);
        location.add_uint64(1, ++m_locations);
        if (mapping != 0) location.add_uint64(2, mapping);
        if (address != 0) location.add_uint64(3, address);
        pbf_writer lines(location, 4);
        lines.add_uint64(1, function);
        if (line > 0) lines.add_int64(2, line);
        return m_locations;
    }

    uint64_t functionOf(std::string_view name, std::string_view file)
    {
        const auto [at, added] =
            m_functions.try_emplace(std::string(name) + '\n' + std::string(file), m_functions.size() + 1);
        if (added) {
            const int64_t nameId = stringId(name), fileId = stringId(file);
            pbf_writer writer(m_message);
            pbf_writer function(writer, kFunction);
            function.add_uint64(1, at->second);
            function.add_int64(2, nameId);
            function.add_int64(3, nameId);
            if (!file.empty()) function.add_int64(4, fileId);
        }
        return at->second;
    }

    uint64_t mappingOf(std::string_view module)
    {
        const auto [at, added] = m_mappings.try_emplace(std::string(module), m_mappings.size() + 1);
        if (added) {
            pbf_writer writer(m_message);
            pbf_writer mapping(writer, kMapping);
            mapping.add_uint64(1, at->second);
            mapping.add_int64(5, stringId(module));
            mapping.add_bool(7, true); // has_functions
        }
        return at->second;
    }

    const session::Session& m_session;
    std::string m_message;
    std::vector<std::string> m_strings;
    std::unordered_map<std::string, int64_t> m_stringIds;
    std::unordered_map<std::string, uint64_t> m_functions, m_mappings, m_named;
    std::vector<uint64_t> m_locationOf; // by frame; 0 none yet
    uint64_t m_locations = 0;
};

} // namespace

base::Status exportPprof(const session::Session& session, const std::filesystem::path& path, bool replace,
                         std::stop_token stop, const base::Progress&)
{
    return writeOutput(path, replace, [&](OutputFile& file) -> base::Status {
        PprofWriter writer(session);
        if (!writer.build(stop)) return cancelled();
        file.write(writer.message());
        return {};
    });
}

} // namespace stepscope::exporters
