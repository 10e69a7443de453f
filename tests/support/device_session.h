// A session with device work, written down span by span. Times are in microseconds here.
#pragma once

#include "core/session/event_builder.h"
#include "core/session/session_builder.h"

namespace stepscope::support {

struct DeviceSession {
    session::SessionBuilder builder;
    session::EventBuilder events;
    session::DetailBuilder details;

    base::TrackId thread(int64_t id)
    {
        session::Track track;
        track.name = "thread";
        track.threadId = id;
        track.processId = 1;
        return add(track);
    }
    base::TrackId stream(int32_t device, int64_t number)
    {
        session::Track track;
        track.name = "stream";
        track.threadId = number;
        track.kind = session::TrackKind::stream;
        track.device = device;
        return add(track);
    }
    session::LabelId label(std::string_view name, session::SpanKind kind)
    {
        session::Label row;
        row.name = builder.intern(name);
        row.kind = kind;
        return builder.internLabel(row);
    }
    void host(base::TrackId track, session::SpanKind kind, std::string_view name, double start, double duration)
    {
        events.add(track, {ns(start), ns(duration), label(name, kind).value});
    }
    void call(base::TrackId track, std::string_view name, double start, double duration, int64_t correlation)
    {
        events.add(track, {ns(start), ns(duration), label(name, session::SpanKind::call).value, -1, details.addLinked(correlation)});
    }
    void work(base::TrackId track, session::SpanKind kind, std::string_view name, double start, double duration, int64_t correlation = -1,
              session::DeviceWork more = {})
    {
        const session::Track& row = builder.tables().tracks[track.index()];
        more.device = row.device;
        more.stream = row.threadId;
        events.add(track, {ns(start), ns(duration), label(name, kind).value, -1, details.addDevice(more, correlation)});
    }
    void kernel(base::TrackId track, std::string_view name, double start, double duration, int64_t correlation = -1)
    {
        work(track, session::SpanKind::kernel, name, start, duration, correlation);
    }
    void step(int64_t index, double start, double duration)
    {
        session::StepRow row;
        row.index = index;
        row.start = ns(start);
        row.duration = ns(duration);
        builder.addStep(row);
    }
    session::SessionPtr build()
    {
        session::EventBuilder::Finished finished = events.finish(builder.tables().tracks, builder.tables().labels.size(), 0, std::move(details));
        session::linkLaunches(finished.spans, builder.tables().labels, finished.details);
        return builder.build(std::move(finished.spans), std::move(finished.details));
    }

    static base::TimeNs ns(double microseconds) { return static_cast<base::TimeNs>(microseconds * 1000); }

private:
    base::TrackId add(const session::Track& track)
    {
        builder.addTrack(track);
        return base::TrackId(static_cast<uint32_t>(builder.tables().tracks.size() - 1));
    }
};

} // namespace stepscope::support
