#include <QtTest>

#include "core/session/session_builder.h"

#include <stdexcept>

using namespace stepscope::session;

class TestSessionBuilder : public QObject {
    Q_OBJECT
private slots:
    void equalTextAndLabelsAreInternedOnce()
    {
        SessionBuilder builder;
        const StringId a = builder.intern("conv1");
        const StringId b = builder.intern("conv2");
        QVERIFY(a != b);
        QCOMPARE(builder.intern("conv1"), a);
        const LabelId label = builder.internLabel({a, SpanKind::layer, Phase::forward, {}, {}});
        QVERIFY(builder.internLabel({a, SpanKind::layer, Phase::backward, {}, {}}) != label);
        QCOMPARE(builder.internLabel({a, SpanKind::layer, Phase::forward, {}, {}}), label);
        QCOMPARE(builder.tables().strings.size(), size_t{2});
    }

    void aBuiltSessionHoldsWhatWasAdded()
    {
        SessionBuilder builder;
        builder.addTrack({"training", 42});
        const LabelId step = builder.internLabel({builder.intern("step"), SpanKind::step, Phase::none, {}, {}});
        builder.addCounter({"loss", ""});
        builder.addEnvironment({"threads", "2"});
        builder.setModelText("model = Chain(Dense(2 => 1))");
        const SpanRecord spans[] = {{100, 50, step.value, 0}, {200, 60, step.value, 1}};
        builder.addSpans(TrackId(0u), spans);
        const CounterRecord samples[] = {{150, 2.5}};
        builder.addCounterSamples(CounterId(0u), samples);
        const SessionPtr session = builder.build();
        QCOMPARE(session->spanCount(), uint64_t{2});
        QCOMPARE(session->spans().start[1], TimeNs{200});
        QCOMPARE(session->string(session->labels()[0].name), std::string_view("step"));
        QCOMPARE(session->environmentValue("threads"), std::string_view("2"));
        QCOMPARE(session->environmentValue("no such key"), std::string_view());
        QCOMPARE(session->counterSamples(CounterId(0u)).value[0], 2.5);
        QVERIFY(session->quality().empty());
        QCOMPARE(builder.build()->spanCount(), uint64_t{0}); // empty afterwards
    }

    void brokenReferencesAreClearedAndCounted()
    {
        SessionBuilder builder;
        builder.addString("x");
        builder.addLabel({StringId(9u), SpanKind::layer, Phase::forward, LayerId(3u), PrimitiveId(4u)});
        builder.addLabel({StringId(0u), static_cast<SpanKind>(77), static_cast<Phase>(99), {}, {}});
        LayerRow self;
        self.parent = LayerId(0u); // its own parent
        builder.addLayer(self);
        const SessionPtr session = builder.build();
        QVERIFY(!session->labels()[0].name.valid());
        QVERIFY(!session->labels()[0].layer.valid());
        QVERIFY(!session->labels()[0].primitive.valid());
        QVERIFY(session->labels()[1].kind == SpanKind::other);
        QVERIFY(!session->layers()[0].parent.valid());
        QCOMPARE(session->quality().size(), size_t{1});
        QCOMPARE(session->quality()[0].code, std::string("broken-reference"));
        QCOMPARE(session->quality()[0].count, int64_t{6});
    }

    void unusableSpansAreLeftOutAndCounted()
    {
        SessionBuilder builder;
        const LabelId label = builder.internLabel({builder.intern("x")});
        const SpanRecord spans[] = {
            {0, 5, label.value, 0}, {1, -3, label.value, 0}, {2, 2, 77, 0}, {INT64_MAX - 1, 5, label.value, 0}};
        builder.addSpans(TrackId(1u), spans);
        builder.addSpans(TrackId(), spans);
        const SessionPtr session = builder.build();
        QCOMPARE(session->spanCount(), uint64_t{1});
        QCOMPARE(session->tracks().size(), size_t{2});
        QCOMPARE(session->quality()[0].code, std::string("unusable-spans"));
        QCOMPARE(session->quality()[0].count, int64_t{7});
    }

    void stepsAreOrderedByIndex()
    {
        SessionBuilder builder;
        for (const int64_t index : {2, 0, 1}) {
            StepRow row;
            row.index = index;
            builder.addStep(row);
        }
        const SessionPtr session = builder.build();
        QCOMPARE(session->steps()[0].index, int64_t{0});
        QCOMPARE(session->steps()[2].index, int64_t{2});
    }

    void columnsAreLoadedOnceOnFirstUse()
    {
        SessionTables tables;
        tables.tracks.resize(2);
        tables.counters.resize(1);
        tables.quality.push_back({"cut-short", 1, "cut"});
        int loads = 0;
        const Session session(std::move(tables), [&loads] {
            ++loads;
            LoadedColumns columns;
            columns.quality.push_back({"damaged-chunk", 3, "damaged"});
            return columns;
        });
        QCOMPARE(loads, 0);
        QCOMPARE(session.quality().size(), size_t{1});
        QCOMPARE(session.spans().trackBegin.size(), size_t{3});
        QVERIFY(session.counterSamples(CounterId(0u)).time.empty());
        QVERIFY(session.counterSamples(CounterId(5u)).time.empty());
        QCOMPARE(loads, 1);
        QCOMPARE(session.quality().size(), size_t{2});
    }

    void aLoaderThatThrowsGivesAnEmptySessionThatSaysSo()
    {
        const Session session(SessionTables{}, []() -> LoadedColumns { throw std::runtime_error("no memory"); });
        QCOMPARE(session.spans().size(), size_t{0});
        QCOMPARE(session.quality().at(0).code, std::string("columns-not-loaded"));
        QVERIFY(session.quality().at(0).message.find("no memory") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestSessionBuilder)
#include "tst_session_builder.moc"
