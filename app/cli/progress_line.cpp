#include "app/cli/progress_line.h"

#include "app/cli/console.h"
#include "core/present/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <unistd.h>

namespace stepscope::cli {

namespace {

constexpr auto kLineInterval = std::chrono::seconds(2);
constexpr int kBarCells = 20;

// Cuts after `width` characters of UTF-8.
std::string cut(const std::string& text, int width)
{
    int used = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 && ++used > width) return text.substr(0, i);
    }
    return text;
}

} // namespace

std::string progressText(const engine::TrainStatus& status, int width)
{
    std::string text;
    if (status.fraction >= 0 && std::isfinite(status.fraction)) {
        const double fraction = std::min(1.0, status.fraction);
        const int filled = static_cast<int>(fraction * kBarCells);
        text = fmt::format("[{}{}] {:3} %", std::string(static_cast<size_t>(filled), '#'),
            std::string(static_cast<size_t>(kBarCells - filled), '.'), static_cast<int>(fraction * 100));
    }
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "  ") + part; };
    if (status.step == 0) {
        if (!status.activity.empty()) add(printable(status.activity));
        return cut(text, width);
    }
    add(status.totalSteps > 0 ? fmt::format("step {}/{}", status.step, status.totalSteps) : fmt::format("step {}", status.step));
    if (status.medianStepNs > 0) add(present::formatTime(status.medianStepNs) + "/step");
    if (status.samplesPerSecond > 0) add(present::formatCount(std::llround(status.samplesPerSecond)) + " samples/s");
    if (std::isfinite(status.loss)) add("loss " + present::formatNumber(status.loss));
    if (status.testAccuracy) add("test accuracy " + present::formatShare(*status.testAccuracy));
    if (!status.activity.empty() && status.activity != "training") add(printable(status.activity));
    return cut(text, width);
}

ProgressLine::ProgressLine(bool quiet)
    : m_quiet(quiet)
    , m_terminal(isTerminal(STDERR_FILENO))
{
}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(const engine::TrainStatus& status)
{
    const std::lock_guard lock(m_mutex);
    m_status = status;
    m_changed = true;
}

engine::TrainStatus ProgressLine::last() const
{
    const std::lock_guard lock(m_mutex);
    return m_status;
}

void ProgressLine::draw()
{
    if (m_quiet) return;
    engine::TrainStatus status;
    {
        const std::lock_guard lock(m_mutex);
        if (!m_changed) return;
        if (!m_terminal && Clock::now() < m_nextLine) return;
        m_changed = false;
        status = m_status;
    }
    const std::string text = progressText(status, m_terminal ? terminalWidth(STDERR_FILENO, 100) - 1 : 1000);
    if (text.empty() || text == m_lastText) return;
    m_lastText = text;
    if (m_terminal) {
        std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
        m_drawn = true;
    } else {
        std::fprintf(stderr, "%s\n", text.c_str());
        m_nextLine = Clock::now() + kLineInterval;
    }
    std::fflush(stderr);
}

void ProgressLine::clear()
{
    if (!m_drawn) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    m_drawn = false;
    m_lastText.clear();
}

} // namespace stepscope::cli
