// The spans behind a clicked frame of an imported trace: times, what launched them and what they launched, and the
// arguments that the file of the other tool has for them.
#include "core/present/format.h"
#include "ui/state/error_text.h"
#include "ui/theme/icons.h"
#include "ui/views/sample_menu.h"
#include "ui/views/view.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

namespace stepscope::views {

namespace {

constexpr qsizetype kLongestLink = 72; // characters; names of kernels have hundreds

QString shortened(const QString& name) { return name.size() <= kLongestLink ? name : name.left(kLongestLink - 1) + QChar(0x2026); }

QString text(const std::string& utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }

class SpanDetailsView : public QWidget {
public:
    SpanDetailsView(const ViewContext& context, QWidget* parent)
        : QWidget(parent)
        , m_spans(context.workbench.spans())
        , m_theme(context.theme)
        , m_previous(button(tr("The one before: longer")))
        , m_next(button(tr("The next one: shorter")))
        , m_copy(button(tr("Copy everything as text")))
        , m_which(new QLabel(this))
        , m_text(new QTextBrowser(this))
    {
        setObjectName(QStringLiteral("spanDetails"));
        m_previous->setObjectName(QStringLiteral("previousSpan"));
        m_next->setObjectName(QStringLiteral("nextSpan"));
        m_copy->setObjectName(QStringLiteral("copySpan"));
        m_copy->setText(tr("Copy"));
        m_which->setObjectName(QStringLiteral("whichSpan"));
        m_which->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        m_text->setObjectName(QStringLiteral("spanText"));
        m_text->setFrameShape(QFrame::NoFrame);
        m_text->setOpenLinks(false);
        m_text->document()->setDocumentMargin(8);
        auto* bar = new QHBoxLayout();
        bar->setContentsMargins(6, 3, 8, 3);
        bar->setSpacing(2);
        bar->addWidget(m_previous);
        bar->addWidget(m_next);
        bar->addSpacing(6);
        bar->addWidget(m_which, 1);
        bar->addWidget(m_copy);
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(0);
        layout->addLayout(bar);
        layout->addWidget(m_text, 1);
        connect(m_previous, &QToolButton::clicked, this, [this] { m_spans.setCurrent(m_spans.current() - 1); });
        connect(m_next, &QToolButton::clicked, this, [this] { m_spans.setCurrent(m_spans.current() + 1); });
        connect(m_copy, &QToolButton::clicked, this, [this] { copyText(m_text->toPlainText()); });
        connect(m_text, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
            bool ok = false;
            const uint row = link.path().toUInt(&ok);
            if (ok) m_spans.jumpTo(row);
        });
        connect(&m_spans, &state::SpanSelection::changed, this, &SpanDetailsView::refresh);
        connect(&m_spans, &state::SpanSelection::failed, m_which, &QLabel::setText);
        connect(&m_theme, &theme::Theme::changed, this, &SpanDetailsView::refresh);
        refresh();
    }

private:
    QToolButton* button(const QString& tip)
    {
        auto* made = new QToolButton(this);
        made->setAutoRaise(true);
        made->setToolTip(tip);
        made->setFocusPolicy(Qt::TabFocus);
        return made;
    }

    void refresh()
    {
        m_previous->setIcon(theme::icon(QStringLiteral("back"), m_theme.colours()));
        m_next->setIcon(theme::icon(QStringLiteral("forward"), m_theme.colours()));
        m_previous->setEnabled(m_spans.current() > 0);
        m_next->setEnabled(m_spans.current() + 1 < m_spans.count());
        m_copy->setEnabled(m_spans.report() != nullptr);
        if (m_spans.empty()) {
            m_which->clear();
            m_text->setHtml(paragraph(m_spans.busy() ? tr("Looking for the spans …")
                                                     : tr("Click a frame of the flame graph to see its spans one by one, with their arguments.")));
            return;
        }
        const auto count = [](size_t n) { return text(present::formatCount(static_cast<int64_t>(n))); };
        m_which->setText(m_spans.count() == 1 ? tr("the only span of this frame")
                                              : tr("%1 of %2 spans, longest first").arg(count(m_spans.current() + 1), count(m_spans.count())));
        if (m_spans.report() != nullptr) m_text->setHtml(html(*m_spans.report()));
    }

    QString paragraph(const QString& plain) const
    {
        return QStringLiteral("<p style='color:%1'>%2</p>").arg(m_theme.colours().dimText.name(), plain.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")));
    }
    QString heading(const QString& plain) const { return QStringLiteral("<p style='margin-top:10px; margin-bottom:2px'><b>%1</b></p>").arg(plain.toHtmlEscaped()); }
    QString row(const QString& title, const QString& valueHtml) const
    {
        return QStringLiteral("<tr><td style='color:%1; padding-right:14px'>%2</td><td>%3</td></tr>")
            .arg(m_theme.colours().dimText.name(), title.toHtmlEscaped(), valueHtml);
    }
    QString table(const QString& rows) const { return QStringLiteral("<table cellspacing='0' cellpadding='1'>%1</table>").arg(rows); }

    QString arguments(const std::vector<importers::EventArgument>& list) const
    {
        QString rows;
        for (const importers::EventArgument& each : list) rows += row(text(each.name), text(each.value).toHtmlEscaped());
        return table(rows);
    }

    QString html(const state::SpanReport& report) const
    {
        QString out = QStringLiteral("<p style='margin-top:0px; margin-bottom:4px'><b>%1</b></p>").arg(text(report.details.name).toHtmlEscaped());
        QString rows;
        for (const present::DetailField& field : report.details.fields) rows += row(text(field.title), text(field.value).toHtmlEscaped());
        out += table(rows);
        if (!report.details.links.empty()) {
            out += heading(tr("Belongs together"));
            rows.clear();
            for (const present::SpanLink& link : report.details.links) {
                rows += row(text(link.relation), QStringLiteral("<a style='color:%1' href='span:%2'>%3</a> <span style='color:%4'>%5</span>")
                                                     .arg(m_theme.colours().accent.name())
                                                     .arg(link.row)
                                                     .arg(shortened(text(link.name)).toHtmlEscaped(), m_theme.colours().dimText.name(), text(link.time).toHtmlEscaped()));
            }
            out += table(rows);
            if (report.details.linksLeftOut > 0) out += paragraph(tr("and %1 shorter ones").arg(report.details.linksLeftOut));
        }
        out += heading(tr("Arguments in the file"));
        if (!report.event) return out + paragraph(state::errorText(report.event.error()));
        out += report.event->arguments.empty() ? paragraph(tr("none")) : arguments(report.event->arguments);
        if (report.event->cutValues > 0) out += paragraph(tr("%1 long values are cut here").arg(report.event->cutValues));
        return out + heading(tr("The event besides")) + arguments(report.event->members);
    }

    state::SpanSelection& m_spans;
    const theme::Theme& m_theme;
    QToolButton *m_previous, *m_next, *m_copy;
    QLabel* m_which;
    QTextBrowser* m_text;
};

} // namespace

bool showsSpanDetails(const session::Session& session)
{
    return session.spanCount() > 0 && !session.environmentValue("import.format").empty();
}

QWidget* makeSpanDetailsView(const ViewContext& context, QWidget* parent) { return new SpanDetailsView(context, parent); }

} // namespace stepscope::views
