#include "tests/architecture/include_rules.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <set>

namespace stepscope::architecture {

namespace fs = std::filesystem;

namespace {

struct Include {
    std::string target; // "core/base/ids.h" or "vector"
    bool quoted = false;
};

// The include of a line, also after blanks and with blanks after '#'.
std::optional<Include> parseInclude(const std::string& line)
{
    size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || line[at] != '#') return {};
    at = line.find_first_not_of(" \t", at + 1);
    if (at == std::string::npos || line.compare(at, 7, "include") != 0) return {};
    const size_t open = line.find_first_of("\"<", at + 7);
    if (open == std::string::npos) return {};
    const size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close == std::string::npos) return {};
    return Include{line.substr(open + 1, close - open - 1), line[open] == '"'};
}

// "core/base/sub/x.h" -> "core/base"; a file directly in a part -> the part.
std::string folderOf(const std::string& path)
{
    const size_t first = path.find('/');
    if (first == std::string::npos) return {};
    const size_t second = path.find('/', first + 1);
    return path.substr(0, second == std::string::npos ? first : second);
}

bool within(const std::string& path, const std::string& place)
{
    return path == place || path.compare(0, place.size() + 1, place + "/") == 0;
}

bool startsWith(const std::string& text, const std::string& start)
{
    return text.compare(0, start.size(), start) == 0;
}

bool isSource(const fs::path& path)
{
    static const std::set<std::string> suffixes = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh", ".inc"};
    return suffixes.count(path.extension().string()) > 0;
}

class Checker {
public:
    Checker(const fs::path& root, const Rules& rules)
        : m_root(root)
        , m_rules(rules)
        , m_deviationUsed(rules.deviations.size(), false)
    {
    }

    Report run()
    {
        for (const char* part : {"core", "gpu", "ui", "app"}) {
            if (!fs::is_directory(m_root / part)) continue;
            for (const auto& entry : fs::recursive_directory_iterator(m_root / part)) {
                if (entry.is_regular_file() && isSource(entry.path()))
                    m_files.push_back(fs::relative(entry.path(), m_root).generic_string());
            }
        }
        std::sort(m_files.begin(), m_files.end());
        for (const std::string& file : m_files)
            checkFile(file);
        checkCycles();
        for (size_t i = 0; i < m_deviationUsed.size(); ++i) {
            if (!m_deviationUsed[i]) m_report.unusedDeviations.push_back(m_rules.deviations[i]);
        }
        m_report.files = static_cast<int>(m_files.size());
        return std::move(m_report);
    }

private:
    void violate(const std::string& file, int line, std::string text)
    {
        m_report.violations.push_back({file, line, std::move(text)});
    }

    void checkFile(const std::string& file)
    {
        if (m_rules.allowed.count(folderOf(file)) == 0) violate(file, 0, "the folder is not in the table of rules");
        std::ifstream stream(m_root / file);
        if (!stream) return violate(file, 0, "cannot be read");
        std::string line;
        int number = 0;
        while (std::getline(stream, line)) {
            ++number;
            if (const auto include = parseInclude(line)) checkInclude(file, number, *include);
        }
        const bool excused = std::any_of(m_rules.longFiles.begin(), m_rules.longFiles.end(),
                                         [&](const LongFile& known) { return known.file == file; });
        if (number > m_rules.maxLines && !excused) {
            violate(file, 0,
                    std::to_string(number) + " lines, more than " + std::to_string(m_rules.maxLines) + ": split it");
        }
    }

    void checkInclude(const std::string& file, int line, const Include& include)
    {
        checkForeign(file, line, include.target);
        const bool ours = startsWith(include.target, "core/") || startsWith(include.target, "gpu/")
            || startsWith(include.target, "ui/") || startsWith(include.target, "app/");
        if (!ours) {
            const bool generated =
                include.target.size() > 4 && include.target.substr(include.target.size() - 4) == ".moc";
            if (startsWith(include.target, "tests/"))
                violate(file, line, "the product includes a header of the tests");
            else if (include.quoted && !generated)
                violate(file, line, "\"" + include.target + "\" is not written from the root");
            return;
        }
        ++m_report.includes;
        if (!include.quoted) violate(file, line, "<" + include.target + "> is ours: use quotes");
        if (!fs::exists(m_root / include.target)) violate(file, line, "\"" + include.target + "\" does not exist");

        const std::string from = folderOf(file);
        const std::string to = folderOf(include.target);
        if (from == to) return;
        m_edges[from].insert(to);
        if (!mayInclude(from, include.target)) violate(file, line, from + " may not include " + include.target);
    }

    bool mayInclude(const std::string& from, const std::string& target)
    {
        const auto row = m_rules.allowed.find(from);
        if (row == m_rules.allowed.end()) return true; // reported once per file already
        if (std::any_of(row->second.begin(), row->second.end(),
                        [&](const std::string& place) { return within(target, place); })) {
            return true;
        }
        for (size_t i = 0; i < m_rules.deviations.size(); ++i) {
            const Deviation& deviation = m_rules.deviations[i];
            if (deviation.folder != from || !within(target, deviation.mayInclude)) continue;
            m_deviationUsed[i] = true;
            return true;
        }
        return false;
    }

    void checkForeign(const std::string& file, int line, const std::string& target)
    {
        for (const ForeignHeader& foreign : m_rules.foreign) {
            const bool matches = std::any_of(foreign.startsWith.begin(), foreign.startsWith.end(),
                                             [&](const std::string& start) { return startsWith(target, start); });
            if (!matches) continue;
            const bool fine = std::any_of(foreign.allowedIn.begin(), foreign.allowedIn.end(),
                                          [&](const std::string& place) { return within(file, place); });
            if (!fine) violate(file, line, foreign.what + " header " + target + " outside its folders");
        }
    }

    // Depth-first search; a folder met again while it is on the path closes a cycle.
    void checkCycles()
    {
        std::set<std::string> done;
        std::vector<std::string> path;
        const std::function<void(const std::string&)> visit = [&](const std::string& folder) {
            const auto met = std::find(path.begin(), path.end(), folder);
            if (met != path.end()) {
                std::string text = "cycle: ";
                for (auto at = met; at != path.end(); ++at)
                    text += *at + " -> ";
                violate(folder, 0, text + folder);
                return;
            }
            if (!done.insert(folder).second) return;
            path.push_back(folder);
            for (const std::string& next : m_edges[folder])
                visit(next);
            path.pop_back();
        };
        std::vector<std::string> folders;
        for (const auto& edge : m_edges)
            folders.push_back(edge.first);
        for (const std::string& folder : folders)
            visit(folder);
    }

    fs::path m_root;
    const Rules& m_rules;
    std::vector<std::string> m_files;
    std::map<std::string, std::set<std::string>> m_edges;
    std::vector<bool> m_deviationUsed;
    Report m_report;
};

} // namespace

Report check(const fs::path& root, const Rules& rules)
{
    return Checker(root, rules).run();
}

} // namespace stepscope::architecture
