#include "ui/state/workbench.h"

#include <QFile>
#include <QFileInfo>

namespace stepscope::state {

Workbench::Workbench(const Services& services, jobs::JobRunner& jobs, RecentFiles& recent, QObject* parent)
    : QObject(parent)
    , m_services(services)
    , m_jobs(jobs)
    , m_recent(recent)
{
}

Workbench::~Workbench() = default;

void Workbench::open(const QString& path) { openChecked(path, true); }

void Workbench::openWhole(const QString& path) { openChecked(path, false); }

void Workbench::openChecked(const QString& path, bool checkMemory)
{
    if (QFileInfo(path).suffix().compare(QLatin1String("jl"), Qt::CaseInsensitive) == 0) {
        emit modelRequested(path);
        return;
    }
    const auto tooLarge = checkMemory ? m_services.tooLarge : nullptr;
    startOpening(path, [tooLarge, open = m_services.openSession, file = path.toStdString()](
                           std::stop_token stop, const base::Progress& progress) -> base::Result<Opening> {
        if (tooLarge)
            if (std::optional<base::Error> why = tooLarge(file)) return Opening{nullptr, std::move(why)};
        return open(file, stop, progress).map([](session::SessionPtr session) { return Opening{std::move(session), {}}; });
    }, false);
    openFirstPart(path);
    emit openingChanged();
}

void Workbench::openPart(const QString& path, const importers::ImportOptions& part)
{
    m_firstPartSlot.cancel();
    leaveFirstPart();
    startOpening(path, [open = m_services.openPart, file = path.toStdString(), part](
                           std::stop_token stop, const base::Progress& progress) -> base::Result<Opening> {
        if (!open) return base::fail(base::ErrorCode::unsupported, "this program opens files whole");
        return open(file, part, stop, progress).map([](session::SessionPtr session) { return Opening{std::move(session), {}}; });
    }, true);
    emit openingChanged();
}

void Workbench::startOpening(const QString& path, Open open, bool part)
{
    m_openingPath = path;
    m_jobs.start<Opening>(m_openSlot, tr("Opening %1").arg(QFileInfo(path).fileName()), std::move(open),
                          [this, path, part](base::Result<Opening> result) { opened(std::move(result), path, part); });
}

void Workbench::openFirstPart(const QString& path)
{
    m_firstPartSlot.cancel();
    leaveFirstPart();
    if (!m_services.openFirstPart) return;
    m_jobs.start<session::SessionPtr>(
        m_firstPartSlot, {},
        [open = m_services.openFirstPart, file = path.toStdString()](std::stop_token stop, const base::Progress&) { return open(file, stop); },
        [this, path](base::Result<session::SessionPtr> result) {
            if (!result || *result == nullptr || !opening()) return;
            m_beforeFirstPart = m_session;
            m_pathBefore = m_path;
            m_firstPart = true;
            replace(std::move(*result), path);
            emit openingChanged();
        });
}

// Back to the session that was open before.
void Workbench::leaveFirstPart()
{
    if (!std::exchange(m_firstPart, false)) return;
    replace(std::exchange(m_beforeFirstPart, nullptr), std::exchange(m_pathBefore, {}));
}

void Workbench::opened(base::Result<Opening> result, const QString& path, bool part)
{
    m_firstPartSlot.cancel();
    if (!result || result->tooLarge) leaveFirstPart();
    emit openingChanged();
    if (result && result->tooLarge) {
        emit partSuggested(path, *result->tooLarge);
        return;
    }
    if (!result && part) {
        emit partSuggested(path, result.error());
        return;
    }
    if (!result) {
        m_recent.remove(path);
        emit failed(tr("%1 could not be opened").arg(QFileInfo(path).fileName()), result.error());
        return;
    }
    m_recent.add(path);
    show(std::move(result->session), path);
}

void Workbench::cancelOpening()
{
    const QString path = openingPath();
    m_openSlot.cancel();
    m_firstPartSlot.cancel();
    leaveFirstPart();
    emit openingChanged();
    if (!path.isEmpty()) emit openingCancelled(path);
}

void Workbench::show(session::SessionPtr session, const QString& path)
{
    m_firstPartSlot.cancel();
    m_firstPart = false;
    if (m_beforeFirstPart) m_jobs.dispose(std::exchange(m_beforeFirstPart, nullptr));
    replace(std::move(session), path);
}

void Workbench::replace(session::SessionPtr session, const QString& path)
{
    session::SessionPtr old = std::exchange(m_session, std::move(session));
    m_path = path;
    m_selectedLayer = {};
    emit sessionChanged();
    emit selectedLayerChanged();
    emit qualityChanged();
    m_jobs.dispose(std::move(old));
}

void Workbench::close()
{
    m_openSlot.cancel();
    show(nullptr, {});
    emit openingChanged();
}

void Workbench::saveAs(const QString& path)
{
    if (m_session == nullptr) return;
    if (isForeignSource(path)) {
        emit failed(tr("%1 was not saved").arg(QFileInfo(path).fileName()),
                    base::Error{base::ErrorCode::invalidArgument, "this is the file that the session was read from", {path.toStdString()},
                                "choose another name; the file of the other tool stays as it is"});
        return;
    }
    m_jobs.start<bool>(
        m_saveSlot, tr("Saving %1").arg(QFileInfo(path).fileName()),
        [save = m_services.saveSession, session = m_session, file = path.toStdString()](
            std::stop_token stop, const base::Progress& progress) -> base::Result<bool> {
            return save(*session, file, stop, progress).map([] { return true; });
        },
        [this, path, session = m_session](base::Result<bool> result) {
            if (!result) {
                emit failed(tr("%1 could not be saved").arg(QFileInfo(path).fileName()), result.error());
                return;
            }
            m_recent.add(path);
            if (session == m_session) {
                // The copy in the program's own folder has done its duty; saving has read all of it.
                const QString old = unsaved() ? m_path : QString();
                m_path = path;
                if (!old.isEmpty() && old != path && QFile::remove(old)) m_recent.remove(old);
            }
            emit saved(path);
        });
}

// The file of another tool that is shown: a session must not replace it.
bool Workbench::isForeignSource(const QString& path) const
{
    const QFileInfo source(m_path);
    return source.exists() && source.suffix() != QLatin1String("stepscope") && source == QFileInfo(path);
}

bool Workbench::unsaved() const
{
    return m_session != nullptr && !m_services.recordingsDirectory.empty()
        && QFileInfo(m_path).absolutePath() == QFileInfo(QString::fromStdString(m_services.recordingsDirectory)).absoluteFilePath();
}

std::vector<session::QualityRow> Workbench::quality() const
{
    return m_session == nullptr ? std::vector<session::QualityRow>() : m_session->quality();
}

void Workbench::setFilter(StepFilter filter)
{
    if (filter == m_filter) return;
    m_filter = filter;
    emit filterChanged();
}

void Workbench::selectLayer(base::LayerId layer)
{
    if (layer == m_selectedLayer) return;
    m_selectedLayer = layer;
    emit selectedLayerChanged();
}

void Workbench::setMeasuring(bool measuring)
{
    if (measuring == m_measuring) return;
    m_measuring = measuring;
    emit measuringChanged();
}

void Workbench::columnsLoaded() { emit qualityChanged(); }

} // namespace stepscope::state
