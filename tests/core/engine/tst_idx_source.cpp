#include "data_files.h"

#include "core/engine/idx_source.h"

using namespace stepscope;
using base::ErrorCode;
using engine::MemoryData;
using engine::readIdx;
using testing::DataFolder;
using testing::idxHeader;
using testing::idxImages;
using testing::idxLabels;

Q_DECLARE_METATYPE(stepscope::base::ErrorCode)

class TestIdxSource : public QObject {
    Q_OBJECT
private slots:
    void imagesAreReadAsFractions_data();
    void imagesAreReadAsFractions();
    void floatImagesAndWideLabelsAreRead();
    void samplesLimitsTheFront();
    void fashionMnistOfThePackageIsRead();
    void missingFileNamesThePackage();
    void badFilesAreRefused_data();
    void badFilesAreRefused();
    void cutGzipIsTruncated();
    void damagedGzipIsRefused();
    void swappedFilesAreNamed();
    void countsMustMatch();
    void aFolderIsNoFile();

private:
    base::Error errorOf(const std::string& images, const std::string& labels)
    {
        auto data = readIdx(images, labels, 0, "a hint", {});
        if (data) {
            QTest::qFail("the file was read", __FILE__, __LINE__);
            return {};
        }
        return data.error();
    }
    DataFolder m_folder;
};

void TestIdxSource::imagesAreReadAsFractions_data()
{
    QTest::addColumn<bool>("compressed");
    QTest::newRow("plain") << false;
    QTest::newRow("gz") << true;
}

void TestIdxSource::imagesAreReadAsFractions()
{
    QFETCH(bool, compressed);
    const auto write = [&](const std::string& name, const std::string& content) {
        return compressed ? m_folder.writeGz(name, content) : m_folder.write(name, content);
    };
    auto data = readIdx(write("images", idxImages(5, 2, 3)), write("labels", idxLabels(5)), 0, {}, {});
    QVERIFY2(data.has_value(), data ? "" : toText(data.error()).c_str());
    QCOMPARE(data->size, int64_t{5});
    QCOMPARE(data->sampleShape, (model::Dims{1, 2, 3}));
    QCOMPARE(data->classes, int64_t{3});
    const engine::MemorySource source(std::move(*data));
    engine::Batch batch;
    batch.x.resize(12);
    batch.labels.resize(2);
    const int64_t indices[] = {4, 1};
    source.read(indices, batch);
    for (size_t k = 0; k < 6; ++k) {
        QCOMPARE(batch.x[k], static_cast<float>(4 + k) / 255.0f);
        QCOMPARE(batch.x[6 + k], static_cast<float>(1 + k) / 255.0f);
    }
    QCOMPARE(batch.labels[0], 1);
    QCOMPARE(batch.labels[1], 1);
}

void TestIdxSource::floatImagesAndWideLabelsAreRead()
{
    std::string images = idxHeader(0x0d, {2, 2}), labels = idxHeader(0x0c, {2});
    images +=
        std::string("\x3f\x80\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x00\x3f\x00\x00\x00", 16); // 1, -2, 0, 0.5 big-endian
    labels += std::string("\x00\x00\x01\x00\x00\x00\x00\x02", 8);                            // 256, 2
    auto data = readIdx(m_folder.write("f", images), m_folder.write("l", labels), 0, {}, {});
    QVERIFY(data.has_value());
    QCOMPARE(data->sampleShape, (model::Dims{2}));
    QCOMPARE(std::vector<float>(data->values.begin(), data->values.end()), (std::vector<float>{1, -2, 0, 0.5f}));
    QCOMPARE(data->labels[0], 256);
    QCOMPARE(data->classes, int64_t{257});
}

void TestIdxSource::samplesLimitsTheFront()
{
    auto data =
        readIdx(m_folder.write("images", idxImages(5, 2, 3)), m_folder.write("labels", idxLabels(5)), 2, {}, {});
    QVERIFY(data.has_value());
    QCOMPARE(data->size, int64_t{2});
    QCOMPARE(data->labels.size(), size_t{2});
}

void TestIdxSource::fashionMnistOfThePackageIsRead()
{
    const std::string folder = "/usr/share/datasets/fashion-mnist/";
    if (!QFile::exists(QString::fromStdString(folder))) QSKIP("the package dataset-fashion-mnist is not installed");
    auto data = readIdx(folder + "t10k-images-idx3-ubyte.gz", folder + "t10k-labels-idx1-ubyte.gz", 0, {}, {});
    QVERIFY2(data.has_value(), data ? "" : toText(data.error()).c_str());
    QCOMPARE(data->size, int64_t{10000});
    QCOMPARE(data->sampleShape, (model::Dims{1, 28, 28}));
    QCOMPARE(data->classes, int64_t{10});
    for (int32_t c = 0; c < 10; ++c)
        QCOMPARE(std::count(data->labels.begin(), data->labels.end(), c), 1000); // balanced by design
}

void TestIdxSource::missingFileNamesThePackage()
{
    model::DataSpec spec;
    spec.kind = model::DataKind::fashionMnist;
    spec.path = "/nowhere/at/all";
    const auto set = engine::openData(spec, {}, {}, {}, 0, {}, {});
    QVERIFY(!set.has_value());
    QCOMPARE(set.error().code, ErrorCode::notFound);
    QVERIFY(set.error().hint.find("apt install dataset-fashion-mnist") != std::string::npos);
    QVERIFY(set.error().where.file.find("/nowhere/at/all/train-images") == 0);
}

void TestIdxSource::badFilesAreRefused_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<ErrorCode>("code");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const std::string& content, ErrorCode code, const char* part) {
        QTest::newRow(name) << QByteArray(content.data(), static_cast<qsizetype>(content.size())) << code << part;
    };
    row("empty", "", ErrorCode::truncated, "0 bytes");
    row("three bytes", std::string("\0\0\x08", 3), ErrorCode::truncated, "3 bytes");
    row("text", "hello world", ErrorCode::wrongFormat, "68 65 6c 6c");
    row("header cut", idxHeader(0x08, {5, 2, 3}).substr(0, 10), ErrorCode::truncated,
        "ends after 10 bytes, expected 16");
    row("content cut", idxImages(5, 2, 3).substr(0, 40), ErrorCode::truncated, "promises 46 bytes, found 40");
    row("too long", idxImages(5, 2, 3) + "x", ErrorCode::wrongFormat, "goes on after the 46 bytes");
    row("zero dimension", idxHeader(0x08, {0, 2, 3}), ErrorCode::wrongFormat, "dimension of 0");
    row("huge", idxHeader(0x08, {0xffffffff, 0xffffffff, 0xffffffff}), ErrorCode::unsupported, "more than 64 GiB");
    row("huge four", idxHeader(0x0d, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}), ErrorCode::unsupported, "GiB");
    row("large promise", idxHeader(0x08, {1000000, 100, 100}), ErrorCode::truncated,
        "promises 10000000016 bytes, found 16");
    row("double", idxHeader(0x0e, {5, 2, 3}), ErrorCode::unsupported, "0x0e");
    row("five dimensions", idxHeader(0x08, {1, 1, 1, 1, 1}) + "x", ErrorCode::unsupported, "5 dimensions");
    row("labels", idxLabels(5), ErrorCode::wrongFormat, "is an IDX labels file (5 labels), expected images");
}

void TestIdxSource::badFilesAreRefused()
{
    QFETCH(QByteArray, content);
    QFETCH(ErrorCode, code);
    QFETCH(QString, part);
    const std::string path = m_folder.write("bad", content.toStdString());
    const base::Error error = errorOf(path, m_folder.write("labels", idxLabels(5)));
    QCOMPARE(error.code, code);
    QVERIFY2(error.message.find(part.toStdString()) != std::string::npos, error.message.c_str());
    QCOMPARE(error.where.file, path);
}

void TestIdxSource::cutGzipIsTruncated()
{
    m_folder.writeGz("whole.gz", idxImages(200, 28, 28));
    const std::string whole = m_folder.read("whole.gz");
    for (const size_t keep : {size_t{12}, whole.size() / 2, whole.size() - 4}) {
        const base::Error error =
            errorOf(m_folder.write("cut.gz", whole.substr(0, keep)), m_folder.write("labels", idxLabels(200)));
        QCOMPARE(error.code, ErrorCode::truncated);
    }
}

void TestIdxSource::damagedGzipIsRefused()
{
    m_folder.writeGz("whole.gz", idxImages(200, 28, 28));
    std::string damaged = m_folder.read("whole.gz");
    for (size_t i = damaged.size() / 2; i < damaged.size() / 2 + 20; ++i)
        damaged[i] = static_cast<char>(~damaged[i]);
    const base::Error error = errorOf(m_folder.write("damaged.gz", damaged), m_folder.write("labels", idxLabels(200)));
    QVERIFY(error.code == ErrorCode::wrongFormat || error.code == ErrorCode::truncated);
    QVERIFY(!error.message.empty());
}

void TestIdxSource::swappedFilesAreNamed()
{
    const std::string images = m_folder.write("images", idxImages(5, 2, 3));
    const base::Error error = errorOf(images, images);
    QVERIFY2(error.message.find("is an IDX images file (5 x 2 x 3), expected labels") != std::string::npos,
             error.message.c_str());
}

void TestIdxSource::countsMustMatch()
{
    const base::Error error =
        errorOf(m_folder.write("images", idxImages(5, 2, 3)), m_folder.write("labels", idxLabels(4)));
    QVERIFY2(error.message.find("holds 4 labels") != std::string::npos
                 && error.message.find("holds 5 images") != std::string::npos,
             error.message.c_str());
}

void TestIdxSource::aFolderIsNoFile()
{
    const base::Error error = errorOf(m_folder.folder(), m_folder.write("labels", idxLabels(4)));
    QCOMPARE(error.code, ErrorCode::wrongFormat);
}

QTEST_GUILESS_MAIN(TestIdxSource)
#include "tst_idx_source.moc"
