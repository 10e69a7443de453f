#include "core/importers/event_text.h"
#include "core/importers/importer.h"
#include "core/session/session_builder.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace stepscope;

namespace {

// Quotation marks of JSON are written as ' here.
QByteArray json(const char* text) { return QByteArray(text).replace('\'', '"'); }

session::SessionPtr imported(const QString& path)
{
    auto result = importers::importFile(path.toStdString());
    if (!result) qFatal("%s", base::toText(result.error()).c_str());
    return std::move(result->session);
}

uint32_t rowOf(const session::Session& session, std::string_view name)
{
    const session::SpanTable& spans = session.spans();
    for (uint32_t row = 0; row < spans.size(); ++row)
        if (session.string(session.labels()[spans.label[row]].name) == name) return row;
    qFatal("no such span");
}

std::string valueOf(const std::vector<importers::EventArgument>& list, std::string_view name)
{
    for (const auto& each : list)
        if (each.name == name) return each.value;
    return "(missing)";
}

} // namespace

class TestEventText : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;

    QString write(const char* name, const QByteArray& text)
    {
        QFile file(m_directory.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) qFatal("cannot write");
        return file.fileName();
    }

private slots:
    void argumentsComeAsTheyStandInTheFile()
    {
        const auto session = imported(write("plain.json", json("{'traceEvents':["
            "{'ph':'X','name':'outer','pid':1,'tid':1,'ts':10,'dur':90},"
            "{'ph':'X','name':'aten::mm','cat':'cpu_op','pid':1,'tid':1,'ts':20.5,'dur':30,"
            " 'args':{'Input Dims':[[2, 3],[3, 4]],'Sequence number':7,'path':'a\\'b\\\\c\\u00e4','inner':{'deep':[1,{'x':null}]},'flag':true,'empty':''}}"
            "]}")));
        const auto event = importers::readEvent(*session, rowOf(*session, "aten::mm"));
        QVERIFY2(event.has_value(), event ? "" : base::toText(event.error()).c_str());
        QCOMPARE(event->arguments.size(), size_t{6});
        QCOMPARE(event->arguments[0].name, std::string("Input Dims")); // the order of the file
        QCOMPARE(valueOf(event->arguments, "Input Dims"), std::string("[[2, 3],[3, 4]]"));
        QCOMPARE(valueOf(event->arguments, "Sequence number"), std::string("7"));
        QCOMPARE(valueOf(event->arguments, "path"), std::string("a\"b\\c\xc3\xa4"));
        QCOMPARE(valueOf(event->arguments, "inner"), json("{'deep':[1,{'x':null}]}").toStdString());
        QCOMPARE(valueOf(event->arguments, "flag"), std::string("true"));
        QCOMPARE(valueOf(event->arguments, "empty"), std::string());
        QCOMPARE(valueOf(event->members, "cat"), std::string("cpu_op"));
        QCOMPARE(valueOf(event->members, "ts"), std::string("20.5"));
        const auto outer = importers::readEvent(*session, rowOf(*session, "outer"));
        QVERIFY(outer.has_value() && outer->arguments.empty());
        QCOMPARE(valueOf(outer->members, "dur"), std::string("90"));
    }

    void aPackedFileIsUnpackedUpToTheEvent()
    {
        const auto session = imported(QStringLiteral(STEPSCOPE_SOURCE_DIR "/tests/golden/cases/34-gzip-many-members/input.json.gz"));
        const session::SpanTable& spans = session->spans();
        QVERIFY(spans.size() > 0);
        for (uint32_t row = 0; row < spans.size(); ++row) {
            const auto event = importers::readEvent(*session, row);
            QVERIFY2(event.has_value(), event ? "" : base::toText(event.error()).c_str());
            QCOMPARE(valueOf(event->members, "name"), std::string(session->string(session->labels()[spans.label[row]].name)));
        }
    }

    void aLongEventIsReadWholeAndItsLongValueCut()
    {
        const QByteArray stack(300'000, 'f');
        const auto session = imported(write("long.json", "[{\"ph\":\"X\",\"name\":\"long\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{\"stack\":\"" + stack
                                                             + "\",\"after\":5}}]"));
        const auto event = importers::readEvent(*session, rowOf(*session, "long"));
        QVERIFY2(event.has_value(), event ? "" : base::toText(event.error()).c_str());
        QCOMPARE(valueOf(event->arguments, "after"), std::string("5"));
        QCOMPARE(event->cutValues, int64_t{1});
        QVERIFY(valueOf(event->arguments, "stack").size() < 20'000);
        QVERIFY(valueOf(event->arguments, "stack").find("300000 bytes") != std::string::npos);
    }

    void aSavedStepNumberIsNoOtherName()
    {
        const auto session = imported(write("steps.json", json("[{'ph':'X','cat':'user_annotation','name':'ProfilerStep#12','pid':1,'tid':1,'ts':1,'dur':2,'args':{'id':3}}]")));
        const auto event = importers::readEvent(*session, 0);
        QVERIFY(event.has_value());
        QCOMPARE(valueOf(event->members, "name"), std::string("ProfilerStep#12"));
        QCOMPARE(valueOf(event->arguments, "id"), std::string("3"));
    }

    void aFileThatIsGoneIsNamed()
    {
        const QString path = write("gone.json", json("[{'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':2}]"));
        const auto session = imported(path);
        QVERIFY(QFile::remove(path));
        const auto event = importers::readEvent(*session, 0);
        QVERIFY(!event.has_value());
        QCOMPARE(event.error().code, base::ErrorCode::notFound);
        QCOMPARE(event.error().where.file, path.toStdString());
        QVERIFY(!event.error().hint.empty());
    }

    void aFileThatHasChangedIsNotBelieved_data()
    {
        QTest::addColumn<QByteArray>("now");
        QTest::newRow("another length") << json("[{'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':2,'args':{}}]");
        QTest::newRow("another name") << json("[{'ph':'X','name':'b','pid':1,'tid':1,'ts':1,'dur':2}]");
        QTest::newRow("no event there") << json("[ {'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':2]");
        QTest::newRow("cut within the event") << json("[{'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':222");
    }
    void aFileThatHasChangedIsNotBelieved()
    {
        QFETCH(QByteArray, now);
        const auto session = imported(write("changed.json", json("[{'ph':'X','name':'a','pid':1,'tid':1,'ts':1,'dur':2}]")));
        write("changed.json", now);
        const auto event = importers::readEvent(*session, 0);
        QVERIFY(!event.has_value());
        QCOMPARE(event.error().code, base::ErrorCode::wrongFormat);
        QVERIFY(event.error().message.find("changed") != std::string::npos);
    }

    void whatHasNoPlaceSaysSo()
    {
        session::SessionBuilder builder;
        QVERIFY(!importers::readEvent(*builder.build(), 0).has_value());
        // speedscope's events have no place of their own.
        const auto session = imported(write("p.speedscope.json",
                                            json("{'$schema':'https://www.speedscope.app/file-format-schema.json','shared':{'frames':[{'name':'a'}]},"
            "'profiles':[{'type':'evented','name':'t','unit':'nanoseconds','startValue':0,'endValue':10,'events':[{'type':'O','frame':0,'at':0},{'type':'C','frame':0,'at':10}]}]}")));
        QCOMPARE(session->spans().size(), size_t{1});
        const auto event = importers::readEvent(*session, 0);
        QVERIFY(!event.has_value());
        QCOMPARE(event.error().code, base::ErrorCode::unsupported);
    }
};

QTEST_GUILESS_MAIN(TestEventText)
#include "tst_event_text.moc"
