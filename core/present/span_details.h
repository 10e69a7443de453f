// SpanDetails: what a session knows of one span, as fields for people, and the spans that belong to it: the call that
// launched a kernel and the operators around that call, or the work that an operator or a call launched.
// Owner: core/present. Thread: any; a job (links of an operator look at the work of all devices).
#pragma once

#include "core/present/flame_layout.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace stepscope::present {

struct SpanLink {
    std::string relation; // "launched by", "inside of", "launches", "arrow from", "arrow to"
    uint32_t row = 0;     // of the SpanTable
    std::string name;
    std::string time;     // when and how long, as text
};

struct SpanDetails {
    std::string name;
    std::vector<DetailField> fields;
    std::vector<SpanLink> links;  // at most kMostLinks of a relation
    int64_t linksLeftOut = 0;
    static constexpr size_t kMostLinks = 12;
};

SpanDetails spanDetails(const session::Session& session, uint32_t row, std::stop_token stop = {});

} // namespace stepscope::present
