// Command: one subcommand of `stepscope`. Each lives in its own file and is listed in builtin.cpp.
// Owner: app/cli. Thread: main.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <vector>

namespace stepscope::cli {

struct Command {
    CLI::App* parser = nullptr;
    std::function<int()> run; // returns the exit code; called when the user chose this command
};

// Every add function registers its subcommand with options, help and examples.
Command addRecordCommand(CLI::App& app);
Command addReportCommand(CLI::App& app);
Command addTimeCommand(CLI::App& app);
Command addInfoCommand(CLI::App& app);
Command addConvertCommand(CLI::App& app);

std::vector<Command> addBuiltinCommands(CLI::App& app);

} // namespace stepscope::cli
