// View: one dock of the workbench. A new view is one file, one line in builtin.cpp and one test.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "ui/state/run_controller.h"
#include "ui/state/workbench.h"
#include "ui/theme/theme.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace stepscope::views {

// What a view may use; all of it outlives the views.
struct ViewContext {
    state::Workbench& workbench;
    state::RunController& runs;
    const theme::Theme& theme;
};

struct ViewFactory {
    QString id;    // stable, for settings
    QString title; // of the dock
    QWidget* (*make)(const ViewContext& context, QWidget* parent);
    bool (*shownFor)(const session::Session& session) = nullptr; // null: always; else the dock hides for other sessions
    bool shownWithout = false; // while no session is open, too: it tells what it will show
};

// Every view, in the order of the menu.
std::vector<ViewFactory> builtinViews();

QWidget* makeRunView(const ViewContext& context, QWidget* parent);
QWidget* makeFlameView(const ViewContext& context, QWidget* parent);
QWidget* makeHistogramView(const ViewContext& context, QWidget* parent);
QWidget* makePhasesView(const ViewContext& context, QWidget* parent);
QWidget* makeLayersView(const ViewContext& context, QWidget* parent);
QWidget* makePrimitivesView(const ViewContext& context, QWidget* parent);
QWidget* makeStepsView(const ViewContext& context, QWidget* parent);
QWidget* makeDevicesView(const ViewContext& context, QWidget* parent);
bool showsDevices(const session::Session& session);
QWidget* makeSpanDetailsView(const ViewContext& context, QWidget* parent);
bool showsSpanDetails(const session::Session& session);
QWidget* makeSampleTreeView(const ViewContext& context, QWidget* parent);
QWidget* makeSampleFlatView(const ViewContext& context, QWidget* parent);
QWidget* makeSessionView(const ViewContext& context, QWidget* parent);

} // namespace stepscope::views
