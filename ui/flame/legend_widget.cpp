#include "ui/flame/legend_widget.h"

#include "ui/flame/frame_role.h"

#include <QPainter>

#include <algorithm>
#include <array>

namespace stepscope::flame {

namespace {

constexpr int kSwatch = 11, kGap = 5, kBetween = 14, kMargin = 6;

QString nameOf(present::ColourClass colour)
{
    const std::string_view name = present::colourClassName(colour);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

} // namespace

LegendWidget::LegendWidget(const theme::Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    connect(&m_theme, &theme::Theme::changed, this, qOverload<>(&QWidget::update));
}

void LegendWidget::setTree(const analysis::FlameTree* tree)
{
    std::array<bool, present::kColourClassCount> seen{};
    if (tree != nullptr)
        for (uint32_t node = 1; node < tree->nodes.size(); ++node) {
            seen[static_cast<size_t>(present::colourOf(*tree, node))] = true;
            if (const present::StatusMark mark = present::statusMark(*tree, node); mark.share > 0) seen[static_cast<size_t>(mark.colour)] = true;
        }
    m_classes.clear();
    for (size_t i = 0; i < seen.size(); ++i) {
        const auto colour = static_cast<present::ColourClass>(i);
        if (seen[i] && colour != present::ColourClass::root) m_classes.push_back(colour);
    }
    if (tree != nullptr && std::find(m_classes.begin(), m_classes.end(), present::ColourClass::remainder) == m_classes.end())
        m_classes.push_back(present::ColourClass::remainder);
    updateGeometry();
    update();
}

template <class Place>
int LegendWidget::flow(int width, Place place) const
{
    const QFontMetrics metrics(m_theme.small());
    const int line = std::max(kSwatch, metrics.height()) + 4;
    int x = kMargin, y = kMargin / 2;
    for (const present::ColourClass colour : m_classes) {
        const int entry = kSwatch + kGap + metrics.horizontalAdvance(nameOf(colour));
        if (x + entry > width - kMargin && x > kMargin) {
            x = kMargin;
            y += line;
        }
        place(colour, x, y, line);
        x += entry + kBetween;
    }
    return y + line + kMargin / 2;
}

QSize LegendWidget::sizeHint() const { return {300, heightForWidth(std::max(width(), 300))}; }

int LegendWidget::heightForWidth(int width) const
{
    return flow(width, [](present::ColourClass, int, int, int) {});
}

void LegendWidget::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setFont(m_theme.small());
    flow(width(), [&](present::ColourClass colour, int x, int y, int line) {
        const QRect swatch(x, y + (line - kSwatch) / 2, kSwatch, kSwatch);
        painter.fillRect(swatch, theme::roleColour(m_theme.dark(), frameRole(colour)));
        if (colour == present::ColourClass::other) // several hues, by category or name
            for (int i = 0; i < 3; ++i)
                painter.fillRect(QRect(swatch.left() + i * kSwatch / 3, swatch.top(), (i + 1) * kSwatch / 3 - i * kSwatch / 3, kSwatch),
                                 theme::familyColour(m_theme.dark(), i));
        painter.setPen(m_theme.colours().dimText);
        painter.drawText(QRect(x + kSwatch + kGap, y, width(), line), Qt::AlignVCenter | Qt::AlignLeft, nameOf(colour));
    });
}

} // namespace stepscope::flame
