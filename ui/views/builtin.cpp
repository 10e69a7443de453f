#include "ui/views/view.h"

#include <QCoreApplication>

namespace stepscope::views {

std::vector<ViewFactory> builtinViews()
{
    const auto tr = [](const char* text) { return QCoreApplication::translate("views", text); };
    return {
        {QStringLiteral("run"), tr("Run"), makeRunView},
        {QStringLiteral("flame"), tr("Flame graph"), makeFlameView},
        {QStringLiteral("histogram"), tr("Step times"), makeHistogramView},
        {QStringLiteral("layers"), tr("Layers"), makeLayersView},
        {QStringLiteral("phases"), tr("Phases"), makePhasesView},
        {QStringLiteral("primitives"), tr("Primitives"), makePrimitivesView},
        {QStringLiteral("steps"), tr("Steps"), makeStepsView},
        {QStringLiteral("devices"), tr("Devices"), makeDevicesView, showsDevices},
        {QStringLiteral("span-details"), tr("Details"), makeSpanDetailsView, showsSpanDetails},
        {QStringLiteral("sample-tree"), tr("Sample tree"), makeSampleTreeView},
        {QStringLiteral("sample-flat"), tr("Functions"), makeSampleFlatView},
        {QStringLiteral("session"), tr("Session"), makeSessionView},
    };
}

} // namespace stepscope::views
