#include "ui/views/model_editor.h"

#include <QPainter>
#include <QSyntaxHighlighter>
#include <QTextBlock>

#include <algorithm>

namespace stepscope::views {

namespace {

class Gutter : public QWidget {
public:
    explicit Gutter(ModelEditor* editor)
        : QWidget(editor)
        , m_editor(editor)
    {
    }

protected:
    void paintEvent(QPaintEvent* event) override { m_editor->paintGutter(event); }

private:
    ModelEditor* m_editor;
};

// Comments are dimmed and words before '(' stand out; that is all a model file needs.
class Highlighter : public QSyntaxHighlighter {
public:
    Highlighter(QTextDocument* document, const theme::Theme& theme)
        : QSyntaxHighlighter(document)
        , m_theme(theme)
    {
        QObject::connect(&theme, &theme::Theme::changed, this, &QSyntaxHighlighter::rehighlight);
    }

protected:
    void highlightBlock(const QString& text) override
    {
        const theme::Colours& c = m_theme.colours();
        const auto wordChar = [](QChar ch) { return ch.isLetterOrNumber() || ch == QLatin1Char('_') || ch == QLatin1Char('.'); };
        for (qsizetype i = 0; i < text.size();) {
            if (text[i] == QLatin1Char('#')) {
                setFormat(static_cast<int>(i), static_cast<int>(text.size() - i), c.dimText);
                return;
            }
            const qsizetype begin = i;
            while (i < text.size() && wordChar(text[i])) ++i;
            if (i > begin && i < text.size() && text[i] == QLatin1Char('('))
                setFormat(static_cast<int>(begin), static_cast<int>(i - begin), c.accent);
            if (i == begin) ++i;
        }
    }

private:
    const theme::Theme& m_theme;
};

} // namespace

ModelEditor::ModelEditor(const theme::Theme& theme, QWidget* parent)
    : QPlainTextEdit(parent)
    , m_theme(theme)
    , m_gutter(new Gutter(this))
{
    setLineWrapMode(QPlainTextEdit::NoWrap);
    setFont(theme.monospace());
    setTabStopDistance(4 * fontMetrics().horizontalAdvance(QLatin1Char(' ')));
    setPlaceholderText(tr("model = Chain(\n    Dense(784 => 128, relu),\n    Dense(128 => 10))\nloss = logitcrossentropy\n"
                          "optimiser = Adam(0.001)\ndata = FashionMNIST(batchsize = 64, shuffle = true)"));
    setAccessibleName(tr("Model text"));
    new Highlighter(document(), theme);
    connect(this, &QPlainTextEdit::blockCountChanged, this, [this] { setViewportMargins(gutterWidth(), 0, 0, 0); });
    connect(this, &QPlainTextEdit::updateRequest, this, [this](const QRect& rect, int dy) {
        if (dy != 0) m_gutter->scroll(0, dy);
        else m_gutter->update(0, rect.y(), m_gutter->width(), rect.height());
    });
    connect(&theme, &theme::Theme::changed, this, &ModelEditor::updateMarks);
    setViewportMargins(gutterWidth(), 0, 0, 0);
}

int ModelEditor::gutterWidth() const
{
    const int digits = std::max(2, static_cast<int>(QString::number(std::max(1, blockCount())).size()));
    return 12 + digits * fontMetrics().horizontalAdvance(QLatin1Char('9'));
}

void ModelEditor::resizeEvent(QResizeEvent* event)
{
    QPlainTextEdit::resizeEvent(event);
    const QRect area = contentsRect();
    m_gutter->setGeometry(area.left(), area.top(), gutterWidth(), area.height());
}

void ModelEditor::paintGutter(QPaintEvent* event)
{
    const theme::Colours& c = m_theme.colours();
    QPainter painter(m_gutter);
    painter.setFont(font());
    painter.fillRect(event->rect(), c.panel);
    QTextBlock block = firstVisibleBlock();
    double top = blockBoundingGeometry(block).translated(contentOffset()).top();
    while (block.isValid() && top <= event->rect().bottom()) {
        const double height = blockBoundingRect(block).height();
        const bool wrong = block.blockNumber() + 1 == errorLine();
        painter.setPen(wrong ? c.error : c.dimText);
        painter.drawText(QRectF(0, top, m_gutter->width() - 6, height), Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(block.blockNumber() + 1));
        top += height;
        block = block.next();
    }
}

void ModelEditor::setError(const std::optional<base::Error>& error)
{
    m_error = error;
    updateMarks();
    m_gutter->update();
}

void ModelEditor::updateMarks()
{
    QList<QTextEdit::ExtraSelection> marks;
    const QTextBlock block = errorLine() > 0 ? document()->findBlockByNumber(errorLine() - 1) : QTextBlock();
    if (block.isValid()) {
        QTextEdit::ExtraSelection line;
        QColor back = m_theme.colours().error;
        back.setAlphaF(0.14f);
        line.format.setBackground(back);
        line.format.setProperty(QTextFormat::FullWidthSelection, true);
        line.cursor = QTextCursor(block);
        marks << line;

        // From the column to the end of the word; at least one character, so that there is something to see.
        QTextEdit::ExtraSelection word;
        word.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
        word.format.setUnderlineColor(m_theme.colours().error);
        const QString text = block.text();
        int begin = std::clamp(m_error->where.column - 1, 0, static_cast<int>(text.size()));
        if (begin == text.size() && begin > 0) --begin;
        int end = begin;
        while (end < text.size() && (text[end].isLetterOrNumber() || text[end] == QLatin1Char('_'))) ++end;
        end = std::max(end, std::min(begin + 1, static_cast<int>(text.size())));
        if (m_error->where.column <= 0) {
            begin = 0;
            end = static_cast<int>(text.size());
        }
        word.cursor = QTextCursor(block);
        word.cursor.setPosition(block.position() + begin);
        word.cursor.setPosition(block.position() + end, QTextCursor::KeepAnchor);
        marks << word;
    }
    setExtraSelections(marks);
}

void ModelEditor::goToError()
{
    const QTextBlock block = errorLine() > 0 ? document()->findBlockByNumber(errorLine() - 1) : QTextBlock();
    if (!block.isValid()) return;
    QTextCursor cursor(block);
    cursor.setPosition(block.position() + std::clamp(m_error->where.column - 1, 0, block.length() - 1));
    setTextCursor(cursor);
    ensureCursorVisible();
    setFocus();
}

} // namespace stepscope::views
