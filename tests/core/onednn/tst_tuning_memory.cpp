// What two processes that tune at the same time leave in the file, and what a bad file does.
#include "core/onednn/tuning_memory.h"

#include <QtTest>

#include <fstream>

using stepscope::onednn::TuningMemory;
using Choice = std::optional<std::vector<int>>;

static Choice chosen(std::vector<int> values) { return values; }

class TestTuningMemory : public QObject {
    Q_OBJECT
private slots:
    void init() { m_path = m_folder.filePath(QTest::currentTestFunction()).toStdString(); }
    void choicesSurviveTheProcess();
    void twoWritersKeepEachOthersChoices();
    void aFreshStartForgetsAndSaves();
    void anotherMachineHasItsOwnChoices();
    void aForeignFileIsReplaced();
    void aFolderThatCannotBeWrittenIsAnErrorWithItsPath();

private:
    QTemporaryDir m_folder;
    std::string m_path;
};

void TestTuningMemory::choicesSurviveTheProcess()
{
    TuningMemory(m_path, "m/").store("conv 3x3", {2, 1});
    QCOMPARE(TuningMemory(m_path, "m/").find("conv 3x3"), chosen({2, 1}));
    QVERIFY(!TuningMemory(m_path, "m/").find("conv 5x5"));
}

void TestTuningMemory::twoWritersKeepEachOthersChoices()
{
    TuningMemory a(m_path, "m/"), b(m_path, "m/");
    a.store("a", {1});
    b.store("b", {2});
    QVERIFY(a.save().has_value());
    QVERIFY(b.save().has_value());
    const TuningMemory after(m_path, "m/");
    QCOMPARE(after.find("a"), chosen({1}));
    QCOMPARE(after.find("b"), chosen({2}));
}

void TestTuningMemory::aFreshStartForgetsAndSaves()
{
    TuningMemory(m_path, "m/").store("a", {1});
    {
        TuningMemory fresh(m_path, "m/", TuningMemory::Start::fresh);
        QVERIFY(!fresh.find("a"));
        fresh.store("a", {7});
    }
    QCOMPARE(TuningMemory(m_path, "m/").find("a"), chosen({7}));
}

void TestTuningMemory::anotherMachineHasItsOwnChoices()
{
    TuningMemory(m_path, "one/").store("a", {1});
    QVERIFY(!TuningMemory(m_path, "two/").find("a"));
}

void TestTuningMemory::aForeignFileIsReplaced()
{
    std::ofstream(m_path) << "something else\nm/a\t1\n";
    {
        TuningMemory memory(m_path, "m/");
        QVERIFY(!memory.find("a"));
        memory.store("b", {3});
    }
    QCOMPARE(TuningMemory(m_path, "m/").find("b"), chosen({3}));
}

void TestTuningMemory::aFolderThatCannotBeWrittenIsAnErrorWithItsPath()
{
    const std::string path = "/proc/nowhere/tuning"; // not even root can make it
    TuningMemory memory(path, "m/");
    memory.store("a", {1});
    const auto status = memory.save();
    QVERIFY(!status);
    QCOMPARE(status.error().where.file, path);
}

QTEST_GUILESS_MAIN(TestTuningMemory)
#include "tst_tuning_memory.moc"
