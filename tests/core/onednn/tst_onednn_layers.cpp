// Every layer with its options: outputs, loss and all gradients of the oneDNN backend against the double reference.
#include "tests/core/onednn/onednn_test.h"

using namespace stepscope;
using namespace stepscope::testing;

class TestOneDnnLayers : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { m_backend = testBackend(); }

    void convolution_data();
    void convolution() { runRows(); }
    void channelCounts_data();
    void channelCounts() { runRows(); }
    void oneDimension_data();
    void oneDimension() { runRows(); }
    void pooling_data();
    void pooling() { runRows(); }
    void dense_data();
    void dense() { runRows(); }
    void normalisation_data();
    void normalisation() { runRows(); }
    void connections_data();
    void connections() { runRows(); }
    void batchSizes_data();
    void batchSizes() { runRows(); }

private:
    static void columns()
    {
        QTest::addColumn<QString>("input");
        QTest::addColumn<QString>("layers");
        QTest::addColumn<int>("batch");
    }
    // Input in Flux order: width, height, channels.
    static void row(const char* input, const QString& layers, int batch = 5)
    {
        QTest::addRow("%s %s batch %d", input, qPrintable(layers), batch) << QString(input) << layers << batch;
    }
    void runRows();

    std::unique_ptr<engine::Backend> m_backend;
};

void TestOneDnnLayers::runRows()
{
    QFETCH(QString, input);
    QFETCH(QString, layers);
    QFETCH(int, batch);
    const std::string text = ("input = (" + input + ")\nmodel = Chain(" + layers + ")\nloss = mse\n").toStdString();
    for (bool tune : {false, true})
        verify(text, [&] {
            BackendComparison comparison(*m_backend, text, buildOptions(batch, tune));
            std::string difference = comparison.step(comparison.randomSample(batch, 1));
            if (difference.empty()) difference = comparison.step(comparison.randomSample(batch, 2)); // warm buffers
            if (difference.empty()) difference = comparison.forward(comparison.randomSample(batch, 3), false);
            return difference.empty() ? difference : difference + (tune ? " (tuned)" : " (first choice)");
        });
}

void TestOneDnnLayers::convolution_data()
{
    columns();
    const char* in = "9, 8, 4";
    row(in, "Conv((3, 3), 4 => 6)");
    row(in, "Conv((3, 2), 4 => 6)");
    row(in, "Conv((1, 1), 4 => 6)");
    row(in, "Conv((5, 5), 4 => 6; pad = 2)");
    row(in, "Conv((3, 3), 4 => 6; stride = 2)");
    row(in, "Conv((3, 2), 4 => 6; stride = (1, 2))");
    row(in, "Conv((1, 1), 4 => 6; stride = 2)");
    row(in, "Conv((3, 3), 4 => 6; pad = 1)");
    row(in, "Conv((3, 3), 4 => 6; pad = (2, 0))");
    row(in, "Conv((3, 3), 4 => 6; pad = (0, 1, 1, 2))");
    row(in, "Conv((3, 3), 4 => 6; pad = (2, 0, 0, 1), stride = (2, 3))");
    row(in, "Conv((3, 3), 4 => 6; pad = SamePad())");
    row(in, "Conv((2, 4), 4 => 6; pad = SamePad())");
    row(in, "Conv((4, 3), 4 => 6; pad = SamePad(), stride = 2)");
    row(in, "Conv((2, 3), 4 => 6; dilation = 2)");
    row(in, "Conv((3, 2), 4 => 6; dilation = (1, 3), pad = SamePad())");
    row(in, "Conv((3, 3), 4 => 6; groups = 2)");
    row(in, "Conv((3, 3), 4 => 4; groups = 4)");
    row(in, "Conv((3, 3), 4 => 8; groups = 4, pad = 1, stride = 2)");
    row(in, "Conv((3, 3), 4 => 6; bias = false)");
    row(in, "Conv((3, 3), 4 => 6; groups = 2, bias = false, pad = (1, 0, 0, 2))");
    row(in, "CrossCor((3, 2), 4 => 6)");
    row(in, "CrossCor((3, 2), 4 => 6; stride = 2, pad = (1, 0, 2, 1), dilation = (1, 2))");
    row("12, 12, 32", "Conv((3, 3), 32 => 32; groups = 32, pad = 1)");
    row("12, 12, 32", "Conv((3, 3), 32 => 64; groups = 2, pad = 1)");
}

void TestOneDnnLayers::channelCounts_data()
{
    columns();
    const int channels[] = {1, 3, 5, 6, 16, 17, 32};
    for (int in : channels)
        for (int out : channels)
            row(qPrintable(QString("7, 6, %1").arg(in)), QString("Conv((3, 3), %1 => %2; pad = 1)").arg(in).arg(out));
    // Two in a row: the layout of the first reaches the second and comes back.
    for (int middle : channels)
        row("8, 8, 3", QString("Conv((3, 3), 3 => %1, tanh), Conv((2, 2), %1 => 6)").arg(middle));
}

void TestOneDnnLayers::oneDimension_data()
{
    columns();
    row("11, 2", "Conv((3,), 2 => 5)");
    row("11, 2", "Conv((3,), 2 => 5; pad = 1)");
    row("11, 2", "Conv((3,), 2 => 5; pad = (0, 2), stride = 2)");
    row("11, 2", "Conv((2,), 2 => 5; dilation = 3, pad = SamePad())");
    row("11, 4", "Conv((3,), 4 => 8; groups = 4, bias = false)");
    row("11, 16", "Conv((3,), 16 => 32, relu), MaxPool((2,)), Conv((3,), 32 => 3)");
    row("11, 2", "CrossCor((3,), 2 => 5; pad = 1)");
    row("11, 3", "MaxPool((3,); stride = 2, pad = 1)");
    row("11, 3", "MeanPool((3,); stride = 2, pad = (1, 0))");
    row("11, 3", "GlobalMeanPool()");
    row("11, 3", "GlobalMaxPool()");
    row("11, 3", "BatchNorm(3)");
}

void TestOneDnnLayers::pooling_data()
{
    columns();
    for (const char* kind : {"MaxPool", "MeanPool"})
        for (const char* in : {"8, 6, 3", "9, 7, 16", "9, 7, 1"})
            for (const char* options :
                 {"(2, 2)", "(3, 3); stride = 2", "(3, 2); stride = (2, 1), pad = (1, 0, 0, 1)", "(3, 3); pad = 1",
                  "(3, 3); stride = 1, pad = SamePad()", "(2, 3); pad = 1", "(2, 2); pad = SamePad()"})
                row(in, QString("%1(%2)").arg(kind, options));
    for (const char* kind : {"GlobalMaxPool()", "GlobalMeanPool()"})
        for (const char* in : {"8, 6, 3", "9, 7, 16", "1, 1, 5"})
            row(in, kind);
    row("12, 12, 1",
        "Conv((3, 3), 1 => 6, relu), MaxPool((2, 2)), Conv((2, 2), 6 => 4), MeanPool((2, 2)), Flux.flatten, "
        "Dense(16 => 3)");
}

void TestOneDnnLayers::dense_data()
{
    columns();
    for (const char* kind : {"Dense", "NaiveDense"}) {
        row("7", QString("%1(7 => 5)").arg(kind));
        row("7", QString("%1(7 => 5, relu)").arg(kind));
        row("7", QString("%1(7 => 5; bias = false)").arg(kind));
        row("1", QString("%1(1 => 1)").arg(kind));
        row("64", QString("%1(64 => 32, tanh), %1(32 => 10)").arg(kind));
        row("4, 3, 2", QString("Flux.flatten, %1(24 => 17)").arg(kind));
    }
    row("300", "Dense(300 => 130), Dense(130 => 17)");
    row("5, 4, 16", "Conv((2, 2), 16 => 16), Flux.flatten, Dense(192 => 10)");
    row("5, 4, 3", "Conv((2, 2), 3 => 17), Flux.flatten, NaiveDense(204 => 10)");
}

void TestOneDnnLayers::normalisation_data()
{
    columns();
    row("6", "BatchNorm(6)");
    row("6", "Dense(6 => 17), BatchNorm(17, relu), Dense(17 => 3)");
    for (const char* in : {"5, 4, 3", "5, 4, 16", "5, 4, 17"}) {
        const QString channels = QString(in).section(", ", 2);
        row(in, QString("BatchNorm(%1)").arg(channels));
        row(in, QString("BatchNorm(%1, relu)").arg(channels));
        row(in, QString("BatchNorm(%1, tanh)").arg(channels));
        row(in, QString("BatchNorm(%1; affine = false)").arg(channels));
        row(in, QString("BatchNorm(%1; track_stats = false)").arg(channels));
        row(in, QString("BatchNorm(%1; eps = 0.01, momentum = 0.3)").arg(channels));
        row(in, QString("Conv((3, 3), %1 => 16; pad = 1), BatchNorm(16, relu), Conv((3, 3), 16 => 5)").arg(channels));
    }
    row("6", "LayerNorm(6)");
    row("6", "LayerNorm(6, relu)");
    row("6", "LayerNorm(6; affine = false)");
    row("6", "LayerNorm(6; eps = 0.01)");
    row("6", "Dense(6 => 33), LayerNorm(33, tanh), Dense(33 => 3)");
    row("5, 4, 3", "LayerNorm(5)");
    row("5, 4, 3", "LayerNorm((5, 4))");
    row("5, 4, 3", "LayerNorm((5, 4, 3))");
    row("5, 4, 3", "Conv((2, 2), 3 => 16), LayerNorm((4, 3)), Conv((2, 2), 16 => 3)");
}

void TestOneDnnLayers::connections_data()
{
    columns();
    // A layer takes over one activation, not two.
    row("6", "Dense(6 => 4), relu, tanh, Dense(4 => 3)");
    row("6, 5, 3", "Conv((3, 3), 3 => 8), relu, tanh, Conv((3, 3), 8 => 2)");
    row("6, 5, 3", "Chain(Conv((3, 3), 3 => 8), relu), tanh, Conv((3, 3), 8 => 2)");
    // The gradient that both branches read must not be changed in one of them.
    row("6", "Dense(6 => 6), SkipConnection(Parallel(+, tanh), +), Dense(6 => 3)");
    row("6, 5, 16", "Conv((3, 3), 16 => 16; pad = 1), SkipConnection(Parallel(+, BatchNorm(16)), +), flatten, Dense(480 => 3)");
    // f(0) != 0 over padded channels.
    row("8, 7, 3", "Conv((3, 3), 3 => 6), hardsigmoid, Conv((3, 3), 6 => 5)");
    // Pooling takes over the gradient of the relu before it, but not when something else reads the same value.
    row("8, 8, 3", "Conv((3, 3), 3 => 8, relu; pad = 1), MaxPool((2, 2)), flatten, Dense(128 => 3)");
    row("8, 8, 3", "Conv((3, 3), 3 => 8, relu; pad = 1), SkipConnection(MaxPool((3, 3); pad = 1, stride = 1), +), flatten, Dense(512 => 3)");
    row("8, 8, 3", "Conv((3, 3), 3 => 8, leakyrelu; pad = 1), MaxPool((2, 2)), flatten, Dense(128 => 3)");
    for (const char* connection : {"+", ".*", "vcat"}) {
        row("6", QString("SkipConnection(Dense(6 => 6, tanh), %1)").arg(connection));
        row("6",
            QString("Dense(6 => 5), SkipConnection(Dense(5 => 5, relu), %1), Dense(%2 => 3)")
                .arg(connection)
                .arg(QString(connection) == "vcat" ? 10 : 5));
        row("6", QString("Parallel(%1, Dense(6 => 4), Dense(6 => 4, tanh), Dense(6 => 4, relu))").arg(connection));
    }
    const QString cat = "(a, b) -> cat(a, b; dims = 3)";
    for (const QString& connection : {QString("+"), QString(".*"), cat})
        for (int c : {3, 16}) {
            const QString in = QString("6, 5, %1").arg(c);
            const int joined = connection == cat ? 2 * c : c;
            row(qPrintable(in), QString("SkipConnection(Conv((3, 3), %1 => %1; pad = 1), %2)").arg(c).arg(connection));
            row(qPrintable(in),
                QString("Conv((1, 1), %1 => %1, relu), SkipConnection(Chain(Conv((3, 3), %1 => %1, relu; "
                        "pad = 1), BatchNorm(%1)), %2), Conv((2, 2), %3 => 4)")
                    .arg(c)
                    .arg(connection)
                    .arg(joined));
            row(qPrintable(in),
                QString("Parallel(%2, Conv((3, 3), %1 => %1; pad = 1), Conv((1, 1), %1 => %1)), "
                        "Conv((2, 2), %3 => 4)")
                    .arg(c)
                    .arg(connection)
                    .arg(joined));
        }
    // The input of a skip connection is read twice, and relu must not change it behind the other reader's back.
    row("6, 5, 4", "SkipConnection(relu, +), SkipConnection(Chain(relu, Conv((1, 1), 4 => 4)), +), relu");
    row("6, 5, 4", "SkipConnection(SkipConnection(Conv((1, 1), 4 => 4, tanh), +), .*), MaxPool((2, 2))");
    row("6", "Parallel(+, Chain(Dense(6 => 4), relu), Chain(relu, Dense(6 => 4)))");
    row("6", "Parallel(+, identity, identity)");
}

void TestOneDnnLayers::batchSizes_data()
{
    columns();
    for (int batch : {1, 2, 5, 64}) {
        row("6, 6, 3", "Conv((3, 3), 3 => 6, relu), MaxPool((2, 2))", batch);
        row("6, 6, 16", "Conv((3, 3), 16 => 32; pad = 1)", batch);
        row("17", "Dense(17 => 10)", batch);
        row("17", "NaiveDense(17 => 10, relu)", batch);
        row("6, 6, 3", "BatchNorm(3, relu)", batch);
        row("8", "LayerNorm(8)", batch);
        row("6, 6, 3", "GlobalMeanPool(), Flux.flatten, Dense(3 => 2)", batch);
    }
}

QTEST_GUILESS_MAIN(TestOneDnnLayers)
#include "tst_onednn_layers.moc"
