// Loading a Kineto trace: our importer against the bare parser on the same file (the floor), each in a process of its own
// so that the peak memory is its own.
//
//   bench_load FILE [RUNS [PACKED]]   default: 3 runs, of which the fastest counts; the file should be in the page cache.
//                                     PACKED: the same file packed
//
// load.py grows a trace to several sizes and adds the peers: ./dev bench load TRACE
//
// The floor is simdjson on 1 MB windows of one recycled buffer, six members of every event into columns, names interned,
// one thread: no arguments, arrows, nesting or repair. It cuts windows at Kineto's own lines, so it reads only that layout.
#include "app/files/open_any.h"
#include "core/importers/importer.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using namespace stepscope;

namespace {

struct Outcome {
    double wall = 0, cpu = 0;
    long peakKb = 0;
    uint64_t events = 0, spans = 0;
    double columnBytes = 0; // of the span table and the places, per span
};

double seconds(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Floor {
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    base::HugeVector<int64_t> start, duration;
    base::HugeVector<uint32_t> name, category, thread;
    base::HugeVector<char> phase;
    std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> names;

    uint32_t intern(std::string_view text)
    {
        const auto found = names.find(text);
        if (found != names.end()) return found->second;
        return names.emplace(std::string(text), static_cast<uint32_t>(names.size())).first->second;
    }

    void parse(simdjson::ondemand::parser& parser, char* text, size_t size, size_t room)
    {
        simdjson::ondemand::document document = parser.iterate(text, size, room);
        for (auto element : document.get_array()) {
            std::string_view eventName, eventCategory, eventPhase, eventThread;
            double time = 0, length = 0;
            for (auto member : element.get_object()) {
                const std::string_view key = member.unescaped_key();
                if (key == "ph") eventPhase = member.value().get_string();
                else if (key == "name") eventName = member.value().get_string();
                else if (key == "cat") eventCategory = member.value().get_string();
                else if (key == "ts") time = member.value().get_double();
                else if (key == "dur") length = member.value().get_double();
                else if (key == "tid") eventThread = member.value().raw_json_token();
            }
            start.push_back(static_cast<int64_t>(time * 1000));
            duration.push_back(static_cast<int64_t>(length * 1000));
            name.push_back(intern(eventName));
            category.push_back(intern(eventCategory));
            thread.push_back(intern(eventThread));
            phase.push_back(eventPhase.empty() ? '\0' : eventPhase[0]);
        }
    }

    static size_t lastEvent(std::string_view text)
    {
        const size_t indented = text.rfind("\n  }\n  ]");
        return indented != text.npos ? indented : text.rfind("\n  }\n]");
    }

    bool run(const char* path)
    {
        constexpr size_t kWindow = size_t{1} << 20;
        const int file = open(path, O_RDONLY);
        if (file < 0) return false;
        const auto expected = static_cast<size_t>(lseek(file, 0, SEEK_END)) / 200;
        lseek(file, 0, SEEK_SET);
        start.reserve(expected);
        duration.reserve(expected);
        name.reserve(expected);
        category.reserve(expected);
        thread.reserve(expected);
        phase.reserve(expected);
        std::vector<char> buffer(2 * kWindow + simdjson::SIMDJSON_PADDING);
        simdjson::ondemand::parser parser;
        size_t have = 1;
        buffer[0] = '[';
        bool first = true;
        for (;;) {
            const ssize_t got = read(file, buffer.data() + have, kWindow);
            const bool ended = got <= 0;
            if (!ended) have += static_cast<size_t>(got);
            const std::string_view text(buffer.data(), have);
            size_t begin = 0;
            if (first) {
                constexpr std::string_view kList = "\"traceEvents\": [";
                begin = text.find(kList);
                if (begin == text.npos) return false;
                begin += kList.size() - 1;
                first = false;
            }
            const size_t cut = ended ? lastEvent(text) : text.rfind("\n  },\n");
            if (cut == text.npos) break;
            const size_t end = cut + 4;
            const char kept = buffer[end];
            buffer[end] = ']';
            parse(parser, buffer.data() + begin, end + 1 - begin, buffer.size() - begin);
            if (ended) break;
            buffer[end] = kept;
            std::memmove(buffer.data() + 1, buffer.data() + end + 1, have - end - 1);
            have -= end;
        }
        close(file);
        return !start.empty();
    }
};

Outcome measureFloor(const char* path)
{
    Outcome outcome;
    Floor floor;
    if (!floor.run(path)) return outcome;
    outcome.events = floor.start.size();
    outcome.spans = static_cast<uint64_t>(std::count(floor.phase.begin(), floor.phase.end(), 'X'));
    return outcome;
}

Outcome measureImport(const char* path)
{
    Outcome outcome;
    const base::Result<importers::Imported> imported = importers::importFile(path);
    if (!imported) {
        std::fprintf(stderr, "%s\n", base::toText(imported.error()).c_str());
        return outcome;
    }
    const session::Session& session = *imported->session;
    outcome.events = outcome.spans = session.spans().size();
    const size_t rows = std::max<size_t>(1, session.spans().size());
    outcome.columnBytes = 8 + 8 + 4 + 4 + 4 + 4 + 8.0 * static_cast<double>(session.details().place.size()) / static_cast<double>(rows);
    return outcome;
}

// What the workbench shows before the whole is read; a file that is read fast enough has none.
Outcome measureFirstPart(const char* path)
{
    Outcome outcome;
    const base::Result<session::SessionPtr> part = files::openFirstPart(path, {});
    if (part && *part != nullptr) outcome.events = outcome.spans = (*part)->spans().size();
    return outcome;
}

// In a child process; its own peak.
Outcome measure(Outcome (*run)(const char*), const char* path)
{
    Outcome outcome;
    int ends[2];
    if (pipe(ends) != 0) return outcome;
    const pid_t child = fork();
    if (child == 0) {
        const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        outcome = run(path);
        outcome.wall = seconds(CLOCK_MONOTONIC) - wall;
        outcome.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        outcome.peakKb = usage.ru_maxrss;
        const bool written = write(ends[1], &outcome, sizeof outcome) == static_cast<ssize_t>(sizeof outcome);
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &outcome, sizeof outcome) != static_cast<ssize_t>(sizeof outcome)) outcome = {};
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return outcome;
}

void print(const char* what, const Outcome& o, double floorCpu)
{
    std::printf("| %-22s | %8.3f | %8.3f | %7.2f | %8.1f | %10llu | %8.1f |\n", what, o.wall, o.cpu, floorCpu > 0 ? o.cpu / floorCpu : 0.0,
                static_cast<double>(o.peakKb) / 1024, static_cast<unsigned long long>(o.spans),
                o.spans > 0 ? static_cast<double>(o.peakKb) * 1024 / static_cast<double>(o.spans) : 0.0);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: bench_load FILE [RUNS [PACKED]]\n");
        return 2;
    }
    const int runs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 3;
    const char* packedFile = argc > 3 ? argv[3] : nullptr;
    Outcome floor, ours, packed, first;
    const auto keepFastest = [](int run, Outcome& best, const Outcome& one) {
        if (run == 0 || one.cpu < best.cpu) best = one;
    };
    for (int i = 0; i < runs; ++i) { // alternating, so that a change of the machine's speed meets all
        keepFastest(i, floor, measure(measureFloor, argv[1]));
        keepFastest(i, ours, measure(measureImport, argv[1]));
        keepFastest(i, first, measure(measureFirstPart, argv[1]));
        if (packedFile != nullptr) { // on two threads: by the clock
            const Outcome one = measure(measureImport, packedFile);
            if (i == 0 || one.wall < packed.wall) packed = one;
        }
    }
    std::printf("%s, fastest of %d\n", argv[1], runs);
    std::printf("| %-22s | %8s | %8s | %7s | %8s | %10s | %8s |\n", "", "wall s", "cpu s", "x floor", "peak MB", "spans", "B/span");
    std::printf("|---|---|---|---|---|---|---|\n");
    if (floor.events > 0) print("floor", floor, floor.cpu);
    else std::printf("the floor does not read this layout\n");
    print("stepscope", ours, floor.cpu);
    if (packedFile != nullptr) print("stepscope, packed", packed, floor.cpu);
    if (first.events > 0) print("stepscope, first part", first, floor.cpu);
    std::printf("span columns and places: %.1f bytes per span\n", ours.columnBytes);
    return ours.events > 0 ? 0 : 1;
}
