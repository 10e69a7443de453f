#include <QtTest>

#include "core/storage/session_file.h"
#include "core/storage/session_writer.h"
#include "core/storage/sqlite.h"
#include "tests/core/storage/sample_session.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <unistd.h>

using namespace stepscope;
namespace fs = std::filesystem;

namespace {

int64_t quality(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.count;
    return 0;
}

std::string slurp(const fs::path& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void spill(const fs::path& path, std::string_view bytes)
{
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Uses everything that a view would use.
bool walk(const session::Session& session)
{
    const session::SpanTable& t = session.spans();
    bool good = t.trackBegin.size() == session.tracks().size() + 1 && t.trackBegin.back() == t.size()
        && t.parent.size() == t.size() && t.label.size() == t.size() && t.step.size() == t.size();
    for (size_t row = 0; row < t.size(); ++row) {
        good &= t.label[row] < session.labels().size();
        good &= t.parent[row] == session::SpanTable::kNoParent || t.parent[row] < row;
    }
    for (const session::Label& label : session.labels()) {
        good &= !label.layer.valid() || label.layer.index() < session.layers().size();
        good &= !label.primitive.valid() || label.primitive.index() < session.primitives().size();
    }
    for (size_t c = 0; c < session.counters().size(); ++c) {
        const auto& samples = session.counterSamples(base::CounterId(c));
        good &= samples.time.size() == samples.value.size();
    }
    for (size_t i = 0; i < session.stacks().size(); ++i) {
        const session::StackRow& stack = session.stacks()[i];
        good &= !stack.parent.valid() || stack.parent.index() < i;
        good &= !stack.frame.valid() || stack.frame.index() < session.frames().size();
    }
    for (size_t s = 0; s < session.series().size(); ++s) {
        const session::SampleTable& samples = session.samples(base::SeriesId(s));
        good &= samples.stack.size() == samples.size() && samples.step.size() == samples.size();
        for (size_t row = 0; row < samples.size(); ++row) {
            good &= samples.stack[row] == base::StackId::kNone || samples.stack[row] < session.stacks().size();
            good &= samples.label[row] == base::LabelId::kNone || samples.label[row] < session.labels().size();
            good &= samples.track[row] == base::TrackId::kNone || samples.track[row] < session.tracks().size();
        }
    }
    return good;
}

} // namespace

class TestSessionDamage : public QObject {
    Q_OBJECT
private slots:
    void whatIsNotASessionIsNamed_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("message");
        QTest::newRow("empty") << QByteArray() << "the file is empty";
        QTest::newRow("JSON") << QByteArray("{\"traceEvents\": []}") << "it looks like JSON text";
        QTest::newRow("JSON array") << QByteArray("\n  [1, 2]") << "it looks like JSON text";
        QTest::newRow("gzip") << QByteArray("\x1f\x8b\x08\0\0\0\0\0", 8) << "it looks like gzip data";
        QTest::newRow("perf.data") << QByteArray("PERFILE2") << "it looks like a recording of Linux perf";
        QTest::newRow("model file") << QByteArray("model = Chain(Dense(2 => 1))") << "it looks like a model file";
        QTest::newRow("text") << QByteArray("hello, world. ").repeated(100) << "not a Stepscope session file";
        QTest::newRow("zeros") << QByteArray(5000, '\0') << "not a Stepscope session file";
    }
    void whatIsNotASessionIsNamed()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, message);
        const fs::path path = place("odd.stepscope");
        spill(path, bytes.toStdString());
        const auto opened = storage::openSession(path);
        QVERIFY(!opened.has_value());
        QVERIFY2(opened.error().message.find(message.toStdString()) != std::string::npos,
                 opened.error().message.c_str());
        QCOMPARE(opened.error().where.file, path.string());
        QVERIFY(!storage::isSessionFile(path));
        QCOMPARE(slurp(path), bytes.toStdString()); // looking changed nothing
    }

    void missingFilesAndDirectoriesAreErrors()
    {
        const auto missing = storage::openSession(place("missing.stepscope"));
        QVERIFY(!missing.has_value());
        QVERIFY(missing.error().code == base::ErrorCode::notFound);
        QVERIFY(!fs::exists(place("missing.stepscope")));
        const auto directory = storage::openSession(m_root.path().toStdString());
        QVERIFY(!directory.has_value());
        QVERIFY(directory.error().code == base::ErrorCode::wrongFormat);
        QVERIFY(!storage::openSession("/dev/null").has_value());
    }

    void anUnreadableFileIsAnError()
    {
        if (geteuid() == 0) QSKIP("root may read everything");
        const fs::path path = sample(5);
        fs::permissions(path, fs::perms::none);
        const auto opened = storage::openSession(path);
        QVERIFY(!opened.has_value());
        QVERIFY(opened.error().code == base::ErrorCode::io);
    }

    void aNewerSchemaIsRefusedWithBothVersions()
    {
        const fs::path path = sample(5);
        execute(path, "PRAGMA user_version = 77");
        const auto opened = storage::openSession(path);
        QVERIFY(!opened.has_value());
        QVERIFY(opened.error().code == base::ErrorCode::newerVersion);
        QVERIFY(opened.error().message.find("77") != std::string::npos);
        QVERIFY(opened.error().message.find("up to version 1") != std::string::npos);
        QVERIFY(!opened.error().hint.empty());
    }

    void anotherProgramsDatabaseIsNamed()
    {
        const fs::path path = place("other.stepscope");
        execute(path, "CREATE TABLE t(a); INSERT INTO t VALUES(1)", storage::OpenMode::create);
        auto opened = storage::openSession(path);
        QVERIFY(!opened.has_value());
        QVERIFY(opened.error().message.find("another program") != std::string::npos);
        execute(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(a)");
        opened = storage::openSession(path);
        QVERIFY(opened.error().message.find("Nsight Systems") != std::string::npos);
    }

    void aDamagedChunkIsCountedAndTheRestLoads()
    {
        const fs::path path = sample(40'000); // 160 000 spans on track 0: three chunks
        execute(path,
                "UPDATE span_chunks SET duration = substr(duration, 1, 1000) || x'00ff00ff' || substr(duration, 1005)"
                " WHERE id = (SELECT min(id) FROM span_chunks WHERE track = 0)");
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->spanCount(), uint64_t{200'000});
        QCOMPARE((*opened)->spans().size(), size_t{200'000 - 65'536});
        QCOMPARE(quality(**opened, "damaged-chunk"), int64_t{1});
        QVERIFY(walk(**opened));
    }

    void chunksThatLieAreLeftOut_data()
    {
        QTest::addColumn<QString>("sql");
        QTest::newRow("too many rows") << "UPDATE span_chunks SET rows = 99999999999 WHERE track = 0";
        QTest::newRow("no rows") << "UPDATE span_chunks SET rows = -1 WHERE track = 0";
        QTest::newRow("fewer rows") << "UPDATE span_chunks SET rows = rows - 1 WHERE track = 0";
        QTest::newRow("no such track") << "UPDATE span_chunks SET track = 500 WHERE track = 0";
        QTest::newRow("null") << "UPDATE span_chunks SET label = NULL WHERE track = 0";
        QTest::newRow("text") << "UPDATE span_chunks SET step = 'many' WHERE track = 0";
        QTest::newRow("width 9") << "UPDATE span_chunks SET start = x'0009' || substr(start, 3) WHERE track = 0";
    }
    void chunksThatLieAreLeftOut()
    {
        QFETCH(QString, sql);
        const fs::path path = sample(100);
        execute(path, sql.toUtf8().constData());
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->spans().size(), size_t{100}); // those of the other track
        QCOMPARE(quality(**opened, "damaged-chunk"), int64_t{1});
        QVERIFY(walk(**opened));
    }

    void sampleChunksThatLieAreLeftOut_data()
    {
        QTest::addColumn<QString>("sql");
        QTest::newRow("too many rows") << "UPDATE sample_chunks SET rows = 99999999999 WHERE series = 0";
        QTest::newRow("fewer rows") << "UPDATE sample_chunks SET rows = rows - 1 WHERE series = 0";
        QTest::newRow("no such series") << "UPDATE sample_chunks SET series = 2 WHERE series = 0";
        QTest::newRow("null") << "UPDATE sample_chunks SET stack = NULL WHERE series = 0";
        QTest::newRow("text") << "UPDATE sample_chunks SET weight = 'heavy' WHERE series = 0";
    }
    void sampleChunksThatLieAreLeftOut()
    {
        QFETCH(QString, sql);
        const fs::path path = sample(100);
        execute(path, sql.toUtf8().constData());
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->samples(base::SeriesId(0u)).size(), size_t{0});
        QCOMPARE((*opened)->samples(base::SeriesId(1u)).size(), size_t{100});
        QCOMPARE((*opened)->spans().size(), size_t{500});
        QCOMPARE(quality(**opened, "damaged-chunk"), int64_t{1});
        QVERIFY(walk(**opened));
    }

    void damagedStacksLeaveTheSamples_data()
    {
        QTest::addColumn<QString>("sql");
        QTest::addColumn<QString>("code");
        QTest::newRow("no frames column") << "UPDATE stack_chunks SET frame = NULL"
                                          << "damaged-stacks";
        QTest::newRow("a gap") << "UPDATE stack_chunks SET id = 1000"
                               << "damaged-stacks";
        QTest::newRow("a wild id") << "UPDATE stack_chunks SET id = 1000000000000"
                                   << "broken-sample-reference";
        QTest::newRow("no stacks") << "DELETE FROM stack_chunks"
                                   << "broken-sample-reference";
        QTest::newRow("no frames") << "DELETE FROM frames"
                                   << "broken-reference";
    }
    void damagedStacksLeaveTheSamples()
    {
        QFETCH(QString, sql);
        QFETCH(QString, code);
        const fs::path path = sample(100);
        execute(path, sql.toUtf8().constData());
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->samples(base::SeriesId(0u)).size(), size_t{300});
        QVERIFY(quality(**opened, code.toStdString()) >= 1);
        QVERIFY(walk(**opened));
    }

    void spansWithUnknownLabelsAreLeftOut()
    {
        const fs::path path = sample(100);
        execute(path, "DELETE FROM labels WHERE id = 4"); // the loader's
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->spans().size(), size_t{400});
        QCOMPARE(quality(**opened, "unusable-spans"), int64_t{100});
        QVERIFY(walk(**opened));
    }

    void damagedTablesAreCountedAndTheRestLoads_data()
    {
        QTest::addColumn<QString>("sql");
        QTest::addColumn<QString>("code");
        QTest::newRow("no layers") << "DROP TABLE layers"
                                   << "damaged-table";
        QTest::newRow("no steps") << "DROP TABLE steps"
                                  << "damaged-table";
        QTest::newRow("a string is missing") << "DELETE FROM strings WHERE id = 1"
                                             << "damaged-table";
        QTest::newRow("a wild id") << "UPDATE layers SET id = 1000000000000 WHERE id = 1"
                                   << "damaged-table";
        QTest::newRow("a label without its name") << "UPDATE labels SET name = 1234567 WHERE id = 1"
                                                  << "broken-reference";
        QTest::newRow("a label with a negative name") << "UPDATE labels SET name = -5 WHERE id = 1"
                                                      << "broken-reference";
        QTest::newRow("an unknown phase") << "UPDATE labels SET phase = 300 WHERE id = 1"
                                          << "broken-reference";
        QTest::newRow("a layer in itself") << "UPDATE layers SET parent = 1 WHERE id = 1"
                                           << "broken-reference";
    }
    void damagedTablesAreCountedAndTheRestLoads()
    {
        QFETCH(QString, sql);
        QFETCH(QString, code);
        const fs::path path = sample(100);
        execute(path, sql.toUtf8().constData());
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->spans().size(), size_t{500});
        QVERIFY(quality(**opened, code.toStdString()) >= 1);
        QVERIFY(walk(**opened));
    }

    void aViewInPlaceOfATableIsRefused()
    {
        const fs::path path = sample(5);
        execute(path,
                "DROP TABLE strings; CREATE VIEW strings AS WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 "
                "FROM n) SELECT id, 'x' AS text FROM n");
        const auto opened = storage::openSession(path);
        QVERIFY(!opened.has_value());
        QVERIFY(opened.error().code == base::ErrorCode::wrongFormat);
    }

    void moreSpansThanTheMemoryHoldsAreRefused()
    {
        const fs::path path = sample(5);
        // 4 000 chunks of a million equal rows each, in a few hundred kilobytes.
        execute(path,
                "DELETE FROM span_chunks; WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id < "
                "3999) INSERT INTO span_chunks SELECT id, 0, 1048576, 0, 0, zeroblob(18), zeroblob(18), zeroblob(18), "
                "zeroblob(18) FROM n");
        const auto opened = storage::openSession(path);
        if (opened) QSKIP("this machine has more than 110 GB of memory");
        QVERIFY(opened.error().code == base::ErrorCode::unsupported);
        QVERIFY(opened.error().message.find("4194304000 spans") != std::string::npos);
    }

    void aFileCutAnywhereOpensOrSaysWhy()
    {
        const std::string whole = slurp(sample(9'000));
        const fs::path path = place("cut.stepscope");
        int opens = 0, complete = 0;
        for (size_t length = 0; length < whole.size(); length += 4096) {
            spill(path, std::string_view(whole).substr(0, length));
            const auto opened = storage::openSession(path);
            if (!opened) {
                QVERIFY(!opened.error().message.empty());
                QVERIFY(opened.error().code == base::ErrorCode::truncated);
                continue;
            }
            ++opens;
            QVERIFY(quality(**opened, "truncated-file") == 1);
            QVERIFY(walk(**opened));
            complete += (*opened)->spans().size() == 45'000 ? 1 : 0;
        }
        QVERIFY(opens > static_cast<int>(whole.size() / 4096) / 2);
        QVERIFY(complete < opens);
    }

    void shortBeginningsOfTheHeaderAreTruncated()
    {
        const std::string whole = slurp(sample(5));
        const fs::path path = place("head.stepscope");
        for (const size_t length : {1, 15, 16, 50, 99, 100, 511, 512, 4000}) {
            spill(path, std::string_view(whole).substr(0, length));
            const auto opened = storage::openSession(path);
            QVERIFY(!opened.has_value());
            QVERIFY2(opened.error().code == base::ErrorCode::truncated, base::toText(opened.error()).c_str());
        }
    }

    void randomDamageNeverCrashes()
    {
        const std::string whole = slurp(sample(3'000));
        const fs::path path = place("flipped.stepscope");
        std::mt19937 random(1);
        int opens = 0;
        for (int round = 0; round < 200; ++round) {
            std::string bytes = whole;
            for (int i = 0; i < 1 + round % 20; ++i)
                bytes[random() % bytes.size()] = static_cast<char>(random());
            if (round % 4 == 0)
                std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(random() % (bytes.size() - 3000)), 3000,
                            '\xee');
            spill(path, bytes);
            const auto opened = storage::openSession(path);
            if (!opened) continue;
            ++opens;
            QVERIFY(walk(**opened));
        }
        QVERIFY(opens > 50);
    }

    void init()
    {
        fs::remove_all(m_root.path().toStdString());
        fs::create_directories(m_root.path().toStdString());
    }

private:
    fs::path place(const char* name) const { return fs::path(m_root.path().toStdString()) / name; }
    fs::path sample(int steps) const
    {
        const fs::path path = place("sample.stepscope");
        auto writer = storage::SessionWriter::create(path, storage::Existing::replace);
        if (!writer) qFatal("no writer");
        tests::sendSample(**writer, steps);
        if (!(*writer)->finish()) qFatal("not finished");
        return path;
    }
    void execute(const fs::path& path, const char* sql, storage::OpenMode mode = storage::OpenMode::readWrite) const
    {
        auto database = storage::Database::open(path, mode);
        QVERIFY(database.has_value());
        const base::Status status = (*database)->execute(sql);
        QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
    }

    QTemporaryDir m_root;
};

QTEST_GUILESS_MAIN(TestSessionDamage)
#include "tst_session_damage.moc"
