// Stack samples as text, laid out as Julia's Profile.print does it: the tree with indentation, or the flat table.
// Owner: core/present. Thread: any; pure functions. Units: columns of a fixed-width font.
#pragma once

#include "core/analysis/sample_tree.h"

#include <string>

namespace stepscope::present {

enum class ProfileFormat { tree, flat };

// The whole report with a line break at its end. `width` is that of the screen; names that do not fit are cut with
// "...". Without any samples it is the text that says so.
std::string profileText(const analysis::SampleProfile& profile, ProfileFormat format, int width = 80);

// What is said instead of an empty report, in several lines.
std::string noSamplesText(bool inGroups = false);

// Where the code of a frame is: source file, or the module, or "[generated code]"; "" when nothing is known.
std::string placeFile(const session::Session& session, const analysis::FlamePlace& place);

} // namespace stepscope::present
