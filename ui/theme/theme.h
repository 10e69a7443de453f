// Theme: light, dark, or as the system says; palette, style sheet and fonts of the whole application.
// Owner: ui/theme. Thread: UI thread.
#pragma once

#include "ui/theme/colours.h"

#include <QFont>
#include <QObject>

class QDBusVariant;

namespace stepscope::theme {

enum class ThemeMode { system, light, dark };

class Theme : public QObject {
    Q_OBJECT
public:
    // Looks at the system's palette, so make it before any palette is set. Needs a QApplication.
    explicit Theme(QObject* parent = nullptr);

    ThemeMode mode() const { return m_mode; }
    void setMode(ThemeMode mode); // applies palette and style sheet to the application
    bool dark() const { return m_dark; }
    const Colours& colours() const { return m_dark ? darkColours() : lightColours(); }

    QFont monospace() const; // the system's fixed font at the size of the interface font
    QFont small() const;

signals:
    void changed();

private:
    void readSystem();
    void setSystemDark(bool dark);
    void apply();
    void watchSystem();

    ThemeMode m_mode = ThemeMode::system;
    bool m_systemDark = false;
    bool m_dark = false;
    bool m_applied = false;

private slots:
    void portalSettingChanged(const QString& group, const QString& key, const QDBusVariant& value);
};

} // namespace stepscope::theme
