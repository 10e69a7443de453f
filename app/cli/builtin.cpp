#include "app/cli/command.h"

namespace stepscope::cli {

std::vector<Command> addBuiltinCommands(CLI::App& app)
{
    return {addRecordCommand(app), addReportCommand(app), addTimeCommand(app), addInfoCommand(app), addConvertCommand(app)};
}

} // namespace stepscope::cli
