// What several commands say about a session.
// Owner: app/cli. Thread: main.
#pragma once

#include "app/cli/json_text.h"
#include "core/session/session.h"

#include <string>

namespace stepscope::cli {

// "Fashion-LeNet ... , oneDNN 2.6.3, Intel ..., 1 thread, batch 64": what is known, in one line; "" when nothing is.
std::string sessionOrigin(const session::Session& session);
// One line per row of the quality record, each with `prefix`; "" when there is nothing to tell.
std::string qualityText(const session::Session& session, const std::string& prefix);
void writeQuality(const session::Session& session, JsonText& json); // an array

} // namespace stepscope::cli
