// stepscope: the command line.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_code.h"
#include "core/recording/process_setup.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

namespace {

using namespace stepscope;

constexpr const char* kFooter = R"(Examples:
  stepscope info lenet.jl                         what the model is: shapes, parameters, FLOP
  stepscope record lenet.jl --steps 500           train it and record every step
  stepscope time lenet.jl                         one step, cold and warm, as Julia's @time tells it
  stepscope report lenet.stepscope                where the time of a step goes
  stepscope report lenet.stepscope --by layer     the same by layer
  stepscope convert lenet.stepscope lenet.sqlite  plain rows for SQL

Exit codes:
  0 done    1 the run or the writing failed    2 wrong arguments    3 bad input file
  4 not available on this machine (the backend refused)    130 interrupted before anything was saved

`stepscope COMMAND --help` tells more about a command.)";

int usageError(const CLI::App& app, const CLI::ParseError& problem)
{
    base::Error error;
    error.code = base::ErrorCode::invalidArgument;
    error.message = problem.what();
    const auto chosen = app.get_subcommands();
    error.hint = chosen.empty() ? "stepscope --help lists the commands" : "see stepscope " + chosen.front()->get_name() + " --help";
    cli::printError(error);
    return cli::kUsage;
}

int unknownCommand(const std::vector<cli::Command>& commands, const std::string& name)
{
    std::string known;
    for (const cli::Command& command : commands)
        known += (known.empty() ? "" : ", ") + command.parser->get_name();
    cli::printError({base::ErrorCode::invalidArgument, "there is no command '" + cli::printable(name) + "'", {}, "the commands are " + known});
    return cli::kUsage;
}

int run(int argc, char** argv)
{
    CLI::App app("Shows where every training step of a neural network spends its time.", "stepscope");
    app.set_version_flag("--version", "stepscope " STEPSCOPE_VERSION);
    app.footer(kFooter);
    app.require_subcommand(1);
    const std::vector<cli::Command> commands = cli::addBuiltinCommands(app);
    if (argc == 1) {
        std::fputs(app.help().c_str(), stderr);
        return cli::kUsage;
    }
    const std::string first = argv[1];
    const bool known = std::any_of(commands.begin(), commands.end(), [&](const cli::Command& command) { return command.parser->get_name() == first; });
    if (!known && (first.empty() || first[0] != '-')) return unknownCommand(commands, first);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        if (problem.get_exit_code() == 0) return app.exit(problem); // help and version
        return usageError(app, problem);
    }
    for (const cli::Command& command : commands)
        if (command.parser->parsed()) return command.run();
    return cli::kUsage;
}

} // namespace

int main(int argc, char** argv)
{
    recording::prepareProcess(); // before any other thread
    try {
        return run(argc, argv);
    } catch (const std::exception& problem) {
        cli::printError({base::ErrorCode::internal, problem.what()});
        return cli::kFailed;
    }
}
