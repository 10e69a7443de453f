#include "core/importers/collapsed_importer.h"

#include "core/importers/decimal_text.h"
#include "core/importers/profile_builder.h"
#include "core/importers/text_encoding.h"
#include "core/importers/whole_weights.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kWhite = " \t\v\f\r";
constexpr std::string_view kFormat = "collapsed";

std::string_view trimEnd(std::string_view text)
{
    const size_t last = text.find_last_not_of(kWhite);
    return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// The last word of a line when it is a number and white space stands before it; `rest` is what is before.
std::string_view lastNumber(std::string_view line, std::string_view& rest)
{
    line = trimEnd(line);
    const size_t space = line.find_last_of(kWhite);
    if (space == std::string_view::npos) return {};
    std::string_view word = line.substr(space + 1);
    const std::string_view whole = word;
    if (word.starts_with('-')) word.remove_prefix(1); // in differences of profiles
    const size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    const bool fraction = digits < word.size() && word[digits] == '.';
    if (digits == 0) return {};
    if (fraction ? word.find_first_not_of("0123456789", digits + 1) != std::string_view::npos : digits != word.size())
        return {};
    rest = trimEnd(line.substr(0, space));
    return whole;
}

// Some tools write "// text" too; a frame may begin like that, but then a count follows.
bool isComment(std::string_view line)
{
    std::string_view rest;
    return line.starts_with('#') || (line.starts_with("//") && lastNumber(line, rest).empty());
}
bool isBlank(std::string_view line) { return line.find_first_not_of(kWhite) == std::string_view::npos; }

// Calls line(number, text) for every line of the text.
template <class Line>
void forLines(std::string_view text, Line line)
{
    int64_t number = 0;
    for (size_t at = 0; at < text.size();) {
        size_t end = text.find('\n', at);
        if (end == std::string_view::npos) end = text.size();
        if (!line(++number, text.substr(at, end - at))) return;
        at = end + 1;
    }
}

// Two numbers at the end of every line are the counts of two profiles, before and after. One line with a single number
// is enough to know that the other is part of a name.
bool isDifference(std::string_view text)
{
    bool any = false, all = true;
    forLines(text, [&](int64_t, std::string_view line) {
        std::string_view rest, stack;
        if (isBlank(line) || isComment(line) || lastNumber(line, rest).empty()) return true;
        any = true;
        all = !lastNumber(rest, stack).empty();
        return all;
    });
    return any && all;
}

class CollapsedReader {
public:
    CollapsedReader(ProfileBuilder& out, bool difference) : m_out(out), m_difference(difference)
    {
        session::SeriesRow row{difference ? "before" : "samples", "", session::SeriesKind::other, false, !difference};
        m_first = out.addSeries(row);
        if (!difference) return;
        row.name = "after";
        row.isDefault = true;
        m_second = out.addSeries(row);
    }

    void take(int64_t number, std::string_view line)
    {
        if (isBlank(line) || isComment(line)) return;
        std::string_view stack, earlier;
        const std::string_view last = lastNumber(line, stack);
        if (last.empty()) {
            m_out.note("ignored-line", "lines without a count at their end were left out",
                       linePlace(number, trimEnd(line)));
            return;
        }
        std::string_view first;
        if (m_difference) first = lastNumber(stack, stack);
        const session::StackId id = stackOf(stack);
        add(number, m_difference ? m_second : m_first, m_difference ? m_secondWeights : m_firstWeights, last, id);
        if (m_difference) add(number, m_first, m_firstWeights, first, id);
    }

    // Of the first line whose count was too large; 0 when there is none.
    int64_t tooLargeLine() const { return m_tooLargeLine; }
    const std::string& tooLarge() const { return m_tooLarge; }

    void finish()
    {
        if (m_firstWeights.rounded() + m_secondWeights.rounded() > 0)
            m_out.note("rounded-weight", "counts with a fraction were rounded so that their sum stays right", {},
                       m_firstWeights.rounded() + m_secondWeights.rounded());
    }

private:
    void add(int64_t number, session::SeriesId series, WholeWeights& weights, std::string_view text,
             session::StackId stack)
    {
        const std::optional<int64_t> weight = weights.take(text);
        if (!weight || *weight >= kWeightLimit || *weight <= -kWeightLimit) {
            if (m_tooLargeLine == 0) m_tooLarge = text;
            if (m_tooLargeLine == 0) m_tooLargeLine = number;
            m_out.note("bad-weight", "lines with a count that is too large were left out", linePlace(number, text));
            return;
        }
        session::SampleRecord sample;
        sample.weight = *weight;
        sample.stack = stack;
        m_out.addSample(series, sample);
    }

    session::StackId stackOf(std::string_view text)
    {
        session::StackId stack;
        for (size_t at = 0; at <= text.size();) {
            const size_t end = std::min(text.find(';', at), text.size());
            stack = m_out.stack(stack, frameOf(text.substr(at, end - at)));
            at = end + 1;
        }
        return stack;
    }

    session::FrameId frameOf(std::string_view name)
    {
        const auto [at, added] = m_frames.try_emplace(name);
        if (!added) return at->second;
        uint32_t flags = 0; // marks that the collapsing scripts put behind names
        if (name.ends_with("_[k]")) flags = session::kKernelMode;
        if (name.ends_with("_[i]")) flags = session::kInlined;
        if (name.ends_with("_[j]")) flags = session::kGenerated;
        return at->second = m_out.frame(name, {}, {}, 0, flags);
    }

    ProfileBuilder& m_out;
    bool m_difference;
    session::SeriesId m_first, m_second;
    WholeWeights m_firstWeights, m_secondWeights;
    int64_t m_tooLargeLine = 0;
    std::string m_tooLarge; // as in the file
    std::unordered_map<std::string_view, session::FrameId> m_frames; // views of the whole text
};

} // namespace

Detection detectCollapsed(const Input& input)
{
    const std::string head = headText(input.head);
    if (head.find('\0') != std::string::npos) return {};
    int lines = 0, fitting = 0, stacks = 0;
    const bool whole = input.head.size() < Input::kHeadBytes;
    forLines(head, [&](int64_t, std::string_view line) {
        const bool cut = !whole && line.data() + line.size() == head.data() + head.size();
        if (isBlank(line) || isComment(line) || (cut && lines > 0)) return true;
        std::string_view stack;
        ++lines;
        if (cut || !lastNumber(line, stack).empty()) {
            ++fitting;
            if (line.find(';') != std::string_view::npos) ++stacks;
        }
        return lines < 50;
    });
    if (lines == 0 || fitting * 5 < lines * 4) return {};
    const bool named = input.name.ends_with(".folded") || input.name.ends_with(".collapsed")
        || input.name.find("collapsed") != std::string::npos;
    if (stacks == 0 && !named) return {};
    return {stacks == 0 ? Confidence::name : Confidence::likely,
            fmt::format("{} of the first {} lines end in a count, {} have ';' between names", fitting, lines, stacks)};
}

base::Result<Imported> importCollapsed(Input& input, const ImportOptions& options, std::stop_token stop,
                                       const base::Progress& progress)
{
    base::Result<WholeText> whole = readText(input, stop, progress);
    if (!whole) return base::fail(whole.error());
    ProfileBuilder out(options);
    CollapsedReader reader(out, isDifference(whole->text));
    bool stopped = false;
    forLines(whole->text, [&](int64_t number, std::string_view line) {
        reader.take(number, line);
        stopped = number % 65536 == 0 && stop.stop_requested();
        return !stopped;
    });
    if (stopped) return base::fail(cancelledError());
    reader.finish();
    if (out.sampleCount() == 0 && reader.tooLargeLine() > 0) {
        base::Error error = unusable(input, fmt::format("the count {} is too large, and no line holds a smaller one", reader.tooLarge().substr(0, 40)), whole->problem);
        error.where.line = static_cast<int>(reader.tooLargeLine());
        return base::fail(std::move(error));
    }
    if (out.sampleCount() == 0)
        return base::fail(unusable(input, "no line holds a stack with a count", whole->problem));
    return out.finish(input, kFormat, whole->problem);
}

} // namespace stepscope::importers
