#include "core/onednn/parameter_store.h"

#include "core/engine/initialise.h"
#include "core/onednn/buffer_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace stepscope::onednn {
namespace {

using Type = dnnl::memory::data_type;

// Reverses the last `spatial` dimensions of every kernel.
std::vector<float> flipKernels(const std::vector<float>& in, int64_t kernelSize)
{
    std::vector<float> out(in.size());
    for (size_t base = 0; base < in.size(); base += static_cast<size_t>(kernelSize))
        std::reverse_copy(in.begin() + static_cast<std::ptrdiff_t>(base),
                          in.begin() + static_cast<std::ptrdiff_t>(base) + kernelSize, out.begin() + static_cast<std::ptrdiff_t>(base));
    return out;
}

std::vector<float> transpose(const std::vector<float>& in, int64_t rows, int64_t columns)
{
    std::vector<float> out(in.size());
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) out[static_cast<size_t>(c * rows + r)] = in[static_cast<size_t>(r * columns + c)];
    return out;
}

int64_t kernelSizeOf(const model::Layer& layer) { return model::product(layer.options.kernel); }

void copyLayout(const dnnl::engine& engine, const dnnl::memory& from, const dnnl::memory& to)
{
    dnnl::stream stream(engine);
    dnnl::memory source = from, target = to;
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
}

std::unique_ptr<float, void (*)(float*)> arena(int64_t values)
{
    auto memory = touchedMemory(static_cast<size_t>(values) * sizeof(float), false);
    return {reinterpret_cast<float*>(memory.release()), [](float* p) { std::free(p); }};
}

} // namespace

compat::Desc plainDesc(const compat::Dims& dims)
{
    compat::Dims strides(dims.size(), 1);
    for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
    return compat::Desc(dims, Type::f32, strides);
}

compat::Desc anyDesc(const compat::Dims& dims) { return compat::Desc(dims, Type::f32, dnnl::memory::format_tag::any); }

ParameterStore::ParameterStore(dnnl::engine engine, const model::Model& model, uint64_t seed)
    : m_engine(std::move(engine)), m_model(model), m_seed(seed), m_values(nullptr, [](float*) {}), m_gradients(nullptr, [](float*) {})
{
}

const ParameterSlot* ParameterStore::find(base::LayerId layer, int index) const
{
    for (const auto& slot : m_slots)
        if (slot->layer == layer && slot->index == index) return slot.get();
    return nullptr;
}

ParameterSlot* ParameterStore::find(base::LayerId layer, int index)
{
    return const_cast<ParameterSlot*>(static_cast<const ParameterStore*>(this)->find(layer, index));
}

ParameterSlot& ParameterStore::add(base::LayerId layer, int index, const compat::Desc& desc, FluxOrder order)
{
    auto slot = std::make_unique<ParameterSlot>();
    slot->layer = layer;
    slot->index = index;
    slot->desc = desc;
    slot->plain = compat::dimsOf(desc);
    slot->order = order;
    slot->value = dnnl::memory(desc, m_engine, nullptr);
    slot->gradient = dnnl::memory(desc, m_engine, nullptr);
    slot->offset = m_size;
    slot->size = static_cast<int64_t>(desc.get_size() / sizeof(float));
    m_size += (slot->size + 15) / 16 * 16; // every array starts on a cache line
    m_slots.push_back(std::move(slot));
    return *m_slots.back();
}

StateSlot& ParameterStore::state(base::LayerId layer, int index, int64_t count, float initial)
{
    for (const auto& slot : m_states)
        if (slot->layer == layer && slot->index == index) return *slot;
    auto slot = std::make_unique<StateSlot>();
    slot->layer = layer;
    slot->index = index;
    slot->values.assign(static_cast<size_t>(count), initial);
    m_states.push_back(std::move(slot));
    return *m_states.back();
}

const StateSlot* ParameterStore::findState(base::LayerId layer, int index) const
{
    for (const auto& slot : m_states)
        if (slot->layer == layer && slot->index == index) return slot.get();
    return nullptr;
}

base::Status ParameterStore::commit()
{
    m_values = arena(m_size);
    m_gradients = arena(m_size);
    for (auto& slot : m_slots) {
        slot->value.set_data_handle(m_values.get() + slot->offset);
        slot->gradient.set_data_handle(m_gradients.get() + slot->offset);
        const auto& parameter = m_model.at(slot->layer).parameters[static_cast<size_t>(slot->index)];
        const std::vector<float> values =
            engine::initialValues(parameter, m_seed, static_cast<int>(slot->layer.value), slot->index);
        if (base::Status status = write(*slot, values); !status) return status;
    }
    return {};
}

std::vector<float> ParameterStore::read(const ParameterSlot& slot, bool gradient) const
{
    const int64_t count = model::product(model::Dims(slot.plain.begin(), slot.plain.end()));
    std::vector<float> values(static_cast<size_t>(count));
    dnnl::memory plain(plainDesc(slot.plain), m_engine, values.data());
    copyLayout(m_engine, gradient ? slot.gradient : slot.value, plain);
    switch (slot.order) {
    case FluxOrder::same: return values;
    case FluxOrder::flippedKernel: return flipKernels(values, kernelSizeOf(m_model.at(slot.layer)));
    case FluxOrder::transposed: return transpose(values, slot.plain[0], count / slot.plain[0]); // {out, in} -> {in, out}
    }
    return values;
}

base::Status ParameterStore::write(ParameterSlot& slot, const std::vector<float>& values)
{
    const int64_t count = model::product(model::Dims(slot.plain.begin(), slot.plain.end()));
    if (static_cast<int64_t>(values.size()) != count)
        return base::fail(base::ErrorCode::invalidArgument,
                          fmt::format("the array has {} values, not {}", count, values.size()));
    std::vector<float> plainValues = values;
    if (slot.order == FluxOrder::flippedKernel) plainValues = flipKernels(values, kernelSizeOf(m_model.at(slot.layer)));
    if (slot.order == FluxOrder::transposed) plainValues = transpose(values, count / slot.plain[0], slot.plain[0]);
    dnnl::memory plain(plainDesc(slot.plain), m_engine, plainValues.data());
    copyLayout(m_engine, plain, slot.value);
    return {};
}

} // namespace stepscope::onednn
