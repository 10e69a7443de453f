// The workbench's main(): makes the parts, hands them to each other, runs the event loop.
#include "app/desktop/wiring.h"
#include "core/recording/process_setup.h"
#include "ui/shell/main_window.h"
#include "ui/shell/picture_tour.h"
#include "ui/theme/icons.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QCoreApplication>
#include <QDir>
#include <QSettings>
#include <QTemporaryDir>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

namespace {

struct Arguments {
    QStringList files;
    QString pictures; // directory, empty: none
    QString format;   // of the file, empty: found by its content
};

const QCommandLineOption& picturesOption()
{
    static const QCommandLineOption option(
        QStringLiteral("screenshots"),
        QStringLiteral("Draw the pictures of the documentation into DIR and end; FILE is the session they show."), QStringLiteral("DIR"));
    return option;
}

const QCommandLineOption& formatOption()
{
    static const QCommandLineOption option(QStringLiteral("input-format"),
                                           QStringLiteral("Read FILE as this format instead of finding out; stepscope info --help lists them."),
                                           QStringLiteral("NAME"));
    return option;
}

void describe(QCommandLineParser& parser)
{
    parser.setApplicationDescription(QStringLiteral(
        "Shows where every training step of a neural network spends its time.\n\n"
        "Examples:\n"
        "  stepscope-ui                            open the workbench with a sample model\n"
        "  stepscope-ui run.stepscope              look at a recorded session\n"
        "  stepscope-ui trace.json.gz              look at the trace of another tool\n"
        "  stepscope-ui rank0.json.gz rank1.json.gz   both as one session, with a group of tracks each\n"
        "  stepscope-ui model.jl                   open a model in the run panel"));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addOption(formatOption());
    parser.addOption(picturesOption());
    parser.addPositionalArgument(QStringLiteral("file"), QStringLiteral("A session (.stepscope), a model (.jl) or a trace or profile of another tool; several sessions or traces become one session."),
                                 QStringLiteral("[FILE ...]"));
}

// Help and version need no display; without one QApplication ends the process.
void answerWithoutDisplay(int argc, char** argv)
{
    constexpr std::string_view kQuestions[] = {"-h", "--help", "--help-all", "-v", "--version"};
    if (argc < 2 || std::find_first_of(argv + 1, argv + argc, std::begin(kQuestions), std::end(kQuestions)) == argv + argc) return;
    const QCoreApplication application(argc, argv);
    QCommandLineParser parser;
    describe(parser);
    parser.parse(QCoreApplication::arguments()); // what else is wrong is told later
    if (parser.isSet(QStringLiteral("version"))) parser.showVersion();
    if (parser.isSet(QStringLiteral("help")) || parser.isSet(QStringLiteral("help-all"))) parser.showHelp();
}

Arguments parseArguments(const QApplication& application)
{
    QCommandLineParser parser;
    describe(parser);
    parser.process(application);
    const Arguments arguments{parser.positionalArguments(), parser.value(picturesOption()), parser.value(formatOption())};
    if (!arguments.pictures.isEmpty() && arguments.files.size() != 1) {
        std::fprintf(stderr, "stepscope-ui: --screenshots needs one session file\n");
        std::exit(2);
    }
    return arguments;
}

// Windows that nobody sees have no system to tell their sizes to; Qt says so for each of them.
void hideSizeHintRemarks()
{
    static QtMessageHandler before = nullptr;
    before = qInstallMessageHandler([](QtMsgType type, const QMessageLogContext& context, const QString& message) {
        if (!message.contains(QLatin1String("propagateSizeHints"))) before(type, context, message);
    });
}

} // namespace

int main(int argc, char** argv)
{
    using namespace stepscope;
    recording::prepareProcess(); // before any other thread
    QCoreApplication::setApplicationName(QStringLiteral("stepscope"));
    QCoreApplication::setApplicationVersion(QStringLiteral(STEPSCOPE_VERSION));
    QCoreApplication::setOrganizationName(QStringLiteral("stepscope"));
    answerWithoutDisplay(argc, argv);
    QApplication application(argc, argv);
    QApplication::setApplicationDisplayName(QStringLiteral("Stepscope"));
    const Arguments arguments = parseArguments(application);

    if (!arguments.pictures.isEmpty()) hideSizeHintRemarks();
    // Pictures are drawn without the user's settings and leave none behind.
    const std::unique_ptr<QTemporaryDir> scratch = arguments.pictures.isEmpty() ? nullptr : std::make_unique<QTemporaryDir>();
    const std::unique_ptr<QSettings> settings = scratch != nullptr
        ? std::make_unique<QSettings>(scratch->filePath(QStringLiteral("settings.ini")), QSettings::IniFormat)
        : std::make_unique<QSettings>();

    theme::Theme theme;
    QApplication::setWindowIcon(theme::applicationIcon());
    jobs::JobRunner jobs;
    state::RecentFiles recent(*settings);
    QStringList files;
    for (const QString& file : arguments.files) files << QDir::current().absoluteFilePath(file);
    state::Workbench workbench(desktop::makeServices(files.value(0).toStdString(), arguments.format.toStdString()), jobs, recent);
    state::RunController runs(workbench);
    int code = 0;
    {
        shell::MainWindow window(workbench, runs, theme, *settings);
        window.show();
        if (!arguments.pictures.isEmpty()) {
            window.resize(1440, 900);
            auto* tour = new shell::PictureTour(window, theme, arguments.files.front(), arguments.pictures);
            QObject::connect(tour, &shell::PictureTour::done, &application, [](bool ok, const QString& message) {
                std::fprintf(ok ? stdout : stderr, "stepscope-ui: %s\n", qPrintable(message));
                QApplication::exit(ok ? 0 : 1);
            });
            tour->start();
        } else {
            workbench.openTogether(files);
        }
        code = QApplication::exec();
        jobs.shutdown(); // no result may arrive while the window goes
    }
    return code;
}
