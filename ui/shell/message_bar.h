// MessageBar: errors and notices above the views; never a dialog in the way.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include "core/base/error.h"
#include "ui/theme/theme.h"

#include <QToolBar>

class QLabel;
class QToolButton;

namespace stepscope::shell {

class MessageBar : public QToolBar {
    Q_OBJECT
public:
    explicit MessageBar(const theme::Theme& theme, QWidget* parent = nullptr);

    void showError(const QString& what, const base::Error& error);
    void showNotice(const QString& text);
    QString text() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void tint();
    void fit();

    const theme::Theme& m_theme;
    QLabel* m_icon;
    QLabel* m_text;
    QToolButton* m_close;
};

} // namespace stepscope::shell
