// The messages of profile.proto (github.com/google/pprof), read without trusting any of their numbers.
// Owner: core/importers. Thread: any; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers::pprof {

struct ValueType {
    int64_t type = 0, unit = 0; // indexes of strings
};
struct Label {
    int64_t key = 0, text = 0, number = 0, unit = 0;
};
struct Sample {
    std::vector<uint64_t> locations; // ids, innermost first
    std::vector<int64_t> values;
    std::vector<Label> labels;
};
struct Mapping {
    uint64_t id = 0, start = 0, limit = 0, offset = 0;
    int64_t file = 0;
};
struct Line {
    uint64_t function = 0; // id
    int64_t line = 0;
};
struct Location {
    uint64_t id = 0, mapping = 0, address = 0;
    std::vector<Line> lines; // the last one is the function that the ones before are inlined into
};
struct Function {
    uint64_t id = 0;
    int64_t name = 0, systemName = 0, file = 0, startLine = 0;
};

struct Profile {
    std::vector<ValueType> sampleTypes;
    std::vector<std::string_view> samples; // their bytes: readSample()
    std::vector<Mapping> mappings;
    std::vector<Location> locations;
    std::vector<Function> functions;
    std::vector<std::string_view> strings;
    std::vector<int64_t> comments;
    int64_t timeNanos = 0, durationNanos = 0, period = 0, defaultType = 0;
    ValueType periodType;
    std::map<uint32_t, int64_t> unknownFields; // number -> how often
    std::optional<size_t> brokenAt;            // byte of the first field that cannot be read; all before is here

    std::string_view text(int64_t index) const; // "" outside the table
};

// The views point into `bytes`.
Profile readProfile(std::string_view bytes);
// False when the sample is malformed.
bool readSample(std::string_view bytes, Sample& sample, std::map<uint32_t, int64_t>& unknownFields);

// Whether the bytes begin like a profile: fields with the right types. `whole`: they are the whole file.
bool looksLikeProfile(std::string_view head, bool whole);

} // namespace stepscope::importers::pprof
