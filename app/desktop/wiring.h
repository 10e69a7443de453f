// What the workbench is given: session files, the training backend and facts about this build.
// Owner: app/desktop. Thread: makeServices() on the UI thread; the functions it returns on workers.
#pragma once

#include "ui/state/services.h"

#include <string>

namespace stepscope::desktop {

// The format, when one is named, is that of this file alone; of others it is found by content.
state::Services makeServices(const std::string& file = {}, const std::string& format = {});

} // namespace stepscope::desktop
