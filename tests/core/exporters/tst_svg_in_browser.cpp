#include <QtTest>

#include "core/exporters/exporter.h"
#include "tests/support/import_case.h"

#include <QJsonArray>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>

using namespace stepscope;

// A flame graph as SVG, opened and driven in Chromium: what search finds, in all and while zoomed.
class TestSvgInBrowser : public QObject {
    Q_OBJECT

    // Runs after the graph's own script and leaves what it saw in an attribute of the root.
    static QByteArray driver()
    {
        return R"JS(<script><![CDATA[
(function () {
  var seen = [], root = document.documentElement;
  function see(what) { seen.push(what + " " + root.getAttribute("data-matched") + "/" + root.getAttribute("data-visible")); }
  function boxes() { return Array.prototype.slice.call(document.querySelectorAll("#frames > g.f")); }
  function box(name) { return boxes().filter(function (g) { return g.querySelector("title").textContent.split("\n")[0] === name; })[0]; }
  function send(element, kind) { element.dispatchEvent(new MouseEvent(kind, { bubbles: true })); }
  ["malloc", "^malloc$", "work|malloc", "zzz", "operator("].forEach(function (text) { window.stepscopeFind(text); see(text); });
  window.stepscopeFind("malloc");
  send(box("work"), "click");
  see("zoomed on work: malloc");
  seen.push("width " + Math.round(Number(box("work").querySelector("rect").getAttribute("width"))));
  seen.push("hidden " + box("alloc").getAttribute("visibility"));
  send(document.getElementById("reset"), "click");
  see("reset: malloc");
  send(box("work"), "mouseover");
  seen.push("details " + document.getElementById("details").textContent);
  root.setAttribute("data-seen", seen.join("|"));
})();
]]></script></svg>)JS";
    }

private slots:
    void searchAndZoomCountWhatIsVisible()
    {
        const QString chromium = QStandardPaths::findExecutable("chromium");
        if (chromium.isEmpty()) QSKIP("the program chromium is not installed");
        const base::Result<importers::Imported> imported =
            support::importPath(support::casePath("70-search-counts-nested-twice/input.folded"));
        QVERIFY(imported);
        QTemporaryDir folder;
        const QString file = folder.filePath("graph.svg");
        QVERIFY((*exporters::findExporter("svg", file.toStdString()))
                    ->run(*imported->session, file.toStdString(), false, {}, {}));
        QByteArray svg = support::fileBytes(file);
        QVERIFY(svg.endsWith("</svg>\n"));
        svg.replace(svg.lastIndexOf("</svg>"), 7, driver());
        QFile driven(folder.filePath("driven.svg"));
        QVERIFY(driven.open(QIODevice::WriteOnly) && driven.write(svg) == svg.size());
        driven.close();

        QProcess browser;
        browser.start(chromium,
                      {"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder.filePath("profile"),
                       "--dump-dom", QUrl::fromLocalFile(driven.fileName()).toString()});
        if (!browser.waitForFinished(60000)) {
            browser.kill();
            browser.waitForFinished();
            QSKIP("chromium does not start here");
        }
        const QString dom = QString::fromUtf8(browser.readAllStandardOutput());
        if (dom.isEmpty()) QSKIP(qPrintable("chromium does not run here: " + browser.readAllStandardError().left(200)));
        const QString seen = QRegularExpression("data-seen=\"([^\"]*)\"").match(dom).captured(1);

        const QJsonObject expected = support::caseExpectation("70-search-counts-nested-twice")["matched"].toObject();
        QStringList wanted;
        for (const char* text : {"malloc", "^malloc$", "work|malloc", "zzz", "zoomed on work: malloc"})
            wanted << QString("%1 %2/%3")
                          .arg(text)
                          .arg(expected[text].toArray()[0].toInt())
                          .arg(expected[text].toArray()[1].toInt());
        wanted.insert(4, "operator( 0/100"); // no expression, so plain text
        wanted << "width 1180"
               << "hidden hidden"
               << "reset: malloc 50/100"
               << "details work: 60, 60.00 %";
        QCOMPARE(seen, wanted.join('|'));
    }
};

QTEST_GUILESS_MAIN(TestSvgInBrowser)
#include "tst_svg_in_browser.moc"
