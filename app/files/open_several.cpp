#include "app/files/open_several.h"

#include "core/importers/decimal_text.h"
#include "core/session/session_merger.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace stepscope::files {

namespace {

using base::TimeNs;

constexpr TimeNs kSince2001 = 1'000'000'000 * TimeNs{1'000'000'000}; // no other clock than that of the day is here
constexpr double kReading = 0.95;                                 // of the whole work
constexpr uint64_t kMostSpans = 0xfffffff0u;                      // rows have 32 bits

struct Part {
    FileChoice choice;
    Opened opened;
    std::string group;
    std::optional<int64_t> rank;
    std::optional<TimeNs> zero; // time of day of the session's time 0
    std::string clock;          // how that is known
};

std::optional<int64_t> number(const session::Session& session, std::string_view key)
{
    const std::string_view text = session.environmentValue(key);
    int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
    return value;
}

void findClock(Part& part)
{
    const session::Session& session = *part.opened.session;
    const std::optional<int64_t> base = number(session, "trace.baseTimeNanoseconds");
    const std::optional<int64_t> origin = number(session, "import.origin_ns");
    if (!origin) return;
    TimeNs zero = 0;
    if (__builtin_add_overflow(base.value_or(0), *origin, &zero) || zero < kSince2001 || zero > importers::kTimeLimit) return;
    part.zero = zero;
    part.clock = base ? "baseTimeNanoseconds" : "times since 1970";
}

std::string shortName(const std::filesystem::path& path)
{
    std::filesystem::path name = path.filename();
    for (const char* packing : {".gz", ".zst", ".xz"})
        if (name.extension() == packing) name = name.stem();
    name = name.stem();
    for (const char* kind : {".trace", ".pt"}) // "worker0.pt.trace.json"
        if (name.extension() == kind) name = name.stem();
    return name.empty() ? path.string() : name.string();
}

// Ranks first; a name that two files would share gets what tells them apart.
void nameGroups(std::vector<Part>& parts)
{
    const auto each = [&](auto name) {
        for (Part& part : parts)
            part.group = name(part);
    };
    const auto distinct = [&] {
        std::map<std::string_view, int> seen;
        return std::none_of(parts.begin(), parts.end(), [&](const Part& part) { return ++seen[part.group] > 1; });
    };
    const auto byRank = [](const Part& part) { return part.rank ? fmt::format("rank {}", *part.rank) : shortName(part.choice.path); };
    each(byRank);
    if (distinct()) return;
    each([&](const Part& part) { return part.rank ? fmt::format("{} ({})", byRank(part), shortName(part.choice.path)) : byRank(part); });
    if (distinct()) return;
    each([&](const Part& part) { return part.rank ? fmt::format("{} ({})", byRank(part), part.choice.path.string()) : part.choice.path.string(); });
    std::map<std::string, int> seen;
    for (Part& part : parts)
        if (const int count = ++seen[part.group]; count > 1) part.group += fmt::format(" #{}", count);
}

std::string seconds(TimeNs time) { return fmt::format("{} s", importers::decimalText(time, 9)); }

struct Alignment {
    std::vector<TimeNs> shifts; // added to the times of each part
    std::optional<TimeNs> zero; // time of day of the whole's time 0
};

// Before the user's offsets.
Alignment align(const std::vector<Part>& parts, session::SessionMerger& merger)
{
    Alignment aligned{std::vector<TimeNs>(parts.size(), 0), {}};
    TimeNs first = std::numeric_limits<TimeNs>::max(), last = std::numeric_limits<TimeNs>::min();
    size_t known = 0;
    for (const Part& part : parts) {
        if (!part.zero) continue;
        first = std::min(first, *part.zero);
        last = std::max(last, *part.zero);
        ++known;
    }
    const bool apart = known > 0 && last - first > kMostApart;
    const bool placed = known > 1 && !apart;
    if (placed && known == parts.size()) aligned.zero = first;
    for (size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        const std::string name = part.choice.path.filename().string();
        if (part.zero && placed) {
            aligned.shifts[i] = *part.zero - first;
            merger.addEnvironment({session::SessionMerger::keyOf("clock", part.group), part.clock});
            continue;
        }
        merger.addEnvironment({session::SessionMerger::keyOf("clock", part.group), "start at the begin of the session"});
        const std::string at = number(*part.opened.session, "import.origin_ns") ? seconds(*number(*part.opened.session, "import.origin_ns")) : "";
        const std::string moved = at.empty() ? "its start was put at the begin of the session"
                                             : fmt::format("its start, {} on its own clock, was put at the begin of the session", at);
        if (part.zero && apart)
            merger.addQuality({"clocks-far-apart", 1,
                               fmt::format("{}: {} starts {}, too far apart for one run; {}.", part.group, name,
                                           *part.zero == first ? "before the other files"
                                                               : seconds(*part.zero - first) + " after the earliest of the files", moved), {}});
        else if (!part.zero)
            merger.addQuality({"no-common-clock", 1,
                               fmt::format("{}: {} has no baseTimeNanoseconds and no times since 1970, so nothing says how it lies to the other "
                                           "files; {}.", part.group, name, moved), {}});
    }
    return aligned;
}

// The earliest start is the origin of the whole.
void useOffsets(const std::vector<Part>& parts, session::SessionMerger& merger, Alignment& aligned)
{
    std::vector<TimeNs>& shifts = aligned.shifts;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].choice.offset == 0) continue;
        shifts[i] += parts[i].choice.offset;
        merger.addEnvironment({session::SessionMerger::keyOf("clock.offset_ns", parts[i].group), fmt::format("{:+}", parts[i].choice.offset)});
    }
    const TimeNs least = *std::min_element(shifts.begin(), shifts.end());
    for (size_t i = 0; i < parts.size(); ++i) {
        shifts[i] -= least;
        merger.addEnvironment({session::SessionMerger::keyOf("clock.shift_ns", parts[i].group), fmt::format("{}", shifts[i])});
    }
    if (!aligned.zero) return;
    // As of one file: a base time that all share is added to it.
    const std::optional<int64_t> base = number(*parts[0].opened.session, "trace.baseTimeNanoseconds");
    const bool shared = std::all_of(parts.begin(), parts.end(),
                                    [&](const Part& part) { return number(*part.opened.session, "trace.baseTimeNanoseconds") == base; });
    merger.addEnvironment({"import.origin_ns", fmt::format("{}", *aligned.zero + least - (shared ? base.value_or(0) : 0))});
}

// Facts about the whole that its readers look for, from those of the files.
void describe(const std::vector<Part>& parts, session::SessionMerger& merger)
{
    std::string formats;
    for (const Part& part : parts) {
        if (part.opened.format == kSessionFormat) continue;
        if ((", " + formats + ", ").find(", " + part.opened.format + ", ") == std::string::npos)
            formats += (formats.empty() ? "" : ", ") + part.opened.format;
    }
    if (!formats.empty()) merger.addEnvironment({"import.format", formats});
    for (const char* key : {"import.bytes", "import.unpacked_bytes", "import.lead-samples", "import.skipped_objects"}) {
        int64_t sum = 0;
        bool any = false;
        for (const Part& part : parts)
            if (const std::optional<int64_t> value = number(*part.opened.session, key); value && !__builtin_add_overflow(sum, *value, &sum)) any = true;
        if (any) merger.addEnvironment({key, fmt::format("{}", sum)});
    }
}

base::Result<std::vector<Part>> openAll(std::span<const FileChoice> files, const importers::ImportOptions& options, std::stop_token stop,
                                        const base::Progress& progress)
{
    std::vector<double> bytes; // one more each, for files without any
    double total = 0, before = 0;
    for (const FileChoice& file : files) {
        std::error_code failed;
        const auto size = std::filesystem::file_size(file.path, failed);
        bytes.push_back(failed ? 1.0 : static_cast<double>(size) + 1.0);
        total += bytes.back();
    }
    std::vector<Part> parts;
    for (size_t i = 0; i < files.size(); ++i) {
        const std::string name = files[i].path.filename().string();
        const auto inner = !progress ? base::Progress() : base::Progress([&](double fraction, std::string_view what) {
            const double done = before + bytes[i] * std::clamp(fraction, 0.0, 1.0);
            progress(kReading * done / total, fmt::format("{} ({} of {}): {}", name, i + 1, files.size(), what));
        });
        base::Result<Opened> opened = openAny(files[i].path, options, stop, inner);
        if (!opened) {
            base::Error error = opened.error();
            if (error.where.file.empty()) error.where.file = files[i].path.string();
            return base::fail(std::move(error));
        }
        parts.push_back({files[i], std::move(*opened), {}, {}, {}, {}});
        parts.back().rank = number(*parts.back().opened.session, "trace.distributed.rank");
        findClock(parts.back());
        before += bytes[i];
    }
    return parts;
}

base::Error cancelled() { return {base::ErrorCode::cancelled, "cancelled", {}, {}}; }

} // namespace

base::Result<Opened> openSeveral(std::span<const FileChoice> files, const importers::ImportOptions& options, std::stop_token stop,
                                 const base::Progress& progress)
{
    if (files.empty()) return base::fail(base::ErrorCode::invalidArgument, "no file was given");
    if (files.size() == 1) return openAny(files[0].path, options, std::move(stop), progress);
    for (const FileChoice& file : files)
        if (file.offset > kMostOffset || file.offset < -kMostOffset)
            return base::fail(base::ErrorCode::invalidArgument, "the offset is more than a year", {file.path.string()});
    base::Result<std::vector<Part>> opened = openAll(files, options, stop, progress);
    if (!opened) return base::fail(opened.error());
    std::vector<Part>& parts = *opened;
    if (std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.rank.has_value(); }))
        std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return *a.rank < *b.rank; });
    nameGroups(parts);
    uint64_t spans = 0;
    for (const Part& part : parts)
        spans += part.opened.session->spanCount();
    if (spans > kMostSpans)
        return base::fail(base::ErrorCode::unsupported, "together the files have more than 4 billion spans", {}, "load a range of time, or fewer files");

    session::SessionMerger merger;
    describe(parts, merger);
    Alignment aligned = align(parts, merger);
    useOffsets(parts, merger, aligned);
    Opened whole;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (stop.stop_requested()) return base::fail(cancelled());
        if (progress) progress(kReading + (1 - kReading) * static_cast<double>(i) / static_cast<double>(parts.size()), "putting together");
        Part& part = parts[i];
        merger.add(*part.opened.session, part.group);
        part.opened.session.reset(); // peak memory is time
        if (whole.format.empty()) whole.format = part.opened.format;
        else if ((", " + whole.format + ", ").find(", " + part.opened.format + ", ") == std::string::npos) whole.format += ", " + part.opened.format;
        if (whole.why.find(part.opened.why) == std::string::npos) whole.why += (whole.why.empty() ? "" : "; ") + part.opened.why;
        whole.complete = whole.complete && part.opened.complete;
        if (!whole.problem && part.opened.problem) {
            whole.problem = part.opened.problem;
            whole.problem->message = part.choice.path.filename().string() + ": " + whole.problem->message;
        }
        whole.files.push_back({part.choice.path, part.group, part.opened.format, part.opened.why, part.opened.complete, aligned.shifts[i]});
    }
    if (stop.stop_requested()) return base::fail(cancelled());
    whole.session = merger.finish(aligned.shifts);
    if (progress) progress(1, "putting together");
    return whole;
}

base::Result<TimeNs> parseOffset(std::string_view text)
{
    constexpr struct {
        std::string_view unit;
        int digits;
    } kUnits[] = {{"ns", 0}, {"us", 3}, {"µs", 3}, {"ms", 6}, {"s", 9}};
    for (const auto& [unit, digits] : kUnits) {
        if (!text.ends_with(unit)) continue;
        std::string_view value = text.substr(0, text.size() - unit.size());
        while (value.ends_with(' '))
            value.remove_suffix(1);
        const std::optional<int64_t> time = importers::scaledDecimal(value, digits);
        if (time && *time <= kMostOffset && *time >= -kMostOffset) return *time;
        if (time) return base::fail(base::ErrorCode::invalidArgument, fmt::format("the offset {} is more than a year", text));
        break; // "ns" ends with "s", too
    }
    return base::fail(base::ErrorCode::invalidArgument, fmt::format("\"{}\" is no offset", text), {}, "a number and a unit: +1.5ms, -20us, 300ns or 2s");
}

} // namespace stepscope::files
