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
        connect(this, &QTabWidget::tabBarClicked, this, [this] { m_seeking = false; });
        connect(&m_context.workbench, &state::Workbench::sessionChanged, this, [this] { startAgain(); });
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
        auto* report = new ReportDock(m_context, makerOf(page->objectName().toStdString()), tabToolTip(currentIndex()), page);
        page->layout()->addWidget(report);
        const models::TableModel& model = report->table().model();
        connect(&model, &QAbstractItemModel::modelReset, this, [this, page, &model] {
            if (page == currentWidget()) pageFilled(model.rowCount());
        });
    }

    // Each session starts on the first page that has rows for it.
    void startAgain()
    {
        for (int i = 0; i < count(); ++i)
            for (QObject* child : widget(i)->findChildren<ReportDock*>(Qt::FindDirectChildrenOnly)) delete child;
        m_seeking = true;
        setCurrentIndex(0);
        if (isVisible()) fillPage();
    }

    void pageFilled(int rows)
    {
        if (!m_seeking) return;
        const bool last = currentIndex() + 1 == count();
        if (rows > 0 || last) m_seeking = false;
        if (rows == 0) setCurrentIndex(last ? 0 : currentIndex() + 1);
    }

    ViewContext m_context;
    bool m_seeking = true; // until the user chooses a page
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
