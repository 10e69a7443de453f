// Opens several files as one session, such as the traces that the ranks of a distributed run wrote.
// Owner: app/files, for the command line and the workbench. Thread: any; meant for jobs. Units: ns.
//
// Every file becomes a group of tracks, named by its rank or its file name. Files are placed on one clock when they tell
// the time of day: by baseTimeNanoseconds, or because their times count from 1970. A file that does not, and all of them
// when their starts lie further apart than those of one run can, has its start put at the begin of the session; the
// quality record says so for each. What the user gives as offset is added afterwards.
#pragma once

#include "app/files/open_any.h"

#include <span>
#include <string>
#include <string_view>

namespace stepscope::files {

struct FileChoice {
    std::filesystem::path path;
    base::TimeNs offset = 0; // moves the times of the file, after alignment
};

inline constexpr base::TimeNs kMostOffset = base::TimeNs{366} * 24 * 3600 * 1'000'000'000; // of a FileChoice, either way
inline constexpr base::TimeNs kMostApart = base::TimeNs{3600} * 1'000'000'000; // starts of the files of one run

// One file alone is openAny() of it. Otherwise all or nothing: the first file that cannot be opened is the error, which
// names it. The options hold for every file. Files that all have a rank stand in its order, else in that given.
base::Result<Opened> openSeveral(std::span<const FileChoice> files, const importers::ImportOptions& options = {},
                                 std::stop_token stop = {}, const base::Progress& progress = {});

// "+1.5ms", "-20us", "3 s": a number and ns, us, ms or s. Error invalidArgument.
base::Result<base::TimeNs> parseOffset(std::string_view text);

} // namespace stepscope::files
