#include "core/exporters/csv_exporter.h"

#include "core/exporters/output_file.h"

#include <cmath>

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

std::string field(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with(' ') && !text.ends_with(' '))
        return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}
std::string field(int64_t number) { return std::to_string(number); }
std::string field(double number) { return std::isnan(number) ? std::string() : fmt::format("{}", number); }

// One line; the arguments are texts and numbers.
template <class... Fields>
std::string line(const Fields&... fields)
{
    std::string text;
    ((text += field(fields), text += ','), ...);
    text.back() = '\n';
    return text;
}

int64_t idOf(uint32_t value) { return value == base::TrackId::kNone ? -1 : static_cast<int64_t>(value); }

class CsvFolder {
public:
    CsvFolder(const session::Session& session, std::filesystem::path folder, bool replace, std::stop_token stop)
        : m_session(session),
          m_folder(std::move(folder)),
          m_replace(replace),
          m_stop(std::move(stop))
    {
    }

    base::Status write()
    {
        std::error_code failed;
        const bool there = std::filesystem::exists(m_folder, failed);
        if (there && (!m_replace || !std::filesystem::is_directory(m_folder, failed)))
            return base::fail(base::ErrorCode::invalidArgument, "there is something with this name already",
                              {.file = m_folder.string()}, "choose another name for the folder");
        if (!there && !std::filesystem::create_directory(m_folder, failed))
            return base::fail(base::ErrorCode::io, fmt::format("cannot make the folder: {}", failed.message()),
                              {.file = m_folder.string()});
        for (const auto& table : {&CsvFolder::steps, &CsvFolder::spans, &CsvFolder::tracks, &CsvFolder::layers,
                                  &CsvFolder::primitives, &CsvFolder::counters, &CsvFolder::series, &CsvFolder::samples,
                                  &CsvFolder::stacks, &CsvFolder::environment, &CsvFolder::quality})
            if (base::Status written = (this->*table)(); !written) {
                if (!there) std::filesystem::remove_all(m_folder, failed); // half a folder looks like a whole one
                return written;
            }
        return {};
    }

private:
    template <class Rows>
    base::Status file(const char* name, const std::string& head, Rows rows)
    {
        return writeOutput(m_folder / (std::string(name) + ".csv"), m_replace, [&](OutputFile& out) -> base::Status {
            out.write(head + "\n");
            rows(out);
            return m_stop.stop_requested() ? cancelled() : base::Status{};
        });
    }
    std::string_view string(session::StringId id) const { return m_session.string(id); }

    base::Status steps()
    {
        return file("steps",
                    "step,epoch,warmup,start_ns,duration_ns,samples,loss,thread_involuntary_switches,thread_minor_"
                    "faults,thread_major_faults,group,number",
                    [&](OutputFile& out) {
                        for (const session::StepRow& row : m_session.steps())
                            out.write(line(row.index, int64_t{row.epoch}, int64_t{row.warmup}, row.start, row.duration,
                                           int64_t{row.samples}, row.loss, int64_t{row.threadInvoluntarySwitches},
                                           int64_t{row.threadMinorFaults}, int64_t{row.threadMajorFaults},
                                           string(row.group), row.number()));
                    });
    }

    base::Status spans()
    {
        return file(
            "spans", "span,track,start_ns,duration_ns,name,kind,phase,layer,primitive,category,step,parent",
            [&](OutputFile& out) {
                const session::SpanTable& spans = m_session.spans();
                for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t)
                    for (size_t row = spans.trackBegin[t]; row < spans.trackBegin[t + 1]; ++row) {
                        if (row % 65536 == 0 && m_stop.stop_requested()) return;
                        const session::Label& label = m_session.labels()[spans.label[row]];
                        const bool layer = label.layer.valid(), primitive = label.primitive.valid();
                        out.write(line(
                            static_cast<int64_t>(row), static_cast<int64_t>(t), spans.start[row], spans.duration[row],
                            string(label.name), session::spanKindName(label.kind), session::phaseKey(label.phase),
                            layer ? std::string_view(m_session.layers()[label.layer.index()].path) : std::string_view(),
                            primitive ? std::string_view(m_session.primitives()[label.primitive.index()].name)
                                      : std::string_view(),
                            string(label.category), int64_t{spans.step[row]}, idOf(spans.parent[row])));
                    }
            });
    }

    base::Status tracks()
    {
        return file("tracks", "track,name,thread_id,process_id,process,group,device,lane", [&](OutputFile& out) {
            int64_t id = 0;
            for (const session::Track& row : m_session.tracks())
                out.write(line(id++, std::string_view(row.name), row.threadId, row.processId,
                               std::string_view(row.process), std::string_view(row.group), int64_t{row.device},
                               int64_t{row.lane}));
        });
    }

    base::Status layers()
    {
        return file("layers",
                    "layer,parent,path,type,text,input,output,parameters,forward_flop,backward_flop,forward_bytes,"
                    "backward_bytes",
                    [&](OutputFile& out) {
                        int64_t id = 0;
                        for (const session::LayerRow& row : m_session.layers())
                            out.write(line(id++, idOf(row.parent.value), std::string_view(row.path),
                                           std::string_view(row.type), std::string_view(row.text),
                                           std::string_view(row.input), std::string_view(row.output), row.parameters,
                                           row.forwardFlop, row.backwardFlop, row.forwardBytes, row.backwardBytes));
                    });
    }

    base::Status primitives()
    {
        return file("primitives", "primitive,name,kind,implementation,formats,layer,phase,flop,bytes,threads,flags",
                    [&](OutputFile& out) {
                        int64_t id = 0;
                        for (const session::PrimitiveRow& row : m_session.primitives())
                            out.write(line(id++, std::string_view(row.name), std::string_view(row.kind),
                                           std::string_view(row.implementation), std::string_view(row.formats),
                                           idOf(row.layer.value), session::phaseKey(row.phase), row.flop, row.bytes,
                                           int64_t{row.threads}, int64_t{row.flags}));
                    });
    }

    base::Status counters()
    {
        return file("counters", "counter,unit,time_ns,value", [&](OutputFile& out) {
            for (size_t c = 0; c < m_session.counters().size(); ++c) {
                const session::CounterSamples& samples = m_session.counterSamples(session::CounterId(c));
                const session::CounterRow& row = m_session.counters()[c];
                for (size_t i = 0; i < samples.time.size(); ++i)
                    out.write(line(std::string_view(row.name), std::string_view(row.unit), samples.time[i],
                                   samples.value[i]));
            }
        });
    }

    base::Status series()
    {
        return file("series", "series,name,unit,timed,shown_first", [&](OutputFile& out) {
            int64_t id = 0;
            for (const session::SeriesRow& row : m_session.series())
                out.write(line(id++, std::string_view(row.name), std::string_view(row.unit), int64_t{row.timed},
                               int64_t{row.isDefault}));
        });
    }

    base::Status samples()
    {
        return file("samples", "series,time_ns,weight,stack,label,track,step", [&](OutputFile& out) {
            for (size_t s = 0; s < m_session.series().size(); ++s) {
                const session::SampleTable& samples = m_session.samples(session::SeriesId(s));
                for (size_t i = 0; i < samples.size(); ++i) {
                    if (i % 65536 == 0 && m_stop.stop_requested()) return;
                    const std::string_view label = samples.label[i] < m_session.labels().size()
                        ? string(m_session.labels()[samples.label[i]].name)
                        : std::string_view();
                    out.write(line(static_cast<int64_t>(s), samples.time[i], samples.weight[i], idOf(samples.stack[i]),
                                   label, idOf(samples.track[i]), int64_t{samples.step[i]}));
                }
            }
        });
    }

    base::Status stacks()
    {
        return file("stacks", "stack,parent,function,module,file,line,address,flags", [&](OutputFile& out) {
            int64_t id = 0;
            for (const session::StackRow& row : m_session.stacks()) {
                const session::FrameRow frame =
                    row.frame.valid() ? m_session.frames()[row.frame.index()] : session::FrameRow{};
                out.write(line(id++, idOf(row.parent.value), string(frame.function), string(frame.module),
                               string(frame.file), int64_t{frame.line},
                               std::string_view(fmt::format("0x{:x}", frame.address)), int64_t{frame.flags}));
            }
        });
    }

    base::Status environment()
    {
        return file("environment", "key,value", [&](OutputFile& out) {
            for (const session::EnvironmentRow& row : m_session.environment())
                out.write(line(std::string_view(row.key), std::string_view(row.value)));
        });
    }

    base::Status quality()
    {
        return file("quality", "code,count,message,places", [&](OutputFile& out) {
            for (const session::QualityRow& row : m_session.quality())
                out.write(line(std::string_view(row.code), row.count, std::string_view(row.message),
                               std::string_view(row.places)));
        });
    }

    const session::Session& m_session;
    std::filesystem::path m_folder;
    bool m_replace;
    std::stop_token m_stop;
};

} // namespace

base::Status exportCsv(const session::Session& session, const std::filesystem::path& path, bool replace,
                       std::stop_token stop, const base::Progress&)
{
    return CsvFolder(session, path, replace, std::move(stop)).write();
}

} // namespace stepscope::exporters
