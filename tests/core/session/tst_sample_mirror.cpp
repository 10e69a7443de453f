#include <QtTest>

#include "core/session/sample_mirror.h"
#include "core/session/session_builder.h"
#include "tests/core/storage/sample_session.h"

using namespace stepscope;
using session::SampleMirror;

namespace {

// Counts what arrives.
class CountingSink final : public session::SessionSink {
public:
    explicit CountingSink(int64_t& calls) : m_calls(calls) {}
    void addString(std::string_view) override { ++m_calls; }
    void addTrack(const session::Track&) override { ++m_calls; }
    void addLabel(const session::Label&) override { ++m_calls; }
    void addLayer(const session::LayerRow&) override { ++m_calls; }
    void addPrimitive(const session::PrimitiveRow&) override { ++m_calls; }
    void addCounter(const session::CounterRow&) override { ++m_calls; }
    void addEnvironment(const session::EnvironmentRow&) override { ++m_calls; }
    void addQuality(const session::QualityRow&) override { ++m_calls; }
    void setModelText(std::string_view) override { ++m_calls; }
    void addStep(const session::StepRow&) override { ++m_calls; }
    void addSpans(base::TrackId, std::span<const session::SpanRecord>) override { ++m_calls; }
    void addCounterSamples(base::CounterId, std::span<const session::CounterRecord>) override { ++m_calls; }
    void addFrame(const session::FrameRow&) override { ++m_calls; }
    void addStack(const session::StackRow&) override { ++m_calls; }
    void addSeries(const session::SeriesRow&) override { ++m_calls; }
    void addSamples(base::SeriesId, std::span<const session::SampleRecord>) override { ++m_calls; }
    base::Status flush() override { return base::fail(base::ErrorCode::diskFull, "full"); }
    base::Status finish() override { return base::fail(base::ErrorCode::diskFull, "full"); }

private:
    int64_t& m_calls;
};

} // namespace

class TestSampleMirror : public QObject {
    Q_OBJECT
private slots:
    void everythingIsPassedOn()
    {
        int64_t direct = 0, mirrored = 0;
        CountingSink plain(direct);
        tests::sendSample(plain, 10);
        SampleMirror mirror(std::make_unique<CountingSink>(mirrored));
        tests::sendSample(mirror, 10);
        QCOMPARE(mirrored, direct);
        QVERIFY(!mirror.flush().has_value()); // failures come through
        QVERIFY(!mirror.finish().has_value());
    }

    void aSnapshotHasTheSamplesSoFar()
    {
        int64_t calls = 0;
        SampleMirror mirror(std::make_unique<CountingSink>(calls));
        QVERIFY(mirror.snapshot() == nullptr);
        tests::sendSample(mirror, 2);
        const session::SessionPtr first = mirror.snapshot();
        QVERIFY(first != nullptr);
        session::SessionBuilder builder;
        tests::sendSample(builder, 2);
        const session::SessionPtr whole = builder.build();
        QVERIFY(first->frames() == whole->frames());
        QVERIFY(first->stacks() == whole->stacks());
        QVERIFY(first->samples(base::SeriesId(0u)).time == whole->samples(base::SeriesId(0u)).time);
        QVERIFY(first->samples(base::SeriesId(1u)).weight == whole->samples(base::SeriesId(1u)).weight);
        QCOMPARE(first->steps().size(), size_t{2});
        QCOMPARE(first->spanCount(), uint64_t{0});
        QVERIFY(mirror.snapshot() == nullptr); // nothing new
        tests::sendSamples(mirror, 2);
        QCOMPARE(mirror.snapshot()->sampleCount(), first->sampleCount() + 4);
        QCOMPARE(first->sampleCount(), uint64_t{8}); // the first one stays as it was
    }
};

QTEST_GUILESS_MAIN(TestSampleMirror)
#include "tst_sample_mirror.moc"
