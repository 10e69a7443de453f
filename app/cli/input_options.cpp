#include "app/cli/input_options.h"

#include <fmt/format.h>

namespace stepscope::cli {

importers::ImportOptions InputChoice::options() const
{
    importers::ImportOptions options;
    options.format = format;
    options.input.member = member;
    return options;
}

void addInputOptions(CLI::App& parser, InputChoice& choice)
{
    std::string names(files::kSessionFormat);
    for (const importers::Importer& importer : importers::builtinImporters())
        names += fmt::format(", {}", importer.name);
    parser.add_option("--input-format", choice.format, fmt::format("Read FILE as this format instead of finding out: {}", names));
    parser.add_option("--member", choice.member, "Of a zip or tar file: the file in it to read");
}

} // namespace stepscope::cli
