// TuningMemory: remembers which choice won.
// Owner: core/onednn. Thread: any (locked).
//
// Timed choices differ from run to run, and with them the last bits of every result. A choice is therefore remembered by a key
// that describes the problem, in memory and, when a file is given, across processes: later runs on the same machine use the
// same primitives, start faster and give the same bits.
#pragma once

#include "core/base/result.h"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stepscope::onednn {

class TuningMemory {
public:
    // What is in the file at the beginning: taken over, or left alone so that everything is timed anew.
    enum class Start { remembering, fresh };

    // A foreign or damaged file is ignored and replaced. Path "" = in memory only. `machine` names what the choices depend on
    // besides the problem: library version, instruction set, processor.
    TuningMemory(std::string path, std::string machine, Start start = Start::remembering);
    ~TuningMemory(); // saves what is new, if it can

    std::optional<std::vector<int>> find(const std::string& key) const;
    void store(const std::string& key, std::vector<int> choice);
    // Adds what is new to the file. Choices that other processes have saved meanwhile stay. Error: io, with the path.
    base::Status save();

private:
    using Choices = std::map<std::string, std::vector<int>>;
    static Choices readFile(const std::string& path);
    base::Status write(const Choices& choices) const;

    std::string m_path;
    std::string m_machine;
    mutable std::mutex m_mutex;
    Choices m_choices;
    std::set<std::string> m_new; // keys stored since the last save
};

} // namespace stepscope::onednn
