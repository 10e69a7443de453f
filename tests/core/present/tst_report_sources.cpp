#include "core/present/report_sources.h"

#include "tests/support/made_session.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <set>

using namespace stepscope;
using namespace stepscope::present;

class TestReportSources : public QObject {
    Q_OBJECT
private slots:
    void phasesAreShownInTheOrderOfAStep();
    void layerSharesSumToOneWithoutContainers();
    void layersFormATreeOnRequest();
    void rowsLinkToLayers();
    void primitivesMarkSlowPaths();
    void stepsShowTheirDisturbances();
    void stepsOfATraceHaveNoColumnsOfUnknownNumbers();
    void onlyLayersThatOweBothGradientsAreMarked();
    void emptyCellsSortLast();
    void columnKeysAreUnique();
    void theSummaryNamesWhatIsLeftOut();
};

namespace {

int columnOf(const TableSource& table, const std::string& key)
{
    for (int c = 0; c < table.columnCount(); ++c)
        if (table.column(c).key == key) return c;
    return -1;
}

std::string cell(const TableSource& table, size_t row, const std::string& key) { return table.text(row, columnOf(table, key)); }

double sum(const TableSource& table, const std::string& key)
{
    double total = 0;
    for (size_t row = 0; row < table.rowCount(); ++row)
        if (const auto value = table.sortValue(row, columnOf(table, key)); std::holds_alternative<double>(value)) total += std::get<double>(value);
    return total;
}

} // namespace

void TestReportSources::phasesAreShownInTheOrderOfAStep()
{
    const auto table = makePhaseTable(analysis::phaseReport(*support::madeSession()));
    QCOMPARE(table->rowCount(), size_t{6});
    QCOMPARE(cell(*table, 1, "phase"), std::string("forward"));
    QCOMPARE(cell(*table, 1, "median_ns"), std::string("600 ns"));
    QCOMPARE(cell(*table, 1, "share"), std::string("30.0 %"));
    QCOMPARE(cell(*table, 5, "phase"), std::string("between phases"));
    QVERIFY(table->subdued(5));
    QCOMPARE(table->bar(1, columnOf(*table, "share")), 0.3);
    QCOMPARE(table->bar(1, columnOf(*table, "median_ns")), -1.0);
    QCOMPARE(table->colour(1), ColourClass::forward);
    QVERIFY(std::abs(sum(*table, "share") - 1) < 1e-12);
}

void TestReportSources::layerSharesSumToOneWithoutContainers()
{
    const auto table = makeLayerTable(analysis::layerReport(*support::madeSession()));
    QVERIFY(std::abs(sum(*table, "share") - 1) < 1e-12);
    QCOMPARE(cell(*table, 0, "layer"), std::string("conv1"));
    QCOMPARE(cell(*table, 0, "forward_median_ns"), std::string("200 ns"));
    QCOMPARE(cell(*table, 0, "backward_over_forward"), std::string("2.2"));
    QCOMPARE(cell(*table, 1, "layer"), std::string("block, between layers"));
    QCOMPARE(cell(*table, 1, "share"), std::string("6.0 %"));
    QVERIFY(table->emphasised(0)); // a reorder
    QCOMPARE(cell(*table, 0, "note"), std::string("slow path 40 ns per step")); // 120 ns in all: 20 of 1000 in steps of 1000, 2000 and 3000 ns
}

void TestReportSources::layersFormATreeOnRequest()
{
    const auto table = makeLayerTable(analysis::layerReport(*support::madeSession()), true);
    QCOMPARE(cell(*table, 0, "layer"), std::string("(model)"));
    QCOMPARE(cell(*table, 2, "layer"), std::string("block"));
    QCOMPARE(cell(*table, 2, "share"), std::string("37.0 %")); // 60 + 170 + 140 of 1000
    QCOMPARE(table->indent(2), 1);
    QCOMPARE(table->indent(3), 2);
}

void TestReportSources::rowsLinkToLayers()
{
    const auto table = makeLayerTable(analysis::layerReport(*support::madeSession()));
    QCOMPARE(table->layer(0).value, 1u);
    QVERIFY(!table->layer(table->rowCount() - 1).valid());
    QVERIFY(table->subdued(table->rowCount() - 1));
}

void TestReportSources::primitivesMarkSlowPaths()
{
    const auto table = makePrimitiveTable(analysis::primitiveReport(*support::madeSession()));
    int marked = 0;
    for (size_t row = 0; row < table->rowCount(); ++row) {
        if (!table->emphasised(row)) continue;
        ++marked;
        QCOMPARE(cell(*table, row, "primitive"), std::string("conv1 reorder"));
        QCOMPARE(cell(*table, row, "flags"), std::string("reorder"));
        QCOMPARE(table->colour(row), ColourClass::slow);
    }
    QCOMPARE(marked, 1);
    QVERIFY(std::abs(sum(*table, "share") - 1) < 1e-12);
}

void TestReportSources::stepsShowTheirDisturbances()
{
    analysis::SpanFilter filter;
    filter.includeWarmup = true;
    const auto table = makeStepTable(analysis::stepReport(*support::madeSession(), filter));
    QCOMPARE(table->rowCount(), size_t{4});
    QCOMPARE(cell(*table, 0, "note"), std::string("warm-up"));
    QCOMPARE(cell(*table, 3, "note"), std::string("disturbed"));
    QCOMPARE(cell(*table, 3, "involuntary_switches"), std::string("1"));
    QCOMPARE(cell(*table, 3, "forward_ns"), std::string("900 ns"));
    QCOMPARE(cell(*table, 3, "between_phases_ns"), std::string("150 ns"));
    QCOMPARE(columnOf(*table, "device-to-host_ns"), -1); // does not occur
}

void TestReportSources::stepsOfATraceHaveNoColumnsOfUnknownNumbers()
{
    analysis::StepReport report;
    report.rows.resize(2);
    for (analysis::StepReportRow& row : report.rows) {
        row.step.duration = 1000;
        row.step.loss = std::numeric_limits<double>::quiet_NaN();
        row.share = 0.5;
    }
    const auto table = makeStepTable(report);
    for (const char* key : {"epoch", "loss", "samples", "involuntary_switches", "page_faults"}) QCOMPARE(columnOf(*table, key), -1);
    QCOMPARE(cell(*table, 1, "duration_ns"), std::string("1.000 µs"));
    QCOMPARE(cell(*table, 1, "share"), std::string("50.0 %"));
    report.rows[1].step.samples = 64;
    QCOMPARE(cell(*makeStepTable(report), 1, "samples"), std::string("64"));
    QCOMPARE(cell(*makeStepTable(report), 1, "share"), std::string("50.0 %"));
}

void TestReportSources::onlyLayersThatOweBothGradientsAreMarked()
{
    analysis::LayerReport report;
    for (uint32_t i = 0; i < 4; ++i) { // a layer that reads the data, a pool, and two others
        analysis::LayerReportRow row;
        row.layer = base::LayerId(i);
        row.parameters = i == 1 ? 0 : 10;
        row.total.share = 0.25;
        row.backwardOverForward = i == 3 ? 2 : 0.1;
        report.rows.push_back(row);
    }
    const auto table = makeLayerTable(report);
    QVERIFY(!table->emphasised(0));
    QVERIFY(!table->emphasised(1));
    QVERIFY(table->emphasised(2));
    QVERIFY(!table->emphasised(3));
}

void TestReportSources::emptyCellsSortLast()
{
    QCOMPARE(compare(SortValue{1.0}, SortValue{2.0}), -1);
    QCOMPARE(compare(SortValue{2.0}, SortValue{2.0}), 0);
    QCOMPARE(compare(SortValue{std::string("b")}, SortValue{std::string("a")}), 1);
    QCOMPARE(compare(SortValue{}, SortValue{1e300}), 1);
    QCOMPARE(compare(SortValue{std::string("a")}, SortValue{}), -1);
    QCOMPARE(compare(SortValue{}, SortValue{}), 0);
    QCOMPARE(compare(SortValue{5.0}, SortValue{std::string("5")}), -1);
}

void TestReportSources::columnKeysAreUnique()
{
    const session::SessionPtr session = support::madeSession();
    std::vector<std::unique_ptr<TableSource>> tables;
    tables.push_back(makePhaseTable(analysis::phaseReport(*session)));
    tables.push_back(makeLayerTable(analysis::layerReport(*session)));
    tables.push_back(makePrimitiveTable(analysis::primitiveReport(*session)));
    tables.push_back(makeStepTable(analysis::stepReport(*session)));
    for (const auto& table : tables) {
        std::set<std::string> keys;
        for (int c = 0; c < table->columnCount(); ++c) {
            QVERIFY(keys.insert(table->column(c).key).second);
            QVERIFY(!table->column(c).tip.empty());
            for (size_t row = 0; row < table->rowCount(); ++row) {
                const SortValue value = table->sortValue(row, c);
                if (std::holds_alternative<std::monostate>(value)) QCOMPARE(table->text(row, c), std::string());
            }
        }
    }
}

void TestReportSources::theSummaryNamesWhatIsLeftOut()
{
    const std::string text = stepSummaryText(analysis::stepStatistics(*support::madeSession()));
    QVERIFY2(text.find("3 steps: median 2.000 µs") == 0, text.c_str());
    QVERIFY2(text.find("1 warm-up step left out") != std::string::npos, text.c_str());
    QVERIFY2(text.find("1 disturbed by the system") != std::string::npos, text.c_str());
    QCOMPARE(stepSummaryText({}), std::string("no steps"));
}

QTEST_GUILESS_MAIN(TestReportSources)
#include "tst_report_sources.moc"
