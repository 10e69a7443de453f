// FlamePainter: the rectangles of a FlameLayout -> pixels.
// Owner: ui/flame. Thread: UI thread. Units: logical pixels; the image has its own devicePixelRatio.
//
// All frames of a row have the same height, so one line of the row is written pixel by pixel and copied to the others:
// the cost follows pixels, not rectangles.
#pragma once

#include "core/present/flame_layout.h"
#include "ui/theme/colours.h"

#include <QFont>
#include <QHash>
#include <QImage>
#include <QString>

#include <cstdint>
#include <vector>

namespace stepscope::flame {

struct FlamePaintOptions {
    bool dark = false;
    QColor background;
    double left = 0; // the content's x and y at the image's upper left corner
    double top = 0;
    // One byte per node, 1 = search hit; empty: no search. Frames without a hit are faded.
    const std::vector<uint8_t>* matched = nullptr;
    bool showSelf = false; // pale the part of a frame that its children cover
};

class FlamePainter {
public:
    void setFont(const QFont& font);
    // Fills the whole image. Only rectangles within it cost anything.
    void paint(QImage& image, const analysis::FlameTree& tree, const present::FlameLayout& layout, const FlamePaintOptions& options);
    // Forgets cached colours and text widths of the last tree.
    void clear();

    // The rectangles of a row that reach into x1..x2, as [first, last) into layout.rects.
    static std::pair<size_t, size_t> visibleRange(const present::FlameLayout& layout, int row, double x1, double x2);
    // Text in a frame; empty for merged ones.
    static QString labelOf(const analysis::FlameTree& tree, const present::FlameRect& rect);

private:
    theme::FrameColours colours(const analysis::FlameTree& tree, const present::FlameRect& rect, const FlamePaintOptions& options);
    void paintRow(QImage& image, const analysis::FlameTree& tree, const present::FlameLayout& layout, int row,
                  const FlamePaintOptions& options);
    void paintLabels(QImage& image, const analysis::FlameTree& tree, const present::FlameLayout& layout,
                     const FlamePaintOptions& options, int firstRow, int lastRow);

    QFont m_font;
    QHash<quint64, theme::FrameColours> m_colours; // by role and name
    QHash<QString, double> m_widths;
    std::vector<uint32_t> m_line;
    std::vector<uint32_t> m_marked; // the same with marks; empty: the row has none
};

} // namespace stepscope::flame
