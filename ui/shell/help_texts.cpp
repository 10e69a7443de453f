#include "ui/shell/help_texts.h"

#include <QCoreApplication>

#include <array>
#include <utility>

namespace stepscope::shell {

namespace {
QString tr(const char* text) { return QCoreApplication::translate("Help", text); }
}

QString keysHtml()
{
    const std::array<std::pair<QString, QString>, 19> rows = {{
        {tr("<b>Flame graph</b>"), {}},
        {tr("Click"), tr("select a frame and zoom to it")},
        {tr("Backspace, Alt+Left, mouse Back"), tr("undo the zoom")},
        {tr("Alt+Right, mouse Forward"), tr("redo the zoom")},
        {tr("0"), tr("show the whole step")},
        {tr("Escape"), tr("clear search and selection; again: show the whole step")},
        {tr("Wheel"), tr("scroll")},
        {tr("Ctrl+Wheel, + and −"), tr("magnify around the mouse")},
        {tr("Drag, Shift+Wheel"), tr("move the magnified graph")},
        {tr("Arrow keys"), tr("move the selection to parent, child and neighbours")},
        {tr("Enter, F"), tr("zoom to the selection")},
        {tr("E"), tr("samples: open the source line of the selection in the editor")},
        {tr("Right click"), tr("callers, callees, source line, copy")},
        {tr("Ctrl+F"), tr("find; Enter and Shift+Enter go through the matches")},
        {tr("<b>Everywhere</b>"), {}},
        {tr("Ctrl+O, Ctrl+S, Ctrl+W"), tr("open, save, close a session")},
        {tr("Ctrl+R"), tr("start a run")},
        {tr("Ctrl+C in a table"), tr("copy the selected rows")},
        {tr("F1"), tr("this list")},
    }};
    QString html = QStringLiteral("<table cellpadding='3'>");
    for (const auto& [keys, text] : rows)
        html += QStringLiteral("<tr><td style='padding-right:18px'>%1</td><td>%2</td></tr>").arg(keys, text);
    return html + QStringLiteral("</table>");
}

QString aboutHtml(const QString& version)
{
    return tr("<h3>Stepscope %1</h3><p>Shows where every training step of a neural network spends its time.</p>"
              "<p>Apache License 2.0. Built with Qt %2, running with Qt %3.</p>")
        .arg(version, QStringLiteral(QT_VERSION_STR), QString::fromLatin1(qVersion()));
}

} // namespace stepscope::shell
