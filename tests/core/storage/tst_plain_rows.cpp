#include <QtTest>

#include "core/storage/plain_rows.h"
#include "core/storage/sqlite.h"
#include "tests/core/storage/sample_session.h"

#include <filesystem>

using namespace stepscope;
namespace fs = std::filesystem;

class TestPlainRows : public QObject {
    Q_OBJECT
private slots:
    void initTestCase()
    {
        session::SessionBuilder builder;
        tests::sendSample(builder, 100);
        m_path = fs::path(m_root.path().toStdString()) / "rows.sqlite";
        const auto status = storage::writePlainRows(*builder.build(), m_path);
        QVERIFY2(status.has_value(), status ? "" : base::toText(status.error()).c_str());
    }

    void queriesGiveTheKnownNumbers_data()
    {
        QTest::addColumn<QString>("sql");
        QTest::addColumn<QString>("result");
        QTest::newRow("spans") << "SELECT count(*) FROM spans"
                               << "500";
        QTest::newRow("step 3 begins") << "SELECT start_ns FROM spans WHERE step = 3 AND kind = 'step'"
                                       << "1300000";
        QTest::newRow("sum per name") << "SELECT sum(duration_ns) FROM spans WHERE name = 'forward'"
                                      << "6000000";
        QTest::newRow("phase") << "SELECT phase FROM spans WHERE name = 'make batch' LIMIT 1"
                               << "loading";
        QTest::newRow("layer path") << "SELECT layer FROM spans WHERE kind = 'layer' LIMIT 1"
                                    << "conv1";
        QTest::newRow("implementation") << "SELECT implementation FROM spans WHERE kind = 'primitive' LIMIT 1"
                                        << "jit:avx512_core";
        QTest::newRow("track") << "SELECT count(*) FROM spans WHERE track = 'loader 0'"
                               << "100";
        QTest::newRow("parents") << "SELECT count(*) FROM span c JOIN span p ON p.id = c.parent_id JOIN label l ON "
                                    "l.id = p.label_id WHERE l.kind = 'step'"
                                 << "100";
        QTest::newRow("outside steps") << "SELECT count(*) FROM spans WHERE step IS NULL"
                                       << "100";
        QTest::newRow("phases of a step") << "SELECT duration_ns FROM step_phases WHERE step = 7"
                                          << "60000";
        QTest::newRow("layer times") << "SELECT executions FROM layer_times WHERE layer = 'conv1' AND phase = 'forward'"
                                     << "100";
        QTest::newRow("primitive times") << "SELECT executions FROM primitive_times"
                                         << "100";
        QTest::newRow("steps") << "SELECT sum(samples) FROM step"
                               << "6400";
        QTest::newRow("unknown loss") << "SELECT count(*) FROM step WHERE loss IS NULL"
                                      << "34";
        QTest::newRow("disturbed") << "SELECT count(*) FROM step WHERE disturbed"
                                   << "10";
        QTest::newRow("layers") << "SELECT input FROM layer WHERE path = 'conv1'"
                                << "(28, 28, 1, 64)";
        QTest::newRow("environment") << "SELECT value FROM environment WHERE key = 'threads'"
                                     << "2";
        QTest::newRow("quality") << "SELECT count FROM quality WHERE code = 'lost-spans'"
                                 << "3";
        QTest::newRow("samples") << "SELECT sum(weight) FROM samples WHERE function = 'jit_conv' AND phase = 'forward' "
                                    "AND layer = 'conv1' AND track = 'training' AND series = 'cpu time'"
                                 << "100000000";
        QTest::newRow("samples without a stack") << "SELECT count(*) FROM samples WHERE stack_id IS NULL"
                                                 << "100";
        QTest::newRow("samples without times") << "SELECT count(*) FROM samples WHERE time_ns IS NULL"
                                               << "100";
        QTest::newRow("callers") << "WITH RECURSIVE up(id, depth) AS (SELECT 3, 1 UNION ALL SELECT parent_id, depth + 1 "
                                    "FROM up JOIN stack USING(id) WHERE parent_id IS NOT NULL) SELECT max(depth) FROM up"
                                 << "3";
        QTest::newRow("frame") << "SELECT file || ':' || line FROM frame WHERE function = 'train::step(int)'"
                               << "step.cpp:42";
        QTest::newRow("track of a device") << "SELECT kind || ' ' || group_name FROM track WHERE device = 2"
                                           << "asynchronous rank 1";
        QTest::newRow("category") << "SELECT category FROM label WHERE name = 'make batch'"
                                  << "make batch";
        QTest::newRow("places") << "SELECT places FROM quality WHERE code = 'lost-spans'"
                                << "line 12, byte 345";
        QTest::newRow("counter") << "SELECT count(*) FROM counter_sample JOIN counter ON counter.id = counter_id WHERE "
                                    "name = 'loss'"
                                 << "100";
    }
    void queriesGiveTheKnownNumbers()
    {
        QFETCH(QString, sql);
        QFETCH(QString, result);
        auto database = storage::Database::open(m_path, storage::OpenMode::readOnly);
        QVERIFY(database.has_value());
        auto statement = (*database)->prepare(sql.toStdString());
        QVERIFY2(statement.has_value(), statement ? "" : statement.error().message.c_str());
        const auto row = statement->step();
        QVERIFY(row.has_value() && *row);
        QCOMPARE(statement->text(0), result.toStdString());
    }

    void anExistingFileCanBeRefused()
    {
        session::SessionBuilder builder;
        const auto status = storage::writePlainRows(*builder.build(), m_path, storage::Existing::refuse);
        QVERIFY(!status.has_value());
        QVERIFY(fs::file_size(m_path) > 10'000);
    }

private:
    QTemporaryDir m_root;
    fs::path m_path;
};

QTEST_GUILESS_MAIN(TestPlainRows)
#include "tst_plain_rows.moc"
