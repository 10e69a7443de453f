// libFuzzer target of one importer, named by STEPSCOPE_FUZZ_IMPORTER. Whatever the bytes are, the importer must come back
// with a session that holds together or with an error that says something; the sanitizers watch the rest.
#include "core/importers/importer.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace stepscope;

namespace {

void require(bool holds, const char* what)
{
    if (holds) return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

// Every column has its length, parents enclose their children, references stay inside their tables.
void check(const session::Session& session)
{
    const session::SpanTable& spans = session.spans();
    require(spans.trackBegin.size() == session.tracks().size() + 1, "one range of spans per track");
    for (size_t row = 0; row < spans.size(); ++row) {
        require(spans.label[row] < session.labels().size(), "label of a span");
        require(spans.duration[row] >= 0, "duration of a span");
        const uint32_t parent = spans.parent[row];
        if (parent == session::SpanTable::kNoParent) continue;
        require(parent < row, "a parent stands before its child");
        require(spans.start[parent] <= spans.start[row] && spans.end(row) <= spans.end(parent), "a parent encloses its child");
    }
    for (size_t i = 0; i < session.stacks().size(); ++i)
        require(!session.stacks()[i].parent.valid() || session.stacks()[i].parent.index() < i, "caller of a stack");
    for (size_t series = 0; series < session.series().size(); ++series) {
        const session::SampleTable& samples = session.samples(session::SeriesId(series));
        for (size_t row = 0; row < samples.size(); ++row)
            require(samples.stack[row] == session::StackId::kNone || samples.stack[row] < session.stacks().size(), "stack of a sample");
    }
    for (const session::QualityRow& row : session.quality())
        require(!row.code.empty() && !row.message.empty() && row.count > 0, "a quality row says what and how often");
}

const importers::Importer& importer()
{
    for (const importers::Importer& candidate : importers::builtinImporters())
        if (candidate.name == STEPSCOPE_FUZZ_IMPORTER) return candidate;
    std::fprintf(stderr, "there is no importer '%s'\n", STEPSCOPE_FUZZ_IMPORTER);
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static const importers::Importer& tested = importer();
    importers::Input input = importers::inputFromBytes(std::string(reinterpret_cast<const char*>(data), size), "input");
    static_cast<void>(tested.detect(input));
    const base::Result<importers::Imported> imported = tested.run(input, {}, {}, {});
    if (!imported) {
        require(!imported.error().message.empty(), "an error says something");
        return 0;
    }
    require(imported->session != nullptr, "a session");
    check(*imported->session);
    return 0;
}
