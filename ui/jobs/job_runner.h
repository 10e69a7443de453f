// JobRunner: runs core functions on worker threads and hands their results to the UI thread.
// Owner: ui/jobs; the only thread code in ui. Thread: every function is called on the UI thread; `work` runs on a worker.
//
// Lifetime: a job belongs to a JobSlot. Starting another job in the slot, cancelling or destroying the slot asks the old
// job to stop and discards its result even if it is already on its way, so a view never sees a stale value.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace stepscope::jobs {

struct JobControl; // of one job

class JobSlot {
public:
    JobSlot() = default;
    ~JobSlot() { cancel(); }
    JobSlot(const JobSlot&) = delete;
    JobSlot& operator=(const JobSlot&) = delete;

    void cancel();
    bool busy() const { return m_control != nullptr; }

private:
    friend class JobRunner;
    std::shared_ptr<JobControl> m_control;
};

// What the status bar shows.
struct Activity {
    QString title;        // of the longest running visible job, empty when there is none
    double fraction = -1; // 0..1, negative when unknown
    QString detail;
};

class JobRunner : public QObject {
    Q_OBJECT
public:
    template <class T>
    using Work = std::function<base::Result<T>(std::stop_token, const base::Progress&)>;
    template <class T>
    using Done = std::function<void(base::Result<T>)>;

    explicit JobRunner(int threads = 2, QObject* parent = nullptr);
    ~JobRunner() override; // shutdown()

    // Runs `work` on a worker and then `done` on the UI thread, unless the slot was cancelled or reused. An exception of
    // `work` becomes an Error. A title makes the job visible in activity().
    template <class T>
    void start(JobSlot& slot, const QString& title, Work<T> work, Done<T> done)
    {
        auto result = std::make_shared<base::Result<T>>(base::fail(base::ErrorCode::internal, "The job did not run"));
        enqueue(
            slot, title,
            [result, work = std::move(work)](std::stop_token stop, const base::Progress& progress) {
                *result = work(stop, progress);
            },
            [result](base::Error error) { *result = base::fail(std::move(error)); },
            [result, done = std::move(done)] { done(std::move(*result)); });
    }

    // Drops the last reference on a worker: freeing a large session takes milliseconds that the UI thread must not pay.
    void dispose(std::shared_ptr<const void> value);

    Activity activity() const;
    int running() const; // jobs that wait or run, invisible ones too
    // Asks every job to stop, waits for them and discards their results. Later starts do nothing.
    void shutdown();

signals:
    void activityChanged(); // at most ten times a second

private:
    using Run = std::function<void(std::stop_token, const base::Progress&)>;
    void enqueue(JobSlot& slot, const QString& title, Run run, std::function<void(base::Error)> failed,
                 std::function<void()> deliver);
    void finished(const std::shared_ptr<JobControl>& control);

    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::jobs
