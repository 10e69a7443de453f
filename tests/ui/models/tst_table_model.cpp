#include "ui/models/report_table.h"
#include "ui/models/table_model.h"

#include "core/present/table_source.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QSignalSpy>
#include <QTest>

#include <vector>

using namespace stepscope;

namespace {

// Names, and times whose texts sort differently from their numbers.
class SmallTable : public present::TableSource {
public:
    struct Row {
        std::string name;
        double time; // negative: an empty cell
        uint32_t layer;
    };
    explicit SmallTable(std::vector<Row> rows) : m_rows(std::move(rows)) {}
    int columnCount() const override { return 3; }
    const present::TableColumn& column(int column) const override { return m_columns[static_cast<size_t>(column)]; }
    size_t rowCount() const override { return m_rows.size(); }
    std::string text(size_t row, int column) const override
    {
        const Row& r = m_rows[row];
        if (column == 2) return "layer";
        return column == 0 ? r.name : r.time < 0 ? "" : std::to_string(static_cast<int>(r.time)) + " µs";
    }
    present::SortValue sortValue(size_t row, int column) const override
    {
        if (column == 2) return "layer";
        if (column == 0) return m_rows[row].name;
        return m_rows[row].time < 0 ? present::SortValue() : present::SortValue(m_rows[row].time);
    }
    base::LayerId layer(size_t row) const override { return base::LayerId(m_rows[row].layer); }

private:
    std::vector<Row> m_rows;
    std::vector<present::TableColumn> m_columns{{"name", "Layer", "", present::Alignment::left, false},
                                                {"time", "Time", "median", present::Alignment::right, true},
                                                {"kind", "Kind", "", present::Alignment::left, false}};
};

std::shared_ptr<SmallTable> sample()
{
    return std::make_shared<SmallTable>(std::vector<SmallTable::Row>{{"conv1", 9, 1}, {"pool", -1, 2}, {"conv2", 100, 3}, {"dense", 20, 4}});
}

QStringList column(const QAbstractItemModel& model, int column)
{
    QStringList cells;
    for (int row = 0; row < model.rowCount(); ++row) cells << model.index(row, column).data().toString();
    return cells;
}

} // namespace

class TestTableModel : public QObject {
    Q_OBJECT
private slots:
    void theModelsKeepQtsContract()
    {
        models::TableModel model;
        models::SortModel sorted;
        sorted.setSourceModel(&model);
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QAbstractItemModelTester sortedTester(&sorted, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        model.setSource(sample());
        QCOMPARE(model.rowCount(), 4);
        QCOMPARE(model.columnCount(), 3);
        sorted.sort(1, Qt::DescendingOrder);
        model.setSource(nullptr);
        QCOMPARE(sorted.rowCount(), 0);
    }

    void numbersSortAsNumbersAndEmptyCellsComeLast()
    {
        models::TableModel model;
        model.setSource(sample());
        models::SortModel sorted;
        sorted.setSourceModel(&model);
        sorted.sort(1, Qt::AscendingOrder);
        QCOMPARE(column(sorted, 0), (QStringList{"conv1", "dense", "conv2", "pool"}));
        sorted.sort(1, Qt::DescendingOrder);
        QCOMPARE(column(sorted, 0), (QStringList{"conv2", "dense", "conv1", "pool"}));
        sorted.sort(-1);
        QCOMPARE(column(sorted, 0), (QStringList{"conv1", "pool", "conv2", "dense"}));
    }

    void cellsAndHeadersTellWhatTheSourceSays()
    {
        models::TableModel model;
        model.setSource(sample());
        QCOMPARE(model.index(2, 1).data().toString(), QString("100 µs"));
        QVERIFY((model.index(2, 1).data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight) != 0);
        QCOMPARE(model.headerData(1, Qt::Horizontal).toString(), QString("Time"));
        QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::ToolTipRole).toString(), QString("median"));
        QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::InitialSortOrderRole).toInt(), int(Qt::DescendingOrder));
        QCOMPARE(model.rowOfLayer(base::LayerId(3u)), 2);
        QCOMPARE(model.rowOfLayer(base::LayerId(99u)), -1);
        QCOMPARE(model.rowOfLayer({}), -1);
    }

    void selectingARowTellsItsLayerButSelectingALayerIsQuiet()
    {
        theme::Theme theme;
        models::ReportTable table(theme, {});
        table.setSource(sample());
        table.sortByColumn(1, Qt::DescendingOrder);
        QList<base::LayerId> told;
        connect(&table, &models::ReportTable::layerSelected, this, [&](base::LayerId layer) { told << layer; });
        table.selectRow(0);
        QCOMPARE(told, QList<base::LayerId>{base::LayerId(3u)});
        table.selectLayer(base::LayerId(4u));
        QCOMPARE(told.size(), 1);
        QCOMPARE(table.selectionModel()->selectedRows().size(), 1);
        QCOMPARE(table.selectionModel()->selectedRows().first().data().toString(), QString("dense"));
        // A new source of the same session keeps the selected layer.
        table.setSource(sample());
        QCOMPARE(table.selectionModel()->selectedRows().first().data().toString(), QString("dense"));
        QCOMPARE(told.size(), 1);
    }

    void leadingColumnsStandAfterTheFirst()
    {
        theme::Theme theme;
        models::ReportTable table(theme, {});
        table.setLeadingColumns({"time"});
        table.setSource(sample());
        QCOMPARE(table.horizontalHeader()->visualIndex(0), 0);
        QCOMPARE(table.horizontalHeader()->visualIndex(1), 1);
        QCOMPARE(table.horizontalHeader()->visualIndex(2), 2); // words come last
        models::ReportTable plain(theme, {});
        plain.setLeadingColumns({"kind", "time"});
        plain.setSource(sample());
        QCOMPARE(plain.horizontalHeader()->visualIndex(2), 1);
        QCOMPARE(plain.horizontalHeader()->visualIndex(1), 2);
    }

    void selectedRowsCanBeCopied()
    {
        theme::Theme theme;
        models::ReportTable table(theme, {});
        table.setSource(sample());
        table.selectRow(2);
        QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text(), QString("Layer\tTime\tKind\nconv2\t100 µs\tlayer\n"));
    }
};

QTEST_MAIN(TestTableModel)
#include "tst_table_model.moc"
