// What the oneDNN backend's tests share.
// Owner: tests/core/onednn.
#pragma once

#include "core/onednn/onednn_backend.h"
#include "tests/support/backend_comparison.h"
#include "tests/support/onednn_cache_sizes.h"

#include <QTest>

#include <exception>

namespace stepscope::testing {

// A backend for all tests of a class, on a machine whose oneDNN was repaired if it needed that.
inline std::unique_ptr<engine::Backend> testBackend()
{
    repairOneDnnCacheSizes();
    return onednn::createBackend();
}

// As many threads as OMP_NUM_THREADS says: every test is registered with one and with two.
inline engine::BuildOptions buildOptions(int64_t batch, bool tune)
{
    engine::BuildOptions options;
    options.batchSize = batch;
    options.threads = qEnvironmentVariableIntValue("OMP_NUM_THREADS");
    options.tune = tune;
    options.seed = 5;
    return options;
}

// Runs `check`, which returns "" or a difference, and fails the test with that or with an exception's message.
template <class Check>
void verify(const std::string& modelText, Check check)
{
    std::string difference;
    try {
        difference = check();
    } catch (const std::exception& error) {
        difference = error.what();
    }
    QVERIFY2(difference.empty(), qPrintable(QString::fromStdString(modelText + "\n" + difference)));
}

} // namespace stepscope::testing
