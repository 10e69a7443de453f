#include "ui/state/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace stepscope::state {

namespace {
const QString kKey = QStringLiteral("recentFiles");
}

RecentFiles::RecentFiles(QSettings& settings, QObject* parent)
    : QObject(parent)
    , m_settings(settings)
    , m_files(settings.value(kKey).toStringList().mid(0, kLimit))
{
}

void RecentFiles::add(const QString& path)
{
    const QString absolute = QFileInfo(path).absoluteFilePath();
    m_files.removeAll(absolute);
    m_files.prepend(absolute);
    while (m_files.size() > kLimit) m_files.removeLast();
    store();
}

void RecentFiles::remove(const QString& path)
{
    if (m_files.removeAll(QFileInfo(path).absoluteFilePath()) > 0) store();
}

void RecentFiles::clear()
{
    m_files.clear();
    store();
}

void RecentFiles::store()
{
    m_settings.setValue(kKey, m_files);
    emit changed();
}

} // namespace stepscope::state
