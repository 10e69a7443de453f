// The sample model learns: test accuracy on the real Fashion-MNIST, through the Trainer.
//
// Published two-convolution results on this data are 87.6 to 91.6 % (github.com/zalandoresearch/fashion-mnist).
#include "core/engine/trainer.h"
#include "core/model/parser.h"
#include "tests/core/onednn/onednn_test.h"

#include <QFile>

using namespace stepscope;

class TestFashionMnist : public QObject {
    Q_OBJECT
private slots:
    void lenetReaches86PercentAfter3EpochsAnd88After10();
};

void TestFashionMnist::lenetReaches86PercentAfter3EpochsAnd88After10()
{
    if (!QFile::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"))
        QSKIP("Fashion-MNIST is not on this machine; apt install dataset-fashion-mnist");
    auto file = model::readModelFile(STEPSCOPE_SOURCE_DIR "/resources/models/fashion-lenet.jl");
    QVERIFY2(file.has_value(), file ? "" : base::toText(file.error()).c_str());

    const auto backend = testing::testBackend();
    engine::TrainOptions options;
    options.epochs = 10;
    options.seed = 1;
    options.threads = 1; // reproducible, and a busy machine slows a team far more than one thread
    engine::Trainer trainer;
    const base::Status started = trainer.start(*file, options, *backend, nullptr, {}, {});
    QVERIFY2(started.has_value(), started ? "" : base::toText(started.error()).c_str());
    const auto result = trainer.wait();
    QVERIFY2(result.has_value(), result ? "" : base::toText(result.error()).c_str());

    const std::vector<double>& accuracy = result->epochAccuracy;
    QCOMPARE(accuracy.size(), size_t(10));
    for (size_t epoch = 0; epoch < accuracy.size(); ++epoch)
        qInfo("epoch %zu: %.2f %% of the test images right", epoch + 1, 100 * accuracy[epoch]);
    QVERIFY2(accuracy[2] >= 0.86, "after 3 epochs");
    QVERIFY2(accuracy[9] >= 0.88, "after 10 epochs");
    QVERIFY(result->testAccuracy && *result->testAccuracy == accuracy[9]);
}

QTEST_GUILESS_MAIN(TestFashionMnist)
#include "tst_fashion_mnist.moc"
