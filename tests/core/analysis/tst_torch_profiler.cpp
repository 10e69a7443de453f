// The reports of a real trace against the end-to-end expectations of the PyTorch profiler's TensorBoard plugin, in whole
// microseconds.
#include "core/importers/importer.h"
#include "core/present/device_sources.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>

using namespace stepscope;

namespace {

const QString kFolder = QStringLiteral(STEPSCOPE_TRACES_DIR "/torch_tb_profiler/");

double cell(const present::TableSource& table, size_t row, const std::string& key)
{
    for (int c = 0; c < table.columnCount(); ++c)
        if (table.column(c).key == key)
            if (const present::SortValue value = table.sortValue(row, c); std::holds_alternative<double>(value)) return std::get<double>(value);
    return std::nan("");
}

std::string name(const present::TableSource& table, size_t row)
{
    return table.text(row, 0);
}

} // namespace

class TestTorchProfiler : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void stepsDivideIntoCategories();
    void theAverageStepIsTheMean();
    void operatorsHaveTheirTimes();
    void kernelsHaveTheirTimes();
    void noOperatorIsMadeUp();

private:
    present::DeviceReport report(const char* kind) { return present::makeDeviceReport(kind, *m_session); }

    session::SessionPtr m_session;
    QJsonObject m_expected;
};

void TestTorchProfiler::initTestCase()
{
    QFile file(kFolder + "resnet50_num_workers_0.expected.json");
    if (!file.open(QIODevice::ReadOnly)) QSKIP("the folder of real traces is not here (STEPSCOPE_TRACES)");
    m_expected = QJsonDocument::fromJson(file.readAll()).object();
    const base::Result<importers::Imported> imported = importers::importFile((kFolder + m_expected["trace"].toString()).toStdString());
    QVERIFY2(imported, imported ? "" : base::toText(imported.error()).c_str());
    QVERIFY(imported->complete);
    m_session = imported->session;
}

void TestTorchProfiler::stepsDivideIntoCategories()
{
    const present::DeviceReport made = report("step");
    const QJsonObject steps = m_expected["step_breakdown_us"].toObject();
    QCOMPARE(made.table->rowCount(), static_cast<size_t>(steps.size()) + 1); // and the average
    for (size_t row = 0; row + 1 < made.table->rowCount(); ++row) {
        const QJsonObject expected = steps[QString::number(cell(*made.table, row, "step"))].toObject();
        QCOMPARE(expected.size(), 7);
        double sum = 0;
        for (auto value = expected.begin(); value != expected.end(); ++value) {
            QCOMPARE(cell(*made.table, row, value.key().toStdString()), value->toDouble());
            sum += value->toDouble();
        }
        QCOMPARE(cell(*made.table, row, "duration_us"), sum);
    }
}

void TestTorchProfiler::theAverageStepIsTheMean()
{
    const present::DeviceReport made = report("step");
    const size_t last = made.table->rowCount() - 1;
    QCOMPARE(std::round(cell(*made.table, last, "duration_us")), m_expected["average_step_us"].toDouble());
    const QJsonObject expected = m_expected["average_breakdown_us"].toObject();
    for (auto value = expected.begin(); value != expected.end(); ++value)
        QVERIFY(std::abs(cell(*made.table, last, value.key().toStdString()) - value->toDouble()) <= 0.5); // rounded there
}

void TestTorchProfiler::operatorsHaveTheirTimes()
{
    const present::DeviceReport made = report("operator");
    const QJsonArray operators = m_expected["operators"].toArray();
    QCOMPARE(operators.size(), 74);
    for (const QJsonValue& value : operators) {
        const QJsonObject expected = value.toObject();
        size_t row = 0;
        while (row < made.table->rowCount() && name(*made.table, row) != expected["name"].toString().toStdString())
            ++row;
        QVERIFY2(row < made.table->rowCount(), qPrintable(expected["name"].toString()));
        for (const char* key : {"calls", "device_self_us", "device_total_us", "host_self_us", "host_total_us"})
            QVERIFY2(cell(*made.table, row, key) == expected[key].toDouble(),
                qPrintable(QString("%1 %2: %3, not %4").arg(expected["name"].toString(), key).arg(cell(*made.table, row, key)).arg(expected[key].toDouble())));
    }
}

void TestTorchProfiler::noOperatorIsMadeUp()
{
    QCOMPARE(report("operator").table->rowCount(), static_cast<size_t>(m_expected["operators"].toArray().size()));
}

void TestTorchProfiler::kernelsHaveTheirTimes()
{
    const present::DeviceReport made = report("kernel");
    const QJsonArray kernels = m_expected["kernels"].toArray();
    QCOMPARE(kernels.size(), 62);
    QCOMPARE(made.table->rowCount(), size_t{62});
    for (const QJsonValue& value : kernels) {
        const QJsonObject expected = value.toObject();
        size_t row = 0;
        while (row < made.table->rowCount() && name(*made.table, row) != expected["name"].toString().toStdString())
            ++row;
        QVERIFY2(row < made.table->rowCount(), qPrintable(expected["name"].toString()));
        for (const char* key : {"calls", "total_us", "max_us", "min_us"})
            QCOMPARE(cell(*made.table, row, key), expected[key].toDouble());
        QVERIFY(std::abs(cell(*made.table, row, "mean_us") - expected["mean_us"].toDouble()) <= 0.5); // rounded there
    }
}

QTEST_GUILESS_MAIN(TestTorchProfiler)
#include "tst_torch_profiler.moc"
