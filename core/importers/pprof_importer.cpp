#include "core/importers/pprof_importer.h"

#include "core/importers/decimal_text.h"
#include "core/importers/pprof_message.h"
#include "core/importers/profile_builder.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kFormat = "pprof";

struct TimeUnit {
    std::string_view name;
    int64_t factor = 1;
};
constexpr std::array<TimeUnit, 4> kTimeUnits{
    {{"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1'000'000}, {"seconds", 1'000'000'000}}};

// One value of every sample.
struct Value {
    session::SeriesId series;
    int64_t factor = 1;
};

session::SeriesKind kindOf(std::string_view type, std::string_view unit)
{
    const bool space = type.ends_with("_space") || type == "space",
               objects = type.ends_with("_objects") || type == "objects";
    if (type == "cpu" && unit == "nanoseconds") return session::SeriesKind::cpuTime;
    if (type == "wall") return session::SeriesKind::wallTime;
    if (space && unit == "bytes") return session::SeriesKind::allocatedBytes;
    return objects ? session::SeriesKind::allocations : session::SeriesKind::other;
}

class PprofReader {
public:
    PprofReader(ProfileBuilder& out, const pprof::Profile& profile, uint64_t fileBytes)
        : m_out(out), m_profile(profile), m_budget(fileBytes)
    {
    }

    bool read(const std::stop_token& stop)
    {
        indexTables();
        addSeries();
        session::Track track;
        track.name = "all threads";
        m_track = m_out.addTrack(track);
        pprof::Sample sample;
        std::map<uint32_t, int64_t> unknown = m_profile.unknownFields;
        for (size_t i = 0; i < m_profile.samples.size(); ++i) {
            if (i % 4096 == 0 && stop.stop_requested()) return false;
            if (pprof::readSample(m_profile.samples[i], sample, unknown)) addSample(i, sample, stop);
            else m_out.note("broken-sample", "samples that are malformed were left out", fmt::format("sample {}", i));
        }
        for (const auto& [field, count] : unknown)
            m_out.note("unknown-field", "fields that profile.proto does not have were skipped",
                       fmt::format("field {}", field), count);
        addEnvironment();
        return !stop.stop_requested();
    }

private:
    void indexTables()
    {
        for (size_t i = 0; i < m_profile.functions.size(); ++i)
            m_functions.try_emplace(m_profile.functions[i].id, i);
        for (size_t i = 0; i < m_profile.mappings.size(); ++i)
            m_mappings.try_emplace(m_profile.mappings[i].id, i);
        for (size_t i = 0; i < m_profile.locations.size(); ++i)
            m_locations.try_emplace(m_profile.locations[i].id, i);
        m_frames.resize(m_profile.locations.size());
    }

    void addSeries()
    {
        // default_sample_type is an index of the string table that names a type; 0 means the last type.
        size_t shown = m_profile.sampleTypes.empty() ? 0 : m_profile.sampleTypes.size() - 1;
        for (size_t i = 0; i < m_profile.sampleTypes.size(); ++i)
            if (m_profile.defaultType != 0
                && m_profile.text(m_profile.sampleTypes[i].type) == m_profile.text(m_profile.defaultType)) {
                shown = i;
                break;
            }
        for (size_t i = 0; i < m_profile.sampleTypes.size(); ++i) {
            const std::string_view type = m_profile.text(m_profile.sampleTypes[i].type);
            const std::string_view unit = m_profile.text(m_profile.sampleTypes[i].unit);
            session::SeriesRow row{std::string(type), std::string(unit), kindOf(type, unit), false, i == shown};
            Value value;
            for (const TimeUnit& time : kTimeUnits)
                if (time.name == unit) {
                    row.unit = "ns";
                    value.factor = time.factor;
                }
            if (unit == "count") row.unit.clear();
            value.series = m_out.addSeries(row);
            m_values.push_back(value);
        }
    }

    void addSample(size_t index, const pprof::Sample& sample, const std::stop_token& stop)
    {
        if (sample.values.size() != m_values.size())
            m_out.note("values-differ",
                       "samples with another number of values than there are types; missing ones count as 0",
                       fmt::format("sample {}: {} values, {} types", index, sample.values.size(), m_values.size()));
        session::SampleRecord record;
        record.track = m_track;
        record.stack = stackOf(index, sample, stop);
        record.label = labelOf(sample);
        for (size_t i = 0; i < m_values.size(); ++i) {
            const int64_t value = i < sample.values.size() ? sample.values[i] : 0;
            if (__builtin_mul_overflow(value, m_values[i].factor, &record.weight)) {
                m_out.note("absurd-sample", "samples with an impossible time or weight were left out");
                continue;
            }
            m_out.addSample(m_values[i].series, record);
        }
    }

    session::StackId stackOf(size_t index, const pprof::Sample& sample, const std::stop_token& stop)
    {
        session::StackId stack;
        const auto push = [&](session::FrameId frame) {
            if (!m_budget.take()) {
                m_out.note(StackBudget::kCode, StackBudget::kMessage, fmt::format("sample {}", index));
                return false;
            }
            stack = m_out.stack(stack, frame);
            return true;
        };
        m_budget.beginStack();
        for (size_t i = sample.locations.size(); i-- > 0 && !stop.stop_requested();) {
            const auto found = m_locations.find(sample.locations[i]);
            if (found == m_locations.end()) {
                m_out.note("unknown-location", "locations that are not in the file are shown as [unknown]",
                           fmt::format("location {}", sample.locations[i]));
                if (!push(m_out.frame("[unknown]"))) return stack;
                continue;
            }
            for (const session::FrameId frame : framesOf(found->second))
                if (!push(frame)) return stack;
        }
        return stack;
    }

    // Outermost first: the last line of a location is the real function, those before are inlined into it.
    const std::vector<session::FrameId>& framesOf(size_t index)
    {
        std::vector<session::FrameId>& frames = m_frames[index];
        if (!frames.empty()) return frames;
        const pprof::Location& location = m_profile.locations[index];
        const auto mapping = m_mappings.find(location.mapping);
        const std::string_view module =
            mapping == m_mappings.end() ? std::string_view() : m_profile.text(m_profile.mappings[mapping->second].file);
        const bool library = module.find(".so") != std::string_view::npos;
        const uint32_t flags = library ? uint32_t{session::kLibraryCode} : 0u;
        for (size_t i = location.lines.size(); i-- > 0;) {
            const pprof::Line& line = location.lines[i];
            const auto function = m_functions.find(line.function);
            std::string_view name, file;
            if (function != m_functions.end()) {
                const pprof::Function& row = m_profile.functions[function->second];
                name = m_profile.text(row.name != 0 ? row.name : row.systemName);
                file = m_profile.text(row.file);
            } else {
                m_out.note("unknown-function", "functions that are not in the file are shown as [unknown]",
                           fmt::format("function {}", line.function));
            }
            const int32_t number = line.line > 0 && line.line <= 0x7fffffff ? static_cast<int32_t>(line.line) : 0;
            frames.push_back(m_out.frame(name.empty() ? std::string_view("[unknown]") : name, module, file, number,
                                         i + 1 < location.lines.size() ? flags | session::kInlined : flags));
        }
        if (frames.empty()) // not symbolised
            frames.push_back(
                m_out.frame(fmt::format("0x{:x}", location.address), module, {}, 0, flags, location.address));
        return frames;
    }

    // "thread=worker, bytes=16" : what the program said about the sample.
    session::LabelId labelOf(const pprof::Sample& sample)
    {
        if (sample.labels.empty()) return {};
        std::string text;
        for (const pprof::Label& label : sample.labels) {
            text += fmt::format("{}{}=", text.empty() ? "" : ", ", m_profile.text(label.key));
            if (label.text != 0) text += m_profile.text(label.text);
            else text += fmt::format("{}{}{}", label.number, label.unit != 0 ? " " : "", m_profile.text(label.unit));
        }
        return m_out.label(text, session::SpanKind::other, "pprof label");
    }

    void addEnvironment()
    {
        if (m_profile.timeNanos != 0) m_out.addEnvironment("pprof.time_ns", std::to_string(m_profile.timeNanos));
        if (m_profile.durationNanos != 0)
            m_out.addEnvironment("pprof.duration_ns", std::to_string(m_profile.durationNanos));
        if (m_profile.period != 0)
            m_out.addEnvironment("pprof.period",
                                 fmt::format("{} {} {}", m_profile.period, m_profile.text(m_profile.periodType.type),
                                             m_profile.text(m_profile.periodType.unit)));
        for (const int64_t comment : m_profile.comments)
            m_out.addEnvironment("pprof.comment", m_profile.text(comment));
    }

    ProfileBuilder& m_out;
    const pprof::Profile& m_profile;
    StackBudget m_budget;
    std::unordered_map<uint64_t, size_t> m_functions, m_mappings, m_locations; // by id
    std::vector<std::vector<session::FrameId>> m_frames;                       // by location
    std::vector<Value> m_values;
    session::TrackId m_track;
};

} // namespace

Detection detectPprof(const Input& input)
{
    if (!pprof::looksLikeProfile(input.head, input.head.size() < Input::kHeadBytes)) return {};
    return {Confidence::likely, "protocol buffer with the fields of profile.proto"};
}

base::Result<Imported> importPprof(Input& input, const ImportOptions& options, std::stop_token stop,
                                   const base::Progress& progress)
{
    base::Result<WholeText> whole = readBytes(input, stop, progress);
    if (!whole) return base::fail(whole.error());
    const pprof::Profile profile = pprof::readProfile(whole->text);
    std::optional<ImportProblem> problem = whole->problem;
    if (!problem && profile.brokenAt)
        problem = ImportProblem{"broken-message", static_cast<int64_t>(*profile.brokenAt), -1, -1,
                                "a field that is cut or no protocol buffer"};
    if (profile.sampleTypes.empty())
        return base::fail(unusable(input, "no type of sample is described in it", problem));
    ProfileBuilder out(options);
    PprofReader reader(out, profile, whole->text.size());
    if (!reader.read(stop)) return base::fail(cancelledError());
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
