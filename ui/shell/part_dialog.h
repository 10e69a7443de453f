// PartDialog: asks which part of a large trace to load: a range of time or some steps.
// Owner: ui/shell. Thread: UI thread.
#pragma once

#include "ui/state/part_choice.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;
class QRadioButton;

namespace stepscope::shell {

class PartDialog : public QDialog {
    Q_OBJECT
public:
    PartDialog(const QString& path, QWidget* parent);

    void setChoice(const state::PartChoice& choice);
    state::PartChoice choice() const;

signals:
    void chosen(const stepscope::importers::ImportOptions& part);
    void wholeWanted();

protected:
    void accept() override;

private:
    void check();

    QRadioButton *m_byTime, *m_bySteps;
    QLineEdit *m_from, *m_to, *m_first, *m_last, *m_name;
    QLabel* m_message;
    QPushButton* m_ok = nullptr;
};

} // namespace stepscope::shell
