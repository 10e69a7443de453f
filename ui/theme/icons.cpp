#include "ui/theme/icons.h"

#include <QFile>
#include <QPainter>
#include <QSvgRenderer>

// A static library's resources register only when asked for; the macro has to stand outside any namespace.
static void initialiseResources() { Q_INIT_RESOURCE(icons); }

namespace stepscope::theme {

namespace {

QByteArray readIcon(const QString& name)
{
    initialiseResources();
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QPixmap render(const QByteArray& svg, int size)
{
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    QSvgRenderer(svg).render(&painter);
    return pixmap;
}

} // namespace

QIcon icon(const QString& name, const Colours& colours)
{
    const QByteArray svg = readIcon(name);
    QIcon result;
    if (svg.isEmpty()) return result;
    for (const auto& [mode, colour] : {std::pair{QIcon::Normal, colours.text}, std::pair{QIcon::Disabled, colours.disabledText}}) {
        const QByteArray tinted = QByteArray(svg).replace("currentColor", colour.name().toLatin1());
        for (const int size : {16, 20, 24, 32, 40, 48, 64}) result.addPixmap(render(tinted, size), mode);
    }
    return result;
}

QIcon applicationIcon()
{
    const QByteArray svg = readIcon(QStringLiteral("stepscope"));
    QIcon result;
    for (const int size : {16, 24, 32, 48, 64, 128, 256}) result.addPixmap(render(svg, size));
    return result;
}

} // namespace stepscope::theme
