#include "ui/jobs/job_runner.h"

#include <QTimer>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace stepscope::jobs {

struct JobControl {
    QString title;
    std::stop_source stop;
    bool wanted = true; // UI thread only: whether the slot still waits for this job
    std::function<void(std::stop_token, const base::Progress&)> run;
    std::function<void(base::Error)> failed;
    std::function<void()> deliver;
    std::atomic<double> fraction{-1};
    std::mutex detailMutex;
    std::string detail;
};

namespace {

void runGuarded(JobControl& job, const base::Progress& progress)
{
    try {
        job.run(job.stop.get_token(), progress);
    } catch (const std::bad_alloc&) {
        job.failed({base::ErrorCode::unavailable, "Not enough memory", {}, "Close other programs or open a smaller file."});
    } catch (const std::exception& e) {
        job.failed({base::ErrorCode::internal, std::string("Unexpected failure: ") + e.what()});
    } catch (...) {
        job.failed({base::ErrorCode::internal, "Unexpected failure of an unknown kind"});
    }
}

} // namespace

struct JobRunner::Impl {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::deque<std::function<void()>> queue; // guarded by mutex
    std::vector<std::jthread> workers;

    // UI thread only
    std::vector<std::shared_ptr<JobControl>> jobs;
    QTimer* ticker = nullptr;
    bool closed = false;

    void push(std::function<void()> task)
    {
        {
            const std::lock_guard lock(mutex);
            queue.push_back(std::move(task));
        }
        wake.notify_one();
    }

    void work(const std::stop_token& stop)
    {
        while (true) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex);
                if (!wake.wait(lock, stop, [this] { return !queue.empty(); })) return;
                task = std::move(queue.front());
                queue.pop_front();
            }
            task();
        }
    }
};

void JobSlot::cancel()
{
    if (m_control == nullptr) return;
    m_control->wanted = false;
    m_control->stop.request_stop();
    m_control.reset();
}

JobRunner::JobRunner(int threads, QObject* parent)
    : QObject(parent)
    , m_impl(std::make_unique<Impl>())
{
    m_impl->ticker = new QTimer(this);
    m_impl->ticker->setInterval(100);
    connect(m_impl->ticker, &QTimer::timeout, this, &JobRunner::activityChanged);
    for (int i = 0; i < threads; ++i)
        m_impl->workers.emplace_back([impl = m_impl.get()](std::stop_token stop) { impl->work(stop); });
}

JobRunner::~JobRunner() { shutdown(); }

void JobRunner::shutdown()
{
    if (m_impl->closed) return;
    m_impl->closed = true;
    m_impl->ticker->stop();
    for (const auto& job : m_impl->jobs) {
        job->wanted = false;
        job->stop.request_stop();
    }
    for (std::jthread& worker : m_impl->workers) worker.request_stop();
    m_impl->workers.clear(); // joins
    m_impl->queue.clear();
    m_impl->jobs.clear();
}

void JobRunner::enqueue(JobSlot& slot, const QString& title, Run run, std::function<void(base::Error)> failed,
                        std::function<void()> deliver)
{
    slot.cancel();
    if (m_impl->closed) return;
    auto control = std::make_shared<JobControl>();
    control->title = title;
    control->run = std::move(run);
    control->failed = std::move(failed);
    // Only the control that the slot still holds may deliver, so `slot` is alive whenever it is touched.
    control->deliver = [deliver = std::move(deliver), &slot] {
        slot.m_control.reset();
        deliver();
    };
    slot.m_control = control;
    m_impl->jobs.push_back(control);
    if (!m_impl->ticker->isActive()) m_impl->ticker->start();

    m_impl->push([this, control] {
        const base::Progress progress = [job = control.get()](double fraction, std::string_view what) {
            job->fraction.store(fraction, std::memory_order_relaxed);
            const std::lock_guard lock(job->detailMutex);
            job->detail = what;
        };
        if (!control->stop.stop_requested()) runGuarded(*control, progress);
        control->run = nullptr; // what the work captured dies on the worker
        QMetaObject::invokeMethod(this, [this, control] { finished(control); }, Qt::QueuedConnection);
    });
}

void JobRunner::finished(const std::shared_ptr<JobControl>& control)
{
    std::erase(m_impl->jobs, control);
    if (m_impl->jobs.empty()) m_impl->ticker->stop();
    emit activityChanged();
    const auto deliver = std::move(control->deliver);
    if (control->wanted) deliver();
}

void JobRunner::dispose(std::shared_ptr<const void> value)
{
    if (value == nullptr || m_impl->closed) return;
    m_impl->push([holder = std::make_shared<std::shared_ptr<const void>>(std::move(value))] { holder->reset(); });
}

Activity JobRunner::activity() const
{
    for (const auto& job : m_impl->jobs) {
        if (job->title.isEmpty() || !job->wanted) continue;
        const std::lock_guard lock(job->detailMutex);
        return {job->title, job->fraction.load(std::memory_order_relaxed), QString::fromStdString(job->detail)};
    }
    return {};
}

int JobRunner::running() const { return static_cast<int>(m_impl->jobs.size()); }

} // namespace stepscope::jobs
