#include "core/analysis/device_reports.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace stepscope::analysis {

using base::TimeNs;
using session::CopyKind;
using session::MemoryKind;
using session::SpanKind;

std::vector<KernelRow> kernelReport(const DeviceTrace& trace)
{
    const session::Session& session = trace.session();
    std::vector<uint32_t> rowOf(session.labels().size(), 0xffffffffu); // by label; labels may share a name
    std::map<std::string_view, uint32_t> rowOfName;
    std::vector<KernelRow> rows;
    std::vector<double> centre; // Welford's running mean
    std::vector<double> squares;
    TimeNs all = 0;
    for (const DeviceActivity& activity : trace.activities()) {
        if (activity.kind != SpanKind::kernel && activity.kind != SpanKind::communication) continue;
        uint32_t& place = rowOf[activity.label];
        if (place == 0xffffffffu) {
            const std::string_view name = session.string(session.labels()[activity.label].name);
            const auto [known, isNew] = rowOfName.try_emplace(name, static_cast<uint32_t>(rows.size()));
            if (isNew) {
                rows.push_back({std::string(name), activity.deviceClass});
                centre.push_back(0);
                squares.push_back(0);
            }
            place = known->second;
        }
        KernelRow& row = rows[place];
        const TimeNs duration = activity.duration();
        row.least = row.calls == 0 ? duration : std::min(row.least, duration);
        row.most = row.calls == 0 ? duration : std::max(row.most, duration);
        ++row.calls;
        row.total += duration;
        all += duration;
        const double step = static_cast<double>(duration) - centre[place];
        centre[place] += step / static_cast<double>(row.calls);
        squares[place] += step * (static_cast<double>(duration) - centre[place]);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
        KernelRow& row = rows[i];
        row.mean = static_cast<double>(row.total) / static_cast<double>(row.calls);
        row.deviation = row.calls > 1 ? std::sqrt(squares[i] / static_cast<double>(row.calls - 1)) : 0;
        row.share = all > 0 ? static_cast<double>(row.total) / static_cast<double>(all) : 0;
    }
    std::stable_sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) { return a.total > b.total; });
    return rows;
}

namespace {

std::string copyName(SpanKind kind, CopyKind copy)
{
    if (kind == SpanKind::fill) return "Memset";
    switch (copy) {
    case CopyKind::hostToDevice: return "Memcpy HtoD";
    case CopyKind::deviceToHost: return "Memcpy DtoH";
    case CopyKind::deviceToDevice: return "Memcpy DtoD";
    case CopyKind::hostToHost: return "Memcpy HtoH";
    case CopyKind::peerToPeer: return "Memcpy PtoP";
    case CopyKind::array: return "Memcpy array";
    case CopyKind::managed: return "Memcpy managed";
    case CopyKind::unknown: break;
    }
    return "Memcpy";
}

} // namespace

std::vector<CopyRow> copyReport(const DeviceTrace& trace)
{
    struct Sums {
        CopyRow row;
        double rates = 0;
        int64_t rated = 0;
    };
    std::map<std::tuple<SpanKind, CopyKind, MemoryKind, MemoryKind>, Sums> groups;
    for (const DeviceActivity& activity : trace.activities()) {
        if (activity.kind != SpanKind::copy && activity.kind != SpanKind::fill) continue;
        const session::DeviceWork nothing;
        const session::DeviceWork& work = activity.work != nullptr ? *activity.work : nothing;
        Sums& sums = groups[{activity.kind, work.copy, work.source, work.destination}];
        CopyRow& row = sums.row;
        if (row.count == 0) {
            row.name = copyName(activity.kind, work.copy);
            row.copy = work.copy;
            row.source = work.source;
            row.destination = work.destination;
        }
        const TimeNs duration = activity.duration();
        ++row.count;
        row.total += duration;
        if (work.bytes < 0) {
            ++row.withoutBytes;
            continue;
        }
        row.bytes += work.bytes;
        row.sizedTotal += duration;
        if (duration <= 0) continue;
        const double rate = static_cast<double>(work.bytes) * 1e9 / static_cast<double>(duration);
        sums.rates += rate;
        ++sums.rated;
        row.mostRate = std::max(row.mostRate, rate);
    }
    std::vector<CopyRow> rows;
    for (auto& [key, sums] : groups) {
        if (sums.rated > 0) sums.row.meanRate = sums.rates / static_cast<double>(sums.rated);
        rows.push_back(std::move(sums.row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const CopyRow& a, const CopyRow& b) { return a.total > b.total; });
    return rows;
}

} // namespace stepscope::analysis
