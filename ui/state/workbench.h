// Workbench: the open session, what is selected in it, and whether a run is being measured. Views read it and listen to
// its signals; they do not talk to each other.
// Owner: ui/state. Thread: UI thread; files are read and written in jobs.
#pragma once

#include "core/base/error.h"
#include "core/session/session.h"
#include "ui/jobs/job_runner.h"
#include "ui/state/recent_files.h"
#include "ui/state/samples.h"
#include "ui/state/services.h"
#include "ui/state/span_selection.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <functional>
#include <optional>
#include <vector>

namespace stepscope::state {

// Which steps the views look at.
struct StepFilter {
    bool includeWarmup = false;
    friend bool operator==(const StepFilter&, const StepFilter&) = default;
};

class Workbench : public QObject {
    Q_OBJECT
public:
    Workbench(const Services& services, jobs::JobRunner& jobs, RecentFiles& recent, QObject* parent = nullptr);
    ~Workbench() override;

    const Services& services() const { return m_services; }
    jobs::JobRunner& jobs() { return m_jobs; }
    RecentFiles& recent() { return m_recent; }
    Samples& samples() { return m_samples; }
    SpanSelection& spans() { return m_spans; }

    // Opens a session file or a trace, or hands a model file (.jl) to the run panel by modelRequested(). The session that
    // is open stays until the new one is read, or until the first part of a large trace is; a failure leaves it in place.
    void open(const QString& path);
    // The same without a look at the memory that it will need.
    void openWhole(const QString& path);
    // Only a part of a trace.
    void openPart(const QString& path, const importers::ImportOptions& part);
    // Several files become one session, with a group of tracks each. One of them that cannot be read is a failure of all.
    void openTogether(const QStringList& paths);
    void cancelOpening();
    bool opening() const { return m_openSlot.busy(); }
    // What is shown is the first part of a trace that is still being read.
    bool showsFirstPart() const { return m_firstPart; }
    QStringList openingFiles() const { return opening() ? m_openingFiles : QStringList(); }
    // Shows a session that is already in memory; `path` may be empty.
    void show(session::SessionPtr session, const QString& path);
    // Fails without a change where `path` is the file of another tool that the session was imported from.
    void saveAs(const QString& path);
    bool saving() const { return m_saveSlot.busy(); }
    void close();

    const session::SessionPtr& session() const { return m_session; }
    QString path() const { return m_path; } // empty where the session is of several files
    QStringList files() const { return m_files; } // those that the session was read from
    static QString namesOf(const QStringList& files); // "rank0.json and 2 more"
    QString title() const;                        // name of the file, "rank0 and 2 more"; empty without a name
    // A recording that is only in the program's own folder so far.
    bool unsaved() const;
    std::vector<session::QualityRow> quality() const; // empty without a session

    StepFilter filter() const { return m_filter; }
    void setFilter(StepFilter filter);

    base::LayerId selectedLayer() const { return m_selectedLayer; }
    void selectLayer(base::LayerId layer);

    // While a run is measured the window repaints as little as it can.
    bool measuring() const { return m_measuring; }
    void setMeasuring(bool measuring);

    // Asks for a place in a source file to be shown in the user's editor; the window does it.
    void openSource(const QString& file, int line) { emit sourceRequested(file, line); }

    // Re-reads quality: loading the columns may have found damage.
    void columnsLoaded();

signals:
    void sessionChanged();
    void openingChanged();
    void openingCancelled(const QStringList& files); // by the user
    // The memory will not bear the whole file, or the part that was chosen could not be opened: nothing was, and another
    // part may do.
    void partSuggested(const QString& path, const stepscope::base::Error& error);
    void saved(const QString& path);
    void failed(const QString& what, const stepscope::base::Error& error);
    void filterChanged();
    void selectedLayerChanged();
    void measuringChanged();
    void qualityChanged();
    void modelRequested(const QString& path);
    void sourceRequested(const QString& file, int line);

private:
    struct Opening {
        session::SessionPtr session;
        std::optional<base::Error> tooLarge;
    };
    using Open = std::function<base::Result<Opening>(std::stop_token, const base::Progress&)>;
    static Opening asOpening(session::SessionPtr session);
    void startOpening(const QStringList& files, Open open, bool part);
    void openChecked(const QString& path, bool checkMemory);
    bool isForeignSource(const QString& path) const;
    void opened(base::Result<Opening> result, const QStringList& files, bool part);
    void openFirstPart(const QStringList& files);
    void leaveFirstPart();
    void showFiles(session::SessionPtr session, const QStringList& files);
    void replace(session::SessionPtr session, const QStringList& files);

    const Services m_services;
    jobs::JobRunner& m_jobs;
    RecentFiles& m_recent;
    jobs::JobSlot m_openSlot, m_firstPartSlot, m_saveSlot;
    session::SessionPtr m_session;
    QString m_path;
    QStringList m_files, m_openingFiles;
    StepFilter m_filter;
    base::LayerId m_selectedLayer;
    bool m_measuring = false;
    Samples m_samples{*this};
    SpanSelection m_spans{*this};
    bool m_firstPart = false;
    session::SessionPtr m_beforeFirstPart; // comes back when the rest cannot be read or is not wanted
    QStringList m_filesBefore;
};

} // namespace stepscope::state
