#include "core/exporters/collapsed_exporter.h"

#include "core/exporters/output_file.h"
#include "core/exporters/stack_weights.h"

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

void appendName(std::string_view name, std::string& line)
{
    if (name.empty()) name = "[unknown]";
    for (const char c : name) {
        if (c == ';') line += ':';
        else line += c == '\n' || c == '\r' ? ' ' : c;
    }
}

} // namespace

base::Status exportCollapsed(const session::Session& session, const std::filesystem::path& path, bool replace,
                             std::stop_token stop, const base::Progress&)
{
    const StackWeights stacks = stackWeights(session);
    return writeOutput(path, replace, [&](OutputFile& file) -> base::Status {
        std::string line;
        for (uint32_t i = 0; i < stacks.nodes.size(); ++i) {
            if (stacks.self[i] == 0) continue;
            if (stop.stop_requested()) return cancelled();
            line.clear();
            for (const uint32_t node : stacks.path(i)) {
                if (!line.empty()) line += ';';
                appendName(stacks.nodes[node].name, line);
            }
            file.write(line);
            file.write(fmt::format(" {}\n", stacks.self[i]));
        }
        if (stacks.withoutStack != 0) file.write(fmt::format("[no stack] {}\n", stacks.withoutStack));
        return {};
    });
}

} // namespace stepscope::exporters
