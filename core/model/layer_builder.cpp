#include "core/model/layer_builder.h"

#include "core/model/functions.h"
#include "core/model/layer_kinds.h"
#include "core/model/layer_text.h"
#include "core/model/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace stepscope::model {

namespace {

constexpr size_t kMaxLayers = 20'000;

bool isContainer(const std::string& name) { return name == "Chain" || name == "SkipConnection" || name == "Parallel"; }

class LayerBuilder {
public:
    explicit LayerBuilder(std::string_view text) : m_text(text) {}

    Model run(const Expr& expr)
    {
        add(expr, LayerId{}, "model", "");
        return std::move(m_model);
    }

private:
    // Adds the layer and its children in pre-order.
    LayerId add(const Expr& expr, LayerId parent, const std::string& name, const std::string& path)
    {
        if (m_model.layers.size() >= kMaxLayers)
            failAt(expr.place, fmt::format("a model has at most {} layers", kMaxLayers));
        const LayerId id(m_model.layers.size());
        Layer layer;
        layer.name = name;
        layer.path = path;
        layer.line = expr.place.line;
        layer.column = expr.place.column;
        layer.parent = parent;
        if (expr.is(Expr::Kind::call)) checkModule(expr, "layer", layerAndActivationNames());
        if (expr.is(Expr::Kind::call) && isContainer(expr.text)) {
            m_model.layers.push_back(std::move(layer));
            addContainer(expr, id);
            return id;
        }
        readOne(expr, layer);
        if (!layer.parameters.empty() && !m_built.insert(expr.begin).second) {
            failAt(expr.place, fmt::format("{} is used twice, which would share its parameters", layer.text),
                   "shared parameters are not supported; write the layer out at each place",
                   base::ErrorCode::unsupported);
        }
        m_model.layers.push_back(std::move(layer));
        return id;
    }

    // A layer without children: a call, or a function used as a layer.
    void readOne(const Expr& expr, Layer& layer)
    {
        if (expr.is(Expr::Kind::call)) {
            const std::optional<Activation> function = activationByName(expr.text);
            if (function || expr.text == "flatten") {
                failAt(expr.place, fmt::format("'{}' is a function here, not a call of it", expr.text),
                       fmt::format("write {} without brackets", expr.text));
            }
            readLeaf(expr, layer);
            return;
        }
        if (expr.is(Expr::Kind::name)) {
            const auto& layers = layerNames();
            if (expr.text != "flatten" && std::find(layers.begin(), layers.end(), expr.text) != layers.end()) {
                failAt(expr.place, fmt::format("'{}' needs its arguments", expr.text),
                       fmt::format("write {}(...)", expr.text));
            }
        } else if (!expr.is(Expr::Kind::lambda)) {
            failAt(expr.place, fmt::format("expected a layer, got {}", describe(expr)),
                   "a layer is written like Dense(784 => 10), relu or Flux.flatten");
        }
        const FunctionLayer function = functionLayerOf(expr);
        layer.kind = function.kind;
        layer.options.activation = function.activation;
        layer.text = layerText(layer, {}, expr.is(Expr::Kind::lambda) ? sourceText(m_text, expr) : std::string());
    }

    void addContainer(const Expr& expr, LayerId id)
    {
        if (expr.text == "Chain") addChain(expr, id);
        else if (expr.text == "SkipConnection") addSkip(expr, id);
        else addParallel(expr, id);
        Layer& layer = m_model.layers[id.index()];
        layer.text = layerText(layer, {}, {});
    }

    void addChild(const Expr& expr, LayerId parent, std::string name)
    {
        if (expr.is(Expr::Kind::splat)) failAt(expr.place, "'...' is not supported", "write the layers out");
        const std::string& above = m_model.layers[parent.index()].path;
        std::string path = above.empty() ? name : above + "." + name;
        if (path.size() > 2000) failAt(expr.place, "the names of the layers around this one are too long");
        const LayerId child = add(expr, parent, name, path);
        m_model.layers[parent.index()].children.push_back(child);
    }

    // The layers from `first` on: all named or none.
    void addChildren(const Expr& expr, size_t first, LayerId id)
    {
        std::set<std::string> names;
        bool named = false, unnamed = false;
        for (size_t i = first; i < expr.items.size(); ++i) {
            const NameAt& name = expr.names.empty() ? NameAt{} : expr.names[i];
            (name.text.empty() ? unnamed : named) = true;
            if (named && unnamed) {
                failAt(name.text.empty() ? expr.items[i].place : name.place,
                       fmt::format("{} takes named layers or unnamed ones, not both", expr.text),
                       "write Chain(conv1 = Conv(...), pool1 = MaxPool(...)), a name for each");
            }
            if (named && !names.insert(name.text).second)
                failAt(name.place, fmt::format("the layer name '{}' is given twice", name.text));
            addChild(expr.items[i], id, named ? name.text : fmt::format("{}", i - first + 1));
        }
    }

    void addChain(const Expr& expr, LayerId id)
    {
        m_model.layers[id.index()].kind = LayerKind::chain;
        const Expr* list = &expr;
        if (expr.items.size() == 1 && expr.items[0].is(Expr::Kind::vector)) list = &expr.items[0]; // Chain([a, b])
        if (list->items.empty())
            failAt(expr.place, "Chain() has no layers",
                   "write Chain(Dense(784 => 10)), or identity for a branch that does nothing");
        if (list == &expr) return addChildren(expr, 0, id);
        for (size_t i = 0; i < list->items.size(); ++i)
            addChild(list->items[i], id, fmt::format("{}", i + 1));
    }

    void addSkip(const Expr& expr, LayerId id)
    {
        m_model.layers[id.index()].kind = LayerKind::skipConnection;
        if (expr.items.size() != 2 || !expr.names[0].text.empty() || !expr.names[1].text.empty()) {
            failAt(expr.place,
                   fmt::format("SkipConnection takes a layer and a connection, got {} argument{}", expr.items.size(),
                               expr.items.size() == 1 ? "" : "s"),
                   "write SkipConnection(Chain(...), +)");
        }
        setConnection(expr.items[1], 2, id);
        addChild(expr.items[0], id, "1");
    }

    void addParallel(const Expr& expr, LayerId id)
    {
        m_model.layers[id.index()].kind = LayerKind::parallel;
        if (expr.items.size() < 2 || !expr.names[0].text.empty()) {
            failAt(expr.place, "Parallel takes a connection and then its layers",
                   "write Parallel(+, Chain(...), Chain(...))");
        }
        setConnection(expr.items[0], expr.items.size() - 1, id);
        addChildren(expr, 1, id);
    }

    void setConnection(const Expr& expr, size_t inputs, LayerId id)
    {
        const ConnectionSpec spec = connectionOf(expr, inputs);
        LayerOptions& options = m_model.layers[id.index()].options;
        options.connection = spec.connection;
        options.concatenateDim = spec.dimension;
    }

    std::string_view m_text;
    Model m_model;
    std::set<size_t> m_built; // places of the layers with parameters
};

} // namespace

Model buildModel(const Expr& expr, std::string_view text) { return LayerBuilder(text).run(expr); }

} // namespace stepscope::model
