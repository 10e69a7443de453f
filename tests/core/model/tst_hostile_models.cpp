// Inputs made to break a parser: depth, size, repetition, and mutations of the sample models. None may crash, hang or
// give an error without a message and place.
#include "core/model/parser.h"
#include "core/model/shapes.h"
#include "core/model/summary.h"

#include <QElapsedTimer>
#include <QtTest>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

using namespace stepscope;

namespace {

const std::filesystem::path kModels = std::filesystem::path(STEPSCOPE_SOURCE_DIR) / "resources/models";

std::string repeated(std::string_view part, size_t count)
{
    std::string text;
    text.reserve(part.size() * count);
    for (size_t i = 0; i < count; ++i)
        text += part;
    return text;
}

std::string contents(const std::filesystem::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Reads, infers and prints; returns false for an error that says nothing.
bool survives(const std::string& text, bool& parsed)
{
    auto file = model::parseModelText(text, "m.jl");
    parsed = file.has_value();
    if (!file)
        return !file.error().message.empty() && file.error().where.file == "m.jl"
            && file.error().code != base::ErrorCode::internal;
    const base::Status status = model::inferShapes(*file, {1, 28, 28});
    if (!status && (status.error().message.empty() || status.error().code == base::ErrorCode::internal)) return false;
    return !model::summary(*file).empty();
}

} // namespace

class TestHostileModels : public QObject {
    Q_OBJECT
private slots:
    void monsterIsRefused_data();
    void monsterIsRefused();
    void variablesCannotMultiplyWithoutEnd();
    void deepModelsWithinTheLimitWork();
    void hugeFilesAreRefused();
    void endlessFilesAreRefused();
    void manyLayersWork();
    void mutatedSamplesNeverCrash_data();
    void mutatedSamplesNeverCrash();
    void everyPrefixOfASampleIsHandled();
};

void TestHostileModels::monsterIsRefused_data()
{
    QTest::addColumn<QByteArray>("text");
    const auto row = [](const char* name, const std::string& text) {
        QTest::newRow(name) << QByteArray::fromStdString(text);
    };
    constexpr size_t kMany = 100'000;
    row("open brackets", "model = " + repeated("(", kMany));
    row("nested brackets", "model = " + repeated("(", kMany) + repeated(")", kMany));
    row("square brackets", "model = " + repeated("[", kMany) + repeated("]", kMany));
    row("nested chains", "model = " + repeated("Chain(", 100'000));
    row("minus signs", "model = " + repeated("-", kMany) + "1");
    row("a sum", "model = 1" + repeated("+1", kMany));
    row("powers", "model = 2" + repeated("^2", kMany));
    row("pairs", "model = 1" + repeated("=>1", kMany));
    row("lambdas", "model = x" + repeated("->x", kMany));
    row("pipes", "model = relu" + repeated("|>f32", 100'000));
    row("calls", "model = f" + repeated("()", kMany));
    row("modules", "model = f" + repeated(".f", kMany));
    row("roots", "model = " + repeated("√", kMany) + "2");
    row("splats", "model = x" + repeated("...", 100'000));
    row("a long name", "model = " + repeated("a", 900'000));
    row("a long number", "model = Dense(" + repeated("9", 900'000) + " => 1)");
    row("a long fraction", "model = Dropout(0." + repeated("1", 900'000) + "x)");
    row("a huge exponent", "optimiser = Adam(1e" + repeated("9", 1000) + ")");
    row("comments", repeated("#=", kMany));
    row("power tower", "n = 2 ^ 9_000_000_000_000_000_000");
    row("least number", "n = (0 - 9223372036854775807 - 1) ÷ -1");
    row("negated least number", "n = -(0 - 9223372036854775807 - 1)");
    row("many arguments", "model = Dense(" + repeated("1,", kMany) + ")");
    row("many keywords", "model = Dense(2 => 3; " + repeated("x=1,", 200'000) + ")");
    row("many sizes", "model = LayerNorm(" + repeated("1,", kMany) + ")");
    row("long string", "data = MNIST(\"" + repeated("x", 900'000) + "\")");
    row("many modifiers", "model = relu\noptimiser = OptimiserChain(" + repeated("ClipGrad(),", 50'000) + "Adam())");
}

void TestHostileModels::monsterIsRefused()
{
    QFETCH(QByteArray, text);
    QElapsedTimer timer;
    timer.start();
    bool parsed = true;
    QVERIFY(survives(text.toStdString(), parsed));
    QVERIFY(!parsed);
    QVERIFY2(timer.elapsed() < 20'000,
             "this took so long that it must hang on larger input"); // a hang guard, not a measurement
}

void TestHostileModels::variablesCannotMultiplyWithoutEnd()
{
    std::string doubling = "a0 = (1, 1)\n";
    std::string deepening = "a0 = (1,)\n";
    for (int i = 1; i < 400; ++i) {
        doubling += "a" + std::to_string(i) + " = (a" + std::to_string(i - 1) + ", a" + std::to_string(i - 1) + ")\n";
        deepening += "a" + std::to_string(i) + " = (a" + std::to_string(i - 1) + ",)\n";
    }
    const auto first = model::parseModelText(doubling + "model = relu", "m.jl");
    QVERIFY(!first.has_value());
    QVERIFY2(first.error().message.find("multiply into too large a model") != std::string::npos,
             first.error().message.c_str());
    const auto second = model::parseModelText(deepening + "model = relu", "m.jl");
    QVERIFY(!second.has_value());
    QVERIFY2(second.error().message.find("nested too deep") != std::string::npos, second.error().message.c_str());
}

void TestHostileModels::deepModelsWithinTheLimitWork()
{
    const auto file = model::parseModelText("model = " + repeated("Chain(", 60) + "relu" + repeated(")", 60), "m.jl");
    QVERIFY(file.has_value());
    QCOMPARE(file->model.layers.size(), size_t{61});
}

void TestHostileModels::hugeFilesAreRefused()
{
    const auto file = model::parseModelText("model = relu\n" + repeated(" ", size_t{1} << 20), "m.jl");
    QVERIFY(!file.has_value());
    QCOMPARE(int(file.error().code), int(base::ErrorCode::wrongFormat));
}

void TestHostileModels::endlessFilesAreRefused()
{
    const auto file = model::readModelFile("/dev/zero");
    QVERIFY(!file.has_value());
    QCOMPARE(int(file.error().code), int(base::ErrorCode::wrongFormat));
}

void TestHostileModels::manyLayersWork()
{
    bool parsed = false;
    QVERIFY(survives("model = Chain(" + repeated("relu,", 10'000) + ")", parsed));
    QVERIFY(parsed);
    QVERIFY(survives("model = Chain(" + repeated("relu,", 30'000) + ")", parsed));
    QVERIFY(!parsed);
}

void TestHostileModels::mutatedSamplesNeverCrash_data()
{
    QTest::addColumn<QString>("file");
    for (const auto& entry : std::filesystem::directory_iterator(kModels))
        if (entry.path().extension() == ".jl")
            QTest::newRow(entry.path().filename().c_str()) << QString::fromStdString(entry.path().string());
}

void TestHostileModels::mutatedSamplesNeverCrash()
{
    QFETCH(QString, file);
    const std::string sample = contents(file.toStdString());
    QVERIFY(!sample.empty());
    std::mt19937 random(20261130); // fixed: a failure can be repeated
    const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
    static const std::string kCharacters = "(),;=><-+*/.[]{}\"#\n \xcf\x83"
                                           "09eaf_:!|";
    int refused = 0;
    for (int i = 0; i < 1500; ++i) {
        std::string text = sample;
        for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
            const size_t at = below(text.size());
            switch (below(5)) {
            case 0: text[at] = static_cast<char>(below(256)); break;
            case 1: text[at] = kCharacters[below(kCharacters.size())]; break;
            case 2: text.erase(at, 1 + below(20)); break;
            case 3: text.insert(at, text.substr(below(text.size()), below(40))); break;
            default: text.resize(at); break;
            }
        }
        bool parsed = false;
        QVERIFY2(survives(text, parsed), text.c_str());
        refused += !parsed;
    }
    QVERIFY(refused > 100); // the mutations do reach the error paths
}

void TestHostileModels::everyPrefixOfASampleIsHandled()
{
    const std::string sample = contents(kModels / "fashion-lenet.jl");
    for (size_t length = 0; length <= sample.size(); ++length) {
        bool parsed = false;
        const std::string text = sample.substr(0, length);
        QVERIFY2(survives(text, parsed), text.c_str());
    }
}

QTEST_GUILESS_MAIN(TestHostileModels)
#include "tst_hostile_models.moc"
