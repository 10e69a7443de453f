#include "core/model/settings_builder.h"

#include "core/model/arguments.h"
#include "core/model/names.h"

#include <fmt/format.h>

namespace stepscope::model {

namespace {

constexpr int64_t kMaxCount = int64_t{1} << 40;
constexpr int64_t kMaxBatch = int64_t{1} << 20;
constexpr int64_t kMaxClasses = 1'000'000;
constexpr int64_t kMaxWorkers = 256;

using Transform = DataSpec::Transform;

Transform readTransform(const Expr& expr)
{
    static const std::vector<std::string_view> known{"Normalise", "FlipHorizontal", "Shift", "Noise", "PerBatch"};
    if (!expr.is(Expr::Kind::call))
        failAt(expr.place, fmt::format("expected a transform such as Normalise(0.5, 0.5), got {}", describe(expr)));
    Transform transform;
    if (expr.text == "PerBatch") {
        Arguments arguments(expr, "PerBatch(transform)");
        const Expr& inner = arguments.at(0, "a transform");
        arguments.finish(1);
        if (inner.isCall("PerBatch")) failAt(inner.place, "PerBatch(PerBatch(...)) means no more than one");
        transform = readTransform(inner);
        transform.perBatch = true;
        return transform;
    }
    if (expr.text == "Normalise" || expr.text == "Normalize") {
        Arguments arguments(expr, "Normalise(mean, std)");
        transform.kind = Transform::Kind::normalise;
        transform.a = realNumber(arguments.at(0, "a mean"), "the mean", -1e12, 1e12);
        const Expr& deviation = arguments.at(1, "a standard deviation");
        transform.b = realNumber(deviation, "the standard deviation", 0, 1e12);
        if (transform.b == 0) failAt(deviation.place, "the standard deviation must be greater than 0");
        arguments.finish(2);
    } else if (expr.text == "FlipHorizontal") {
        Arguments arguments(expr, "FlipHorizontal(p = 0.5)");
        transform.kind = Transform::Kind::flipHorizontal;
        transform.a =
            arguments.count() > 0 ? realNumber(arguments.at(0, "a probability"), "the probability", 0, 1) : 0.5;
        arguments.finish(1);
    } else if (expr.text == "Shift") {
        Arguments arguments(expr, "Shift(pixels)");
        transform.kind = Transform::Kind::shift;
        transform.a =
            static_cast<double>(wholeNumber(arguments.at(0, "the largest shift in pixels"), "the shift", 0, 10'000));
        arguments.finish(1);
    } else if (expr.text == "Noise") {
        Arguments arguments(expr, "Noise(σ)");
        transform.kind = Transform::Kind::noise;
        transform.a = realNumber(arguments.at(0, "a standard deviation"), "σ", 0, 1e6);
        arguments.finish(1);
    } else failUnknown("transform", expr, known);
    return transform;
}

// Keywords that every kind of data takes.
void readLoader(Arguments& arguments, DataSpec& spec)
{
    if (const Expr* e = arguments.keyword("batchsize")) spec.batchSize = wholeNumber(*e, "batchsize", 1, kMaxBatch);
    if (const Expr* e = arguments.keyword("shuffle")) spec.shuffle = trueOrFalse(*e, "shuffle");
    if (const Expr* e = arguments.keyword("partial")) spec.partial = trueOrFalse(*e, "partial");
    if (const Expr* e = arguments.keyword("num_workers"))
        spec.numWorkers = static_cast<int>(wholeNumber(*e, "num_workers", 0, kMaxWorkers));
    if (const Expr* e = arguments.keyword("parallel"))
        if (trueOrFalse(*e, "parallel") && spec.numWorkers == 0) spec.numWorkers = 1;
    if (const Expr* e = arguments.keyword("buffer")) {
        if (!e->is(Expr::Kind::boolean))
            spec.queueDepth = static_cast<int>(
                wholeNumber(*e, "buffer", 0, 4096)); // Flux's true and false reuse memory: always so here
    }
    if (const Expr* e = arguments.keyword("queue"))
        spec.queueDepth = static_cast<int>(wholeNumber(*e, "queue", 0, 4096));
    if (const Expr* e = arguments.keyword("samples")) spec.samples = wholeNumber(*e, "samples", 0, kMaxCount);
    if (const Expr* e = arguments.keyword("transforms")) {
        if (e->is(Expr::Kind::call)) spec.transforms = {readTransform(*e)};
        else if (e->is(Expr::Kind::tuple) || e->is(Expr::Kind::vector)) {
            if (e->items.size() > 64) failAt(e->place, "at most 64 transforms");
            for (const Expr& item : e->items)
                spec.transforms.push_back(readTransform(item));
        } else
            failAt(e->place, fmt::format("transforms takes a tuple, got {}", describe(*e)),
                   "write transforms = (Normalise(0.286, 0.353), Shift(2))");
    }
}

std::string readPath(const Expr& expr, std::string_view what)
{
    std::string path = textValue(expr, what);
    if (path.empty()) failAt(expr.place, fmt::format("{} is empty", what));
    if (path.size() > 4000) failAt(expr.place, fmt::format("{} is too long", what));
    return path;
}

void readDirectorySet(Arguments& arguments, DataSpec& spec)
{
    spec.kind = arguments.call().text == "MNIST" ? DataKind::mnist : DataKind::fashionMnist;
    if (const Expr* e = arguments.either(0, "dir")) spec.path = readPath(*e, "dir");
    readLoader(arguments, spec);
    arguments.finish(1);
}

// test = ("images", "labels")
void readTestPair(const Expr& expr, DataSpec& spec)
{
    if (!expr.is(Expr::Kind::tuple) || expr.items.size() != 2)
        failAt(expr.place, fmt::format("test takes two files, got {}", describe(expr)),
               "write test = (\"images\", \"labels\")");
    spec.testPath = readPath(expr.items[0], "the file of test samples");
    spec.testLabelsPath = readPath(expr.items[1], "the file of test labels");
}

void readIdx(Arguments& arguments, DataSpec& spec)
{
    spec.kind = DataKind::idx;
    spec.path = readPath(arguments.at(0, "the file of images"), "the file of images");
    spec.labelsPath = readPath(arguments.at(1, "the file of labels"), "the file of labels");
    if (const Expr* e = arguments.keyword("test")) readTestPair(*e, spec);
    if (const Expr* e = arguments.keyword("classes")) spec.classes = wholeNumber(*e, "classes", 1, kMaxClasses);
    readLoader(arguments, spec);
    arguments.finish(2);
}

void readTargets(Arguments& arguments, DataSpec& spec)
{
    if (const Expr* e = arguments.keyword("classes")) spec.classes = wholeNumber(*e, "classes", 0, kMaxClasses);
    if (const Expr* e = arguments.keyword("target_shape")) {
        spec.targetShape = reversedShape(*e, "target_shape");
        if (spec.classes > 0)
            failAt(e->place, "target_shape is for regression; classes is given too", "remove one of them");
    }
}

void readCsv(Arguments& arguments, DataSpec& spec)
{
    spec.kind = DataKind::csv;
    spec.path = readPath(arguments.at(0, "a file"), "the file");
    if (const Expr* e = arguments.keyword("target_columns"))
        spec.targetColumns = wholeNumber(*e, "target_columns", 1, kMaxClasses);
    if (const Expr* e = arguments.keyword("header")) spec.header = trueOrFalse(*e, "header");
    if (const Expr* e = arguments.keyword("shape")) spec.sampleShape = reversedShape(*e, "shape");
    if (const Expr* e = arguments.keyword("test")) spec.testPath = readPath(*e, "test");
    readTargets(arguments, spec);
    readLoader(arguments, spec);
    arguments.finish(1);
}

void readRaw(Arguments& arguments, DataSpec& spec)
{
    spec.kind = DataKind::raw;
    spec.path = readPath(arguments.at(0, "a file"), "the file");
    if (const Expr* e = arguments.either(1, "labels", "targets")) spec.labelsPath = readPath(*e, "the file of labels");
    if (const Expr* e = arguments.keyword("shape")) spec.sampleShape = reversedShape(*e, "shape");
    if (const Expr* e = arguments.keyword("test")) {
        if (e->is(Expr::Kind::tuple)) readTestPair(*e, spec);
        else spec.testPath = readPath(*e, "test");
    }
    readTargets(arguments, spec);
    readLoader(arguments, spec);
    arguments.finish(2);
}

void readMade(Arguments& arguments, DataSpec& spec)
{
    spec.kind = DataKind::made;
    spec.samples = 4096;
    if (const Expr* e = arguments.either(0, "shape")) spec.sampleShape = reversedShape(*e, "shape");
    readTargets(arguments, spec);
    readLoader(arguments, spec);
    if (spec.samples == 0) spec.samples = 4096;
    arguments.finish(1);
}

void readSource(const Expr& expr, DataSpec& spec, bool wrapped)
{
    if (expr.is(Expr::Kind::call) || expr.is(Expr::Kind::name)) checkModule(expr, "data set", dataNames());
    if (!expr.is(Expr::Kind::call)) {
        if (expr.is(Expr::Kind::string))
            failAt(expr.place, fmt::format("expected a data set, got {}", describe(expr)),
                   "write CSV(\"file.csv\"), IDX(\"images\", \"labels\") or Raw(\"file.f32\"; shape = ...)");
        if (!expr.is(Expr::Kind::name))
            failAt(expr.place,
                   fmt::format("expected a data set such as FashionMNIST(batchsize = 64), got {}", describe(expr)));
        for (const std::string_view name : dataNames())
            if (name == expr.text)
                failAt(expr.place, fmt::format("'{}' needs brackets", expr.text),
                       fmt::format("write {}(batchsize = 64)", expr.text));
        failUnknown("data set", expr, dataNames());
    }
    if (expr.text == "DataLoader") {
        if (wrapped) failAt(expr.place, "a DataLoader inside a DataLoader");
        Arguments arguments(expr, "DataLoader(FashionMNIST(); batchsize = 64, shuffle = true)");
        const Expr& inner = arguments.at(0, "a data set");
        if (inner.is(Expr::Kind::tuple)) {
            failAt(inner.place, "arrays of Julia do not exist here",
                   "name the data set: DataLoader(FashionMNIST(); batchsize = 64)", base::ErrorCode::unsupported);
        }
        readSource(inner, spec, true);
        readLoader(arguments, spec);
        return arguments.finish(1);
    }
    Arguments arguments(expr, fmt::format("{}(...; batchsize = 64, shuffle = true, num_workers = 2)", expr.text));
    if (expr.text == "FashionMNIST" || expr.text == "MNIST") readDirectorySet(arguments, spec);
    else if (expr.text == "IDX") readIdx(arguments, spec);
    else if (expr.text == "CSV") readCsv(arguments, spec);
    else if (expr.text == "Raw") readRaw(arguments, spec);
    else if (expr.text == "Random") readMade(arguments, spec);
    else failUnknown("data set", expr, dataNames());
}

} // namespace

DataSpec readData(const Expr& expr, std::string_view text)
{
    DataSpec spec;
    readSource(expr, spec, false);
    spec.text = sourceText(text, expr);
    spec.line = expr.place.line;
    spec.column = expr.place.column;
    return spec;
}

} // namespace stepscope::model
