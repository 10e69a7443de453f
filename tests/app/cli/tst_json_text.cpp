#include "app/cli/json_text.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>

using stepscope::cli::JsonText;

class TestJsonText : public QObject {
    Q_OBJECT
private slots:
    void nestedDocumentsAreValid();
    void stringsAreEscaped_data();
    void stringsAreEscaped();
    void numbersSurvive_data();
    void numbersSurvive();
};

void TestJsonText::nestedDocumentsAreValid()
{
    JsonText json;
    json.beginObject();
    json.member("a", int64_t{1});
    json.key("empty");
    json.beginArray();
    json.endArray();
    json.key("list");
    json.beginArray();
    json.value(true);
    json.null();
    json.beginObject();
    json.member("x", "y");
    json.endObject();
    json.endArray();
    json.endObject();
    QJsonParseError error;
    const QJsonObject parsed = QJsonDocument::fromJson(QByteArray::fromStdString(json.take()), &error).object();
    QCOMPARE(error.error, QJsonParseError::NoError);
    QCOMPARE(parsed["a"].toInt(), 1);
    QCOMPARE(parsed["list"].toArray().size(), 3);
    QVERIFY(parsed["list"].toArray()[1].isNull());
    QCOMPARE(parsed["list"].toArray()[2].toObject()["x"].toString(), QString("y"));
    QVERIFY(parsed["empty"].toArray().isEmpty());
}

void TestJsonText::stringsAreEscaped_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("read");
    QTest::newRow("quotes") << QByteArray("a\"b\\c") << "a\"b\\c";
    QTest::newRow("control") << QByteArray("a\nb\tc\x01", 6) << QString::fromUtf8(QByteArray("a\nb\tc\x01", 6));
    QTest::newRow("UTF-8") << QByteArray("σ — 🙂") << "σ — 🙂";
    QTest::newRow("not UTF-8") << QByteArray("a\xff" "b\xc3") << "a\ufffd" "b\ufffd";
    QTest::newRow("surrogate") << QByteArray("\xed\xa0\x80") << "\ufffd\ufffd\ufffd";
    QTest::newRow("overlong") << QByteArray("\xc0\xaf") << "\ufffd\ufffd";
}

void TestJsonText::stringsAreEscaped()
{
    QFETCH(QByteArray, text);
    QFETCH(QString, read);
    JsonText json;
    json.beginArray();
    json.value(std::string_view(text.constData(), static_cast<size_t>(text.size())));
    json.endArray();
    QJsonParseError error;
    const QJsonArray parsed = QJsonDocument::fromJson(QByteArray::fromStdString(json.take()), &error).array();
    QCOMPARE(error.error, QJsonParseError::NoError);
    QCOMPARE(parsed[0].toString(), read);
}

void TestJsonText::numbersSurvive_data()
{
    QTest::addColumn<double>("number");
    QTest::newRow("0.1") << 0.1;
    QTest::newRow("large") << 1.23456789e+300;
    QTest::newRow("small") << -5e-324;
    QTest::newRow("whole") << 9007199254740991.0;
}

void TestJsonText::numbersSurvive()
{
    QFETCH(double, number);
    JsonText json;
    json.beginArray();
    json.value(number);
    json.value(std::nan(""));
    json.endArray();
    const QJsonArray parsed = QJsonDocument::fromJson(QByteArray::fromStdString(json.take())).array();
    QCOMPARE(parsed[0].toDouble(), number);
    QVERIFY(parsed[1].isNull());
}

QTEST_GUILESS_MAIN(TestJsonText)
#include "tst_json_text.moc"
