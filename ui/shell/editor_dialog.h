// EditorDialog: which editor shows source lines.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include "ui/state/source_editor.h"

#include <QDialog>

class QComboBox;
class QLabel;
class QLineEdit;

namespace stepscope::shell {

class EditorDialog : public QDialog {
    Q_OBJECT
public:
    explicit EditorDialog(state::SourceEditor& editor, QWidget* parent = nullptr);
    void accept() override; // stores the command

private:
    void showExample();

    state::SourceEditor& m_editor;
    QComboBox* m_presets;
    QLineEdit* m_command;
    QLabel* m_example;
};

} // namespace stepscope::shell
