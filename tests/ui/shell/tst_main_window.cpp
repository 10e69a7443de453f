#include "window_fixture.h"
#include "tests/support/made_samples.h"
#include "ui/flame/flame_widget.h"
#include "ui/histogram/histogram_widget.h"
#include "ui/models/report_table.h"
#include "ui/shell/main_window.h"
#include "ui/shell/message_bar.h"
#include "ui/shell/status_strip.h"
#include "ui/views/model_editor.h"
#include "ui/views/run_options.h"
#include "ui/views/sample_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QSet>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QUrl>

using namespace stepscope;
using test::Fixture;
using test::kModel;

class TestMainWindow : public QObject {
    Q_OBJECT
private slots:
    void aSessionFillsEveryView()
    {
        Fixture f;
        f.open();
        QVERIFY(f.find<flame::FlameWidget>()->tree() == nullptr);
        f.load();
        QVERIFY(f.find<flame::FlameWidget>()->tree() != nullptr);
        // Three steps without the warm-up step: 1, 2 and 3 µs.
        QCOMPARE(f.find<flame::FlameWidget>()->tree()->stepTotal, base::TimeNs{6000});
        QCOMPARE(f.find<histogram::HistogramWidget>()->data()->summary.median, 2000.0);
        auto* functions = f.window->dock("sample-flat")->findChild<models::ReportTable*>(); // this session has no samples
        for (models::ReportTable* table : f.window->findChildren<models::ReportTable*>())
            if (table != functions) QVERIFY(table->model().rowCount() > 0);
        QVERIFY(!f.find<views::SampleBar>()->isVisible());
        QVERIFY(f.window->windowTitle().startsWith("run"));
        f.workbench->close();
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(f.find<flame::FlameWidget>()->tree() == nullptr);
    }

    void aTraceWithDeviceWorkShowsItsReports()
    {
        Fixture f;
        f.open();
        QDockWidget* dock = f.window->dock("devices");
        QVERIFY(!dock->toggleViewAction()->isVisible());
        f.load();
        QVERIFY(!dock->toggleViewAction()->isVisible());
        QVERIFY(dock->isHidden());
        f.load("/x/device.json");
        QVERIFY(dock->toggleViewAction()->isVisible());
        QVERIFY(!dock->isHidden());
        QTRY_VERIFY(!dock->visibleRegion().isEmpty()); // there are no layers: it is in front
        auto* tabs = f.find<QTabWidget>("devicesTabs");
        for (const char* page : {"step", "operator", "kernel", "launch"}) {
            QWidget* widget = tabs->findChild<QWidget*>(page);
            QVERIFY(widget != nullptr);
            tabs->setCurrentWidget(widget);
            QTRY_VERIFY(widget->findChild<models::ReportTable*>() != nullptr);
            QTRY_VERIFY2(widget->findChild<models::ReportTable*>()->model().rowCount() > 0, page);
        }
        f.load();
        QVERIFY(dock->isHidden());
    }

    void aTraceShowsAllItsTracksAndWhatItHas()
    {
        Fixture f;
        f.open();
        const auto offered = [&](const char* id) { return f.window->dock(id)->toggleViewAction()->isVisible(); };
        for (const char* id : {"layers", "phases", "primitives", "sample-tree", "sample-flat"}) QVERIFY2(offered(id), id);
        f.load("/x/device.json");
        for (const char* id : {"layers", "phases", "primitives", "sample-tree", "sample-flat"}) {
            QVERIFY2(!offered(id), id);
            QVERIFY2(f.window->dock(id)->isHidden(), id);
        }
        for (const char* id : {"steps", "histogram", "devices", "session"}) QVERIFY2(offered(id) && !f.window->dock(id)->isHidden(), id);
        QVERIFY(f.find<QLabel>("modelName")->text().startsWith("For a new run"));
        // The kernel is on another track than the step, and found.
        auto* graph = f.find<flame::FlameWidget>();
        QCOMPARE(graph->zoomedNode(), 0u);
        graph->setSearch(present::containsText("gemm"));
        QCOMPARE(graph->matches().nodes.size(), size_t{1});
        f.load();
        for (const char* id : {"layers", "phases", "primitives"}) QVERIFY2(offered(id) && !f.window->dock(id)->isHidden(), id);
        QVERIFY(!f.find<QLabel>("modelName")->text().startsWith("For a new run"));
        QVERIFY(graph->zoomedNode() != 0u); // a recorded run is about its step
        f.workbench->close();
        for (const char* id : {"layers", "sample-flat"}) QVERIFY2(offered(id) && !f.window->dock(id)->isHidden(), id);
    }

    void whatATraceHidesIsThereAgainAtTheNextStart()
    {
        Fixture f;
        f.open();
        f.load("/x/device.json");
        QVERIFY(f.window->dock("layers")->isHidden());
        QVERIFY(f.window->close());
        f.open();
        QVERIFY(!f.window->dock("layers")->isHidden());
    }

    void theFilterBarTakesTwoRowsWhereOneIsTooNarrow()
    {
        Fixture f;
        f.open();
        f.workbench->show(support::sampledSession(), "/x/sampled.stepscope");
        QTRY_COMPARE(f.jobs.running(), 0);
        auto* bar = f.find<views::SampleBar>();
        const auto rows = [bar] {
            QSet<int> lines;
            for (const QComboBox* box : bar->findChildren<QComboBox*>())
                if (box->isVisible()) lines << box->mapTo(bar, box->rect().center()).y();
            return lines.size();
        };
        const auto cut = [bar] {
            for (const QComboBox* box : bar->findChildren<QComboBox*>())
                if (box->isVisible() && (box->width() < box->minimumSizeHint().width() || box->mapTo(bar, QPoint(box->width(), 0)).x() > bar->width())) return true;
            return false;
        };
        f.window->resize(1900, 900);
        QTRY_COMPARE(rows(), qsizetype{1});
        QVERIFY(!cut());
        f.window->resize(900, 700);
        QTRY_COMPARE(rows(), qsizetype{2});
        QVERIFY(!cut());
        f.window->resize(1900, 900);
        QTRY_COMPARE(rows(), qsizetype{1});
    }

    void samplesFillTheirViewsAndOneBarFiltersThemAll()
    {
        Fixture f;
        f.open();
        f.workbench->show(support::sampledSession(), "/x/sampled.stepscope");
        QTRY_COMPARE(f.jobs.running(), 0);
        auto* graph = f.find<flame::FlameWidget>();
        auto* table = f.window->dock("sample-flat")->findChild<models::ReportTable*>();
        auto* tree = f.find<QTreeView>("sampleTree");
        QVERIFY(f.find<views::SampleBar>()->isVisible());
        // There are no spans, so the flame graph shows the samples.
        QVERIFY(graph->tree() != nullptr && graph->tree()->ofSamples);
        QCOMPARE(graph->tree()->nodes[0].count, int64_t{100});
        QCOMPARE(table->model().rowCount(), 3); // main, step, jit_conv; the library is hidden
        QCOMPARE(tree->model()->index(0, 0).data().toString(), QString("main:10"));

        analysis::SampleFilter filter;
        filter.minCount = 65;
        f.workbench->samples().setFilter(filter);
        QTRY_COMPARE(f.jobs.running(), 0);
        QCOMPARE(graph->tree()->nodes.size(), size_t{3}); // everything, main, step
        QCOMPARE(table->model().rowCount(), 2);
        QCOMPARE(tree->model()->rowCount(tree->model()->index(0, 0)), 1);

        f.find<QCheckBox>("nativeFrames")->click();
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(f.workbench->samples().filter().native);
        QCOMPARE(f.workbench->samples().filter().minCount, int64_t{65});
        f.workbench->samples().undo();
        f.workbench->samples().undo();
        QTRY_COMPARE(f.jobs.running(), 0);
        QCOMPARE(table->model().rowCount(), 3);
        f.workbench->close();
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(graph->tree() == nullptr);
        QCOMPARE(table->model().rowCount(), 0);
        QCOMPARE(tree->model()->rowCount(), 0);
        QVERIFY(!f.find<views::SampleBar>()->isVisible());
    }

    void aSeriesWithoutStacksSaysSoInEveryView()
    {
        Fixture f;
        f.open();
        f.workbench->show(support::sampledSession(), "/x/sampled.stepscope");
        QTRY_COMPARE(f.jobs.running(), 0);
        QCOMPARE(f.find<shell::StatusStrip>()->sessionText(), QString("100 samples")); // not the 40 counted ones, and no steps or spans
        auto* graph = f.find<flame::FlameWidget>();
        auto* source = f.find<QComboBox>("sampleSource");
        for (const char* series : {"Counted bytes", "Nothing"}) {
            source->setCurrentIndex(source->findText(series));
            QVERIFY(source->currentText() == series);
            emit source->activated(source->currentIndex());
            QTRY_COMPARE(f.jobs.running(), 0);
            const bool nothing = QByteArray(series) == "Nothing";
            QVERIFY2(graph->emptyText().contains(nothing ? "no samples" : "has no stacks"), qPrintable(graph->emptyText()));
            QVERIFY(graph->layout().rects.empty());
            QVERIFY(!graph->grab().isNull());
            QCOMPARE(f.window->dock("sample-flat")->findChild<models::ReportTable*>()->model().rowCount(), nothing ? 0 : 1); // the unknown
            QCOMPARE(f.find<QTreeView>("sampleTree")->model()->rowCount(), 0);
            for (const char* dock : {"sample-tree", "sample-flat"}) QVERIFY(!f.window->dock(dock)->grab().isNull());
        }
        // By phase there is something to draw.
        analysis::SampleFilter filter = f.workbench->samples().filter();
        filter.series = base::SeriesId(1u);
        filter.groups = {analysis::SampleGroup::phase};
        f.workbench->samples().setFilter(filter);
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(!graph->layout().rects.empty());
        QCOMPARE(f.find<QTreeView>("sampleTree")->model()->rowCount(), 1);
    }

    void lostSamplesHaveABadge()
    {
        Fixture f;
        f.open();
        f.workbench->show(support::sampledSession(), "/x/sampled.stepscope");
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(f.find<QToolButton>("lostBadge")->isVisible());
        QVERIFY(f.find<QToolButton>("lostBadge")->text().contains("7"));
        f.window->dock("layers")->raise();
        f.find<QToolButton>("lostBadge")->click();
        QVERIFY(f.window->dock("session")->isVisible());
    }

    void aSourceLineWithoutAnEditorIsAMessage()
    {
        Fixture f;
        f.open();
        f.settings.setValue("editor/command", "no-such-editor %f:%l");
        f.workbench->openSource("/no/such/file.cpp", 12);
        QVERIFY(f.window->messages().isVisible());
        QVERIFY(f.window->messages().text().contains("/no/such/file.cpp"));
    }

    void aRowOfTheLayerTableHighlightsTheFlameGraphAndBack()
    {
        Fixture f;
        f.open();
        f.load();
        auto* table = f.window->dock("layers")->findChild<models::ReportTable*>();
        auto* graph = f.find<flame::FlameWidget>();
        int row = -1;
        for (int i = 0; i < table->QTableView::model()->rowCount(); ++i)
            if (table->QTableView::model()->index(i, 0).data().toString().contains("conv1")) row = i;
        QVERIFY(row >= 0);
        table->selectRow(row);
        QCOMPARE(f.workbench->selectedLayer(), base::LayerId(1u));
        table->clearSelection();
        QVERIFY(!f.workbench->selectedLayer().valid());
        uint32_t node = present::nodesOfLayer(*graph->tree(), base::LayerId(3u)).front();
        graph->select(node);
        emit graph->selectionChanged(node);
        QCOMPARE(f.workbench->selectedLayer(), base::LayerId(3u));
        QCOMPARE(table->selectionModel()->selectedRows().size(), qsizetype{1});
    }

    void theWarmupSwitchChangesEveryView()
    {
        Fixture f;
        f.open();
        f.load();
        f.workbench->setFilter({true});
        QTRY_COMPARE(f.jobs.running(), 0);
        QCOMPARE(f.find<flame::FlameWidget>()->tree()->stepTotal, base::TimeNs{16000});
        QCOMPARE(f.find<histogram::HistogramWidget>()->data()->histogram.count, int64_t{4});
    }

    void aBadFileIsAMessageAndTheSessionStays()
    {
        Fixture f;
        f.open();
        f.load();
        f.workbench->open("/x/bad.stepscope");
        QTRY_VERIFY(f.window->messages().isVisible());
        QVERIFY(f.window->messages().text().contains("newer Stepscope"));
        QVERIFY(f.window->messages().text().contains("update this program"));
        QVERIFY(f.workbench->session() != nullptr);
    }

    void droppedFilesOpen()
    {
        Fixture f;
        f.open();
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile("/x/dropped.stepscope")});
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(f.window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(f.window.get(), &drop);
        QTRY_VERIFY(f.workbench->session() != nullptr);
        QCOMPARE(f.workbench->path(), QString("/x/dropped.stepscope"));
    }

    void filesDroppedTogetherAreOneSession()
    {
        Fixture f;
        f.services.openTogether = [](const std::vector<std::string>& paths, std::stop_token, const base::Progress&) -> base::Result<session::SessionPtr> {
            if (paths != std::vector<std::string>{"/x/rank0.json", "/x/rank1.json", "/x/rank2.json"}) return base::fail(base::ErrorCode::io, "other files");
            return support::madeSession();
        };
        f.open();
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile("/x/rank0.json"), QUrl::fromLocalFile("/x/rank1.json"), QUrl::fromLocalFile("/x/rank2.json")});
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(f.window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(f.window.get(), &drop);
        QTRY_VERIFY(f.workbench->session() != nullptr);
        QVERIFY2(f.window->windowTitle().startsWith("rank0 and 2 more"), qPrintable(f.window->windowTitle()));
        QVERIFY(!f.window->messages().isVisible());
    }

    void textIsNotAcceptedAsAFile()
    {
        Fixture f;
        f.open();
        QMimeData data;
        data.setText("hello");
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(f.window.get(), &enter);
        QVERIFY(!enter.isAccepted());
    }

    void theBadgeTellsWhatWasRepaired()
    {
        Fixture f;
        f.open();
        f.load("/x/run.stepscope");
        auto* strip = f.find<shell::StatusStrip>();
        QCOMPARE(strip->badgeText(), QString("complete"));
        f.load("/x/repaired.stepscope");
        QVERIFY2(strip->badgeText().contains('2'), qPrintable(strip->badgeText()));
    }

    void closingWhileAFileLoadsIsClean()
    {
        Fixture f;
        f.services.openSession = [](const std::string&, std::stop_token stop, const base::Progress&) -> base::Result<session::SessionPtr> {
            while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return base::fail(base::ErrorCode::cancelled, "cancelled");
        };
        f.open();
        f.workbench->open("/x/slow.stepscope");
        int ticks = 0;
        QTimer timer;
        connect(&timer, &QTimer::timeout, this, [&] { ++ticks; });
        timer.start(1);
        QTRY_VERIFY(ticks > 20); // the window lives while the file loads
        QVERIFY(f.window->close());
        QElapsedTimer elapsed;
        elapsed.start();
        f.jobs.shutdown();
        QVERIFY(elapsed.elapsed() < 5000);
        QVERIFY(f.workbench->session() == nullptr);
    }

    void aRunIsRecordedAndOpened()
    {
        Fixture f;
        f.open();
        f.typeModel();
        QTest::mouseClick(f.find<QPushButton>("start"), Qt::LeftButton);
        QTRY_VERIFY(f.workbench->measuring());
        QVERIFY(f.find<views::ModelEditor>()->isReadOnly());
        QTRY_VERIFY_WITH_TIMEOUT(f.runs->status().has_value() && f.runs->status()->step > 20, 20000);
        f.find<QPushButton>("pause")->click();
        QCOMPARE(f.runs->state(), state::RunController::State::paused);
        f.find<QPushButton>("pause")->click();
        f.find<QPushButton>("stop")->click();
        QTRY_VERIFY_WITH_TIMEOUT(!f.runs->active(), 20000);
        QVERIFY(!f.workbench->measuring());
        QTRY_VERIFY(f.workbench->session() != nullptr);
        QVERIFY(f.workbench->session()->steps().size() > 20);
        QVERIFY(f.workbench->unsaved());
        QCOMPARE(f.recent.files().first(), f.workbench->path()); // found again after a restart
    }

    void theSamplesOfARunAreShownLiveAndCanBeCleared()
    {
        Fixture f;
        f.open();
        f.typeModel();
        engine::TrainOptions options = f.find<views::RunOptions>()->options();
        options.sampling.mode = recording::SampleMode::wall; // the made-up backend sleeps
        options.sampling.rateHz = 100;
        f.find<views::RunOptions>()->setOptions(options);
        f.find<QPushButton>("start")->click();
        QTRY_VERIFY_WITH_TIMEOUT(f.runs->status().has_value() && f.runs->status()->step > 20, 20000);
        QTest::qWait(600);
        if (!f.runs->samplingStatistics().has_value()) {
            f.runs->stop();
            QTRY_VERIFY_WITH_TIMEOUT(!f.runs->active(), 20000);
            QSKIP("this system forbids sampling");
        }
        QTRY_VERIFY_WITH_TIMEOUT(f.workbench->samples().view() != nullptr, 20000);
        QVERIFY(f.workbench->samples().live());
        auto* graph = f.find<flame::FlameWidget>();
        QVERIFY(graph->tree() != nullptr && graph->tree()->ofSamples);
        QVERIFY(f.find<QLabel>("liveBadge")->isVisible());
        QVERIFY(f.find<QPushButton>("clearSamples")->isEnabled());

        f.find<QPushButton>("toggleSampling")->click();
        QTRY_VERIFY_WITH_TIMEOUT(!f.runs->sampling(), 20000);
        QTRY_COMPARE(f.jobs.running(), 1); // the one that waits for the end of the run
        QVERIFY(f.runs->samplingStatistics()->samples > 0);
        f.find<QPushButton>("clearSamples")->click();
        QCOMPARE(f.runs->samplingStatistics()->samples, int64_t{0});
        QTRY_COMPARE(f.jobs.running(), 1);
        f.find<QPushButton>("toggleSampling")->click();
        QTRY_VERIFY_WITH_TIMEOUT(f.runs->sampling() && f.runs->samplingStatistics()->samples > 0, 20000);
        f.find<QPushButton>("stop")->click();
        QTRY_VERIFY_WITH_TIMEOUT(!f.runs->active(), 20000);
        QVERIFY(!f.workbench->samples().live());
        QTRY_COMPARE_WITH_TIMEOUT(f.jobs.running(), 0, 20000);
        QVERIFY(f.workbench->session() != nullptr);
        // What came after clearing is a series of its own, and the one that is shown.
        QVERIFY(f.workbench->session()->series().size() >= 2);
        QVERIFY(f.workbench->samples().available());
    }

    // While a run is measured, only its own numbers change, at most twice a second.
    void theWindowKeepsQuietDuringARun()
    {
        Fixture f;
        f.open();
        f.load();
        f.typeModel();
        f.find<QPushButton>("start")->click();
        QTRY_VERIFY_WITH_TIMEOUT(f.runs->status().has_value() && f.runs->status()->step > 0, 20000);

        QTest::qWait(700); // the panel has settled into its running state

        struct Counter : QObject {
            int paints = 0;
            bool eventFilter(QObject*, QEvent* event) override
            {
                paints += event->type() == QEvent::Paint ? 1 : 0;
                return false;
            }
        } graph, bars, reports;
        f.find<flame::FlameWidget>()->viewport()->installEventFilter(&graph);
        f.find<histogram::HistogramWidget>()->installEventFilter(&bars);
        QSignalSpy updates(f.runs.get(), &state::RunController::statusChanged);
        QTest::qWait(2000);
        QCOMPARE(graph.paints, 0);
        QCOMPARE(bars.paints, 0);
        QVERIFY2(updates.size() >= 1 && updates.size() <= 5, qPrintable(QString::number(updates.size())));
        f.runs->stop();
        QTRY_VERIFY_WITH_TIMEOUT(!f.runs->active(), 20000);
    }

    void theQuestionGoesWhenTheRunEndsByItself()
    {
        Fixture f;
        f.open();
        f.typeModel();
        f.find<QPushButton>("start")->click();
        QTRY_VERIFY_WITH_TIMEOUT(f.runs->status().has_value() && f.runs->status()->step > 0, 20000);
        QVERIFY(!f.window->close());
        QPointer<QMessageBox> box = f.find<QMessageBox>("confirmStop");
        QVERIFY(box != nullptr && box->isVisible());
        f.runs->stop();
        QTRY_VERIFY_WITH_TIMEOUT(!f.runs->active(), 20000);
        QTRY_VERIFY(box == nullptr);
        QVERIFY(f.window->isVisible());
        QVERIFY(f.window->close());
    }

    void closingDuringARunAsksAndKeepsTheRecording()
    {
        Fixture f;
        f.open();
        f.typeModel();
        f.find<QPushButton>("start")->click();
        QTRY_VERIFY_WITH_TIMEOUT(f.runs->status().has_value() && f.runs->status()->step > 0, 20000);
        QVERIFY(!f.window->close());
        auto* box = f.find<QMessageBox>("confirmStop");
        QVERIFY(box != nullptr);
        QVERIFY(!f.window->close()); // a second attempt asks no second time
        QCOMPARE(f.window->findChildren<QMessageBox*>().size(), qsizetype{1});
        for (QAbstractButton* button : box->buttons())
            if (box->buttonRole(button) == QMessageBox::AcceptRole) button->click();
        QTRY_VERIFY_WITH_TIMEOUT(!f.window->isVisible(), 20000);
        QVERIFY(!f.runs->active());
        QVERIFY(QFile::exists(f.runs->recordingPath()));
    }

    void destructionDuringARunStopsIt()
    {
        Fixture f;
        f.open();
        f.typeModel();
        f.find<QPushButton>("start")->click();
        QTRY_VERIFY_WITH_TIMEOUT(f.runs->status().has_value() && f.runs->status()->step > 0, 20000);
        f.window.reset();
        f.runs.reset();
        QVERIFY(*f.recorded != nullptr); // finish() was called: nothing is lost
    }

    void aFailureToStartIsTold()
    {
        Fixture f;
        f.services.createBackend = []() -> base::Result<std::unique_ptr<engine::Backend>> {
            return base::fail(base::ErrorCode::unavailable, "oneDNN computes wrong results here", {}, "use version 3.8");
        };
        f.open();
        f.typeModel();
        f.find<QPushButton>("start")->click();
        QTRY_VERIFY(f.runs->error().has_value());
        QVERIFY(!f.runs->active());
        bool told = false;
        for (QLabel* label : f.window->dock("run")->findChildren<QLabel*>()) told |= label->text().contains("wrong results");
        QVERIFY(told);
    }

    void aModelErrorIsShownInPlace()
    {
        Fixture f;
        f.open();
        f.find<views::ModelEditor>()->setPlainText("model = Chain(\n    Dens(4 => 2))\n");
        QTRY_VERIFY(f.find<QLabel>("modelMessage")->text().contains(":2:5"));
        QVERIFY(f.find<QLabel>("modelMessage")->text().contains("Dense")); // the nearest known name
        QCOMPARE(f.find<views::ModelEditor>()->errorLine(), 2);
        QVERIFY(!f.find<QPushButton>("start")->isEnabled());
    }

    void theLengthOfALoadedModelIsTakenOver()
    {
        Fixture f;
        f.open();
        auto* form = f.find<views::RunOptions>();
        const auto load = [&](const QString& name, const QByteArray& line) {
            QFile file(f.directory.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(kModel + line);
            file.close();
            f.workbench->open(file.fileName());
            QTRY_VERIFY(f.find<QLabel>("modelName")->text() == name && f.jobs.running() == 0
                        && f.find<QLabel>("modelMessage")->text().contains("parameters"));
        };
        load("epochs.jl", "epochs = 3\n");
        QCOMPARE(form->options().epochs, int64_t{3});
        QCOMPARE(form->options().steps, int64_t{0});
        load("steps.jl", "steps = 4\n");
        QCOMPARE(form->options().steps, int64_t{4});
        QCOMPARE(form->options().epochs, int64_t{0});
        QCOMPARE(form->options().warmup, int64_t{3}); // one step is left to count
        // What the user chooses outlives another edit of the text.
        engine::TrainOptions chosen;
        chosen.steps = 70;
        form->setOptions(chosen);
        f.find<views::ModelEditor>()->appendPlainText("# a remark\n");
        QTest::qWait(600); // the text is checked a moment after the last key
        QTRY_COMPARE(f.jobs.running(), 0);
        QCOMPARE(form->options().steps, int64_t{70});
        QCOMPARE(form->options().warmup, int64_t{5});
    }

    void theLayoutIsRemembered()
    {
        Fixture f;
        f.open();
        f.window->dock("histogram")->close();
        f.window->close();
        f.window = std::make_unique<shell::MainWindow>(*f.workbench, *f.runs, f.theme, f.settings);
        f.window->show();
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        QVERIFY(!f.window->dock("histogram")->isVisible());
        f.window->resetLayout();
        QVERIFY(f.window->dock("histogram")->isVisible());
    }
};

QTEST_MAIN(TestMainWindow)
#include "tst_main_window.moc"
