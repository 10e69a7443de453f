// A workbench with made-up files, backend and sessions, for tests of the window.
// Owner: tests/ui/shell. Thread: UI thread.
#pragma once

#include "idle_backend.h"
#include "tests/support/device_session.h"
#include "tests/support/made_session.h"
#include "ui/shell/main_window.h"
#include "ui/views/model_editor.h"
#include "ui/views/run_options.h"

#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include <memory>

namespace stepscope::test {

inline constexpr auto kModel = "model = Chain(Dense(4 => 2))\nloss = mse\noptimiser = Descent(0.1)\ndata = Random(samples = 64, batchsize = 8)\n";

// Keeps what is recorded in a SessionBuilder and leaves a file, as the real sink does.
class MemorySink : public session::SessionSink {
public:
    MemorySink(const std::string& path, std::shared_ptr<session::SessionPtr> result) : m_path(path), m_result(std::move(result)) {}
    void addString(std::string_view text) override { m_builder.addString(text); }
    void addTrack(const session::Track& row) override { m_builder.addTrack(row); }
    void addLabel(const session::Label& row) override { m_builder.addLabel(row); }
    void addLayer(const session::LayerRow& row) override { m_builder.addLayer(row); }
    void addPrimitive(const session::PrimitiveRow& row) override { m_builder.addPrimitive(row); }
    void addCounter(const session::CounterRow& row) override { m_builder.addCounter(row); }
    void addEnvironment(const session::EnvironmentRow& row) override { m_builder.addEnvironment(row); }
    void addQuality(const session::QualityRow& row) override { m_builder.addQuality(row); }
    void setModelText(std::string_view text) override { m_builder.setModelText(text); }
    void addStep(const session::StepRow& row) override { m_builder.addStep(row); }
    void addSpans(session::TrackId track, std::span<const session::SpanRecord> spans) override { m_builder.addSpans(track, spans); }
    void addCounterSamples(session::CounterId id, std::span<const session::CounterRecord> samples) override
    {
        m_builder.addCounterSamples(id, samples);
    }
    void addFrame(const session::FrameRow& row) override { m_builder.addFrame(row); }
    void addStack(const session::StackRow& row) override { m_builder.addStack(row); }
    void addSeries(const session::SeriesRow& row) override { m_builder.addSeries(row); }
    void addSamples(session::SeriesId id, std::span<const session::SampleRecord> samples) override { m_builder.addSamples(id, samples); }
    base::Status flush() override { return {}; }
    base::Status finish() override
    {
        *m_result = m_builder.build();
        QFile file(QString::fromStdString(m_path));
        return file.open(QIODevice::WriteOnly) ? base::Status() : base::fail(base::ErrorCode::io, "cannot write");
    }

private:
    std::string m_path;
    std::shared_ptr<session::SessionPtr> m_result;
    session::SessionBuilder m_builder;
};

struct Fixture {
    QTemporaryDir directory;
    QSettings settings{directory.filePath("settings.ini"), QSettings::IniFormat};
    theme::Theme theme;
    jobs::JobRunner jobs;
    state::RecentFiles recent{settings};
    std::shared_ptr<session::SessionPtr> recorded = std::make_shared<session::SessionPtr>();
    state::Services services = makeServices();
    std::unique_ptr<state::Workbench> workbench;
    std::unique_ptr<state::RunController> runs;
    std::unique_ptr<shell::MainWindow> window;

    state::Services makeServices()
    {
        state::Services made;
        made.openSession = [recorded = recorded](const std::string& path, std::stop_token, const base::Progress&)
            -> base::Result<session::SessionPtr> {
            if (path.find("recordings") != std::string::npos) return *recorded;
            if (path.find("bad") != std::string::npos)
                return base::fail(base::ErrorCode::newerVersion, "written by a newer Stepscope", {path}, "update this program");
            if (path.find("repaired") != std::string::npos) {
                support::MadeSession session;
                session.builder.addQuality({"cut-short", 1, "The recording was cut short"});
                session.builder.addQuality({"lost-spans", 12, "Spans were lost"});
                return session.build();
            }
            if (path.find("device") != std::string::npos) {
                support::DeviceSession session;
                const base::TrackId thread = session.thread(1);
                session.step(0, 0, 100);
                session.host(thread, session::SpanKind::operation, "aten::mm", 0, 50);
                session.call(thread, "cudaLaunchKernel", 10, 5, 1);
                session.kernel(session.stream(0, 7), "gemm", 30, 40, 1);
                return session.build();
            }
            return support::madeSession();
        };
        made.saveSession = [](const session::Session&, const std::string&, std::stop_token, const base::Progress&) { return base::Status(); };
        made.createSink = [recorded = recorded](const std::string& path) -> base::Result<std::unique_ptr<session::SessionSink>> {
            return std::unique_ptr<session::SessionSink>(std::make_unique<MemorySink>(path, recorded));
        };
        made.createBackend = []() -> base::Result<std::unique_ptr<engine::Backend>> { return std::make_unique<IdleBackend>(); };
        made.recordingsDirectory = directory.filePath("recordings").toStdString();
        made.version = "test";
        return made;
    }

    void open()
    {
        workbench = std::make_unique<state::Workbench>(services, jobs, recent);
        runs = std::make_unique<state::RunController>(*workbench);
        window = std::make_unique<shell::MainWindow>(*workbench, *runs, theme, settings);
        window->show();
        QVERIFY(QTest::qWaitForWindowExposed(window.get()));
    }
    ~Fixture() { jobs.shutdown(); }

    template <class T>
    T* find(const QString& name = {}) { return window->findChild<T*>(name); }
    void load(const QString& path = "/x/run.stepscope")
    {
        workbench->open(path);
        QTRY_COMPARE(jobs.running(), 0);
        QVERIFY(workbench->session() != nullptr);
    }
    void typeModel()
    {
        engine::TrainOptions options;
        options.steps = 1000000; // until it is stopped
        find<views::RunOptions>()->setOptions(options);
        find<views::ModelEditor>()->setPlainText(kModel);
        QTRY_VERIFY2(find<QLabel>("modelMessage")->text().contains("parameters"), qPrintable(find<QLabel>("modelMessage")->text()));
        QTRY_COMPARE(jobs.running(), 0);
        QVERIFY(find<QPushButton>("start")->isEnabled());
    }
};

} // namespace stepscope::test
