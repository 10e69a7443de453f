#include "core/present/sample_view.h"
#include "tests/support/made_samples.h"
#include "tests/support/made_session.h"
#include "ui/state/workbench.h"

#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace stepscope;
using analysis::SampleFilter;

class TestSamples : public QObject {
    Q_OBJECT

    struct Fixture {
        QTemporaryDir directory;
        QSettings settings{directory.filePath("settings.ini"), QSettings::IniFormat};
        jobs::JobRunner jobs;
        state::RecentFiles recent{settings};
        state::Workbench bench{{}, jobs, recent};
        state::Samples& samples = bench.samples();
        void settle() { QTRY_COMPARE(jobs.running(), 0); }
        int64_t total() const { return samples.view() != nullptr ? samples.view()->profile.total : -1; }
    };

private slots:
    void aSessionWithSamplesIsAddedUp()
    {
        Fixture f;
        QVERIFY(!f.samples.available());
        f.bench.show(support::sampledSession(), "/x/a");
        f.settle();
        QVERIFY(f.samples.available());
        QVERIFY(f.samples.inFlame()); // it has nothing else
        QCOMPARE(f.total(), int64_t{100'000'000});
        QCOMPARE(f.samples.view()->flat->rowCount(), size_t{3});
    }

    void aSessionWithoutSamplesHasNoView()
    {
        Fixture f;
        f.bench.show(support::sampledSession(), "/x/a");
        f.settle();
        f.bench.show(support::madeSession(), "/x/b");
        f.settle();
        QVERIFY(!f.samples.available());
        QVERIFY(!f.samples.inFlame());
        QVERIFY(f.samples.view() == nullptr);
    }

    void filtersCanBeUndone()
    {
        Fixture f;
        f.bench.show(support::sampledSession(), "/x/a");
        f.settle();
        SampleFilter filter;
        filter.spans.phases = analysis::phaseBit(session::Phase::backward);
        f.samples.setFilter(filter);
        f.settle();
        QCOMPARE(f.total(), int64_t{0});
        QVERIFY(f.samples.filtered());
        f.samples.undo();
        f.settle();
        QCOMPARE(f.total(), int64_t{100'000'000});
        QVERIFY(!f.samples.filtered());
        f.samples.redo();
        QVERIFY(f.samples.filtered());
        f.samples.resetFilter();
        QVERIFY(!f.samples.filtered());
    }

    void anotherSessionClearsWhatMeansNothingThere()
    {
        Fixture f;
        f.bench.show(support::sampledSession(), "/x/a");
        f.settle();
        SampleFilter filter;
        filter.native = true;
        filter.spans.tracks = {session::TrackId(0u)};
        filter.function = f.samples.session()->frames()[0].function;
        filter.shape = analysis::SampleShape::callers;
        f.samples.setFilter(filter);
        f.samples.selectFunction(filter.function);
        f.bench.show(support::sampledSession(), "/x/b");
        QVERIFY(f.samples.filter().native); // a taste, not a reference
        QVERIFY(f.samples.filter().spans.tracks.empty());
        QVERIFY(!f.samples.filter().function.valid());
        QVERIFY(f.samples.filter().shape == analysis::SampleShape::topDown);
        QVERIFY(!f.samples.selectedFunction().valid());
        QVERIFY(!f.samples.canUndo());
    }

    void callersOfAFunctionAreAFilterLikeAnyOther()
    {
        Fixture f;
        f.bench.show(support::sampledSession(), "/x/a");
        f.settle();
        const base::StringId step = f.samples.session()->frames()[1].function;
        f.samples.showFunction(step, analysis::SampleShape::callers);
        f.settle();
        QCOMPARE(f.samples.view()->profile.tree.nodes[0].total, int64_t{70'000'000});
        f.samples.undo();
        f.settle();
        QCOMPARE(f.samples.view()->profile.tree.nodes[0].total, int64_t{100'000'000});
    }

    void aLiveRunIsShownUntilItEnds()
    {
        Fixture f;
        f.bench.show(support::madeSession(), "/x/old");
        f.settle();
        QSignalSpy available(&f.samples, &state::Samples::availableChanged);
        f.samples.setLive(support::sampledSession());
        QVERIFY(f.samples.live());
        QCOMPARE(available.count(), 1);
        f.settle();
        QCOMPARE(f.total(), int64_t{100'000'000});
        QVERIFY(f.bench.session()->series().empty()); // the open session is untouched
        f.samples.setLive(nullptr);
        f.settle();
        QVERIFY(!f.samples.live());
        QVERIFY(f.samples.view() == nullptr);
    }

    void theWarmUpSwitchOfTheWorkbenchCountsForSamples()
    {
        support::SampleMaker maker;
        for (int i = 0; i < 2; ++i) {
            session::StepRow row;
            row.index = i;
            row.warmup = i == 0;
            maker.builder.addStep(row);
        }
        maker.add("main", 3, 1, {{}, {}, 0});
        maker.add("main", 4, 1, {{}, {}, 1});
        Fixture f;
        f.bench.show(maker.build(), "/x/a");
        f.settle();
        QCOMPARE(f.total(), int64_t{4});
        f.bench.setFilter({true});
        f.settle();
        QCOMPARE(f.total(), int64_t{7});
    }
};

QTEST_GUILESS_MAIN(TestSamples)
#include "tst_samples.moc"
