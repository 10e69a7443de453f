// RecentFiles: the sessions and model files that were open last, newest first, kept in the settings.
// Owner: ui/state. Thread: UI thread.
#pragma once

#include <QObject>
#include <QStringList>

class QSettings;

namespace stepscope::state {

class RecentFiles : public QObject {
    Q_OBJECT
public:
    static constexpr int kLimit = 10;

    // The settings must outlive the list.
    explicit RecentFiles(QSettings& settings, QObject* parent = nullptr);

    QStringList files() const { return m_files; } // as added; a file may be gone by now
    void add(const QString& path);
    void remove(const QString& path);
    void clear();

signals:
    void changed();

private:
    void store();

    QSettings& m_settings;
    QStringList m_files;
};

} // namespace stepscope::state
