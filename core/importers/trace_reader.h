// TraceReader: the events of a Chrome trace, one after the other, out of one recycled buffer.
// Owner: core/importers. Thread: one at a time; a job. Units: bytes of the unpacked file.
//
// Clean stretches of the file go through simdjson, a window of about 1 MB at a time; a stretch with anything that
// RFC 8259 forbids goes event by event through code that repairs it and counts what it did. Memory does not grow with
// the file; it grows with the largest single event, up to a limit.
#pragma once

#include "core/base/progress.h"
#include "core/importers/importer.h"
#include "core/importers/json_tokens.h"

#include <memory>
#include <stop_token>

namespace stepscope::importers {

// The members of one event as raw tokens, "" where absent. They are good until the next event.
struct RawEvent {
    std::string_view phase, name, category, process, thread, time, duration, args;
    std::string_view id, id2, scope, bind, stackFrame, weight;
    uint64_t place = 0; // byte of the event's first character
};

class TraceSink {
public:
    virtual ~TraceSink() = default;
    virtual void event(const RawEvent& event) = 0;
    // A member of the file's top-level object other than traceEvents, as a raw token. Members that are larger than
    // kMaxMember come as "".
    virtual void member(std::string_view key, std::string_view value) = 0;
    static constexpr size_t kMaxMember = size_t{256} << 20;
};

struct TraceText {
    bool array = false;    // the file is a bare array
    bool complete = true;  // false: the file ends or breaks before its end
    std::optional<ImportProblem> problem; // why it is not complete, else the first thing that strict JSON forbids
    Places repairs[kJsonRepairCount];
    Places malformed;      // events that are objects in form only; left out
    Places notEvents;      // elements of the event list that are no objects
    int64_t emptyObjects = 0; // "{}", which writers end their list with
    uint64_t bytes = 0;    // read
};

// Errors: cancelled, io, wrongFormat when the text is no trace at all.
base::Result<TraceText> readTrace(ByteSource& source, TraceSink& sink, std::stop_token stop, const base::Progress& progress);

} // namespace stepscope::importers
