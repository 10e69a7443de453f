// Runs the command line as a user does and collects what it says.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <functional>

namespace stepscope::support {

struct ProgramResult {
    int code = -1; // -1: did not start, crashed or did not end
    QString out, err;
    QByteArray rawOut;
};

inline QString programPath() { return QStringLiteral(STEPSCOPE_BINARY_DIR "/bin/stepscope"); }

// `inChild` is called in the new process before the program begins, where only system calls are safe.
inline ProgramResult runProgram(const QStringList& arguments, const QString& folder, int milliseconds = 120000, const std::function<void()>& inChild = {})
{
    QProcess process;
    if (inChild) process.setChildProcessModifier(inChild);
    process.setWorkingDirectory(folder);
    process.start(programPath(), arguments);
    process.closeWriteChannel();
    ProgramResult result;
    const bool ended = process.waitForFinished(milliseconds);
    if (!ended) {
        process.kill();
        process.waitForFinished();
    }
    result.rawOut = process.readAllStandardOutput();
    result.out = QString::fromUtf8(result.rawOut);
    result.err = QString::fromUtf8(process.readAllStandardError());
    if (ended && process.exitStatus() == QProcess::NormalExit) result.code = process.exitCode();
    return result;
}

inline bool writeFile(const QString& path, const QByteArray& content)
{
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(content) == content.size();
}

} // namespace stepscope::support
