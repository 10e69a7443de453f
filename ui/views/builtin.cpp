#include "ui/views/view.h"

#include <QCoreApplication>

#include <algorithm>

namespace stepscope::views {

namespace {

bool hasSteps(const session::Session& session) { return !session.steps().empty(); }
bool hasLayers(const session::Session& session) { return !session.layers().empty(); }
bool hasPrimitives(const session::Session& session) { return !session.primitives().empty(); }
bool hasSamples(const session::Session& session) { return !session.series().empty(); }

bool hasPhases(const session::Session& session)
{
    const auto& labels = session.labels();
    return !session.steps().empty()
        && std::any_of(labels.begin(), labels.end(), [](const session::Label& label) { return label.phase != session::Phase::none; });
}

} // namespace

std::vector<ViewFactory> builtinViews()
{
    const auto tr = [](const char* text) { return QCoreApplication::translate("views", text); };
    return {
        {QStringLiteral("run"), tr("Run"), makeRunView},
        {QStringLiteral("flame"), tr("Flame graph"), makeFlameView},
        {QStringLiteral("histogram"), tr("Step times"), makeHistogramView, hasSteps, true},
        {QStringLiteral("layers"), tr("Layers"), makeLayersView, hasLayers, true},
        {QStringLiteral("phases"), tr("Phases"), makePhasesView, hasPhases, true},
        {QStringLiteral("primitives"), tr("Primitives"), makePrimitivesView, hasPrimitives, true},
        {QStringLiteral("steps"), tr("Steps"), makeStepsView, hasSteps, true},
        {QStringLiteral("devices"), tr("Devices"), makeDevicesView, showsDevices},
        {QStringLiteral("span-details"), tr("Details"), makeSpanDetailsView, showsSpanDetails},
        {QStringLiteral("sample-tree"), tr("Sample tree"), makeSampleTreeView, hasSamples, true},
        {QStringLiteral("sample-flat"), tr("Functions"), makeSampleFlatView, hasSamples, true},
        {QStringLiteral("session"), tr("Session"), makeSessionView},
    };
}

} // namespace stepscope::views
