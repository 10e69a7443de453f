#include "ui/views/search_bar.h"

#include "core/present/format.h"
#include "ui/theme/icons.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QToolButton>

namespace stepscope::views {

SearchBar::SearchBar(const theme::Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_edit(new QLineEdit(this))
    , m_regex(new QToolButton(this))
    , m_previous(new QToolButton(this))
    , m_next(new QToolButton(this))
    , m_close(new QToolButton(this))
    , m_result(new QLabel(this))
{
    m_edit->setPlaceholderText(tr("Find in names"));
    m_edit->setClearButtonEnabled(true);
    m_edit->setMinimumWidth(180);
    m_edit->setMaximumWidth(320);
    m_edit->installEventFilter(this);
    m_regex->setText(QStringLiteral(".*"));
    m_regex->setCheckable(true);
    m_regex->setToolTip(tr("Regular expression"));
    m_previous->setToolTip(tr("Previous match (Shift+Enter)"));
    m_next->setToolTip(tr("Next match (Enter)"));
    m_close->setToolTip(tr("End the search (Escape)"));
    for (QToolButton* button : {m_regex, m_previous, m_next, m_close}) button->setAutoRaise(true);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 3, 8, 3);
    layout->setSpacing(4);
    for (QWidget* widget : std::initializer_list<QWidget*>{m_edit, m_regex, m_previous, m_next}) layout->addWidget(widget);
    layout->addWidget(m_result, 1);
    layout->addWidget(m_close);
    connect(m_edit, &QLineEdit::textChanged, this, &SearchBar::search);
    connect(m_regex, &QToolButton::toggled, this, &SearchBar::search);
    connect(m_previous, &QToolButton::clicked, this, [this] { emit nextRequested(-1); });
    connect(m_next, &QToolButton::clicked, this, [this] { emit nextRequested(1); });
    connect(m_close, &QToolButton::clicked, this, &SearchBar::closeBar);
    connect(&m_theme, &theme::Theme::changed, this, &SearchBar::tint);
    tint();
    hide();
}

void SearchBar::tint()
{
    const theme::Colours& c = m_theme.colours();
    m_previous->setIcon(theme::icon(QStringLiteral("up"), c));
    m_next->setIcon(theme::icon(QStringLiteral("down"), c));
    m_close->setIcon(theme::icon(QStringLiteral("close"), c));
    QPalette palette = m_result->palette();
    palette.setColor(QPalette::WindowText, m_invalid ? c.error : c.text);
    m_result->setPalette(palette);
}

void SearchBar::open()
{
    show();
    m_edit->setFocus(Qt::ShortcutFocusReason);
    m_edit->selectAll();
    search();
}

void SearchBar::closeBar()
{
    hide();
    emit searched({});
    emit closed();
}

void SearchBar::setText(const QString& text) { m_edit->setText(text); }
QString SearchBar::text() const { return m_edit->text(); }
void SearchBar::setRegularExpression(bool on) { m_regex->setChecked(on); }
QString SearchBar::resultText() const { return m_result->text(); }

void SearchBar::search()
{
    const QString text = m_edit->text();
    m_invalid = false;
    m_result->clear();
    if (text.isEmpty()) {
        emit searched({});
    } else if (!m_regex->isChecked()) {
        emit searched(present::containsText(text.toStdString()));
    } else {
        QRegularExpression expression(text, QRegularExpression::CaseInsensitiveOption | QRegularExpression::UseUnicodePropertiesOption);
        m_invalid = !expression.isValid();
        if (m_invalid) {
            emit searched({});
            m_result->setText(tr("%1, at character %2").arg(expression.errorString()).arg(expression.patternErrorOffset() + 1));
        } else {
            emit searched([expression](std::string_view name) {
                return expression.match(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()))).hasMatch();
            });
        }
    }
    tint();
}

void SearchBar::showResult(const present::FlameMatches& matches, int current)
{
    if (m_edit->text().isEmpty() || m_invalid) return;
    const int count = static_cast<int>(matches.nodes.size());
    m_previous->setEnabled(count > 0 || matches.elsewhere > 0);
    m_next->setEnabled(count > 0 || matches.elsewhere > 0);
    if (count == 0 && matches.time == 0) {
        m_result->setText(matches.elsewhere == 0 ? tr("no match") : tr("no match here, %1 outside of what is shown (Enter)").arg(matches.elsewhere));
        return;
    }
    const QString share = QString::fromStdString(present::formatShare(matches.share()));
    m_result->setText(current >= 0 ? tr("%1 of the time · %2 of %3").arg(share).arg(current + 1).arg(count)
                                   : count == 1 ? tr("%1 of the time · 1 frame").arg(share) : tr("%1 of the time · %2 frames").arg(share).arg(count));
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_edit && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            emit nextRequested((key->modifiers() & Qt::ShiftModifier) != 0 ? -1 : 1);
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

void SearchBar::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape) return closeBar();
    QWidget::keyPressEvent(event);
}

} // namespace stepscope::views
