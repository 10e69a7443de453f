// FlameWidget: the flame graph of a FlameTree: zoom with undo, search, keyboard, hover details.
// Owner: ui/flame. Thread: UI thread; geometry comes from core/present and costs as much as there are pixels.
// Units: logical pixels.
//
// x is the share of the time, not time itself; y is the depth. Click selects and zooms, Backspace or Alt+Left undoes,
// Alt+Right redoes, 0 shows the whole step, Escape clears the selection first and the zoom next.
#pragma once

#include "core/present/flame_layout.h"
#include "ui/flame/flame_painter.h"
#include "ui/state/history.h"
#include "ui/theme/theme.h"

#include <QAbstractScrollArea>
#include <QImage>

#include <memory>
#include <optional>

class QLabel;

namespace stepscope::flame {

// Where the view is: the node that fills the width, magnified around a point.
struct FlamePlace {
    uint32_t node = 0;
    double scale = 1;  // 1: the node fills the width exactly
    double offset = 0; // left edge as a share of the magnified width, 0..1
    friend bool operator==(const FlamePlace&, const FlamePlace&) = default;
};

class FlameWidget : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit FlameWidget(const theme::Theme& theme, QWidget* parent = nullptr);

    using TreePtr = std::shared_ptr<const analysis::FlameTree>;
    // Null shows the empty text. Zoom and its history, selection, search and the details under the mouse are kept where
    // the new tree has the same path, if it is of the same session or `sameRun` says that it is a later state of the same run.
    void setTree(TreePtr tree, bool sameRun = false);
    const TreePtr& tree() const { return m_tree; }
    void setEmptyText(const QString& text); // also of a tree of samples without frames
    const QString& emptyText() const { return m_emptyText; }

    void zoomTo(uint32_t node);
    void undoZoom();
    void redoZoom();
    void showWhole();
    bool atHome() const { return place() == home(); }
    bool canUndo() const { return m_history.canUndo(); }
    bool canRedo() const { return m_history.canRedo(); }
    uint32_t zoomedNode() const { return m_history.current().node; }
    const FlamePlace& place() const { return m_history.current(); }
    // Magnifies around a point of the viewport; undone in one go with the wheel steps around it.
    void zoomBy(double factor, double x);

    uint32_t selectedNode() const { return m_selected; }
    void select(uint32_t node); // present::kNoNode selects nothing
    // Zooms out and scrolls as far as the frame needs it.
    void ensureVisible(uint32_t node);
    // Selects the leaf at the end of the widest path below the zoomed frame.
    void followWidest();
    // Outlines the frames of a layer.
    void setHighlightedLayer(base::LayerId layer);

    void setRootAtBottom(bool atBottom);
    bool rootAtBottom() const { return m_rootAtBottom; }
    // Pale what frames spend in the frames inside them, so that what they spend themselves stands out.
    void setShowSelf(bool on);
    bool showSelf() const { return m_showSelf; }

    void setSearch(const present::NameMatcher& matcher); // an empty function ends the search
    const present::FlameMatches& matches() const { return m_matches; }
    bool searching() const { return static_cast<bool>(m_matcher); }
    int currentMatch() const { return m_currentMatch; } // index into matches().nodes, -1 none
    void nextMatch(int direction); // 1 or -1; selects the match and scrolls to it

    const present::FlameLayout& layout() const { return m_layout; }
    int layoutCount() const { return m_layoutCount; }
    // Where a rectangle is in the viewport.
    QRectF viewportRect(const present::FlameRect& rect) const;
    const present::FlameRect* rectAt(const QPointF& viewportPosition) const;
    // Shows the details of what is at the position as if the mouse were there.
    void hoverAt(const QPointF& viewportPosition);

    QSize sizeHint() const override { return {900, 420}; }

signals:
    void placeChanged();
    void selectionChanged(uint32_t node); // by the user
    void matchesChanged();
    void searchCleared(); // Escape ended the search
    void menuRequested(uint32_t node, const QPoint& globalPosition); // kNoNode beside the frames
    void sourceRequested(uint32_t node);                            // E on the selected frame

protected:
    bool viewportEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void changeEvent(QEvent* event) override;

private:
    void relayout();
    void updateScrollBar();
    void invalidate(); // pixels only
    void go(const FlamePlace& place);
    void placeMoved();
    void runSearch();
    void moveSelection(present::FlameMove move);
    void escape();
    void setHovered(const present::FlameRect* rect, const QPointF& position);
    void pan(const QPointF& delta);
    double graphWidth() const;
    QRectF graphRect() const;
    double contentLeft() const; // of the magnified content
    double contentTop() const;  // of what is scrolled
    void paintAxis(QPainter& painter);
    QString axisTitle() const;
    void paintMarks(QPainter& painter);
    void outline(QPainter& painter, const present::FlameRect& rect, const QColor& colour, double width) const;
    QString detailsHtml(const present::FlameRect& rect) const;
    // The step where there is one: the loader's threads beside it would only make it narrower. They are one click away,
    // on the frame above it.
    FlamePlace home() const;

    const theme::Theme& m_theme;
    TreePtr m_tree;
    QString m_emptyText;
    present::FlameLayout m_layout;
    int m_layoutCount = 0;
    FlamePainter m_painter;
    QImage m_image;
    bool m_imageValid = false;
    state::History<FlamePlace> m_history;
    bool m_magnifying = false; // wheel steps that belong to one entry of the history
    bool m_rootAtBottom = false;
    bool m_showSelf = false;
    uint32_t m_selected = present::kNoNode;
    base::LayerId m_highlighted;
    std::vector<uint8_t> m_highlightedNodes; // one per node
    present::NameMatcher m_matcher;
    present::FlameMatches m_matches;
    int m_currentMatch = -1;
    QLabel* m_details = nullptr;
    const present::FlameRect* m_hovered = nullptr; // into m_layout.rects
    QPointF m_hoverPosition;
    std::optional<QPointF> m_pressed;
    QPointF m_lastDrag;
    bool m_dragging = false;
};

} // namespace stepscope::flame
