// Icons: line drawings from resources/icons, tinted with the colours of the theme.
// Owner: ui/theme. Thread: UI thread.
#pragma once

#include "ui/theme/colours.h"

#include <QIcon>
#include <QString>

namespace stepscope::theme {

// Icon `name` (file resources/icons/NAME.svg, drawn with currentColor) in the text colour, dimmed when disabled.
// Crisp at every scale factor. An unknown name gives a null icon.
QIcon icon(const QString& name, const Colours& colours);
// The application's own icon, in its own colours.
QIcon applicationIcon();

} // namespace stepscope::theme
