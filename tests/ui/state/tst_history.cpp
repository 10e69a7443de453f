#include "ui/state/history.h"

#include <QTest>

using stepscope::state::History;

class TestHistory : public QObject {
    Q_OBJECT
private slots:
    void undoAndRedoWalkThePlaces()
    {
        History<int> history(0);
        QVERIFY(!history.undo());
        history.go(1);
        history.go(2);
        QVERIFY(history.undo());
        QCOMPARE(history.current(), 1);
        QVERIFY(history.redo());
        QCOMPARE(history.current(), 2);
        QVERIFY(!history.redo());
    }

    void aNewPlaceForgetsTheRedo()
    {
        History<int> history(0);
        history.go(1);
        history.undo();
        history.go(5);
        QVERIFY(!history.canRedo());
        history.undo();
        QCOMPARE(history.current(), 0);
    }

    void theSamePlaceIsNoStep()
    {
        History<int> history(0);
        history.go(0);
        QVERIFY(!history.canUndo());
    }

    void replaceChangesTheCurrentPlaceOnly()
    {
        History<int> history(0);
        history.go(1);
        history.replace(9);
        history.undo();
        QCOMPARE(history.current(), 0);
        history.redo();
        QCOMPARE(history.current(), 9);
    }

    void oldPlacesAreForgottenInTheEnd()
    {
        History<int> history(0);
        for (int i = 1; i <= 5000; ++i) history.go(i);
        QCOMPARE(history.current(), 5000);
        int steps = 0;
        while (history.undo()) ++steps;
        QCOMPARE(steps, 999);
        QCOMPARE(history.current(), 4001);
    }
};

QTEST_GUILESS_MAIN(TestHistory)
#include "tst_history.moc"
