#include "core/present/sample_view.h"
#include "tests/support/made_samples.h"
#include "ui/models/sample_tree_model.h"
#include "ui/models/table_model.h"

#include <QAbstractItemModelTester>
#include <QTest>

using namespace stepscope;
using models::SampleTreeModel;

namespace {

std::shared_ptr<const present::SampleView> view(const analysis::SampleFilter& filter = {})
{
    return std::make_shared<const present::SampleView>(analysis::sampleProfile(support::sampledSession(), filter));
}

} // namespace

class TestSampleTreeModel : public QObject {
    Q_OBJECT
private slots:
    void theModelKeepsQtsRules()
    {
        SampleTreeModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setView(view());
        QCOMPARE(model.rowCount(), 1);
        model.setView(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void cellsShowTheTree()
    {
        SampleTreeModel model;
        model.setView(view());
        const QModelIndex main = model.index(0, 0);
        QCOMPARE(main.data().toString(), QString("main:10"));
        QCOMPARE(main.siblingAtColumn(SampleTreeModel::totalShare).data().toString(), QString("100.0 %"));
        QCOMPARE(main.siblingAtColumn(SampleTreeModel::self).data().toString(), QString("30.00 ms"));
        const QModelIndex step = model.index(0, 0, main);
        QCOMPARE(step.data().toString(), QString("net::step:42"));
        QCOMPARE(step.siblingAtColumn(SampleTreeModel::samples).data().toString(), QString("70"));
        QCOMPARE(step.siblingAtColumn(SampleTreeModel::place).data().toString(), QString("step.cpp:42"));
        QCOMPARE(step.siblingAtColumn(SampleTreeModel::totalShare).data(models::kBarRole).toDouble(), 0.7);
        QVERIFY(step.data(Qt::ToolTipRole).toString().startsWith("net::step(int)\nstep.cpp:42"));
        QCOMPARE(step.parent(), main);
        QCOMPARE(model.rowCount(step), 1);
    }

    void nodesAndIndexesFindEachOther()
    {
        SampleTreeModel model;
        analysis::SampleFilter filter;
        filter.native = true;
        model.setView(view(filter));
        const auto& tree = model.view()->profile.tree;
        for (uint32_t id = 1; id < tree.nodes.size(); ++id) {
            const QModelIndex index = model.indexOf(id);
            QCOMPARE(SampleTreeModel::nodeOf(index), id);
            QCOMPARE(SampleTreeModel::nodeOf(index.parent()), tree.node(id).parent);
        }
        QVERIFY(!model.indexOf(0).isValid());
        QVERIFY(!model.indexOf(1000).isValid());
    }
};

QTEST_MAIN(TestSampleTreeModel)
#include "tst_sample_tree_model.moc"
