#include "core/importers/trace_vocabulary.h"

#include <algorithm>
#include <limits>

namespace stepscope::importers {

namespace {

using session::CopyKind;
using session::MemoryKind;
using session::SpanKind;

bool sameWord(std::string_view a, std::string_view b)
{
    return a.size() == b.size()
        && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x | 0x20 : x) == y; });
}

struct Category {
    std::string_view name; // in small letters; files of 2022 write "Kernel"
    SpanKind kind;
    bool onDevice, linked;
};
constexpr Category kCategories[] = {
    {"cpu_op", SpanKind::operation, false, false},
    {"operator", SpanKind::operation, false, false},
    {"kernel", SpanKind::kernel, true, true},
    {"concurrent_kernel", SpanKind::kernel, true, true},
    {"gpu_memcpy", SpanKind::copy, true, true},
    {"memcpy", SpanKind::copy, true, true},
    {"gpu_memset", SpanKind::fill, true, true},
    {"memset", SpanKind::fill, true, true},
    {"cuda_runtime", SpanKind::call, false, true},
    {"cuda_driver", SpanKind::call, false, true},
    {"runtime", SpanKind::call, false, true},
    {"xpu_runtime", SpanKind::call, false, true},
    {"mtia_runtime", SpanKind::call, false, true},
    {"privateuse1_runtime", SpanKind::call, false, true},
    {"glow_runtime", SpanKind::call, false, true},
    {"mtia_ccp_events", SpanKind::kernel, true, true},
    {"cuda_sync", SpanKind::synchronisation, true, true},
    {"user_annotation", SpanKind::annotation, false, false},
    {"gpu_user_annotation", SpanKind::deviceAnnotation, false, false},
    {"python_function", SpanKind::function, false, false},
    {"overhead", SpanKind::overhead, false, false},
    {"cpu_instant_event", SpanKind::instant, false, false},
};

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
MemoryKind memoryNamed(std::string_view name)
{
    static constexpr std::pair<std::string_view, MemoryKind> kNames[] = {
        {"Pageable", MemoryKind::pageable}, {"Pinned", MemoryKind::pinned},   {"Device", MemoryKind::device},
        {"Array", MemoryKind::array},       {"Managed", MemoryKind::managed}, {"Device Static", MemoryKind::deviceStatic},
        {"Managed Static", MemoryKind::managedStatic},
    };
    for (const auto& [text, kind] : kNames)
        if (name == text) return kind;
    return MemoryKind::unknown;
}

CopyKind copyNamed(std::string_view name)
{
    static constexpr std::pair<std::string_view, CopyKind> kNames[] = {
        {"HtoD", CopyKind::hostToDevice},   {"DtoH", CopyKind::deviceToHost}, {"DtoD", CopyKind::deviceToDevice},
        {"HtoH", CopyKind::hostToHost},     {"PtoP", CopyKind::peerToPeer},   {"HtoA", CopyKind::array},
        {"AtoH", CopyKind::array},          {"AtoA", CopyKind::array},        {"AtoD", CopyKind::array},
        {"DtoA", CopyKind::array},
    };
    for (const auto& [text, kind] : kNames)
        if (name.find(text) != std::string_view::npos) return kind;
    return CopyKind::unknown;
}

void readMemoryName(std::string_view name, EventMeaning& meaning)
{
    const size_t open = name.find('('), close = name.rfind(')');
    meaning.copy = meaning.kind == SpanKind::copy ? copyNamed(name.substr(0, open)) : CopyKind::unknown;
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
    const std::string_view inside = name.substr(open + 1, close - open - 1);
    const size_t arrow = inside.find(" -> ");
    if (arrow == std::string_view::npos) {
        meaning.destination = memoryNamed(inside);
        return;
    }
    meaning.source = memoryNamed(inside.substr(0, arrow));
    meaning.destination = memoryNamed(inside.substr(arrow + 4));
}

std::optional<int64_t> digits(std::string_view text)
{
    if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
    return wholeNumber(text);
}

int32_t smallNumber(std::string_view token)
{
    const std::optional<int64_t> value = wholeNumber(token);
    if (!value || *value < std::numeric_limits<int32_t>::min() || *value > std::numeric_limits<int32_t>::max()) return -1;
    return static_cast<int32_t>(*value);
}

float fraction(std::string_view token, double unit)
{
    double value = 0;
    if (realNumber(token, value) != NumberState::good) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(value * unit);
}

void readTriple(std::string_view token, int32_t (&to)[3])
{
    if (token.empty() || token.front() != '[') return;
    JsonCursor cursor(token);
    std::string_view element;
    for (int i = 0; i < 3 && cursor.nextElement(element); ++i)
        to[i] = smallNumber(element);
}

// "stream 7" of newer files, "0x0" of AMD.
int64_t streamNumber(std::string_view token)
{
    if (const std::optional<int64_t> value = wholeNumber(token)) return *value;
    return -1;
}

} // namespace

std::optional<int64_t> profilerStep(std::string_view name)
{
    constexpr std::string_view kPrefix = "ProfilerStep#";
    if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
    return digits(name.substr(kPrefix.size()));
}

std::optional<int64_t> iterationMark(std::string_view name)
{
    static constexpr std::string_view kWords[] = {"iteration", "iter", "step", "train_step", "training_step", "train step", "batch"};
    const size_t number = name.find_last_not_of("0123456789");
    if (number == std::string_view::npos || number + 1 == name.size()) return std::nullopt;
    size_t end = number + 1;
    while (end > 0 && std::string_view(" #_:=").find(name[end - 1]) != std::string_view::npos)
        --end;
    const std::string_view word = name.substr(0, end);
    if (std::none_of(std::begin(kWords), std::end(kWords), [&](std::string_view w) { return sameWord(word, w); })) return std::nullopt;
    return digits(name.substr(number + 1));
}

EventMeaning meaningOf(std::string_view category, std::string_view name)
{
    EventMeaning meaning;
    meaning.isLaunchFlow = category == "ac2g" || category == "async_cpu_to_gpu";
    for (const Category& known : kCategories) {
        if (!sameWord(category, known.name)) continue;
        meaning.kind = known.kind;
        meaning.onDevice = known.onDevice;
        meaning.linked = known.linked;
        break;
    }
    if (meaning.kind == SpanKind::copy || meaning.kind == SpanKind::fill) readMemoryName(name, meaning);
    if (meaning.kind != SpanKind::deviceAnnotation) meaning.step = profilerStep(name);
    return meaning;
}

void readDeviceArguments(std::string_view args, session::DeviceWork& work, int64_t& correlation)
{
    correlation = session::DetailTable::kNoCorrelation;
    if (args.empty() || args.front() != '{') return;
    JsonCursor cursor(args);
    std::string_view key, value;
    while (cursor.nextMember(key, value)) {
        if (key == "correlation") correlation = wholeNumber(value).value_or(correlation);
        else if (key == "stream") work.stream = streamNumber(value);
        else if (key == "device") work.device = smallNumber(value);
        else if (key == "context") work.context = smallNumber(value);
        else if (key == "bytes") work.bytes = wholeNumber(value).value_or(-1);
        else if (key == "grid") readTriple(value, work.grid);
        else if (key == "block") readTriple(value, work.block);
        else if (key == "registers per thread") work.registers = smallNumber(value);
        else if (key == "shared memory") work.sharedBytes = smallNumber(value);
        else if (key == "blocks per SM") work.blocksPerSm = fraction(value, 1);
        else if (key == "warps per SM") work.warpsPerSm = fraction(value, 1);
        else if (key == "est. achieved occupancy %") work.occupancy = fraction(value, 0.01);
        else if (key == "graph node id") work.graphNode = wholeNumber(value).value_or(-1);
    }
}

int64_t correlationOf(std::string_view args)
{
    return wholeNumber(memberOf(args, "correlation")).value_or(session::DetailTable::kNoCorrelation);
}

} // namespace stepscope::importers
