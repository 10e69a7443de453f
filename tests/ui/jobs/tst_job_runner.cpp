#include "ui/jobs/job_runner.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>
#include <QThread>
#include <QTimer>

#include <atomic>
#include <semaphore>
#include <stdexcept>

using namespace stepscope;
using jobs::JobRunner;
using jobs::JobSlot;

class TestJobRunner : public QObject {
    Q_OBJECT
private slots:
    void resultArrivesOnTheUiThread()
    {
        JobRunner runner;
        JobSlot slot;
        std::atomic<QThread*> worker = nullptr;
        QThread* receiver = nullptr;
        int value = 0;
        runner.start<int>(
            slot, "count",
            [&](std::stop_token, const base::Progress&) -> base::Result<int> {
                worker = QThread::currentThread();
                return 42;
            },
            [&](base::Result<int> result) {
                receiver = QThread::currentThread();
                value = *result;
            });
        QVERIFY(slot.busy());
        QTRY_COMPARE(value, 42);
        QCOMPARE(receiver, QThread::currentThread());
        QVERIFY(worker.load() != receiver);
        QVERIFY(!slot.busy());
        QCOMPARE(runner.running(), 0);
    }

    void aSecondJobInASlotReplacesTheFirst()
    {
        JobRunner runner;
        JobSlot slot;
        std::atomic<bool> started = false, stopped = false;
        QList<int> delivered;
        const auto done = [&](base::Result<int> result) { delivered << *result; };
        runner.start<int>(
            slot, {},
            [&](std::stop_token stop, const base::Progress&) -> base::Result<int> {
                started = true;
                while (!stop.stop_requested()) QThread::msleep(1);
                stopped = true;
                return 1;
            },
            done);
        QTRY_VERIFY(started);
        runner.start<int>(slot, {}, [](std::stop_token, const base::Progress&) -> base::Result<int> { return 2; }, done);
        QTRY_COMPARE(runner.running(), 0);
        QVERIFY(stopped);
        QCOMPARE(delivered, QList<int>{2});
    }

    void aFinishedResultOfACancelledSlotIsDiscarded()
    {
        JobRunner runner;
        std::atomic<bool> ran = false;
        bool delivered = false;
        {
            JobSlot slot;
            runner.start<int>(
                slot, {}, [&](std::stop_token, const base::Progress&) -> base::Result<int> { ran = true; return 1; },
                [&](base::Result<int>) { delivered = true; });
            QElapsedTimer guard;
            guard.start();
            while (!ran && guard.elapsed() < 10000) QThread::msleep(1);
            QThread::msleep(20); // the result is on its way, the event loop has not run
        }
        QTRY_COMPARE(runner.running(), 0);
        QVERIFY(ran);
        QVERIFY(!delivered);
    }

    void exceptionsBecomeErrors()
    {
        JobRunner runner;
        JobSlot slot;
        std::optional<base::Error> error;
        const auto done = [&](base::Result<int> result) { error = result.error(); };
        runner.start<int>(
            slot, {}, [](std::stop_token, const base::Progress&) -> base::Result<int> { throw std::runtime_error("boom"); }, done);
        QTRY_VERIFY(error.has_value());
        QCOMPARE(error->code, base::ErrorCode::internal);
        QVERIFY(error->message.find("boom") != std::string::npos);
        error.reset();
        runner.start<int>(slot, {}, [](std::stop_token, const base::Progress&) -> base::Result<int> { throw std::bad_alloc(); }, done);
        QTRY_VERIFY(error.has_value());
        QCOMPARE(error->code, base::ErrorCode::unavailable);
    }

    void progressIsVisible()
    {
        JobRunner runner;
        JobSlot slot;
        std::binary_semaphore go(0);
        bool done = false;
        runner.start<int>(
            slot, "Opening x",
            [&](std::stop_token, const base::Progress& progress) -> base::Result<int> {
                progress(0.25, "columns");
                go.acquire();
                return 0;
            },
            [&](base::Result<int>) { done = true; });
        QTRY_COMPARE(runner.activity().fraction, 0.25);
        QCOMPARE(runner.activity().title, QString("Opening x"));
        QCOMPARE(runner.activity().detail, QString("columns"));
        go.release();
        QTRY_VERIFY(done);
        QVERIFY(runner.activity().title.isEmpty());
    }

    // However long a job takes, the event loop goes on.
    void aSlowJobDoesNotBlockTheEventLoop()
    {
        JobRunner runner;
        JobSlot slot;
        std::binary_semaphore go(0);
        bool done = false;
        runner.start<int>(
            slot, "slow", [&](std::stop_token, const base::Progress&) -> base::Result<int> { go.acquire(); return 0; },
            [&](base::Result<int>) { done = true; });
        int ticks = 0;
        QTimer timer;
        connect(&timer, &QTimer::timeout, this, [&] { ++ticks; });
        timer.start(1);
        QTRY_VERIFY(ticks >= 20); // all of them while the job is stuck
        QVERIFY(!done);
        go.release();
        QTRY_VERIFY(done);
    }

    void shutdownStopsAndDeliversNothing()
    {
        JobRunner runner;
        JobSlot running, waiting1, waiting2;
        bool delivered = false;
        const auto work = [](std::stop_token stop, const base::Progress&) -> base::Result<int> {
            while (!stop.stop_requested()) QThread::msleep(1);
            return 0;
        };
        const auto done = [&](base::Result<int>) { delivered = true; };
        for (JobSlot* slot : {&running, &waiting1, &waiting2}) runner.start<int>(*slot, "wait", work, done);
        runner.shutdown();
        QCOMPARE(runner.running(), 0);
        runner.start<int>(running, "late", work, done);
        QCoreApplication::processEvents();
        QVERIFY(!delivered);
    }

    void lastReferencesAreDroppedOnAWorker()
    {
        JobRunner runner;
        std::atomic<QThread*> deletedBy = nullptr;
        std::shared_ptr<int> value(new int(1), [&](int* p) { deletedBy = QThread::currentThread(); delete p; });
        runner.dispose(std::move(value));
        QTRY_VERIFY(deletedBy.load() != nullptr);
        QVERIFY(deletedBy.load() != QThread::currentThread());
    }
};

QTEST_GUILESS_MAIN(TestJobRunner)
#include "tst_job_runner.moc"
