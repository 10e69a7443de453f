#include "ui/state/samples.h"

#include "core/present/sample_view.h"
#include "ui/state/workbench.h"

#include <sched.h>

namespace stepscope::state {

namespace {

// While a run is measured its views must not take the processor from it: such a job runs when nothing else wants to.
class IdlePriority {
public:
    explicit IdlePriority(bool on) : m_on(on)
    {
        if (m_on) set(SCHED_IDLE);
    }
    ~IdlePriority()
    {
        if (m_on) set(SCHED_OTHER);
    }
    IdlePriority(const IdlePriority&) = delete;
    IdlePriority& operator=(const IdlePriority&) = delete;

private:
    static void set(int policy)
    {
        const sched_param none{};
        ::sched_setscheduler(0, policy, &none); // of this thread; without effect where it is forbidden
    }
    bool m_on;
};

} // namespace

Samples::Samples(Workbench& workbench)
    : m_workbench(workbench)
{
    connect(&m_workbench, &Workbench::sessionChanged, this, &Samples::sessionChanged);
    connect(&m_workbench, &Workbench::filterChanged, this, &Samples::rebuild);
}

Samples::~Samples() = default;

void Samples::sessionChanged()
{
    if (m_session == m_workbench.session()) return;
    m_session = m_workbench.session();
    if (m_live != nullptr) return;
    resetReferences();
    // Files of profilers have nothing but samples.
    const bool onlySamples = available() && m_session->spanCount() == 0;
    if (onlySamples != m_inFlame && (onlySamples || !available())) setInFlame(onlySamples);
    emit availableChanged();
    emit filterChanged();
    rebuild();
}

// Ids mean something within their session only.
void Samples::resetReferences()
{
    analysis::SampleFilter next = filter();
    next.spans = {};
    next.series = {};
    next.layers.clear();
    next.function = {};
    if (next.shape == analysis::SampleShape::callers || next.shape == analysis::SampleShape::callees) next.shape = analysis::SampleShape::topDown;
    m_history.reset(next);
    m_selected = {};
    emit selectedFunctionChanged();
}

void Samples::setFilter(const analysis::SampleFilter& filter)
{
    if (filter == m_history.current()) return;
    m_history.go(filter);
    emit filterChanged();
    rebuild();
}

void Samples::resetFilter()
{
    analysis::SampleFilter plain;
    plain.series = filter().series;
    setFilter(plain);
}

bool Samples::filtered() const
{
    analysis::SampleFilter plain;
    plain.series = filter().series;
    return !(plain == filter());
}

void Samples::undo()
{
    if (!m_history.undo()) return;
    emit filterChanged();
    rebuild();
}

void Samples::redo()
{
    if (!m_history.redo()) return;
    emit filterChanged();
    rebuild();
}

void Samples::showFunction(base::StringId function, analysis::SampleShape shape)
{
    analysis::SampleFilter next = filter();
    next.function = function;
    next.shape = shape;
    setFilter(next);
}

void Samples::setInFlame(bool on)
{
    if (on == m_inFlame) return;
    m_inFlame = on;
    emit inFlameChanged();
}

void Samples::selectFunction(base::StringId function)
{
    if (function == m_selected) return;
    m_selected = function;
    emit selectedFunctionChanged();
}

void Samples::setLive(session::SessionPtr session)
{
    const bool wasAvailable = available(), wasLive = live();
    if (session == m_live) return;
    session::SessionPtr old = std::exchange(m_live, std::move(session));
    m_workbench.jobs().dispose(std::move(old));
    if (live() != wasLive) resetReferences();
    if (live() != wasLive || available() != wasAvailable) emit availableChanged();
    rebuild();
}

void Samples::rebuild()
{
    const session::SessionPtr session = this->session();
    if (!available()) {
        m_job.cancel();
        m_workbench.jobs().dispose(std::exchange(m_view, nullptr));
        emit viewChanged();
        return;
    }
    if (live() && m_job.busy()) { // a state every half second must not starve the one before
        m_again = true;
        return;
    }
    m_again = false;
    analysis::SampleFilter wanted = filter();
    wanted.spans.includeWarmup = m_workbench.filter().includeWarmup;
    m_workbench.jobs().start<ViewPtr>(
        m_job, live() ? QString() : tr("Merging stacks"),
        [session, wanted, idle = live()](std::stop_token stop, const base::Progress& progress) -> base::Result<ViewPtr> {
            const IdlePriority priority(idle);
            return std::make_shared<const present::SampleView>(analysis::sampleProfile(session, wanted, stop, progress));
        },
        [this](base::Result<ViewPtr> view) {
            ViewPtr old = std::exchange(m_view, view ? *view : nullptr);
            emit viewChanged();
            m_workbench.jobs().dispose(std::move(old));
            if (!view) emit m_workbench.failed(tr("The samples could not be added up"), view.error());
            else m_workbench.columnsLoaded();
            if (m_again) rebuild();
        });
}

} // namespace stepscope::state
