// Mistakes in a model text: each gives one error with place, what was expected and the nearest known name.
#include "core/model/parser.h"

#include <QtTest>

#include <filesystem>
#include <fstream>

using namespace stepscope;

namespace {

QString errorOf(const QString& text)
{
    const auto file = model::parseModelText(text.toStdString(), "m.jl");
    return file ? QString() : QString::fromStdString(base::toText(file.error()));
}

} // namespace

class TestParserErrors : public QObject {
    Q_OBJECT
private slots:
    void mistakeIsExplained_data();
    void mistakeIsExplained();
    void mistakeIsRefused_data();
    void mistakeIsRefused();
    void missingFileIsNotFound();
    void directoryCannotBeRead();
    void errorOfAFileNamesThePath();
    void longNamesAreCutBetweenCharacters();
    void codesTellTheKind();
};

void TestParserErrors::mistakeIsExplained_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("error"); // whole text
    const auto row = [](const char* name, const char* text, const char* error) {
        QTest::newRow(name) << QString(text) << QString(error);
    };
    // names
    row("layer name", "model = Chain(\n  Conv2d((3, 3), 1 => 6))",
        "m.jl:2:3: unknown layer 'Conv2d'; did you mean 'Conv'?\nhint: Flux writes it Conv((3, 3), in => out)");
    row("layer typo", "model = Chain(Dens(2 => 3))", "m.jl:1:15: unknown layer 'Dens'; did you mean 'Dense'?");
    row("swapped letters", "model = Chain(Dropuot(0.5))",
        "m.jl:1:15: unknown layer 'Dropuot'; did you mean 'Dropout'?");
    row("letter case", "model = chain(relu)", "m.jl:1:9: unknown layer 'chain'; did you mean 'Chain'?");
    row("activation typo", "model = Dense(2 => 3, rellu)",
        "m.jl:1:23: unknown activation 'rellu'; did you mean 'relu'?");
    row("activation in a chain", "model = Chain(reluu)", "m.jl:1:15: unknown layer 'reluu'; did you mean 'relu'?");
    row("columns after Greek", "model = Chain(σ, λλ)",
        "m.jl:1:18: unknown layer 'λλ'\nhint: a layer is one of: Chain, Dense, NaiveDense, Conv, DepthwiseConv, "
        "CrossCor, MaxPool, MeanPool, GlobalMaxPool, GlobalMeanPool, BatchNorm, LayerNorm, Dropout, flatten, "
        "SkipConnection, Parallel, identity, σ, sigmoid, sigmoid_fast, hardσ, hardsigmoid, tanh, tanh_fast, hardtanh, "
        "relu, relu6, leakyrelu, elu, gelu_tanh, gelu, gelu_erf, gelu_sigmoid, swish, hardswish, selu, celu, softplus, "
        "softsign, logσ, logsigmoid, logcosh, mish, tanhshrink, softshrink, trelu, thresholdrelu, lisht, softmax, "
        "logsoftmax");
    row("loss typo", "model = relu\nloss = logitcrossentrpy",
        "m.jl:2:8: unknown loss 'logitcrossentrpy'; did you mean 'logitcrossentropy'?");
    row("optimiser typo", "model = relu\noptimiser = Adm(0.1)",
        "m.jl:2:13: unknown optimiser 'Adm'; did you mean 'Adam'?");
    row("old optimiser name", "model = relu\noptimiser = ADAM(0.1)",
        "m.jl:2:13: unknown optimiser 'ADAM'; did you mean 'Adam'?");
    row("data typo", "model = relu\ndata = FashionMnist()",
        "m.jl:2:8: unknown data set 'FashionMnist'; did you mean 'FashionMNIST'?");
    row("init typo", "model = Dense(2 => 3; init = glorot_unifrom)",
        "m.jl:1:30: unknown init 'glorot_unifrom'; did you mean 'glorot_uniform'?");
    row("transform typo", "model = relu\ndata = MNIST(transforms = (Normalice(0, 1),))",
        "m.jl:2:28: unknown transform 'Normalice'; did you mean 'Normalise'?");
    row("setting typo", "modle = Chain(relu)",
        "m.jl:1:1: unknown setting 'modle'; did you mean 'model'?\nhint: settings are: model, loss, optimiser, data, "
        "input, seed, epochs, steps");
    row("setting typo with a value", "model = relu\noptimisr = Adam()",
        "m.jl:2:1: unknown setting 'optimisr'; did you mean 'optimiser'?\nhint: settings are: model, loss, optimiser, "
        "data, input, seed, epochs, steps");
    row("keyword", "model = Conv((3, 3), 1 => 2; padding = 1)",
        "m.jl:1:30: Conv has no keyword 'padding'; did you mean 'pad'?\nhint: its keywords are: stride, pad, dilation, "
        "groups, bias, init");
    row("keyword of another layer", "model = CrossCor((3, 3), 1 => 2; groups = 1)",
        "m.jl:1:34: CrossCor has no keyword 'groups'\nhint: its keywords are: stride, pad, dilation, bias, init");
    row("keyword of the data", "model = relu\ndata = FashionMNIST(batch_size = 64)",
        "m.jl:2:21: FashionMNIST has no keyword 'batch_size'; did you mean 'batchsize'?\nhint: its keywords are: dir, "
        "batchsize, shuffle, partial, num_workers, parallel, buffer, queue, samples, transforms");
    // PyTorch
    row("Linear", "model = Chain(Linear(784, 10))",
        "m.jl:1:15: unknown layer 'Linear'; did you mean 'Dense'?\nhint: Flux writes it Dense(in => out)");
    row("nn.Sequential", "model = nn.Sequential(nn.Linear(784, 10))",
        "m.jl:1:9: unknown layer 'Sequential'; did you mean 'Chain'?\nhint: Flux writes it Chain(...)");
    row("nn.ReLU", "model = Chain(nn.ReLU())", "m.jl:1:15: unknown layer 'ReLU'; did you mean 'relu'?");
    row("CrossEntropyLoss", "model = relu\nloss = CrossEntropyLoss()",
        "m.jl:2:8: unknown loss 'CrossEntropyLoss'; did you mean 'logitcrossentropy'?\nhint: Flux writes it "
        "logitcrossentropy");
    row("SGD", "model = relu\noptimiser = SGD(0.1)",
        "m.jl:2:13: unknown optimiser 'SGD'; did you mean 'Descent'?\nhint: Flux writes it Descent(0.1), or "
        "Momentum(0.01, 0.9)");
    row("module", "model = torch.Dense(2 => 3)",
        "m.jl:1:9: unknown module 'torch'\nhint: write Dense alone, or Flux.Dense");
    // what Flux has and this program has not
    row("LSTM", "model = Chain(LSTM(2 => 3))",
        "m.jl:1:15: 'LSTM' is part of Flux but not yet supported here\nhint: a layer is one of: Chain, Dense, "
        "NaiveDense, Conv, DepthwiseConv, CrossCor, MaxPool, MeanPool, GlobalMaxPool, GlobalMeanPool, BatchNorm, "
        "LayerNorm, Dropout, flatten, SkipConnection, Parallel, identity, σ, sigmoid, sigmoid_fast, hardσ, "
        "hardsigmoid, tanh, tanh_fast, hardtanh, relu, relu6, leakyrelu, elu, gelu_tanh, gelu, gelu_erf, gelu_sigmoid, "
        "swish, hardswish, selu, celu, softplus, softsign, logσ, logsigmoid, logcosh, mish, tanhshrink, softshrink, "
        "trelu, thresholdrelu, lisht, softmax, logsoftmax");
    row("focal loss", "model = relu\nloss = Flux.focal_loss",
        "m.jl:2:8: 'focal_loss' is part of Flux but not yet supported here\nhint: a loss is one of: mse, mae, "
        "crossentropy, logitcrossentropy, binarycrossentropy, logitbinarycrossentropy, huber_loss");
    // arguments
    row("no sizes", "model = Dense()",
        "m.jl:1:9: Dense() needs its sizes: in => out\nhint: it is written Dense(in => out, σ; bias = true, init = "
        "glorot_uniform)");
    row("one size", "model = Dense(10)",
        "m.jl:1:15: expected the sizes 'in => out', got 10\nhint: write Dense(784 => 10)");
    row("fraction", "model = Dense(10 / 2 => 3)",
        "m.jl:1:15: the number of inputs takes a whole number, got the number 5\nhint: '/' gives a fraction in Julia; "
        "'÷' divides whole numbers");
    row("zero", "model = Dense(0 => 3)", "m.jl:1:15: the number of inputs must be at least 1, got 0");
    row("negative", "model = Dense(2 => -3)", "m.jl:1:20: the number of outputs must be at least 1, got -3");
    row("unknown variable", "model = Dense(n => 3)",
        "m.jl:1:15: the number of inputs takes a whole number, got 'n'\nhint: variables are set before they are used: "
        "n = 64");
    row("kernel not a tuple", "model = Conv(3, 1 => 6)",
        "m.jl:1:14: the kernel of Conv is a tuple, got 3\nhint: write (3, 3)");
    row("channels", "model = Conv((3, 3), 6)",
        "m.jl:1:22: expected the channels 'in => out', got 6\nhint: write Conv((3, 3), 1 => 6)");
    row("groups", "model = Conv((3, 3), 3 => 6; groups = 2)",
        "m.jl:1:9: 3 channels in and 6 out cannot be divided into 2 groups\nhint: both numbers of channels must be "
        "multiples of groups");
    row("pad length", "model = Conv((3, 3), 1 => 6; pad = (1, 2, 3))",
        "m.jl:1:36: pad takes a number, 2 of them, or 4 (before and after each dimension), got 3");
    row("pad word", "model = Conv((3, 3), 1 => 6; pad = \"same\")",
        "m.jl:1:36: pad takes numbers or SamePad(), got the text \"same\"\nhint: write pad = SamePad()");
    row("stride length", "model = Conv((3, 3), 1 => 6; stride = (1, 2, 3))",
        "m.jl:1:39: stride takes a number or 2 of them for this kernel, got 3");
    row("pool pad", "model = MaxPool((2, 2); pad = 2)",
        "m.jl:1:31: the pad must be smaller than the kernel of MaxPool\nhint: a window would lie in the padding alone");
    row("bias", "model = Dense(2 => 3; bias = 1)",
        "m.jl:1:30: bias takes true or false, got 1\nhint: a bias starts at zero, as in Flux");
    row("probability", "model = Dropout(1.5)", "m.jl:1:17: the probability p must be at most 1, got 1.5");
    row("too many", "model = Dense(2 => 3, relu, tanh)",
        "m.jl:1:29: Dense takes at most 2 arguments before the keywords, got 3\nhint: it is written Dense(in => out, "
        "σ; bias = true, init = glorot_uniform)");
    row("twice", "model = Dense(2 => 3; bias = true, bias = false)", "m.jl:1:36: 'bias' is given twice");
    row("softmax as activation", "model = Dense(2 => 3, softmax)",
        "m.jl:1:23: 'softmax' is no activation of single values\nhint: put softmax into the Chain as a layer of its "
        "own, after this one");
    row("called function", "model = Chain(relu())",
        "m.jl:1:15: 'relu' is a function here, not a call of it\nhint: write relu without brackets");
    row("layer without brackets", "model = Chain(GlobalMeanPool)",
        "m.jl:1:15: 'GlobalMeanPool' needs its arguments\nhint: write GlobalMeanPool(...)");
    row("number as layer", "model = Chain(3)",
        "m.jl:1:15: expected a layer, got 3\nhint: a layer is written like Dense(784 => 10), relu or Flux.flatten");
    row("empty chain", "model = Chain()",
        "m.jl:1:9: Chain() has no layers\nhint: write Chain(Dense(784 => 10)), or identity for a branch that does "
        "nothing");
    row("mixed names", "model = Chain(a = relu, tanh)",
        "m.jl:1:25: Chain takes named layers or unnamed ones, not both\nhint: write Chain(conv1 = Conv(...), pool1 = "
        "MaxPool(...)), a name for each");
    row("name twice", "model = Chain(a = relu, a = tanh)", "m.jl:1:25: the layer name 'a' is given twice");
    row("skip without connection", "model = SkipConnection(relu)",
        "m.jl:1:9: SkipConnection takes a layer and a connection, got 1 argument\nhint: write "
        "SkipConnection(Chain(...), +)");
    row("bad connection", "model = SkipConnection(relu, -)",
        "m.jl:1:30: the connection '-' is not supported\nhint: a connection is +, .*, vcat, or (mx, x) -> cat(mx, x; "
        "dims = 3)");
    row("cat in the wrong order", "model = SkipConnection(relu, (mx, x) -> cat(x, mx; dims = 3))",
        "m.jl:1:41: this connection must join its arguments in their order\nhint: a connection is +, .*, vcat, or (mx, "
        "x) -> cat(mx, x; dims = 3)");
    row("shared layer", "d = Dense(2 => 2)\nmodel = Chain(d, d)",
        "m.jl:1:5: Dense(2 => 2) is used twice, which would share its parameters\nhint: shared parameters are not "
        "supported; write the layer out at each place");
    row("loss operands", "model = relu\nloss(ŷ, y) = mse(y, ŷ)",
        "m.jl:2:14: 'mse' must get the model's output first and 'y' second\nhint: write loss(ŷ, y) = Flux.mse(ŷ, y) or "
        "loss(m, x, y) = Flux.mse(m(x), y)");
    row("sum of losses", "model = relu\nloss(ŷ, y) = mse(ŷ, y) + mae(ŷ, y)",
        "m.jl:2:14: expected one known loss, got an expression with '+'\nhint: sums of losses and losses of your own "
        "are not supported");
    row("rule missing", "model = relu\noptimiser = OptimiserChain(WeightDecay())",
        "m.jl:2:13: 'OptimiserChain' only changes gradients and updates nothing\nhint: end with a rule: "
        "OptimiserChain(WeightDecay(5e-4), Adam(0.001))");
    row("rule first", "model = relu\noptimiser = OptimiserChain(Adam(), ClipNorm(1))",
        "m.jl:2:36: 'ClipNorm' stands after the rule\nhint: the rule (Adam, Descent, ...) comes last in an "
        "OptimiserChain");
    row("rule without brackets", "model = relu\noptimiser = Adam",
        "m.jl:2:13: 'Adam' needs brackets\nhint: write Adam() for its defaults");
    row("beta", "model = relu\noptimiser = Adam(0.1, (0.9, 1))", "m.jl:2:29: β2 must be less than 1, got 1");
    row("negative rate", "model = relu\noptimiser = Adam(-1)",
        "m.jl:2:18: the learning rate η must be at least 0, got -1");
    row("test of one file", "model = relu\ndata = IDX(\"a\", \"b\"; test = \"c\")",
        "m.jl:2:29: test takes two files, got the text \"c\"\nhint: write test = (\"images\", \"labels\")");
    row("batch zero", "model = relu\ndata = MNIST(batchsize = 0)", "m.jl:2:26: batchsize must be at least 1, got 0");
    row("arrays", "model = relu\ndata = DataLoader((1, 2); batchsize = 1)",
        "m.jl:2:19: arrays of Julia do not exist here\nhint: name the data set: DataLoader(FashionMNIST(); batchsize = "
        "64)");
    row("batchsize without effect", "model = relu\nbatchsize = 64",
        "m.jl:2:1: 'batchsize' is set but nothing uses it\nhint: write it into the data: data = FashionMNIST(batchsize "
        "= ...)");
    // devices
    row("gpu", "model = Chain(relu) |> gpu",
        "m.jl:1:24: 'gpu' cannot stand in a model file: the device is chosen when the run starts, not by the "
        "model\nhint: remove it; data and parameters are moved by the program");
    row("gpu as a call", "model = gpu(Chain(relu))",
        "m.jl:1:9: 'gpu' cannot stand in a model file: the device is chosen when the run starts, not by the "
        "model\nhint: remove it; data and parameters are moved by the program");
    row("f64", "model = relu |> f64",
        "m.jl:1:17: 'f64' is not supported: models train in Float32\nhint: remove it, or write f32");
    // syntax
    row("comma", "model = Chain(\n  Dense(2 => 3)\n  Dense(3 => 1)\n)",
        "m.jl:3:3: expected ',' or ')', got 'Dense'\nhint: '(' was opened at 1:14");
    row("unclosed", "model = Chain(relu,\nloss = mse", "m.jl:1:14: '(' is never closed\nhint: add a ')'");
    row("closed too often", "model = Chain(relu))",
        "m.jl:1:20: ')' closes nothing\nhint: a bracket before it is missing, or this one is too many");
    row("wrong bracket", "model = Chain(relu]",
        "m.jl:1:19: ']' closes the '(' opened at 1:14\nhint: close the brackets in the reverse order of opening");
    row("string", "model = relu\ndata = MNIST(\"abc",
        "m.jl:2:14: this string is never closed\nhint: add a '\"' at its end");
    row("comment", "#= open", "m.jl:1:1: the comment '#=' is never closed\nhint: close it with '=#'");
    row("two statements", "model = relu loss = mse",
        "m.jl:1:14: expected an operator or the end of the line, got 'loss'\nhint: put each statement on a line of its "
        "own");
    row("no statement", "Chain(relu)",
        "m.jl:1:1: 'Chain(...)' stands alone: expected 'name = value'\nhint: name the model: model = Chain(...)");
    row("no value", "model =", "m.jl:1:8: expected a value, got the end of the line");
    row("no operand", "model = Dense(2 => )", "m.jl:1:20: expected a value, got ')'");
    row("positional after semicolon", "model = Dense(2 => 3; 4)",
        "m.jl:1:23: expected 'name = value' after ';', got 4\nhint: arguments without a name come before the ';'");
    row("juxtaposition", "n = 2\nmodel = Dense(2n => 3)",
        "m.jl:2:15: '2n' is not a number\nhint: numbers are written like 64, 0.001, 1e-3, 1f-3 or 5_000; products need "
        "a '*'");
    row("big number", "model = Dense(99999999999999999999 => 3)",
        "m.jl:1:15: this whole number is too large\nhint: the largest is 9_223_372_036_854_775_807");
    row("overflow", "n = 9_000_000_000_000_000_000 + 9_000_000_000_000_000_000\nmodel = relu",
        "m.jl:1:5: the result of this calculation is too large for a whole number");
    row("zero divisor", "n = 1 ÷ 0\nmodel = relu", "m.jl:1:5: division by zero");
    row("typographic quotes", "model = relu\ndata = MNIST(“x”)",
        "m.jl:2:14: typographic quotes are not Julia\nhint: write plain quotes: \"...\"");
    row("splat", "model = Chain(layers...)", "m.jl:1:15: '...' is not supported\nhint: write the layers out");
    row("comprehension", "model = Chain([Dense(2 => 2) for i in 1])",
        "m.jl:1:30: comprehensions are not supported\nhint: write the layers out");
    row("loop", "model = relu\nfor epoch in 1\nend",
        "m.jl:2:1: 'for' is not supported: a model file is a list of 'name = value'\nhint: remove the loop or block: "
        "the program trains by itself, from loss, optimiser and data");
    row("training loop", "model = relu\nFlux.train!(model, data)",
        "m.jl:2:1: 'train!' belongs to a training loop, which a model file does not hold\nhint: remove the loop: the "
        "program trains by itself, from loss, optimiser and data");
    row("own function", "block(n) = Chain(Dense(n => n))\nmodel = relu",
        "m.jl:1:1: functions of your own are not supported: 'block(...) = ...'\nhint: only loss may be written as a "
        "function; write layers out");
    row("macro", "@info 1",
        "m.jl:1:1: macros are not supported in a model file\nhint: remove the line: a model file only sets model, "
        "loss, optimiser and data");
    row("array of Julia", "model = relu\nx = rand(3)",
        "m.jl:2:5: unknown function 'rand'\nhint: a variable holds a number, a text, a tuple or a layer; remove what "
        "belongs to the training script");
    row("long name", "model = Convolution((3, 3), 1 => 6)",
        "m.jl:1:9: unknown layer 'Convolution'; did you mean 'Conv'?");
    row("unknown call", "model = relu\nx = load(3)",
        "m.jl:2:5: unknown function 'load'\nhint: a variable holds a number, a text, a tuple or a layer; remove what "
        "belongs to the training script");
    // whole files
    row("empty", "", "m.jl: the file is empty\nhint: a model file says at least: model = Chain(Dense(784 => 10))");
    row("blank", " \r\n\t\n",
        "m.jl: the file is empty\nhint: a model file says at least: model = Chain(Dense(784 => 10))");
    row("only comments", "# nothing\n",
        "m.jl: the file holds no statement\nhint: a model file says at least: model = Chain(Dense(784 => 10))");
    row("no model", "loss = mse", "m.jl: the file sets no model\nhint: write model = Chain(...)");
    row("model of another name", "net = Chain(relu)",
        "m.jl:1:1: the file sets no model\nhint: 'net' holds a Chain: name it 'model'");
    row("session", "SQLite format 3",
        "m.jl: this is a SQLite file, perhaps a recorded session, not a model file\nhint: sessions are shown by: "
        "stepscope report FILE");
    row("input", "model = relu\ninput = (28, 0)", "m.jl:2:14: input must be at least 1, got 0");
    row("seed", "model = relu\nseed = -1", "m.jl:2:8: seed must be at least 0, got -1");
}

void TestParserErrors::mistakeIsExplained()
{
    QFETCH(QString, text);
    QFETCH(QString, error);
    QCOMPARE(errorOf(text), error);
}

void TestParserErrors::mistakeIsRefused_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("zero byte") << QByteArray("model = relu\0 ", 14);
    QTest::newRow("bad UTF-8") << QByteArray("model = \xff\xfe");
    QTest::newRow("cut UTF-8") << QByteArray("model = \xce");
    QTest::newRow("overlong UTF-8") << QByteArray("model = \xc0\xaf");
    QTest::newRow("surrogate") << QByteArray("model = \xed\xa0\x80");
    QTest::newRow("bell") << QByteArray("model = \a");
    QTest::newRow("gzip") << QByteArray("\x1f\x8b\x08\x00\x00", 5);
    QTest::newRow("PNG") << QByteArray("\x89PNG\r\n\x1a\n");
}

void TestParserErrors::mistakeIsRefused()
{
    QFETCH(QByteArray, text);
    const auto file =
        model::parseModelText(std::string_view(text.constData(), static_cast<size_t>(text.size())), "m.jl");
    QVERIFY(!file.has_value());
    QCOMPARE(int(file.error().code), int(base::ErrorCode::wrongFormat));
    QCOMPARE(file.error().where.line, 1);
    QVERIFY(file.error().where.column > 0);
}

void TestParserErrors::missingFileIsNotFound()
{
    const auto file = model::readModelFile("/nowhere/m.jl");
    QVERIFY(!file.has_value());
    QCOMPARE(int(file.error().code), int(base::ErrorCode::notFound));
    QCOMPARE(base::toText(file.error()),
             std::string("/nowhere/m.jl: cannot open the model file: No such file or directory\nhint: check the path; "
                         "sample models are in resources/models"));
}

void TestParserErrors::directoryCannotBeRead()
{
    const auto file = model::readModelFile("/");
    QVERIFY(!file.has_value());
    QCOMPARE(int(file.error().code), int(base::ErrorCode::io));
    QCOMPARE(base::toText(file.error()), std::string("/: cannot read the model file: Is a directory"));
}

void TestParserErrors::errorOfAFileNamesThePath()
{
    QTemporaryDir folder;
    const std::string path = folder.filePath("net.jl").toStdString();
    std::ofstream(path) << "model = Chain(\n    Dnese(2 => 3))\n";
    const auto file = model::readModelFile(path);
    QVERIFY(!file.has_value());
    QCOMPARE(base::toText(file.error()), path + ":2:5: unknown layer 'Dnese'; did you mean 'Dense'?");
}

void TestParserErrors::longNamesAreCutBetweenCharacters()
{
    const QString error = errorOf("model = " + QString("xσ").repeated(100)); // 3 bytes each: 60 bytes are 20 of them
    QVERIFY2(error.startsWith("m.jl:1:9: unknown layer '" + QString("xσ").repeated(20) + "...'"), qPrintable(error));
    const QString shifted = errorOf("model = y" + QString("xσ").repeated(100));
    QVERIFY2(shifted.startsWith("m.jl:1:9: unknown layer 'y" + QString("xσ").repeated(19) + "x...'"),
             qPrintable(shifted));
}

void TestParserErrors::codesTellTheKind()
{
    const auto code = [](const char* text) { return int(model::parseModelText(text, "m.jl").error().code); };
    QCOMPARE(code("model = Chain(Dens(2 => 3))"), int(base::ErrorCode::syntax));
    QCOMPARE(code("model = LSTM(2 => 3)"), int(base::ErrorCode::unsupported));
    QCOMPARE(code("model = Dense(0 => 3)"), int(base::ErrorCode::invalidArgument));
    QCOMPARE(code("loss = mse"), int(base::ErrorCode::notFound));
}

QTEST_GUILESS_MAIN(TestParserErrors)
#include "tst_parser_errors.moc"
