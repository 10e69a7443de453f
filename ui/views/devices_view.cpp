// The reports of device work, one tab each; a table is made when its tab is shown for the first time.
#include "core/present/device_sources.h"
#include "ui/views/report_dock.h"

#include <QCoreApplication>
#include <QTabWidget>
#include <QVBoxLayout>

#include <algorithm>

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

// A table is made when its page is shown for the first time.
class DevicesTabs : public QTabWidget {
public:
    DevicesTabs(const ViewContext& context, QWidget* parent)
        : QTabWidget(parent)
        , m_context(context)
    {
        setDocumentMode(true);
        setObjectName(QStringLiteral("devicesTabs"));
        for (const present::DeviceReportKind& kind : present::deviceReportKinds()) {
            auto* page = new QWidget(this);
            page->setObjectName(QString::fromLatin1(kind.name));
            auto* layout = new QVBoxLayout(page);
            layout->setContentsMargins(0, 0, 0, 0);
            setTabToolTip(addTab(page, text(kind.title)), text(kind.description));
        }
        connect(this, &QTabWidget::currentChanged, this, [this] {
            if (isVisible()) fillPage();
        });
    }

protected:
    void showEvent(QShowEvent* event) override
    {
        QTabWidget::showEvent(event);
        fillPage();
    }

private:
    void fillPage()
    {
        QWidget* page = currentWidget();
        if (page == nullptr || page->layout()->count() > 0) return;
        page->layout()->addWidget(new ReportDock(m_context, makerOf(page->objectName().toStdString()), tabToolTip(currentIndex()), page));
    }

    ViewContext m_context;
};

} // namespace

// Operators without any device are worth their table, too.
bool showsDevices(const session::Session& session)
{
    const auto& labels = session.labels();
    return analysis::DeviceTrace::present(session)
        || std::any_of(labels.begin(), labels.end(), [](const session::Label& label) { return label.kind == session::SpanKind::operation; });
}

QWidget* makeDevicesView(const ViewContext& context, QWidget* parent)
{
    return new DevicesTabs(context, parent);
}

} // namespace stepscope::views
