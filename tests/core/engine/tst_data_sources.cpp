#include "data_files.h"

#include "core/engine/csv_source.h"
#include "core/engine/made_source.h"
#include "core/engine/raw_source.h"

#include <cmath>

using namespace stepscope;
using base::ErrorCode;
using engine::Batch;
using engine::CsvOptions;
using engine::readCsv;
using testing::DataFolder;
using testing::rawBytes;

Q_DECLARE_METATYPE(stepscope::base::ErrorCode)

class TestDataSources : public QObject {
    Q_OBJECT
private slots:
    void csvOfNumbersIsRead_data();
    void csvOfNumbersIsRead();
    void csvNamesBecomeSortedClasses();
    void csvTargetsAreRead();
    void csvMistakesHaveTheirPlace_data();
    void csvMistakesHaveTheirPlace();
    void csvTestSetKnowsTheTrainingClasses();
    void rawLabelsAndTargetsAreRead();
    void rawSizesMustFit();
    void labelsMustFitTheModel();
    void madeClassesAreDeterministicAndSeparable();
    void madeRegressionIsLinear();
    void madeDataTakesTheModelsShape();

private:
    DataFolder m_folder;
};

void TestDataSources::csvOfNumbersIsRead_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<bool>("header");
    QTest::newRow("plain") << QByteArray("1,2.5,0\n-3e2,.5,2\n") << false;
    QTest::newRow("no last line end") << QByteArray("1,2.5,0\n-3e2,.5,2") << false;
    QTest::newRow("CRLF, blanks, mark")
        << QByteArray("\xEF\xBB\xBF 1 , 2.5 ,0\r\n\r\n+-3e2,.5,2\r\n").replace("+-", "-") << false;
    QTest::newRow("header") << QByteArray("a,\"b, c\",class\n1,2.5,0\n-3e2,+.5,2\n") << true;
    QTest::newRow("semicolons") << QByteArray("1;2.5;0\n-300;0.5;2\n") << false;
    QTest::newRow("tabs") << QByteArray("1\t2.5\t0\n-300\t0.5\t2\n") << false;
    QTest::newRow("quoted") << QByteArray("\"1\",\"2.5\",\"0\"\n\"-300\",0.5,2.0\n") << false;
}

void TestDataSources::csvOfNumbersIsRead()
{
    QFETCH(QByteArray, text);
    QFETCH(bool, header);
    CsvOptions options;
    options.header = header;
    const auto csv = readCsv(m_folder.write("a.csv", text.toStdString()), options, {});
    QVERIFY2(csv.has_value(), csv ? "" : toText(csv.error()).c_str());
    QCOMPARE(csv->data.size, int64_t{2});
    QCOMPARE(csv->data.sampleShape, model::Dims{2});
    QCOMPARE(std::vector<float>(csv->data.values.begin(), csv->data.values.end()),
             (std::vector<float>{1, 2.5f, -300, 0.5f}));
    QCOMPARE(csv->data.labels[0], 0);
    QCOMPARE(csv->data.labels[1], 2);
    QCOMPARE(csv->data.classes, int64_t{3});
}

void TestDataSources::csvNamesBecomeSortedClasses()
{
    const auto csv = readCsv(
        m_folder.writeGz("iris.csv.gz", "1,setosa\n2,\"virginica\"\n3,setosa\n4,\"a \"\"b\"\"\n c\"\n"), {}, {});
    QVERIFY2(csv.has_value(), csv ? "" : toText(csv.error()).c_str());
    QCOMPARE(csv->classNames, (std::vector<std::string>{"a \"b\"\n c", "setosa", "virginica"}));
    QCOMPARE(std::vector<int32_t>(csv->data.labels.begin(), csv->data.labels.end()),
             (std::vector<int32_t>{1, 2, 1, 0}));
}

void TestDataSources::csvTargetsAreRead()
{
    CsvOptions options;
    options.classification = false;
    options.targetColumns = 2;
    const auto csv = readCsv(m_folder.write("a.csv", "1,2,3\n4,5,6\n"), options, {});
    QVERIFY(csv.has_value());
    QCOMPARE(csv->data.sampleShape, model::Dims{1});
    QCOMPARE(csv->data.targetShape, model::Dims{2});
    QCOMPARE(std::vector<float>(csv->data.targets.begin(), csv->data.targets.end()), (std::vector<float>{2, 3, 5, 6}));
    QCOMPARE(csv->data.classes, int64_t{0});
}

void TestDataSources::csvMistakesHaveTheirPlace_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<bool>("header");
    QTest::addColumn<ErrorCode>("code");
    QTest::addColumn<int>("line");
    QTest::addColumn<int>("column");
    QTest::addColumn<QString>("part");
    QTest::newRow("not a number") << QByteArray("1,2,0\n3,x4,0\n") << false << ErrorCode::syntax << 2 << 3
                                  << "'x4' is not a number";
    QTest::newRow("after umlauts") << QByteArray("1,2,0\n\"\xC3\xA4\xC3\xB6\",4,0\n") << false << ErrorCode::syntax << 2
                                   << 1 << "is not a number";
    QTest::newRow("column in characters")
        << QByteArray("a,\xC3\xA4\xC3\xB6,c\n1,2,0\n3 ,?,0\n") << true << ErrorCode::syntax << 3 << 4 << "'?'";
    QTest::newRow("missing") << QByteArray("1,2,0\n3,,0\n") << false << ErrorCode::syntax << 2 << 3 << "missing";
    QTest::newRow("missing class") << QByteArray("1,2,a\n3,3,\n") << false << ErrorCode::syntax << 2 << 5
                                   << "class is missing";
    QTest::newRow("too few") << QByteArray("1,2,0\n3,4\n") << false << ErrorCode::syntax << 2 << 3
                             << "has 2 columns, the rows before have 3";
    QTest::newRow("too many") << QByteArray("1,2,0\n3,4,5,6\n") << false << ErrorCode::syntax << 2 << 7
                              << "has 4 columns";
    QTest::newRow("open quote") << QByteArray("1,2,0\n3,\"4,0\n") << false << ErrorCode::syntax << 2 << 3
                                << "never closed";
    QTest::newRow("after quote") << QByteArray("1,2,0\n3,\"4\"4,0\n") << false << ErrorCode::syntax << 2 << 6
                                 << "after a closing quote";
    QTest::newRow("nan") << QByteArray("1,nan,0\n") << false << ErrorCode::syntax << 1 << 3 << "not a finite number";
    QTest::newRow("too large") << QByteArray("1,1e99,0\n") << false << ErrorCode::syntax << 1 << 3
                               << "range of float32";
    QTest::newRow("one column") << QByteArray("1\n2\n") << false << ErrorCode::invalidArgument << 1 << 0
                                << "1 columns cannot hold";
    QTest::newRow("empty") << QByteArray() << false << ErrorCode::truncated << 0 << 0 << "no rows";
    QTest::newRow("header alone") << QByteArray("a,b\n") << true << ErrorCode::truncated << 0 << 0 << "no rows";
    QTest::newRow("binary") << QByteArray("\0\x1\x2\xff\xfe\0,\n", 8) << false << ErrorCode::syntax << 1 << 1
                            << "is not a number";
}

void TestDataSources::csvMistakesHaveTheirPlace()
{
    QFETCH(QByteArray, text);
    QFETCH(bool, header);
    QFETCH(ErrorCode, code);
    QFETCH(int, line);
    QFETCH(int, column);
    QFETCH(QString, part);
    CsvOptions options;
    options.header = header;
    const std::string path = m_folder.write("bad.csv", text.toStdString());
    const auto csv = readCsv(path, options, {});
    QVERIFY(!csv.has_value());
    QVERIFY2(csv.error().message.find(part.toStdString()) != std::string::npos, csv.error().message.c_str());
    QCOMPARE(csv.error().code, code);
    QCOMPARE(csv.error().where.file, path);
    QCOMPARE(csv.error().where.line, line);
    QCOMPARE(csv.error().where.column, column);
}

void TestDataSources::csvTestSetKnowsTheTrainingClasses()
{
    model::DataSpec spec;
    spec.kind = model::DataKind::csv;
    spec.path = m_folder.write("train.csv", "1,cat\n2,dog\n3,cat\n");
    spec.testPath = m_folder.write("test.csv", "5,dog\n");
    model::LossSpec loss;
    loss.kind = model::LossKind::logitcrossentropy;
    const auto set = engine::openData(spec, {}, {2}, loss, 0, {}, {});
    QVERIFY2(set.has_value(), set ? "" : toText(set.error()).c_str());
    Batch batch;
    batch.x.resize(1);
    batch.labels.resize(1);
    const int64_t zero = 0;
    set->test->read({&zero, 1}, batch);
    QCOMPARE(batch.labels[0], 1);
    spec.testPath = m_folder.write("test.csv", "5,dog\n6,bird\n");
    const auto unknown = engine::openData(spec, {}, {2}, loss, 0, {}, {});
    QVERIFY(!unknown.has_value());
    QCOMPARE(unknown.error().where.line, 2);
    QVERIFY(unknown.error().message.find("'bird'") != std::string::npos);
}

void TestDataSources::rawLabelsAndTargetsAreRead()
{
    const std::string x = m_folder.write("train.f32", rawBytes<float>({1, 2, 3, 4, 5, 6}));
    m_folder.write("train.labels", rawBytes<int32_t>({0, 4, 1}));
    m_folder.write("train.targets", rawBytes<float>({7, 8, 9}));
    model::DataSpec spec;
    spec.kind = model::DataKind::raw;
    spec.path = x;
    spec.sampleShape = {2};
    model::LossSpec loss;
    loss.kind = model::LossKind::logitcrossentropy;
    const auto classes = engine::openData(spec, {}, {5}, loss, 0, {}, {});
    QVERIFY2(classes.has_value(), classes ? "" : toText(classes.error()).c_str());
    QCOMPARE(classes->train->size(), int64_t{3});
    QCOMPARE(classes->train->classes(), int64_t{5});
    loss.kind = model::LossKind::mse;
    const auto values = engine::openData(spec, {}, {1}, loss, 0, {}, {});
    QVERIFY2(values.has_value(), values ? "" : toText(values.error()).c_str());
    Batch batch;
    batch.x.resize(2);
    batch.targets.resize(1);
    const int64_t two = 2;
    values->train->read({&two, 1}, batch);
    QVERIFY(batch.x[0] == 5 && batch.x[1] == 6 && batch.targets[0] == 9);
}

void TestDataSources::rawSizesMustFit()
{
    const std::string x = m_folder.write("x.f32", rawBytes<float>({1, 2, 3, 4, 5}));
    engine::RawOptions options;
    options.sampleShape = {2};
    const auto cut = engine::readRaw(x, m_folder.write("y", rawBytes<int32_t>({0, 1})), options, {});
    QVERIFY(!cut.has_value());
    QCOMPARE(cut.error().code, ErrorCode::truncated);
    QVERIFY2(cut.error().message.find("20 bytes") != std::string::npos
                 && cut.error().message.find("multiple of 8") != std::string::npos,
             cut.error().message.c_str());
    options.sampleShape = {1};
    const auto few = engine::readRaw(x, m_folder.write("y", rawBytes<int32_t>({0, 1})), options, {});
    QVERIFY(!few.has_value());
    QVERIFY2(few.error().message.find("holds 2 labels (8 bytes)") != std::string::npos
                 && few.error().message.find("need 20 bytes") != std::string::npos,
             few.error().message.c_str());
    const auto negative = engine::readRaw(x, m_folder.write("y", rawBytes<int32_t>({0, 1, -1, 0, 0})), options, {});
    QVERIFY(!negative.has_value());
    QCOMPARE(negative.error().where.byte, int64_t{8});
    QVERIFY(!engine::readRaw(m_folder.path("none"), "", options, {}).has_value());
    options.samples = 2;
    const auto front = engine::readRaw(x, m_folder.write("y", rawBytes<int32_t>({0, 1, 1, 0, 0})), options, {});
    QVERIFY(front.has_value());
    QCOMPARE(front->size, int64_t{2});
}

void TestDataSources::labelsMustFitTheModel()
{
    model::DataSpec spec;
    spec.kind = model::DataKind::csv;
    spec.path = m_folder.write("a.csv", "1,0\n2,3\n");
    model::LossSpec loss;
    loss.kind = model::LossKind::logitcrossentropy;
    const auto small = engine::openData(spec, {}, {3}, loss, 0, {}, {});
    QVERIFY(!small.has_value());
    QVERIFY2(small.error().message.find("label 3 is out of range: the model has 3 outputs") != std::string::npos,
             small.error().message.c_str());
    QVERIFY(engine::openData(spec, {}, {4}, loss, 0, {}, {}).has_value());
    loss.kind = model::LossKind::binarycrossentropy;
    QVERIFY(!engine::openData(spec, {}, {1}, loss, 0, {}, {}).has_value());
    loss.kind = model::LossKind::mse; // one target column against two outputs
    const auto targets = engine::openData(spec, {}, {2}, loss, 0, {}, {});
    QVERIFY(!targets.has_value());
    QVERIFY(targets.error().message.find("a target has 1 values") != std::string::npos);
}

void TestDataSources::madeClassesAreDeterministicAndSeparable()
{
    for (const model::Dims& shape : {model::Dims{20}, model::Dims{3, 8, 8}}) {
        engine::MadeOptions options;
        options.sampleShape = shape;
        options.classes = 4;
        options.samples = 400;
        options.seed = 7;
        const engine::MadeSource a(options), b(options);
        const auto n = static_cast<size_t>(model::product(shape));
        std::vector<int64_t> all(400);
        for (size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<int64_t>(i);
        Batch x, y;
        for (Batch* batch : {&x, &y}) {
            batch->x.resize(400 * n);
            batch->labels.resize(400);
        }
        a.read(all, x);
        b.read(all, y);
        QVERIFY(x.x == y.x && x.labels == y.labels);
        // The nearest of the class means (of the first half) names the right class for nearly all of the second half.
        std::vector<double> means(4 * n, 0.0);
        for (size_t i = 0; i < 200; ++i) {
            for (size_t k = 0; k < n; ++k)
                means[static_cast<size_t>(x.labels[i]) * n + k] += x.x[i * n + k] / 50.0;
        }
        int right = 0;
        for (size_t i = 200; i < 400; ++i) {
            double best = 1e300;
            int32_t nearest = -1;
            for (int32_t c = 0; c < 4; ++c) {
                double distance = 0;
                for (size_t k = 0; k < n; ++k)
                    distance += std::pow(x.x[i * n + k] - means[static_cast<size_t>(c) * n + k], 2);
                if (distance < best) {
                    best = distance;
                    nearest = c;
                }
            }
            right += nearest == x.labels[i] ? 1 : 0;
        }
        QVERIFY2(right > 180, qPrintable(QString::number(right)));
    }
}

void TestDataSources::madeRegressionIsLinear()
{
    engine::MadeOptions options;
    options.sampleShape = {12};
    options.targetShape = {2};
    options.samples = 100;
    const engine::MadeSource source(options);
    QCOMPARE(source.classes(), int64_t{0});
    Batch batch;
    batch.x.resize(1200);
    batch.targets.resize(200);
    std::vector<int64_t> all(100);
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<int64_t>(i);
    source.read(all, batch);
    // Gradient descent on a linear model explains most of the targets' variance.
    std::vector<double> w(24, 0.0);
    double first = 0, last = 0;
    for (int step = 0; step < 3000; ++step) {
        std::vector<double> g(24, 0.0);
        last = 0;
        for (size_t i = 0; i < 100; ++i) {
            for (size_t o = 0; o < 2; ++o) {
                double error = -static_cast<double>(batch.targets[i * 2 + o]);
                for (size_t k = 0; k < 12; ++k)
                    error += w[o * 12 + k] * batch.x[i * 12 + k];
                last += error * error;
                for (size_t k = 0; k < 12; ++k)
                    g[o * 12 + k] += error * batch.x[i * 12 + k] / 100;
            }
        }
        if (step == 0) first = last;
        for (size_t k = 0; k < 24; ++k)
            w[k] -= 0.1 * g[k];
    }
    QVERIFY2(last < 0.15 * first, qPrintable(QString("%1 of %2").arg(last).arg(first)));
}

void TestDataSources::madeDataTakesTheModelsShape()
{
    model::LossSpec loss;
    loss.kind = model::LossKind::logitcrossentropy;
    const auto set = engine::openData({}, {1, 28, 28}, {10}, loss, 1, {}, {});
    QVERIFY(set.has_value());
    QCOMPARE(set->train->sampleShape(), (model::Dims{1, 28, 28}));
    QCOMPARE(set->train->classes(), int64_t{10});
    QVERIFY(set->test != nullptr);
    loss.kind = model::LossKind::mse;
    const auto values = engine::openData({}, {4}, {3}, loss, 1, {}, {});
    QVERIFY(values.has_value());
    QCOMPARE(values->train->targetShape(), model::Dims{3});
    QVERIFY(!engine::openData({}, {}, {}, loss, 1, {}, {}).has_value());
}

QTEST_GUILESS_MAIN(TestDataSources)
#include "tst_data_sources.moc"
