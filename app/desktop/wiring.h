// What the workbench is given: session files, the training backend and facts about this build.
// Owner: app/desktop. Thread: makeServices() on the UI thread; the functions it returns on workers.
#pragma once

#include "ui/state/services.h"

namespace stepscope::desktop {

state::Services makeServices();

} // namespace stepscope::desktop
