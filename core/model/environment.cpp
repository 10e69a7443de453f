#include "core/model/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace stepscope::model {

namespace {

constexpr size_t kMaxNodes = 400'000; // over all statements; variables may multiply each other

Expr numberLike(const Expr& expr, double value)
{
    if (!std::isfinite(value)) failAt(expr.place, "the result is not a finite number");
    Expr number;
    number.kind = Expr::Kind::number;
    number.place = expr.place;
    number.begin = expr.begin;
    number.end = expr.end;
    number.number = value;
    return number;
}

Expr integerLike(const Expr& expr, int64_t value)
{
    Expr number = numberLike(expr, static_cast<double>(value));
    number.integer = value;
    number.isInteger = true;
    return number;
}

Expr withoutItems(const Expr& expr)
{
    Expr result;
    result.kind = expr.kind;
    result.place = expr.place;
    result.begin = expr.begin;
    result.end = expr.end;
    result.text = expr.text;
    result.module = expr.module;
    result.number = expr.number;
    result.integer = expr.integer;
    result.isInteger = expr.isInteger;
    result.boolean = expr.boolean;
    result.broadcast = expr.broadcast;
    result.names = expr.names;
    result.items.reserve(expr.items.size());
    return result;
}

[[noreturn]] void overflow(const Expr& expr)
{
    failAt(expr.place, "the result of this calculation is too large for a whole number");
}

Expr power(const Expr& expr, int64_t base, int64_t exponent)
{
    int64_t result = 1;
    if (base == 0 || base == 1 || base == -1)
        return integerLike(expr, exponent == 0 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : base);
    for (int64_t i = 0; i < exponent; ++i)
        if (__builtin_mul_overflow(result, base, &result)) overflow(expr); // at most 63 rounds for |base| >= 2
    return integerLike(expr, result);
}

std::optional<Expr> integerArithmetic(const Expr& expr, int64_t a, int64_t b)
{
    int64_t result = 0;
    if (expr.text == "+") {
        if (__builtin_add_overflow(a, b, &result)) overflow(expr);
    } else if (expr.text == "-") {
        if (__builtin_sub_overflow(a, b, &result)) overflow(expr);
    } else if (expr.text == "*") {
        if (__builtin_mul_overflow(a, b, &result)) overflow(expr);
    } else if (expr.text == "÷") {
        if (b == 0) failAt(expr.place, "division by zero");
        if (b == -1 && a == INT64_MIN) overflow(expr);
        result = a / b;
    } else if (expr.text == "^" && b >= 0) return power(expr, a, b);
    else return std::nullopt;
    return integerLike(expr, result);
}

Expr arithmetic(const Expr& expr, const Expr& a, const Expr& b)
{
    if (a.isInteger && b.isInteger)
        if (std::optional<Expr> result = integerArithmetic(expr, a.integer, b.integer)) return *result;
    if (expr.text == "+") return numberLike(expr, a.number + b.number);
    if (expr.text == "-") return numberLike(expr, a.number - b.number);
    if (expr.text == "*") return numberLike(expr, a.number * b.number);
    if (expr.text == "^") return numberLike(expr, std::pow(a.number, b.number));
    if (b.number == 0) failAt(expr.place, "division by zero");
    if (expr.text == "/") return numberLike(expr, a.number / b.number);
    if (expr.text == "÷") return numberLike(expr, std::trunc(a.number / b.number));
    return expr;
}

bool isArithmetic(const std::string& op)
{
    return op == "+" || op == "-" || op == "*" || op == "/" || op == "÷" || op == "^";
}

// sqrt(2), Float32(0.1): the few functions of numbers that models use.
std::optional<Expr> callOnNumber(const Expr& call)
{
    if (call.items.size() != 1 || !call.items[0].is(Expr::Kind::number) || !call.names[0].text.empty())
        return std::nullopt;
    const Expr& argument = call.items[0];
    if (call.text == "sqrt") {
        if (argument.number < 0) failAt(call.place, "square root of a negative number");
        return numberLike(call, std::sqrt(argument.number));
    }
    if (call.text == "Float32") return numberLike(call, static_cast<double>(static_cast<float>(argument.number)));
    if (call.text == "Float64") return numberLike(call, argument.number);
    return std::nullopt;
}

[[noreturn]] void refuseDevice(Place place, const std::string& name)
{
    if (name == "f64" || name == "f16" || name == "bf16") {
        failAt(place, fmt::format("'{}' is not supported: models train in Float32", name), "remove it, or write f32",
               base::ErrorCode::unsupported);
    }
    failAt(place,
           fmt::format("'{}' cannot stand in a model file: the device is chosen when the run starts, not by the model",
                       name),
           "remove it; data and parameters are moved by the program");
}

bool isDevice(std::string_view name)
{
    return name == "gpu" || name == "device" || name == "cu" || name == "gpu_device" || name == "dev"
        || name == "todevice" || name == "f64" || name == "f16" || name == "bf16" || name == "amdgpu_device"
        || name == "cuda_device" || name == "reactant_device";
}

bool isNeutral(std::string_view name) { return name == "f32" || name == "cpu" || name == "cpu_device"; }

} // namespace

void Environment::set(const NameAt& name, Expr value)
{
    struct Depth {
        static int of(const Expr& expr)
        {
            int deepest = 0;
            for (const Expr& item : expr.items)
                deepest = std::max(deepest, of(item));
            return deepest + 1;
        }
    };
    const int depth = Depth::of(value); // fold() has kept it within bounds
    m_variables.insert_or_assign(name.text, Variable{std::move(value), name.place, false, depth});
}

Expr Environment::fold(const Expr& expr) { return foldAt(expr, 1); }

Expr Environment::foldAt(const Expr& expr, int depth)
{
    if (depth > 2 * kMaxDepth) failAt(expr.place, "this is nested too deep", "split the model into named parts");
    if (++m_nodes > kMaxNodes) failAt(expr.place, "the variables of this file multiply into too large a model");
    if (expr.is(Expr::Kind::name)) return foldName(expr, depth);
    if (expr.is(Expr::Kind::binary) && expr.text == "|>") return foldPipe(expr, depth);
    Expr result = withoutItems(expr);
    if (expr.is(Expr::Kind::lambda))
        for (const NameAt& parameter : expr.names)
            m_shadowed.push_back(parameter.text.substr(0, parameter.text.find("...")));
    for (size_t i = 0; i < expr.items.size(); ++i)
        result.items.push_back(foldAt(expr.items[i], depth + 1));
    if (expr.is(Expr::Kind::lambda)) m_shadowed.resize(m_shadowed.size() - expr.names.size());

    if (expr.is(Expr::Kind::unary) && result.items[0].is(Expr::Kind::number)) {
        const Expr& operand = result.items[0];
        if (expr.text == "√") {
            if (operand.number < 0) failAt(expr.place, "square root of a negative number");
            return numberLike(expr, std::sqrt(operand.number));
        }
        if (expr.text == "+") return operand;
        if (operand.isInteger && operand.integer == INT64_MIN) overflow(expr);
        return operand.isInteger ? integerLike(expr, -operand.integer) : numberLike(expr, -operand.number);
    }
    if (expr.is(Expr::Kind::binary) && isArithmetic(expr.text) && result.items[0].is(Expr::Kind::number)
        && result.items[1].is(Expr::Kind::number)) {
        return arithmetic(expr, result.items[0], result.items[1]);
    }
    if (expr.is(Expr::Kind::call)) {
        if (std::optional<Expr> number = callOnNumber(result)) return *number;
        if (result.items.size() == 1 && result.names[0].text.empty() && m_shadowed.empty()) {
            if (isDevice(expr.text)) refuseDevice(expr.place, expr.text);
            if (isNeutral(expr.text)) return result.items[0];
        }
    }
    return result;
}

Expr Environment::foldName(const Expr& expr, int depth)
{
    if (!expr.module.empty() || std::find(m_shadowed.begin(), m_shadowed.end(), expr.text) != m_shadowed.end())
        return expr;
    const auto found = m_variables.find(expr.text);
    if (found == m_variables.end()) return expr;
    Variable& variable = found->second;
    variable.used = true;
    if (depth + variable.depth > 2 * kMaxDepth)
        failAt(expr.place, "this is nested too deep", "split the model into named parts");
    struct Count {
        static size_t of(const Expr& e)
        {
            size_t count = 1;
            for (const Expr& item : e.items)
                count += of(item);
            return count;
        }
    };
    m_nodes += Count::of(variable.value);
    if (m_nodes > kMaxNodes) failAt(expr.place, "the variables of this file multiply into too large a model");
    return variable.value;
}

Expr Environment::foldPipe(const Expr& expr, int depth)
{
    Expr function = foldAt(expr.items[1], depth + 1);
    if (function.is(Expr::Kind::name) || function.is(Expr::Kind::call)) {
        if (isNeutral(function.text)) return foldAt(expr.items[0], depth + 1);
        if (isDevice(function.text)) refuseDevice(function.place, function.text);
    }
    if (m_shadowed.empty())
        failAt(function.place, fmt::format("cannot pipe into {}", describe(function)),
               "only '|> f32' and '|> cpu' may follow a value");
    Expr call = function;
    if (!function.is(Expr::Kind::name))
        failAt(function.place, fmt::format("cannot pipe into {}", describe(function)), "write f(x)");
    call.kind = Expr::Kind::call;
    call.items.push_back(foldAt(expr.items[0], depth + 1));
    call.names.push_back({});
    call.begin = expr.begin;
    return call;
}

} // namespace stepscope::model
