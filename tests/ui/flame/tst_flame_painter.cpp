// Pixels of the flame graph at several scale factors: the same program is registered once per QT_SCALE_FACTOR.
#include "flame_fixture.h"
#include "ui/flame/flame_widget.h"

#include <QElapsedTimer>
#include <QTest>

#include <cmath>
#include <limits>

using namespace stepscope;
using flame::FlamePainter;
using flame::FlameWidget;

namespace {

constexpr int kGutterAndAxis = 20; // width that is not graph

present::FlameLayout layoutOf(const analysis::FlameTree& tree, double width)
{
    present::FlameViewport view;
    view.width = width;
    view.rowHeight = 20;
    return present::layoutFlame(tree, view);
}

} // namespace

class TestFlamePainter : public QObject {
    Q_OBJECT
private slots:
    // Three samples of 333, 334 and 333 on 1000 pixels: boundaries at 333 and 667, at every scale.
    void boundariesAreWhereTheTimeIs()
    {
        FlameWidget widget{m_theme};
        widget.resize(1000 + kGutterAndAxis, 200);
        widget.setTree(test::treeOf({{{"r", "a"}, 333}, {{"r", "b"}, 334}, {{"r", "c"}, 333}}));
        widget.show();
        QVERIFY(QTest::qWaitForWindowExposed(&widget));
        const qreal ratio = widget.devicePixelRatioF();
        const double wanted = qEnvironmentVariableIsSet("QT_SCALE_FACTOR") ? qEnvironmentVariable("QT_SCALE_FACTOR").toDouble() : 1.0;
        QVERIFY(std::abs(ratio - wanted) < 0.01); // Qt rounds the factor a little

        QHash<QString, QRectF> at;
        for (const present::FlameRect& rect : widget.layout().rects)
            at.insert(FlamePainter::labelOf(*widget.tree(), rect), widget.viewportRect(rect));
        const double left = at["r"].left();
        QCOMPARE(at["a"].left() - left, 0.0);
        QVERIFY(std::abs(at["b"].left() - left - 333) < 1e-6);
        QVERIFY(std::abs(at["c"].left() - left - 667) < 1e-6);

        // A click at logical x = 332 hits a, at 334 b, at 668 c.
        const double y = at["a"].center().y();
        const auto hit = [&](double x) { return FlamePainter::labelOf(*widget.tree(), *widget.rectAt({left + x, y})); };
        QCOMPARE(hit(332), QString("a"));
        QCOMPARE(hit(334), QString("b"));
        QCOMPARE(hit(668), QString("c"));

        // And the pixels agree: left and right of the boundary between a and b are different fills. The upper lines of a
        // row are free of text.
        const QImage image = widget.viewport()->grab().toImage();
        QCOMPARE(image.devicePixelRatio(), ratio);
        const auto pixel = [&](double x) {
            return image.pixelColor(static_cast<int>((left + x) * ratio), static_cast<int>((at["a"].top() + 2) * ratio));
        };
        QVERIFY(pixel(300) != pixel(400) || pixel(400) != pixel(800));
        QCOMPARE(pixel(300), pixel(330));
        QCOMPARE(pixel(337), pixel(660));
    }

    void oneResizeIsOneLayout()
    {
        FlameWidget widget{m_theme};
        widget.setTree(test::treeOf({{{"r", "a"}, 333}, {{"r", "b"}, 667}}));
        widget.resize(700, 300);
        widget.show();
        QVERIFY(QTest::qWaitForWindowExposed(&widget));
        const int before = widget.layoutCount();
        widget.resize(811, 300);
        QCoreApplication::processEvents();
        QTest::qWait(50);
        QCOMPARE(widget.layoutCount(), before + 1);
    }

    void equalFramesHaveEqualColoursInEveryTree()
    {
        // The same names in another order and with other weights.
        const auto first = test::treeOf({{{"app", "conv", "gemm"}, 40}, {{"app", "relu"}, 10}});
        const auto second = test::treeOf({{{"app", "relu"}, 7}, {{"app", "norm"}, 9}, {{"app", "conv", "gemm"}, 90}});
        for (const QString name : {"app", "conv", "gemm", "relu"}) {
            const auto colour = [&](const analysis::FlameTree& tree) {
                FlamePainter painter;
                const present::FlameLayout layout = layoutOf(tree, 1000);
                QImage image(1000, 200, QImage::Format_RGB32);
                flame::FlamePaintOptions options;
                options.background = Qt::white;
                painter.paint(image, tree, layout, options);
                const uint32_t node = test::nodeNamed(tree, name.toStdString());
                for (const present::FlameRect& rect : layout.rects)
                    if (rect.node == node && rect.kind == present::FlameRectKind::frame)
                        return image.pixelColor(static_cast<int>(rect.x + 1), static_cast<int>(rect.y + 1));
                return QColor();
            };
            QVERIFY(colour(*first).isValid());
            QCOMPARE(colour(*first), colour(*second));
        }
    }

    void aSearchFadesTheRest()
    {
        const auto tree = test::treeOf({{{"r", "match"}, 50}, {{"r", "other"}, 50}});
        const present::FlameLayout layout = layoutOf(*tree, 400);
        flame::FlamePaintOptions options;
        options.background = Qt::white;
        const auto pixels = [&](const std::vector<uint8_t>* matched) {
            FlamePainter painter;
            QImage image(400, 100, QImage::Format_RGB32);
            options.matched = matched;
            painter.paint(image, *tree, layout, options);
            return image;
        };
        const QImage plain = pixels(nullptr);
        const present::FlameMatches matches = present::searchFlame(*tree, 0, present::containsText("match"));
        const QImage searched = pixels(&matches.matched);
        const auto place = [&](const char* name) {
            for (const present::FlameRect& rect : layout.rects)
                if (rect.node == test::nodeNamed(*tree, name)) return QPoint(static_cast<int>(rect.x + 2), static_cast<int>(rect.y + 1));
            return QPoint();
        };
        QCOMPARE(searched.pixelColor(place("match")), plain.pixelColor(place("match")));
        QVERIFY(searched.pixelColor(place("other")).lightness() > plain.pixelColor(place("other")).lightness());
    }

    // Rows of thousands of frames, painted whole: the painter must follow pixels. The guard is generous.
    void manyFramesArePaintedFast()
    {
        test::Stacks stacks;
        for (int i = 0; i < 20000; ++i) {
            const std::string n = std::to_string(i);
            stacks.push_back({{"r", "a" + n, "b" + n, "c" + n, "d" + n}, 100});
        }
        const auto tree = test::treeOf(stacks);
        present::FlameViewport view;
        view.width = 1e6; // magnified 1000 times: every frame is a rectangle of its own
        view.rowHeight = 20;
        const present::FlameLayout layout = present::layoutFlame(*tree, view);
        QVERIFY(layout.rects.size() >= 80000);
        FlamePainter painter;
        flame::FlamePaintOptions options;
        options.background = Qt::white;
        QImage image(1920, 200, QImage::Format_RGB32);
        QElapsedTimer timer;
        timer.start();
        for (int i = 0; i < 50; ++i) {
            options.left = i * 10000;
            painter.paint(image, *tree, layout, options);
        }
        QVERIFY2(timer.elapsed() < 10000, qPrintable(QString::number(timer.elapsed())));
    }

    void aStackOf200000FramesCanBeShown()
    {
        std::vector<std::string> stack(200000, "r");
        stack.push_back("leaf");
        FlameWidget widget{m_theme};
        widget.resize(600, 300);
        widget.setTree(test::treeOf({{stack, 1000000}}));
        widget.show();
        QVERIFY(QTest::qWaitForWindowExposed(&widget));
        const uint32_t leaf = test::nodeNamed(*widget.tree(), "leaf");
        QVERIFY(leaf != present::kNoNode);
        widget.setSearch(present::containsText("leaf"));
        widget.nextMatch(1);
        QCOMPARE(widget.selectedNode(), leaf);
        bool visible = false;
        for (const present::FlameRect& rect : widget.layout().rects)
            visible |= rect.node == leaf && widget.viewport()->rect().intersects(widget.viewportRect(rect).toRect());
        QVERIFY(visible);
    }

private:
    theme::Theme m_theme;
};

QTEST_MAIN(TestFlamePainter)
#include "tst_flame_painter.moc"
