// A oneDNN 3.x that believes in one-byte caches computes wrong results, and the self-check refuses it. A program of its
// own, because it breaks the library in its process.
#include "core/base/error.h"
#include "core/onednn/onednn_backend.h"
#include "tests/support/onednn_cache_sizes.h"

#include <QtTest>

using namespace stepscope;

class TestHiddenCaches : public QObject {
    Q_OBJECT
private slots:
    void aLibraryThatComputesWrongIsRefused();
};

void TestHiddenCaches::aLibraryThatComputesWrongIsRefused()
{
    const auto backend = onednn::createBackend();
    testing::repairOneDnnCacheSizes(); // this machine itself may hide them
    if (testing::hideOneDnnCacheSizes() == 0)
        QSKIP("this oneDNN (2.x guesses the sizes) has no table of cache sizes to break");
    const base::Status status = backend->selfCheck();
    QVERIFY(!status);
    QCOMPARE(status.error().code, base::ErrorCode::unavailable);
    const std::string text = base::toText(status.error());
    QVERIFY2(text.find("wrong results") != std::string::npos, text.c_str());
    QVERIFY2(text.find("lscpu -C") != std::string::npos, text.c_str()); // what to do
}

QTEST_GUILESS_MAIN(TestHiddenCaches)
#include "tst_hidden_caches.moc"
