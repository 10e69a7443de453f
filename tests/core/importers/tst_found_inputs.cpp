// Inputs that once broke an importer, found by fuzzing: each must end in a session or in an error with a message.
// tests/fuzz/found/IMPORTER/NAME.
#include "core/importers/importer.h"

#include <QtTest>

#include <algorithm>

using namespace stepscope;

class TestFoundInputs : public QObject {
    Q_OBJECT
private slots:
    void everyInputIsReadOrRefused_data();
    void everyInputIsReadOrRefused();
};

void TestFoundInputs::everyInputIsReadOrRefused_data()
{
    QTest::addColumn<QString>("importer");
    QTest::addColumn<QString>("path");
    const QDir root(QStringLiteral(STEPSCOPE_SOURCE_DIR "/tests/fuzz/found"));
    for (const QString& importer : root.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        for (const QString& name : QDir(root.filePath(importer)).entryList(QDir::Files))
            QTest::addRow("%s: %s", qPrintable(importer), qPrintable(name)) << importer << root.filePath(importer + '/' + name);
}

void TestFoundInputs::everyInputIsReadOrRefused()
{
    QFETCH(QString, importer);
    QFETCH(QString, path);
    const auto all = importers::builtinImporters();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const importers::Importer& one) { return one.name == importer.toStdString(); });
    QVERIFY(found != all.end());
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    importers::Input input = importers::inputFromBytes(file.readAll().toStdString(), "input");
    const auto imported = found->run(input, {}, {}, {});
    if (imported) QVERIFY(imported->session != nullptr);
    else QVERIFY(!imported.error().message.empty());
}

QTEST_GUILESS_MAIN(TestFoundInputs)
#include "tst_found_inputs.moc"
