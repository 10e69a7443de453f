#include "core/model/functions.h"

#include "core/model/arguments.h"
#include "core/model/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::model {

namespace {

bool isParameter(const Expr& expr, const Expr& lambda, size_t index)
{
    return expr.is(Expr::Kind::name) && index < lambda.names.size() && expr.text == lambda.names[index].text;
}

// The activation in x -> f.(x, parameter).
Activation activationOfBody(const Expr& lambda)
{
    const Expr& body = lambda.items[0];
    if (isParameter(body, lambda, 0)) return {};
    if (!body.is(Expr::Kind::call) || body.items.empty() || !isParameter(body.items[0], lambda, 0)) {
        failAt(body.place, fmt::format("{} is not an activation", describe(body)),
               "an anonymous activation is written x -> leakyrelu(x, 0.2): one known function of x");
    }
    checkModule(body, "activation", activationNames());
    std::optional<Activation> activation = activationByName(body.text);
    if (!activation) failUnknown("activation", body, activationNames());
    const bool columnwise =
        activation->kind == ActivationKind::softmax || activation->kind == ActivationKind::logsoftmax;
    if (columnwise && body.broadcast)
        failAt(body.place, fmt::format("'{}.(x)' would act on each number alone", body.text),
               fmt::format("write {}(x)", body.text));
    for (size_t i = 1; i < body.items.size(); ++i) {
        const std::string& keyword = body.names[i].text;
        if (columnwise && keyword == "dims") {
            wholeNumber(body.items[i], "dims", 1, 1);
            continue;
        }
        if (!keyword.empty() || i != 1)
            failAt(body.items[i].place, fmt::format("'{}' takes no such argument", body.text),
                   "write x -> leakyrelu(x, 0.2)");
        if (activation->alpha == 0)
            failAt(body.items[i].place, fmt::format("'{}' has no parameter", body.text),
                   "leakyrelu, elu, celu, softshrink and trelu have one");
        activation->alpha = realNumber(body.items[i], fmt::format("the parameter of {}", body.text), -1e6, 1e6);
    }
    return *activation;
}

Activation activationOfAny(const Expr& expr, std::string_view what, const std::vector<std::string_view>& known)
{
    if (expr.is(Expr::Kind::lambda)) {
        if (expr.names.size() != 1)
            failAt(expr.place, fmt::format("an activation takes one argument, got {}", expr.names.size()),
                   "write x -> relu.(x)");
        return activationOfBody(expr);
    }
    if (expr.is(Expr::Kind::call)) {
        if (activationByName(expr.text))
            failAt(expr.place, fmt::format("'{}' is a function here, not a call of it", expr.text),
                   fmt::format("write {} without brackets", expr.text));
        failUnknown(what, expr, known);
    }
    if (!expr.is(Expr::Kind::name))
        failAt(expr.place, fmt::format("expected an activation such as relu, got {}", describe(expr)));
    checkModule(expr, what, known);
    const std::optional<Activation> activation = activationByName(expr.text);
    if (!activation) failUnknown(what, expr, known);
    return *activation;
}

// x -> reshape(x, :, size(x, 4)): how flatten was written before it existed.
bool isReshapeToFlat(const Expr& lambda)
{
    const Expr& body = lambda.items[0];
    if (!body.isCall("reshape") || body.items.size() != 3 || !isParameter(body.items[0], lambda, 0)) return false;
    const Expr& size = body.items[2];
    const bool colon = body.items[1].is(Expr::Kind::symbol) && body.items[1].text.empty();
    return colon && size.isCall("size") && size.items.size() == 2 && isParameter(size.items[0], lambda, 0);
}

} // namespace

Activation activationOf(const Expr& expr)
{
    const Activation activation = activationOfAny(expr, "activation", activationNames());
    if (activation.kind == ActivationKind::softmax || activation.kind == ActivationKind::logsoftmax) {
        failAt(expr.place, fmt::format("'{}' is no activation of single values", activationName(activation.kind)),
               fmt::format("put {} into the Chain as a layer of its own, after this one",
                           activationName(activation.kind)));
    }
    return activation;
}

FunctionLayer functionLayerOf(const Expr& expr)
{
    if (expr.isName("flatten")) {
        checkModule(expr, "layer", layerAndActivationNames());
        return {LayerKind::flatten, {}};
    }
    if (expr.is(Expr::Kind::lambda) && expr.names.size() == 1) {
        const Expr& body = expr.items[0];
        const bool flattens = body.isCall("flatten") && body.items.size() == 1 && isParameter(body.items[0], expr, 0);
        if (flattens || isReshapeToFlat(expr)) return {LayerKind::flatten, {}};
    }
    return {LayerKind::activation, activationOfAny(expr, "layer", layerAndActivationNames())};
}

ConnectionSpec connectionOf(const Expr& expr, size_t inputs)
{
    const char* hint = "a connection is +, .*, vcat, or (mx, x) -> cat(mx, x; dims = 3)";
    const auto byOperator = [&](const std::string& op, Place place) -> ConnectionSpec {
        if (op == "+" || op == ".+") return {Connection::add, 0};
        if (op == "*" || op == ".*") return {Connection::multiply, 0};
        failAt(place, fmt::format("the connection '{}' is not supported", op), hint);
    };
    if (expr.is(Expr::Kind::name))
        return expr.text == "vcat" ? ConnectionSpec{Connection::concatenate, 1} : byOperator(expr.text, expr.place);
    if (!expr.is(Expr::Kind::lambda))
        failAt(expr.place, fmt::format("expected a connection, got {}", describe(expr)), hint);
    const Expr& body = expr.items[0];
    const bool variadic = expr.names.size() == 1 && expr.names[0].text.ends_with("...");
    if (!variadic && expr.names.size() != inputs) {
        failAt(expr.place,
               fmt::format("this connection takes {} arguments but joins {} values", expr.names.size(), inputs), hint);
    }
    std::vector<const Expr*> operands;
    if (body.is(Expr::Kind::binary)) operands = {&body.items[0], &body.items[1]};
    ConnectionSpec spec;
    if (body.is(Expr::Kind::call) && (body.text == "cat" || body.text == "vcat")) {
        spec = {Connection::concatenate, body.text == "vcat" ? 1 : 0};
        for (size_t i = 0; i < body.items.size(); ++i) {
            if (body.names[i].text == "dims" && body.text == "cat")
                spec.dimension = static_cast<int>(wholeNumber(body.items[i], "dims", 1, 4));
            else if (!body.names[i].text.empty())
                failAt(body.names[i].place, fmt::format("'{}' has no keyword '{}' here", body.text, body.names[i].text),
                       hint);
            else operands.push_back(&body.items[i]);
        }
        if (spec.dimension == 0)
            failAt(body.place, "cat() needs the dimension",
                   "write cat(mx, x; dims = 3) for images, vcat(mx, x) for features");
    } else if (body.is(Expr::Kind::binary)) spec = byOperator(body.text, body.place);
    else failAt(body.place, fmt::format("{} is not a connection", describe(body)), hint);

    const bool splat = variadic && operands.size() == 1 && operands[0]->is(Expr::Kind::splat);
    bool inOrder = operands.size() == expr.names.size();
    for (size_t i = 0; inOrder && i < operands.size(); ++i)
        inOrder = isParameter(*operands[i], expr, i);
    const bool swapped = spec.connection != Connection::concatenate && operands.size() == 2
        && isParameter(*operands[0], expr, 1) && isParameter(*operands[1], expr, 0);
    if (!splat && !inOrder && !swapped)
        failAt(body.place, "this connection must join its arguments in their order", hint);
    return spec;
}

Init initOf(const Expr& expr)
{
    if (!expr.is(Expr::Kind::name) && !expr.is(Expr::Kind::call)) {
        failAt(expr.place, fmt::format("expected an init such as glorot_uniform, got {}", describe(expr)),
               "functions of your own are not supported as init");
    }
    checkModule(expr, "init", initNames());
    std::optional<Init> init = initByName(expr.text);
    if (!init) failUnknown("init", expr, initNames());
    if (expr.is(Expr::Kind::name)) return *init;
    Arguments arguments(expr, fmt::format("{}(...)", expr.text));
    const InitKind kind = init->kind;
    if (kind == InitKind::truncatedNormal) {
        if (const Expr* e = arguments.keyword("mean")) init->mean = realNumber(*e, "mean", -1e6, 1e6);
        if (const Expr* e = arguments.keyword("std")) init->std = realNumber(*e, "std", 0, 1e6);
        if (const Expr* e = arguments.keyword("lo")) init->low = realNumber(*e, "lo", -1e6, 1e6);
        if (const Expr* e = arguments.keyword("hi")) init->high = realNumber(*e, "hi", -1e6, 1e6);
        if (init->low >= init->high)
            failAt(expr.place, fmt::format("lo must be less than hi, got {} and {}", init->low, init->high));
    } else if (kind <= InitKind::kaimingNormal || kind == InitKind::orthogonal || kind == InitKind::identity) {
        if (const Expr* e = arguments.keyword("gain")) init->gain = realNumber(*e, "gain", 0, 1e6);
    }
    arguments.finish(0);
    return *init;
}

} // namespace stepscope::model
