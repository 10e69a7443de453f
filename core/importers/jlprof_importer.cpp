#include "core/importers/jlprof_importer.h"

#include "core/importers/profile_builder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kFormat = "jlprof";
constexpr std::string_view kMagic("JLPROF\x01\x00", 8);
constexpr uint32_t kByteOrder = 0x01020304;

// Little-endian numbers and counted texts; after the end every read gives nothing.
class Bytes {
public:
    explicit Bytes(std::string_view bytes) : m_bytes(bytes) {}
    template <class T>
    T take()
    {
        T value{};
        if (left() < sizeof(T)) {
            m_cut = true;
            m_at = m_bytes.size();
        } else {
            std::memcpy(&value, m_bytes.data() + m_at, sizeof(T));
            m_at += sizeof(T);
        }
        return value;
    }
    std::string_view text()
    {
        const auto size = take<int32_t>();
        if (size < 0 || static_cast<size_t>(size) > left()) {
            m_cut = true;
            m_at = m_bytes.size();
            return {};
        }
        const std::string_view result = m_bytes.substr(m_at, static_cast<size_t>(size));
        m_at += result.size();
        return result;
    }
    size_t left() const { return m_bytes.size() - m_at; }
    size_t at() const { return m_at; }
    bool cut() const { return m_cut; }

private:
    std::string_view m_bytes;
    size_t m_at = 0;
    bool m_cut = false;
};

class JlprofReader {
public:
    JlprofReader(ProfileBuilder& out, uint64_t fileBytes, std::stop_token stop)
        : m_out(out), m_budget(fileBytes), m_stop(std::move(stop))
    {
        m_series = out.addSeries({"samples", "", session::SeriesKind::other, false, true});
    }

    void readBacktraces(Bytes& bytes)
    {
        const auto count = bytes.take<int64_t>();
        std::vector<uint64_t> data(
            static_cast<size_t>(std::clamp<int64_t>(count, 0, static_cast<int64_t>(bytes.left() / 8))));
        for (uint64_t& word : data)
            word = bytes.take<uint64_t>();
        if (static_cast<int64_t>(data.size()) == count) readLines(bytes);
        else bytes.take<std::array<char, 16>>(); // marks it as cut
        addSamples(data);
    }

    // Nodes depth first: 0xff begins one, 0x00 ends it.
    void readNodes(Bytes& bytes)
    {
        struct Open {
            session::StackId stack;
            int64_t self = 0;
        };
        std::vector<Open> open;
        const auto close = [&] {
            session::SampleRecord sample;
            sample.track = trackOf(0);
            sample.stack = open.back().stack;
            sample.weight = open.back().self;
            if (sample.weight < 0) m_out.note("wide-children", "nodes whose children are wider than they are");
            if (sample.weight > 0) m_out.addSample(m_series, sample);
            open.pop_back();
        };
        while (!bytes.cut() && bytes.left() > 0 && !m_stop.stop_requested()) {
            const auto tag = bytes.take<uint8_t>();
            if (tag == 0x00) {
                if (!open.empty()) close();
                continue;
            }
            if (tag != 0xff) {
                m_badTag = bytes.at() - 1;
                break;
            }
            const session::FrameId frame = readFrame(bytes, true);
            const auto start = bytes.take<int64_t>(), stop = bytes.take<int64_t>();
            int64_t width = 0;
            if (bytes.cut()) break;
            if (__builtin_sub_overflow(stop, start, &width) || width < 0 || __builtin_add_overflow(width, 1, &width))
                width = 0;
            const session::StackId parent = open.empty() ? session::StackId{} : open.back().stack;
            if (!open.empty()) open.back().self -= std::min(width, open.back().self + (int64_t{1} << 55));
            open.push_back({m_out.stack(parent, frame), width});
        }
        while (!open.empty())
            close();
    }

    std::optional<size_t> badTag() const { return m_badTag; }

private:
    session::FrameId readFrame(Bytes& bytes, bool withStatus)
    {
        const std::string_view function = bytes.text(), file = bytes.text();
        const auto line = bytes.take<int64_t>();
        uint32_t flags = bytes.take<uint8_t>() != 0 ? uint32_t{session::kLibraryCode} : 0u; // from C
        if (bytes.take<uint8_t>() != 0) flags |= session::kInlined;
        if (withStatus) { // bits of FlameGraphs.jl: dispatch at run time, garbage collection
            const auto status = bytes.take<uint8_t>();
            if ((status & 0x01) != 0) flags |= session::kSlowPath;
            if ((status & 0x02) != 0) flags |= session::kAllocation;
        }
        const int32_t number = line > 0 && line < 0x7fffffff ? static_cast<int32_t>(line) : 0;
        return m_out.frame(function.empty() ? std::string_view("[unknown]") : function, {}, file, number, flags);
    }

    // Which frames an address stands for, innermost first: functions that are inlined there come before the real one.
    void readLines(Bytes& bytes)
    {
        const auto count = bytes.take<int64_t>();
        for (int64_t i = 0; i < count && !bytes.cut() && !m_stop.stop_requested(); ++i) {
            const auto address = bytes.take<uint64_t>();
            const auto frames = bytes.take<int32_t>();
            std::vector<session::FrameId>& list = m_frames[address];
            list.clear();
            for (int32_t f = 0; f < frames && !bytes.cut(); ++f)
                list.push_back(readFrame(bytes, false));
        }
    }

    // Newer versions of Julia end each backtrace with thread, task, clock, sleep state and two zeros; older ones with
    // one zero.
    static bool endsBlock(const std::vector<uint64_t>& data, size_t at)
    {
        return at >= 6 && data[at] == 0 && data[at - 1] == 0 && (data[at - 2] == 1 || data[at - 2] == 2);
    }

    void addSamples(const std::vector<uint64_t>& data)
    {
        bool meta = false;
        for (size_t i = 0; i < data.size() && !meta; ++i)
            meta = endsBlock(data, i);
        size_t begin = 0;
        for (size_t i = 0; i < data.size() && !m_stop.stop_requested(); ++i) {
            if (meta ? !endsBlock(data, i) : data[i] != 0) continue;
            const size_t end = meta ? i - 5 : i;
            if (end > begin) addSample(data, begin, end, meta ? i : 0);
            begin = i + 1;
        }
        if (begin < data.size()) m_out.note("open-sample", "a last backtrace that does not end was left out");
    }

    void addSample(const std::vector<uint64_t>& data, size_t begin, size_t end, size_t block)
    {
        session::SampleRecord sample;
        sample.weight = 1;
        sample.track = trackOf(block > 0 ? data[block - 5] : 0);
        if (block > 0 && data[block - 2] == 2) sample.label = m_out.label("sleeping");
        sample.stack = stackOf(data, begin, end);
        m_out.addSample(m_series, sample);
    }

    session::StackId stackOf(const std::vector<uint64_t>& data, size_t begin, size_t end)
    {
        session::StackId stack;
        const auto push = [&](session::FrameId frame) {
            if (!m_budget.take()) {
                m_out.note(StackBudget::kCode, StackBudget::kMessage, fmt::format("word {} of the samples", begin));
                return false;
            }
            stack = m_out.stack(stack, frame);
            return true;
        };
        m_budget.beginStack();
        for (size_t i = end; i-- > begin && !m_stop.stop_requested();) {
            const auto found = m_frames.find(data[i]);
            if (found == m_frames.end() || found->second.empty()) {
                if (!push(m_out.frame(fmt::format("0x{:x}", data[i]), {}, {}, 0, 0, data[i]))) return stack;
                continue;
            }
            for (size_t f = found->second.size(); f-- > 0;)
                if (!push(found->second[f])) return stack;
        }
        return stack;
    }

    session::TrackId trackOf(uint64_t thread)
    {
        const auto [at, added] = m_tracks.try_emplace(thread);
        if (added) {
            session::Track track;
            track.name = thread == 0 ? "all threads" : fmt::format("thread {}", thread);
            track.threadId = static_cast<int64_t>(thread);
            at->second = m_out.addTrack(track);
        }
        return at->second;
    }

    ProfileBuilder& m_out;
    StackBudget m_budget;
    std::stop_token m_stop;
    session::SeriesId m_series;
    std::unordered_map<uint64_t, std::vector<session::FrameId>> m_frames;
    std::unordered_map<uint64_t, session::TrackId> m_tracks;
    std::optional<size_t> m_badTag;
};

} // namespace

Detection detectJlprof(const Input& input)
{
    if (input.head.starts_with(kMagic)) return {Confidence::certain, "first bytes \"JLPROF\""};
    return {};
}

base::Result<Imported> importJlprof(Input& input, const ImportOptions& options, std::stop_token stop,
                                    const base::Progress& progress)
{
    base::Result<WholeText> whole = readBytes(input, stop, progress);
    if (!whole) return base::fail(whole.error());
    Bytes bytes(whole->text);
    bytes.take<std::array<char, kMagic.size()>>();
    const auto order = bytes.take<uint32_t>();
    if (order != kByteOrder && !bytes.cut())
        return base::fail(unusable(input, "it was written on a machine with another byte order"));
    const auto kind = bytes.take<uint8_t>();
    if (bytes.cut() || (kind != 1 && kind != 2))
        return base::fail(unusable(input,
                                   bytes.cut() ? std::string("the file ends within its header")
                                               : fmt::format("it holds data of kind {}, known are 1 and 2", kind)));
    ProfileBuilder out(options);
    JlprofReader reader(out, whole->text.size(), stop);
    if (kind == 1) reader.readBacktraces(bytes);
    else reader.readNodes(bytes);
    if (stop.stop_requested()) return base::fail(cancelledError());
    std::optional<ImportProblem> problem = whole->problem;
    if (!problem && reader.badTag())
        problem = ImportProblem{"invalid-token", static_cast<int64_t>(*reader.badTag()), -1, -1,
                                "neither the begin nor the end of a node"};
    if (!problem && bytes.cut())
        problem = ImportProblem{"unexpected-end", static_cast<int64_t>(whole->text.size()), -1, -1,
                                "the file ends in the middle"};
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
