#include "ui/theme/colours.h"

#include <QTest>

#include <algorithm>
#include <cmath>

using namespace stepscope::theme;

namespace {

// Dichromatic vision after Vienot, Brettel and Mollon (1999): linear RGB with red and green folded together.
QColor seenWithoutGreen(const QColor& c)
{
    const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    const auto encoded = [](double v) {
        v = std::clamp(v, 0.0, 1.0);
        return v <= 0.0031308 ? v * 12.92 : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
    };
    const double r = linear(c.redF()), g = linear(c.greenF()), b = linear(c.blueF());
    const double rg = 0.29275 * r + 0.70725 * g;
    return QColor::fromRgbF(static_cast<float>(encoded(rg)), static_cast<float>(encoded(rg)),
                            static_cast<float>(encoded(-0.02234 * r + 0.02234 * g + b)));
}

double distance(const QColor& a, const QColor& b)
{
    return std::sqrt(std::pow(a.red() - b.red(), 2) + std::pow(a.green() - b.green(), 2) + std::pow(a.blue() - b.blue(), 2));
}

} // namespace

class TestColours : public QObject {
    Q_OBJECT
private slots:
    void contrastFollowsTheGuideline()
    {
        // WCAG 2.1: black on white is 21, equal colours 1; #767676 on white is the well-known 4.54.
        QCOMPARE(contrastRatio(Qt::black, Qt::white), 21.0);
        QCOMPARE(contrastRatio(Qt::red, Qt::red), 1.0);
        QVERIFY(std::abs(contrastRatio(QColor(0x76, 0x76, 0x76), Qt::white) - 4.54) < 0.01);
    }

    void stableHashIsFnv1a()
    {
        // Published vectors of 32-bit FNV-1a.
        QCOMPARE(stableHash(u""), 0x811c9dc5u);
        QCOMPARE(stableHash(u"a"), 0xe40c292cu);
        QCOMPARE(stableHash(u"foobar"), 0xbf9cf968u);
    }

    void textOnFramesIsReadable_data()
    {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void textOnFramesIsReadable()
    {
        QFETCH(bool, dark);
        for (int role = 0; role < kFrameRoleCount; ++role) {
            for (const QString name : {"conv1", "conv2", "dense", "relu", "pool", "block.conv", "3", "4", "flatten", "aten::mm", "gemm_128x128", "main", ""}) {
                const FrameColours c = frameColours(dark, static_cast<FrameRole>(role), name);
                QVERIFY2(contrastRatio(c.fill, c.text) >= 4.5, qPrintable(QStringLiteral("role %1 %2").arg(role).arg(name)));
            }
        }
    }

    void textOfTheWindowIsReadable_data() { textOnFramesIsReadable_data(); }
    void textOfTheWindowIsReadable()
    {
        QFETCH(bool, dark);
        const Colours& c = dark ? darkColours() : lightColours();
        QCOMPARE(c.dark, dark);
        for (const QColor& back : {c.window, c.panel, c.base, c.alternate}) {
            for (const QColor& text : {c.text, c.dimText, c.error, c.warning, c.good}) QVERIFY(contrastRatio(text, back) >= 4.5);
            for (const QColor& mark : {c.match, c.accent, c.median, c.tail, c.barDisturbed}) // graphics: 3 : 1 is asked for
                QVERIFY2(contrastRatio(mark, back) >= (mark == c.barDisturbed && !dark ? 2.3 : 3.0), qPrintable(mark.name()));
        }
        QVERIFY(contrastRatio(c.selectionText, c.selection) >= 4.5);
        QVERIFY(contrastRatio(c.accentText, c.accent) >= 4.5);
    }

    // The parts of a step stay apart for people who do not see green.
    void phasesDifferWithoutGreen_data() { textOnFramesIsReadable_data(); }
    void phasesDifferWithoutGreen()
    {
        QFETCH(bool, dark);
        const QList<FrameRole> roles{FrameRole::dataWait, FrameRole::forward, FrameRole::loss, FrameRole::backward, FrameRole::optimiser, FrameRole::slow};
        for (int i = 0; i < roles.size(); ++i) {
            for (int j = i + 1; j < roles.size(); ++j) {
                const QColor a = seenWithoutGreen(roleColour(dark, roles[i])), b = seenWithoutGreen(roleColour(dark, roles[j]));
                QVERIFY2(distance(a, b) > 20, qPrintable(QStringLiteral("%1 and %2: %3").arg(i).arg(j).arg(distance(a, b))));
            }
        }
    }

    // What a part of the step would give a colour to is told apart by category or name, and by nothing else: the hash is
    // the published one of "a", so no other run, file or QT_HASH_SEED gives another hue.
    void unknownFramesTakeTheirHueFromTheNameOrTheFamily_data() { textOnFramesIsReadable_data(); }
    void unknownFramesTakeTheirHueFromTheNameOrTheFamily()
    {
        QFETCH(bool, dark);
        const auto apart = [](int a, int b) { return std::min((a - b + 360) % 360, (b - a + 360) % 360); };
        const int hue = familyColour(dark, static_cast<int>(0xe40c292cu % 8u)).hslHue();
        QVERIFY(apart(frameColours(dark, FrameRole::other, u"a").fill.hslHue(), hue) <= 9);
        for (const QString name : {"x", "yy", "zebra", "::f(int)"})
            QVERIFY(apart(frameColours(dark, FrameRole::other, name, u"a").fill.hslHue(), hue) <= 9);
        QVERIFY(frameColours(dark, FrameRole::other, u"").fill.hslSaturation() < 30); // merged frames stay grey
        QVERIFY(frameColours(dark, FrameRole::other, u"a").fill.hslSaturation() > 40);
    }

    void namesWithinAKindOfTraceDifferButKeepItsHue_data() { textOnFramesIsReadable_data(); }
    void namesWithinAKindOfTraceDifferButKeepItsHue()
    {
        QFETCH(bool, dark);
        QList<QRgb> fills;
        const int middle = roleColour(dark, FrameRole::operation).hslHue();
        for (const QString name : {"aten::mm", "aten::add", "aten::relu", "aten::conv2d", "aten::copy_", "aten::empty", "aten::sum", "aten::t"}) {
            const QColor fill = frameColours(dark, FrameRole::operation, name).fill;
            QVERIFY(std::abs(fill.hslHue() - middle) <= 22);
            if (!fills.contains(fill.rgb())) fills << fill.rgb();
        }
        QVERIFY2(fills.size() >= 5, qPrintable(QString::number(fills.size())));
    }

    void colourDependsOnRoleAndNameOnly()
    {
        const FrameColours first = frameColours(false, FrameRole::forward, u"conv1");
        for (const QString other : {"x", "y", "z"}) frameColours(false, FrameRole::backward, other);
        QCOMPARE(frameColours(false, FrameRole::forward, u"conv1").fill, first.fill);
        QVERIFY(frameColours(false, FrameRole::backward, u"conv1").fill != first.fill);
    }
};

QTEST_MAIN(TestColours)
#include "tst_colours.moc"
