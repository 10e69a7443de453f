#include "ui/state/source_editor.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace stepscope;
using state::SourceEditor;

class TestSourceEditor : public QObject {
    Q_OBJECT
private slots:
    void templatesBecomeArguments_data()
    {
        QTest::addColumn<QString>("command");
        QTest::addColumn<QStringList>("parts");
        QTest::newRow("place") << "code --goto %f:%l:%c" << QStringList{"code", "--goto", "/a b/x.cpp:42:7"};
        QTest::newRow("options") << "kate --line %l %f" << QStringList{"kate", "--line", "42", "/a b/x.cpp"};
        QTest::newRow("without the file") << "vi +%l" << QStringList{"vi", "+42", "/a b/x.cpp"};
        QTest::newRow("quotes") << "\"my editor\" \"%f\"" << QStringList{"my editor", "/a b/x.cpp"};
        QTest::newRow("percent") << "ed %% %f" << QStringList{"ed", "%", "/a b/x.cpp"};
    }
    void templatesBecomeArguments()
    {
        QFETCH(QString, command);
        QFETCH(QStringList, parts);
        const auto made = SourceEditor::commandLine(command, "/a b/x.cpp", 42, 7);
        QVERIFY(made.has_value());
        QCOMPARE(*made, parts);
    }

    void wrongTemplatesAreErrors_data()
    {
        QTest::addColumn<QString>("command");
        QTest::newRow("empty") << "";
        QTest::newRow("blanks") << "   ";
        QTest::newRow("unknown sign") << "code %x";
        QTest::newRow("sign at the end") << "code %f %";
    }
    void wrongTemplatesAreErrors()
    {
        QFETCH(QString, command);
        const auto made = SourceEditor::commandLine(command, "x.cpp", 1);
        QVERIFY(!made.has_value());
        QVERIFY(!made.error().hint.empty());
    }

    void unknownLinesBecomeTheFirst() { QCOMPARE(SourceEditor::commandLine("e +%l %f", "x", 0)->at(1), QString("+1")); }

    void theChosenEditorOpensTheFile()
    {
        QTemporaryDir directory;
        QSettings settings(directory.filePath("settings.ini"), QSettings::IniFormat);
        QFile file(directory.filePath("layer.cpp"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        SourceEditor editor(settings);
        editor.setCommand("edit %f:%l");
        QStringList started;
        editor.launch = [&](const QString& program, const QStringList& arguments) {
            started = QStringList{program} + arguments;
            return true;
        };
        QVERIFY(editor.open(file.fileName(), 12).has_value());
        QCOMPARE(started, (QStringList{"edit", file.fileName() + ":12"}));
        QCOMPARE(SourceEditor(settings).command(), QString("edit %f:%l")); // kept in the settings
    }

    void missingFilesAndEditorsAreErrors()
    {
        QTemporaryDir directory;
        QSettings settings(directory.filePath("settings.ini"), QSettings::IniFormat);
        SourceEditor editor(settings);
        editor.setCommand("edit %f");
        const auto missing = editor.open("/no/such/file.cpp", 1);
        QVERIFY(!missing.has_value());
        QVERIFY(missing.error().code == base::ErrorCode::notFound);
        editor.launch = [](const QString&, const QStringList&) { return false; };
        QFile file(directory.filePath("x.cpp"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        const auto failed = editor.open(file.fileName(), 1);
        QVERIFY(!failed.has_value());
        QVERIFY(failed.error().message.find("edit") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestSourceEditor)
#include "tst_source_editor.moc"
