#include "ui/shell/part_dialog.h"

#include "ui/state/error_text.h"

#include <QDialogButtonBox>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QRadioButton>
#include <QVBoxLayout>

namespace stepscope::shell {

namespace {

QLineEdit* field(const char* name, const QString& placeholder, QWidget* parent)
{
    auto* made = new QLineEdit(parent);
    made->setObjectName(QString::fromLatin1(name));
    made->setPlaceholderText(placeholder);
    return made;
}

} // namespace

PartDialog::PartDialog(const QString& path, QWidget* parent)
    : QDialog(parent)
    , m_byTime(new QRadioButton(tr("A range of &time"), this))
    , m_bySteps(new QRadioButton(tr("Some &steps"), this))
    , m_from(field("from", tr("its first event"), this))
    , m_to(field("to", tr("its end"), this))
    , m_first(field("firstStep", tr("the first"), this))
    , m_last(field("lastStep", tr("the last"), this))
    , m_name(field("stepName", tr("found by the rules of the format"), this))
    , m_message(new QLabel(this))
{
    setObjectName(QStringLiteral("partDialog"));
    m_byTime->setObjectName(QStringLiteral("byTime"));
    m_bySteps->setObjectName(QStringLiteral("bySteps"));
    setWindowTitle(tr("Open a part of a file"));
    const QFileInfo info(path);
    auto* file = new QLabel(tr("<b>%1</b>, %2").arg(info.fileName().toHtmlEscaped(), QLocale().formattedDataSize(info.size())), this);
    file->setToolTip(path);
    auto* hint = new QLabel(tr("Times count from the first event of the trace: 1.5 is seconds, 200 ms and 2 min are understood too. "
                               "What overlaps the part is loaded; the rest of the file is read over and takes no memory."),
                            this);
    hint->setWordWrap(true);
    m_message->setObjectName(QStringLiteral("partMessage"));
    m_message->setWordWrap(true);
    m_message->setMinimumHeight(2 * fontMetrics().lineSpacing());
    m_message->setAlignment(Qt::AlignLeft | Qt::AlignTop);

    auto* grid = new QGridLayout();
    grid->setColumnMinimumWidth(0, 18);
    const auto row = [&](int at, const QString& from, QLineEdit* first, const QString& to, QLineEdit* last) {
        const auto label = [&](const QString& text, QLineEdit* buddy) {
            auto* made = new QLabel(text, this);
            made->setBuddy(buddy);
            return made;
        };
        grid->addWidget(label(from, first), at, 1);
        grid->addWidget(first, at, 2);
        if (last == nullptr) return;
        grid->addWidget(label(to, last), at, 3);
        grid->addWidget(last, at, 4);
    };
    grid->addWidget(m_byTime, 0, 0, 1, 5);
    row(1, tr("&From"), m_from, tr("t&o"), m_to);
    grid->setRowMinimumHeight(2, 6);
    grid->addWidget(m_bySteps, 3, 0, 1, 5);
    row(4, tr("F&irst"), m_first, tr("&last"), m_last);
    row(5, tr("&Named"), m_name, {}, nullptr);
    grid->removeWidget(m_name);
    grid->addWidget(m_name, 5, 2, 1, 3);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Open | QDialogButtonBox::Cancel, this);
    m_ok = buttons->button(QDialogButtonBox::Open);
    m_ok->setText(tr("Open the &Part"));
    QPushButton* whole = buttons->addButton(tr("Open the &Whole"), QDialogButtonBox::ResetRole);
    whole->setAutoDefault(false);

    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(10);
    layout->addWidget(file);
    layout->addLayout(grid);
    layout->addWidget(hint);
    layout->addWidget(m_message);
    layout->addWidget(buttons);
    setMinimumWidth(460);

    connect(buttons, &QDialogButtonBox::accepted, this, &PartDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(whole, &QPushButton::clicked, this, [this] {
        reject();
        emit wholeWanted();
    });
    for (QLineEdit* edit : {m_from, m_to}) connect(edit, &QLineEdit::textEdited, this, [this] { m_byTime->setChecked(true); });
    for (QLineEdit* edit : {m_first, m_last, m_name}) connect(edit, &QLineEdit::textEdited, this, [this] { m_bySteps->setChecked(true); });
    for (QLineEdit* edit : {m_from, m_to, m_first, m_last, m_name}) connect(edit, &QLineEdit::textChanged, this, &PartDialog::check);
    connect(m_byTime, &QRadioButton::toggled, this, &PartDialog::check);
    m_byTime->setChecked(true);
    m_from->setFocus();
    check();
}

void PartDialog::setChoice(const state::PartChoice& choice)
{
    m_from->setText(choice.from);
    m_to->setText(choice.to);
    m_first->setText(choice.firstStep);
    m_last->setText(choice.lastStep);
    m_name->setText(choice.stepName);
    (choice.bySteps ? m_bySteps : m_byTime)->setChecked(true);
    (choice.bySteps ? m_first : m_from)->setFocus();
    check();
}

state::PartChoice PartDialog::choice() const
{
    return {m_bySteps->isChecked(), m_from->text(), m_to->text(), m_first->text(), m_last->text(), m_name->text()};
}

void PartDialog::check()
{
    const base::Result<importers::ImportOptions> options = state::importOptions(choice());
    m_ok->setEnabled(options.has_value());
    if (options) {
        const QString part = QString::fromStdString(importers::partText(*options));
        m_message->setText(part.isEmpty() ? tr("Loads everything, with these steps.") : tr("Loads %1.").arg(part));
        return;
    }
    QString text = QString::fromStdString(options.error().message);
    text[0] = text[0].toUpper();
    if (!options.error().hint.empty()) text += QStringLiteral(": ") + QString::fromStdString(options.error().hint);
    m_message->setText(text + QLatin1Char('.'));
}

void PartDialog::accept()
{
    const base::Result<importers::ImportOptions> options = state::importOptions(choice());
    if (!options) return;
    QDialog::accept();
    emit chosen(*options);
}

} // namespace stepscope::shell
