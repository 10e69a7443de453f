// An imported trace together with the text it was read from, for tests that ask for what only the file tells.
#pragma once

#include "core/importers/importer.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QString>

#include <algorithm>

namespace stepscope::support {

struct LoadedTrace {
    session::SessionPtr session;
    std::string text;

    std::string_view name(size_t row) const { return session->string(label(row).name); }
    std::string_view category(size_t row) const { return session->string(label(row).category); }
    const session::Label& label(size_t row) const { return session->labels()[session->spans().label[row]]; }
    const session::DeviceWork* work(size_t row) const { return session->details().deviceWork(session->spans().detailOf(row)); }
    int64_t correlation(size_t row) const { return session->details().correlationOf(session->spans().detailOf(row)); }
    bool isSpan(size_t row) const { return label(row).kind != session::SpanKind::instant; }
    // Spans that HolisticTraceAnalysis looks at.
    bool counts(size_t row) const { return isSpan(row) && !category(row).empty() && category(row) != "Trace"; }
    size_t trackOf(size_t row) const
    {
        const auto& begin = session->spans().trackBegin;
        return static_cast<size_t>(std::upper_bound(begin.begin(), begin.end(), row) - begin.begin()) - 1;
    }
    // The arguments of the event as the file has them.
    QJsonObject arguments(size_t row) const
    {
        const uint64_t place = session->details().placeOf(session->spans().detailOf(row));
        if (place >= text.size()) return {};
        int depth = 0;
        bool quoted = false;
        for (size_t i = place; i < text.size(); ++i) {
            const char c = text[i];
            if (quoted && c == '\\') ++i;
            else if (c == '"') quoted = !quoted;
            else if (!quoted && c == '{') ++depth;
            else if (!quoted && c == '}' && --depth == 0)
                return QJsonDocument::fromJson(QByteArray(text.data() + place, static_cast<qsizetype>(i + 1 - place))).object()["args"].toObject();
        }
        return {};
    }
    bool load(const QString& file)
    {
        const base::Result<importers::Imported> imported = importers::importFile(file.toStdString());
        base::Result<importers::Input> input = importers::openInput(file.toStdString());
        if (!imported || !input) return false;
        session = imported->session;
        text = importers::readAll(*input->bytes, uint64_t{1} << 30).value_or(std::string());
        return true;
    }
};

} // namespace stepscope::support
