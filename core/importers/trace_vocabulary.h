// What categories, names and arguments of Kineto and its relatives mean.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/json_tokens.h"
#include "core/session/event_details.h"

#include <optional>
#include <string_view>

namespace stepscope::importers {

struct EventMeaning {
    session::SpanKind kind = session::SpanKind::other;
    bool onDevice = false; // has a row of DeviceWork
    bool linked = false;   // may have a correlation id
    session::CopyKind copy = session::CopyKind::unknown;
    session::MemoryKind source = session::MemoryKind::unknown;
    session::MemoryKind destination = session::MemoryKind::unknown;
    std::optional<int64_t> step; // the number in "ProfilerStep#12"
    bool isLaunchFlow = false;   // category of arrows from calls to device work
};

// By the category (newest name or those of 2022) and the decoded name.
EventMeaning meaningOf(std::string_view category, std::string_view name);

// "ProfilerStep#12" -> 12; "Iteration 3", "iter#3", "step 3" -> 3.
std::optional<int64_t> profilerStep(std::string_view name);
std::optional<int64_t> iterationMark(std::string_view name);

// Reads the arguments of device work; sets `correlation`, -1 when there is none.
void readDeviceArguments(std::string_view args, session::DeviceWork& work, int64_t& correlation);
int64_t correlationOf(std::string_view args); // -1 when there is none

} // namespace stepscope::importers
