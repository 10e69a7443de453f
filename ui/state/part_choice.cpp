#include "ui/state/part_choice.h"

#include "core/importers/decimal_text.h"

#include <array>
#include <utility>

namespace stepscope::state {

namespace {

using base::TimeNs;

base::Error wrong(const char* field, std::string message, std::string hint = {})
{
    base::Error error{base::ErrorCode::invalidArgument, std::move(message), {}, std::move(hint)};
    error.where.field = field;
    return error;
}

base::Result<std::optional<TimeNs>> timeField(const QString& text, const char* field)
{
    if (text.trimmed().isEmpty()) return std::optional<TimeNs>();
    const base::Result<TimeNs> time = timeOf(text);
    if (!time) return base::fail(wrong(field, time.error().message, time.error().hint));
    return std::optional<TimeNs>(*time);
}

base::Result<std::optional<int64_t>> stepField(const QString& text, const char* field)
{
    const QString number = text.trimmed();
    if (number.isEmpty()) return std::optional<int64_t>();
    bool ok = false;
    const qlonglong value = number.toLongLong(&ok);
    if (!ok || value < 0)
        return base::fail(wrong(field, "\"" + number.toStdString() + "\" is no number of a step", "steps are whole numbers from 0 on, as the trace has them"));
    return std::optional<int64_t>(value);
}

base::Result<importers::ImportOptions> byTime(const PartChoice& choice)
{
    const auto from = timeField(choice.from, "from");
    if (!from) return base::fail(from.error());
    const auto to = timeField(choice.to, "to");
    if (!to) return base::fail(to.error());
    if (!*from && !*to) return base::fail(wrong("from", "give a begin or an end", "an empty field leaves that side open"));
    if (*to && **to <= from->value_or(0)) return base::fail(wrong("to", "the end is not behind the begin"));
    importers::ImportOptions options;
    options.rangeBegin = *from;
    options.rangeEnd = *to;
    return options;
}

base::Result<importers::ImportOptions> bySteps(const PartChoice& choice)
{
    const auto first = stepField(choice.firstStep, "firstStep");
    if (!first) return base::fail(first.error());
    const auto last = stepField(choice.lastStep, "lastStep");
    if (!last) return base::fail(last.error());
    const bool named = !choice.stepName.trimmed().isEmpty();
    if (!*first && !*last && !named)
        return base::fail(wrong("firstStep", "give a first or a last step, or the name of the steps", "an empty field leaves that side open"));
    if (*first && *last && **last < **first) return base::fail(wrong("lastStep", "the last step is before the first"));
    importers::ImportOptions options;
    options.firstStep = *first;
    options.lastStep = *last;
    options.stepName = choice.stepName.trimmed().toStdString();
    return options;
}

} // namespace

base::Result<TimeNs> timeOf(const QString& text)
{
    struct Unit {
        const char* name;
        int shift;
        TimeNs times;
    };
    // Longer names first, as "s" ends the others too.
    static constexpr std::array<Unit, 6> kUnits{{{"min", 9, 60}, {"ms", 6, 1}, {"us", 3, 1}, {"µs", 3, 1}, {"ns", 0, 1}, {"s", 9, 1}}};
    std::string number = text.trimmed().toStdString();
    Unit unit{"", 9, 1};
    for (const Unit& known : kUnits) {
        if (!number.ends_with(known.name)) continue;
        unit = known;
        number.resize(number.size() - std::string_view(known.name).size());
        break;
    }
    while (!number.empty() && number.back() == ' ') number.pop_back();
    const std::optional<int64_t> value = importers::scaledDecimal(number, unit.shift);
    if (!value || *value < 0 || *value > importers::kTimeLimit / unit.times)
        return base::fail(base::ErrorCode::invalidArgument, "\"" + text.trimmed().toStdString() + "\" is no time", {},
                          "write for example 1.5 (seconds), 200 ms or 2 min");
    return *value * unit.times;
}

base::Result<importers::ImportOptions> importOptions(const PartChoice& choice)
{
    return choice.bySteps ? bySteps(choice) : byTime(choice);
}

} // namespace stepscope::state
