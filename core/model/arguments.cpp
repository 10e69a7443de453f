#include "core/model/arguments.h"

#include "core/model/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace stepscope::model {

int64_t wholeNumber(const Expr& expr, std::string_view what, int64_t least, int64_t most)
{
    if (!expr.is(Expr::Kind::number) || !expr.isInteger) {
        const bool quotient = expr.is(Expr::Kind::number) && std::floor(expr.number) == expr.number;
        failAt(expr.place, fmt::format("{} takes a whole number, got {}", what, describe(expr)),
               quotient                        ? "'/' gives a fraction in Julia; '÷' divides whole numbers"
                   : expr.is(Expr::Kind::name) ? "variables are set before they are used: n = 64"
                                               : "");
    }
    if (expr.integer < least || expr.integer > most) {
        failAt(expr.place,
               fmt::format("{} must be {}, got {}", what,
                           expr.integer < least ? fmt::format("at least {}", least) : fmt::format("at most {}", most),
                           expr.integer),
               {}, base::ErrorCode::invalidArgument);
    }
    return expr.integer;
}

double realNumber(const Expr& expr, std::string_view what, double least, double most)
{
    if (!expr.is(Expr::Kind::number)) {
        failAt(expr.place, fmt::format("{} takes a number, got {}", what, describe(expr)),
               expr.is(Expr::Kind::name) ? "variables are set before they are used: η = 0.001" : "");
    }
    if (!(expr.number >= least && expr.number <= most)) {
        failAt(expr.place,
               fmt::format("{} must be {}, got {}", what,
                           expr.number < least ? fmt::format("at least {}", least) : fmt::format("at most {}", most),
                           expr.number),
               {}, base::ErrorCode::invalidArgument);
    }
    return expr.number;
}

bool trueOrFalse(const Expr& expr, std::string_view what)
{
    if (!expr.is(Expr::Kind::boolean))
        failAt(expr.place, fmt::format("{} takes true or false, got {}", what, describe(expr)));
    return expr.boolean;
}

std::string textValue(const Expr& expr, std::string_view what)
{
    if (!expr.is(Expr::Kind::string))
        failAt(expr.place, fmt::format("{} takes a text in quotes, got {}", what, describe(expr)),
               "write it as \"...\"");
    return expr.text;
}

std::vector<int64_t> wholeNumbers(const Expr& expr, std::string_view what, int64_t least, int64_t most)
{
    if (expr.is(Expr::Kind::number)) return {wholeNumber(expr, what, least, most)};
    if (!expr.is(Expr::Kind::tuple))
        failAt(expr.place, fmt::format("{} takes a whole number or a tuple of them, got {}", what, describe(expr)));
    if (expr.items.empty() || expr.items.size() > 6) {
        failAt(expr.place, fmt::format("{} takes a tuple of 1 to 6 whole numbers, got {}", what, expr.items.size()));
    }
    std::vector<int64_t> values;
    for (size_t i = 0; i < expr.items.size(); ++i) {
        if (!expr.names[i].text.empty())
            failAt(expr.names[i].place, fmt::format("{} takes a plain tuple, without names", what));
        values.push_back(wholeNumber(expr.items[i], what, least, most));
    }
    return values;
}

Dims reversedShape(const Expr& expr, std::string_view what)
{
    Dims dims = wholeNumbers(expr, what, 1, kMaxSize);
    if (dims.size() > 4)
        failAt(expr.place, fmt::format("{} takes at most 4 dimensions (without the batch), got {}", what, dims.size()));
    std::reverse(dims.begin(), dims.end());
    return dims;
}

Arguments::Arguments(const Expr& call, std::string form) : m_call(call), m_form(std::move(form))
{
    if (call.broadcast)
        failAt(call.place, fmt::format("'{}.(...)' is not supported here", call.text), fmt::format("write {}", m_form));
    for (size_t i = 0; i < call.items.size(); ++i) {
        if (call.items[i].is(Expr::Kind::splat))
            failAt(call.items[i].place, "'...' is not supported", "write the arguments out");
        if (call.names[i].text.empty()) m_positional.push_back(&call.items[i]);
        else m_named.push_back({&call.names[i], &call.items[i]});
    }
}

const Expr& Arguments::at(size_t index, std::string_view what) const
{
    if (index >= m_positional.size()) {
        failAt(m_call.place, fmt::format("{}() needs {}", m_call.text, what), fmt::format("it is written {}", m_form));
    }
    return *m_positional[index];
}

const Expr* Arguments::keyword(std::string_view name, std::string_view alias)
{
    m_known.push_back(name);
    const Expr* value = nullptr;
    for (Named& named : m_named) {
        if (named.name->text != name && (alias.empty() || named.name->text != alias)) continue;
        if (value != nullptr) failAt(named.name->place, fmt::format("'{}' is given twice", named.name->text));
        named.used = true;
        value = named.value;
    }
    return value;
}

const Expr* Arguments::either(size_t index, std::string_view name, std::string_view alias)
{
    const Expr* named = keyword(name, alias);
    const Expr* positional = optional(index);
    if (named != nullptr && positional != nullptr)
        failAt(named->place, fmt::format("'{}' is given twice: by position and by name", name));
    return positional != nullptr ? positional : named;
}

void Arguments::finish(size_t most)
{
    for (const Named& named : m_named) {
        if (named.used) continue;
        const std::string nearest = nearestName(named.name->text, m_known);
        failAt(named.name->place,
               fmt::format("{} has no keyword '{}'{}", m_call.text, shortened(named.name->text),
                           nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)),
               m_known.empty() ? fmt::format("it takes none: {}", m_form)
                               : fmt::format("its keywords are: {}", fmt::join(m_known, ", ")));
    }
    if (m_positional.size() > most) {
        failAt(m_positional[most]->place,
               fmt::format("{} takes at most {} argument{} before the keywords, got {}", m_call.text, most,
                           most == 1 ? "" : "s", m_positional.size()),
               fmt::format("it is written {}", m_form));
    }
}

} // namespace stepscope::model
