#include "ui/theme/colours.h"

#include <array>
#include <cmath>

namespace stepscope::theme {

namespace {

struct Hue {
    int hue;        // degrees
    int saturation; // 0..255
    int light;      // HSL lightness in the light appearance
    int dark;       // and in the dark one
    int spread = 0; // degrees that names move the hue to either side
};

// Indexed by FrameRole. Neighbouring phases differ in lightness as well as in hue.
constexpr std::array<Hue, kFrameRoleCount> kHues = {{
    {215, 20, 214, 76},   // root
    {215, 28, 200, 92},   // step
    {32, 45, 176, 92},    // setup
    {41, 225, 148, 104},  // data wait: amber
    {52, 160, 172, 72},   // host to device: yellow
    {202, 150, 168, 88},  // forward: sky blue
    {318, 95, 202, 112},  // loss: purple
    {164, 110, 152, 68},  // backward: bluish green
    {236, 90, 130, 134},  // optimiser: indigo
    {60, 110, 190, 84},   // device to host
    {36, 130, 186, 72},   // loading: pale amber
    {90, 40, 190, 88},    // evaluation
    {350, 130, 212, 120}, // naive: pink
    {6, 190, 140, 104},   // slow: red
    {24, 70, 160, 84},    // creation: brown
    {49, 215, 142, 92},   // allocation: yellow
    {280, 34, 204, 84},   // waiting: pale mauve
    {202, 110, 178, 82},  // generated: sky blue
    {222, 26, 190, 84},   // library: grey blue
    {28, 22, 166, 96},    // operating system: taupe
    {160, 74, 174, 70},   // own code: bluish green
    {215, 8, 230, 62},    // remainder
    {220, 12, 200, 104},  // other
    {202, 130, 176, 84, 20},  // operator: sky blue
    {236, 80, 150, 128, 14},  // call: indigo
    {164, 105, 158, 70, 20},  // kernel: bluish green
    {41, 190, 158, 100, 8},  // copy: amber
    {318, 70, 210, 104, 16},  // annotation: pale purple
}};

// Of what no role knows: quiet, away from the red of slow paths and from the yellow of allocations, in the order in
// which neighbours of the table differ most.
constexpr std::array<Hue, 8> kFamilies = {{
    {204, 78, 188, 92, 7},
    {268, 58, 206, 108, 7},
    {152, 58, 182, 80, 7},
    {26, 84, 194, 92, 7},
    {228, 62, 198, 112, 7},
    {88, 50, 184, 78, 7},
    {310, 52, 206, 100, 7},
    {178, 62, 178, 80, 7},
}};

QColor shade(bool dark, const Hue& h, int turn, int offset)
{
    return QColor::fromHsl((h.hue + turn + 360) % 360, h.saturation, qBound(0, (dark ? h.dark : h.light) + offset, 255));
}

double linear(double channel) { return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4); }

double luminance(const QColor& c)
{
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

Colours makeLight()
{
    Colours c;
    c.window = QColor(0xee, 0xf0, 0xf3);
    c.panel = QColor(0xf7, 0xf8, 0xfa);
    c.base = QColor(0xff, 0xff, 0xff);
    c.alternate = QColor(0xf5, 0xf7, 0xfa);
    c.text = QColor(0x1c, 0x21, 0x28);
    c.dimText = QColor(0x57, 0x60, 0x6d);
    c.disabledText = QColor(0x96, 0x9e, 0xa9);
    c.line = QColor(0xdc, 0xe0, 0xe6);
    c.strongLine = QColor(0xb4, 0xbc, 0xc6);
    c.accent = QColor(0x0b, 0x66, 0xc3);
    c.accentText = QColor(0xff, 0xff, 0xff);
    c.selection = QColor(0xcf, 0xe3, 0xf9);
    c.selectionText = QColor(0x10, 0x1a, 0x26);
    c.good = QColor(0x0a, 0x70, 0x52);
    c.warning = QColor(0x8a, 0x54, 0x00);
    c.error = QColor(0xb3, 0x26, 0x1e);
    c.bar = QColor(0x4a, 0x90, 0xc8);
    c.barDisturbed = QColor(0xe3, 0x8b, 0x1f);
    c.median = QColor(0x0a, 0x70, 0x52);
    c.tail = QColor(0xa8, 0x2b, 0x86);
    c.match = QColor(0xb0, 0x16, 0x8e);
    return c;
}

Colours makeDark()
{
    Colours c;
    c.dark = true;
    c.window = QColor(0x16, 0x19, 0x1e);
    c.panel = QColor(0x1d, 0x21, 0x27);
    c.base = QColor(0x1a, 0x1e, 0x23);
    c.alternate = QColor(0x20, 0x25, 0x2b);
    c.text = QColor(0xe4, 0xe8, 0xed);
    c.dimText = QColor(0xa0, 0xaa, 0xb6);
    c.disabledText = QColor(0x66, 0x70, 0x7c);
    c.line = QColor(0x30, 0x36, 0x3e);
    c.strongLine = QColor(0x4b, 0x54, 0x60);
    c.accent = QColor(0x5a, 0xa9, 0xf0);
    c.accentText = QColor(0x0c, 0x14, 0x1d);
    c.selection = QColor(0x25, 0x45, 0x66);
    c.selectionText = QColor(0xf2, 0xf6, 0xfa);
    c.good = QColor(0x4c, 0xc3, 0x9a);
    c.warning = QColor(0xe8, 0xb0, 0x4f);
    c.error = QColor(0xff, 0x8a, 0x80);
    c.bar = QColor(0x4a, 0x8f, 0xc6);
    c.barDisturbed = QColor(0xe0, 0x97, 0x3c);
    c.median = QColor(0x4c, 0xc3, 0x9a);
    c.tail = QColor(0xe0, 0x84, 0xc8);
    c.match = QColor(0xff, 0x8c, 0xe6);
    return c;
}

} // namespace

const Colours& lightColours()
{
    static const Colours colours = makeLight();
    return colours;
}

const Colours& darkColours()
{
    static const Colours colours = makeDark();
    return colours;
}

double contrastRatio(const QColor& a, const QColor& b)
{
    const double la = luminance(a), lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor readableOn(const QColor& fill, bool preferWhite)
{
    const QColor black(0, 0, 0), white(255, 255, 255);
    // Neighbours of one hue should not flip between black and white when both can be read.
    const QColor preferred = preferWhite ? white : black;
    if (contrastRatio(fill, preferred) >= 4.5) return preferred;
    return contrastRatio(fill, black) >= contrastRatio(fill, white) ? black : white;
}

quint32 stableHash(QStringView text)
{
    quint32 hash = 2166136261u;
    const QByteArray bytes = text.toUtf8();
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619u;
    return hash;
}

FrameColours frameColours(bool dark, FrameRole role, QStringView name, QStringView family)
{
    const quint32 hash = stableHash(name);
    const bool byName = role == FrameRole::other && !(name.isEmpty() && family.isEmpty());
    const Hue& hue = byName ? kFamilies[stableHash(family.isEmpty() ? name : family) % kFamilies.size()] : kHues[static_cast<size_t>(role)];
    // Five shades, and five turns of the hue where names have nothing else to differ by: enough to tell neighbours apart,
    // close enough to read as one hue.
    const int offset = (static_cast<int>(hash % 5u) - 2) * 7;
    const int turn = (static_cast<int>(hash / 5u % 5u) - 2) * hue.spread / 2;
    const QColor fill = shade(dark, hue, turn, offset);
    return {fill, readableOn(fill, dark)};
}

QColor roleColour(bool dark, FrameRole role) { return shade(dark, kHues[static_cast<size_t>(role)], 0, 0); }

QColor familyColour(bool dark, int family) { return shade(dark, kFamilies[static_cast<size_t>(family) % kFamilies.size()], 0, 0); }

QPalette toPalette(const Colours& c)
{
    QPalette p;
    p.setColor(QPalette::Window, c.window);
    p.setColor(QPalette::WindowText, c.text);
    p.setColor(QPalette::Base, c.base);
    p.setColor(QPalette::AlternateBase, c.alternate);
    p.setColor(QPalette::Text, c.text);
    p.setColor(QPalette::PlaceholderText, c.dimText);
    p.setColor(QPalette::Button, c.panel);
    p.setColor(QPalette::ButtonText, c.text);
    p.setColor(QPalette::BrightText, c.error);
    p.setColor(QPalette::ToolTipBase, c.panel);
    p.setColor(QPalette::ToolTipText, c.text);
    p.setColor(QPalette::Highlight, c.selection);
    p.setColor(QPalette::HighlightedText, c.selectionText);
    p.setColor(QPalette::Link, c.accent);
    p.setColor(QPalette::LinkVisited, c.accent);
    p.setColor(QPalette::Light, c.dark ? c.strongLine : c.base);
    p.setColor(QPalette::Midlight, c.line);
    p.setColor(QPalette::Mid, c.strongLine);
    p.setColor(QPalette::Dark, c.dark ? QColor(0x0c, 0x0e, 0x11) : QColor(0x9a, 0xa3, 0xae));
    p.setColor(QPalette::Shadow, QColor(0, 0, 0));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText})
        p.setColor(QPalette::Disabled, role, c.disabledText);
    p.setColor(QPalette::Disabled, QPalette::Highlight, c.line);
    return p;
}

} // namespace stepscope::theme
