#include "core/importers/perf_data_importer.h"

#include "core/importers/child_process.h"
#include "core/importers/perf_script_importer.h"
#include "core/importers/profile_builder.h"
#include "core/importers/temporary_file.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kMagic = "PERFILE2", kOldMagic = "PERFFILE";

bool isInstalled(const std::string& program)
{
    const char* const path = std::getenv("PATH");
    const std::string_view folders = path != nullptr ? path : "/usr/bin:/bin";
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        const std::string file = std::string(folders.substr(at, end - at)) + "/" + program;
        if (::access(file.c_str(), X_OK) == 0) return true;
        at = end + 1;
    }
    return false;
}

} // namespace

Detection detectPerfData(const Input& input)
{
    if (input.head.starts_with(kMagic)) return {Confidence::certain, "first bytes \"PERFILE2\""};
    if (input.head.starts_with(kOldMagic)) return {Confidence::certain, "first bytes \"PERFFILE\""};
    return {};
}

base::Result<Imported> importPerfData(Input& input, const ImportOptions& options, std::stop_token stop,
                                      const base::Progress& progress)
{
    if (input.head.starts_with(kOldMagic))
        return base::fail(base::ErrorCode::unsupported, "this is perf.data of the format before Linux 3.0 (PERFFILE)",
                          {.file = input.path.string()}, "print it with `perf script` of that time and open the text");
    if (!isInstalled("perf"))
        return base::fail(
            base::ErrorCode::unavailable, "perf.data is read with the program perf, which is not installed",
            {.file = input.path.string()},
            "install it (Debian: linux-perf), or run `perf script > out.txt` where it was recorded and open out.txt");
    TemporaryFile unpacked;
    if (!input.plain() || input.path.empty())
        if (const base::Status written = unpacked.fill(*input.bytes, stop, progress); !written)
            return base::fail(written.error());
    const std::string file = (unpacked.path().empty() ? std::filesystem::absolute(input.path) : unpacked.path()).string();

    // "+pid" adds to what perf prints for each kind of event; a list of fields would fail where one was not recorded.
    // Inlined frames are left out because looking them up takes perf minutes.
    base::Result<std::unique_ptr<ChildProcess>> perf =
        ChildProcess::start({"perf", "script", "--force", "--ns", "--no-inline", "-F", "+pid", "-i", file}, stop);
    if (!perf) return base::fail(perf.error());
    Input text;
    text.path = input.path;
    text.name = input.name;
    text.packing = input.packing;
    text.why = input.why;
    ChildProcess& process = **perf;
    text.bytes = std::move(*perf);
    base::Result<Imported> imported = importPerfScript(text, options, stop, progress);
    if (!imported && imported.error().code != base::ErrorCode::cancelled) {
        base::Error error = imported.error();
        error.message = "perf script printed no sample"
            + (process.errorText().empty() ? std::string() : ": " + process.errorText());
        error.hint = "try `perf script -i FILE` in a terminal; a perf as new as the one that recorded may be needed";
        return base::fail(std::move(error));
    }
    if (imported) imported->format = kPerfDataImporter.name;
    return imported;
}

} // namespace stepscope::importers
