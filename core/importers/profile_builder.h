// ProfileBuilder: what importers of profiles share around a SessionBuilder: clean text, frames and stacks, tracks, the
// range to load, the origin of times, and the count of everything that was skipped or repaired.
// Owner: core/importers. Thread: one at a time. Units: ns, as absolute as the file has them; finish() moves the
// session's origin to the first event and tells it in the environment row "import.origin_ns".
#pragma once

#include "core/importers/importer.h"
#include "core/importers/json_pull.h"
#include "core/session/event_builder.h"
#include "core/session/session_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stepscope::importers {

class ProfileBuilder {
public:
    explicit ProfileBuilder(const ImportOptions& options) : m_options(options) {}

    // Interned; bytes that are not UTF-8 are repaired and counted.
    session::StringId text(std::string_view bytes);
    session::FrameId frame(std::string_view function, std::string_view module = {}, std::string_view file = {},
                           int32_t line = 0, uint32_t flags = 0, uint64_t address = 0);
    session::StackId stack(session::StackId parent, session::FrameId frame);
    session::LabelId label(std::string_view name, session::SpanKind kind = session::SpanKind::other,
                           std::string_view category = {});
    session::TrackId addTrack(session::Track track); // Track::group comes from the options
    session::SeriesId addSeries(const session::SeriesRow& series);

    void addSample(session::SeriesId series, const session::SampleRecord& sample);
    // Spans of a track may overlap: finish() spreads them over lanes. Of equal spans the first is the outer one.
    void addSpan(session::TrackId track, const session::SpanRecord& span);
    void addEnvironment(std::string_view key, std::string_view value);

    // Counts something skipped or repaired. `message` says what happens to such things ("lines without a count were
    // left out"); the places of the first few are kept.
    void note(std::string_view code, std::string_view message, std::string place = {}, int64_t count = 1);
    int64_t noted(std::string_view code) const;

    session::SessionTables& tables() { return m_builder.tables(); }
    session::SessionBuilder& builder() { return m_builder; }
    uint64_t sampleCount() const { return m_sampleCount; }
    uint64_t spanCount() const { return m_events.size(); }

    Imported finish(const Input& input, std::string_view format, std::optional<ImportProblem> problem = {});

private:
    struct StackTable { // open addressing: (parent, frame) -> stack
        std::vector<uint32_t> slots;
        size_t used = 0;
    };
    struct Note {
        std::string message;
        int64_t count = 0;
        std::vector<std::string> places;
    };
    void growStackTable();
    session::TimeNs findOrigin();
    void applyRange(session::TimeNs origin);
    void emitSamples(session::TimeNs shift);
    void emitNotes();

    const ImportOptions& m_options;
    session::SessionBuilder m_builder;
    StackTable m_stacks;
    session::EventBuilder m_events;
    std::vector<base::HugeVector<session::SampleRecord>> m_samples; // per series
    std::map<std::string, Note, std::less<>> m_notes;
    std::vector<std::string> m_noteOrder;
    uint64_t m_sampleCount = 0;
};

// How many frames the stacks of one file may unfold into: where a short reference stands for many frames, a small file
// could describe more than any memory holds.
class StackBudget {
public:
    explicit StackBudget(uint64_t fileBytes) : m_left(std::min(fileBytes * 64 + (uint64_t{1} << 20), kMostFrames)) {}
    void beginStack() { m_inStack = 0; }
    // False: the stack must end here.
    bool take()
    {
        if (m_inStack >= kDeepestStack || m_left == 0) return false;
        ++m_inStack;
        --m_left;
        return true;
    }
    static constexpr std::string_view kCode = "deep-stack",
                                      kMessage = "stacks with more frames than can be held were cut at their inner end";

private:
    static constexpr uint64_t kDeepestStack = uint64_t{1} << 20, kMostFrames = uint64_t{1} << 32;
    uint64_t m_left, m_inStack = 0;
};

// "line 7: text", the text shortened and made valid UTF-8.
std::string linePlace(int64_t line, std::string_view text);

// The whole input as UTF-8 text, or what could be read of it. Errors: cancelled, unsupported (more than `limit` bytes).
struct WholeText {
    std::string text;
    std::optional<ImportProblem> problem; // reading the packing ended early
};
base::Result<WholeText> readText(Input& input, std::stop_token stop, const base::Progress& progress,
                                 uint64_t limit = uint64_t{4} << 30);
// The same without any change to the bytes.
base::Result<WholeText> readBytes(Input& input, std::stop_token stop, const base::Progress& progress,
                                  uint64_t limit = uint64_t{4} << 30);

ImportProblem problemOf(const JsonProblem& problem, std::string_view text);
base::Error cancelledError();
// For input of which nothing can be used.
base::Error unusable(const Input& input, std::string message, const std::optional<ImportProblem>& problem = {});

} // namespace stepscope::importers
