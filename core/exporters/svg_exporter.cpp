#include "core/exporters/svg_exporter.h"

#include "core/exporters/output_file.h"
#include "core/exporters/stack_weights.h"
#include "core/exporters/svg_script.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

constexpr double kWidth = 1200, kMargin = 10, kTop = 56, kBottom = 36;
constexpr double kRow = 17;
constexpr uint32_t kMaxDepth = 400; // rows that are drawn: no picture of a million lines
constexpr double kSmallest = 0.05;  // narrower boxes are not drawn, px
constexpr size_t kMaxName = 400;

// Text for an attribute or an element; what XML 1.0 forbids becomes U+FFFD.
std::string xml(std::string_view text)
{
    std::string out;
    for (const char c : text.substr(0, kMaxName)) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else if (static_cast<unsigned char>(c) < 0x20) out += c == '\t' ? " " : "\xef\xbf\xbd";
        else out += c;
    }
    if (text.size() > kMaxName) {
        while (!out.empty() && (out.back() & 0x80) != 0) // no half characters
            out.pop_back();
        out += "...";
    }
    return out;
}

// FNV-1a of the name.
uint32_t hashOf(std::string_view name)
{
    uint32_t hash = 2166136261u;
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

std::string colourOf(std::string_view name)
{
    const uint32_t hash = hashOf(name);
    return fmt::format("hsl({},{}%,{}%)", 8 + hash % 44, 62 + (hash >> 8) % 24, 62 + (hash >> 16) % 14);
}

std::string amount(int64_t weight, std::string_view unit)
{
    const auto value = static_cast<double>(weight);
    if (unit == "ns")
        return value >= 1e9 ? fmt::format("{:.3f} s", value / 1e9)
            : value >= 1e6  ? fmt::format("{:.3f} ms", value / 1e6)
                            : fmt::format("{:.3f} \u00b5s", value / 1e3);
    std::string digits = std::to_string(weight);
    for (size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, "\u2009"); // thin space
    }
    return unit.empty() ? digits : digits + " " + std::string(unit);
}

class SvgWriter {
public:
    SvgWriter(const StackWeights& stacks, std::string title, OutputFile& file)
        : m_stacks(stacks),
          m_tree(mergeByName(stacks)),
          m_title(std::move(title)),
          m_file(file),
          m_rows(std::min(m_tree.depth, kMaxDepth) + 1)
    {
    }

    base::Status write(const std::stop_token& stop)
    {
        const double height = kTop + kRow * m_rows + kBottom;
        m_file.write(
            fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
                        "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
                        "font-size=\"12\" data-total=\"{2}\" data-unit=\"{3}\">\n",
                        kWidth, height, m_tree.total, xml(m_stacks.unit)));
        m_file.write(kSvgStyle);
        m_file.write(fmt::format("<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n<text class=\"title\" "
                                 "x=\"{}\" y=\"24\">{}</text>\n",
                                 kWidth / 2, xml(m_title)));
        m_file.write(fmt::format(
            "<text id=\"reset\" class=\"button\" x=\"{}\" y=\"44\" visibility=\"hidden\">Reset zoom</text>\n<text "
            "id=\"search\" class=\"button\" x=\"{}\" y=\"44\" text-anchor=\"end\">Search</text>\n",
            kMargin, kWidth - kMargin));
        m_file.write(fmt::format("<text id=\"matched\" x=\"{}\" y=\"{}\" text-anchor=\"end\"> </text>\n<text "
                                 "id=\"details\" x=\"{}\" y=\"{}\">{}</text>\n<g id=\"frames\">\n",
                                 kWidth - kMargin, height - 14, kMargin, height - 14, xml(hint())));
        box("all", 0, m_tree.total, 0);
        if (!boxes(stop)) return cancelled();
        m_file.write("</g>\n<script><![CDATA[\n");
        m_file.write(kSvgScript);
        m_file.write("]]></script>\n</svg>\n");
        return {};
    }

private:
    std::string hint() const
    {
        std::string text = "Click a box to zoom, Ctrl+F or Search to search.";
        if (m_tree.depth > kMaxDepth) text += fmt::format(" {} more rows are not drawn.", m_tree.depth - kMaxDepth);
        if (m_tree.negative > 0)
            text += fmt::format(" Negative weights ({} in all) are not drawn.", amount(m_tree.negative, m_stacks.unit));
        return text;
    }

    // `start` and `weight` are what the script counts with; it places the boxes anew after each zoom.
    void box(std::string_view name, int64_t start, int64_t weight, uint32_t depth)
    {
        const double scale = m_tree.total > 0 ? (kWidth - 2 * kMargin) / static_cast<double>(m_tree.total) : 0;
        const double x = kMargin + static_cast<double>(start) * scale, width = static_cast<double>(weight) * scale;
        const double y = kTop + kRow * (m_rows - 1 - depth);
        const double share =
            m_tree.total > 0 ? 100.0 * static_cast<double>(weight) / static_cast<double>(m_tree.total) : 0;
        m_file.write(fmt::format("<g class=\"f\" data-s=\"{}\" data-w=\"{}\" data-d=\"{}\"><title>{}\n{}, {:.2f} "
                                 "%</title><rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
                                 "fill=\"{}\"/><text x=\"{:.2f}\" y=\"{}\"></text></g>\n",
                                 start, weight, depth, xml(name), amount(weight, m_stacks.unit), share, x, y, width,
                                 kRow - 1, depth == 0 ? std::string("#d8d8d8") : colourOf(name), x + 3, y + 12));
    }

    // From the outermost on, with a stack of our own: the tree may be deeper than any stack of calls.
    bool boxes(const std::stop_token& stop)
    {
        struct Open {
            uint32_t node;
            int64_t start;
        };
        std::vector<Open> open;
        const double scale = m_tree.total > 0 ? (kWidth - 2 * kMargin) / static_cast<double>(m_tree.total) : 0;
        const auto push = [&](uint32_t first, int64_t start) {
            const size_t mark = open.size();
            for (uint32_t at = first; at != StackWeights::kNone; at = m_tree.nodes[at].nextSibling) {
                open.push_back({at, start});
                start += m_tree.nodes[at].total;
            }
            std::reverse(open.begin() + static_cast<std::ptrdiff_t>(mark), open.end());
        };
        push(m_tree.firstRoot, 0);
        while (!open.empty()) {
            if (stop.stop_requested()) return false;
            const Open next = open.back();
            open.pop_back();
            const MergedStacks::Node& node = m_tree.nodes[next.node];
            if (node.depth > kMaxDepth || static_cast<double>(node.total) * scale < kSmallest) continue;
            box(node.name.empty() ? std::string_view("[unknown]") : node.name, next.start, node.total, node.depth);
            push(node.firstChild, next.start);
        }
        return true;
    }

    const StackWeights& m_stacks;
    MergedStacks m_tree;
    std::string m_title;
    OutputFile& m_file;
    uint32_t m_rows;
};

} // namespace

base::Status exportSvg(const session::Session& session, const std::filesystem::path& path, bool replace,
                       std::stop_token stop, const base::Progress&)
{
    const StackWeights stacks = stackWeights(session);
    return writeOutput(path, replace, [&](OutputFile& file) {
        return SvgWriter(stacks, fmt::format("Flame graph: {}", stacks.name), file).write(stop);
    });
}

} // namespace stepscope::exporters
