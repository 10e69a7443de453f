#include "core/importers/known_formats.h"

#include <algorithm>
#include <string_view>

namespace stepscope::importers {

namespace {

using std::string_view_literals::operator""sv;

constexpr const char* kNsysHint = "export it with: nsys export --type sqlite FILE, and open the .sqlite file";
constexpr const char* kTracyHint = "open it in the Tracy of the version that wrote it; tracy-csvexport writes statistics as text";
constexpr const char* kPerfettoHint =
    "convert it with: traceconv json FILE OUT.json (https://perfetto.dev/docs/quickstart/traceconv), and open OUT.json";

struct Magic {
    std::string_view bytes;
    const char* what;
    const char* hint;
};
constexpr Magic kMagics[] = {
    {"tr\xfdP"sv, "a Tracy trace", kTracyHint},
    {"tlZ\x04"sv, "a Tracy trace", kTracyHint},
    {"tZst"sv, "a Tracy trace", kTracyHint},
    {"NVR\0"sv, "an Nsight Compute report (.ncu-rep)", "print it with: ncu --import FILE --csv; it measures single kernels and has no timeline"},
    {"PERFFILE"sv, "a perf.data file of version 1", "record it again with a perf newer than 2012"},
    {"FLR\0"sv, "a Java Flight Recorder file", "print it with: jfr print --json FILE, or convert it to collapsed stacks"},
    {"JAVA PROFILE"sv, "a Java heap dump", "there are no times in it"},
    {"\x7f" "ELF"sv, "a program or library", "give the file that the profiler wrote"},
    {"\x89PNG"sv, "a picture", "give the file that the profiler wrote"},
    {"%PDF"sv, "a PDF document", "give the file that the profiler wrote"},
    {"<svg"sv, "an SVG picture", "give the profile that the picture was made from"},
    {"<!DOCTYPE"sv, "an HTML or SVG page", "give the profile that the page was made from"},
    {"<?xml"sv, "an XML or SVG file", "of Instruments: convert the trace to collapsed stacks"},
};

struct Ending {
    std::string_view ending;
    const char* what;
    const char* hint;
};
// Without magic bytes that are documented.
constexpr Ending kEndings[] = {
    {".nsys-rep", "an Nsight Systems report (.nsys-rep)", kNsysHint},
    {".qdrep", "an Nsight Systems report of before 2021.4 (.qdrep)", kNsysHint},
    {".qdstrm", "an unfinished Nsight Systems recording (.qdstrm)",
     "finish it with QdstrmImporter, then: nsys export --type sqlite FILE"},
    {".ncu-rep", "an Nsight Compute report (.ncu-rep)", "print it with: ncu --import FILE --csv; it measures single kernels and has no timeline"},
    {".tracy", "a Tracy trace", kTracyHint},
    {".perfetto-trace", "a Perfetto trace (.perfetto-trace)", kPerfettoHint},
    {".pftrace", "a Perfetto trace (.pftrace)", kPerfettoHint},
    {".pbtxt", "a protocol buffer as text", "export the trace as Chrome trace JSON"},
    {".xplane.pb", "a TensorFlow or JAX profile (.xplane.pb)", "take trace.json.gz, which the profiler writes into the same folder"},
    {".etl", "a Windows event trace (.etl)", "export it as collapsed stacks or speedscope JSON with PerfView"},
    {".vtune", "an Intel VTune project", "export it with: vtune -report callstacks -format csv"},
    {".prof", "a profile of Python's cProfile or of gperftools", "convert it: pprof -proto FILE for gperftools; cProfile has no times of calls"},
    {".nvprof", "a profile of nvprof", "record it again with Nsight Systems"},
    {".nvvp", "a profile of nvprof", "record it again with Nsight Systems"},
};

std::string lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return c < 128 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c); });
    return text;
}

// A serialised perfetto.protos.Trace: field 1, length-delimited, and again right behind the first packet.
bool looksLikePerfetto(std::string_view head)
{
    size_t at = 0;
    for (int packet = 0; packet < 3; ++packet) {
        if (at >= head.size() || head[at] != '\x0a') return false;
        size_t length = 0;
        int shift = 0;
        for (++at;; ++at, shift += 7) {
            if (at >= head.size() || shift > 28) return false;
            length |= static_cast<size_t>(static_cast<unsigned char>(head[at]) & 0x7f) << shift;
            if ((static_cast<unsigned char>(head[at]) & 0x80) == 0) break;
        }
        ++at;
        if (length > head.size() - at) return packet > 0;
        at += length;
    }
    return true;
}

} // namespace

std::optional<KnownFormat> knownFormat(const Input& input)
{
    const std::string_view head = input.head;
    for (const Magic& magic : kMagics)
        if (head.substr(0, magic.bytes.size()) == magic.bytes) return KnownFormat{magic.what, magic.hint};
    const std::string name = lower(input.name);
    for (const Ending& ending : kEndings)
        if (name.ends_with(ending.ending)) return KnownFormat{ending.what, ending.hint};
    const std::string_view start = head.substr(0, 400);
    if (start.find("\"schema\"") != std::string_view::npos && head.find("\"nodes\"") != std::string_view::npos && head.find("\"pid\"") != std::string_view::npos)
        return KnownFormat{"a PyTorch execution trace (ExecutionTraceObserver)",
                           "it has operators without times; export_chrome_trace() of the profiler writes a trace with times"};
    if (head.size() > 2 && head.substr(0, 2) == "[[" && name.find("memory_timeline") != std::string::npos)
        return KnownFormat{"a PyTorch memory timeline", "export_chrome_trace() of the profiler writes a trace with times"};
    if (looksLikePerfetto(head)) return KnownFormat{"a Perfetto trace", kPerfettoHint};
    return std::nullopt;
}

} // namespace stepscope::importers
