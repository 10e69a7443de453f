#include "core/model/summary.h"

#include "core/model/arithmetic.h"
#include "core/model/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace stepscope::model {

namespace {

struct Row {
    std::string layer;                  // the notation, with its indent
    std::array<std::string, 5> columns; // parameters, output, forward FLOP, backward FLOP, bytes
    bool hasColumns = false;
};

size_t width(const std::string& text) // in characters; good enough for the letters Flux uses
{
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t to, bool right)
{
    const std::string blanks(to > width(text) ? to - width(text) : 0, ' ');
    return right ? blanks + text : text + blanks;
}

const char* connectionText(const LayerOptions& options)
{
    switch (options.connection) {
    case Connection::add: return "+";
    case Connection::multiply: return ".*";
    case Connection::concatenate: break;
    }
    return options.concatenateDim == 1 ? "vcat"
        : options.concatenateDim == 2  ? "(a...) -> cat(a...; dims = 2)"
                                       : "(a...) -> cat(a...; dims = 3)";
}

class Printer {
public:
    explicit Printer(const ModelFile& file) : m_model(file.model), m_shapes(!file.model.input.empty()) {}

    std::vector<Row> run()
    {
        print(LayerId(0u), 0, "");
        return std::move(m_rows);
    }

private:
    void print(LayerId id, size_t indent, const std::string& name)
    {
        const Layer& layer = m_model.at(id);
        const std::string head = std::string(indent, ' ') + name;
        const std::string comma = indent == 0 ? "" : ",";
        if (layer.children.empty()) {
            m_rows.push_back({head + layer.text + comma, columns(layer), true});
            return;
        }
        const char* kind = layer.kind == LayerKind::chain ? "Chain("
            : layer.kind == LayerKind::parallel           ? "Parallel("
                                                          : "SkipConnection(";
        m_rows.push_back({head + kind, {}, false});
        const std::string inner(indent + 2, ' ');
        if (layer.kind == LayerKind::parallel)
            m_rows.push_back({inner + connectionText(layer.options) + ",", {}, false});
        for (size_t i = 0; i < layer.children.size(); ++i) {
            const Layer& child = m_model.at(layer.children[i]);
            const bool numbered = child.name == fmt::format("{}", i + 1);
            print(layer.children[i], indent + 2, numbered ? "" : child.name + " = ");
        }
        if (layer.kind == LayerKind::skipConnection)
            m_rows.push_back({inner + connectionText(layer.options) + ",", {}, false});
        m_rows.push_back({std::string(indent, ' ') + ")" + comma, {}, false});
    }

    std::array<std::string, 5> columns(const Layer& layer) const
    {
        std::array<std::string, 5> texts;
        int64_t count = 0;
        for (const Parameter& parameter : layer.parameters)
            count = saturatedSum(count, parameter.count());
        if (count > 0) texts[0] = fmt::format("{} parameters", underscored(count));
        if (layer.kind == LayerKind::batchNorm && layer.options.trackStats)
            texts[0] +=
                fmt::format("{}plus {}", count > 0 ? ", " : "", underscored(saturatedProduct(2, layer.options.in)));
        if (!m_shapes) return texts;
        texts[1] = fluxShape(layer.output, 0);
        texts[2] = underscored(layer.forward.flop);
        texts[3] = underscored(layer.backward.flop);
        texts[4] = underscored(saturatedSum(layer.forward.bytes, layer.backward.bytes));
        return texts;
    }

    const Model& m_model;
    bool m_shapes;
    std::vector<Row> m_rows;
};

// Layers on the left, one comment column per figure; numbers stand right-aligned under their heads.
std::string table(const std::vector<Row>& rows, bool shapes)
{
    static const std::array<std::string, 5> kHeads{"parameters", "output", "FLOP forward", "FLOP backward",
                                                   "bytes moved"};
    size_t left = 38;
    std::array<size_t, 5> widths{};
    for (size_t c = 0; c < widths.size(); ++c)
        widths[c] = width(kHeads[c]);
    for (const Row& row : rows) {
        if (row.hasColumns) left = std::max(left, width(row.layer));
        for (size_t c = 0; c < widths.size(); ++c)
            widths[c] = std::max(widths[c], width(row.columns[c]));
    }
    const auto line = [&](const std::string& layer, const std::array<std::string, 5>& columns) {
        std::string text = padded(layer, left + 1, false) + "# " + padded(columns[0], widths[0], false);
        for (size_t c = 1; shapes && c < columns.size(); ++c)
            text += "  " + padded(columns[c], widths[c], c >= 2);
        text.erase(text.find_last_not_of(' ') + 1);
        return text + "\n";
    };
    std::string text = shapes ? line("", kHeads) : "";
    for (const Row& row : rows) {
        const bool empty = std::all_of(row.columns.begin(), row.columns.end(),
                                       [](const std::string& column) { return column.empty(); });
        text += row.hasColumns && !empty ? line(row.layer, row.columns) : row.layer + "\n";
    }
    return text;
}

// "# Total: 10 arrays, 44_426 parameters, 173.539 KiB.", as Flux ends a model; with norms that keep statistics in two
// lines.
std::string total(const Model& model)
{
    int64_t arrays = 0, parameters = 0, fixedArrays = 0, fixed = 0;
    for (const Layer& layer : model.layers) {
        for (const Parameter& parameter : layer.parameters) {
            ++arrays;
            parameters = saturatedSum(parameters, parameter.count());
        }
        if (layer.kind != LayerKind::batchNorm || !layer.options.trackStats) continue;
        fixedArrays += 2;
        fixed = saturatedSum(fixed, saturatedProduct(2, layer.options.in));
    }
    const std::string bytes = byteText(saturatedProduct(4, saturatedSum(parameters, fixed)));
    if (fixedArrays == 0)
        return fmt::format("# Total: {} arrays, {} parameters, {}.\n", arrays, underscored(parameters), bytes);
    return fmt::format("# Total: {} trainable arrays, {} parameters,\n# plus {} non-trainable, {} parameters, {}.\n",
                       arrays, underscored(parameters), fixedArrays, underscored(fixed), bytes);
}

} // namespace

std::string summary(const ModelFile& file)
{
    if (file.model.layers.empty()) return {};
    const bool shapes = !file.model.input.empty();
    std::string text;
    if (shapes)
        text += fmt::format(
            "# input {}; FLOP and bytes are for one sample in Float32, without the parameters' own traffic\n",
            fluxShape(file.model.input, 0));
    text += table(Printer(file).run(), shapes) + total(file.model);
    if (shapes) {
        const Layer& root = file.model.root();
        text += fmt::format("# One sample: {} FLOP forward, {} backward; output {}.\n", underscored(root.forward.flop),
                            underscored(root.backward.flop), fluxShape(root.output, 0));
    }
    if (file.lossGiven) text += fmt::format("loss = {}\n", lossName(file.loss.kind));
    if (!file.optimiser.text.empty()) text += fmt::format("optimiser = {}\n", file.optimiser.text);
    if (file.dataGiven) text += fmt::format("data = {}\n", file.data.text);
    return text;
}

} // namespace stepscope::model
