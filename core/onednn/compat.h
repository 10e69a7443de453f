// One source for oneDNN 2.6 and 3.x: everything whose spelling differs between the two generations stands here.
// Owner: core/onednn (the only folder that includes dnnl.hpp). Thread: any; no state.
//
// 2.x builds a primitive descriptor from an operation descriptor, 3.x from the arguments themselves; where the argument
// order is equal the templates forward()/backward() serve both. Functions here may throw dnnl::error; callers catch it.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_version.h>

#include <cstdint>
#include <string>

namespace stepscope::onednn::compat {

#if DNNL_VERSION_MAJOR >= 3
inline constexpr bool kVersion3 = true;
using PoolForward = dnnl::pooling_forward;
using PoolBackward = dnnl::pooling_backward;
using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;
#else
inline constexpr bool kVersion3 = false;
using PoolForward = dnnl::pooling_v2_forward;
using PoolBackward = dnnl::pooling_v2_backward;
using SoftmaxForward = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;
#endif

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

// Argument sets are checked at execution: batch-norm backward takes the shift in 2.6 and refuses it in 3.x.
inline constexpr bool kBatchNormBackwardTakesShift = !kVersion3;

// `skip` passes over that many of the library's implementations; dnnl::error past the last. It is done here because in 2.x
// the iterator behind next_impl() still reads the operation descriptor and the hint, which end with these functions.
template <class PrimitiveDesc>
PrimitiveDesc passedOver(PrimitiveDesc desc, int skip)
{
    for (int i = 0; i < skip; ++i)
        if (!desc.next_impl()) throw dnnl::error(dnnl_unimplemented, "no further implementation");
    return desc;
}

template <class Primitive, class... Args>
typename Primitive::primitive_desc forward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, int skip, const Args&... args)
{
    using PrimitiveDesc = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
    return passedOver(PrimitiveDesc(engine, args..., attr), skip);
#else
    const typename Primitive::desc operation(args...);
    return passedOver(PrimitiveDesc(operation, attr, engine), skip);
#endif
}

template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc backward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, int skip, const Hint& hint,
                                            const Args&... args)
{
    using PrimitiveDesc = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
    return passedOver(PrimitiveDesc(engine, args..., hint, attr), skip);
#else
    const typename Primitive::desc operation(args...);
    return passedOver(PrimitiveDesc(operation, attr, engine, hint), skip);
#endif
}

inline dnnl::eltwise_forward::primitive_desc eltwiseForward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, int skip,
                                                            dnnl::algorithm algorithm, const Desc& data, float alpha, float beta)
{
    constexpr auto kind = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
    return forward<dnnl::eltwise_forward>(engine, attr, skip, kind, algorithm, data, data, alpha, beta);
#else
    return forward<dnnl::eltwise_forward>(engine, attr, skip, kind, algorithm, data, alpha, beta);
#endif
}

// `data` describes the source, or the destination for the *_use_dst_for_bwd algorithms.
inline dnnl::eltwise_backward::primitive_desc eltwiseBackward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, int skip,
                                                              const dnnl::eltwise_forward::primitive_desc& hint,
                                                              dnnl::algorithm algorithm, const Desc& diff, const Desc& data,
                                                              float alpha, float beta)
{
#if DNNL_VERSION_MAJOR >= 3
    return backward<dnnl::eltwise_backward>(engine, attr, skip, hint, algorithm, diff, diff, data, alpha, beta);
#else
    return backward<dnnl::eltwise_backward>(engine, attr, skip, hint, algorithm, diff, data, alpha, beta);
#endif
}

inline dnnl::batch_normalization_forward::primitive_desc batchNormForward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                                          int skip, dnnl::prop_kind kind, const Desc& data, float eps,
                                                                          dnnl::normalization_flags flags)
{
#if DNNL_VERSION_MAJOR >= 3
    return forward<dnnl::batch_normalization_forward>(engine, attr, skip, kind, data, data, eps, flags);
#else
    return forward<dnnl::batch_normalization_forward>(engine, attr, skip, kind, data, eps, flags);
#endif
}

inline dnnl::batch_normalization_backward::primitive_desc
batchNormBackward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, int skip,
                  const dnnl::batch_normalization_forward::primitive_desc& hint, const Desc& diff, const Desc& data, float eps,
                  dnnl::normalization_flags flags)
{
    constexpr auto kind = dnnl::prop_kind::backward;
#if DNNL_VERSION_MAJOR >= 3
    return backward<dnnl::batch_normalization_backward>(engine, attr, skip, hint, kind, diff, diff, data, eps, flags);
#else
    return backward<dnnl::batch_normalization_backward>(engine, attr, skip, hint, kind, diff, data, eps, flags);
#endif
}

inline dnnl::layer_normalization_forward::primitive_desc layerNormForward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                                          int skip, const Desc& data, float eps,
                                                                          dnnl::normalization_flags flags)
{
    constexpr auto kind = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
    return forward<dnnl::layer_normalization_forward>(engine, attr, skip, kind, data, data, eps, flags);
#else
    return forward<dnnl::layer_normalization_forward>(engine, attr, skip, kind, data, eps, flags);
#endif
}

inline dnnl::layer_normalization_backward::primitive_desc
layerNormBackward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, int skip,
                  const dnnl::layer_normalization_forward::primitive_desc& hint, const Desc& diff, const Desc& data, float eps,
                  dnnl::normalization_flags flags)
{
    constexpr auto kind = dnnl::prop_kind::backward;
#if DNNL_VERSION_MAJOR >= 3
    return backward<dnnl::layer_normalization_backward>(engine, attr, skip, hint, kind, diff, diff, data, eps, flags);
#else
    return backward<dnnl::layer_normalization_backward>(engine, attr, skip, hint, kind, diff, data, eps, flags);
#endif
}

inline void appendEltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta)
{
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(algorithm, alpha, beta);
#else
    ops.append_eltwise(1.0f, algorithm, alpha, beta);
#endif
}

inline Dims dimsOf(const Desc& desc)
{
#if DNNL_VERSION_MAJOR >= 3
    return desc.get_dims();
#else
    return desc.dims();
#endif
}

inline Dims paddedDimsOf(const Desc& desc)
{
#if DNNL_VERSION_MAJOR >= 3
    return desc.get_padded_dims();
#else
    return Dims(desc.data.padded_dims, desc.data.padded_dims + desc.data.ndims);
#endif
}

// Layout as text in oneDNN's own notation: "abcd" is plain, "aBcd16b" blocks the second dimension by 16.
std::string layoutText(const Desc& desc);

} // namespace stepscope::onednn::compat
