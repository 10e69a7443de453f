#include "core/importers/importer.h"
#include "core/importers/known_formats.h"

#include <QTest>

#include <QProcess>
#include <QTemporaryDir>

#include <fstream>

using namespace stepscope;
using namespace stepscope::importers;

class TestInput : public QObject {
    Q_OBJECT

private slots:
    void packedFilesGiveTheBytesOfTheOriginal_data();
    void packedFilesGiveTheBytesOfTheOriginal();
    void cutPackingsGiveWhatCameBeforeAndThenAnError_data();
    void cutPackingsGiveWhatCameBeforeAndThenAnError();
    void archivesListTheirFilesAndGiveTheWantedOne();
    void theLimitOfUnpackedBytesHolds();
    void missingFilesAndFoldersAreErrors();
    void closedFormatsAreNamedWithAWayOut_data();
    void closedFormatsAreNamedWithAWayOut();
    void bytesInMemoryAreUnpackedToo();

private:
    // Runs a command of the system in a shell in m_folder; skips the test where the program is missing.
    bool shell(const QString& command)
    {
        QProcess process;
        process.setWorkingDirectory(m_folder.path());
        process.start("bash", {"-o", "pipefail", "-c", command}); // a missing program counts, wherever it stands
        return process.waitForFinished(20000) && process.exitCode() == 0;
    }
    std::filesystem::path path(const QString& name) const { return m_folder.filePath(name).toStdString(); }
    void write(const QString& name, const std::string& bytes) const
    {
        std::ofstream(path(name), std::ios::binary) << bytes;
    }

    QTemporaryDir m_folder;
};

namespace {

std::string text(size_t lines)
{
    std::string all;
    for (size_t i = 0; i < lines; ++i)
        all += "line " + std::to_string(i * 7919 % 100003) + "\n";
    return all;
}

} // namespace

// Packed by the system's own programs: the only oracle that counts.
void TestInput::packedFilesGiveTheBytesOfTheOriginal_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("packing");
    QTest::addColumn<QString>("name");
    QTest::newRow("plain") << "true" << "t.txt" << "" << "t.txt";
    QTest::newRow("gzip") << "gzip -k -f t.txt" << "t.txt.gz" << "gzip" << "t.txt";
    QTest::newRow("gzip in three members")
        << "head -c 1000 t.txt | gzip > m.txt.gz; tail -c +1001 t.txt | head -c 77777 | gzip >> m.txt.gz; tail -c +78778 t.txt | gzip >> m.txt.gz"
        << "m.txt.gz" << "gzip" << "m.txt";
    QTest::newRow("gzip with padding") << "gzip -c t.txt > p.txt.gz; head -c 5000 /dev/zero >> p.txt.gz" << "p.txt.gz" << "gzip" << "p.txt";
    QTest::newRow("gzip twice") << "gzip -c t.txt | gzip > w.gz" << "w.gz" << "gzip, gzip" << "w";
    QTest::newRow("zstd") << "zstd -q -f -k t.txt" << "t.txt.zst" << "zstd" << "t.txt";
    QTest::newRow("zstd in two frames") << "head -c 1000 t.txt | zstd -q > f.zst; tail -c +1001 t.txt | zstd -q >> f.zst" << "f.zst" << "zstd" << "f";
    QTest::newRow("xz") << "xz -k -f t.txt" << "t.txt.xz" << "xz" << "t.txt";
    QTest::newRow("xz in two streams") << "head -c 1000 t.txt | xz > f.xz; tail -c +1001 t.txt | xz >> f.xz" << "f.xz" << "xz" << "f";
    QTest::newRow("tar") << "tar cf a.tar t.txt" << "a.tar" << "tar" << "t.txt";
    QTest::newRow("tar.gz") << "tar czf a.tgz ./t.txt" << "a.tgz" << "gzip, tar" << "t.txt";
    QTest::newRow("zip") << "python3 -c \"import zipfile; zipfile.ZipFile('a.zip','w',zipfile.ZIP_DEFLATED).write('t.txt','some/folder/t.txt')\""
                         << "a.zip" << "zip" << "t.txt";
    QTest::newRow("zip of gzip") << "gzip -c t.txt > z.txt.gz; python3 -c \"import zipfile; zipfile.ZipFile('b.zip','w').write('z.txt.gz')\""
                                 << "b.zip" << "zip, gzip" << "z.txt";
}

void TestInput::packedFilesGiveTheBytesOfTheOriginal()
{
    QFETCH(QString, command);
    QFETCH(QString, file);
    QFETCH(QString, packing);
    QFETCH(QString, name);
    const std::string original = text(60000);
    write("t.txt", original);
    if (!shell(command)) QSKIP("the program for this packing is not installed");
    base::Result<Input> input = openInput(path(file));
    QVERIFY2(input.has_value(), input ? "" : base::toText(input.error()).c_str());
    QCOMPARE(QString::fromStdString(input->packing), packing);
    QCOMPARE(QString::fromStdString(input->name), name);
    QCOMPARE(input->head, original.substr(0, Input::kHeadBytes));
    const base::Result<std::string> all = readAll(*input->bytes, 100 << 20);
    QVERIFY2(all.has_value(), all ? "" : base::toText(all.error()).c_str());
    QVERIFY(*all == original);
    QCOMPARE(input->bytes->fraction(), 1.0);
}

void TestInput::cutPackingsGiveWhatCameBeforeAndThenAnError_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("kind");
    QTest::newRow("gzip") << "gzip -c t.txt | head -c -12 > c.gz" << "c.gz" << "gzip-truncated";
    QTest::newRow("gzip without its last byte") << "gzip -c t.txt | head -c -1 > c.gz" << "c.gz" << "gzip-truncated";
    QTest::newRow("gzip with a wrong checksum") << "gzip -c t.txt | head -c -8 > c.gz; printf 12345678 >> c.gz" << "c.gz" << "gzip-damaged";
    QTest::newRow("gzip and then something else") << "gzip -c t.txt > c.gz; echo text >> c.gz" << "c.gz" << "gzip-damaged";
    QTest::newRow("zstd") << "zstd -q -c t.txt | head -c -12 > c.zst" << "c.zst" << "zstd-truncated";
    QTest::newRow("xz") << "xz -c t.txt | head -c -12 > c.xz" << "c.xz" << "xz-truncated";
    QTest::newRow("tar") << "tar cf whole.tar t.txt; head -c 200000 whole.tar > c.tar" << "c.tar" << "tar-truncated";
}

void TestInput::cutPackingsGiveWhatCameBeforeAndThenAnError()
{
    QFETCH(QString, command);
    QFETCH(QString, file);
    QFETCH(QString, kind);
    const std::string original = text(60000);
    write("t.txt", original);
    if (!shell(command)) QSKIP("the program for this packing is not installed");
    base::Result<Input> input = openInput(path(file));
    QVERIFY2(input.has_value(), input ? "" : base::toText(input.error()).c_str());
    std::string all, block(100000, '\0');
    std::optional<base::Error> error;
    for (;;) {
        const base::Result<size_t> got = input->bytes->read(block);
        if (!got) {
            error = got.error();
            break;
        }
        if (*got == 0) break;
        all.append(block, 0, *got);
    }
    QVERIFY(error.has_value());
    QCOMPARE(QString::fromStdString(problemOf(*error).kind), kind);
    QVERIFY(all.size() > original.size() / 4);
    QVERIFY(original.starts_with(all));
    QVERIFY(!input->bytes->read(block).has_value()); // the error stays
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path(file)));
    if (kind.endsWith("truncated") && !kind.startsWith("tar")) QCOMPARE(error->where.byte, size);
}

void TestInput::archivesListTheirFilesAndGiveTheWantedOne()
{
    write("one.txt", "first");
    write("two.txt", "second");
    if (!shell("mkdir -p d && cp two.txt d/ && tar cf m.tar one.txt d")) QSKIP("no tar");
    base::Result<Input> input = openInput(path("m.tar"));
    QVERIFY(input.has_value());
    QCOMPARE(input->members, (std::vector<std::string>{"one.txt", "d/two.txt"}));
    QCOMPARE(input->head, std::string("first"));
    input = openInput(path("m.tar"), {.member = "d/two.txt"});
    QVERIFY(input.has_value());
    QCOMPARE(input->head, std::string("second"));
    QCOMPARE(input->name, std::string("two.txt"));
    const base::Result<Input> missing = openInput(path("m.tar"), {.member = "three.txt"});
    QVERIFY(!missing.has_value());
    QCOMPARE(missing.error().code, base::ErrorCode::notFound);
}

void TestInput::theLimitOfUnpackedBytesHolds()
{
    if (!shell("head -c 20000000 /dev/zero | gzip > zeros.gz")) QSKIP("no gzip");
    base::Result<Input> input = openInput(path("zeros.gz"), {.maxUnpackedBytes = 5000000});
    QVERIFY(input.has_value());
    const base::Result<std::string> all = readAll(*input->bytes, 100 << 20);
    QVERIFY(!all.has_value());
    QCOMPARE(all.error().code, base::ErrorCode::unsupported);
}

void TestInput::missingFilesAndFoldersAreErrors()
{
    const base::Result<Input> missing = openInput(path("nothing-here"));
    QVERIFY(!missing.has_value());
    QCOMPARE(missing.error().code, base::ErrorCode::notFound);
    QVERIFY(missing.error().where.file.find("nothing-here") != std::string::npos);
    const base::Result<Input> folder = openInput(m_folder.path().toStdString());
    QVERIFY(!folder.has_value());
    QCOMPARE(folder.error().code, base::ErrorCode::io);
}

void TestInput::closedFormatsAreNamedWithAWayOut_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("hint");
    QTest::newRow("nsys") << QByteArray("\x01\x02\0\0binary", 10) << "run.nsys-rep" << "Nsight Systems" << "nsys export --type sqlite";
    QTest::newRow("qdrep") << QByteArray("\x01\x02\0\0binary", 10) << "run.qdrep" << "Nsight Systems" << "nsys export --type sqlite";
    QTest::newRow("ncu") << QByteArray("NVR\0\1\0\0\0", 8) << "x" << "Nsight Compute" << "ncu --import";
    QTest::newRow("tracy") << QByteArray("tr\xfdP\0\0\0\0", 8) << "x" << "Tracy" << "Tracy";
    QTest::newRow("perfetto by name") << QByteArray("\x0a\x02\x08\x01", 4) << "a.perfetto-trace" << "Perfetto" << "traceconv json";
    QTest::newRow("perfetto by content") << QByteArray("\x0a\x02\x08\x01\x0a\x02\x08\x01\x0a\x02\x08\x01", 12) << "a" << "Perfetto" << "traceconv json";
}

void TestInput::closedFormatsAreNamedWithAWayOut()
{
    QFETCH(QByteArray, bytes);
    QFETCH(QString, name);
    QFETCH(QString, what);
    QFETCH(QString, hint);
    const Input input = inputFromBytes(bytes.toStdString(), name.toStdString());
    const std::optional<KnownFormat> known = knownFormat(input);
    QVERIFY(known.has_value());
    QVERIFY(QString::fromStdString(known->what).contains(what));
    QVERIFY(QString::fromStdString(known->hint).contains(hint));
    const base::Result<Choice> choice = chooseImporter(input, "");
    QVERIFY(!choice.has_value());
    QCOMPARE(choice.error().code, base::ErrorCode::wrongFormat);
    QVERIFY(QString::fromStdString(base::toText(choice.error())).contains(hint));
}

void TestInput::bytesInMemoryAreUnpackedToo()
{
    write("t.txt", "hello");
    if (!shell("gzip -k -f t.txt")) QSKIP("no gzip");
    std::ifstream in(path("t.txt.gz"), std::ios::binary);
    const std::string packed((std::istreambuf_iterator<char>(in)), {});
    Input input = inputFromBytes(packed, "t.txt.gz");
    QCOMPARE(input.packing, std::string("gzip"));
    QCOMPARE(input.name, std::string("t.txt"));
    QCOMPARE(readAll(*input.bytes, 100).value_or(""), std::string("hello"));
    input = inputFromBytes("\x1f\x8b\x08", "cut.gz");
    QVERIFY(!chooseImporter(input, "").has_value());
}

QTEST_GUILESS_MAIN(TestInput)
#include "tst_input.moc"
