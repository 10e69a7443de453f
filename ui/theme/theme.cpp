#include "ui/theme/theme.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusVariant>
#include <QFontDatabase>
#include <QStyleFactory>
#include <QStyleHints>

namespace stepscope::theme {

namespace {

constexpr auto kPortalService = "org.freedesktop.portal.Desktop";
constexpr auto kPortalPath = "/org/freedesktop/portal/desktop";
constexpr auto kPortalSettings = "org.freedesktop.portal.Settings";
constexpr auto kAppearance = "org.freedesktop.appearance";
constexpr auto kColourScheme = "color-scheme"; // 0 no preference, 1 dark, 2 light

QString styleSheet(const Colours& c)
{
    return QStringLiteral(
               "QDockWidget::title { background: %1; padding: 5px 8px; border-bottom: 1px solid %2; }"
               "QMainWindow::separator { background: %3; width: 5px; height: 5px; }"
               "QMainWindow::separator:hover { background: %4; }"
               "QToolBar { background: %1; border: none; border-bottom: 1px solid %2; padding: 3px; spacing: 3px; }"
               "QStatusBar { background: %1; border-top: 1px solid %2; }"
               "QStatusBar::item { border: none; }"
               "QToolTip { color: %5; background: %1; border: 1px solid %2; padding: 4px; }"
               "QHeaderView::section { background: %1; color: %6; border: none; border-right: 1px solid %2;"
               " border-bottom: 1px solid %2; padding: 4px 6px; }"
               "QTableView, QTreeView { border: none; gridline-color: %2; }"
               "QCheckBox::indicator { width: 13px; height: 13px; border: 1px solid %7; border-radius: 2px; background: %8; }"
               "QCheckBox::indicator:hover { border-color: %4; }"
               "QCheckBox::indicator:checked { background: %4; border-color: %4; image: url(:/icons/%9.svg); }")
        .arg(c.panel.name(), c.line.name(), c.window.name(), c.accent.name(), c.text.name(), c.dimText.name(), c.strongLine.name(),
             c.base.name(), c.dark ? QStringLiteral("check-black") : QStringLiteral("check-white"));
}

} // namespace

Theme::Theme(QObject* parent)
    : QObject(parent)
{
    readSystem();
    watchSystem();
}

void Theme::readSystem()
{
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
    const Qt::ColorScheme scheme = QGuiApplication::styleHints()->colorScheme();
    if (scheme != Qt::ColorScheme::Unknown) {
        m_systemDark = scheme == Qt::ColorScheme::Dark;
        return;
    }
#endif
    m_systemDark = QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
}

void Theme::watchSystem()
{
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
    connect(QGuiApplication::styleHints(), &QStyleHints::colorSchemeChanged, this,
            [this](Qt::ColorScheme scheme) { setSystemDark(scheme == Qt::ColorScheme::Dark); });
#endif
    // Qt 6.4 does not know the desktop's preference; the desktop portal does. Asked without waiting: no portal, no answer.
    QDBusConnection bus = QDBusConnection::sessionBus();
    if (!bus.isConnected()) return;
    bus.connect(kPortalService, kPortalPath, kPortalSettings, QStringLiteral("SettingChanged"), this,
                SLOT(portalSettingChanged(QString, QString, QDBusVariant)));
    QDBusMessage call = QDBusMessage::createMethodCall(kPortalService, kPortalPath, kPortalSettings, QStringLiteral("Read"));
    call << QString::fromLatin1(kAppearance) << QString::fromLatin1(kColourScheme);
    call.setAutoStartService(false);
    auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(call), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this](QDBusPendingCallWatcher* finished) {
        const QDBusPendingReply<QDBusVariant> reply = *finished;
        if (!reply.isError()) portalSettingChanged(kAppearance, kColourScheme, reply.value());
        finished->deleteLater();
    });
}

void Theme::portalSettingChanged(const QString& group, const QString& key, const QDBusVariant& value)
{
    if (group != QLatin1String(kAppearance) || key != QLatin1String(kColourScheme)) return;
    QVariant inner = value.variant(); // Read wraps the value twice, SettingChanged once
    if (inner.canConvert<QDBusVariant>()) inner = inner.value<QDBusVariant>().variant();
    const uint scheme = inner.toUInt();
    if (scheme == 1 || scheme == 2) setSystemDark(scheme == 1);
}

void Theme::setSystemDark(bool dark)
{
    m_systemDark = dark;
    if (m_applied && m_mode == ThemeMode::system) apply();
}

void Theme::setMode(ThemeMode mode)
{
    m_mode = mode;
    apply();
}

void Theme::apply()
{
    const bool dark = m_mode == ThemeMode::dark || (m_mode == ThemeMode::system && m_systemDark);
    if (m_applied && dark == m_dark) return;
    m_dark = dark;
    if (!m_applied) QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    m_applied = true;
    QApplication::setPalette(toPalette(colours()));
    qApp->setStyleSheet(styleSheet(colours()));
    emit changed();
}

QFont Theme::monospace() const
{
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPointSizeF(QApplication::font().pointSizeF());
    return font;
}

QFont Theme::small() const
{
    QFont font = QApplication::font();
    font.setPointSizeF(font.pointSizeF() * 0.9);
    return font;
}

} // namespace stepscope::theme
