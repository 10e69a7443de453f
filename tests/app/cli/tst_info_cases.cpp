#include "tests/support/import_case.h"
#include "tests/support/run_program.h"

#include <QDir>
#include <QJsonArray>
#include <QRegularExpression>
#include <QTest>

#include <algorithm>

using namespace stepscope::support;

// Every case of tests/golden/cases through `stepscope info FILE --format json`. The expected values come from public bug
// reports of other viewers and from the specifications of the formats, and were checked with independent readers.
class TestInfoCases : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void infoGivesTheValuesOfTheCase_data();
    void infoGivesTheValuesOfTheCase();
    void everyCaseIsHere();

private:
    int m_compared = 0;
};

namespace {

// What a case says beyond what `info` prints, and where it is held against.
const QMap<QString, QString> kElsewhere{
    {"relative_start_ns", "tst_chrome_importer"},
    {"x_pixels", "layout of the timeline"},
    {"width_pixels", "layout of the timeline"},
    {"noise_lines", "tst_profile_cases"},
    {"ignored_lines", "tst_profile_cases"},
    {"comment_lines", "tst_profile_cases"},
    {"events", "tst_profile_cases"},
    {"threads", "tst_profile_cases"},
    {"comms", "tst_profile_cases"},
    {"times_ns", "tst_profile_cases"},
    {"times_ms", "tst_profile_cases"},
    {"timestamps", "tst_profile_cases"},
    {"first_event", "tst_profile_cases"},
    {"stacks", "tst_profile_cases"},
    {"inlined_frames", "tst_profile_cases"},
    {"auto_closed", "tst_profile_cases"},
    {"wrong_close", "tst_profile_cases"},
    {"profiles", "tst_profile_cases"},
    {"sample_types", "tst_profile_cases"},
    {"chosen_type", "tst_profile_cases"},
    {"unknown_fields", "tst_profile_cases"},
    {"before_first_sample", "tst_profile_cases"},
    {"attributed", "tst_profile_cases"},
    {"totals", "tst_profile_cases"},
    {"calls", "tst_profile_cases"},
    {"self_by_file", "tst_profile_cases"},
    {"last_position", "tst_profile_cases"},
    {"error", "tst_profile_cases"},
    {"naive_sum_per_frame", "a wrong result that the case warns of"},
    {"matched", "search of the flame graph"},
    {"shared_names", "colours of the flame graph"},
    {"processes_to_compare", "colours of the flame graph"},
    {"before_total", "comparison"},
    {"after_total", "comparison"},
    {"table", "comparison"},
    {"uncompressed_bytes", "tst_profile_cases"},
    {"tables", "tst_nsight_importer"},
    {"kernels", "tst_nsight_importer"},
    {"kernel_names", "tst_nsight_importer"},
    {"streams", "tst_nsight_importer"},
    {"pid", "tst_nsight_importer"},
    {"tid", "tst_nsight_importer"},
    {"sum_ns", "tst_nsight_importer"},
    {"busy_union_ns", "tst_nsight_importer"},
};

// Cases whose format is none of spans and samples in the plain sense; their own test holds the whole of them.
const QStringList kOwnTest{"40-", "47-", "49-", "56-", "57-", "59-", "62-", "63-", "65-"};

QString inputOf(const QDir& folder)
{
    const QStringList inputs = folder.entryList({"input.*", "before.*"}, QDir::Files);
    return inputs.isEmpty() ? QString() : folder.filePath(inputs.first());
}

bool same(const QJsonValue& a, const QJsonValue& b)
{
    if (a.isDouble() && b.isDouble()) return a.toDouble() == b.toDouble() && a.toInteger() == b.toInteger();
    if (a.isArray() && b.isArray()) {
        const QJsonArray x = a.toArray(), y = b.toArray();
        return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](const QJsonValue& u, const QJsonValue& v) { return same(u, v); });
    }
    if (a.isObject() && b.isObject()) {
        const QJsonObject x = a.toObject(), y = b.toObject();
        const QStringList keys = x.keys();
        return keys == y.keys() && std::all_of(keys.begin(), keys.end(), [&](const QString& key) { return same(x[key], y[key]); });
    }
    return a == b;
}

QJsonValue sumOf(const QJsonObject& numbers)
{
    qint64 sum = 0;
    for (const QJsonValue& value : numbers)
        sum += value.toInteger();
    return sum;
}

// The member `each` of every name.
QJsonObject column(const QJsonObject& named, const QString& each)
{
    QJsonObject values;
    for (auto at = named.begin(); at != named.end(); ++at)
        values[at.key()] = at.value().toObject()[each];
    return values;
}

// The names of `wanted` alone.
QJsonValue chosen(const QJsonObject& all, const QJsonObject& wanted)
{
    QJsonObject some;
    for (auto at = wanted.begin(); at != wanted.end(); ++at)
        if (all.contains(at.key())) some[at.key()] = all[at.key()];
    return some;
}

QJsonArray sorted(QJsonArray values)
{
    QStringList texts;
    for (const QJsonValue& value : values)
        texts << value.toString();
    texts.sort();
    return QJsonArray::fromStringList(texts);
}

// What info says under the name that the case uses; undefined when it says nothing about it.
QJsonValue found(const QJsonObject& info, const QString& key, const QJsonValue& expected)
{
    const QJsonObject named = info["named"].toObject(), error = info["error"].toObject();
    if (key == "named") {
        QJsonObject some;
        for (const QString& name : expected.toObject().keys()) {
            QJsonObject spans = named[name].toObject();
            spans.remove("at_least");
            some[name] = spans;
        }
        return some;
    }
    if (key == "names") return sorted(QJsonArray::fromStringList(named.keys()));
    if (key == "self_ns") return chosen(column(named, "self_ns"), expected.toObject());
    if (key == "durations_ns") return chosen(column(named, "total_ns"), expected.toObject());
    if (key == "absolute_start_ns") return chosen(info[key].toObject(), expected.toObject());
    if (key == "stream_sum_ns") return sumOf(info["device_sum_ns"].toObject());
    if (key == "stream_busy_union_ns") return sumOf(info["device_busy_ns"].toObject());
    if (key == "strict_json") return info["error"].isNull() ? "valid" : "invalid";
    if (key.startsWith("error_")) return error[key.mid(6)];
    if (key == "gzip_complete") return !error["kind"].toString().startsWith("gzip-");
    if (key == "compressed_size") return info["file_bytes"];
    if (key == "recovered_bytes") return info["unpacked_bytes"];
    if (key == "recovered_spans") return info["spans"];
    if (key == "by_event") {
        QJsonObject events;
        for (const QString& event : expected.toObject().keys()) {
            QJsonObject series = info[key].toObject()[event].toObject();
            events[event] = chosen(series, expected.toObject()[event].toObject());
        }
        return events;
    }
    // Weights are listed for every function, also for those of weight 0 that a case leaves out.
    if ((key == "self" || key == "inclusive") && info.contains(key)) return chosen(info[key].toObject(), expected.toObject());
    return info.contains(key) ? info[key] : QJsonValue(QJsonValue::Undefined);
}

QByteArray text(const QJsonValue& value)
{
    return QJsonDocument(QJsonArray{value}).toJson(QJsonDocument::Compact);
}

} // namespace

void TestInfoCases::initTestCase()
{
    QVERIFY2(QFile::exists(programPath()), "the command line is not built");
}

void TestInfoCases::infoGivesTheValuesOfTheCase_data()
{
    QTest::addColumn<QString>("input");
    const QDir cases(casePath(""));
    for (const QString& name : cases.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name)) {
        const QString input = inputOf(QDir(cases.filePath(name)));
        if (input.isEmpty() || std::any_of(kOwnTest.begin(), kOwnTest.end(), [&](const QString& own) { return name.startsWith(own); })) continue;
        QTest::newRow(qPrintable(name)) << input;
    }
}

void TestInfoCases::infoGivesTheValuesOfTheCase()
{
    QFETCH(QString, input);
    const ProgramResult run = runProgram({"info", input, "--format", "json"}, QDir::tempPath(), 30000);
    QVERIFY2(run.code == 0, qPrintable(run.err));
    QJsonParseError parsed;
    const QJsonObject info = QJsonDocument::fromJson(run.rawOut, &parsed).object();
    QVERIFY2(parsed.error == QJsonParseError::NoError, qPrintable(parsed.errorString()));
    const QJsonObject expected = caseExpectation(QString::fromUtf8(QTest::currentDataTag()));
    QVERIFY(!expected.isEmpty());
    int compared = 0;
    for (auto at = expected.begin(); at != expected.end(); ++at) {
        const QJsonValue is = found(info, at.key(), at.value());
        if (kElsewhere.contains(at.key())) continue;
        QVERIFY2(!is.isUndefined(), qPrintable("info does not tell: " + at.key()));
        const QJsonValue wanted = at.key() == "names" ? QJsonValue(sorted(at.value().toArray())) : at.value();
        QVERIFY2(same(is, wanted), text(is) + " is not " + text(wanted) + " for " + at.key().toUtf8());
        ++compared;
    }
    m_compared += compared;
    QVERIFY(!info["format"].toString().isEmpty());
    QVERIFY(!info["why"].toString().isEmpty());
}

void TestInfoCases::everyCaseIsHere()
{
    QVERIFY2(m_compared > 150, qPrintable(QString::number(m_compared)));
}

QTEST_GUILESS_MAIN(TestInfoCases)
#include "tst_info_cases.moc"
