#include <QtTest>

#include "core/base/result.h"

#include <set>
#include <string>

using namespace stepscope::base;

class TestError : public QObject {
    Q_OBJECT
private slots:
    void textNamesThePlaceAsCompilersDo_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("line");
        QTest::addColumn<int>("column");
        QTest::addColumn<int>("byte");
        QTest::addColumn<QString>("expected");
        QTest::newRow("nothing known") << "" << 0 << 0 << -1 << "it broke";
        QTest::newRow("file") << "a.jl" << 0 << 0 << -1 << "a.jl: it broke";
        QTest::newRow("line") << "a.jl" << 3 << 0 << -1 << "a.jl:3: it broke";
        QTest::newRow("column") << "a.jl" << 3 << 7 << -1 << "a.jl:3:7: it broke";
        QTest::newRow("byte") << "x.bin" << 0 << 0 << 0 << "x.bin: byte 0: it broke";
        QTest::newRow("no file") << "" << 3 << 7 << -1 << "line 3:7: it broke";
    }
    void textNamesThePlaceAsCompilersDo()
    {
        QFETCH(QString, file);
        QFETCH(int, line);
        QFETCH(int, column);
        QFETCH(int, byte);
        QFETCH(QString, expected);
        const Error error{
            ErrorCode::syntax, "it broke", {.file = file.toStdString(), .byte = byte, .line = line, .column = column}};
        QCOMPARE(QString::fromStdString(toText(error)), expected);
    }

    void fieldAndHintAreAppended()
    {
        const Error error{
            ErrorCode::invalidArgument, "not a number", {.file = "d.csv", .line = 2, .field = "width"}, "write digits"};
        QCOMPARE(toText(error), std::string("d.csv:2: not a number (field 'width')\nhint: write digits"));
    }

    void codesHaveDistinctNames()
    {
        std::set<std::string> names;
        for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code)
            names.insert(codeName(static_cast<ErrorCode>(code)));
        QCOMPARE(names.size(), static_cast<size_t>(ErrorCode::internal) + 1);
        QCOMPARE(std::string(codeName(ErrorCode::diskFull)), std::string("disk-full"));
    }

    void failMakesTheErrorOfAResult()
    {
        const Result<int> result = fail(ErrorCode::notFound, "no such file", {.file = "x"}, "look again");
        QVERIFY(!result.has_value());
        QVERIFY(result.error().code == ErrorCode::notFound);
        QCOMPARE(result.error().hint, std::string("look again"));
    }
};

QTEST_GUILESS_MAIN(TestError)
#include "tst_error.moc"
