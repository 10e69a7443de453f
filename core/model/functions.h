// What functions stand for in a model file: activations, connections, inits.
// Owner: core/model, private to it. Thread: any. All throw Failure.
#pragma once

#include "core/model/model.h"
#include "core/model/syntax.h"

namespace stepscope::model {

// relu, σ, NNlib.gelu, x -> leakyrelu(x, 0.2): a function that Dense, Conv and the norms apply to each value.
Activation activationOf(const Expr& expr);

// A function used as a layer: relu, softmax, x -> relu.(x), flatten, x -> reshape(x, :, size(x, 4)).
struct FunctionLayer {
    LayerKind kind = LayerKind::activation;
    Activation activation;
};
FunctionLayer functionLayerOf(const Expr& expr);

// +, vcat, (mx, x) -> cat(mx, x; dims = 3): how SkipConnection and Parallel join `inputs` branches.
struct ConnectionSpec {
    Connection connection = Connection::add;
    int dimension = 0; // concatenate: Flux's 1-based dimension
};
ConnectionSpec connectionOf(const Expr& expr, size_t inputs);

// glorot_uniform, kaiming_normal(gain = 2).
Init initOf(const Expr& expr);

} // namespace stepscope::model
