#include "ui/state/source_editor.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>

#include <algorithm>

namespace stepscope::state {

namespace {

const QString kCommandKey = QStringLiteral("editor/command");

QString tr(const char* text) { return QCoreApplication::translate("SourceEditor", text); }

base::Error error(base::ErrorCode code, const QString& message, const QString& hint)
{
    return {code, message.toStdString(), {}, hint.toStdString()};
}

} // namespace

SourceEditor::SourceEditor(QSettings& settings)
    : launch([](const QString& program, const QStringList& arguments) { return QProcess::startDetached(program, arguments); })
    , m_settings(settings)
{
}

QList<EditorPreset> SourceEditor::presets()
{
    return {
        {QStringLiteral("Visual Studio Code"), QStringLiteral("code --goto %f:%l:%c")},
        {QStringLiteral("VSCodium"), QStringLiteral("codium --goto %f:%l:%c")},
        {QStringLiteral("Qt Creator"), QStringLiteral("qtcreator -client %f:%l:%c")},
        {QStringLiteral("CLion"), QStringLiteral("clion --line %l %f")},
        {QStringLiteral("Kate"), QStringLiteral("kate --line %l --column %c %f")},
        {QStringLiteral("KDevelop"), QStringLiteral("kdevelop %f:%l:%c")},
        {QStringLiteral("Gedit"), QStringLiteral("gedit %f +%l:%c")},
        {QStringLiteral("Sublime Text"), QStringLiteral("subl %f:%l:%c")},
        {QStringLiteral("Emacs"), QStringLiteral("emacsclient --no-wait --alternate-editor=emacs +%l:%c %f")},
        {QStringLiteral("GVim"), QStringLiteral("gvim +%l %f")},
    };
}

QString SourceEditor::command() const
{
    const QString chosen = m_settings.value(kCommandKey).toString().trimmed();
    if (!chosen.isEmpty()) return chosen;
    for (const EditorPreset& preset : presets())
        if (!QStandardPaths::findExecutable(preset.command.section(QLatin1Char(' '), 0, 0)).isEmpty()) return preset.command;
    return {};
}

void SourceEditor::setCommand(const QString& command)
{
    if (command.trimmed().isEmpty()) m_settings.remove(kCommandKey);
    else m_settings.setValue(kCommandKey, command.trimmed());
}

base::Result<QStringList> SourceEditor::commandLine(const QString& command, const QString& file, int line, int column)
{
    QStringList parts = QProcess::splitCommand(command);
    if (parts.isEmpty())
        return base::fail(error(base::ErrorCode::invalidArgument, tr("no editor is set up"), tr("Choose one under File, Source Editor")));
    bool namesFile = false;
    for (QString& part : parts) {
        QString filled;
        for (qsizetype i = 0; i < part.size(); ++i) {
            if (part[i] != QLatin1Char('%')) {
                filled += part[i];
                continue;
            }
            const QChar sign = ++i < part.size() ? part[i] : QChar();
            if (sign == QLatin1Char('f')) filled += file;
            else if (sign == QLatin1Char('l')) filled += QString::number(std::max(1, line));
            else if (sign == QLatin1Char('c')) filled += QString::number(std::max(1, column));
            else if (sign == QLatin1Char('%')) filled += sign;
            else
                return base::fail(error(base::ErrorCode::invalidArgument, tr("the editor command has %%1, which means nothing").arg(sign),
                                        tr("%f is the file, %l the line, %c the column, %% a percent sign")));
            namesFile |= sign == QLatin1Char('f');
        }
        part = filled;
    }
    if (!namesFile) parts << file;
    return parts;
}

base::Status SourceEditor::open(const QString& file, int line) const
{
    base::Result<QStringList> parts = commandLine(command(), file, line);
    if (!parts) return base::fail(parts.error());
    if (!QFileInfo::exists(file))
        return base::fail(error(base::ErrorCode::notFound, tr("there is no file %1 on this machine").arg(file),
                                tr("The session was recorded by a program that was built somewhere else")));
    const QString program = parts->takeFirst();
    if (!launch(program, *parts))
        return base::fail(error(base::ErrorCode::notFound, tr("the editor %1 could not be started").arg(program),
                                tr("Choose another one under File, Source Editor")));
    return {};
}

} // namespace stepscope::state
