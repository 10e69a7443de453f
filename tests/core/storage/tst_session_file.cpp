#include <QtTest>

#include "core/session/event_builder.h"
#include "core/session/session_builder.h"
#include "core/storage/session_file.h"
#include "core/storage/session_writer.h"
#include "core/storage/sqlite.h"
#include "tests/core/storage/sample_session.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include <unistd.h>

using namespace stepscope;
namespace fs = std::filesystem;

namespace {

bool hasQuality(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return true;
    return false;
}

bool sameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void verifySameColumns(const session::Session& a, const session::Session& b)
{
    QCOMPARE(a.spans().size(), b.spans().size());
    QVERIFY(a.spans().start == b.spans().start);
    QVERIFY(a.spans().duration == b.spans().duration);
    QVERIFY(a.spans().label == b.spans().label);
    QVERIFY(a.spans().parent == b.spans().parent);
    QVERIFY(a.spans().step == b.spans().step);
    QVERIFY(a.spans().trackBegin == b.spans().trackBegin);
    for (size_t c = 0; c < a.counters().size(); ++c) {
        const auto& x = a.counterSamples(base::CounterId(c));
        const auto& y = b.counterSamples(base::CounterId(c));
        QVERIFY(x.time == y.time);
        QCOMPARE(x.value.size(), y.value.size());
        for (size_t i = 0; i < x.value.size(); ++i)
            QVERIFY(sameNumber(x.value[i], y.value[i]));
    }
    for (size_t s = 0; s < a.series().size(); ++s) {
        const auto& x = a.samples(base::SeriesId(s));
        const auto& y = b.samples(base::SeriesId(s));
        QVERIFY(x.time == y.time && x.weight == y.weight && x.stack == y.stack);
        QVERIFY(x.label == y.label && x.track == y.track && x.step == y.step);
    }
}

void verifySameStacks(const session::Session& a, const session::Session& b)
{
    QVERIFY(a.frames() == b.frames());
    QVERIFY(a.stacks() == b.stacks());
    QCOMPARE(a.series().size(), b.series().size());
    for (size_t i = 0; i < a.series().size(); ++i) {
        const session::SeriesRow &x = a.series()[i], &y = b.series()[i];
        QVERIFY(x.name == y.name && x.unit == y.unit && x.kind == y.kind && x.timed == y.timed);
        QVERIFY(x.isDefault == y.isDefault);
    }
}

void verifySame(const session::Session& a, const session::Session& b)
{
    QCOMPARE(a.tables().strings, b.tables().strings);
    QVERIFY(a.labels() == b.labels());
    QCOMPARE(a.tracks().size(), b.tracks().size());
    for (size_t i = 0; i < a.tracks().size(); ++i) {
        const session::Track &x = a.tracks()[i], &y = b.tracks()[i];
        QVERIFY(x.name == y.name && x.threadId == y.threadId && x.kind == y.kind && x.processId == y.processId);
        QVERIFY(x.process == y.process && x.group == y.group && x.device == y.device && x.lane == y.lane);
        QVERIFY(x.sortIndex == y.sortIndex);
    }
    QCOMPARE(a.modelText(), b.modelText());
    QCOMPARE(a.environmentValue("unicode"), b.environmentValue("unicode"));
    QCOMPARE(a.steps().size(), b.steps().size());
    for (size_t i = 0; i < a.steps().size(); ++i) {
        const session::StepRow &x = a.steps()[i], &y = b.steps()[i];
        QVERIFY(x.index == y.index && x.epoch == y.epoch && x.warmup == y.warmup && x.start == y.start);
        QVERIFY(x.duration == y.duration && x.samples == y.samples && sameNumber(x.loss, y.loss));
        QVERIFY(x.threadInvoluntarySwitches == y.threadInvoluntarySwitches
                && x.threadMinorFaults == y.threadMinorFaults);
        QVERIFY(x.threadMajorFaults == y.threadMajorFaults && x.processMinorFaults == y.processMinorFaults);
        QVERIFY(x.processInvoluntarySwitches == y.processInvoluntarySwitches);
    }
    QCOMPARE(a.layers().size(), b.layers().size());
    for (size_t i = 0; i < a.layers().size(); ++i) {
        const session::LayerRow &x = a.layers()[i], &y = b.layers()[i];
        QVERIFY(x.name == y.name && x.path == y.path && x.type == y.type && x.text == y.text && x.parent == y.parent);
        QVERIFY(x.input == y.input && x.output == y.output && x.parameters == y.parameters);
        QVERIFY(x.forwardFlop == y.forwardFlop && x.backwardFlop == y.backwardFlop);
        QVERIFY(x.forwardBytes == y.forwardBytes && x.backwardBytes == y.backwardBytes);
    }
    QCOMPARE(a.primitives().size(), b.primitives().size());
    for (size_t i = 0; i < a.primitives().size(); ++i) {
        const session::PrimitiveRow &x = a.primitives()[i], &y = b.primitives()[i];
        QVERIFY(x.name == y.name && x.kind == y.kind && x.implementation == y.implementation && x.formats == y.formats);
        QVERIFY(x.layer == y.layer && x.phase == y.phase && x.flop == y.flop && x.bytes == y.bytes);
        QVERIFY(x.threads == y.threads && x.flags == y.flags);
    }
    QCOMPARE(a.counters().at(1).unit, b.counters().at(1).unit);
    QCOMPARE(a.quality().size(), b.quality().size());
    QCOMPARE(a.quality().at(0).places, b.quality().at(0).places);
    verifySameStacks(a, b);
    verifySameColumns(a, b);
}

session::SessionPtr sampleInMemory(int steps)
{
    session::SessionBuilder builder;
    tests::sendSample(builder, steps);
    return builder.build();
}

} // namespace

class TestSessionFile : public QObject {
    Q_OBJECT
private slots:
    void aRecordedFileReadsBackLikeTheSessionInMemory_data()
    {
        QTest::addColumn<int>("steps");
        QTest::addColumn<int>("flushEvery");
        QTest::newRow("nothing but tables") << 0 << 1;
        QTest::newRow("one flush") << 100 << 1000;
        QTest::newRow("a flush every few steps") << 300 << 7;
        QTest::newRow("several chunks") << 40'000 << 9'000;
    }
    void aRecordedFileReadsBackLikeTheSessionInMemory()
    {
        QFETCH(int, steps);
        QFETCH(int, flushEvery);
        const fs::path path = place("recorded.stepscope");
        auto writer = storage::SessionWriter::create(path);
        QVERIFY2(writer.has_value(), writer ? "" : base::toText(writer.error()).c_str());
        FlushingSink sink(**writer, flushEvery);
        tests::sendSample(sink, steps);
        QVERIFY((*writer)->finish().has_value());
        QCOMPARE(fileCount(), 1); // one file, nothing beside it
        const auto opened = storage::openSession(path);
        QVERIFY2(opened.has_value(), opened ? "" : base::toText(opened.error()).c_str());
        QCOMPARE((*opened)->spanCount(), static_cast<uint64_t>(steps) * 5);
        verifySame(**opened, *sampleInMemory(steps));
        QVERIFY(!hasQuality(**opened, "cut-short"));
    }

    void aSavedSessionReadsBack()
    {
        const auto session = sampleInMemory(30'000);
        const fs::path path = place("saved.stepscope");
        double progress = 0;
        const auto status = storage::saveSession(*session, path, storage::Existing::refuse, {},
                                                 [&](double fraction, std::string_view) { progress = fraction; });
        QVERIFY2(status.has_value(), status ? "" : base::toText(status.error()).c_str());
        QCOMPARE(progress, 1.0);
        QCOMPARE(fileCount(), 1);
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        verifySame(**opened, *session);
    }

    void detailsOfImportedTracesReadBack()
    {
        session::SessionBuilder builder;
        builder.addTrack({"thread 1", 1});
        builder.addTrack({"stream 7", 7, session::TrackKind::stream});
        const auto label = [&](const char* name, session::SpanKind kind) {
            return builder.internLabel({builder.intern(name), kind}).value;
        };
        const uint32_t call = label("cudaLaunchKernel", session::SpanKind::call), kernel = label("gemm", session::SpanKind::kernel);
        session::EventBuilder events;
        session::DetailBuilder details;
        constexpr int kCount = 70'000; // more than one chunk
        for (int i = 0; i < kCount; ++i) {
            session::DeviceWork work;
            work.bytes = i;
            work.grid[0] = i % 7;
            work.occupancy = i % 2 == 0 ? 0.25f : std::numeric_limits<float>::quiet_NaN();
            work.copy = session::CopyKind::deviceToHost;
            events.add(base::TrackId(size_t{0}), {i * 100, 10, call, -1, details.addLinked(kCount - i, static_cast<uint64_t>(i) * 300)});
            events.add(base::TrackId(size_t{1}), {i * 100 + 50, 120, kernel, -1, details.addDevice(work, kCount - i, static_cast<uint64_t>(i) * 300 + 100)});
        }
        details.setUnfinished(events.add(base::TrackId(size_t{0}), {kCount * 100, 5, call, -1, details.addPlain(7)})->detail);
        session::EventBuilder::Finished columns =
            events.finish(builder.tables().tracks, builder.tables().labels.size(), 0, std::move(details));
        QVERIFY(columns.overlaps > 0); // lanes are tracks of the file, too
        session::linkLaunches(columns.spans, builder.tables().labels, columns.details);
        columns.details.flows.push_back({3, 4, base::StringId(size_t{0})});
        const session::SessionPtr session = builder.build(std::move(columns.spans), std::move(columns.details));
        const fs::path path = place("details.stepscope");
        QVERIFY(storage::saveSession(*session, path).has_value());
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        verifySameColumns(**opened, *session);
        QVERIFY((*opened)->spans().detail == session->spans().detail);
        const session::DetailTable &got = (*opened)->details(), &wanted = session->details();
        QVERIFY(got.correlation == wanted.correlation);
        QVERIFY(got.place == wanted.place);
        QCOMPARE(got.unfinished, wanted.unfinished);
        QVERIFY(got.flows == wanted.flows);
        QCOMPARE(got.device.size(), size_t{kCount});
        for (size_t i = 0; i < got.device.size(); ++i) {
            QCOMPARE(got.device[i].bytes, wanted.device[i].bytes);
            QCOMPARE(got.device[i].grid[0], wanted.device[i].grid[0]);
            QCOMPARE(got.device[i].launch, wanted.device[i].launch);
            QVERIFY(got.device[i].launch != session::SpanTable::kNoParent);
            QCOMPARE(got.device[i].copy, session::CopyKind::deviceToHost);
            QVERIFY(got.device[i].occupancy == wanted.device[i].occupancy || std::isnan(wanted.device[i].occupancy));
        }
        QCOMPARE((*opened)->quality().size(), size_t{0});
    }

    void samplesReadBackInTheOrderOfTime()
    {
        const fs::path path = place("samples.stepscope");
        auto writer = storage::SessionWriter::create(path);
        QVERIFY(writer.has_value());
        tests::sendSample(**writer, 2);
        QVERIFY((*writer)->finish().has_value());
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->sampleCount(), uint64_t{8});
        const session::SampleTable& cpu = (*opened)->samples(base::SeriesId(0u));
        const base::HugeVector<int64_t> times{1'002'000, 1'003'000, 1'004'000, 1'102'000, 1'103'000, 1'104'000};
        QVERIFY(cpu.time == times);
        const base::HugeVector<int64_t> weights{999'999, 1'000'000, 1'000'001, 999'999, 1'000'000, 1'000'001};
        QVERIFY(cpu.weight == weights);
        QCOMPARE(cpu.stack[0], base::StackId::kNone);
        QCOMPARE(cpu.track[0], base::TrackId::kNone);
        QCOMPARE(cpu.stack[4], 2u);
        QCOMPARE(cpu.step[5], 1);
        QCOMPARE((*opened)->samples(base::SeriesId(1u)).weight[1], int64_t{-3});
        const session::FrameRow& kernel = (*opened)->frames()[3];
        QCOMPARE((*opened)->string(kernel.function), std::string_view("memcpy"));
        QCOMPARE(kernel.address, uint64_t{0xffffffff81000000u});
        QVERIFY(!kernel.file.valid());
    }

    void manyStacksFillSeveralChunks()
    {
        // A chain of 200 001 frames, as deep recursion makes it.
        const fs::path path = place("deep.stepscope");
        auto writer = storage::SessionWriter::create(path);
        QVERIFY(writer.has_value());
        (*writer)->addString("f");
        (*writer)->addFrame({base::StringId(0u)});
        (*writer)->addSeries({"cpu time", "ns", session::SeriesKind::cpuTime});
        for (uint32_t i = 0; i < 200'001; ++i) {
            (*writer)->addStack({i == 0 ? base::StackId{} : base::StackId(i - 1), base::FrameId(0u)});
            if (i % 9'000 == 0) QVERIFY((*writer)->flush().has_value());
        }
        const session::SampleRecord deepest[] = {{5, 1, base::StackId(200'000u)}};
        (*writer)->addSamples(base::SeriesId(0u), deepest);
        QVERIFY((*writer)->finish().has_value());
        for (int round = 0; round < 2; ++round) {
            const auto opened = storage::openSession(path);
            QVERIFY(opened.has_value());
            QCOMPARE((*opened)->stacks().size(), size_t{200'001});
            QCOMPARE((*opened)->stacks()[0].parent, base::StackId{});
            for (uint32_t i = 1; i < 200'001; ++i)
                if ((*opened)->stacks()[i].parent != base::StackId(i - 1)) QFAIL("another parent");
            QCOMPARE((*opened)->samples(base::SeriesId(0u)).stack[0], 200'000u);
            QVERIFY(!hasQuality(**opened, "damaged-stacks"));
            if (round == 0) QVERIFY(storage::saveSession(**opened, path).has_value());
        }
    }

    void aFileOfTheFirstReleaseOpens()
    {
        const fs::path path = place("old.stepscope");
        QVERIFY(storage::saveSession(*sampleInMemory(20), path).has_value());
        {
            auto database = storage::Database::open(path, storage::OpenMode::readWrite);
            QVERIFY(database.has_value());
            // Those files have these tables and columns only.
            const base::Status status = (*database)->execute(R"sql(
                DROP TABLE frames; DROP TABLE stack_chunks; DROP TABLE series; DROP TABLE sample_chunks;
                CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL, thread_id INTEGER NOT NULL);
                INSERT INTO t SELECT id, name, thread_id FROM tracks;
                DROP TABLE tracks; ALTER TABLE t RENAME TO tracks;
                CREATE TABLE l(id INTEGER PRIMARY KEY, name INTEGER, kind INTEGER NOT NULL, phase INTEGER NOT NULL,
                    layer INTEGER, primitive INTEGER);
                INSERT INTO l SELECT id, name, kind, phase, layer, primitive FROM labels;
                DROP TABLE labels; ALTER TABLE l RENAME TO labels;
                CREATE TABLE q(id INTEGER PRIMARY KEY, code TEXT NOT NULL, count INTEGER, message TEXT);
                INSERT INTO q SELECT id, code, count, message FROM quality;
                DROP TABLE quality; ALTER TABLE q RENAME TO quality;)sql");
            QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
        }
        const auto opened = storage::openSession(path);
        QVERIFY(opened.has_value());
        QCOMPARE((*opened)->spans().size(), size_t{100});
        QCOMPARE((*opened)->tracks()[1].name, std::string("loader 0"));
        QCOMPARE((*opened)->tracks()[1].device, -1);
        QVERIFY((*opened)->tracks()[1].kind == session::TrackKind::thread);
        QVERIFY((*opened)->series().empty());
        QCOMPARE((*opened)->sampleCount(), uint64_t{0});
        QCOMPARE((*opened)->quality().size(), size_t{1}); // the lost spans of the sample, nothing else
        QCOMPARE((*opened)->quality()[0].places, std::string());
    }

    void equalSpansKeepTheirOrderWhenSaved()
    {
        // 70 000 equal spans nest inside each other across the border of two chunks.
        session::SessionBuilder builder;
        builder.addTrack({"t", 0});
        std::vector<session::SpanRecord> spans;
        for (uint32_t i = 0; i < 70'000; ++i) {
            builder.addLabel({});
            spans.push_back({5, 10, i, 0});
        }
        builder.addSpans(base::TrackId(0u), spans);
        const auto session = builder.build();
        QCOMPARE(session->spans().label[0], 69'999u);
        const fs::path path = place("equal.stepscope");
        QVERIFY(storage::saveSession(*session, path).has_value());
        verifySameColumns(**storage::openSession(path), *session);
    }

    void randomTimesSurviveARecording()
    {
        std::mt19937_64 random(9);
        const fs::path path = place("random.stepscope");
        auto writer = storage::SessionWriter::create(path);
        QVERIFY(writer.has_value());
        session::SessionBuilder builder;
        for (session::SessionSink* sink :
             {static_cast<session::SessionSink*>(writer->get()), static_cast<session::SessionSink*>(&builder)}) {
            sink->addString("x");
            sink->addLabel({base::StringId(0u)});
            sink->addTrack({"t", 0});
        }
        for (int batch = 0; batch < 40; ++batch) {
            std::vector<session::SpanRecord> spans;
            for (int i = 0; i < 5000; ++i)
                spans.push_back(
                    {static_cast<int64_t>(random() % 1'000'000'000), static_cast<int64_t>(random() % 1000), 0, -1});
            (*writer)->addSpans(base::TrackId(0u), spans);
            builder.addSpans(base::TrackId(0u), spans);
            if (batch % 7 == 0) QVERIFY((*writer)->flush().has_value());
        }
        QVERIFY((*writer)->finish().has_value());
        const auto opened = storage::openSession(path);
        const auto expected = builder.build();
        QVERIFY((*opened)->spans().start == expected->spans().start);
        QVERIFY((*opened)->spans().parent == expected->spans().parent);
        QVERIFY((*opened)->spans().duration == expected->spans().duration);
    }

    void anOpenSessionSurvivesTheReplacementOfItsFile()
    {
        const fs::path path = place("replaced.stepscope");
        QVERIFY(storage::saveSession(*sampleInMemory(500), path).has_value());
        const auto opened = storage::openSession(path);
        QVERIFY(storage::saveSession(*sampleInMemory(3), path).has_value());
        verifySameColumns(**opened, *sampleInMemory(500));
    }

    void anExistingFileBecomesABackup()
    {
        const fs::path path = place("again.stepscope");
        for (const int steps : {11, 22, 33}) {
            auto writer = storage::SessionWriter::create(path);
            QVERIFY(writer.has_value());
            tests::sendSample(**writer, steps);
            QVERIFY((*writer)->finish().has_value());
        }
        QCOMPARE((*storage::openSession(path))->steps().size(), size_t{33});
        QCOMPARE((*storage::openSession(storage::backupName(path)))->steps().size(), size_t{22});
        QCOMPARE(fileCount(), 2);
    }

    void anExistingFileCanBeRefusedOrReplaced()
    {
        const fs::path path = place("there.stepscope");
        std::ofstream(path) << "precious";
        const auto refused = storage::saveSession(*sampleInMemory(1), path, storage::Existing::refuse);
        QVERIFY(!refused.has_value());
        QVERIFY(refused.error().code == base::ErrorCode::invalidArgument);
        QCOMPARE(fs::file_size(path), uintmax_t{8});
        QVERIFY(!storage::SessionWriter::create(path, storage::Existing::refuse).has_value());
        QVERIFY(storage::saveSession(*sampleInMemory(1), path, storage::Existing::replace).has_value());
        QCOMPARE(fileCount(), 1);
        QVERIFY(storage::isSessionFile(path));
    }

    void aMissingDirectoryIsNamed()
    {
        const fs::path path = place("no/such/dir/x.stepscope");
        for (const base::Error& error :
             {storage::SessionWriter::create(path).error(), storage::saveSession(*sampleInMemory(1), path).error()}) {
            QVERIFY(error.code == base::ErrorCode::notFound);
            QCOMPARE(error.where.file, path.parent_path().string());
        }
    }

    void aDirectoryInPlaceOfTheFileIsAnError()
    {
        const fs::path path = place("dir.stepscope");
        fs::create_directory(path);
        QVERIFY(!storage::SessionWriter::create(path).has_value());
        QVERIFY(!storage::saveSession(*sampleInMemory(1), path).has_value());
        QVERIFY(fs::is_directory(path));
    }

    void aReadOnlyDirectoryIsAnError()
    {
        if (geteuid() == 0) QSKIP("root may write everywhere");
        const fs::path directory = place("locked");
        fs::create_directory(directory);
        fs::permissions(directory, fs::perms::owner_read | fs::perms::owner_exec);
        const auto writer = storage::SessionWriter::create(directory / "x.stepscope");
        fs::permissions(directory, fs::perms::owner_all);
        QVERIFY(!writer.has_value());
        QVERIFY(writer.error().code == base::ErrorCode::io);
        QVERIFY(writer.error().message.find("Permission denied") != std::string::npos);
    }

    void aFileThatIsBeingRecordedOpensAndIsProtected()
    {
        const fs::path path = place("live.stepscope");
        auto writer = storage::SessionWriter::create(path);
        QVERIFY(writer.has_value());
        tests::sendSample(**writer, 50);
        QVERIFY((*writer)->flush().has_value());
        const auto opened = storage::openSession(path);
        QVERIFY2(opened.has_value(), opened ? "" : base::toText(opened.error()).c_str());
        QCOMPARE((*opened)->spans().size(), size_t{250});
        QVERIFY(hasQuality(**opened, "still-recording"));
        QVERIFY(!hasQuality(**opened, "cut-short"));

        const auto second = storage::SessionWriter::create(path);
        QVERIFY(!second.has_value());
        QVERIFY(second.error().code == base::ErrorCode::unavailable);

        const session::SpanRecord more[] = {{900'000'000, 5, 0, 50}};
        (*writer)->addSpans(base::TrackId(0u), more);
        QVERIFY((*writer)->finish().has_value());
        QCOMPARE((*storage::openSession(path))->spanCount(), uint64_t{251});
    }

    void aReaderThatHoldsTheFileDelaysNothingButTheDisk()
    {
        const fs::path path = place("held.stepscope");
        auto writer = storage::SessionWriter::create(path);
        QVERIFY(writer.has_value());
        tests::sendSample(**writer, 10);
        QVERIFY((*writer)->flush().has_value());
        {
            auto reader = storage::Database::open(path, storage::OpenMode::readOnly);
            QVERIFY(reader.has_value());
            QVERIFY((*reader)->execute("BEGIN").has_value());
            QCOMPARE(*(*reader)->integer("SELECT count(*) FROM steps"), int64_t{10});
            session::StepRow row;
            row.index = 10;
            (*writer)->addStep(row);
            QVERIFY((*writer)->flush().has_value()); // cannot commit, keeps the rows
            row.index = 11;
            (*writer)->addStep(row);
            QVERIFY((*reader)->execute("COMMIT").has_value());
        }
        QVERIFY((*writer)->finish().has_value());
        QCOMPARE((*storage::openSession(path))->steps().size(), size_t{12});
    }

    void aStopRequestCancels()
    {
        const auto session = sampleInMemory(20'000);
        const fs::path path = place("stopped.stepscope");
        std::stop_source stop;
        stop.request_stop();
        const auto saved = storage::saveSession(*session, path, storage::Existing::backup, stop.get_token());
        QVERIFY(!saved.has_value());
        QVERIFY(saved.error().code == base::ErrorCode::cancelled);
        QCOMPARE(fileCount(), 0);
        QVERIFY(storage::saveSession(*session, path).has_value());
        const auto opened = storage::openSession(path, stop.get_token());
        QVERIFY(!opened.has_value());
        QVERIFY(opened.error().code == base::ErrorCode::cancelled);
    }

    void init()
    {
        fs::remove_all(m_root.path().toStdString());
        fs::create_directories(m_root.path().toStdString());
    }

private:
    // Passes everything on and flushes now and then, as the Collector does.
    class FlushingSink final : public session::SessionSink {
    public:
        FlushingSink(session::SessionSink& to, int every) : m_to(to), m_every(every) {}
        void addString(std::string_view text) override { m_to.addString(text); }
        void addTrack(const session::Track& row) override { m_to.addTrack(row); }
        void addLabel(const session::Label& row) override { m_to.addLabel(row); }
        void addLayer(const session::LayerRow& row) override { m_to.addLayer(row); }
        void addPrimitive(const session::PrimitiveRow& row) override { m_to.addPrimitive(row); }
        void addCounter(const session::CounterRow& row) override { m_to.addCounter(row); }
        void addEnvironment(const session::EnvironmentRow& row) override { m_to.addEnvironment(row); }
        void addQuality(const session::QualityRow& row) override { m_to.addQuality(row); }
        void setModelText(std::string_view text) override { m_to.setModelText(text); }
        void addStep(const session::StepRow& row) override
        {
            m_to.addStep(row);
            if (++m_steps % m_every == 0) QVERIFY(m_to.flush().has_value());
        }
        void addSpans(base::TrackId track, std::span<const session::SpanRecord> spans) override
        {
            m_to.addSpans(track, spans);
        }
        void addCounterSamples(base::CounterId counter, std::span<const session::CounterRecord> samples) override
        {
            m_to.addCounterSamples(counter, samples);
        }
        void addFrame(const session::FrameRow& row) override { m_to.addFrame(row); }
        void addStack(const session::StackRow& row) override { m_to.addStack(row); }
        void addSeries(const session::SeriesRow& row) override { m_to.addSeries(row); }
        void addSamples(base::SeriesId series, std::span<const session::SampleRecord> samples) override
        {
            m_to.addSamples(series, samples);
        }
        base::Status flush() override { return m_to.flush(); }
        base::Status finish() override { return m_to.finish(); }

    private:
        session::SessionSink& m_to;
        int m_every;
        int m_steps = 0;
    };

    fs::path place(const char* name) const { return fs::path(m_root.path().toStdString()) / name; }
    int fileCount() const
    {
        int count = 0;
        for ([[maybe_unused]] const auto& entry : fs::directory_iterator(m_root.path().toStdString()))
            ++count;
        return count;
    }

    QTemporaryDir m_root;
};

QTEST_GUILESS_MAIN(TestSessionFile)
#include "tst_session_file.moc"
