#include "core/importers/importer.h"

#include "core/importers/decimal_text.h"
#include "core/importers/known_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>

namespace stepscope::importers {

namespace {

constexpr size_t kTriedMembers = 64;

std::string namesOf(std::span<const Importer> importers)
{
    std::string names;
    for (const Importer& importer : importers)
        names += (names.empty() ? "" : ", ") + std::string(importer.name);
    return names;
}

bool isText(std::string_view head)
{
    return head.find('\0') == std::string_view::npos;
}

base::Error unknown(const Input& input)
{
    base::Error error{base::ErrorCode::wrongFormat, "", {input.path.string()}, ""};
    const std::string inside = input.packing.empty() ? "" : fmt::format("\"{}\" in the file ({}) is ", input.name, input.packing);
    if (input.head.empty()) {
        error.message = inside.empty() ? "the file is empty" : inside + "empty";
        error.hint = "the program that wrote it may have been stopped before it was done";
    } else if (const std::optional<KnownFormat> known = knownFormat(input)) {
        error.message = fmt::format("{}{}, which cannot be read here", inside.empty() ? "this is " : inside, known->what);
        error.hint = known->hint;
    } else {
        error.message = fmt::format("{}no known format{}", inside.empty() ? "this is " : inside,
                                    isText(input.head) ? "" : " (binary data)");
        error.hint = fmt::format("known: {}; --input-format NAME reads it as one of them", namesOf(builtinImporters()));
    }
    return error;
}

// Takes the first member of an archive that an importer knows.
base::Result<Input> openChoosing(const std::filesystem::path& path, const ImportOptions& options, Choice& choice)
{
    base::Result<Input> input = openInput(path, options.input);
    if (!input) return input;
    base::Result<Choice> chosen = chooseImporter(*input, options.format);
    if (!chosen && options.format.empty() && options.input.member.empty() && input->members.size() > 1) {
        for (size_t i = 0; i < std::min(input->members.size(), kTriedMembers) && !chosen; ++i) {
            InputOptions one = options.input;
            one.member = input->members[i];
            base::Result<Input> other = openInput(path, one);
            if (!other) continue;
            base::Result<Choice> otherChoice = chooseImporter(*other, options.format);
            if (!otherChoice) continue;
            input = std::move(other);
            chosen = std::move(otherChoice);
        }
    }
    if (!chosen) return base::fail(chosen.error());
    choice = *chosen;
    return input;
}

// What an importer throws is told as an error: a file must not end the program.
base::Result<Imported> runImporter(const Importer& importer, Input& input, const ImportOptions& options, std::stop_token stop,
                                   const base::Progress& progress)
{
    try {
        return importer.run(input, options, std::move(stop), progress);
    } catch (const std::bad_alloc&) {
        return base::fail(base::ErrorCode::unavailable, "there is not enough memory for the whole file", {},
                          "load a part of it: a range of time, or some steps");
    } catch (const std::length_error&) { // of a container, which is the same
        return base::fail(base::ErrorCode::unavailable, "there is not enough memory for the whole file", {},
                          "load a part of it: a range of time, or some steps");
    } catch (const std::exception& e) {
        return base::fail(base::ErrorCode::internal, fmt::format("reading it as {} failed: {}", importer.name, e.what()));
    }
}

} // namespace

base::Result<Choice> chooseImporter(const Input& input, std::string_view format)
{
    const std::span<const Importer> importers = builtinImporters();
    if (!format.empty()) {
        for (const Importer& importer : importers)
            if (importer.name == format) return Choice{&importer, "chosen by the user"};
        return base::fail(base::ErrorCode::invalidArgument, fmt::format("there is no format \"{}\"", format), {},
                          fmt::format("known: {}", namesOf(importers)));
    }
    Choice best;
    Confidence confidence = Confidence::no;
    for (const Importer& importer : importers) {
        Detection detection = importer.detect(input);
        if (detection.confidence <= confidence) continue;
        confidence = detection.confidence;
        best = {&importer, std::move(detection.why)};
    }
    if (best.importer == nullptr) return base::fail(unknown(input));
    // A name alone must not win over a format that is known to be another one.
    if (confidence == Confidence::name && knownFormat(input)) return base::fail(unknown(input));
    return best;
}

std::string partText(const ImportOptions& options)
{
    const auto seconds = [](base::TimeNs time) { return decimalText(time, 9) + " s"; };
    std::string text;
    if (options.rangeBegin && options.rangeEnd) text = fmt::format("{} to {}", seconds(*options.rangeBegin), seconds(*options.rangeEnd));
    else if (options.rangeBegin) text = fmt::format("from {} on", seconds(*options.rangeBegin));
    else if (options.rangeEnd) text = fmt::format("up to {}", seconds(*options.rangeEnd));
    std::string steps;
    if (options.firstStep && options.lastStep && *options.firstStep == *options.lastStep) steps = fmt::format("step {}", *options.firstStep);
    else if (options.firstStep && options.lastStep) steps = fmt::format("steps {} to {}", *options.firstStep, *options.lastStep);
    else if (options.firstStep) steps = fmt::format("steps from {} on", *options.firstStep);
    else if (options.lastStep) steps = fmt::format("steps up to {}", *options.lastStep);
    if (!steps.empty()) text += (text.empty() ? "" : ", ") + steps;
    if (!text.empty() && !options.stepName.empty()) text += fmt::format(", a step being a span named {}", options.stepName);
    return text;
}

void addImportRows(session::SessionTables& tables, const Input& input, std::string_view format)
{
    tables.environment.push_back({"import.format", std::string(format)});
    if (!input.why.empty()) tables.environment.push_back({"import.why", input.why});
    if (!input.part.empty()) {
        tables.environment.push_back({"import.part", input.part});
        tables.quality.push_back({"part-only", 1, fmt::format("Only a part of the file was loaded: {}.", input.part)});
    }
    if (!input.packing.empty()) tables.environment.push_back({"import.packing", input.packing});
    if (!input.members.empty()) tables.environment.push_back({"import.member", input.name});
    if (input.members.size() > 1) {
        std::string others;
        size_t named = 0;
        constexpr size_t kNamed = 10;
        for (const std::string& member : input.members)
            if (member != input.name && named++ < kNamed) others += (others.empty() ? "" : ", ") + member;
        if (input.members.size() > kNamed + 1) others += ", ...";
        tables.environment.push_back({"import.other-members", std::move(others)});
    }
    if (input.path.empty()) return;
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(input.path, failed);
    tables.environment.push_back({"import.file", std::filesystem::absolute(input.path).string()});
    if (!failed) tables.environment.push_back({"import.bytes", fmt::format("{}", bytes)});
}

void addProblemRow(session::SessionTables& tables, const ImportProblem& problem)
{
    std::string place;
    if (problem.line > 0) place = fmt::format("line {}, column {}", problem.line, problem.column);
    if (problem.byteOffset >= 0) place += fmt::format("{}byte {}", place.empty() ? "" : ", ", problem.byteOffset);
    tables.quality.push_back({"incomplete-file", 1,
                              fmt::format("The file is not complete: {}{}{}. What stood before is shown.", problem.message,
                                          place.empty() ? "" : " at ", place),
                              std::move(place)});
}

ImportProblem problemOf(const base::Error& error)
{
    ImportProblem problem;
    const std::string packing = error.where.field;
    if (packing.empty()) problem.kind = "read-error";
    else if (error.code == base::ErrorCode::truncated) problem.kind = packing + "-truncated";
    else problem.kind = packing + "-damaged";
    problem.byteOffset = error.where.byte;
    problem.message = error.message;
    return problem;
}

base::Result<Imported> importFile(const std::filesystem::path& path, const ImportOptions& options, std::stop_token stop,
                                  const base::Progress& progress)
{
    Choice choice;
    base::Result<Input> input = openChoosing(path, options, choice);
    if (!input) return base::fail(input.error());
    input->why = choice.why;
    input->part = partText(options);
    base::Result<Imported> imported = runImporter(*choice.importer, *input, options, std::move(stop), progress);
    if (!imported) {
        base::Error error = imported.error();
        if (error.where.file.empty()) error.where.file = path.string();
        return base::fail(std::move(error));
    }
    imported->format = choice.importer->name;
    imported->why = choice.why;
    return imported;
}

} // namespace stepscope::importers
