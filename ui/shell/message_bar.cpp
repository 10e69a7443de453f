#include "ui/shell/message_bar.h"

#include "ui/state/error_text.h"
#include "ui/theme/icons.h"

#include <QLabel>
#include <QToolButton>

#include <algorithm>

namespace stepscope::shell {

MessageBar::MessageBar(const theme::Theme& theme, QWidget* parent)
    : QToolBar(parent)
    , m_theme(theme)
    , m_icon(new QLabel(this))
    , m_text(new QLabel(this))
    , m_offer(new QToolButton(this))
    , m_close(new QToolButton(this))
{
    setObjectName(QStringLiteral("messageBar"));
    setMovable(false);
    toggleViewAction()->setVisible(false);
    m_text->setTextFormat(Qt::RichText);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_text->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    m_close->setAutoRaise(true);
    m_close->setToolTip(tr("Dismiss"));
    m_close->setObjectName(QStringLiteral("dismiss"));
    m_icon->setContentsMargins(8, 0, 8, 0);
    addWidget(m_icon);
    addWidget(m_text);
    m_offer->setObjectName(QStringLiteral("messageAction"));
    m_offerAction = addWidget(m_offer);
    m_offerAction->setVisible(false);
    addWidget(m_close);
    connect(m_close, &QToolButton::clicked, this, &QWidget::hide);
    connect(m_offer, &QToolButton::clicked, this, [this] {
        const auto run = m_run; // it may show another text
        hide();
        if (run) run();
    });
    connect(&m_theme, &theme::Theme::changed, this, &MessageBar::tint);
    tint();
    hide();
}

void MessageBar::tint()
{
    theme::Colours warning = m_theme.colours();
    warning.text = warning.error;
    m_icon->setPixmap(theme::icon(QStringLiteral("warning"), warning).pixmap(QSize(20, 20), devicePixelRatioF()));
    m_close->setIcon(theme::icon(QStringLiteral("close"), m_theme.colours()));
}

QString MessageBar::text() const { return m_text->text(); }

void MessageBar::showText(const QString& html, bool marked)
{
    m_text->setText(html);
    m_icon->setVisible(marked);
    m_offerAction->setVisible(false);
    show();
    fit();
}

void MessageBar::showError(const QString& what, const base::Error& error)
{
    const QString details = state::errorText(error).toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>"));
    showText(QStringLiteral("<b>%1.</b> %2").arg(what.toHtmlEscaped(), details), true);
}

void MessageBar::showNotice(const QString& text) { showText(text.toHtmlEscaped(), false); }

void MessageBar::showWarning(const QString& text)
{
    showText(text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")), true);
}

void MessageBar::offer(const QString& action, std::function<void()> run)
{
    m_offer->setText(action);
    m_run = std::move(run);
    m_offerAction->setVisible(true);
    fit();
}

void MessageBar::resizeEvent(QResizeEvent* event)
{
    QToolBar::resizeEvent(event);
    fit();
}

// A tool bar asks a label that wraps for its height at a width of its own invention.
void MessageBar::fit()
{
    const int others = m_close->sizeHint().width() + (m_offerAction->isVisible() ? m_offer->sizeHint().width() + 8 : 0) + (m_icon->isHidden() ? 0 : m_icon->sizeHint().width()) + 24;
    m_text->setFixedHeight(std::max(0, m_text->heightForWidth(std::max(100, width() - others)))); // -1 without a text
}

} // namespace stepscope::shell
