#include "core/onednn/compat.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace stepscope::onednn::compat {
namespace {

struct Blocking {
    std::vector<int64_t> strides, blocks, blockIndices;
    bool blocked = false;
};

Blocking blockingOf(const Desc& desc)
{
    Blocking b;
#if DNNL_VERSION_MAJOR >= 3
    b.blocked = desc.get_format_kind() == dnnl::memory::format_kind::blocked;
    if (!b.blocked) return b;
    b.strides = desc.get_strides();
    b.blocks = desc.get_inner_blks();
    b.blockIndices = desc.get_inner_idxs();
#else
    b.blocked = desc.data.format_kind == dnnl_blocked;
    if (!b.blocked) return b;
    const auto& format = desc.data.format_desc.blocking;
    b.strides.assign(format.strides, format.strides + desc.data.ndims);
    b.blocks.assign(format.inner_blks, format.inner_blks + format.inner_nblks);
    b.blockIndices.assign(format.inner_idxs, format.inner_idxs + format.inner_nblks);
#endif
    return b;
}

} // namespace

std::string layoutText(const Desc& desc)
{
    const Dims dims = dimsOf(desc);
    if (dims.empty()) return "none";
    const Blocking b = blockingOf(desc);
    if (!b.blocked) return "opaque";
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return b.strides[x] > b.strides[y]; });
    std::string text;
    for (size_t dim : order) {
        const bool isBlocked = std::find(b.blockIndices.begin(), b.blockIndices.end(), static_cast<int64_t>(dim)) != b.blockIndices.end();
        text += static_cast<char>((isBlocked ? 'A' : 'a') + static_cast<char>(dim));
    }
    for (size_t k = 0; k < b.blocks.size(); ++k) {
        text += std::to_string(b.blocks[k]);
        text += static_cast<char>('a' + b.blockIndices[k]);
    }
    return text;
}

} // namespace stepscope::onednn::compat
