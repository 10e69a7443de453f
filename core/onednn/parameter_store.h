// ParameterStore: weights and gradients of a network in two flat arenas with equal offsets.
// Owner: core/onednn. Thread: the training thread. Units: values (float32) and bytes.
//
// The layout of an array is chosen while the first plan is built, so memory objects exist before their memory does: commit()
// makes the arenas, gives every object its handle and fills in the initial values. Gaps and padding stay zero for ever.
#pragma once

#include "core/base/result.h"
#include "core/model/model.h"
#include "core/onednn/compat.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stepscope::onednn {

// How oneDNN's plain (row-major) order of the array relates to Flux's memory order.
enum class FluxOrder { same, flippedKernel, transposed };

struct ParameterSlot {
    base::LayerId layer;
    int index = 0;         // in model::Layer::parameters
    compat::Desc desc;     // layout of value and gradient
    compat::Dims plain;    // oneDNN's logical dims
    FluxOrder order = FluxOrder::same;
    dnnl::memory value, gradient;
    int64_t offset = 0, size = 0; // in the arenas, padding included
};

// Values that are kept but not trained: running statistics.
struct StateSlot {
    base::LayerId layer;
    int index = 0;
    std::vector<float> values;
};

class ParameterStore {
public:
    ParameterStore(dnnl::engine engine, const model::Model& model, uint64_t seed);

    // The slot of an array, or null before it was added.
    ParameterSlot* find(base::LayerId layer, int index);
    const ParameterSlot* find(base::LayerId layer, int index) const;
    ParameterSlot& add(base::LayerId layer, int index, const compat::Desc& desc, FluxOrder order);
    StateSlot& state(base::LayerId layer, int index, int64_t count, float initial); // found or added
    const StateSlot* findState(base::LayerId layer, int index) const;

    bool committed() const { return m_values != nullptr; }
    base::Status commit();

    std::vector<std::unique_ptr<ParameterSlot>>& slots() { return m_slots; }
    float* values() { return m_values.get(); }
    float* gradients() { return m_gradients.get(); }
    int64_t size() const { return m_size; } // of an arena, in values

    // In Flux memory order.
    std::vector<float> read(const ParameterSlot& slot, bool gradient) const;
    base::Status write(ParameterSlot& slot, const std::vector<float>& values);

private:
    dnnl::engine m_engine;
    const model::Model& m_model;
    uint64_t m_seed;
    std::vector<std::unique_ptr<ParameterSlot>> m_slots;
    std::vector<std::unique_ptr<StateSlot>> m_states;
    std::unique_ptr<float, void (*)(float*)> m_values, m_gradients;
    int64_t m_size = 0;
};

// Row-major descriptor of any rank.
compat::Desc plainDesc(const compat::Dims& dims);
compat::Desc anyDesc(const compat::Dims& dims);

} // namespace stepscope::onednn
