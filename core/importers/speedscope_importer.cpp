#include "core/importers/speedscope_importer.h"

#include "core/importers/decimal_text.h"
#include "core/importers/json_head.h"
#include "core/importers/profile_builder.h"
#include "core/importers/whole_weights.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kFormat = "speedscope";
constexpr std::string_view kSchema = "https://www.speedscope.app/file-format-schema.json";

struct Unit {
    std::string_view name, shown;
    int shift = 0; // powers of ten to the shown unit
    bool time = false;
};
constexpr std::array<Unit, 6> kUnits{{{"seconds", "ns", 9, true},
                                      {"milliseconds", "ns", 6, true},
                                      {"microseconds", "ns", 3, true},
                                      {"nanoseconds", "ns", 0, true},
                                      {"bytes", "bytes", 0, false},
                                      {"none", "", 0, false}}};

// The parts of one profile, as text; they may come in any order.
struct ProfileText {
    std::string type, name, series, start, end;
    Unit unit = kUnits.back();
    std::string_view events, samples, weights;
};

class SpeedscopeReader {
public:
    SpeedscopeReader(ProfileBuilder& out, std::string_view text) : m_out(out), m_text(text) {}

    // The problem that ended the text early.
    std::optional<JsonProblem> read(const std::stop_token& stop)
    {
        JsonPull json(m_text);
        std::string_view key, shared, profiles;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (key == "shared") shared = json.raw();
            else if (key == "profiles") profiles = json.raw();
            else if (key == "exporter") m_out.addEnvironment("import.exporter", json.string());
            else if (key == "name") m_out.addEnvironment("import.name", json.string());
            else if (key == "activeProfileIndex") m_active = json.integer().value_or(0);
            else json.skip();
        }
        m_cut = json.problem().has_value();
        readFrames(shared);
        JsonPull list(m_text, profiles);
        int64_t index = 0;
        for (bool in = list.enterArray(); in && list.nextElement(); ++index) {
            if (stop.stop_requested()) break;
            readProfile(index, list.raw());
        }
        return json.problem();
    }

private:
    void readFrames(std::string_view shared)
    {
        JsonPull json(m_text, shared);
        std::string_view key;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (key != "frames") {
                json.skip();
                continue;
            }
            for (bool more = json.enterArray(); more && json.nextElement();)
                readFrame(json);
        }
    }

    void readFrame(JsonPull& json)
    {
        std::string name, file;
        int64_t line = 0;
        std::string_view key;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (key == "name") name = json.string();
            else if (key == "file") file = json.string();
            else if (key == "line") line = json.integer().value_or(0);
            else json.skip();
        }
        line = line > 0 && line < 0x7fffffff ? line : 0;
        m_frames.push_back(m_out.frame(name, {}, file, static_cast<int32_t>(line)));
        m_labels.push_back(m_out.label(name, session::SpanKind::function));
    }

    void readProfile(int64_t index, std::string_view value)
    {
        ProfileText profile;
        JsonPull json(m_text, value);
        std::string_view key;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (key == "type") profile.type = json.string();
            else if (key == "name") profile.name = json.string();
            else if (key == "stepscope:series") profile.series = json.string(); // of our own files
            else if (key == "startValue") profile.start = json.scalar();
            else if (key == "endValue") profile.end = json.scalar();
            else if (key == "events") profile.events = json.raw();
            else if (key == "samples") profile.samples = json.raw();
            else if (key == "weights") profile.weights = json.raw();
            else if (key == "unit") profile.unit = unitOf(json.string());
            else json.skip();
        }
        if (profile.name.empty()) profile.name = fmt::format("profile {}", index);
        if (profile.type == "evented") readEvented(index, profile);
        else if (profile.type == "sampled") readSampled(index, profile);
        else refuse(profile, fmt::format("/profiles/{}/type = \"{}\"", index, profile.type));
    }

    Unit unitOf(std::string_view name)
    {
        for (const Unit& unit : kUnits)
            if (unit.name == name) return unit;
        m_out.note("unknown-unit", "profiles in an unknown unit are shown as plain numbers", std::string(name));
        return kUnits.back();
    }

    void refuse(const ProfileText& profile, std::string reason)
    {
        m_out.note("broken-profile", "profiles that contradict themselves were left out",
                   fmt::format("{}: {}", profile.name, reason));
    }

    session::TrackId trackOf(const ProfileText& profile)
    {
        session::Track track;
        track.name = profile.name;
        return m_out.addTrack(track);
    }

    session::SeriesId seriesOf(int64_t index, const ProfileText& profile)
    {
        const bool shared = profile.unit.time || !profile.series.empty();
        const std::string name = !profile.series.empty() ? profile.series
            : profile.unit.time                          ? std::string("time")
                                                         : profile.name;
        const auto known = shared ? m_series.find(name) : m_series.end();
        if (known != m_series.end()) {
            m_out.tables().series[known->second.index()].isDefault |= index == m_active;
            return known->second;
        }
        session::SeriesRow row;
        row.name = name;
        row.unit = profile.unit.shown;
        row.timed = profile.unit.time;
        row.isDefault = index == m_active;
        const session::SeriesId id = m_out.addSeries(row);
        if (shared) m_series.emplace(name, id);
        return id;
    }

    // ---- evented
    // -----------------------------------------------------------------------------------------------------

    struct Event {
        bool open = false;
        size_t frame = 0;
        int64_t at = 0;
    };

    // False after a broken event; `reason` says where.
    bool readEvents(int64_t index, const ProfileText& profile, std::vector<Event>& events, std::string& reason)
    {
        JsonPull json(m_text, profile.events);
        std::string_view key;
        int64_t position = 0;
        for (bool in = json.enterArray(); in && json.nextElement(); ++position) {
            std::string type;
            std::optional<int64_t> frame, at;
            for (bool fields = json.enterObject(); fields && json.nextKey(key);) {
                if (key == "type") type = json.string();
                else if (key == "frame") frame = json.integer();
                else if (key == "at") at = json.integer(profile.unit.shift);
                else json.skip();
            }
            if (json.problem()) break; // cut within this event
            const std::string here = fmt::format("/profiles/{}/events/{}", index, position);
            if (type != "O" && type != "C") reason = fmt::format("{}/type = \"{}\"", here, type);
            else if (!at) reason = fmt::format("{}/at is no number", here);
            else if (!frame || *frame < 0 || static_cast<size_t>(*frame) >= m_frames.size())
                reason = frame ? fmt::format("{}/frame = {}, frames {}", here, *frame, m_frames.size())
                               : here + "/frame is no number";
            if (!reason.empty()) return false;
            events.push_back({type == "O", static_cast<size_t>(*frame), *at});
        }
        return true;
    }

    void readEvented(int64_t index, const ProfileText& profile)
    {
        std::vector<Event> events;
        std::string reason;
        if (!readEvents(index, profile, events, reason)) {
            refuse(profile, reason);
            return;
        }
        balance(index, events, scaledDecimal(profile.end, profile.unit.shift));
        if (profile.unit.time) addSpans(profile, events);
        else addWeights(index, profile, events);
    }

    // Makes every open event have its close event, in order of time.
    void balance(int64_t index, std::vector<Event>& events, std::optional<int64_t> end)
    {
        std::vector<Event> good;
        good.reserve(events.size());
        std::vector<size_t> open; // frames
        for (size_t i = 0; i < events.size(); ++i) {
            Event event = events[i];
            if (!good.empty() && event.at < good.back().at) {
                m_out.note("time-backwards", "events before the one they follow were moved to its time",
                           fmt::format("/profiles/{}/events/{}", index, i));
                event.at = good.back().at;
            }
            if (event.open) {
                open.push_back(event.frame);
                good.push_back(event);
                continue;
            }
            size_t level = open.size();
            while (level > 0 && open[level - 1] != event.frame)
                --level;
            if (level != open.size() || level == 0)
                m_out.note(
                    "wrong-close",
                    "frames were closed that are not the innermost open one; what was open within was closed with them",
                    fmt::format("/profiles/{}/events/{}", index, i));
            if (level == 0) continue;
            while (open.size() >= level) {
                good.push_back({false, open.back(), event.at});
                open.pop_back();
            }
        }
        const int64_t last = good.empty() ? 0 : good.back().at;
        if (!open.empty())
            m_out.note("unfinished", "frames still open at the end were closed there", fmt::format("profile {}", index),
                       static_cast<int64_t>(open.size()));
        for (; !open.empty(); open.pop_back())
            good.push_back({false, open.back(), std::max(last, end.value_or(last))});
        events = std::move(good);
    }

    void addSpans(const ProfileText& profile, const std::vector<Event>& events)
    {
        const session::TrackId track = trackOf(profile);
        std::vector<session::SpanRecord> spans;
        std::vector<size_t> open;
        for (const Event& event : events) {
            if (event.open) {
                open.push_back(spans.size());
                spans.push_back({event.at, 0, m_labels[event.frame].value, -1});
            } else {
                session::SpanRecord& span = spans[open.back()];
                if (__builtin_sub_overflow(event.at, span.start, &span.duration))
                    span.duration = -1; // counted by addSpan
                open.pop_back();
            }
        }
        for (const session::SpanRecord& span : spans)
            m_out.addSpan(track, span);
    }

    // Profiles in bytes or plain numbers: what lies between two events belongs to the frames open there.
    void addWeights(int64_t index, const ProfileText& profile, const std::vector<Event>& events)
    {
        const session::TrackId track = trackOf(profile);
        const session::SeriesId series = seriesOf(index, profile);
        std::vector<session::StackId> open;
        for (size_t i = 0; i < events.size(); ++i) {
            session::SampleRecord sample;
            sample.track = track;
            if (!open.empty()) sample.stack = open.back();
            const bool overflow = i > 0 && __builtin_sub_overflow(events[i].at, events[i - 1].at, &sample.weight);
            if (i > 0 && !overflow && sample.weight > 0) m_out.addSample(series, sample);
            if (!events[i].open) open.pop_back();
            else
                open.push_back(m_out.stack(open.empty() ? session::StackId{} : open.back(), m_frames[events[i].frame]));
        }
    }

    // ---- sampled
    // -----------------------------------------------------------------------------------------------------

    bool readStacks(int64_t index, const ProfileText& profile, std::vector<session::StackId>& stacks,
                    std::string& reason)
    {
        JsonPull json(m_text, profile.samples);
        for (bool in = json.enterArray(); in && json.nextElement();) {
            session::StackId stack;
            int64_t level = 0;
            for (bool frames = json.enterArray(); frames && json.nextElement(); ++level) {
                const std::optional<int64_t> frame = json.integer();
                if (json.problem()) break;
                if (!frame || *frame < 0 || static_cast<size_t>(*frame) >= m_frames.size()) {
                    reason = fmt::format("/profiles/{}/samples/{}/{} = {}, frames {}", index, stacks.size(), level,
                                         frame.value_or(-1), m_frames.size());
                    return false;
                }
                stack = m_out.stack(stack, m_frames[static_cast<size_t>(*frame)]);
            }
            if (json.problem()) break;
            stacks.push_back(stack);
        }
        return true;
    }

    void readSampled(int64_t index, const ProfileText& profile)
    {
        std::vector<session::StackId> stacks;
        std::string reason;
        if (!readStacks(index, profile, stacks, reason)) {
            refuse(profile, reason);
            return;
        }
        std::vector<int64_t> weights;
        WholeWeights whole;
        JsonPull json(m_text, profile.weights);
        for (bool in = json.enterArray(); in && json.nextElement();) {
            const std::optional<int64_t> weight = whole.take(json.scalar(), profile.unit.shift);
            if (json.problem()) break;
            if (!weight)
                m_out.note("bad-weight", "weights that are no numbers count as 0",
                           fmt::format("/profiles/{}/weights/{}", index, weights.size()));
            weights.push_back(weight.value_or(0));
        }
        if (profile.weights.empty()) weights.assign(stacks.size(), 1);
        if (stacks.size() != weights.size() && !m_cut) {
            refuse(profile, fmt::format("samples {}, weights {}", stacks.size(), weights.size()));
            return;
        }
        if (!profile.unit.time && whole.rounded() > 0)
            m_out.note("rounded-weight", "weights with a fraction were rounded so that their sum stays right", {},
                       whole.rounded());
        const session::TrackId track = trackOf(profile);
        const session::SeriesId series = seriesOf(index, profile);
        session::SampleRecord sample;
        sample.track = track;
        sample.time = scaledDecimal(profile.start, profile.unit.shift).value_or(0);
        for (size_t i = 0; i < std::min(stacks.size(), weights.size()); ++i) {
            sample.stack = stacks[i];
            sample.weight = weights[i];
            m_out.addSample(series, sample);
            if (__builtin_add_overflow(sample.time, std::max<int64_t>(0, weights[i]), &sample.time)) break;
        }
    }

    ProfileBuilder& m_out;
    std::string_view m_text;
    std::vector<session::FrameId> m_frames;
    std::vector<session::LabelId> m_labels;
    std::map<std::string, session::SeriesId> m_series; // that several profiles share
    int64_t m_active = 0;
    bool m_cut = false;
};

} // namespace

Detection detectSpeedscope(const Input& input)
{
    Detection found;
    bool shared = false, profiles = false;
    forHeadKeys(input, [&](std::string_view key, std::string_view value) {
        if (key == "$schema" && value == kSchema) found = {Confidence::certain, "\"$schema\" is that of speedscope"};
        shared = shared || key == "shared";
        profiles = profiles || key == "profiles";
        return found.confidence == Confidence::no;
    });
    if (found.confidence == Confidence::no && profiles && shared)
        found = {Confidence::likely, "keys \"shared\" and \"profiles\""};
    // The schema may stand behind megabytes of profiles.
    if (found.confidence == Confidence::no && input.name.ends_with(".speedscope.json")
        && input.head.find('{') != std::string::npos)
        found = {Confidence::name, "the file's name ends in .speedscope.json"};
    return found;
}

base::Result<Imported> importSpeedscope(Input& input, const ImportOptions& options, std::stop_token stop,
                                        const base::Progress& progress)
{
    base::Result<WholeText> whole = readText(input, stop, progress);
    if (!whole) return base::fail(whole.error());
    ProfileBuilder out(options);
    SpeedscopeReader reader(out, whole->text);
    const std::optional<JsonProblem> json = reader.read(stop);
    if (stop.stop_requested()) return base::fail(cancelledError());
    std::optional<ImportProblem> problem = whole->problem;
    if (!problem && json) problem = problemOf(*json, whole->text);
    if (out.sampleCount() == 0 && out.spanCount() == 0 && problem)
        return base::fail(unusable(input, "no profile can be read", problem));
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
