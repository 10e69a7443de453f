#include "ui/flame/flame_painter.h"

#include "ui/flame/frame_role.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stepscope::flame {

namespace {

constexpr double kLabelPadding = 4;
constexpr double kNarrowestLabel = 26;
constexpr double kMarkHeight = 4, kNarrowestMark = 3; // of a status that a part of a frame has
constexpr double kPale = 0.68; // of the background, over what a frame spends in others

QColor mix(const QColor& a, const QColor& b, double shareOfB)
{
    const auto channel = [shareOfB](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * shareOfB)); };
    return QColor(channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue()));
}

bool faded(const present::FlameRect& rect, const FlamePaintOptions& options)
{
    if (options.matched == nullptr || options.matched->empty()) return false;
    if (rect.kind == present::FlameRectKind::remainder || rect.kind == present::FlameRectKind::merged) return true;
    return rect.node >= options.matched->size() || (*options.matched)[rect.node] == 0;
}

bool isFrame(const present::FlameRect& rect)
{
    return rect.kind == present::FlameRectKind::frame || rect.kind == present::FlameRectKind::ancestor;
}

} // namespace

void FlamePainter::setFont(const QFont& font)
{
    m_font = font;
    m_widths.clear();
}

void FlamePainter::clear()
{
    m_colours.clear();
    m_widths.clear();
}

QString FlamePainter::labelOf(const analysis::FlameTree& tree, const present::FlameRect& rect)
{
    std::string_view name;
    if (rect.kind == present::FlameRectKind::remainder) name = tree.remainderName(rect.node);
    else if (rect.kind != present::FlameRectKind::merged) name = tree.name(rect.node);
    if (name.empty() && rect.node == 0 && rect.kind != present::FlameRectKind::merged) return QCoreApplication::translate("FlamePainter", "everything");
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

std::pair<size_t, size_t> FlamePainter::visibleRange(const present::FlameLayout& layout, int row, double x1, double x2)
{
    const auto begin = layout.rects.begin() + static_cast<std::ptrdiff_t>(layout.rowBegin[static_cast<size_t>(row)]);
    const auto end = layout.rects.begin() + static_cast<std::ptrdiff_t>(layout.rowBegin[static_cast<size_t>(row) + 1]);
    const auto first = std::partition_point(begin, end, [x1](const present::FlameRect& r) { return r.x + r.w <= x1; });
    const auto last = std::partition_point(first, end, [x2](const present::FlameRect& r) { return r.x < x2; });
    return {static_cast<size_t>(first - layout.rects.begin()), static_cast<size_t>(last - layout.rects.begin())};
}

theme::FrameColours FlamePainter::colours(const analysis::FlameTree& tree, const present::FlameRect& rect,
                                          const FlamePaintOptions& options)
{
    const std::string_view name = rect.kind == present::FlameRectKind::merged ? std::string_view() : tree.name(rect.node);
    const bool other = rect.colour == present::ColourClass::other && rect.kind != present::FlameRectKind::merged;
    const std::string_view family = other ? present::colourFamily(tree, rect.node) : std::string_view();
    const quint64 key = (static_cast<quint64>(present::nameHash(family) & 0xffffffu) << 40) | (static_cast<quint64>(rect.colour) << 33)
        | (options.dark ? quint64{1} << 32 : 0) | present::nameHash(name);
    auto it = m_colours.find(key);
    if (it == m_colours.end())
        it = m_colours.insert(key, theme::frameColours(options.dark, frameRole(rect.colour),
                                                       QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())),
                                                       QString::fromUtf8(family.data(), static_cast<qsizetype>(family.size()))));
    theme::FrameColours result = *it;
    if (rect.kind == present::FlameRectKind::ancestor) result.fill = mix(result.fill, options.background, 0.45);
    if (faded(rect, options)) result.fill = mix(result.fill, options.background, 0.72);
    if (rect.kind == present::FlameRectKind::ancestor || faded(rect, options)) result.text = theme::readableOn(result.fill, options.dark);
    return result;
}

void FlamePainter::paint(QImage& image, const analysis::FlameTree& tree, const present::FlameLayout& layout,
                         const FlamePaintOptions& options)
{
    image.fill(options.background);
    if (layout.rows <= 0 || layout.rects.empty()) return;
    const double ratio = image.devicePixelRatio();
    const double height = image.height() / ratio;
    const double rowHeight = layout.viewport.rowHeight;
    const int last = layout.rows - 1;
    const int firstRow = std::clamp(static_cast<int>(std::floor(options.top / rowHeight)), 0, last);
    const int lastRow = std::clamp(static_cast<int>(std::floor((options.top + height) / rowHeight)), 0, last);
    for (int row = firstRow; row <= lastRow; ++row) paintRow(image, tree, layout, row, options);
    paintLabels(image, tree, layout, options, firstRow, lastRow);
}

void FlamePainter::paintRow(QImage& image, const analysis::FlameTree& tree, const present::FlameLayout& layout, int row,
                            const FlamePaintOptions& options)
{
    const double ratio = image.devicePixelRatio();
    const auto [first, last] = visibleRange(layout, row, options.left, options.left + image.width() / ratio);
    if (first >= last) return;
    const int width = image.width();
    const QRgb background = options.background.rgb();
    m_line.assign(static_cast<size_t>(width), background);
    m_marked.clear();
    for (size_t i = first; i < last; ++i) {
        const present::FlameRect& rect = layout.rects[i];
        const int x1 = static_cast<int>(std::clamp(std::round((rect.x - options.left) * ratio), 0.0, double(width)));
        const int x2 = static_cast<int>(std::clamp(std::round((rect.x + rect.w - options.left) * ratio), 0.0, double(width)));
        if (x2 <= x1) continue;
        const QRgb fill = colours(tree, rect, options).fill.rgb();
        // A gap of one device pixel keeps neighbours apart; very narrow frames go without it.
        const int end = x2 - x1 > 3 ? x2 - 1 : x2;
        if (rect.kind == present::FlameRectKind::merged) {
            // Stripes say "several small frames".
            for (int x = x1; x < end; ++x) m_line[static_cast<size_t>(x)] = (x - x1) % 3 == 2 && end - x1 > 4 ? background : fill;
        } else {
            std::fill(m_line.begin() + x1, m_line.begin() + end, fill);
            if (options.showSelf && isFrame(rect)) {
                const analysis::FlameNode& node = tree.node(rect.node);
                const double covered = node.total > 0 ? 1 - std::clamp(static_cast<double>(node.self) / static_cast<double>(node.total), 0.0, 1.0) : 1;
                const int until = std::min(end, x1 + static_cast<int>(std::lround((x2 - x1) * covered)));
                std::fill(m_line.begin() + x1, m_line.begin() + until, mix(QColor(fill), options.background, kPale).rgb());
            }
        }
    }
    // The lowest pixels of a row have the marks, each as wide as its share of the frame.
    for (size_t i = first; i < last; ++i) {
        const present::FlameRect& rect = layout.rects[i];
        if (!(rect.mark.share > 0) || !isFrame(rect)) continue;
        const double x = std::clamp(std::round((rect.x - options.left) * ratio), 0.0, double(width));
        const double end = std::clamp(std::round((rect.x + rect.w - options.left) * ratio) - 1, 0.0, double(width));
        const double markEnd = std::min(end, std::round((rect.x + rect.w * rect.mark.share - options.left) * ratio));
        if (m_marked.empty()) m_marked = m_line;
        present::FlameRect status = rect;
        status.colour = rect.mark.colour;
        const auto from = static_cast<size_t>(x), to = static_cast<size_t>(std::min(end, std::max(markEnd, x + kNarrowestMark * ratio)));
        const QRgb fill = colours(tree, status, options).fill.rgb();
        for (size_t at = from; at < to; ++at) m_marked[at] = fill;
    }
    const double yOfRow = layout.rects[first].y - options.top;
    const int y1 = static_cast<int>(std::round(yOfRow * ratio));
    const int y2 = static_cast<int>(std::round((yOfRow + layout.viewport.rowHeight) * ratio)) - 1;
    const int marksBegin = m_marked.empty() ? y2 : y2 - static_cast<int>(std::lround(kMarkHeight * ratio));
    for (int y = std::max(y1, 0); y < std::min(y2, image.height()); ++y)
        std::memcpy(image.scanLine(y), (y >= marksBegin ? m_marked : m_line).data(), static_cast<size_t>(width) * sizeof(QRgb));
}

void FlamePainter::paintLabels(QImage& image, const analysis::FlameTree& tree, const present::FlameLayout& layout,
                               const FlamePaintOptions& options, int firstRow, int lastRow)
{
    QPainter painter(&image);
    painter.setFont(m_font);
    const QFontMetricsF metrics(m_font);
    const double right = options.left + image.width() / image.devicePixelRatio();
    for (int row = firstRow; row <= lastRow; ++row) {
        const auto [first, last] = visibleRange(layout, row, options.left, right);
        for (size_t i = first; i < last; ++i) {
            const present::FlameRect& rect = layout.rects[i];
            const double x1 = std::max(rect.x, options.left), x2 = std::min(rect.x + rect.w, right);
            const double room = x2 - x1 - 2 * kLabelPadding;
            if (room < kNarrowestLabel - 2 * kLabelPadding) continue;
            QString label = labelOf(tree, rect);
            if (label.isEmpty()) continue;
            auto width = m_widths.constFind(label);
            if (width == m_widths.constEnd()) width = m_widths.insert(label, metrics.horizontalAdvance(label));
            if (*width > room) label = metrics.elidedText(label, Qt::ElideRight, room);
            if (label.size() < 2 && *width > room) continue; // an ellipsis alone says nothing
            const theme::FrameColours colour = colours(tree, rect, options);
            // Most of the text stands on the pale part.
            const bool pale = options.showSelf && isFrame(rect) && tree.node(rect.node).self * 2 < tree.node(rect.node).total;
            painter.setPen(pale ? theme::readableOn(mix(colour.fill, options.background, kPale), options.dark) : colour.text);
            const double baseline = rect.y - options.top + (layout.viewport.rowHeight + metrics.ascent() - metrics.descent()) / 2 - 0.5;
            painter.drawText(QPointF(x1 - options.left + kLabelPadding, baseline), label);
        }
    }
}

} // namespace stepscope::flame
