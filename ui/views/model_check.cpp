#include "ui/views/model_check.h"

#include "core/model/parser.h"
#include "core/model/shapes.h"
#include "core/present/format.h"

namespace stepscope::views {

namespace {

std::string dataName(const model::DataSpec& data)
{
    switch (data.kind) {
    case model::DataKind::made: return "made data";
    case model::DataKind::fashionMnist: return "Fashion-MNIST";
    case model::DataKind::mnist: return "MNIST";
    case model::DataKind::idx: return "IDX files";
    case model::DataKind::csv: return "CSV file";
    case model::DataKind::raw: return "raw float32 file";
    }
    return {};
}

} // namespace

base::Result<CheckedModel> checkModel(const std::string& text, const std::string& file)
{
    base::Result<model::ModelFile> parsed = model::parseModelText(text, file);
    if (!parsed) return base::fail(parsed.error());
    CheckedModel checked;
    checked.file = std::move(*parsed);
    const model::Dims input = model::knownInput(checked.file);
    if (!input.empty()) {
        const base::Status shapes = model::inferShapes(checked.file, input);
        if (!shapes) return base::fail(shapes.error());
        checked.shapesKnown = true;
    }
    return checked;
}

std::string dataText(const model::DataSpec& data, bool given)
{
    std::string text = given ? dataName(data) : "made data (the file names none)";
    text += ", batch " + present::formatCount(data.batchSize);
    if (data.shuffle) text += ", shuffled";
    if (data.numWorkers > 0) text += ", " + std::to_string(data.numWorkers) + (data.numWorkers == 1 ? " worker" : " workers");
    return text;
}

std::string modelText(const CheckedModel& checked)
{
    const model::ModelFile& file = checked.file;
    std::string text = model::lossName(file.loss.kind);
    if (!file.optimiser.text.empty()) text += ", " + file.optimiser.text;
    text += ", " + present::formatCount(file.model.root().parameterCount) + " parameters";
    if (checked.shapesKnown) {
        const double flop = static_cast<double>(file.model.root().forward.flop);
        // formatFlopRate writes "24.8 MFLOP/s"; per sample there is no second in it.
        std::string amount = present::formatFlopRate(flop);
        if (const size_t slash = amount.rfind("/s"); slash != std::string::npos) amount.erase(slash);
        if (!amount.empty()) text += ", " + amount + " forward per sample";
    }
    return text;
}

} // namespace stepscope::views
