// SourceEditor: opens source lines in the editor of the user's choice.
// Owner: ui/state. Thread: UI thread; the editor is a process of its own.
//
// The command is a template: %f is the file, %l the line, %c the column, %% a percent sign. It is split into arguments
// before these are filled in, so that blanks in a path do no harm.
#pragma once

#include "core/base/result.h"

#include <QList>
#include <QSettings>
#include <QString>
#include <QStringList>

#include <functional>

namespace stepscope::state {

struct EditorPreset {
    QString name;
    QString command;
};

class SourceEditor {
public:
    // The settings must outlive it.
    explicit SourceEditor(QSettings& settings);

    static QList<EditorPreset> presets();
    // As set by the user, else the first preset whose program is installed; empty when there is none.
    QString command() const;
    void setCommand(const QString& command); // empty: the preset again

    // Program and arguments. Errors: invalidArgument for a template that names no program or has an unknown % sign.
    static base::Result<QStringList> commandLine(const QString& command, const QString& file, int line, int column = 1);
    // Errors: as commandLine(); notFound when the file or the program is not on this machine.
    base::Status open(const QString& file, int line) const;

    // For tests: starts the program instead of the system.
    std::function<bool(const QString& program, const QStringList& arguments)> launch;

private:
    QSettings& m_settings;
};

} // namespace stepscope::state
