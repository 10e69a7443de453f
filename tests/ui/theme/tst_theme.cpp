#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QDir>
#include <QImage>
#include <QSignalSpy>
#include <QTest>

using namespace stepscope::theme;

class TestTheme : public QObject {
    Q_OBJECT
private slots:
    void modeDecidesThePalette()
    {
        Theme theme;
        theme.setMode(ThemeMode::dark);
        QVERIFY(theme.dark());
        QCOMPARE(QApplication::palette().color(QPalette::Window), darkColours().window);
        QSignalSpy changed(&theme, &Theme::changed);
        theme.setMode(ThemeMode::light);
        QCOMPARE(changed.size(), 1);
        QCOMPARE(QApplication::palette().color(QPalette::Text), lightColours().text);
        theme.setMode(ThemeMode::light); // nothing new
        QCOMPARE(changed.size(), 1);
    }

    void everyIconDraws()
    {
        const QStringList files = QDir(QStringLiteral(STEPSCOPE_SOURCE_DIR) + "/resources/icons").entryList({"*.svg"});
        QVERIFY(files.size() > 10);
        for (const QString& file : files) {
            const QString name = file.chopped(4);
            const QImage image = icon(name, lightColours()).pixmap(24, 24).toImage().convertToFormat(QImage::Format_ARGB32);
            int drawn = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x) drawn += qAlpha(image.pixel(x, y)) > 128 ? 1 : 0;
            QVERIFY2(drawn > 10, qPrintable(name));
        }
        QVERIFY(icon(QStringLiteral("no such icon"), lightColours()).isNull());
    }
};

QTEST_MAIN(TestTheme)
#include "tst_theme.moc"
