#include "gpu/device/devices.h"

#include <QtTest>

#include <dlfcn.h>

using namespace stepscope;

class TestDevices : public QObject {
    Q_OBJECT
private slots:
    void withoutADriverTheReasonIsTold()
    {
        // Asked from the dynamic linker, not from the code under test.
        if (void* library = dlopen("libcuda.so.1", RTLD_LAZY)) {
            dlclose(library);
            QSKIP("this machine has a CUDA driver");
        }
        const auto info = gpu::probeDevices();
        QVERIFY(!info);
        QCOMPARE(info.error().code, base::ErrorCode::unavailable);
        const QString message = QString::fromStdString(info.error().message);
        QVERIFY2(message.contains("no CUDA driver") || message.contains("without its CUDA parts"), qPrintable(message));

        const auto rows = gpu::environment();
        QCOMPARE(rows.size(), size_t(1));
        QCOMPARE(rows[0].first, std::string("cuda.driver"));
        QCOMPARE(rows[0].second, "none: " + info.error().message);
    }

    void withADriverEveryDeviceHasARow()
    {
        const auto info = gpu::probeDevices();
        if (!info) QSKIP(qPrintable(QString::fromStdString(info.error().message)));
        QVERIFY(info->cudaMajor >= 11);
        for (const auto& device : info->devices) {
            QVERIFY(!device.name.empty());
            QVERIFY(device.computeMajor >= 3);
            QVERIFY(device.multiprocessors >= 1);
            QVERIFY(device.memoryBytes > (int64_t(1) << 28));
        }
        QCOMPARE(gpu::environment().size(), info->devices.size() + 1);
    }
};

QTEST_GUILESS_MAIN(TestDevices)
#include "tst_devices.moc"
