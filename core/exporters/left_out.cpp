#include "core/exporters/left_out.h"

#include "core/exporters/stack_weights.h"

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

using session::Session;

void note(std::vector<std::string>& notes, size_t count, std::string_view one, std::string_view many, std::string_view what)
{
    if (count > 0) notes.push_back(fmt::format("{} {} {}", count, count == 1 ? one : many, what));
}

size_t rowsOfSeries(const Session& session, bool withStacks, size_t except = ~size_t{0})
{
    size_t rows = 0;
    for (size_t i = 0; i < session.series().size(); ++i)
        if (i != except && session::hasStacks(session.series()[i].kind) == withStacks) rows += session.samples(session::SeriesId(i)).size();
    return rows;
}

size_t counterValues(const Session& session)
{
    size_t values = 0;
    for (size_t i = 0; i < session.counters().size(); ++i)
        values += session.counterSamples(session::CounterId(i)).time.size();
    return values;
}

size_t instants(const Session& session)
{
    size_t count = 0;
    for (const uint32_t label : session.spans().label)
        count += session.labels()[label].kind == session::SpanKind::instant ? 1 : 0;
    return count;
}

} // namespace

std::vector<std::string> leftOut(const Session& session, std::string_view exporter)
{
    std::vector<std::string> notes;
    const bool chrome = exporter == "chrome", speedscope = exporter == "speedscope", stacks = exporter == "collapsed" || exporter == "pprof";
    if (!chrome && !speedscope && !stacks) return notes;
    constexpr std::string_view kNotThere = "not in the file: the format has no place for them";
    if (chrome) {
        note(notes, rowsOfSeries(session, false), "sum of a counter by layer and step is", "sums of counters by layer and step are", kNotThere);
        note(notes, session.details().deviceRows(), "piece of device work is written without its size, grid and stream",
             "pieces of device work are written without their sizes, grids and streams", "");
    } else {
        note(notes, counterValues(session), "value of a counter is", "values of counters are", kNotThere);
    }
    note(notes, session.details().flows.size(), "arrow between spans is", "arrows between spans are", kNotThere);
    if (speedscope) note(notes, instants(session), "mark without a length is", "marks without a length are", "written as spans of 0 ns");
    if (stacks && hasSamples(session)) note(notes, session.spanCount(), "span is", "spans are", "not in the file, which has the samples alone");
    if (exporter == "collapsed" && hasSamples(session)) {
        const size_t shown = shownSeries(session);
        note(notes, rowsOfSeries(session, true, shown) + (session::hasStacks(session.series()[shown].kind) ? rowsOfSeries(session, false) : 0),
             "sample of another series is", "samples of other series are", fmt::format("not in the file, which has '{}' alone", session.series()[shown].name));
    }
    for (std::string& text : notes)
        while (text.back() == ' ')
            text.pop_back();
    return notes;
}

} // namespace stepscope::exporters
