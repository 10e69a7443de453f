#include "ui/shell/editor_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace stepscope::shell {

EditorDialog::EditorDialog(state::SourceEditor& editor, QWidget* parent)
    : QDialog(parent)
    , m_editor(editor)
    , m_presets(new QComboBox(this))
    , m_command(new QLineEdit(this))
    , m_example(new QLabel(this))
{
    setWindowTitle(tr("Source editor"));
    m_presets->addItem(tr("Own command"));
    for (const state::EditorPreset& preset : state::SourceEditor::presets()) m_presets->addItem(preset.name, preset.command);
    m_command->setText(m_editor.command());
    m_command->setMinimumWidth(420);
    m_presets->setCurrentIndex(std::max(0, m_presets->findData(m_command->text())));
    m_example->setWordWrap(true);
    m_example->setMinimumHeight(2 * fontMetrics().height());
    auto* note = new QLabel(tr("%f is the file, %l the line, %c the column."), this);
    auto* form = new QFormLayout();
    form->addRow(tr("&Editor"), m_presets);
    form->addRow(tr("&Command"), m_command);
    form->addRow(QString(), note);
    form->addRow(tr("Example"), m_example);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(form);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &EditorDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_presets, &QComboBox::activated, this, [this](int index) {
        if (index > 0) m_command->setText(m_presets->itemData(index).toString());
    });
    connect(m_command, &QLineEdit::textChanged, this, [this, ok = buttons->button(QDialogButtonBox::Ok)] {
        m_presets->setCurrentIndex(std::max(0, m_presets->findData(m_command->text())));
        showExample();
        ok->setEnabled(m_command->text().trimmed().isEmpty() || state::SourceEditor::commandLine(m_command->text(), QStringLiteral("f"), 1).has_value());
    });
    showExample();
}

void EditorDialog::showExample()
{
    const base::Result<QStringList> line = state::SourceEditor::commandLine(m_command->text(), QStringLiteral("/home/me/net/layer.cpp"), 42);
    m_example->setText(line ? line->join(QLatin1Char(' ')) : QString::fromStdString(base::toText(line.error())));
}

void EditorDialog::accept()
{
    m_editor.setCommand(m_command->text());
    QDialog::accept();
}

} // namespace stepscope::shell
