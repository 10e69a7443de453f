// Typed ids: indices into tables that cannot be mixed up.
// Owner: core/base. Thread: plain values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace stepscope::base {

template <class Tag>
struct Id {
    static constexpr uint32_t kNone = 0xffffffffu;
    uint32_t value = kNone;

    constexpr Id() = default;
    constexpr explicit Id(uint32_t v) : value(v) {}
    constexpr explicit Id(size_t v) : value(static_cast<uint32_t>(v)) {}
    constexpr bool valid() const { return value != kNone; }
    constexpr size_t index() const { return value; }
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using StringId = Id<struct StringTag>;
using TrackId = Id<struct TrackTag>;
using LabelId = Id<struct LabelTag>;         // row of session::LabelTable
using LayerId = Id<struct LayerTag>;         // row of the layer table; also model::Model::layers
using PrimitiveId = Id<struct PrimitiveTag>; // row of the primitive table
using CounterId = Id<struct CounterTag>;
using FrameId = Id<struct FrameTag>;   // row of the frame table: one place in the code
using StackId = Id<struct StackTag>;   // row of the stack table: a frame and the stack of its caller
using SeriesId = Id<struct SeriesTag>; // row of the sample series: "cpu time", "allocated bytes", ...

} // namespace stepscope::base

template <class Tag>
struct std::hash<stepscope::base::Id<Tag>> {
    size_t operator()(const stepscope::base::Id<Tag>& id) const noexcept { return std::hash<uint32_t>{}(id.value); }
};
