// What the window tells of files that are cut, too large, or loaded in part; with the files themselves.
#include "app/files/load_estimate.h"
#include "app/files/open_several.h"
#include "ui/shell/message_bar.h"
#include "ui/shell/part_dialog.h"
#include "ui/shell/status_strip.h"
#include "window_fixture.h"

#include <QDockWidget>
#include <QLineEdit>
#include <QRadioButton>
#include <QSignalSpy>
#include <QToolButton>
#include <QTreeWidget>

#include <semaphore>

using namespace stepscope;
using test::Fixture;

namespace {

// Opens files as the program does.
struct FileFixture : Fixture {
    FileFixture()
    {
        services.openSession = [](const std::string& path, std::stop_token stop, const base::Progress& progress) -> base::Result<session::SessionPtr> {
            return files::openAny(path, {}, stop, progress).map([](files::Opened opened) { return std::move(opened.session); });
        };
        services.openPart = [](const std::string& path, const importers::ImportOptions& part, std::stop_token stop, const base::Progress& progress) {
            return files::openPart(path, part, stop, progress);
        };
    }
    // Four steps of 100 µs with an operator in each.
    QString trace()
    {
        QByteArray text = "[";
        for (int i = 0; i < 4; ++i) {
            text += QByteArrayLiteral("{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#") + QByteArray::number(i + 10)
                + "\",\"ts\":" + QByteArray::number(1000 + 100 * i) + ",\"dur\":100},\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"cpu_op\",\"name\":\"op" + QByteArray::number(i)
                + "\",\"ts\":" + QByteArray::number(1020 + 100 * i) + ",\"dur\":40}" + (i < 3 ? ",\n" : "]\n");
        }
        QFile file(directory.filePath("trace.json"));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) qFatal("cannot write the trace");
        return file.fileName();
    }
    QToolButton* offer(shell::MessageBar& bar) { return bar.findChild<QToolButton*>("messageAction"); }
    shell::PartDialog* dialog() { return find<shell::PartDialog>("partDialog"); }
};

QString golden(const char* name) { return QStringLiteral(STEPSCOPE_SOURCE_DIR "/tests/golden/cases/%1/input.json").arg(QLatin1String(name)); }

QString allText(const QTreeWidget& tree)
{
    QString text;
    for (int i = 0; i < tree.topLevelItemCount(); ++i)
        for (int j = 0; j < tree.topLevelItem(i)->childCount(); ++j)
            text += tree.topLevelItem(i)->child(j)->text(0) + ' ' + tree.topLevelItem(i)->child(j)->text(1) + '\n';
    return text;
}

} // namespace

class TestOpenedFiles : public QObject {
    Q_OBJECT
private slots:
    // Byte 192, line 4, column 53 and an unterminated string are what the case's description says.
    void aCutFileKeepsItsNoticeUntilItIsDismissed()
    {
        FileFixture f;
        f.open();
        f.load(golden("02-object-truncated"));
        shell::MessageBar& notice = f.window->lastingNotice();
        QVERIFY(notice.isVisible());
        const QString told = notice.text();
        for (const char* part : {"not complete", "192", "line 4", "column 53", "string"}) QVERIFY2(told.contains(part), qPrintable(told));

        // Neither work on the session nor other messages take it away.
        f.workbench->setFilter({true});
        f.workbench->selectLayer({});
        f.theme.setMode(theme::ThemeMode::dark);
        emit f.workbench->saved("/x/elsewhere.stepscope");
        QVERIFY(f.window->messages().isVisible());
        f.workbench->open("/no/such/file.json");
        QTRY_VERIFY(f.window->messages().text().contains("/no/such/file.json"));
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(notice.isVisible());
        QCOMPARE(notice.text(), told);

        // The badge says so, too, and its click lists the place.
        auto* strip = f.find<shell::StatusStrip>();
        QVERIFY2(strip->badgeText().contains('1'), qPrintable(strip->badgeText()));
        f.find<QToolButton>("qualityBadge")->click();
        QDockWidget* dock = f.window->dock("session");
        QVERIFY(dock->isVisible());
        const QString listed = allText(*dock->findChild<QTreeWidget*>());
        for (const char* part : {"incomplete-file", "byte 192", "line 4, column 53"}) QVERIFY2(listed.contains(part), qPrintable(listed));

        notice.findChild<QToolButton*>("dismiss")->click();
        QVERIFY(!notice.isVisible());
        QVERIFY(strip->badgeText().contains('1')); // the badge stays
        f.load(golden("02-object-truncated"));
        QVERIFY(notice.isVisible());
        f.load(golden("10-bom-crlf")); // another file, which is whole
        QVERIFY(!notice.isVisible());
    }

    void stepsOfATraceAreLoadedAlone()
    {
        FileFixture f;
        f.open();
        const QString path = f.trace();
        f.load(path);
        QCOMPARE(f.workbench->session()->spanCount(), uint64_t{8});
        importers::ImportOptions part;
        part.firstStep = 11;
        part.lastStep = 12;
        f.workbench->openPart(path, part);
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(f.workbench->session()->steps().size() >= 2);
        QVERIFY(f.workbench->session()->spanCount() < 8);
        QVERIFY(f.window->lastingNotice().isVisible());
        QVERIFY2(f.window->lastingNotice().text().contains("steps 11 to 12"), qPrintable(f.window->lastingNotice().text()));
        QCOMPARE(f.workbench->session()->environmentValue("import.part"), std::string_view("steps 11 to 12"));
    }

    void theDialogChecksWhatIsTypedAndOpensThePart()
    {
        FileFixture f;
        f.open();
        const QString path = f.trace();
        f.load(path);
        QSignalSpy changed(f.workbench.get(), &state::Workbench::sessionChanged);
        shell::PartDialog dialog(path, f.window.get());
        std::optional<importers::ImportOptions> part;
        connect(&dialog, &shell::PartDialog::chosen, this, [&](const importers::ImportOptions& options) { part = options; });
        dialog.show();
        QPushButton* open = nullptr;
        for (QPushButton* button : dialog.findChildren<QPushButton*>())
            if (button->text().contains("Part")) open = button;
        QVERIFY(open != nullptr);
        auto* message = dialog.findChild<QLabel*>("partMessage");
        QVERIFY(!open->isEnabled());
        QVERIFY2(message->text().contains("begin"), qPrintable(message->text()));
        QTest::keyClicks(dialog.findChild<QLineEdit*>("from"), "100 us");
        QTest::keyClicks(dialog.findChild<QLineEdit*>("to"), "50 us");
        QVERIFY(!open->isEnabled());
        QVERIFY2(message->text().contains("end"), qPrintable(message->text()));
        dialog.findChild<QLineEdit*>("to")->clear();
        QTest::keyClicks(dialog.findChild<QLineEdit*>("to"), "180 us");
        QVERIFY2(open->isEnabled(), qPrintable(message->text()));
        QTest::mouseClick(open, Qt::LeftButton);
        QVERIFY(part.has_value());
        QCOMPARE(*part->rangeBegin, base::TimeNs{100'000});
        f.workbench->openPart(path, *part);
        QTRY_COMPARE(f.jobs.running(), 0);
        // Step 11 and its operator, and what touches the ends: step 10 ends where the range begins.
        QVERIFY(f.workbench->session()->spanCount() >= 2 && f.workbench->session()->spanCount() <= 3);
        QCOMPARE(changed.size(), qsizetype{1});
    }

    // Typing in the fields of steps chooses steps.
    void theKindOfPartFollowsTheFields()
    {
        FileFixture f;
        f.open();
        shell::PartDialog dialog("/x/trace.json", f.window.get());
        QTest::keyClicks(dialog.findChild<QLineEdit*>("lastStep"), "7");
        QVERIFY(dialog.choice().bySteps);
        QTest::keyClicks(dialog.findChild<QLineEdit*>("from"), "1");
        QVERIFY(!dialog.choice().bySteps);
    }

    void aCancelledFileOffersToOpenAPart()
    {
        FileFixture f;
        f.services.openSession = [](const std::string&, std::stop_token stop, const base::Progress&) -> base::Result<session::SessionPtr> {
            while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return base::fail(base::ErrorCode::cancelled, "cancelled");
        };
        f.open();
        const QString path = f.trace();
        f.workbench->open(path);
        QVERIFY(f.workbench->opening());
        f.workbench->cancelOpening();
        shell::MessageBar& bar = f.window->messages();
        QVERIFY(bar.isVisible() && bar.text().contains("cancelled"));
        QTRY_VERIFY(f.offer(bar)->isVisible());
        QTest::mouseClick(f.offer(bar), Qt::LeftButton);
        QVERIFY(f.dialog() != nullptr && f.dialog()->isVisible());
        QVERIFY(!bar.isVisible());
        f.dialog()->findChild<QLineEdit*>("firstStep")->setText("12");
        f.dialog()->findChild<QRadioButton*>("bySteps")->setChecked(true);
        for (QPushButton* button : f.dialog()->findChildren<QPushButton*>())
            if (button->text().contains("Part")) button->click();
        QTRY_VERIFY(f.workbench->session() != nullptr);
        QVERIFY(f.window->lastingNotice().text().contains("steps from 12 on"));
    }

    void aFileThatMemoryWillNotBearIsNotReadUntilTheUserWantsIt()
    {
        FileFixture f;
        f.services.tooLarge = [](const std::vector<std::string>& paths) -> std::optional<base::Error> {
            files::LoadEstimate estimate{uint64_t{40} << 30, uint64_t{20} << 30, uint64_t{8} << 30};
            return files::tooLargeFor(estimate, paths.front());
        };
        f.open();
        const QString path = f.trace();
        f.workbench->open(path);
        shell::MessageBar& bar = f.window->messages();
        QTRY_VERIFY(bar.isVisible());
        for (const char* part : {"trace.json", "40 GiB", "20 GiB", "8.0 GiB", "part"}) QVERIFY2(bar.text().contains(part), qPrintable(bar.text()));
        QVERIFY(f.workbench->session() == nullptr);
        QTRY_VERIFY(f.offer(bar)->isVisible());
        f.workbench->openWhole(path);
        QTRY_VERIFY(f.workbench->session() != nullptr);
    }

    void aPartWithoutAnythingIsToldAndAnotherIsOffered()
    {
        FileFixture f;
        f.open();
        const QString path = f.trace();
        f.load(path);
        importers::ImportOptions part;
        part.firstStep = 700;
        f.workbench->openPart(path, part);
        shell::MessageBar& bar = f.window->messages();
        QTRY_VERIFY(bar.isVisible());
        QVERIFY2(bar.text().contains("step"), qPrintable(bar.text()));
        QTRY_VERIFY(f.offer(bar)->isVisible());
        QCOMPARE(f.workbench->session()->spanCount(), uint64_t{8}); // the whole is still there
        QVERIFY(f.recent.files().contains(path));
    }

    // A small file is no question, whatever is free.
    // Two ranks whose first events are 250 ns apart by their base times: each has its group, its name before its threads.
    void ranksHaveAGroupOfTracksEach()
    {
        FileFixture f;
        f.services.openTogether = [](const std::vector<std::string>& paths, std::stop_token stop, const base::Progress& progress) {
            return files::openSeveral(std::vector<files::FileChoice>{{paths.at(0), 0}, {paths.at(1), 0}}, {}, stop, progress).map([](files::Opened opened) {
                return std::move(opened.session);
            });
        };
        f.open();
        QStringList files;
        for (int rank = 0; rank < 2; ++rank) {
            QFile file(f.directory.filePath(QStringLiteral("r%1.json").arg(rank)));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(QStringLiteral("{\"baseTimeNanoseconds\":%1,\"distributedInfo\":{\"rank\":%2},\"traceEvents\":[\n"
                                      "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"ts\":5,\"dur\":40}]}\n")
                           .arg(1767225600000000000 + 250 * rank).arg(rank).toUtf8());
            files << file.fileName();
        }
        f.workbench->openTogether(files);
        QTRY_VERIFY(f.workbench->session() != nullptr);
        const session::Session& session = *f.workbench->session();
        QCOMPARE(session.tracks().size(), size_t{2});
        QCOMPARE(session.tracks()[0].group, std::string("rank 0"));
        QCOMPARE(session.tracks()[1].group, std::string("rank 1"));
        QCOMPARE(session.spans().start[1] - session.spans().start[0], base::TimeNs{250});
        const QString listed = allText(*f.window->dock("session")->findChild<QTreeWidget*>());
        for (const QString& file : files) QVERIFY2(listed.contains(file), qPrintable(listed));
    }

    void theEstimateFollowsTheFile()
    {
        FileFixture f;
        const auto estimate = files::estimateLoad(f.trace().toStdString());
        QVERIFY(estimate.has_value());
        QCOMPARE(estimate->unpacked, static_cast<uint64_t>(QFileInfo(f.trace()).size()));
        QVERIFY(estimate->available > 0);
        QVERIFY(!files::tooLargeFor(*estimate, "trace.json").has_value());
        QVERIFY(!files::estimateLoad("/no/such/file").has_value());
        QVERIFY(!files::LoadEstimate({uint64_t{1} << 30, 950, 1000}).fits());
        QVERIFY(files::LoadEstimate({uint64_t{1} << 30, 850, 1000}).fits());
    }
};

QTEST_MAIN(TestOpenedFiles)
#include "tst_opened_files.moc"
