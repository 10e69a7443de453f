// The reports of device work, one tab each; a table is made when its tab is shown for the first time.
#include "core/present/device_sources.h"
#include "ui/views/report_dock.h"

#include <QCoreApplication>
#include <QTabWidget>
#include <QVBoxLayout>

namespace stepscope::views {

namespace {

QString text(const char* source) { return QCoreApplication::translate("DevicesView", source); }

MakeTable makerOf(std::string name)
{
    return [name = std::move(name)](const session::Session& session, const analysis::SpanFilter& filter, std::stop_token stop,
                                    const base::Progress&) -> std::unique_ptr<present::TableSource> {
        if (!showsDevices(session)) return nullptr;
        analysis::DeviceOptions options;
        options.filter = filter;
        return present::makeDeviceReport(name, session, options, stop).table;
    };
}

} // namespace

bool showsDevices(const session::Session& session)
{
    return analysis::DeviceTrace::present(session);
}

QWidget* makeDevicesView(const ViewContext& context, QWidget* parent)
{
    auto* tabs = new QTabWidget(parent);
    tabs->setDocumentMode(true);
    for (const present::DeviceReportKind& kind : present::deviceReportKinds()) {
        auto* page = new QWidget(tabs);
        auto* layout = new QVBoxLayout(page);
        layout->setContentsMargins(0, 0, 0, 0);
        page->setObjectName(QString::fromLatin1(kind.name));
        const int tab = tabs->addTab(page, text(kind.title));
        tabs->setTabToolTip(tab, text(kind.description));
    }
    const auto fillPage = [tabs, context](int tab) {
        QWidget* page = tabs->widget(tab);
        if (page == nullptr || page->layout()->count() > 0) return;
        const auto dock = new ReportDock(context, makerOf(page->objectName().toStdString()), tabs->tabToolTip(tab), page);
        page->layout()->addWidget(dock);
    };
    QObject::connect(tabs, &QTabWidget::currentChanged, tabs, fillPage);
    fillPage(tabs->currentIndex());
    return tabs;
}

} // namespace stepscope::views
