#include "app/cli/input_options.h"

#include "app/cli/console.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include <cmath>

namespace stepscope::cli {

namespace {

void checkRange(const InputChoice& choice)
{
    for (const double time : choice.range)
        if (!std::isfinite(time) || time < 0) throw CLI::ValidationError("--load-range", "the times are seconds since the first event, from 0 on");
    if (choice.range.size() == 2 && choice.range[0] >= choice.range[1])
        throw CLI::ValidationError("--load-range", fmt::format("the begin {} is not before the end {}", choice.range[0], choice.range[1]));
    if (choice.steps.size() == 2 && choice.steps[0] > choice.steps[1])
        throw CLI::ValidationError("--load-steps", fmt::format("the first step {} is behind the last one {}", choice.steps[0], choice.steps[1]));
}

} // namespace

importers::ImportOptions InputChoice::options() const
{
    importers::ImportOptions options;
    options.format = format;
    options.input.member = member;
    options.stepName = stepName;
    if (range.size() == 2) {
        constexpr double kMost = 4e9; // seconds; more than a century
        options.rangeBegin = std::llround(std::clamp(range[0], -kMost, kMost) * 1e9);
        options.rangeEnd = std::llround(std::clamp(range[1], -kMost, kMost) * 1e9);
    }
    if (steps.size() == 2) {
        options.firstStep = steps[0];
        options.lastStep = steps[1];
    }
    return options;
}

base::Result<std::vector<files::FileChoice>> InputChoice::choices() const
{
    std::vector<files::FileChoice> all;
    for (const std::string& file : files)
        all.push_back({file, 0});
    for (const std::string& offset : offsets) {
        const size_t equals = offset.rfind('=');
        const std::string of = offset.substr(0, std::min(equals, offset.size()));
        if (equals == std::string::npos || of.empty())
            return base::fail(base::ErrorCode::invalidArgument, fmt::format("--offset {} names no file", offset), {}, "write FILE=TIME: --offset rank1.json=+1.5ms");
        const base::Result<base::TimeNs> time = files::parseOffset(std::string_view(offset).substr(equals + 1));
        if (!time) return base::fail(time.error());
        if (all.size() < 2)
            return base::fail(base::ErrorCode::invalidArgument, "--offset moves one of several files against the others, and there is one file", {}, "");
        std::vector<size_t> found;
        for (size_t i = 0; i < all.size(); ++i)
            if (files[i] == of) found.push_back(i);
        if (found.empty()) // by the name alone
            for (size_t i = 0; i < all.size(); ++i)
                if (all[i].path.filename() == of) found.push_back(i);
        if (found.size() != 1)
            return base::fail(base::ErrorCode::invalidArgument,
                fmt::format("--offset {}: {}", offset, found.empty() ? "this is none of the files" : "several of the files have this name"), {},
                found.empty() ? "write the name as it stands among the files" : "write the whole path of one of them");
        all[found[0]].offset = *time;
    }
    return all;
}

std::string InputChoice::name() const { return fmt::format("{}", fmt::join(files, ", ")); }

base::Result<files::Opened> openInput(const InputChoice& choice)
{
    const base::Result<std::vector<files::FileChoice>> choices = choice.choices();
    if (!choices) return base::fail(choices.error());
    return files::openSeveral(*choices, choice.options());
}

void addInputFiles(CLI::App& parser, InputChoice& choice, const std::string& about)
{
    parser.add_option("FILE", choice.files, about)->required()->type_name("");
    parser.add_option("--offset", choice.offsets,
              "Of several files: move the times of one by so much, after alignment; ns, us, ms or s (--offset rank1.json=+1.5ms); may be given again")
        ->allow_extra_args(false)
        ->type_name("FILE=TIME");
}

void addInputOptions(CLI::App& parser, InputChoice& choice)
{
    std::vector<std::string> names{std::string(files::kSessionFormat)};
    for (const importers::Importer& importer : importers::builtinImporters())
        names.emplace_back(importer.name);
    parser.add_option("--input-format", choice.format,
              fmt::format("Read FILE as this format instead of finding out: {}", fmt::join(names, ", ")))
        ->check([names](const std::string& name) {
            if (std::find(names.begin(), names.end(), name) != names.end()) return std::string();
            return fmt::format("there is no format '{}'; formats: {}", name, fmt::join(names, ", "));
        });
    parser.add_option("--member", choice.member, "Of a zip or tar file: the file in it to read");
    parser.add_option("--load-range", choice.range, "Of a trace: load only what overlaps BEGIN to END, in seconds since its first event")
        ->expected(2)
        ->type_name("BEGIN END");
    parser.add_option("--load-steps", choice.steps, "Of a trace: load only these steps, by their numbers in it")
        ->expected(2)
        ->type_name("FIRST LAST");
    parser.add_option("--step-name", choice.stepName, "Of a trace: the spans of this name are its steps");
    parser.parse_complete_callback([&choice] { checkRange(choice); });
}

void noteOtherMembers(const files::Opened& opened, const InputChoice& choice)
{
    if (opened.format == files::kSessionFormat || !choice.member.empty()) return;
    const session::Session& session = *opened.session;
    const std::string_view others = session.environmentValue("import.other-members");
    if (others.empty()) return;
    printNote(fmt::format("{} was read; the archive also has {} (--member NAME reads another one)",
        printable(session.environmentValue("import.member")), printable(others)));
}

} // namespace stepscope::cli
