#include <QtTest>

#include "core/recording/environment.h"
#include "core/recording/git_revision.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace stepscope;
namespace fs = std::filesystem;

namespace {

const std::string kHashA(40, 'a');
const std::string kHashB(40, 'b');

void write(const fs::path& file, const std::string& text)
{
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

std::string value(const std::vector<session::EnvironmentRow>& rows, const std::string& key)
{
    for (const session::EnvironmentRow& row : rows)
        if (row.key == key) return row.value;
    return {};
}

} // namespace

class TestEnvironment : public QObject {
    Q_OBJECT
private slots:
    void theMachineIsDescribed()
    {
        const auto rows = recording::collectEnvironment(m_directory.path().toStdString());
        QVERIFY(!value(rows, "tool.version").empty());
        QVERIFY(value(rows, "os.kernel").find("Linux") == 0);
        QVERIFY(std::stoi(value(rows, "cpu.cores")) >= 1);
        QVERIFY(std::stoll(value(rows, "memory.bytes")) > 100'000'000);
        const std::string start = value(rows, "start");
        QCOMPARE(start.size(), size_t{20});
        QCOMPARE(start.back(), 'Z');
    }

    void neitherMachineNorUserIsNamed()
    {
        char host[256] = {};
        QCOMPARE(gethostname(host, sizeof(host) - 1), 0);
        for (const session::EnvironmentRow& row : recording::collectEnvironment(m_directory.path().toStdString()))
            QVERIFY2(row.value != host, row.key.c_str());
    }

    void theRevisionIsFoundFromASubdirectory()
    {
        const fs::path root = fresh("plain");
        write(root / ".git/HEAD", "ref: refs/heads/main\n");
        write(root / ".git/refs/heads/main", kHashA + "\n");
        fs::create_directories(root / "a/b");
        QCOMPARE(recording::gitRevision(root / "a/b"), kHashA);
    }

    void packedReferencesAreRead()
    {
        const fs::path root = fresh("packed");
        write(root / ".git/HEAD", "ref: refs/heads/main\n");
        write(root / ".git/packed-refs",
              "# pack-refs with: peeled\n" + kHashB + " refs/heads/other\n" + kHashA + " refs/heads/main\n^" + kHashB
                  + "\n");
        QCOMPARE(recording::gitRevision(root), kHashA);
    }

    void aDetachedHeadIsItsOwnRevision()
    {
        const fs::path root = fresh("detached");
        write(root / ".git/HEAD", kHashB + "\n");
        QCOMPARE(recording::gitRevision(root), kHashB);
    }

    void linkedWorkTreesUseTheCommonReferences()
    {
        const fs::path main = fresh("main");
        write(main / ".git/refs/heads/topic", kHashA + "\n");
        write(main / ".git/worktrees/w/HEAD", "ref: refs/heads/topic\n");
        write(main / ".git/worktrees/w/commondir", "../..\n");
        const fs::path linked = fresh("linked");
        write(linked / ".git", "gitdir: " + (main / ".git/worktrees/w").string() + "\n");
        QCOMPARE(recording::gitRevision(linked), kHashA);
    }

    void oddFilesGiveNoRevision_data()
    {
        QTest::addColumn<QString>("head");
        QTest::newRow("empty") << "";
        QTest::newRow("no commit yet") << "ref: refs/heads/main\n";
        QTest::newRow("not a hash") << "hello\n";
        QTest::newRow("refers to itself") << "ref: HEAD\n";
        QTest::newRow("outside") << "ref: ../../etc/passwd\n";
    }
    void oddFilesGiveNoRevision()
    {
        QFETCH(QString, head);
        const fs::path root = fresh("odd");
        write(root / ".git/HEAD", head.toStdString());
        QCOMPARE(recording::gitRevision(root), std::string());
    }

    void theStateOfNoWorkTreeIsUnknown() { QCOMPARE(recording::gitState(fresh("none")), std::string("unknown")); }

private:
    fs::path fresh(const std::string& name)
    {
        const fs::path path = fs::path(m_directory.path().toStdString()) / name;
        fs::remove_all(path);
        fs::create_directories(path);
        return path;
    }

    QTemporaryDir m_directory;
};

QTEST_GUILESS_MAIN(TestEnvironment)
#include "tst_environment.moc"
