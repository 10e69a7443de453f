// The workbench's main(): makes the parts, hands them to each other, runs the event loop.
#include "app/desktop/wiring.h"
#include "ui/shell/main_window.h"
#include "ui/shell/picture_tour.h"
#include "ui/theme/icons.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QSettings>
#include <QTemporaryDir>

#include <cstdio>
#include <memory>

namespace {

struct Arguments {
    QString file;
    QString pictures; // directory, empty: none
};

Arguments parseArguments(const QApplication& application)
{
    QCommandLineParser parser;
    parser.setApplicationDescription(QStringLiteral(
        "Shows where every training step of a neural network spends its time.\n\n"
        "Examples:\n"
        "  stepscope-ui                            open the workbench with a sample model\n"
        "  stepscope-ui run.stepscope              look at a recorded session\n"
        "  stepscope-ui model.jl                   open a model in the run panel"));
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption pictures(QStringLiteral("screenshots"),
                                      QStringLiteral("Draw the pictures of the documentation into DIR and end; FILE is the session "
                                                     "they show."),
                                      QStringLiteral("DIR"));
    parser.addOption(pictures);
    parser.addPositionalArgument(QStringLiteral("file"), QStringLiteral("A session (.stepscope) or a model (.jl)."),
                                 QStringLiteral("[FILE]"));
    parser.process(application);
    if (parser.positionalArguments().size() > 1) {
        std::fprintf(stderr, "stepscope-ui: only one file can be opened at a time\n");
        std::exit(2);
    }
    const Arguments arguments{parser.positionalArguments().value(0), parser.value(pictures)};
    if (!arguments.pictures.isEmpty() && arguments.file.isEmpty()) {
        std::fprintf(stderr, "stepscope-ui: --screenshots needs a session file\n");
        std::exit(2);
    }
    return arguments;
}

} // namespace

int main(int argc, char** argv)
{
    using namespace stepscope;
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("stepscope"));
    QApplication::setApplicationDisplayName(QStringLiteral("Stepscope"));
    QApplication::setApplicationVersion(QStringLiteral(STEPSCOPE_VERSION));
    QApplication::setOrganizationName(QStringLiteral("stepscope"));
    const Arguments arguments = parseArguments(application);

    // Pictures are drawn without the user's settings and leave none behind.
    const std::unique_ptr<QTemporaryDir> scratch = arguments.pictures.isEmpty() ? nullptr : std::make_unique<QTemporaryDir>();
    const std::unique_ptr<QSettings> settings = scratch != nullptr
        ? std::make_unique<QSettings>(scratch->filePath(QStringLiteral("settings.ini")), QSettings::IniFormat)
        : std::make_unique<QSettings>();

    theme::Theme theme;
    QApplication::setWindowIcon(theme::applicationIcon());
    jobs::JobRunner jobs;
    state::RecentFiles recent(*settings);
    state::Workbench workbench(desktop::makeServices(), jobs, recent);
    state::RunController runs(workbench);
    int code = 0;
    {
        shell::MainWindow window(workbench, runs, theme, *settings);
        window.show();
        if (!arguments.pictures.isEmpty()) {
            window.resize(1440, 900);
            auto* tour = new shell::PictureTour(window, theme, arguments.file, arguments.pictures);
            QObject::connect(tour, &shell::PictureTour::done, &application, [](bool ok, const QString& message) {
                std::fprintf(ok ? stdout : stderr, "stepscope-ui: %s\n", qPrintable(message));
                QApplication::exit(ok ? 0 : 1);
            });
            tour->start();
        } else if (!arguments.file.isEmpty()) {
            workbench.open(QDir::current().absoluteFilePath(arguments.file));
        }
        code = QApplication::exec();
        jobs.shutdown(); // no result may arrive while the window goes
    }
    return code;
}
