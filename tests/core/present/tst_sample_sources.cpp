#include <QtTest>

#include "core/present/flame_layout.h"
#include "core/present/sample_sources.h"
#include "core/present/sample_view.h"
#include "tests/support/made_samples.h"

using namespace stepscope;
using support::SampleMaker;

namespace {

int column(const present::TableSource& table, std::string_view key)
{
    for (int c = 0; c < table.columnCount(); ++c)
        if (table.column(c).key == key) return c;
    return -1;
}

std::string cell(const present::TableSource& table, size_t row, std::string_view key) { return table.text(row, column(table, key)); }

analysis::SampleProfile profile()
{
    SampleMaker maker;
    maker.frame("main", "main", "main.cpp", 10, session::kOwnCode);
    maker.frame("ref", "void ref_conv<float>(int)", "", 0, session::kOwnCode | session::kSlowPath, 0, "stepscope");
    maker.add("main;ref", 3);
    maker.add("main", 1);
    return analysis::sampleProfile(maker.build(), {});
}

} // namespace

class TestSampleSources : public QObject {
    Q_OBJECT
private slots:
    void theFlatTableNamesFunctionsAndShares()
    {
        const auto table = present::makeFlatSampleTable(profile());
        QCOMPARE(table->rowCount(), size_t{2});
        QCOMPARE(cell(*table, 0, "function"), std::string("main:10"));
        QCOMPARE(cell(*table, 0, "self_ns"), std::string("1.000 ms"));
        QCOMPARE(cell(*table, 0, "total_ns"), std::string("4.000 ms"));
        QCOMPARE(cell(*table, 0, "total_share"), std::string("100.0 %"));
        QCOMPARE(cell(*table, 1, "function"), std::string("ref_conv"));
        QCOMPARE(cell(*table, 1, "self_share"), std::string("75.0 %"));
        QCOMPARE(cell(*table, 1, "samples"), std::string("3"));
        QCOMPARE(cell(*table, 1, "file"), std::string("stepscope"));
        QCOMPARE(cell(*table, 1, "line"), std::string());
        QCOMPARE(cell(*table, 1, "note"), std::string("slow path"));
        QVERIFY(table->tip(1, 0).find("void ref_conv<float>(int)") == 0);
        QVERIFY(table->emphasised(1));
        QVERIFY(table->colour(1) == present::ColourClass::slow);
    }

    void theTreeTableIsIndented()
    {
        const auto table = present::makeSampleTreeTable(profile());
        QCOMPARE(table->rowCount(), size_t{2});
        QCOMPARE(table->indent(0), 0);
        QCOMPARE(table->indent(1), 1);
        QCOMPARE(cell(*table, 1, "function"), std::string("ref_conv"));
    }

    void coloursSayWhatAFrameCostsBeforeWhatItIs()
    {
        using present::ColourClass;
        QVERIFY(present::frameColour(session::kOwnCode | session::kSlowPath | session::kAllocation) == ColourClass::slow);
        QVERIFY(present::frameColour(session::kLibraryCode | session::kAllocation) == ColourClass::allocation);
        QVERIFY(present::frameColour(session::kOwnCode | session::kWaiting) == ColourClass::waiting);
        QVERIFY(present::frameColour(session::kGenerated | session::kLibraryCode) == ColourClass::generated);
        QVERIFY(present::frameColour(session::kKernelMode | session::kLibraryCode) == ColourClass::kernelMode);
        QVERIFY(present::frameColour(session::kOwnCode) == ColourClass::ownCode);
        QVERIFY(present::frameColour(session::kLibraryCode | session::kInlined) == ColourClass::library);
        QVERIFY(present::frameColour(0) == ColourClass::other);
    }

    void flameLayoutSearchAndDetailsWorkOnSamples()
    {
        const analysis::SampleProfile made = profile();
        present::FlameViewport view;
        view.width = 400;
        const present::FlameLayout layout = present::layoutFlame(made.tree, view);
        QCOMPARE(layout.rows, 2);
        QCOMPARE(layout.rects[1].w, 300.0);
        QVERIFY(layout.rects[1].colour == present::ColourClass::slow);
        const present::FlameMatches found = present::searchFlame(made.tree, 0, present::containsText("conv<float>"));
        QCOMPARE(found.share(), 0.75); // the whole name is searched, not only what is shown
        const present::FlameDetails details = present::flameDetails(made.tree, layout.rects[1]);
        QCOMPARE(details.name, std::string("void ref_conv<float>(int)"));
        QCOMPARE(details.path, std::string("main:10 › ref_conv"));
        QCOMPARE(details.fields[0].title, std::string("total"));
        QCOMPARE(details.fields[0].value, std::string("3.000 ms (75.0 %)"));
    }

    void nestedMatchesCountOnce()
    {
        // Case 70: 50 of 100, not 80; zoomed on work 20 of 60.
        SampleMaker maker(support::foldedSeries());
        maker.add("app;alloc;malloc;_int_malloc", 1, 30);
        maker.add("app;work;malloc", 1, 20);
        maker.add("app;work", 1, 40);
        maker.add("app", 1, 10);
        const analysis::SampleProfile made = analysis::sampleProfile(maker.build(), {});
        const present::FlameMatches all = present::searchFlame(made.tree, 0, present::containsText("malloc"));
        QCOMPARE(all.time, int64_t{50});
        QCOMPARE(all.visible, int64_t{100});
        uint32_t work = 0;
        for (uint32_t id = 1; id < made.tree.nodes.size(); ++id)
            if (made.tree.name(id) == "work") work = id;
        const present::FlameMatches zoomed = present::searchFlame(made.tree, work, present::containsText("malloc"));
        QCOMPARE(zoomed.time, int64_t{20});
        QCOMPARE(zoomed.visible, int64_t{60});
    }

    void aSeriesWithoutStacksHasNoFramesAndSaysWhy()
    {
        SampleMaker maker({"counted bytes", "bytes", session::SeriesKind::countedBytes, true, true});
        const SampleMaker::Tags empty{{}, {}, -1, maker.addSeries({"cpu time", "ns", session::SeriesKind::cpuTime, true, false})};
        maker.add("", 3, 1024);
        const session::SessionPtr session = maker.build();
        for (const auto shape : {analysis::SampleShape::topDown, analysis::SampleShape::bottomUp, analysis::SampleShape::callers}) {
            analysis::SampleFilter filter;
            filter.shape = shape;
            const analysis::SampleProfile made = analysis::sampleProfile(session, filter);
            QCOMPARE(made.samples, int64_t{3});
            const present::FlameLayout layout = present::layoutFlame(made.tree, {0, 800});
            QCOMPARE(layout.rects.size(), size_t{0});
            QVERIFY(present::hit(layout, 10, 1) == nullptr);
            const std::string text = present::noFramesText(made);
            QVERIFY2(text.find("\"counted bytes\" has no stacks: its 3.000 KiB") == 0, text.c_str());
        }
        analysis::SampleFilter filter;
        filter.groups = {analysis::SampleGroup::phase};
        QCOMPARE(present::noFramesText(analysis::sampleProfile(session, filter)), std::string());
        QVERIFY(!present::layoutFlame(analysis::sampleProfile(session, filter).tree, {0, 800}).rects.empty());
        filter.groups.clear();
        filter.series = empty.series;
        const analysis::SampleProfile none = analysis::sampleProfile(session, filter);
        QVERIFY(present::layoutFlame(none.tree, {0, 800}).rects.empty());
        QVERIFY(present::noFramesText(none).find("There were no samples") == 0);
    }

    void aCallerIsRedWhenMostOfItIsSlowAndMarkedElse()
    {
        // Of `run` one sample in ten is slow, in a hidden library; of `convert` three in four; `reorder` all by its own flag.
        SampleMaker maker;
        maker.frame("main", "main", "main.cpp", 1, session::kOwnCode);
        maker.frame("run", "run", "run.cpp", 2, session::kOwnCode);
        maker.frame("convert", "convert", "run.cpp", 3, session::kOwnCode);
        maker.frame("lib", "dnnl_execute", "", 0, session::kLibraryCode);
        maker.frame("ref", "ref_conv", "", 0, session::kLibraryCode | session::kSlowPath);
        maker.frame("malloc", "malloc", "", 0, session::kLibraryCode | session::kAllocation);
        maker.frame("reorder", "jit_reorder", "", 0, session::kGenerated | session::kSlowPath);
        maker.frame("gemm", "jit_gemm", "", 0, session::kGenerated);
        maker.add("main;run;lib;ref;lib;ref", 1); // on one path it counts once
        maker.add("main;run;lib;gemm", 7);
        maker.add("main;run;reorder", 2);
        maker.add("main;convert;lib;ref", 3);
        maker.add("main;convert;lib;malloc", 1);
        const session::SessionPtr session = maker.build();
        for (const auto shape : {analysis::SampleShape::topDown, analysis::SampleShape::callees}) {
            analysis::SampleFilter filter;
            filter.shape = shape;
            filter.function = session->frames()[0].function; // main
            const analysis::FlameTree tree = analysis::sampleProfile(session, filter).tree;
            const auto named = [&tree](std::string_view name) {
                for (uint32_t id = 1; id < tree.nodes.size(); ++id)
                    if (tree.fullName(id) == name) return id;
                return present::kNoNode;
            };
            QVERIFY(present::colourOf(tree, named("run")) == present::ColourClass::ownCode);
            QVERIFY(present::statusMark(tree, named("run")).colour == present::ColourClass::slow);
            QCOMPARE(present::statusMark(tree, named("run")).share, 0.1);
            QVERIFY(present::colourOf(tree, named("convert")) == present::ColourClass::slow);
            QVERIFY(present::statusMark(tree, named("convert")).colour == present::ColourClass::allocation);
            QVERIFY(present::colourOf(tree, named("jit_reorder")) == present::ColourClass::slow);
            QCOMPARE(present::statusMark(tree, named("jit_reorder")).share, 0.0);
            QCOMPARE(present::statusMark(tree, named("main")).share, 0.0);
            QCOMPARE(present::statusMark(tree, named("jit_gemm")).share, 0.0);
        }
        analysis::SampleFilter filter;
        filter.shape = analysis::SampleShape::bottomUp;
        const analysis::FlameTree inverted = analysis::sampleProfile(session, filter).tree;
        for (uint32_t id = inverted.nodes[0].firstChild; id != present::kNoNode; id = inverted.node(id).nextSibling) {
            const bool slow = inverted.name(id) != "jit_gemm"; // what ends in run and convert is slow or allocates
            QCOMPARE(present::colourOf(inverted, id) == present::ColourClass::slow, slow);
        }
    }

    void weightsHaveTheUnitOfTheirSeries()
    {
        analysis::FlameTree tree;
        tree.unit = analysis::FlameUnit::bytes;
        QCOMPARE(present::formatWeight(tree, 2048), std::string("2.000 KiB"));
        tree.unit = analysis::FlameUnit::count;
        QCOMPARE(present::formatWeight(tree, 1234567), std::string("1_234_567"));
    }
};

QTEST_GUILESS_MAIN(TestSampleSources)
#include "tst_sample_sources.moc"
