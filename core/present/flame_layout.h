// FlameLayout: a flame tree, a zoom and a viewport -> rectangles; hit test; search; hover text.
// Owner: core/present. Thread: any; pure functions, cheap enough for the UI thread (cost follows pixels, not spans).
// Units: logical pixels as double, x from the left and y from the top of the content; ns.
#pragma once

#include "core/analysis/flame_tree.h"
#include "core/present/colour_class.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::present {

inline constexpr uint32_t kNoNode = analysis::FlameNode::kNone;

struct FlameViewport {
    uint32_t zoomed = 0;       // node that fills the width; 0 = everything
    double width = 0;
    double rowHeight = 18;
    double top = 0;            // visible part of the content; rectangles outside are left out
    double height = 1e9;
    double minimumPixels = 1;  // narrower frames are merged with their neighbours, still visible
    bool rootAtBottom = false; // false: icicle, the step on top
    bool remainder = true;     // also rectangles for the uncovered rest of frames that have children
};

enum class FlameRectKind : uint8_t { frame, ancestor, merged, remainder };

struct FlameRect {
    double x = 0, y = 0, w = 0, h = 0;
    uint32_t node = kNoNode;    // merged: the largest of the merged nodes; remainder: the node it is the rest of
    uint32_t mergedCount = 0;   // merged: how many siblings (each with its subtree)
    base::TimeNs time = 0;      // that the rectangle stands for
    int32_t row = 0;            // 0 for the uppermost level drawn
    FlameRectKind kind = FlameRectKind::frame;
    ColourClass colour = ColourClass::other;
    bool slowBelow = false;     // some descendant is on a slow path
    StatusMark mark;            // frames and ancestors
};

struct FlameLayout {
    FlameViewport viewport;
    std::vector<FlameRect> rects; // by row, then by x
    std::vector<size_t> rowBegin; // row r owns rects [rowBegin[r], rowBegin[r + 1])
    double contentHeight = 0;     // rows * rowHeight
    int32_t rows = 0;
};

// The unnamed root is drawn (as a row of its own) only when it has more than one child. Zooming shows the ancestors in
// full width above the zoomed node. A root without children has no rectangles at all. Frames keep the order of the tree; x and w are computed from int64 differences.
FlameLayout layoutFlame(const analysis::FlameTree& tree, const FlameViewport& viewport);

// Rectangle at a point of the content; null when there is none. Valid as long as the layout.
const FlameRect* hit(const FlameLayout& layout, double x, double y);

// Keyboard: from a node to its parent, its widest child, or the sibling before or after; kNoNode when there is none.
enum class FlameMove { parent, child, previous, next };
uint32_t move(const analysis::FlameTree& tree, uint32_t from, FlameMove direction);
// From a node along the largest child down to a leaf.
uint32_t widestLeaf(const analysis::FlameTree& tree, uint32_t from);
// The nodes of a layer, e.g. to highlight the row selected in the layer table; outermost ones only.
std::vector<uint32_t> nodesOfLayer(const analysis::FlameTree& tree, base::LayerId layer);

// --- search ---
using NameMatcher = std::function<bool(std::string_view name)>;
// Plain text, letters of ASCII in any case. The workbench makes its own matcher for regular expressions.
NameMatcher containsText(std::string_view text);

struct FlameMatches {
    std::vector<uint8_t> matched; // one per node of the tree: 1 = the name matches
    std::vector<uint32_t> nodes;  // the visible ones among them, in tree order, for next and previous
    base::TimeNs time = 0;        // covered by matching frames, nested ones counted once
    base::TimeNs visible = 0;     // total of the zoomed node
    int64_t elsewhere = 0;        // matching nodes outside of the zoomed node
    double share() const { return visible > 0 ? static_cast<double>(time) / static_cast<double>(visible) : 0; }
};
// Within the zoomed node; a match among its (drawn) ancestors covers all of it.
FlameMatches searchFlame(const analysis::FlameTree& tree, uint32_t zoomed, const NameMatcher& matches);

// --- hover ---
struct DetailField {
    std::string title; // "total", "self", "share of step", ...
    std::string value;
};
struct FlameDetails {
    std::string name;                // heading: "conv1", "between phases", "12 small frames"
    std::string path;                // "step › forward › conv1"
    std::vector<DetailField> fields; // total, self, share of step, share of parent, per step, count, then what is known
                                     // about layer and primitive (shapes, implementation, formats, GFLOP/s, GB/s)
};
FlameDetails flameDetails(const analysis::FlameTree& tree, const FlameRect& rect);
FlameDetails flameDetails(const analysis::FlameTree& tree, uint32_t node);

} // namespace stepscope::present
