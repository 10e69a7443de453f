#include <QtTest>

#include "core/session/types.h"

#include <set>

using namespace stepscope::session;

class TestNames : public QObject {
    Q_OBJECT
private slots:
    void everyPhaseHasItsOwnNameAndKey()
    {
        std::set<std::string_view> names, keys;
        for (int i = 0; i < kPhaseCount; ++i) {
            names.insert(phaseName(static_cast<Phase>(i)));
            const std::string_view key = phaseKey(static_cast<Phase>(i));
            keys.insert(key);
            QVERIFY(key.find(' ') == std::string_view::npos);
        }
        QCOMPARE(names.size(), size_t{kPhaseCount});
        QCOMPARE(keys.size(), size_t{kPhaseCount});
        QCOMPARE(phaseName(Phase::dataWait), std::string_view("data wait"));
        QCOMPARE(phaseKey(Phase::dataWait), std::string_view("data-wait"));
        QCOMPARE(phaseName(Phase::evaluation), std::string_view("evaluation"));
    }

    void everyKindHasItsOwnName()
    {
        std::set<std::string_view> names;
        for (int i = 0; i < kSpanKindCount; ++i)
            names.insert(spanKindName(static_cast<SpanKind>(i)));
        QCOMPARE(names.size(), size_t{kSpanKindCount});
        QCOMPARE(spanKindName(SpanKind::primitive), std::string_view("primitive"));
    }

    void referenceImplementationsAreKnownByName_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("reference");
        for (const char* name : {"ref:any", "ref_int8:any", "jit_uni_ncsp_convolution:conv+ref:any", "gemm:ref"}) // as oneDNN's logs show them
            QTest::newRow(name) << name << true;
        for (const char* name : {"jit:avx512_core", "x64:gemm:jit", "brg_conv_fwd:avx512_core", "jit_uni_ncsp_convolution:conv+jit:avx512_core", "ncsp_bnorm:any", "simple:any", ""})
            QTest::newRow(name) << name << false;
    }
    void referenceImplementationsAreKnownByName()
    {
        QFETCH(QString, name);
        QTEST(isReferenceImplementation(name.toStdString()), "reference");
    }

    void unknownValuesAreNotRead()
    {
        QCOMPARE(phaseName(static_cast<Phase>(200)), phaseName(Phase::none));
        QCOMPARE(spanKindName(static_cast<SpanKind>(200)), spanKindName(SpanKind::other));
    }
};

QTEST_GUILESS_MAIN(TestNames)
#include "tst_names.moc"
