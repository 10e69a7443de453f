#include "core/onednn/tuning_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace stepscope::onednn {

namespace {

// Counts up with every change of what is tried, so that choices of an older program are made again.
constexpr const char* kFileHeader = "stepscope-tuning 2";

// Holds FILE.lock while alive. Where locking is impossible (a network without locks, no permission) it holds nothing: then
// two processes that save at once may lose choices, which are only made again.
class FileLock {
public:
    explicit FileLock(const std::string& path) : m_file(::open((path + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644))
    {
        if (m_file >= 0 && ::flock(m_file, LOCK_EX) != 0) {
            ::close(m_file);
            m_file = -1;
        }
    }
    ~FileLock()
    {
        if (m_file >= 0) ::close(m_file);
    }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    int m_file;
};

} // namespace

TuningMemory::TuningMemory(std::string path, std::string machine, Start start)
    : m_path(std::move(path)), m_machine(std::move(machine))
{
    if (start == Start::remembering) m_choices = readFile(m_path);
}

TuningMemory::~TuningMemory() { (void)save(); }

TuningMemory::Choices TuningMemory::readFile(const std::string& path)
{
    Choices choices;
    if (path.empty()) return choices;
    std::ifstream in(path);
    std::string line;
    if (!std::getline(in, line) || line != kFileHeader) return choices;
    while (std::getline(in, line)) { // "key<TAB>1 2 3"
        const size_t tab = line.find('\t');
        if (tab == std::string::npos) continue;
        std::istringstream numbers(line.substr(tab + 1));
        std::vector<int> choice;
        for (int value = 0; numbers >> value;) choice.push_back(value);
        if (!choice.empty()) choices.emplace(line.substr(0, tab), std::move(choice));
    }
    return choices;
}

std::optional<std::vector<int>> TuningMemory::find(const std::string& key) const
{
    const std::lock_guard lock(m_mutex);
    const auto it = m_choices.find(m_machine + key);
    if (it == m_choices.end()) return std::nullopt;
    return it->second;
}

void TuningMemory::store(const std::string& key, std::vector<int> choice)
{
    const std::lock_guard lock(m_mutex);
    m_choices[m_machine + key] = std::move(choice);
    m_new.insert(m_machine + key);
}

base::Status TuningMemory::save()
{
    const std::lock_guard lock(m_mutex);
    if (m_path.empty() || m_new.empty()) return {};
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(m_path).parent_path(), ignored);
    const FileLock fileLock(m_path);
    Choices merged = readFile(m_path);
    for (const std::string& key : m_new) merged[key] = m_choices[key];
    if (base::Status status = write(merged); !status) return status;
    m_new.clear();
    return {};
}

base::Status TuningMemory::write(const Choices& choices) const
{
    // Written beside and renamed, so that a process that only reads never sees half a file.
    const std::string partial = fmt::format("{}.{}", m_path, ::getpid());
    std::error_code error, ignored;
    std::ofstream out(partial);
    out << kFileHeader << '\n';
    for (const auto& [key, choice] : choices) out << key << '\t' << fmt::format("{}", fmt::join(choice, " ")) << '\n';
    out.close();
    if (out) std::filesystem::rename(partial, m_path, error);
    if (out && !error) return {};
    std::filesystem::remove(partial, ignored);
    return base::fail(base::ErrorCode::io,
                      fmt::format("the tuning memory could not be written{}{}", error ? ": " : "", error ? error.message() : ""),
                      {.file = m_path});
}

} // namespace stepscope::onednn
