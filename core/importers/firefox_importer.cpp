#include "core/importers/firefox_importer.h"

#include "core/importers/decimal_text.h"
#include "core/importers/firefox_tables.h"
#include "core/importers/json_head.h"
#include "core/importers/profile_builder.h"

#include <array>
#include <deque>

#include <fmt/format.h>

namespace stepscope::importers {

using firefox::kNull;
using firefox::Table;

namespace {

constexpr std::string_view kFormat = "firefox";
constexpr int kMilliseconds = 6; // powers of ten to ns
constexpr size_t kMaxProcesses = 10'000;

// Texts of the tables that threads have, or share in newer files.
constexpr std::array<std::string_view, 8> kTableNames{"samples",       "stackTable",    "frameTable", "funcTable",
                                                      "resourceTable", "nativeSymbols", "sources",    "markers"};
struct TableTexts {
    std::array<std::string_view, kTableNames.size()> text;
    std::string_view strings; // "stringTable", "stringArray"
    bool take(std::string_view key, JsonPull& json)
    {
        if (key == "stringTable" || key == "stringArray") {
            strings = json.raw();
            return true;
        }
        for (size_t i = 0; i < kTableNames.size(); ++i)
            if (kTableNames[i] == key) {
                text[i] = json.raw();
                return true;
            }
        return false;
    }
};

struct Meta {
    int64_t start = 0; // ns since 1970
    std::string product, cpuDeltaUnit;
    std::vector<std::string> categories;
};

struct ThreadText {
    std::string name, pid, tid, process;
    TableTexts tables;
};

// "render (app.js:10:3)"
struct Location {
    std::string_view function, file;
    int32_t line = 0;
};
Location splitLocation(std::string_view text)
{
    const size_t open = text.rfind(" (");
    if (open == std::string_view::npos || !text.ends_with(')')) return {text, {}, 0};
    Location location{text.substr(0, open), text.substr(open + 2, text.size() - open - 3), 0};
    std::vector<uint64_t> numbers; // ":line:column", from the right
    for (size_t colon = 0; numbers.size() < 2 && (colon = location.file.rfind(':')) != std::string_view::npos;) {
        const std::optional<uint64_t> number = wholeNumber(location.file.substr(colon + 1));
        if (!number || *number > 0x7fffffff) break;
        numbers.push_back(*number);
        location.file = location.file.substr(0, colon);
    }
    if (!numbers.empty()) location.line = static_cast<int32_t>(numbers.back());
    return location;
}

class FirefoxReader {
public:
    FirefoxReader(ProfileBuilder& out, std::string_view text) : m_out(out), m_text(text) {}

    std::optional<JsonProblem> read(const std::stop_token& stop)
    {
        std::deque<std::string_view> processes{std::string_view(m_text)};
        std::optional<JsonProblem> problem;
        for (size_t done = 0; !processes.empty() && done < kMaxProcesses && !stop.stop_requested(); ++done) {
            JsonPull json(m_text, processes.front());
            processes.pop_front();
            readProcess(json, processes, stop);
            if (!problem) problem = json.problem();
        }
        if (!processes.empty() && !stop.stop_requested())
            m_out.note("many-processes", fmt::format("processes after the first {} were left out", kMaxProcesses), {},
                       static_cast<int64_t>(processes.size()));
        return problem;
    }
    int64_t threads() const { return m_threads; }

private:
    void readProcess(JsonPull& json, std::deque<std::string_view>& processes, const std::stop_token& stop)
    {
        std::string_view key, meta, threads, shared, children;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (key == "meta") meta = json.raw();
            else if (key == "threads") threads = json.raw();
            else if (key == "shared") shared = json.raw();
            else if (key == "processes") children = json.raw();
            else if (key == "profile") processes.push_back(json.raw()); // saved by the panel of older developer tools
            else json.skip();
        }
        readMeta(meta);
        TableTexts sharedTables;
        JsonPull sharedJson(m_text, shared);
        for (bool in = sharedJson.enterObject(); in && sharedJson.nextKey(key);)
            if (!sharedTables.take(key, sharedJson)) sharedJson.skip();
        JsonPull list(m_text, threads);
        for (bool in = list.enterArray(); in && list.nextElement() && !stop.stop_requested();)
            readThread(list, sharedTables);
        JsonPull inner(m_text, children);
        for (bool in = inner.enterArray(); in && inner.nextElement();)
            processes.push_back(inner.raw());
    }

    void readMeta(std::string_view value)
    {
        m_meta = {};
        m_categoriesOf = value.data();
        JsonPull json(m_text, value);
        std::string_view key;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (key == "startTime") m_meta.start = json.integer(kMilliseconds).value_or(0);
            else if (key == "product") m_meta.product = json.string();
            else if (key == "categories") readCategories(json);
            else if (key == "sampleUnits") {
                for (bool units = json.enterObject(); units && json.nextKey(key);)
                    if (key == "threadCPUDelta") m_meta.cpuDeltaUnit = json.string();
                    else json.skip();
            } else json.skip();
        }
        if (!m_started) {
            m_started = true;
            m_out.addEnvironment("import.product", m_meta.product);
        }
    }

    void readCategories(JsonPull& json)
    {
        std::string_view key;
        for (bool in = json.enterArray(); in && json.nextElement();) {
            m_meta.categories.emplace_back();
            for (bool fields = json.enterObject(); fields && json.nextKey(key);)
                if (key == "name") m_meta.categories.back() = json.string();
                else json.skip();
        }
    }

    void readThread(JsonPull& json, const TableTexts& shared)
    {
        ThreadText thread;
        thread.tables = shared;
        std::string_view key;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (thread.tables.take(key, json)) continue;
            if (key == "name") thread.name = json.string();
            else if (key == "processName") thread.process = json.string();
            else if (key == "processType" && thread.process.empty()) thread.process = json.string();
            else if (key == "pid") thread.pid = json.scalar();
            else if (key == "tid") thread.tid = json.scalar();
            else json.skip();
        }
        ++m_threads;
        readStrings(thread.tables.strings);
        readFrames(thread.tables);
        const session::Track track = trackOf(thread);
        addSamples(thread, m_out.addTrack(track));
        addMarkers(thread, track);
    }

    Table table(const TableTexts& texts, std::string_view name, const std::vector<Table::Wanted>& wanted)
    {
        Table result;
        for (size_t i = 0; i < kTableNames.size(); ++i) {
            if (kTableNames[i] != name) continue;
            JsonPull json(m_text, texts.text[i]);
            result.read(json, m_text, wanted);
        }
        return result;
    }

    void readStrings(std::string_view value)
    {
        if (!m_strings.empty() && value.data() == m_stringsOf) return; // shared by all threads
        m_stringsOf = value.data();
        m_strings.clear();
        JsonPull json(m_text, value);
        for (bool in = json.enterArray(); in && json.nextElement();)
            m_strings.emplace_back(json.string());
    }

    std::string_view stringAt(int64_t index) const
    {
        return index >= 0 && static_cast<size_t>(index) < m_strings.size()
            ? std::string_view(m_strings[static_cast<size_t>(index)])
            : std::string_view();
    }

    // m_frames[row of frameTable]; m_parents and m_stackFrames are the stackTable.
    void readFrames(const TableTexts& texts)
    {
        std::vector<const char*> read; // "samples" and "markers" are no part of it
        for (size_t i = 0; i < kTableNames.size(); ++i)
            if (kTableNames[i] != "samples" && kTableNames[i] != "markers") read.push_back(texts.text[i].data());
        read.push_back(texts.strings.data());
        read.push_back(m_categoriesOf);
        if (read == m_framesOf) return; // shared by all threads
        m_framesOf = std::move(read);
        const Table frames =
            table(texts, "frameTable", {{"location"}, {"func"}, {"line"}, {"category"}, {"inlineDepth"}});
        const Table stacks = table(texts, "stackTable", {{"prefix"}, {"frame"}});
        const Table functions =
            table(texts, "funcTable", {{"name"}, {"resource"}, {"fileName"}, {"source"}, {"lineNumber"}});
        const Table resources = table(texts, "resourceTable", {{"name"}});
        const Table sources = table(texts, "sources", {{"filename"}});
        m_frames.clear();
        for (size_t i = 0; i < frames.size(); ++i)
            m_frames.push_back(frames.has("location") ? geckoFrame(frames, i)
                                                      : processedFrame(frames, i, functions, resources, sources));
        m_stackFrames = stacks.column("frame");
        m_parents = stacks.column("prefix");
        m_stackIds.assign(m_stackFrames.size(), session::StackId{});
        m_stackKnown.assign(m_stackFrames.size(), 0);
    }

    uint32_t categoryFlags(const Table& frames, size_t row) const
    {
        const int64_t category = frames.at("category", row);
        if (category < 0 || static_cast<size_t>(category) >= m_meta.categories.size()) return 0;
        const std::string& name = m_meta.categories[static_cast<size_t>(category)];
        if (name == "Kernel") return session::kKernelMode;
        return name == "JIT" || name == "JavaScript" ? uint32_t{session::kGenerated} : 0u;
    }

    session::FrameId geckoFrame(const Table& frames, size_t row)
    {
        const std::string_view text = stringAt(frames.at("location", row));
        if (text.empty()) m_out.note("unknown-frame", "frames without a name are shown as [unknown]");
        const Location location = splitLocation(text.empty() ? std::string_view("[unknown]") : text);
        const int64_t line = frames.at("line", row);
        return m_out.frame(location.function, {}, location.file,
                           line > 0 && line <= 0x7fffffff ? static_cast<int32_t>(line) : location.line,
                           categoryFlags(frames, row));
    }

    session::FrameId processedFrame(const Table& frames, size_t row, const Table& functions, const Table& resources,
                                    const Table& sources)
    {
        const int64_t function = frames.at("func", row);
        const auto index = static_cast<size_t>(function);
        if (function < 0 || index >= functions.size()) {
            m_out.note("unknown-frame", "frames without a name are shown as [unknown]");
            return m_out.frame("[unknown]");
        }
        const int64_t resource = functions.at("resource", index);
        const std::string_view module =
            resource >= 0 ? stringAt(resources.at("name", static_cast<size_t>(resource))) : std::string_view();
        const int64_t source = functions.at("source", index);
        const int64_t file =
            source >= 0 ? sources.at("filename", static_cast<size_t>(source)) : functions.at("fileName", index);
        int64_t line = functions.at("lineNumber", index); // of the function, so that its frames stay one
        if (line < 0 || line > 0x7fffffff) line = 0;
        uint32_t flags = categoryFlags(frames, row);
        if (frames.at("inlineDepth", row) > 0) flags |= session::kInlined;
        return m_out.frame(stringAt(functions.at("name", index)), module, stringAt(file), static_cast<int32_t>(line),
                           flags);
    }

    session::StackId stackOf(int64_t index)
    {
        std::vector<size_t> path;
        session::StackId stack;
        for (int64_t at = index; at != kNull;) {
            if (at < 0 || static_cast<size_t>(at) >= m_stackIds.size()) {
                m_out.note("unknown-stack", "stacks that point outside the table were cut there");
                break;
            }
            const auto row = static_cast<size_t>(at);
            if (m_stackKnown[row] == 2) {
                stack = m_stackIds[row];
                break;
            }
            if (m_stackKnown[row] == 1) { // its own ancestor
                m_out.note("stack-cycle", "stacks that contain themselves were cut there");
                break;
            }
            m_stackKnown[row] = 1;
            path.push_back(row);
            at = row < m_parents.size() ? m_parents[row] : kNull;
        }
        for (size_t i = path.size(); i-- > 0;) {
            const int64_t frame = m_stackFrames[path[i]];
            const bool known = frame >= 0 && static_cast<size_t>(frame) < m_frames.size();
            stack = m_out.stack(stack, known ? m_frames[static_cast<size_t>(frame)] : m_out.frame("[unknown]"));
            m_stackIds[path[i]] = stack;
            m_stackKnown[path[i]] = 2;
        }
        return stack;
    }

    std::string weightType(std::string_view samples)
    {
        JsonPull json(m_text, samples);
        std::string_view key;
        std::string type;
        for (bool in = json.enterObject(); in && json.nextKey(key);)
            if (key == "weightType") type = json.string();
            else json.skip();
        return type;
    }

    session::SeriesId series(const session::SeriesRow& row)
    {
        const auto [at, added] = m_series.try_emplace(row.name);
        if (added) at->second = m_out.addSeries(row);
        return at->second;
    }

    static session::Track trackOf(const ThreadText& thread)
    {
        session::Track track;
        track.name = thread.name.empty() ? "thread " + thread.tid : thread.name;
        track.threadId = scaledDecimal(thread.tid, 0).value_or(0);
        track.processId = scaledDecimal(thread.pid, 0).value_or(0);
        track.process = thread.process;
        return track;
    }

    // Phases of a marker: 0 an instant, 1 an interval, 2 the begin and 3 the end of one. Old files have a time alone.
    void addMarkers(const ThreadText& thread, session::Track track)
    {
        const Table markers = table(
            thread.tables, "markers",
            {{"name"}, {"phase"}, {"startTime", kMilliseconds}, {"endTime", kMilliseconds}, {"time", kMilliseconds}});
        if (markers.size() == 0) return;
        track.name += ", markers";
        track.kind = session::TrackKind::asynchronous; // they overlap as they like
        const session::TrackId id = m_out.addTrack(track);
        std::map<int64_t, std::vector<int64_t>> begun; // by name: where intervals began
        int64_t unpaired = 0;
        for (size_t i = 0; i < markers.size(); ++i) {
            const int64_t name = markers.at("name", i), phase = markers.at("phase", i), stamp = markers.at("time", i);
            int64_t start = stamp != kNull ? stamp : markers.at("startTime", i);
            const int64_t end = markers.at("endTime", i);
            if (phase == 2) {
                begun[name].push_back(start);
                continue;
            }
            if (phase == 3 && !begun[name].empty()) {
                start = begun[name].back();
                begun[name].pop_back();
            }
            const bool interval = phase == 1 || phase == 3;
            session::SpanRecord span;
            const bool bad =
                start == kNull || (interval && (end == kNull || __builtin_sub_overflow(end, start, &span.duration)));
            if (bad || __builtin_add_overflow(start, m_meta.start, &span.start)) {
                ++unpaired;
                continue;
            }
            span.label = m_out
                             .label(stringAt(name),
                                    interval ? session::SpanKind::annotation : session::SpanKind::instant, "marker")
                             .value;
            m_out.addSpan(id, span);
        }
        for (const auto& [name, list] : begun)
            unpaired += static_cast<int64_t>(list.size());
        if (unpaired > 0)
            m_out.note("unpaired-marker", "markers without a begin or an end were left out", thread.name, unpaired);
    }

    void addSamples(const ThreadText& thread, session::TrackId trackId)
    {
        const std::string type = weightType(thread.tables.text[0]);
        const bool milliseconds = type == "tracing-ms";
        const Table samples = table(thread.tables, "samples",
                                    {{"stack"},
                                     {"time", kMilliseconds},
                                     {"timeDeltas", kMilliseconds},
                                     {"weight", milliseconds ? kMilliseconds : 0},
                                     {"threadCPUDelta", m_meta.cpuDeltaUnit == "µs" ? 3 : 0}});
        if (samples.size() == 0) return;
        session::SeriesRow row{"samples", "", session::SeriesKind::other, true, true};
        if (milliseconds) row = {"time", "ns", session::SeriesKind::other, true, true};
        if (type == "bytes") row = {"bytes", "bytes", session::SeriesKind::allocatedBytes, true, true};
        const session::SeriesId id = series(row);
        const bool cpu = samples.has("threadCPUDelta") && (m_meta.cpuDeltaUnit == "ns" || m_meta.cpuDeltaUnit == "µs");
        const session::SeriesId cpuId =
            cpu ? series({"cpu time", "ns", session::SeriesKind::cpuTime, true, false}) : session::SeriesId{};

        session::SampleRecord sample;
        sample.track = trackId;
        int64_t time = 0;
        for (size_t i = 0; i < samples.size(); ++i) {
            const int64_t delta = samples.at("timeDeltas", i), stamp = samples.at("time", i);
            if (delta != kNull && !samples.has("time") && __builtin_add_overflow(time, delta, &time)) break;
            if (stamp != kNull) time = stamp;
            if (__builtin_add_overflow(time, m_meta.start, &sample.time)) break;
            const int64_t weight = samples.at("weight", i);
            sample.weight = weight == kNull ? 1 : weight;
            sample.stack = stackOf(samples.at("stack", i));
            m_out.addSample(id, sample);
            if (!cpu) continue;
            const int64_t used = samples.at("threadCPUDelta", i);
            sample.weight = used == kNull ? 0 : used;
            m_out.addSample(cpuId, sample);
        }
    }

    ProfileBuilder& m_out;
    std::string_view m_text;
    Meta m_meta;
    bool m_started = false;
    int64_t m_threads = 0;
    const char* m_stringsOf = nullptr;
    const char* m_categoriesOf = nullptr; // where "meta" stands
    std::vector<const char*> m_framesOf;  // where the tables stand that m_frames and the stacks were made of
    std::vector<std::string> m_strings;
    std::vector<session::FrameId> m_frames;
    std::vector<int64_t> m_stackFrames, m_parents;
    std::vector<session::StackId> m_stackIds;
    std::vector<uint8_t> m_stackKnown; // 1 being looked up, 2 known
    std::map<std::string, session::SeriesId> m_series;
};

} // namespace

Detection detectFirefox(const Input& input)
{
    bool meta = false, libs = false, threads = false, wrapped = false, processed = false, gecko = false;
    forHeadKeys(input, [&](std::string_view key, std::string_view value) {
        if (key == "meta" && value.starts_with('{')) {
            meta = true;
            processed = value.find("\"preprocessedProfileVersion\"") != std::string_view::npos;
            gecko = value.find("\"interval\"") != std::string_view::npos;
        }
        libs |= key == "libs" && value.starts_with('[');
        threads |= key == "threads" && value.starts_with('[');
        wrapped |= key == "profile" && value.starts_with('{') && value.find("\"libs\"") != std::string_view::npos;
        return true;
    });
    if (meta && processed) return {Confidence::certain, "\"meta\" with \"preprocessedProfileVersion\""};
    if (meta && (gecko || libs) && (libs || threads))
        return {Confidence::certain, "keys \"meta\" and \"libs\" of a Gecko profile"};
    if (libs || (meta && gecko)) return {Confidence::likely, "keys of a Gecko profile"};
    if (wrapped) return {Confidence::likely, "key \"profile\" with \"libs\""};
    return {};
}

base::Result<Imported> importFirefox(Input& input, const ImportOptions& options, std::stop_token stop,
                                     const base::Progress& progress)
{
    base::Result<WholeText> whole = readText(input, stop, progress);
    if (!whole) return base::fail(whole.error());
    ProfileBuilder out(options);
    FirefoxReader reader(out, whole->text);
    const std::optional<JsonProblem> json = reader.read(stop);
    if (stop.stop_requested()) return base::fail(cancelledError());
    std::optional<ImportProblem> problem = whole->problem;
    if (!problem && json) problem = problemOf(*json, whole->text);
    if (reader.threads() == 0) return base::fail(unusable(input, "there is no thread in it", problem));
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
