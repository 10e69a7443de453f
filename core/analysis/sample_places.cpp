#include "core/analysis/sample_places.h"

#include "core/analysis/sample_tree.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace stepscope::analysis {

namespace {

struct PlaceKey {
    uint32_t function, file, module;
    int32_t line;
    uint64_t address;
    friend bool operator==(const PlaceKey&, const PlaceKey&) = default;
};

struct PlaceHash {
    size_t operator()(const PlaceKey& key) const noexcept
    {
        uint64_t h = key.function;
        for (const uint64_t part : {uint64_t{key.file}, uint64_t{key.module}, uint64_t{static_cast<uint32_t>(key.line)}, key.address}) {
            h = (h ^ part) * 0x9e3779b97f4a7c15u;
            h ^= h >> 29;
        }
        return h;
    }
};

std::string hex(uint64_t value)
{
    std::string text;
    do {
        text.insert(text.begin(), "0123456789abcdef"[value & 15]);
        value >>= 4;
    } while (value != 0);
    return "0x" + text;
}

std::string_view fileName(std::string_view path)
{
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

PlaceKey keyOf(const session::FrameRow& frame, SampleMerge merge)
{
    // Without a name only the address tells frames apart.
    const bool named = frame.function.valid();
    PlaceKey key{frame.function.value, frame.file.value, frame.module.value, frame.line, frame.address};
    if (named && merge != SampleMerge::address) key.address = 0;
    if (named && merge == SampleMerge::function) key.line = 0;
    return key;
}

std::string shownName(const session::Session& session, const session::FrameRow& frame, SampleMerge merge)
{
    const std::string_view whole = session.string(frame.function);
    std::string name = (frame.flags & session::kGenerated) != 0 ? std::string(whole) : shortFunctionName(whole);
    if (name.empty()) {
        const std::string_view module = fileName(session.string(frame.module));
        if (frame.address == 0) return module.empty() ? "[unknown function]" : "[" + std::string(module) + "]";
        return (module.empty() ? "[unknown]" : "[" + std::string(module) + "]") + " " + hex(frame.address);
    }
    if (merge != SampleMerge::function && frame.line > 0) name += ":" + std::to_string(frame.line);
    else if (merge == SampleMerge::address && frame.address != 0) name += " " + hex(frame.address);
    return name;
}

} // namespace

SamplePlaces::SamplePlaces(const session::Session& session, const SampleFilter& filter)
{
    const std::vector<session::FrameRow>& frames = session.frames();
    std::unordered_map<PlaceKey, uint32_t, PlaceHash> known;
    ofFrame.reserve(frames.size() + 1);
    hidden.reserve(frames.size() + 1);
    for (size_t i = 0; i < frames.size(); ++i) {
        const session::FrameRow& frame = frames[i];
        const PlaceKey key = keyOf(frame, filter.merge);
        const auto [at, added] = known.try_emplace(key, static_cast<uint32_t>(places.size()));
        if (added)
            places.push_back({frame.function, frame.module, frame.file, key.line, key.address, 0, base::FrameId(i),
                              shownName(session, frame, filter.merge)});
        places[at->second].flags |= frame.flags;
        ofFrame.push_back(at->second);
        hidden.push_back(!filter.native && isNative(frame.flags) ? 1 : 0);
    }
    ofFrame.push_back(static_cast<uint32_t>(places.size()));
    hidden.push_back(0);
    places.push_back({});
    places.back().shown = "[unknown function]";
}

std::vector<uint32_t> placeRanks(const session::Session& session, const std::vector<FlamePlace>& places)
{
    std::vector<uint32_t> order(places.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto file = [&](const FlamePlace& place) { return session.string(place.file.valid() ? place.file : place.module); };
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
        const FlamePlace &a = places[x], &b = places[y];
        if (a.function.valid() != b.function.valid()) return a.function.valid();
        if (const int cmp = file(a).compare(file(b)); cmp != 0) return cmp < 0;
        if (const int cmp = session.string(a.function).compare(session.string(b.function)); cmp != 0) return cmp < 0;
        if (a.line != b.line) return a.line < b.line;
        return a.address != b.address ? a.address < b.address : x < y;
    });
    std::vector<uint32_t> ranks(places.size());
    for (size_t i = 0; i < order.size(); ++i)
        ranks[order[i]] = static_cast<uint32_t>(i);
    return ranks;
}

} // namespace stepscope::analysis
