#include "app/cli/table_text.h"

#include "app/cli/console.h"
#include "core/present/memory_table.h"

#include <QStringList>
#include <QtTest>

using namespace stepscope;
using namespace stepscope::cli;
using present::CellFormat;

class TestTableText : public QObject {
    Q_OBJECT
private slots:
    void columnsAreAligned();
    void longNamesGiveWayFirst();
    void columnsWithoutRoomAreNamed();
    void columnsWithoutContentDoNotAppear();
    void csvQuotesWhatNeedsIt();
    void controlCharactersDoNotReachTheTerminal();
    void jsonRowsUseKeys();
};

namespace {

present::MemoryTable makeTable()
{
    present::MemoryTable table;
    table.addColumn(CellFormat::text, "name", "Name", "t");
    table.addColumn(CellFormat::time, "median_ns", "Median", "t");
    table.addColumn(CellFormat::share, "share", "Share", "t");
    table.addColumn(CellFormat::flopRate, "rate", "Rate", "t");
    const auto row = [&](std::string name, double ns, double share, double rate) {
        present::TableRow added;
        added.texts = {std::move(name)};
        added.numbers = {ns, share, rate};
        table.addRow(added);
    };
    row("conv1", 1234567, 0.75, 2e9);
    row("σ-layer", 12, 0.25, present::kEmptyCell);
    return table;
}

QStringList lines(const std::string& text) { return QString::fromStdString(text).split('\n', Qt::SkipEmptyParts); }

} // namespace

void TestTableText::columnsAreAligned()
{
    const TextTable table = alignedText(makeTable(), {"name", "median_ns", "share"}, 100);
    QCOMPARE(lines(table.text), (QStringList{"Name       Median   Share", "-------  --------  ------", "conv1    1.235 ms  75.0 %",
                                    "σ-layer     12 ns  25.0 %"}));
    QVERIFY(table.leftOut.empty());
}

void TestTableText::longNamesGiveWayFirst()
{
    present::MemoryTable table = makeTable();
    present::TableRow row;
    row.texts = {std::string(200, 'x')};
    row.numbers = {1, 1, 1e9};
    table.addRow(row);
    const TextTable text = alignedText(table, {"name", "share", "median_ns", "rate"}, 80);
    QVERIFY(text.leftOut.empty());
    for (const QString& line : lines(text.text))
        QVERIFY2(line.size() <= 80, qPrintable(line));
    QVERIFY(lines(text.text).last().contains("xxx…"));
}

void TestTableText::columnsWithoutRoomAreNamed()
{
    present::MemoryTable table;
    table.addColumn(CellFormat::text, "name", "Name", "t");
    for (int i = 0; i < 12; ++i)
        table.addColumn(CellFormat::time, "t" + std::to_string(i), "Column " + std::to_string(i), "t");
    present::TableRow row;
    row.texts = {"a name of some length"};
    row.numbers.assign(12, 1234567);
    table.addRow(row);
    std::vector<std::string> keys{"name", "t11"};
    for (int i = 0; i < 11; ++i)
        keys.push_back("t" + std::to_string(i));
    const TextTable text = alignedText(table, keys, 80);
    QVERIFY(!text.leftOut.empty());
    QCOMPARE(text.leftOut.back(), std::string("Column 10"));
    QVERIFY(lines(text.text).first().contains("Column 11")); // the most important one stays
    for (const QString& line : lines(text.text))
        QVERIFY(line.size() <= 80);
}

void TestTableText::columnsWithoutContentDoNotAppear()
{
    present::MemoryTable table;
    table.addColumn(CellFormat::text, "name", "Name", "t");
    table.addColumn(CellFormat::flopRate, "rate", "Rate", "t");
    present::TableRow row;
    row.texts = {"a"};
    row.numbers = {present::kEmptyCell};
    table.addRow(row);
    QCOMPARE(lines(alignedText(table, {"name", "rate", "unknown"}, 100).text), (QStringList{"Name", "----", "a"}));
}

void TestTableText::csvQuotesWhatNeedsIt()
{
    present::MemoryTable table = makeTable();
    present::TableRow row;
    row.texts = {"a,\"b\"\nc"};
    row.numbers = {0.5, present::kEmptyCell, 0.1};
    table.addRow(row);
    QCOMPARE(csvText(table), std::string("name,median_ns,share,rate\r\nconv1,1234567,0.75,2000000000\r\nσ-layer,12,0.25,\r\n"
                                         "\"a,\"\"b\"\"\nc\",0.5,,0.1\r\n"));
}

void TestTableText::controlCharactersDoNotReachTheTerminal()
{
    QCOMPARE(printable("a\x1b[2Jb\nc"), std::string("a?[2Jb?c"));
    QCOMPARE(columns("σ—a"), size_t{3});
}

void TestTableText::jsonRowsUseKeys()
{
    JsonText json;
    writeJsonRows(makeTable(), json);
    const std::string text = json.take();
    QVERIFY(text.find("\"median_ns\": 1234567") != std::string::npos);
    QVERIFY(text.find("\"rate\": null") != std::string::npos);
}

QTEST_GUILESS_MAIN(TestTableText)
#include "tst_table_text.moc"
