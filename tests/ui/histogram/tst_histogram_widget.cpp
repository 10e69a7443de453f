#include "ui/histogram/histogram_widget.h"

#include <QTest>

#include <cmath>

using namespace stepscope;
using histogram::HistogramWidget;

namespace {

// 100 steps of 1.00 to 1.99 ms, every tenth disturbed, and one of 50 ms.
histogram::HistogramData sample()
{
    std::vector<double> durations;
    std::vector<uint8_t> disturbed;
    for (int i = 0; i < 100; ++i) {
        durations.push_back(1e6 + i * 1e4);
        disturbed.push_back(i % 10 == 0 ? 1 : 0);
    }
    durations.push_back(50e6);
    disturbed.push_back(1);
    return histogram::makeHistogramData(durations, disturbed, {});
}

} // namespace

class TestHistogramWidget : public QObject {
    Q_OBJECT
private slots:
    void disturbedStepsAreCountedPerBin()
    {
        const histogram::HistogramData data = sample();
        int64_t all = 0, disturbed = data.disturbed.back();
        for (size_t i = 0; i < data.histogram.bins.size(); ++i) {
            all += data.histogram.bins[i].count;
            disturbed += data.disturbed[i];
            QVERIFY(data.disturbed[i] <= data.histogram.bins[i].count);
        }
        QCOMPARE(all + data.histogram.overflow.count, int64_t{101});
        QCOMPARE(disturbed, int64_t{11});
        QVERIFY(data.histogram.overflow.count >= 1); // the outlier does not stretch the axis
        QVERIFY(data.disturbed.back() >= 1);
    }

    void barsCarryTheDisturbedPart()
    {
        HistogramWidget widget(m_theme);
        widget.resize(600, 300);
        widget.setData(sample());
        QVERIFY(!widget.layout().bars.empty());
        for (const present::HistogramBar& bar : widget.layout().bars) {
            const auto bin = static_cast<size_t>(bar.bin);
            const bool overflow = bin >= widget.data()->histogram.bins.size();
            const double count = static_cast<double>(overflow ? widget.data()->histogram.overflow.count : widget.data()->histogram.bins[bin].count);
            const double expected = bar.h * static_cast<double>(widget.data()->disturbed[bin]) / count;
            QVERIFY(std::abs(widget.disturbedHeight(bar) - expected) < 1e-9);
        }
    }

    void medianAndP99AreMarked()
    {
        HistogramWidget widget(m_theme);
        widget.resize(600, 300);
        widget.setData(sample());
        QCOMPARE(widget.layout().marks.size(), size_t{2});
        // numpy.percentile(x, 50) of the sample is 1.5 ms.
        QVERIFY2(QString::fromStdString(widget.layout().marks[0].label).contains("1.5"), widget.layout().marks[0].label.c_str());
    }

    void hoverTellsRangeCountAndDisturbance()
    {
        HistogramWidget widget(m_theme);
        widget.resize(600, 300);
        widget.setData(sample());
        const present::HistogramBar& bar = widget.layout().bars.front();
        widget.hoverAt({bar.x + bar.w / 2, bar.y + bar.h / 2});
        QVERIFY(widget.hoverText().contains("disturbed"));
        QVERIFY(widget.hoverText().contains("ms"));
        widget.hoverAt({1, 1});
        QVERIFY(widget.hoverText().isEmpty());
    }

    void emptyAndSingleDataAreFine()
    {
        HistogramWidget widget(m_theme);
        widget.resize(400, 200);
        widget.setData(std::nullopt);
        QVERIFY(!widget.grab().isNull());
        widget.setData(histogram::makeHistogramData({}, {}, {}));
        QVERIFY(!widget.grab().isNull());
        widget.setData(histogram::makeHistogramData({5e6}, {0}, {}));
        QVERIFY(!widget.grab().isNull());
        QCOMPARE(widget.data()->histogram.count, int64_t{1});
        widget.resize(1, 1);
        QVERIFY(!widget.grab().isNull());
    }

private:
    theme::Theme m_theme;
};

QTEST_MAIN(TestHistogramWidget)
#include "tst_histogram_widget.moc"
