// Files of tests/golden/cases, and of other folders, through one importer.
#pragma once

#include "core/importers/importer.h"

#include <QByteArray>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QString>

namespace stepscope::support {

inline QByteArray fileBytes(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline QString casePath(const QString& file) { return QString(STEPSCOPE_SOURCE_DIR "/tests/golden/cases/") + file; }

inline QJsonObject caseExpectation(const QString& folder)
{
    return QJsonDocument::fromJson(fileBytes(casePath(folder + "/expect.json"))).object();
}

// The bytes as if they were in a file of that name, with detection. `format` gets the importer's name, or the error.
inline base::Result<importers::Imported> importBytes(const QByteArray& bytes, const QString& name,
                                                     const importers::ImportOptions& options = {})
{
    importers::Input input = importers::inputFromBytes(bytes.toStdString(), name.toStdString());
    base::Result<importers::Choice> choice = importers::chooseImporter(input, options.format);
    if (!choice) return base::fail(choice.error());
    input.why = choice->why;
    return choice->importer->run(input, options, {}, {});
}

inline base::Result<importers::Imported> importText(std::string_view text, const QString& name,
                                                    const importers::ImportOptions& options = {})
{
    return importBytes(QByteArray(text.data(), static_cast<qsizetype>(text.size())), name, options);
}

inline base::Result<importers::Imported> importPath(const QString& path, const importers::ImportOptions& options = {})
{
    return importBytes(fileBytes(path), path.section('/', -1), options);
}

} // namespace stepscope::support
