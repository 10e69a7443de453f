// PictureTour: puts the window into the states that the documentation shows and saves a picture of each.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include <QObject>
#include <QString>

#include <functional>
#include <vector>

namespace stepscope::theme {
class Theme;
}

namespace stepscope::shell {

class MainWindow;

class PictureTour : public QObject {
    Q_OBJECT
public:
    // Pictures go to `directory` as NAME.png, in the device pixels of the screen. `file` is the session they show.
    PictureTour(MainWindow& window, theme::Theme& theme, const QString& file, const QString& directory);

    void start();

signals:
    void done(bool ok, const QString& message);

private:
    struct Stop {
        QString name; // of the picture; empty: none, only prepares
        std::function<void()> prepare;
    };
    void next();
    bool settled() const;
    void take();

    MainWindow& m_window;
    theme::Theme& m_theme;
    QString m_directory;
    std::vector<Stop> m_stops;
    size_t m_at = 0;
    int m_waited = 0;
};

} // namespace stepscope::shell
