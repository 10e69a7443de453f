#include "core/present/flame_layout.h"
#include "ui/views/model_check.h"
#include "ui/views/model_editor.h"
#include "ui/views/run_options.h"
#include "ui/views/search_bar.h"

#include <QTest>

using namespace stepscope;
using namespace stepscope::views;

class TestModelEditor : public QObject {
    Q_OBJECT
private slots:
    void anErrorIsUnderlinedWhereItIs()
    {
        theme::Theme theme;
        ModelEditor editor(theme);
        const QString text = "model = Chain(\n    Conv((3,3), 1 => 4),\n    MaxPol((2,2)))\n";
        editor.setPlainText(text);
        const base::Result<CheckedModel> checked = checkModel(text.toStdString(), "m.jl");
        QVERIFY(!checked);
        editor.setError(checked.error());
        QCOMPARE(editor.errorLine(), 3);
        // One mark for the line, one for the word.
        QCOMPARE(editor.extraSelections().size(), qsizetype{2});
        QCOMPARE(editor.extraSelections().at(1).cursor.selectedText(), QString("MaxPol"));
        QCOMPARE(editor.extraSelections().at(1).format.underlineStyle(), QTextCharFormat::WaveUnderline);
        editor.goToError();
        QCOMPARE(editor.textCursor().blockNumber(), 2);
        QCOMPARE(editor.textCursor().positionInBlock(), 4);
        editor.setError({});
        QVERIFY(editor.extraSelections().isEmpty());
    }

    void placesOutsideTheTextAreHarmless_data()
    {
        QTest::addColumn<int>("line");
        QTest::addColumn<int>("column");
        QTest::newRow("past the end") << 99 << 1;
        QTest::newRow("past the line") << 1 << 500;
        QTest::newRow("no column") << 1 << 0;
        QTest::newRow("no place") << 0 << 0;
        QTest::newRow("empty line") << 2 << 1;
    }
    void placesOutsideTheTextAreHarmless()
    {
        QFETCH(int, line);
        QFETCH(int, column);
        theme::Theme theme;
        ModelEditor editor(theme);
        editor.setPlainText("abc\n");
        base::Error error{base::ErrorCode::syntax, "wrong"};
        error.where.line = line;
        error.where.column = column;
        editor.setError(error);
        editor.goToError();
        QVERIFY(!editor.grab().isNull());
        QCOMPARE(editor.toPlainText(), QString("abc\n"));
    }

    void theSummaryCountsTheSeedModel()
    {
        // Dense(10 => 20) has 220 parameters and Dense(20 => 1) 21, as Flux prints.
        const auto checked = checkModel("model = Chain(Dense(10 => 20, relu), Dense(20 => 1))\nloss = mse\noptimiser = Adam(0.01)\n", "m.jl");
        QVERIFY2(checked.has_value(), checked ? "" : checked.error().message.c_str());
        QVERIFY(checked->shapesKnown);
        const std::string text = modelText(*checked);
        QVERIFY2(text.find("241 parameters") != std::string::npos, text.c_str());
        QVERIFY2(text.find("mse") != std::string::npos, text.c_str());
        QVERIFY(dataText(checked->file.data, checked->file.dataGiven).find("made data") != std::string::npos);
    }

    void shapeMismatchesAreFoundBeforeTheRun()
    {
        const auto checked = checkModel("model = Chain(Dense(784 => 20), Dense(30 => 10))\ndata = FashionMNIST(batchsize = 8)\n", "m.jl");
        QVERIFY(!checked);
        QCOMPARE(checked.error().where.line, 1);
    }

    void optionsComeBackAsTheyWereSet()
    {
        RunOptions form;
        engine::TrainOptions options;
        options.epochs = 3;
        options.warmup = 7;
        options.batchSize = 32;
        options.threads = 2;
        options.workers = 0;
        form.setOptions(options);
        const engine::TrainOptions back = form.options();
        QCOMPARE(back.epochs, int64_t{3});
        QCOMPARE(back.steps, int64_t{0});
        QCOMPARE(back.warmup, int64_t{7});
        QCOMPARE(back.batchSize, int64_t{32});
        QCOMPARE(back.threads, 2);
        QCOMPARE(back.workers, std::optional<int>(0));
        form.setOptions({});
        QVERIFY(!form.options().workers.has_value()); // the file decides
    }

    void aShortRunHasFewerWarmUpSteps()
    {
        RunOptions form;
        form.setFileLength(3, 0, true);
        QCOMPARE(form.options().warmup, int64_t{2});
        form.setFileLength(0, 2, true); // epochs
        QCOMPARE(form.options().warmup, int64_t{5});
        engine::TrainOptions chosen;
        chosen.steps = 3;
        chosen.warmup = 8;
        form.setOptions(chosen);
        QCOMPARE(form.options().warmup, int64_t{8}); // the run tells that this is too many
    }

    void aWrongExpressionIsAMessage()
    {
        theme::Theme theme;
        SearchBar bar(theme);
        present::NameMatcher matcher;
        connect(&bar, &SearchBar::searched, this, [&](const present::NameMatcher& made) { matcher = made; });
        bar.setText("operator(");
        QVERIFY(matcher && matcher("operator()")); // plain text is what it is
        bar.setRegularExpression(true);
        QVERIFY(!matcher);
        QVERIFY2(bar.resultText().contains("character"), qPrintable(bar.resultText()));
        bar.setText("^conv[0-9]$");
        QVERIFY(matcher && matcher("conv1") && !matcher("conv12") && matcher("Conv2"));
        bar.setText({});
        QVERIFY(!matcher);
    }
};

QTEST_MAIN(TestModelEditor)
#include "tst_model_editor.moc"
