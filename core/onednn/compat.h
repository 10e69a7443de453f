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

template <class Primitive, class... Args>
typename Primitive::primitive_desc forward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Args&... args)
{
#if DNNL_VERSION_MAJOR >= 3
    return typename Primitive::primitive_desc(engine, args..., attr);
#else
    return typename Primitive::primitive_desc(typename Primitive::desc(args...), attr, engine);
#endif
}

template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc backward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Hint& hint,
                                            const Args&... args)
{
#if DNNL_VERSION_MAJOR >= 3
    return typename Primitive::primitive_desc(engine, args..., hint, attr);
#else
    return typename Primitive::primitive_desc(typename Primitive::desc(args...), attr, engine, hint);
#endif
}

inline dnnl::eltwise_forward::primitive_desc eltwiseForward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                            dnnl::algorithm algorithm, const Desc& data, float alpha, float beta)
{
    constexpr auto kind = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
    return {engine, kind, algorithm, data, data, alpha, beta, attr};
#else
    return {dnnl::eltwise_forward::desc(kind, algorithm, data, alpha, beta), attr, engine};
#endif
}

// `data` describes the source, or the destination for the *_use_dst_for_bwd algorithms.
inline dnnl::eltwise_backward::primitive_desc eltwiseBackward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                              const dnnl::eltwise_forward::primitive_desc& hint,
                                                              dnnl::algorithm algorithm, const Desc& diff, const Desc& data,
                                                              float alpha, float beta)
{
#if DNNL_VERSION_MAJOR >= 3
    return {engine, algorithm, diff, diff, data, alpha, beta, hint, attr};
#else
    return {dnnl::eltwise_backward::desc(algorithm, diff, data, alpha, beta), attr, engine, hint};
#endif
}

inline dnnl::batch_normalization_forward::primitive_desc batchNormForward(const dnnl::engine& engine,
                                                                          const dnnl::primitive_attr& attr, dnnl::prop_kind kind,
                                                                          const Desc& data, float eps,
                                                                          dnnl::normalization_flags flags)
{
#if DNNL_VERSION_MAJOR >= 3
    return {engine, kind, data, data, eps, flags, attr};
#else
    return {dnnl::batch_normalization_forward::desc(kind, data, eps, flags), attr, engine};
#endif
}

inline dnnl::batch_normalization_backward::primitive_desc
batchNormBackward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                  const dnnl::batch_normalization_forward::primitive_desc& hint, const Desc& diff, const Desc& data, float eps,
                  dnnl::normalization_flags flags)
{
    constexpr auto kind = dnnl::prop_kind::backward;
#if DNNL_VERSION_MAJOR >= 3
    return {engine, kind, diff, diff, data, eps, flags, hint, attr};
#else
    return {dnnl::batch_normalization_backward::desc(kind, diff, data, eps, flags), attr, engine, hint};
#endif
}

inline dnnl::layer_normalization_forward::primitive_desc layerNormForward(const dnnl::engine& engine,
                                                                          const dnnl::primitive_attr& attr, const Desc& data,
                                                                          float eps, dnnl::normalization_flags flags)
{
    constexpr auto kind = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
    return {engine, kind, data, data, eps, flags, attr};
#else
    return {dnnl::layer_normalization_forward::desc(kind, data, eps, flags), attr, engine};
#endif
}

inline dnnl::layer_normalization_backward::primitive_desc
layerNormBackward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                  const dnnl::layer_normalization_forward::primitive_desc& hint, const Desc& diff, const Desc& data, float eps,
                  dnnl::normalization_flags flags)
{
    constexpr auto kind = dnnl::prop_kind::backward;
#if DNNL_VERSION_MAJOR >= 3
    return {engine, kind, diff, diff, data, eps, flags, hint, attr};
#else
    return {dnnl::layer_normalization_backward::desc(kind, diff, data, eps, flags), attr, engine, hint};
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

inline dnnl::concat::primitive_desc concat(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Desc& dst, int axis,
                                           const std::vector<Desc>& sources)
{
#if DNNL_VERSION_MAJOR >= 3
    return {engine, dst, axis, sources, attr};
#else
    return {dst, axis, sources, engine, attr};
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
