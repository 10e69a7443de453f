// Runs binutils' addr2line on many addresses and reads its answers.
#pragma once

#include <QFile>
#include <QProcess>
#include <QString>

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::testing {

struct Addr2lineFrame {
    std::string function; // "" for "??"
    std::string file;     // "" for "??"
    int line = 0;
};

// One list of frames per address, innermost first. Empty as a whole when the program is missing or fails.
inline std::vector<std::vector<Addr2lineFrame>> addr2line(const QString& file, const std::vector<uint64_t>& addresses)
{
    QByteArray input;
    for (const uint64_t address : addresses)
        input += "0x" + QByteArray::number(static_cast<qulonglong>(address), 16) + '\n';
    QProcess process;
    process.start(QStringLiteral("addr2line"), {QStringLiteral("-e"), file, QStringLiteral("-a"), QStringLiteral("-i"), QStringLiteral("-f"), QStringLiteral("-C")});
    if (!process.waitForStarted()) return {};
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(100000) || process.exitCode() != 0) return {};
    std::vector<std::vector<Addr2lineFrame>> answers;
    QByteArrayList lines = process.readAllStandardOutput().split('\n');
    for (qsizetype i = 0; i + 1 < lines.size();) {
        if (lines[i].startsWith("0x")) {
            answers.emplace_back();
            ++i;
            continue;
        }
        Addr2lineFrame frame;
        if (lines[i] != "??") frame.function = lines[i].toStdString();
        QByteArray place = lines[i + 1];
        if (const qsizetype bracket = place.indexOf(" ("); bracket >= 0) place.truncate(bracket); // "(discriminator 3)"
        const qsizetype colon = place.lastIndexOf(':');
        const QByteArray name = place.left(colon);
        if (name != "??") frame.file = name.toStdString();
        frame.line = place.mid(colon + 1).toInt();
        answers.back().push_back(std::move(frame));
        i += 2;
    }
    return answers;
}

} // namespace stepscope::testing
