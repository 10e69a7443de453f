#include "tests/architecture/include_rules.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace stepscope::architecture;
namespace fs = std::filesystem;

namespace {

QString toText(const Violation& violation)
{
    return QString("%1:%2: %3")
        .arg(QString::fromStdString(violation.file))
        .arg(violation.line)
        .arg(QString::fromStdString(violation.text));
}

void write(const fs::path& path, const std::string& text)
{
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

} // namespace

class TestArchitecture : public QObject {
    Q_OBJECT
private slots:
    void thisRepositoryKeepsTheRules()
    {
        const Report report = check(STEPSCOPE_SOURCE_DIR, rules());
        for (const Violation& violation : report.violations)
            qWarning().noquote() << toText(violation);
        QVERIFY2(report.violations.empty(),
                 qPrintable(QString("%1 violations, listed above").arg(report.violations.size())));
        // Guards against a check that looks at nothing, as after a move of the folders.
        QVERIFY(report.files > 20);
        QVERIFY(report.includes > 40);
    }

    void everyDeviationIsStillNeeded()
    {
        const Report report = check(STEPSCOPE_SOURCE_DIR, rules());
        QStringList unused;
        for (const Deviation& deviation : report.unusedDeviations) {
            unused << QString::fromStdString(deviation.folder + " -> " + deviation.mayInclude);
        }
        QVERIFY2(unused.isEmpty(), qPrintable("no include needs: " + unused.join(", ")));
    }

    void aTreeThatKeepsTheRulesHasNoViolation()
    {
        QTemporaryDir dir;
        const fs::path root = dir.path().toStdString();
        write(root / "core/base/ids.h", "#include <cstdint>\n");
        write(root / "core/session/types.h", "#include \"core/base/ids.h\"\n");
        write(root / "core/onednn/engine.cpp", "#include <oneapi/dnnl/dnnl.hpp>\n");
        write(root / "ui/shell/main_window.cpp",
              "#include \"core/session/types.h\"\n#include <QMainWindow>\n#include \"main_window.moc\"\n");
        const Report report = check(root, rules());
        for (const Violation& violation : report.violations)
            qWarning().noquote() << toText(violation);
        QVERIFY(report.violations.empty());
        QCOMPARE(report.files, 4);
        QCOMPARE(report.includes, 2);
    }

    void eachMistakeIsFound_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        QTest::newRow("a lower folder includes a higher one") << "core/base/a.h"
                                                              << "#include \"core/session/types.h\""
                                                              << "core/base may not include";
        QTest::newRow("core includes gpu") << "core/onednn/a.cpp"
                                           << "#include \"gpu/device/devices.h\""
                                           << "core/onednn may not include";
        QTest::newRow("ui includes gpu") << "ui/views/a.cpp"
                                         << "#include \"gpu/device/devices.h\""
                                         << "ui/views may not include";
        QTest::newRow("the command line includes ui") << "app/cli/a.cpp"
                                                      << "#include \"ui/shell/window.h\""
                                                      << "app/cli may not include";
        QTest::newRow("Qt in core") << "core/model/a.cpp"
                                    << "#include <QString>"
                                    << "Qt header QString";
        QTest::newRow("Qt module header in the command line") << "app/cli/a.cpp"
                                                              << "#include <QtCore/QString>"
                                                              << "Qt header";
        QTest::newRow("Qt by its lower-case name") << "core/base/a.h"
                                                   << "#include <qglobal.h>"
                                                   << "Qt header qglobal.h";
        QTest::newRow("oneDNN outside its folder") << "core/engine/a.cpp"
                                                   << "#include <dnnl.hpp>"
                                                   << "oneDNN header";
        QTest::newRow("oneDNN in the window") << "ui/views/a.cpp"
                                              << "#include <oneapi/dnnl/dnnl.hpp>"
                                              << "oneDNN header";
        QTest::newRow("SQLite in an importer that is not Nsight's") << "core/importers/kineto_importer.cpp"
                                                                    << "#include <sqlite3.h>"
                                                                    << "SQLite header";
        QTest::newRow("CUPTI outside capture") << "gpu/device/a.cpp"
                                               << "#include <cupti.h>"
                                               << "CUPTI header";
        QTest::newRow("CUDA in core") << "core/engine/a.cpp"
                                      << "#include <cuda_runtime.h>"
                                      << "CUDA header";
        QTest::newRow("blanks around the hash") << "core/model/a.cpp"
                                                << "  #  include <QString>"
                                                << "Qt header QString";
        QTest::newRow("a path that is not from the root") << "core/model/a.cpp"
                                                          << "#include \"parser.h\""
                                                          << "not written from the root";
        QTest::newRow("our header in angle brackets") << "core/session/a.cpp"
                                                      << "#include <core/base/ids.h>"
                                                      << "use quotes";
        QTest::newRow("a header that is not there") << "core/session/a.cpp"
                                                    << "#include \"core/base/gone.h\""
                                                    << "does not exist";
        QTest::newRow("the product includes a test header") << "core/session/a.cpp"
                                                            << "#include \"tests/support/x.h\""
                                                            << "header of the tests";
        QTest::newRow("a folder nobody knows") << "core/extras/a.cpp"
                                               << ""
                                               << "not in the table";
        QTest::newRow("a file of 601 lines") << "core/base/a.cpp" << QString("\n").repeated(600) << "601 lines";
    }

    void eachMistakeIsFound()
    {
        QFETCH(QString, file);
        QFETCH(QString, text);
        QFETCH(QString, message);
        QTemporaryDir dir;
        const fs::path root = dir.path().toStdString();
        write(root / "core/base/ids.h", "");
        write(root / "core/session/types.h", "");
        write(root / "gpu/device/devices.h", "");
        write(root / "ui/shell/window.h", "");
        write(root / file.toStdString(), text.toStdString() + "\n");
        const Report report = check(root, rules());
        QCOMPARE(report.violations.size(), size_t(1));
        QCOMPARE(QString::fromStdString(report.violations[0].file), file);
        QVERIFY2(toText(report.violations[0]).contains(message), qPrintable(toText(report.violations[0])));
    }

    void aCycleBetweenFoldersIsFound()
    {
        QTemporaryDir dir;
        const fs::path root = dir.path().toStdString();
        Rules open;
        open.allowed = {{"core/a", {"core"}}, {"core/b", {"core"}}, {"core/c", {"core"}}};
        write(root / "core/a/x.h", "#include \"core/b/x.h\"\n");
        write(root / "core/b/x.h", "#include \"core/c/x.h\"\n");
        write(root / "core/c/y.h", "#include \"core/a/x.h\"\n");
        write(root / "core/c/x.h", "");
        const Report report = check(root, open);
        QCOMPARE(report.violations.size(), size_t(1));
        QCOMPARE(report.violations[0].text, std::string("cycle: core/a -> core/b -> core/c -> core/a"));
    }

    void aDeviationAllowsAndAnUnusedOneIsReported()
    {
        QTemporaryDir dir;
        const fs::path root = dir.path().toStdString();
        Rules some;
        some.allowed = {{"core/a", {}}, {"core/b", {}}};
        some.deviations = {{"core/a", "core/b", "needed"}, {"core/b", "core/a", "not needed"}};
        write(root / "core/a/x.h", "#include \"core/b/x.h\"\n");
        write(root / "core/b/x.h", "");
        const Report report = check(root, some);
        QVERIFY(report.violations.empty());
        QCOMPARE(report.unusedDeviations.size(), size_t(1));
        QCOMPARE(report.unusedDeviations[0].folder, std::string("core/b"));
    }
};

QTEST_APPLESS_MAIN(TestArchitecture)
#include "tst_architecture.moc"
