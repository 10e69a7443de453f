// A click on a frame of an imported trace shows its spans, and the links between them lead from one to the other.
#include "app/files/open_any.h"
#include "core/analysis/span_nodes.h"
#include "ui/flame/flame_widget.h"
#include "ui/shell/message_bar.h"
#include "window_fixture.h"

#include <QClipboard>
#include <QDockWidget>
#include <QGuiApplication>
#include <QTextBrowser>
#include <QToolButton>

using namespace stepscope;

namespace {

struct TraceFixture : test::Fixture {
    TraceFixture()
    {
        services.openSession = [](const std::string& path, std::stop_token stop, const base::Progress& progress) -> base::Result<session::SessionPtr> {
            if (path.find("recorded") != std::string::npos) return support::madeSession();
            return files::openAny(path, {}, stop, progress).map([](files::Opened opened) { return std::move(opened.session); });
        };
        open();
        QFile file(path());
        if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
        file.write(R"({"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":40,"args":{"Input Dims":[[2,3],[3,4]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":20,"dur":5,"args":{"correlation":77}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":25,"args":{"device":0,"stream":7,"correlation":77,"grid":[4,1,1]}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":60,"dur":15,"args":{"Input Dims":[[5,6],[6,7]]}}
]})");
        file.close();
        load(path());
    }
    QString path() const { return directory.filePath("t.pt.trace.json"); }
    uint32_t node(std::string_view name)
    {
        const auto& tree = flame()->tree();
        for (uint32_t at = 1; at < tree->nodes.size(); ++at)
            if (tree->name(at) == name) return at;
        return present::kNoNode;
    }
    flame::FlameWidget* flame() { return find<flame::FlameWidget>(); }
    QTextBrowser* text() { return find<QTextBrowser>("spanText"); }
    void click(std::string_view name)
    {
        flame()->select(node(name));
        emit flame()->selectionChanged(flame()->selectedNode());
    }
};

} // namespace

class TestSpanDetailsView : public QObject {
    Q_OBJECT
private slots:
    void aClickShowsTheLongestSpanWithItsArguments()
    {
        TraceFixture f;
        QDockWidget* dock = f.window->dock("span-details");
        QVERIFY(!dock->isHidden());
        f.click("aten::mm");
        QTRY_VERIFY2(f.text()->toPlainText().contains("[[2,3],[3,4]]"), qPrintable(f.text()->toPlainText()));
        QTRY_VERIFY(!dock->visibleRegion().isEmpty()); // the first click brings it to the front
        QVERIFY(f.find<QLabel>("whichSpan")->text().contains("1 of 2"));
        QVERIFY(f.text()->toPlainText().contains("40 000 ns"));
        QVERIFY(!f.find<QToolButton>("previousSpan")->isEnabled());
        f.find<QToolButton>("nextSpan")->click();
        QTRY_VERIFY(f.text()->toPlainText().contains("[[5,6],[6,7]]"));
        QVERIFY(f.text()->toPlainText().contains("15 000 ns"));
        QVERIFY(!f.find<QToolButton>("nextSpan")->isEnabled());
        f.find<QToolButton>("copySpan")->click();
        QVERIFY(QGuiApplication::clipboard()->text().contains("[[5,6],[6,7]]"));
        // A click beside the frames empties the pane.
        f.flame()->select(present::kNoNode);
        emit f.flame()->selectionChanged(present::kNoNode);
        QTRY_VERIFY(f.text()->toPlainText().contains("Click a frame"));
    }

    void linksLeadFromTheKernelToItsCallAndOperatorAndBack()
    {
        TraceFixture f;
        f.click("gemm");
        QTRY_VERIFY(f.text()->toPlainText().contains("launched by"));
        QVERIFY(f.text()->toPlainText().contains("cudaLaunchKernel"));
        const session::SpanTable& spans = f.workbench->session()->spans();
        const auto follow = [&](std::string_view name) {
            for (uint32_t row = 0; row < spans.size(); ++row) {
                if (f.workbench->session()->string(f.workbench->session()->labels()[spans.label[row]].name) != name) continue;
                if (!f.text()->toHtml().contains(QStringLiteral("span:%1\"").arg(row))) continue;
                emit f.text()->anchorClicked(QUrl(QStringLiteral("span:%1").arg(row)));
                return true;
            }
            return false;
        };
        QVERIFY(follow("cudaLaunchKernel"));
        QTRY_COMPARE(f.flame()->selectedNode(), f.node("cudaLaunchKernel"));
        QTRY_VERIFY(f.text()->toPlainText().startsWith("cudaLaunchKernel"));
        QVERIFY(follow("gemm")); // and back
        QTRY_COMPARE(f.flame()->selectedNode(), f.node("gemm"));
        QTRY_VERIFY(f.text()->toPlainText().startsWith("gemm"));
        QVERIFY(follow("aten::mm"));
        QTRY_COMPARE(f.flame()->selectedNode(), f.node("aten::mm"));
        QTRY_VERIFY(f.text()->toPlainText().contains("[[2,3],[3,4]]")); // the very span, not the frame's first
    }

    void aSourceThatIsGoneIsTold()
    {
        TraceFixture f;
        QVERIFY(QFile::remove(f.path()));
        f.click("aten::mm");
        QTRY_VERIFY2(f.text()->toPlainText().contains("not there any more"), qPrintable(f.text()->toPlainText()));
        QVERIFY(f.text()->toPlainText().contains("t.pt.trace.json"));
        QVERIFY(f.text()->toPlainText().contains("40 000 ns")); // what the session knows is shown all the same
    }

    void recordedSessionsHaveNoSuchPane()
    {
        TraceFixture f;
        f.click("aten::mm");
        QTRY_VERIFY(!f.workbench->spans().empty());
        f.load("/x/recorded.stepscope");
        QVERIFY(f.workbench->spans().empty());
        QVERIFY(f.window->dock("span-details")->isHidden());
    }
};

QTEST_MAIN(TestSpanDetailsView)
#include "tst_span_details_view.moc"
