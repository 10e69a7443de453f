// Samples: the stack samples of the open session, or of the run that is being measured, through the one filter that
// the flame graph, the tree and the flat table share.
// Owner: ui/state; the Workbench holds it. Thread: UI thread; profiles are made in jobs.
#pragma once

#include "core/analysis/sample_filter.h"
#include "core/base/error.h"
#include "ui/jobs/job_runner.h"
#include "ui/state/history.h"

#include <QObject>

#include <memory>

namespace stepscope::present {
struct SampleView;
}

namespace stepscope::state {

class Workbench;

class Samples : public QObject {
    Q_OBJECT
public:
    using ViewPtr = std::shared_ptr<const present::SampleView>;

    explicit Samples(Workbench& workbench);
    ~Samples() override;

    // The session whose samples are shown: the live one while a run delivers them, else the open one; may be null.
    const session::SessionPtr& session() const { return m_live != nullptr ? m_live : m_session; }
    bool live() const { return m_live != nullptr; }
    bool available() const { return session() != nullptr && !session()->series().empty(); }
    const ViewPtr& view() const { return m_view; } // null until it is made

    const analysis::SampleFilter& filter() const { return m_history.current(); }
    void setFilter(const analysis::SampleFilter& filter);
    void resetFilter(); // keeps the series
    bool filtered() const;
    bool canUndo() const { return m_history.canUndo(); }
    bool canRedo() const { return m_history.canRedo(); }
    void undo();
    void redo();
    // Callers or callees of a function, or the whole tree again.
    void showFunction(base::StringId function, analysis::SampleShape shape);

    // Whether the flame graph shows samples instead of spans.
    bool inFlame() const { return m_inFlame; }
    void setInFlame(bool on);

    base::StringId selectedFunction() const { return m_selected; }
    void selectFunction(base::StringId function);

    // A later state of the run that is being measured; null ends it. The views keep their places.
    void setLive(session::SessionPtr session);

signals:
    void availableChanged(); // another session, or its first samples
    void filterChanged();
    void viewChanged();
    void inFlameChanged();
    void selectedFunctionChanged();

private:
    void sessionChanged();
    void rebuild();
    void resetReferences();

    Workbench& m_workbench;
    session::SessionPtr m_session, m_live;
    ViewPtr m_view;
    History<analysis::SampleFilter> m_history;
    bool m_inFlame = false;
    bool m_again = false; // something changed while a live state was added up
    base::StringId m_selected;
    jobs::JobSlot m_job;
};

} // namespace stepscope::state
