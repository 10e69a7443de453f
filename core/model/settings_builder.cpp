#include "core/model/settings_builder.h"

#include "core/model/arguments.h"
#include "core/model/names.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace stepscope::model {

namespace {

constexpr std::array<std::pair<std::string_view, LossKind>, 7> kLosses{
    {{"mse", LossKind::mse},
     {"mae", LossKind::mae},
     {"crossentropy", LossKind::crossentropy},
     {"logitcrossentropy", LossKind::logitcrossentropy},
     {"binarycrossentropy", LossKind::binarycrossentropy},
     {"logitbinarycrossentropy", LossKind::logitbinarycrossentropy},
     {"huber_loss", LossKind::huberLoss}}};

constexpr const char* kLossHint = "write loss = logitcrossentropy, or loss(m, x, y) = Flux.mse(m(x), y)";

LossKind lossKind(const Expr& expr)
{
    checkModule(expr, "loss", lossNames());
    for (const auto& [name, kind] : kLosses)
        if (name == expr.text) return kind;
    failUnknown("loss", expr, lossNames());
}

void readLossKeywords(Arguments& arguments, LossSpec& spec)
{
    if (spec.kind == LossKind::huberLoss)
        if (const Expr* e = arguments.keyword("delta", "δ")) {
            spec.delta = realNumber(*e, "delta", 0, 1e12);
            if (spec.delta == 0) failAt(e->place, "delta must be greater than 0");
        }
    if (spec.kind == LossKind::crossentropy || spec.kind == LossKind::binarycrossentropy)
        if (const Expr* e = arguments.keyword("eps", "ϵ")) spec.eps = realNumber(*e, "eps", 0, 1);
    if (spec.kind == LossKind::crossentropy || spec.kind == LossKind::logitcrossentropy)
        if (const Expr* e = arguments.keyword("dims")) wholeNumber(*e, "dims", 1, 1);
    if (const Expr* e = arguments.keyword("agg")) {
        if (!e->isName("mean") && !e->isName("sum"))
            failAt(e->place, fmt::format("agg takes mean or sum, got {}", describe(*e)));
        spec.sumAggregate = e->text == "sum";
    }
}

bool named(const Expr& expr, const std::string& name) { return expr.is(Expr::Kind::name) && expr.text == name; }

// (ŷ, y) -> mse(ŷ, y), (x, y) -> mse(model(x), y) or (m, x, y) -> mse(m(x), y)
void checkLossOperands(const Expr& lambda, const Expr& call)
{
    const size_t count = lambda.names.size();
    const Expr& prediction = call.items[0];
    const std::string& target = lambda.names[count - 1].text;
    bool good = call.items.size() >= 2 && call.names[1].text.empty() && named(call.items[1], target);
    if (count == 2) {
        const std::string& first = lambda.names[0].text;
        good = good
            && (named(prediction, first)
                || (prediction.is(Expr::Kind::call) && !prediction.broadcast && prediction.items.size() == 1
                    && named(prediction.items[0], first)));
    } else {
        good = good && prediction.isCall(lambda.names[0].text) && prediction.items.size() == 1
            && named(prediction.items[0], lambda.names[1].text);
    }
    if (!good) {
        failAt(call.place, fmt::format("'{}' must get the model's output first and '{}' second", call.text, target),
               "write loss(ŷ, y) = Flux.mse(ŷ, y) or loss(m, x, y) = Flux.mse(m(x), y)");
    }
}

LossSpec readLossFunction(const Expr& lambda)
{
    const Expr& call = lambda.items[0];
    if (lambda.names.size() != 2 && lambda.names.size() != 3) {
        failAt(lambda.place,
               fmt::format("a loss takes (ŷ, y) or (m, x, y), got {} parameter{}", lambda.names.size(),
                           lambda.names.size() == 1 ? "" : "s"),
               kLossHint);
    }
    if (!call.is(Expr::Kind::call) || call.broadcast)
        failAt(call.place, fmt::format("expected one known loss, got {}", describe(call)),
               "sums of losses and losses of your own are not supported");
    LossSpec spec;
    spec.kind = lossKind(call);
    Arguments arguments(call, fmt::format("{}(ŷ, y; agg = mean)", call.text));
    arguments.at(1, "the model's output and the target");
    readLossKeywords(arguments, spec);
    arguments.finish(2);
    checkLossOperands(lambda, call);
    return spec;
}

// Optimisers

constexpr double kMaxRate = 1e6;

double rate(const Expr* expr, std::string_view what, double otherwise, double least = 0, double most = kMaxRate)
{
    return expr == nullptr ? otherwise : realNumber(*expr, what, least, most);
}

double decay(const Expr* expr, std::string_view what, double otherwise)
{
    const double value = rate(expr, what, otherwise, 0, 1);
    if (value >= 1)
        failAt(expr->place, fmt::format("{} must be less than 1, got {}", what, value), {},
               base::ErrorCode::invalidArgument);
    return value;
}

void readBetas(const Expr* expr, OptimiserSpec& spec)
{
    if (expr == nullptr) return;
    if (!expr->is(Expr::Kind::tuple) || expr->items.size() != 2)
        failAt(expr->place, fmt::format("β takes two numbers, got {}", describe(*expr)), "write (0.9, 0.999)");
    spec.beta1 = decay(&expr->items[0], "β1", 0);
    spec.beta2 = decay(&expr->items[1], "β2", 0);
}

void readAdam(const Expr& call, OptimiserSpec& spec)
{
    const bool w = call.text == "AdamW";
    spec.rule = w ? RuleKind::adamW : RuleKind::adam;
    Arguments arguments(call,
                        w ? "AdamW(η = 0.001, β = (0.9, 0.999), λ = 0, ϵ = 1e-8; couple = true)"
                          : "Adam(η = 0.001, β = (0.9, 0.999), ϵ = 1e-8)");
    spec.eta = rate(arguments.either(0, "eta", "η"), "the learning rate η", 0.001);
    readBetas(arguments.either(1, "beta", "β"), spec);
    if (w) spec.lambda = rate(arguments.either(2, "lambda", "λ"), "λ", 0);
    spec.epsilon = rate(arguments.either(w ? 3 : 2, "epsilon", "ϵ"), "ϵ", 1e-8);
    if (w)
        if (const Expr* e = arguments.keyword("couple")) spec.couple = trueOrFalse(*e, "couple");
    arguments.finish(w ? 4 : 3);
}

void readRule(const Expr& call, OptimiserSpec& spec)
{
    if (call.text == "Adam" || call.text == "AdamW") return readAdam(call, spec);
    if (call.text == "Descent") {
        spec.rule = RuleKind::descent;
        Arguments arguments(call, "Descent(η = 0.1)");
        spec.eta = rate(arguments.either(0, "eta", "η"), "the learning rate η", 0.1);
        return arguments.finish(1);
    }
    if (call.text == "Momentum" || call.text == "Nesterov") {
        const bool nesterov = call.text == "Nesterov";
        spec.rule = nesterov ? RuleKind::nesterov : RuleKind::momentum;
        Arguments arguments(call, nesterov ? "Nesterov(η = 0.001, ρ = 0.9)" : "Momentum(η = 0.01, ρ = 0.9)");
        spec.eta = rate(arguments.either(0, "eta", "η"), "the learning rate η", nesterov ? 0.001 : 0.01);
        spec.rho = decay(arguments.either(1, "rho", "ρ"), "the momentum ρ", 0.9);
        return arguments.finish(2);
    }
    spec.rule = RuleKind::rmsProp;
    Arguments arguments(call, "RMSProp(η = 0.001, ρ = 0.9, ϵ = 1e-8; centred = false)");
    spec.eta = rate(arguments.either(0, "eta", "η"), "the learning rate η", 0.001);
    spec.rho = decay(arguments.either(1, "rho", "ρ"), "ρ", 0.9);
    spec.epsilon = rate(arguments.either(2, "epsilon", "ϵ"), "ϵ", 1e-8);
    if (const Expr* e = arguments.keyword("centred", "centered")) spec.centred = trueOrFalse(*e, "centred");
    arguments.finish(3);
}

// WeightDecay, ClipNorm, ClipGrad, or nothing for a rule.
std::optional<OptimiserSpec::Modifier> readModifier(const Expr& call)
{
    using Kind = OptimiserSpec::Modifier::Kind;
    OptimiserSpec::Modifier modifier;
    if (call.text == "WeightDecay") {
        Arguments arguments(call, "WeightDecay(λ = 5e-4)");
        modifier.kind = Kind::weightDecay;
        modifier.value = rate(arguments.either(0, "lambda", "λ"), "λ", 5e-4);
        arguments.finish(1);
    } else if (call.text == "ClipGrad") {
        Arguments arguments(call, "ClipGrad(δ = 10)");
        modifier.kind = Kind::clipGrad;
        modifier.value = rate(arguments.either(0, "delta", "δ"), "δ", 10);
        arguments.finish(1);
    } else if (call.text == "ClipNorm") {
        Arguments arguments(call, "ClipNorm(ω = 10, p = 2)");
        modifier.kind = Kind::clipNorm;
        modifier.value = rate(arguments.either(0, "omega", "ω"), "ω", 10);
        modifier.p = rate(arguments.either(1, "p"), "p", 2, 1, 1e3);
        if (const Expr* e = arguments.keyword("throw")) trueOrFalse(*e, "throw");
        arguments.finish(2);
    } else return std::nullopt;
    return modifier;
}

class OptimiserReader {
public:
    OptimiserSpec run(const Expr& expr)
    {
        const Expr& rule =
            expr.isCall("setup") ? Arguments(expr, "Flux.setup(rule, model)").at(0, "an optimiser") : expr;
        if (expr.isCall("setup") && expr.items.size() > 2)
            failAt(expr.place, "setup() takes an optimiser and the model");
        read(rule);
        if (!m_hasRule)
            failAt(rule.place, fmt::format("'{}' only changes gradients and updates nothing", rule.text),
                   "end with a rule: OptimiserChain(WeightDecay(5e-4), Adam(0.001))");
        return std::move(m_spec);
    }

private:
    void read(const Expr& expr)
    {
        if (expr.is(Expr::Kind::name) || expr.is(Expr::Kind::call)) checkModule(expr, "optimiser", optimiserNames());
        if (!expr.is(Expr::Kind::call)) {
            if (!expr.is(Expr::Kind::name))
                failAt(expr.place, fmt::format("expected an optimiser such as Adam(0.001), got {}", describe(expr)));
            for (const std::string_view name : optimiserNames())
                if (name == expr.text)
                    failAt(expr.place, fmt::format("'{}' needs brackets", expr.text),
                           fmt::format("write {}() for its defaults", expr.text));
            failUnknown("optimiser", expr, optimiserNames());
        }
        if (expr.text == "OptimiserChain") {
            if (expr.items.empty())
                failAt(expr.place, "OptimiserChain() is empty", "write OptimiserChain(WeightDecay(5e-4), Adam(0.001))");
            const Arguments arguments(expr, "OptimiserChain(WeightDecay(5e-4), Adam(0.001))");
            for (const Expr& item : expr.items)
                read(item);
            return;
        }
        bool known = false;
        for (const std::string_view name : optimiserNames())
            known = known || name == expr.text;
        if (!known) failUnknown("optimiser", expr, optimiserNames());
        if (m_hasRule) {
            failAt(expr.place, fmt::format("'{}' stands after the rule", expr.text),
                   "the rule (Adam, Descent, ...) comes last in an OptimiserChain", base::ErrorCode::unsupported);
        }
        if (std::optional<OptimiserSpec::Modifier> modifier = readModifier(expr)) {
            m_spec.modifiers.push_back(*modifier);
            if (m_spec.modifiers.size() > 64) failAt(expr.place, "an OptimiserChain has at most 64 parts");
            return;
        }
        readRule(expr, m_spec);
        m_hasRule = true;
    }

    OptimiserSpec m_spec;
    bool m_hasRule = false;
};

} // namespace

const char* lossName(LossKind kind)
{
    for (const auto& [name, known] : kLosses)
        if (known == kind) return name.data();
    return "mse";
}

LossSpec readLoss(const Expr& expr)
{
    LossSpec spec;
    if (expr.is(Expr::Kind::lambda)) spec = readLossFunction(expr);
    else if (expr.is(Expr::Kind::name) || expr.is(Expr::Kind::call)) {
        spec.kind = lossKind(expr);
        if (expr.is(Expr::Kind::call)) { // huber_loss(delta = 0.5): the options alone
            Arguments arguments(expr, fmt::format("{}(; agg = mean)", expr.text));
            readLossKeywords(arguments, spec);
            arguments.finish(0);
        }
    } else
        failAt(expr.place, fmt::format("expected a loss such as logitcrossentropy, got {}", describe(expr)), kLossHint);
    spec.line = expr.place.line;
    spec.column = expr.place.column;
    return spec;
}

OptimiserSpec readOptimiser(const Expr& expr, std::string_view text)
{
    OptimiserSpec spec = OptimiserReader().run(expr);
    spec.text = sourceText(text, expr);
    spec.line = expr.place.line;
    spec.column = expr.place.column;
    return spec;
}

} // namespace stepscope::model
