// What can be done with a frame of a stack sample; the flame graph, the tree and the flat table offer the same.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "ui/state/workbench.h"

#include <QString>

class QMenu;

namespace stepscope::analysis {
struct FlameTree;
struct FlamePlace;
}

namespace stepscope::views {

// Adds callers, callees, open in editor and copy. The menu must not outlive the call of exec().
void addPlaceActions(QMenu& menu, state::Workbench& workbench, const session::SessionPtr& session, const analysis::FlamePlace& place);

// Asks for the place's source line in the editor; says why where the source is not known.
void openPlace(state::Workbench& workbench, const session::Session& session, const analysis::FlamePlace& place);

void copyText(const QString& text);

} // namespace stepscope::views
