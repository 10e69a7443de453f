// SearchBar: text or regular expression, share of the time matched, next and previous.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "core/present/flame_layout.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QToolButton;

namespace stepscope::views {

class SearchBar : public QWidget {
    Q_OBJECT
public:
    explicit SearchBar(const theme::Theme& theme, QWidget* parent = nullptr);

    void open(); // shows, selects the text, takes the focus
    void closeBar();
    void setText(const QString& text);
    QString text() const;
    void setRegularExpression(bool on);
    // What was found; `current` counts from 0, negative for none.
    void showResult(const present::FlameMatches& matches, int current);
    QString resultText() const;

signals:
    // An empty matcher: nothing to search.
    void searched(const stepscope::present::NameMatcher& matcher);
    void nextRequested(int direction);
    void closed();

protected:
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void search();
    void tint();

    const theme::Theme& m_theme;
    QLineEdit* m_edit;
    QToolButton* m_regex;
    QToolButton* m_previous;
    QToolButton* m_next;
    QToolButton* m_close;
    QLabel* m_result;
    bool m_invalid = false;
};

} // namespace stepscope::views
