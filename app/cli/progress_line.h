// ProgressLine: how far a run is: redrawn in place on a terminal, a plain line every two seconds elsewhere.
// Owner: app/cli. Thread: update() from any thread, the rest from main.
#pragma once

#include "core/engine/trainer.h"

#include <chrono>
#include <mutex>
#include <string>

namespace stepscope::cli {

// "[#####.....]  45 %  step 421/938  1.234 ms/step  51_900 samples/s  loss 0.4321", at most `width` columns.
std::string progressText(const engine::TrainStatus& status, int width);

class ProgressLine {
public:
    explicit ProgressLine(bool quiet);
    ~ProgressLine(); // clears a drawn line

    void update(const engine::TrainStatus& status); // quick: keeps a copy
    void draw();                                    // when something changed
    void clear();                                   // before other output
    engine::TrainStatus last() const;

private:
    using Clock = std::chrono::steady_clock;

    const bool m_quiet;
    const bool m_terminal;
    mutable std::mutex m_mutex;
    engine::TrainStatus m_status; // guarded
    bool m_changed = false;       // guarded
    bool m_drawn = false;
    std::string m_lastText;
    Clock::time_point m_nextLine{};
};

} // namespace stepscope::cli
