// MessageBar: errors and notices above the views, with what can be done about them; never a dialog in the way.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include "core/base/error.h"
#include "ui/theme/theme.h"

#include <QToolBar>

#include <functional>

class QLabel;
class QToolButton;

namespace stepscope::shell {

class MessageBar : public QToolBar {
    Q_OBJECT
public:
    explicit MessageBar(const theme::Theme& theme, QWidget* parent = nullptr);

    void showError(const QString& what, const base::Error& error);
    void showNotice(const QString& text);
    // What stays until it is dismissed, with a mark of warning.
    void showWarning(const QString& text);
    // A button beside the text, until the next text. A click dismisses the text as well.
    void offer(const QString& action, std::function<void()> run);
    QString text() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showText(const QString& html, bool marked);
    void tint();
    void fit();

    const theme::Theme& m_theme;
    QLabel* m_icon;
    QLabel* m_text;
    QToolButton* m_offer;
    QToolButton* m_close;
    QAction* m_offerAction = nullptr; // a tool bar shows and hides its widgets by their actions
    std::function<void()> m_run;
};

} // namespace stepscope::shell
