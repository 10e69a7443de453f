#include <QtTest>

#include "core/recording/probe.h"
#include "core/recording/recorder.h"
#include "core/session/session_builder.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace stepscope;
using namespace stepscope::recording;
using session::Phase;
using session::SpanKind;

namespace {

// Refuses to store anything, as a full disk does.
class FullSink final : public session::SessionSink {
public:
    void addString(std::string_view) override {}
    void addTrack(const session::Track&) override {}
    void addLabel(const session::Label&) override {}
    void addLayer(const session::LayerRow&) override {}
    void addPrimitive(const session::PrimitiveRow&) override {}
    void addCounter(const session::CounterRow&) override {}
    void addEnvironment(const session::EnvironmentRow&) override {}
    void addQuality(const session::QualityRow&) override {}
    void setModelText(std::string_view) override {}
    void addStep(const session::StepRow&) override {}
    void addSpans(base::TrackId, std::span<const session::SpanRecord>) override {}
    void addCounterSamples(base::CounterId, std::span<const session::CounterRecord>) override {}
    void addFrame(const session::FrameRow&) override {}
    void addStack(const session::StackRow&) override {}
    void addSeries(const session::SeriesRow&) override {}
    void addSamples(base::SeriesId, std::span<const session::SampleRecord>) override {}
    base::Status flush() override { return base::fail(base::ErrorCode::diskFull, "no space"); }
    base::Status finish() override
    {
        finished = true;
        return {};
    }
    bool finished = false;
};

} // namespace

class TestRecorder : public QObject {
    Q_OBJECT
private slots:
    void nestedProbesBecomeNestedSpans()
    {
        session::SessionBuilder builder;
        {
            Recorder recorder(builder);
            const LabelId step = recorder.label("step", SpanKind::step, Phase::none);
            const LabelId forward = recorder.label("forward", SpanKind::phase, Phase::forward);
            session::LayerRow row;
            row.path = "conv1";
            const LayerId layer = recorder.addLayer(row);
            const LabelId conv = recorder.label("conv1", SpanKind::layer, Phase::forward, layer);
            QCOMPARE(recorder.label("step", SpanKind::step, Phase::none), step);
            SpanBuffer* buffer = recorder.registerTrack("training");
            for (int i = 0; i < 3; ++i) {
                buffer->setStep(i);
                RawStep raw;
                raw.row.index = i;
                raw.row.samples = 64;
                raw.startTicks = ticks();
                {
                    const Probe outer(buffer, step);
                    const Probe middle(buffer, forward);
                    const Probe inner(buffer, conv);
                }
                raw.endTicks = ticks();
                recorder.addStep(raw);
            }
            const Probe unrecorded(nullptr, step);
            QVERIFY(recorder.finish().has_value());
            QVERIFY(!recorder.failed());
        }
        const session::SessionPtr session = builder.build();
        QCOMPARE(session->spanCount(), uint64_t{9});
        const session::SpanTable& t = session->spans();
        for (size_t i = 0; i < 3; ++i) {
            QCOMPARE(session->string(session->labels()[t.label[3 * i]].name), std::string_view("step"));
            QCOMPARE(t.parent[3 * i], session::SpanTable::kNoParent);
            QCOMPARE(t.parent[3 * i + 1], static_cast<uint32_t>(3 * i));
            QCOMPARE(t.parent[3 * i + 2], static_cast<uint32_t>(3 * i + 1));
            QCOMPARE(t.step[3 * i + 2], static_cast<int32_t>(i));
            QCOMPARE(session->steps()[i].samples, 64);
            QVERIFY(session->steps()[i].start <= t.start[3 * i]);
            QVERIFY(session->steps()[i].start + session->steps()[i].duration >= t.end(3 * i));
        }
        QCOMPARE(session->tracks()[0].name, std::string("training"));
        QVERIFY(session->tracks()[0].threadId > 0);
        const int64_t origin = std::stoll(std::string(session->environmentValue("start.unix-ns")));
        const int64_t age = QDateTime::currentMSecsSinceEpoch() - origin / 1'000'000;
        QVERIFY(age >= 0 && age < 60'000);
        QVERIFY(session->quality().empty());
    }

    void threadsRecordBesideEachOther()
    {
        session::SessionBuilder builder;
        constexpr int kThreads = 3, kSpans = 200'000;
        {
            Recorder recorder(builder, {20, 64});
            std::vector<std::thread> threads;
            for (int t = 0; t < kThreads; ++t) {
                threads.emplace_back([&recorder, t] {
                    SpanBuffer* buffer = recorder.registerTrack("loader " + std::to_string(t));
                    const LabelId label = recorder.label("work " + std::to_string(t), SpanKind::task, Phase::loading);
                    for (int i = 0; i < kSpans; ++i) {
                        buffer->setStep(i);
                        const Probe probe(buffer, label);
                    }
                });
            }
            for (std::thread& thread : threads)
                thread.join();
            QVERIFY(recorder.finish().has_value());
        }
        const session::SessionPtr session = builder.build();
        int64_t lost = 0;
        for (const session::QualityRow& row : session->quality())
            if (row.code == "lost-spans") lost = row.count;
        QCOMPARE(static_cast<int64_t>(session->spanCount()) + lost, int64_t{kThreads} * kSpans);
        const session::SpanTable& t = session->spans();
        QCOMPARE(t.trackBegin.size(), size_t{kThreads + 1});
        for (size_t track = 0; track < kThreads; ++track) {
            for (size_t row = t.trackBegin[track]; row < t.trackBegin[track + 1]; ++row) {
                const auto name = session->string(session->labels()[t.label[row]].name);
                QCOMPARE(name.back(), session->tracks()[track].name.back());
                if (row > t.trackBegin[track]) QVERIFY(t.step[row] > t.step[row - 1]);
            }
        }
    }

    void lostSpansAreCounted()
    {
        session::SessionBuilder builder;
        constexpr size_t kSpans = 2 * SpanBuffer::kBlockSpans;
        {
            Recorder recorder(builder, {60'000, 1}); // one block, and the Collector sleeps
            const LabelId label = recorder.label("x", SpanKind::other, Phase::none);
            SpanBuffer* buffer = recorder.registerTrack("training");
            for (size_t i = 0; i < kSpans; ++i)
                const Probe probe(buffer, label);
            QVERIFY(recorder.finish().has_value());
        }
        const session::SessionPtr session = builder.build();
        QCOMPARE(session->spanCount(), uint64_t{SpanBuffer::kBlockSpans});
        QCOMPARE(session->quality().at(0).code, std::string("lost-spans"));
        QCOMPARE(session->quality().at(0).count, static_cast<int64_t>(kSpans - SpanBuffer::kBlockSpans));
    }

    void lostStepsAreCounted()
    {
        session::SessionBuilder builder;
        Recorder recorder(builder, {60'000, 1});
        for (int i = 0; i < 40'000; ++i)
            recorder.addStep({});
        QVERIFY(recorder.finish().has_value());
        const session::SessionPtr session = builder.build();
        QCOMPARE(session->quality().at(0).code, std::string("lost-steps"));
        QCOMPARE(static_cast<int64_t>(session->steps().size()) + session->quality().at(0).count, int64_t{40'000});
        QVERIFY(session->steps().size() >= 10'000);
    }

    void counterSamplesReachTheirCounter()
    {
        session::SessionBuilder builder;
        Recorder recorder(builder);
        const CounterId loss = recorder.addCounter("loss", "");
        const CounterId depth = recorder.addCounter("queue depth", "batches");
        recorder.addCounterSample(depth, ticks(), 3);
        recorder.addCounterSample(loss, ticks(), 0.5);
        recorder.addCounterSample(loss, ticks(), 0.25);
        recorder.addCounterSample(CounterId(), ticks(), 1); // ignored
        QVERIFY(recorder.finish().has_value());
        const session::SessionPtr session = builder.build();
        QCOMPARE(session->counters()[1].unit, std::string("batches"));
        QCOMPARE(session->counterSamples(loss).value.size(), size_t{2});
        QCOMPARE(session->counterSamples(loss).value[1], 0.25);
        QVERIFY(session->counterSamples(loss).time[1] >= session->counterSamples(loss).time[0]);
        QCOMPARE(session->counterSamples(depth).value.at(0), 3.0);
    }

    void childrenStayInsideTheirParentsAcrossBatches()
    {
        session::SessionBuilder builder;
        {
            Recorder recorder(builder, {1, 64}); // recalibrates as often as possible
            const LabelId outer = recorder.label("outer", SpanKind::other, Phase::none);
            const LabelId inner = recorder.label("inner", SpanKind::other, Phase::none);
            SpanBuffer* buffer = recorder.registerTrack("training");
            for (int i = 0; i < 10; ++i) {
                const Probe parent(buffer, outer);
                const uint64_t begin = ticks();
                for (int j = 0; j < 2000; ++j)
                    const Probe child(buffer, inner);
                while (ticks() - begin < 20'000'000) {}
            }
            QVERIFY(recorder.finish().has_value());
        }
        const session::SessionPtr session = builder.build();
        QVERIFY(session->quality().empty()); // nothing had to be cut
        const session::SpanTable& t = session->spans();
        QCOMPARE(t.size(), size_t{10 * 2001});
        for (size_t row = 0; row < t.size(); ++row)
            QCOMPARE(t.parent[row] == session::SpanTable::kNoParent, row % 2001 == 0);
    }

    void aSinkThatFailsIsReportedAndStaysFailed()
    {
        FullSink sink;
        Recorder recorder(sink, {5, 64});
        SpanBuffer* buffer = recorder.registerTrack("training");
        const LabelId label = recorder.label("x", SpanKind::other, Phase::none);
        for (int i = 0; i < 2000 && !recorder.failed(); ++i) {
            const Probe probe(buffer, label);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        QVERIFY(recorder.failed());
        const base::Status status = recorder.finish();
        QVERIFY(!status.has_value());
        QVERIFY(status.error().code == base::ErrorCode::diskFull);
        QVERIFY(!recorder.finish().has_value());
        QVERIFY(!sink.finished);
    }

    void withoutFinishTheSinkIsNotFinished()
    {
        session::SessionBuilder builder;
        {
            Recorder recorder(builder);
            const LabelId label = recorder.label("x", SpanKind::other, Phase::none);
            const Probe probe(recorder.registerTrack("training"), label);
        }
        // The probe ended before its Recorder, so the last drain still found it.
        QCOMPARE(builder.build()->spanCount(), uint64_t{1});
    }
};

QTEST_GUILESS_MAIN(TestRecorder)
#include "tst_recorder.moc"
