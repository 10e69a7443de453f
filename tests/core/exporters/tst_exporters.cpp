#include <QtTest>

#include "core/exporters/exporter.h"
#include "core/session/session_builder.h"

#include <filesystem>
#include <fstream>
#include <set>

using namespace stepscope;
namespace fs = std::filesystem;

class TestExporters : public QObject {
    Q_OBJECT
private slots:
    void namesAndExtensionsAreUnique()
    {
        std::set<std::string_view> names, extensions;
        for (const exporters::Exporter& exporter : exporters::builtinExporters()) {
            QVERIFY(names.insert(exporter.name).second);
            QVERIFY(extensions.insert(exporter.extension).second);
            QVERIFY(!exporter.description.empty());
        }
        QVERIFY(names.count("sqlite") == 1);
    }

    void theExtensionOrTheNameChooses()
    {
        QCOMPARE((*exporters::findExporter("", "a/run.sqlite"))->name, std::string_view("sqlite"));
        QCOMPARE((*exporters::findExporter("sqlite", "run.db"))->name, std::string_view("sqlite"));
    }

    void unknownFormatsNameTheKnownOnes_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("path");
        QTest::newRow("unknown name") << "xml"
                                      << "run.sqlite";
        QTest::newRow("unknown extension") << ""
                                           << "run.xml";
        QTest::newRow("no extension") << ""
                                      << "run";
    }
    void unknownFormatsNameTheKnownOnes()
    {
        QFETCH(QString, name);
        QFETCH(QString, path);
        const auto found = exporters::findExporter(name.toStdString(), path.toStdString());
        QVERIFY(!found.has_value());
        QVERIFY(found.error().code == base::ErrorCode::unsupported);
        QVERIFY(found.error().hint.find("sqlite") != std::string::npos);
    }

    void theSqliteExporterWritesADatabaseAndRespectsExistingFiles()
    {
        QTemporaryDir directory;
        const fs::path path = fs::path(directory.path().toStdString()) / "run.sqlite";
        session::SessionBuilder builder;
        builder.addTrack({"training", 1});
        const auto session = builder.build();
        const exporters::Exporter& exporter = **exporters::findExporter("sqlite", path);
        QVERIFY(exporter.run(*session, path, false, {}, {}).has_value());
        std::ifstream in(path, std::ios::binary);
        std::string magic(15, ' ');
        in.read(magic.data(), 15);
        QCOMPARE(magic, std::string("SQLite format 3"));
        QVERIFY(!exporter.run(*session, path, false, {}, {}).has_value());
        QVERIFY(exporter.run(*session, path, true, {}, {}).has_value());
    }
};

QTEST_GUILESS_MAIN(TestExporters)
#include "tst_exporters.moc"
