#include "ui/views/sample_menu.h"

#include "core/analysis/sample_tree.h"
#include "core/present/profile_text.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QMenu>

namespace stepscope::views {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("SampleMenu", text); }
QString fromUtf8(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

} // namespace

void copyText(const QString& text) { QApplication::clipboard()->setText(text); }

void openPlace(state::Workbench& workbench, const session::Session& session, const analysis::FlamePlace& place)
{
    if (place.file.valid()) return workbench.openSource(fromUtf8(session.string(place.file)), place.line);
    const QString where = fromUtf8(present::placeFile(session, place));
    base::Error error{base::ErrorCode::notFound,
                      (where.isEmpty() ? tr("its source file is not known") : tr("its source file is not known, only that it is in %1").arg(where)).toStdString(),
                      {}, tr("Debugging information of that library brings files and lines").toStdString()};
    emit workbench.failed(tr("%1 cannot be shown in the editor").arg(fromUtf8(place.shown)), error);
}

void addPlaceActions(QMenu& menu, state::Workbench& workbench, const session::SessionPtr& session, const analysis::FlamePlace& place)
{
    state::Samples& samples = workbench.samples();
    const QString name = fromUtf8(place.shown).left(48);
    QAction* editor = menu.addAction(tr("Open in &Editor\tE"), &workbench, [&workbench, session, place] { openPlace(workbench, *session, place); });
    editor->setEnabled(place.file.valid());
    menu.addSeparator();
    const base::StringId function = place.function;
    QAction* callers = menu.addAction(tr("&Callers of %1").arg(name), &samples,
                                      [&samples, function] { samples.showFunction(function, analysis::SampleShape::callers); });
    QAction* callees = menu.addAction(tr("What %1 ca&lls").arg(name), &samples,
                                      [&samples, function] { samples.showFunction(function, analysis::SampleShape::callees); });
    for (QAction* action : {callers, callees}) action->setEnabled(function.valid());
    if (samples.filter().shape != analysis::SampleShape::topDown)
        menu.addAction(tr("&Whole Stacks, Top-Down"), &samples, [&samples] { samples.showFunction({}, analysis::SampleShape::topDown); });
    menu.addSeparator();
    menu.addAction(tr("Copy &Name"), &workbench, [whole = fromUtf8(session->string(function)), shown = fromUtf8(place.shown)] {
        copyText(whole.isEmpty() ? shown : whole);
    });
}

} // namespace stepscope::views
