#include "ui/state/workbench.h"

#include <QFile>
#include <QFileInfo>

#include <algorithm>

namespace stepscope::state {

namespace {

bool isModel(const QString& path) { return QFileInfo(path).suffix().compare(QLatin1String("jl"), Qt::CaseInsensitive) == 0; }

} // namespace

QString Workbench::namesOf(const QStringList& files)
{
    const QString first = QFileInfo(files.value(0)).fileName();
    return files.size() < 2 ? first : tr("%1 and %n more", nullptr, static_cast<int>(files.size()) - 1).arg(first);
}

Workbench::Workbench(const Services& services, jobs::JobRunner& jobs, RecentFiles& recent, QObject* parent)
    : QObject(parent)
    , m_services(services)
    , m_jobs(jobs)
    , m_recent(recent)
{
}

Workbench::~Workbench() = default;

Workbench::Opening Workbench::asOpening(session::SessionPtr session) { return {std::move(session), {}}; }

void Workbench::open(const QString& path) { openChecked(path, true); }

void Workbench::openWhole(const QString& path) { openChecked(path, false); }

void Workbench::openChecked(const QString& path, bool checkMemory)
{
    if (isModel(path)) {
        emit modelRequested(path);
        return;
    }
    std::vector<std::string> one{path.toStdString()};
    const auto tooLarge = checkMemory ? m_services.tooLarge : nullptr;
    startOpening({path}, [tooLarge, open = m_services.openSession, one](std::stop_token stop, const base::Progress& progress) -> base::Result<Opening> {
        if (tooLarge)
            if (std::optional<base::Error> why = tooLarge(one)) return Opening{nullptr, std::move(why)};
        return open(one.front(), stop, progress).map(asOpening);
    }, false);
    openFirstPart({path});
    emit openingChanged();
}

void Workbench::openTogether(const QStringList& paths)
{
    if (paths.isEmpty()) return;
    if (paths.size() == 1) return open(paths.front());
    const auto model = std::find_if(paths.begin(), paths.end(), isModel);
    if (model != paths.end() || !m_services.openTogether) {
        const QString why = model != paths.end() ? tr("%1 is a model, which is opened alone").arg(QFileInfo(*model).fileName())
                                                 : tr("only one file can be opened at a time");
        emit failed(tr("%1 was not opened").arg(namesOf(paths)), base::Error{base::ErrorCode::invalidArgument, why.toStdString(), {}, {}});
        return;
    }
    std::vector<std::string> all;
    for (const QString& path : paths)
        all.push_back(path.toStdString());
    startOpening(paths, [tooLarge = m_services.tooLarge, open = m_services.openTogether, all](
                            std::stop_token stop, const base::Progress& progress) -> base::Result<Opening> {
        if (tooLarge)
            if (std::optional<base::Error> why = tooLarge(all)) return base::fail(std::move(*why));
        return open(all, stop, progress).map(asOpening);
    }, false);
    openFirstPart(paths);
    emit openingChanged();
}

void Workbench::openPart(const QString& path, const importers::ImportOptions& part)
{
    m_firstPartSlot.cancel();
    leaveFirstPart();
    startOpening({path}, [open = m_services.openPart, file = path.toStdString(), part](
                             std::stop_token stop, const base::Progress& progress) -> base::Result<Opening> {
        if (!open) return base::fail(base::ErrorCode::unsupported, "this program opens files whole");
        return open(file, part, stop, progress).map(asOpening);
    }, true);
    emit openingChanged();
}

void Workbench::startOpening(const QStringList& files, Open open, bool part)
{
    m_openingFiles = files;
    m_jobs.start<Opening>(m_openSlot, tr("Opening %1").arg(namesOf(files)), std::move(open),
                          [this, files, part](base::Result<Opening> result) { opened(std::move(result), files, part); });
}

// Of several files that of the first one.
void Workbench::openFirstPart(const QStringList& files)
{
    m_firstPartSlot.cancel();
    leaveFirstPart();
    if (!m_services.openFirstPart) return;
    m_jobs.start<session::SessionPtr>(
        m_firstPartSlot, {},
        [open = m_services.openFirstPart, file = files.front().toStdString()](std::stop_token stop, const base::Progress&) { return open(file, stop); },
        [this, files](base::Result<session::SessionPtr> result) {
            if (!result || *result == nullptr || !opening()) return;
            m_beforeFirstPart = m_session;
            m_filesBefore = m_files;
            m_firstPart = true;
            replace(std::move(*result), files);
            emit openingChanged();
        });
}

// Back to the session that was open before.
void Workbench::leaveFirstPart()
{
    if (!std::exchange(m_firstPart, false)) return;
    replace(std::exchange(m_beforeFirstPart, nullptr), std::exchange(m_filesBefore, {}));
}

void Workbench::opened(base::Result<Opening> result, const QStringList& files, bool part)
{
    m_firstPartSlot.cancel();
    if (!result || result->tooLarge) leaveFirstPart();
    emit openingChanged();
    if (result && result->tooLarge) {
        emit partSuggested(files.front(), *result->tooLarge);
        return;
    }
    if (!result && part) {
        emit partSuggested(files.front(), result.error());
        return;
    }
    if (!result) {
        if (files.size() == 1) m_recent.remove(files.front());
        emit failed(tr("%1 could not be opened").arg(namesOf(files)), result.error());
        return;
    }
    for (auto file = files.rbegin(); file != files.rend(); ++file)
        m_recent.add(*file);
    showFiles(std::move(result->session), files);
}

void Workbench::cancelOpening()
{
    const QStringList files = openingFiles();
    m_openSlot.cancel();
    m_firstPartSlot.cancel();
    leaveFirstPart();
    emit openingChanged();
    if (!files.isEmpty()) emit openingCancelled(files);
}

void Workbench::show(session::SessionPtr session, const QString& path)
{
    showFiles(std::move(session), path.isEmpty() ? QStringList() : QStringList{path});
}

void Workbench::showFiles(session::SessionPtr session, const QStringList& files)
{
    m_firstPartSlot.cancel();
    m_firstPart = false;
    if (m_beforeFirstPart) m_jobs.dispose(std::exchange(m_beforeFirstPart, nullptr));
    replace(std::move(session), files);
}

void Workbench::replace(session::SessionPtr session, const QStringList& files)
{
    session::SessionPtr old = std::exchange(m_session, std::move(session));
    m_files = files;
    m_path = files.size() == 1 ? files.front() : QString();
    m_selectedLayer = {};
    emit sessionChanged();
    emit selectedLayerChanged();
    emit qualityChanged();
    m_jobs.dispose(std::move(old));
}

QString Workbench::title() const
{
    if (m_files.size() < 2) return QFileInfo(m_path).completeBaseName();
    return tr("%1 and %n more", nullptr, static_cast<int>(m_files.size()) - 1).arg(QFileInfo(m_files.front()).completeBaseName());
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
                m_files = {path};
                if (!old.isEmpty() && old != path && QFile::remove(old)) m_recent.remove(old);
            }
            emit saved(path);
        });
}

// The file of another tool that is shown, or one of several files: a session must not replace it.
bool Workbench::isForeignSource(const QString& path) const
{
    if (m_files.size() > 1)
        return std::any_of(m_files.begin(), m_files.end(), [&](const QString& file) { return QFileInfo::exists(file) && QFileInfo(file) == QFileInfo(path); });
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
