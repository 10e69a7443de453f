// Formats that are recognised although no importer reads them, so that the message can say what to do.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/input.h"

#include <optional>
#include <string>

namespace stepscope::importers {

struct KnownFormat {
    std::string what; // "an Nsight Systems report (.nsys-rep)"
    std::string hint; // how to get something that is read
};

// By magic bytes, then by the ending of the name where a format has no magic bytes that are told.
std::optional<KnownFormat> knownFormat(const Input& input);

} // namespace stepscope::importers
