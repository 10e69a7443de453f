// Our own kernels against the plainest loops, over layouts, strides, paddings and thread counts.
#include <QtTest>

#include "core/onednn/own_kernels.h"

#include <cmath>
#include <vector>

using namespace stepscope::onednn;

namespace {

std::vector<float> pattern(size_t n, uint32_t state)
{
    std::vector<float> values(n);
    for (float& v : values) {
        state = state * 1664525u + 1013904223u;
        v = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
    return values;
}

MaxPoolShape poolShape(int64_t outer, int64_t lanes, int64_t height, int64_t width, int64_t kernel, int64_t stride, int64_t pad)
{
    return {outer, lanes, height, width, (height + 2 * pad - kernel) / stride + 1, (width + 2 * pad - kernel) / stride + 1,
            kernel, kernel, stride, stride, pad, pad};
}

} // namespace

class TestOwnKernels : public QObject {
    Q_OBJECT

private slots:
    void maxPoolingFindsTheFirstLargestValueOfEachWindow_data()
    {
        QTest::addColumn<int>("lanes");
        QTest::addColumn<int>("kernel");
        QTest::addColumn<int>("stride");
        QTest::addColumn<int>("pad");
        QTest::addColumn<int>("threads");
        for (int lanes : {1, 6, 8, 16, 19})
            for (int threads : {1, 2}) {
                QTest::addRow("%d lanes, tiles, %d threads", lanes, threads) << lanes << 2 << 2 << 0 << threads;
                QTest::addRow("%d lanes, overlapping, %d threads", lanes, threads) << lanes << 3 << 2 << 0 << threads;
                QTest::addRow("%d lanes, padded, %d threads", lanes, threads) << lanes << 3 << 1 << 1 << threads;
                QTest::addRow("%d lanes, gaps, %d threads", lanes, threads) << lanes << 2 << 3 << 0 << threads;
            }
    }

    void maxPoolingFindsTheFirstLargestValueOfEachWindow()
    {
        QFETCH(int, lanes);
        QFETCH(int, kernel);
        QFETCH(int, stride);
        QFETCH(int, pad);
        QFETCH(int, threads);
        const MaxPoolShape s = poolShape(3, lanes, 8, 10, kernel, stride, pad);
        const auto inputs = static_cast<size_t>(s.outer * s.inHeight * s.inWidth * s.lanes);
        std::vector<float> x = pattern(inputs, 1), y(static_cast<size_t>(s.outputs()), NAN), dx(inputs, NAN);
        for (float& v : x) v = std::round(v * 4) / 4; // equal values: the first of a window must win
        const std::vector<float> dy = pattern(y.size(), 2);
        std::vector<int32_t> winner(y.size(), -1);
        maxPoolForward(s, x.data(), y.data(), winner.data(), threads);
        maxPoolBackward(s, dy.data(), winner.data(), nullptr, dx.data(), threads);

        std::vector<float> expectedDx(inputs, 0.0f);
        for (int64_t o = 0; o < s.outer; ++o)
            for (int64_t oh = 0; oh < s.outHeight; ++oh)
                for (int64_t ow = 0; ow < s.outWidth; ++ow)
                    for (int64_t l = 0; l < s.lanes; ++l) {
                        float best = -INFINITY;
                        size_t from = 0;
                        for (int64_t kh = 0; kh < kernel; ++kh)
                            for (int64_t kw = 0; kw < kernel; ++kw) {
                                const int64_t h = oh * stride - pad + kh, w = ow * stride - pad + kw;
                                if (h < 0 || w < 0 || h >= s.inHeight || w >= s.inWidth) continue;
                                const auto at = static_cast<size_t>(((o * s.inHeight + h) * s.inWidth + w) * s.lanes + l);
                                if (x[at] > best) {
                                    best = x[at];
                                    from = at;
                                }
                            }
                        const auto at = static_cast<size_t>(((o * s.outHeight + oh) * s.outWidth + ow) * s.lanes + l);
                        QCOMPARE(y[at], best);
                        expectedDx[from] += dy[at];
                    }
        for (size_t i = 0; i < inputs; ++i) QVERIFY2(std::fabs(dx[i] - expectedDx[i]) <= 1e-6f, qPrintable(QString::number(i)));

        // After a relu the same gradient reaches only inputs that are positive.
        std::vector<float> rectified = x;
        for (float& v : rectified) v = std::fmax(v, 0.0f);
        maxPoolForward(s, rectified.data(), y.data(), winner.data(), threads);
        std::vector<float> plain(inputs), masked(inputs);
        maxPoolBackward(s, dy.data(), winner.data(), nullptr, plain.data(), threads);
        maxPoolBackward(s, dy.data(), winner.data(), y.data(), masked.data(), threads);
        for (size_t i = 0; i < inputs; ++i) QCOMPARE(masked[i], rectified[i] > 0 ? plain[i] : 0.0f);
    }

    void theThinGradientEqualsTheSumOverAllPixels_data()
    {
        QTest::addColumn<int>("in");
        QTest::addColumn<int>("out");
        QTest::addColumn<int>("kernel");
        QTest::addColumn<int>("stride");
        QTest::addColumn<int>("pad");
        QTest::addColumn<int>("lanes"); // 8, 16 or 0 for channels last
        QTest::addColumn<int>("threads");
        for (int threads : {1, 2}) {
            QTest::addRow("LeNet's first layer, %d threads", threads) << 1 << 6 << 5 << 1 << 0 << 8 << threads;
            QTest::addRow("three channels, padded, %d threads", threads) << 3 << 16 << 3 << 1 << 1 << 8 << threads;
            QTest::addRow("blocks of 16, stride 2, %d threads", threads) << 3 << 24 << 3 << 2 << 1 << 16 << threads;
            QTest::addRow("channels last, kernel 7, %d threads", threads) << 4 << 16 << 7 << 2 << 3 << 0 << threads;
            QTest::addRow("kernel 1, stride 3, %d threads", threads) << 2 << 8 << 1 << 3 << 0 << 8 << threads;
        }
    }

    void theThinGradientEqualsTheSumOverAllPixels()
    {
        QFETCH(int, in);
        QFETCH(int, out);
        QFETCH(int, kernel);
        QFETCH(int, stride);
        QFETCH(int, pad);
        QFETCH(int, lanes);
        QFETCH(int, threads);
        constexpr int64_t kBatch = 3, kHeight = 11, kWidth = 13;
        const int64_t outHeight = (kHeight + 2 * pad - kernel) / stride + 1, outWidth = (kWidth + 2 * pad - kernel) / stride + 1;
        const int64_t block = lanes > 0 ? lanes : out, outers = (out + block - 1) / block;
        ThinConvolution s{kBatch, in, out, kHeight, kWidth, outHeight, outWidth, kernel, kernel, stride, stride, pad, pad,
                          {kBatch * outers, outHeight, outWidth, block, lanes == 0}};
        QVERIFY(s.supported());
        const std::vector<float> x = pattern(static_cast<size_t>(kBatch * in * kHeight * kWidth), 3);
        std::vector<float> dy = pattern(static_cast<size_t>(kBatch * outers * outHeight * outWidth * block), 4);
        const auto at = [&](int64_t n, int64_t o, int64_t h, int64_t w) {
            return static_cast<size_t>((((n * outers + o / block) * outHeight + h) * outWidth + w) * block + o % block);
        };
        const auto weights = static_cast<size_t>(out * in * kernel * kernel);
        std::vector<float> dw(weights, NAN), db(static_cast<size_t>(out), NAN), scratch(static_cast<size_t>(s.scratch(threads)), NAN);
        thinWeightsGradient(s, x.data(), dy.data(), dw.data(), db.data(), scratch.data(), threads);

        for (int64_t o = 0; o < out; ++o) {
            double bias = 0;
            for (int64_t n = 0; n < kBatch; ++n)
                for (int64_t h = 0; h < outHeight; ++h)
                    for (int64_t w = 0; w < outWidth; ++w) bias += dy[at(n, o, h, w)];
            QVERIFY(std::fabs(db[static_cast<size_t>(o)] - bias) < 1e-4);
            for (int64_t c = 0; c < in; ++c)
                for (int64_t kh = 0; kh < kernel; ++kh)
                    for (int64_t kw = 0; kw < kernel; ++kw) {
                        double sum = 0;
                        for (int64_t n = 0; n < kBatch; ++n)
                            for (int64_t h = 0; h < outHeight; ++h)
                                for (int64_t w = 0; w < outWidth; ++w) {
                                    const int64_t ih = h * stride - pad + kh, iw = w * stride - pad + kw;
                                    if (ih < 0 || iw < 0 || ih >= kHeight || iw >= kWidth) continue;
                                    sum += static_cast<double>(dy[at(n, o, h, w)]) * x[static_cast<size_t>(((n * in + c) * kHeight + ih) * kWidth + iw)];
                                }
                        const float got = dw[static_cast<size_t>(((o * in + c) * kernel + kh) * kernel + kw)];
                        QVERIFY2(std::fabs(got - sum) < 1e-4, qPrintable(QString("%1 %2 %3 %4: %5 != %6").arg(o).arg(c).arg(kh).arg(kw).arg(got).arg(sum)));
                    }
        }
    }
};

QTEST_GUILESS_MAIN(TestOwnKernels)
#include "tst_own_kernels.moc"
