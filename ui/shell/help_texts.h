// The texts of the help menu. Owner: ui/shell. Thread: UI thread.
#pragma once

#include <QString>

namespace stepscope::shell {

QString keysHtml();
QString aboutHtml(const QString& version);

} // namespace stepscope::shell
