#include <QtTest>

#include "core/recording/clock.h"

#include <cmath>
#include <vector>

#include <time.h>

namespace stepscope::recording {

// Feeds the clock made-up calibration points.
class TickClockTest {
public:
    static void recalibrate(TickClock& clock, uint64_t ticksSinceOrigin, int64_t nsSinceOrigin)
    {
        clock.recalibrate({clock.m_origin.ticks + ticksSinceOrigin, clock.m_origin.monotonicNs + nsSinceOrigin});
    }
    static uint64_t origin(const TickClock& clock) { return clock.m_origin.ticks; }
};

} // namespace stepscope::recording

using namespace stepscope;
using recording::TickClock;
using recording::TickClockTest;

namespace {

int64_t monotonicNs()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

} // namespace

class TestTickClock : public QObject {
    Q_OBJECT
private slots:
    void agreesWithTheSystemClockOverAShortTime()
    {
        TickClock clock;
        const int64_t systemBegin = monotonicNs();
        const uint64_t begin = recording::ticks();
        while (monotonicNs() - systemBegin < 20'000'000) {}
        const uint64_t end = recording::ticks();
        const int64_t systemEnd = monotonicNs();
        const int64_t measured = clock.toNs(end) - clock.toNs(begin);
        // The system's interval lies around ours, up to 0.1 % of rate error.
        QVERIFY(measured <= (systemEnd - systemBegin) * 1.001);
        QVERIFY(measured >= 20'000'000 * 0.999 - 1000);
    }

    void aPassedTickKeepsItsTimeAndTimeNeverRunsBackwards()
    {
        TickClock clock;
        const double rate = 1 / clock.nsPerTick(); // ticks per ns
        const uint64_t origin = TickClockTest::origin(clock);
        std::vector<uint64_t> ticks;
        std::vector<base::TimeNs> times;
        for (int second = 1; second <= 60; ++second) {
            // The true clock runs up to 0.04 % faster or slower than measured at first.
            const double drift = 1 + 4e-4 * std::sin(second * 0.7);
            const auto now = static_cast<uint64_t>(second * 1e9 * rate);
            for (int i = 999; i >= 0; --i) {
                ticks.push_back(origin + now - static_cast<uint64_t>(i) * static_cast<uint64_t>(1e6 * rate));
                times.push_back(clock.toNs(ticks.back()));
            }
            TickClockTest::recalibrate(clock, now, static_cast<int64_t>(second * 1e9 * drift));
        }
        for (size_t i = 0; i < ticks.size(); ++i) {
            QCOMPARE(clock.toNs(ticks[i]), times[i]);
            if (i > 0) QVERIFY(times[i] >= times[i - 1]);
        }
    }

    void recalibrationConvergesToTheTrueRate()
    {
        if (!recording::detail::kUseTsc) QSKIP("this machine's counter is not used");
        TickClock clock;
        const double rate = 1 / clock.nsPerTick();
        for (int quarter = 1; quarter <= 40; ++quarter)
            TickClockTest::recalibrate(clock, static_cast<uint64_t>(quarter * 0.25e9 * rate),
                                       static_cast<int64_t>(quarter * 0.25e9 * 1.0001));
        const uint64_t end = TickClockTest::origin(clock) + static_cast<uint64_t>(10e9 * rate);
        // Without recalibration the error would be a million ns.
        QVERIFY(std::abs(static_cast<double>(clock.toNs(end)) - 10e9 * 1.0001) < 5000);
    }

    void theOriginIsNow()
    {
        TickClock clock;
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        const int64_t unixNs = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
        QVERIFY(std::abs(unixNs - clock.originUnixNs()) < 10'000'000'000);
        QVERIFY(clock.toNs(recording::ticks()) > 0);
        QVERIFY(clock.toNs(TickClockTest::origin(clock) - 1000) < 0);
    }
};

QTEST_GUILESS_MAIN(TestTickClock)
#include "tst_tick_clock.moc"
