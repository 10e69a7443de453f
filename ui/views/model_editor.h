// ModelEditor: the text of a model file with line numbers and the place of an error underlined.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "core/base/error.h"
#include "ui/theme/theme.h"

#include <QPlainTextEdit>

#include <optional>

namespace stepscope::views {

class ModelEditor : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit ModelEditor(const theme::Theme& theme, QWidget* parent = nullptr);

    // Marks the place of an error; nothing removes the mark.
    void setError(const std::optional<base::Error>& error);
    int errorLine() const { return m_error.has_value() ? m_error->where.line : 0; } // 1-based, 0 without an error
    void goToError();

    int gutterWidth() const;
    void paintGutter(QPaintEvent* event); // called by the gutter

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void updateMarks();

    const theme::Theme& m_theme;
    QWidget* m_gutter;
    std::optional<base::Error> m_error;
};

} // namespace stepscope::views
