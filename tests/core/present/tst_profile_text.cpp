#include <QtTest>

#include "core/present/profile_text.h"
#include "tests/support/made_samples.h"

using namespace stepscope;
using analysis::SampleFilter;
using present::ProfileFormat;
using support::SampleMaker;

namespace {

constexpr const char* kHeader = "Overhead ╎ [+additional indent] Count File:Line; Function\n"
                                "=========================================================\n";

[[gnu::noinline]] std::string tree(std::string_view body)
{
    std::string out = kHeader;
    out += body;
    return out;
}

[[gnu::noinline]] std::string flat(std::string_view body) { return std::string(body); }

std::string text(const session::SessionPtr& session, const SampleFilter& filter = {}, ProfileFormat format = ProfileFormat::tree,
                 int width = 80)
{
    return present::profileText(analysis::sampleProfile(session, filter), format, width);
}

// 100 samples: main calls step (70, of which 60 are generated code) and log (30).
session::SessionPtr program()
{
    SampleMaker maker;
    maker.frame("main", "main", "main.cpp", 10);
    maker.frame("step", "step", "step.cpp", 42);
    maker.frame("log", "log", "log.cpp", 7);
    maker.frame("jit", "jit_conv", "", 0, session::kGenerated);
    maker.add("main;step", 10);
    maker.add("main;step;jit", 60);
    maker.add("main;log", 30);
    return maker.build();
}

} // namespace

// Expected texts are laid out by hand from the rules of Julia's Profile.print: header and line of 57 '='; own samples,
// right-aligned and blank for none; a bar; one column of indent per level with a bar in every fifth; samples,
// left-aligned to the widest; place and function; the total.
class TestProfileText : public QObject {
    Q_OBJECT
private slots:
    void theTreeHasJuliasLayout()
    {
        QCOMPARE(text(program()), tree("  ╎100 main.cpp:10; main\n"
                                                         "30╎ 30  log.cpp:7; log\n"
                                                         "10╎ 70  step.cpp:42; step\n"
                                                         "60╎  60  [generated code]:?; jit_conv\n"
                                                         "Total snapshots: 100\n"));
        QCOMPARE(std::string(kHeader).substr(std::string(kHeader).find('=')).size(), size_t{57 + 1});
    }

    void ordersPutTheLargestLast()
    {
        SampleFilter filter;
        filter.order = analysis::SampleOrder::overhead;
        QCOMPARE(text(program(), filter), tree("  ╎100 main.cpp:10; main\n"
                                                                 "10╎ 70  step.cpp:42; step\n"
                                                                 "60╎  60  [generated code]:?; jit_conv\n"
                                                                 "30╎ 30  log.cpp:7; log\n"
                                                                 "Total snapshots: 100\n"));
        filter.order = analysis::SampleOrder::count;
        QVERIFY(text(program(), filter).find("log") < text(program(), filter).find("step.cpp"));
    }

    void hidingKeepsTheNumbers()
    {
        SampleFilter filter;
        filter.minCount = 61;
        QCOMPARE(text(program(), filter), tree("  ╎100 main.cpp:10; main\n"
                                                                 "10╎ 70  step.cpp:42; step\n"
                                                                 "Total snapshots: 100\n"));
        filter = {};
        filter.maxDepth = 0;
        QCOMPARE(text(program(), filter), tree(" ╎100 main.cpp:10; main\n"
                                                                 "Total snapshots: 100\n"));
    }

    void everyFifthColumnOfTheIndentIsABar()
    {
        SampleMaker maker;
        std::string stack;
        for (int i = 0; i < 12; ++i) {
            const std::string name = std::string(1, static_cast<char>('a' + i));
            maker.frame(name, name, "f", i + 1);
            stack += (i == 0 ? "" : ";") + name;
        }
        maker.add(stack, 1);
        QCOMPARE(text(maker.build()), tree(" ╎1 f:1; a\n"
                                                             " ╎ 1 f:2; b\n"
                                                             " ╎  1 f:3; c\n"
                                                             " ╎   1 f:4; d\n"
                                                             " ╎    1 f:5; e\n"
                                                             " ╎     1 f:6; f\n"
                                                             " ╎    ╎ 1 f:7; g\n"
                                                             " ╎    ╎  1 f:8; h\n"
                                                             " ╎    ╎   1 f:9; i\n"
                                                             " ╎    ╎    1 f:10; j\n"
                                                             " ╎    ╎     1 f:11; k\n"
                                                             "1╎    ╎    ╎ 1 f:12; l\n"
                                                             "Total snapshots: 1\n"));
    }

    void beyondHalfTheWidthTheIndentIsANumber()
    {
        SampleMaker maker;
        std::string stack;
        for (int i = 0; i < 14; ++i) {
            const std::string name = "f" + std::to_string(i);
            maker.frame(name, name, "x", 1);
            stack += (i == 0 ? "" : ";") + name;
        }
        maker.add(stack, 1);
        const std::string found = text(maker.build(), {}, ProfileFormat::tree, 20);
        // Half of 20 is 10. Level 12 is 2 deeper: "+2 " takes 3 of the 10 columns.
        QVERIFY2(found.find("\n ╎    ╎     1 x:1; f10\n") != std::string::npos, found.c_str());
        QVERIFY2(found.find("\n ╎    ╎  +1 1 x:1; f11\n") != std::string::npos, found.c_str());
        QVERIFY2(found.find("\n ╎    ╎  +2 1 x:1; f12\n") != std::string::npos, found.c_str());
    }

    void longFilesLoseTheirBeginningAndFunctionsTheirEnd()
    {
        SampleMaker maker;
        maker.frame("a", "abcdefghijklmnopqrstuvwxyz", "/very/long/path/to/file.cpp", 5);
        maker.add("a", 1);
        // At least 30 columns are for names: 12 for the file, 18 for the function.
        QCOMPARE(text(maker.build(), {}, ProfileFormat::tree, 20),
                 tree("1╎1 .../file.cpp:5; abcdefghijklmno...\nTotal snapshots: 1\n"));
    }

    void unknownPlacesAreNamedSo()
    {
        SampleMaker maker;
        maker.frame("nothing", "", "", 0);
        maker.frame("address", "", "", 0, 0, 0x1234);
        maker.frame("module", "work", "", 0, 0, 0x10, "libx.so");
        maker.add("nothing", 1);
        maker.add("address", 2);
        maker.add("module", 3);
        const std::string found = text(maker.build());
        QVERIFY(found.find("1╎1 [unknown stackframe]\n") != std::string::npos);
        QVERIFY(found.find("2╎2 [unknown function] (pointer: 0x0000000000001234)\n") != std::string::npos);
        QVERIFY(found.find("3╎3 libx.so:?; work\n") != std::string::npos);
    }

    void withoutMergingEveryAddressIsShown()
    {
        SampleMaker maker;
        maker.frame("a", "f", "f.cpp", 3, 0, 0xabc);
        maker.add("a", 1);
        SampleFilter filter;
        filter.merge = analysis::SampleMerge::address;
        QCOMPARE(text(maker.build(), filter), tree("1╎1 f.cpp:3; 0x0000000000000abc f\nTotal snapshots: 1\n"));
    }

    void theFlatTableHasJuliasLayout()
    {
        QCOMPARE(text(program(), {}, ProfileFormat::flat), flat(" Count  Overhead File              Line Function\n"
                                                                       " =====  ======== ====              ==== ========\n"
                                                                       "    60        60 [generated code]     ? jit_conv\n"
                                                                       "    30        30 log.cpp              7 log\n"
                                                                       "   100         0 main.cpp            10 main\n"
                                                                       "    70        10 step.cpp            42 step\n"
                                                                       "Total snapshots: 100\n"));
        SampleFilter filter;
        filter.order = analysis::SampleOrder::overhead;
        filter.minCount = 50;
        QCOMPARE(text(program(), filter, ProfileFormat::flat), flat(" Count  Overhead File              Line Function\n"
                                                                           " =====  ======== ====              ==== ========\n"
                                                                           "   100         0 main.cpp            10 main\n"
                                                                           "    70        10 step.cpp            42 step\n"
                                                                           "    60        60 [generated code]     ? jit_conv\n"
                                                                           "Total snapshots: 100\n"));
    }

    void groupsFollowEachOtherUnderOneHeader()
    {
        SampleMaker maker;
        maker.builder.addTrack({"training", 1});
        maker.builder.addTrack({"loader 0", 2});
        maker.frame("f", "f", "f.cpp", 1);
        const session::LabelId forward = maker.label(session::Phase::forward), loss = maker.label(session::Phase::loss);
        const session::LabelId loading = maker.label(session::Phase::loading);
        maker.add("f", 2, 1, {forward, session::TrackId(0u)});
        maker.add("f", 1, 1, {loss, session::TrackId(0u)});
        maker.add("f", 4, 1, {loading, session::TrackId(1u)});
        const session::SessionPtr session = maker.build();
        SampleFilter filter;
        filter.groups = {analysis::SampleGroup::thread};
        QCOMPARE(text(session, filter), tree("Thread training\n3╎3 f.cpp:1; f\nTotal snapshots: 3\n\n"
                                                               "Thread loader 0\n4╎4 f.cpp:1; f\nTotal snapshots: 4\n\n"));
        filter.groups = {analysis::SampleGroup::thread, analysis::SampleGroup::phase};
        // A single inner group stays on the line of the outer one.
        QCOMPARE(text(session, filter), tree("Thread training\n"
                                                               " Phase forward\n2╎2 f.cpp:1; f\nTotal snapshots: 2\n\n"
                                                               " Phase loss\n1╎1 f.cpp:1; f\nTotal snapshots: 1\n\n"
                                                               "Thread loader 0 Phase loading\n4╎4 f.cpp:1; f\nTotal snapshots: 4\n\n"));
    }

    void nothingIsSaidInWords()
    {
        session::SessionBuilder builder;
        QVERIFY(text(builder.build()).starts_with("There were no samples collected.\n"));
        SampleMaker maker;
        QVERIFY(text(maker.build(), {}, ProfileFormat::flat).starts_with("There were no samples collected.\n"));
    }

    void namesCannotBreakLines()
    {
        SampleMaker maker;
        maker.frame("a", "evil\n\x1b[2Jname", "a\tb.cpp", 1);
        maker.add("a", 1);
        const std::string found = text(maker.build());
        QVERIFY(found.find("a b.cpp:1; evil  [2Jname\n") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestProfileText)
#include "tst_profile_text.moc"
