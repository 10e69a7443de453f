// The workbench program where there is no display.
#include <QProcess>
#include <QProcessEnvironment>
#include <QtTest>

class TestDesktopProgram : public QObject {
    Q_OBJECT
private slots:
    void questionsAreAnsweredWithoutADisplay_data();
    void questionsAreAnsweredWithoutADisplay();
};

void TestDesktopProgram::questionsAreAnsweredWithoutADisplay_data()
{
    QTest::addColumn<QString>("argument");
    QTest::addColumn<QString>("said");
    QTest::newRow("help") << "--help" << "stepscope-ui run.stepscope";
    QTest::newRow("short help") << "-h" << "--screenshots <DIR>";
    QTest::newRow("version") << "--version" << "stepscope ";
}

void TestDesktopProgram::questionsAreAnsweredWithoutADisplay()
{
    QFETCH(QString, argument);
    QFETCH(QString, said);
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(name);
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(STEPSCOPE_BINARY_DIR "/bin/stepscope-ui"), {argument});
    QVERIFY(process.waitForFinished(60000));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 0);
    const QString out = QString::fromUtf8(process.readAllStandardOutput());
    QVERIFY2(out.contains(said), qPrintable(out));
}

QTEST_GUILESS_MAIN(TestDesktopProgram)
#include "tst_desktop_program.moc"
