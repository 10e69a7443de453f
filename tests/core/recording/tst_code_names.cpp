#include "addr2line.h"

#include "core/recording/code_names.h"
#include "core/recording/elf_file.h"
#include "core/recording/loaded_modules.h"
#include "core/recording/symbol_index.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

using namespace stepscope::recording;

namespace {

// A place that is known: code of our own, called nowhere else.
namespace inner {
constexpr int kInnerLine = __LINE__ + 4;
template <class T>
inline __attribute__((always_inline)) T addTwice(T value, volatile int* sink)
{
    *sink = *sink + static_cast<int>(value);
    return value + value;
}
} // namespace inner

constexpr int kOuterLine = __LINE__ + 3;
__attribute__((noinline)) int knownFunction(volatile int* sink)
{
    return inner::addTwice(3, sink);
}

std::string programPath() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

uint64_t loadBias()
{
    Dl_info info;
    ::dladdr(reinterpret_cast<void*>(&programPath), &info);
    return reinterpret_cast<uint64_t>(info.dli_fbase);
}

// Every n-th address of the program's code, about `count` of them; without what lies between the functions and never runs.
std::vector<uint64_t> codeAddresses(const std::string& path, size_t count)
{
    const auto file = ElfFile::open(path);
    SymbolIndex symbols;
    symbols.add(*file);
    symbols.finish();
    std::vector<uint64_t> addresses;
    for (const ElfFile::Section& section : file->codeSections()) {
        if (section.name != ".text") continue;
        const uint64_t step = std::max<uint64_t>(1, (section.end - section.begin) / count);
        for (uint64_t address = section.begin; address < section.end; address += step)
            if (symbols.size() == 0 || symbols.find(address) != nullptr) addresses.push_back(address);
    }
    return addresses;
}

// The compiler's clones of a function ("foo.cold", "foo() [clone .isra.0]") count as the function.
std::string withoutClone(const std::string& name)
{
    const size_t bracket = name.find(" [clone");
    if (bracket != std::string::npos) return name.substr(0, bracket);
    const size_t cold = name.rfind(".cold");
    return cold != std::string::npos && cold + 5 == name.size() ? name.substr(0, cold) : name;
}

// addr2line names a function without linkage as the source does ("fetch"), where the symbol table has it whole.
bool sameName(const std::string& ours, const std::string& other)
{
    if (withoutClone(ours) == withoutClone(other)) return true;
    return other.find_first_of(":(") == std::string::npos && ours.find("::" + other + "(") != std::string::npos;
}

// Copies this program without its debug information, which goes where a debugger would look for it.
std::string makeStripped(const QString& folder, bool byBuildId)
{
    const std::string base = folder.toStdString(), program = base + "/program", debug = base + "/program.debug";
    const QString original = QString::fromStdString(programPath()), to = QString::fromStdString(debug);
    if (QProcess::execute(QStringLiteral("objcopy"), {QStringLiteral("--only-keep-debug"), original, to}) != 0) return {};
    QStringList arguments{QStringLiteral("--strip-all")};
    if (!byBuildId) arguments << QStringLiteral("--remove-section=.note.gnu.build-id") << QStringLiteral("--add-gnu-debuglink=") + to;
    arguments << original << QString::fromStdString(program);
    if (QProcess::execute(QStringLiteral("objcopy"), arguments) != 0) return {};
    if (byBuildId) {
        const std::string id = ElfFile::open(program)->buildId();
        if (id.size() < 8) return {};
        std::filesystem::create_directories(base + "/debug/.build-id/" + id.substr(0, 2));
        std::filesystem::rename(debug, base + "/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
    }
    return program;
}

bool isKnownFunction(CodeNames& names, const std::string& path)
{
    const auto frames = names.resolve({path, reinterpret_cast<uint64_t>(&knownFunction) - loadBias()});
    return !frames.empty() && frames.back().function.find("knownFunction(int volatile*)") != std::string::npos && frames.back().line > 0;
}

std::string byteFlipped(const std::string& from, const std::string& to)
{
    std::ifstream in(from, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    std::ofstream(to, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return to;
}

// Where the tables of an ELF file lie: its header, the section headers and the sections of debug information and symbols.
std::vector<std::pair<size_t, size_t>> debugPlaces(const std::string& bytes)
{
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    std::vector<std::pair<size_t, size_t>> places{{0, sizeof(header)}, {header.e_shoff, bytes.size()}};
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    const char* names = bytes.data() + sections[header.e_shstrndx].sh_offset;
    for (const Elf64_Shdr& section : sections) {
        const std::string_view name = names + section.sh_name;
        if (section.sh_size > 0 && (name.rfind(".debug", 0) == 0 || name == ".symtab" || name == ".strtab"))
            places.emplace_back(section.sh_offset, section.sh_offset + section.sh_size);
    }
    return places;
}

std::string fileName(const std::string& path) { return std::filesystem::path(path).filename().string(); }

void tell(uint64_t address, const std::vector<SymbolFrame>& ours, const std::vector<stepscope::testing::Addr2lineFrame>& other)
{
    QByteArray text = "differs at " + QByteArray::number(static_cast<qulonglong>(address), 16);
    for (const SymbolFrame& frame : ours) text += ("\n    ours  " + frame.function.substr(0, 90) + ' ' + fileName(frame.file) + ':' + std::to_string(frame.line)).c_str();
    for (const auto& frame : other) text += ("\n    other " + frame.function.substr(0, 90) + ' ' + fileName(frame.file) + ':' + std::to_string(frame.line)).c_str();
    qInfo("%s", text.constData());
}

} // namespace

class TestCodeNames : public QObject {
    Q_OBJECT
private slots:
    void aFunctionOfThisProgramHasNameFileAndLine()
    {
        CodeNames names;
        bool inlinedSeen = false;
        const auto begin = reinterpret_cast<uint64_t>(&knownFunction) - loadBias();
        volatile int sink = 0;
        QCOMPARE(knownFunction(&sink), 6);
        for (uint64_t address = begin; address < begin + 16; ++address) {
            const auto frames = names.resolve({programPath(), address});
            QVERIFY(!frames.empty());
            const SymbolFrame& outermost = frames.back();
            if (outermost.function.find("knownFunction(int volatile*)") == std::string::npos) break; // behind its end
            QCOMPARE(fileName(outermost.file), std::string("tst_code_names.cpp"));
            if (frames.size() == 2) {
                inlinedSeen = true;
                QVERIFY(frames[0].function.find("addTwice") != std::string::npos);
                QVERIFY(frames[0].line == inner::kInnerLine || frames[0].line == inner::kInnerLine + 1);
                QCOMPARE(outermost.line, kOuterLine);
            }
        }
        QVERIFY(inlinedSeen);
    }

    void namesInliningAndLinesAreThoseOfAddr2line()
    {
        const std::string path = programPath();
        const std::vector<uint64_t> addresses = codeAddresses(path, 4000);
        QVERIFY(addresses.size() > 3000);
        const auto expected = stepscope::testing::addr2line(QString::fromStdString(path), addresses);
        QCOMPARE(expected.size(), addresses.size()); // binutils come with the compiler
        CodeNames names;
        size_t depth = 0, function = 0, line = 0, mixedUp = 0, shown = 0;
        for (size_t i = 0; i < addresses.size(); ++i) {
            const auto frames = names.resolve({path, addresses[i]});
            auto other = expected[i];
            if (other.size() == 1 && other[0].function.empty() && other[0].line == 0) other.clear();
            const bool sameDepth = frames.size() == other.size();
            bool sameFunction = sameDepth, sameLine = sameDepth;
            for (size_t f = 0; sameDepth && f < frames.size(); ++f) {
                sameFunction = sameFunction && sameName(frames[f].function, other[f].function);
                sameLine = sameLine && frames[f].line == other[f].line && (frames[f].line == 0 || fileName(frames[f].file) == fileName(other[f].file));
            }
            // addr2line names an inlined function without linkage after the function around it.
            if (!sameFunction && sameDepth && frames.size() > 1 && sameName(frames.back().function, other[0].function)) {
                ++mixedUp;
                sameFunction = true;
            }
            depth += sameDepth;
            function += sameFunction;
            line += sameLine;
            if (!(sameDepth && sameFunction && sameLine) && shown++ < 5) tell(addresses[i], frames, other);
        }
        const auto share = [&](size_t same) { return static_cast<double>(same) / static_cast<double>(addresses.size()); };
        QVERIFY(mixedUp * 10 < addresses.size());
        qInfo("%zu addresses: depth %.4f, names %.4f, lines %.4f equal", addresses.size(), share(depth), share(function), share(line));
        QVERIFY(share(depth) >= 0.99);
        QVERIFY(share(function) >= 0.99);
        QVERIFY(share(line) >= 0.99);
    }

    void aStrippedFileIsNamedByItsDebugFile_data()
    {
        QTest::addColumn<bool>("byBuildId");
        QTest::newRow("by .gnu_debuglink") << false;
        QTest::newRow("by build-id") << true;
    }

    void aStrippedFileIsNamedByItsDebugFile()
    {
        QFETCH(bool, byBuildId);
        QTemporaryDir folder;
        const std::string stripped = makeStripped(folder.path(), byBuildId);
        QVERIFY(!stripped.empty()); // binutils come with the compiler
        CodeNameOptions options;
        options.debugDirectories = {folder.filePath("debug").toStdString()};
        options.useDebuginfod = false;
        CodeNames names(options);
        QVERIFY(isKnownFunction(names, stripped));
    }

    void aDebugFileOfAnotherBuildIsRefused()
    {
        QTemporaryDir folder;
        const std::string stripped = makeStripped(folder.path(), false);
        QVERIFY(!stripped.empty());
        // Another file under the name that the link gives.
        const std::string debug = folder.filePath("program.debug").toStdString();
        std::filesystem::copy_file(byteFlipped(debug, folder.filePath("x").toStdString()), debug, std::filesystem::copy_options::overwrite_existing);
        CodeNameOptions options;
        options.debugDirectories.clear();
        options.useDebuginfod = false;
        CodeNames names(options);
        QVERIFY(!isKnownFunction(names, stripped));
    }

    void debugInformationComesFromAServerWhenConfigured()
    {
        if (::dlopen("libdebuginfod.so.1", RTLD_NOW) == nullptr) QSKIP("libdebuginfod.so.1 is not installed");
        QTemporaryDir folder;
        const std::string stripped = makeStripped(folder.path(), true);
        QVERIFY(!stripped.empty());
        // The library takes a folder laid out like a server's answers.
        const std::string id = ElfFile::open(stripped)->buildId();
        const std::string place = folder.filePath("server/buildid/").toStdString() + id;
        std::filesystem::create_directories(place);
        std::filesystem::rename(folder.filePath("debug/.build-id/").toStdString() + id.substr(0, 2) + "/" + id.substr(2) + ".debug", place + "/debuginfo");
        qputenv("DEBUGINFOD_URLS", "file://" + folder.filePath("server").toUtf8());
        qputenv("DEBUGINFOD_CACHE_PATH", folder.filePath("cache").toUtf8());
        CodeNameOptions options;
        options.debugDirectories.clear();
        options.debuginfodPatience = std::chrono::seconds(30);
        {
            CodeNames names(options);
            QVERIFY(isKnownFunction(names, stripped));
        }
        qunsetenv("DEBUGINFOD_URLS");
        CodeNames unconfigured(options);
        QVERIFY(!isKnownFunction(unconfigured, stripped));
    }

    void aServerThatDoesNotAnswerHoldsNothingUp()
    {
        if (::dlopen("libdebuginfod.so.1", RTLD_NOW) == nullptr) QSKIP("libdebuginfod.so.1 is not installed");
        const int silent = ::socket(AF_INET, SOCK_STREAM, 0); // takes connections and says nothing
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof(place);
        QCOMPARE(::bind(silent, reinterpret_cast<sockaddr*>(&place), length), 0);
        QCOMPARE(::listen(silent, 8), 0);
        QCOMPARE(::getsockname(silent, reinterpret_cast<sockaddr*>(&place), &length), 0);
        QTemporaryDir folder;
        const std::string stripped = makeStripped(folder.path(), true);
        qputenv("DEBUGINFOD_URLS", "http://127.0.0.1:" + QByteArray::number(ntohs(place.sin_port)));
        qputenv("DEBUGINFOD_CACHE_PATH", folder.filePath("cache").toUtf8());
        CodeNameOptions options;
        options.debugDirectories.clear();
        QElapsedTimer timer;
        timer.start();
        {
            CodeNames names(options);
            const std::vector<uint64_t> addresses = codeAddresses(stripped, 100);
            for (const uint64_t address : addresses)
                names.resolve({stripped, address});
        }
        qunsetenv("DEBUGINFOD_URLS");
        ::close(silent);
        QVERIFY(timer.elapsed() < 15000); // the server would be waited for one and a half minutes
    }

    void addressesWithoutASymbolHaveNoName()
    {
        CodeNames names;
        QVERIFY(names.resolve({programPath(), 1}).empty());
        QVERIFY(names.resolve({programPath(), ~uint64_t{0}}).empty());
        QVERIFY(names.resolve({"/nonexistent/lib.so", 0x1000}).empty());
        QVERIFY(names.resolve({"/dev/null", 0x1000}).empty());
        QVERIFY(names.resolve({"/proc/self/maps", 0x1000}).empty());
        QVERIFY(names.resolve({"", 0}).empty());
    }

    void aFunctionOfTheSystemsOwnLibraryHasAName()
    {
        const std::vector<char> image = systemLibraryImage();
        if (image.empty()) QSKIP("the system maps no library of its own");
        const auto file = ElfFile::fromMemory(image);
        QVERIFY(file.has_value());
        SymbolIndex symbols;
        symbols.add(*file);
        symbols.finish();
        CodeNames names;
        bool seen = false;
        for (const ElfFile::Section& section : file->codeSections())
            for (uint64_t address = section.begin; address < section.end; address += 16)
                for (const SymbolFrame& frame : names.resolve({"[vdso]", address}))
                    seen = seen || frame.function.find("clock_gettime") != std::string::npos;
        QVERIFY(seen);
    }

    void truncatedFilesDoNoHarm()
    {
        QTemporaryDir folder;
        const std::string original = programPath();
        const std::vector<uint64_t> addresses = codeAddresses(original, 60);
        const auto size = std::filesystem::file_size(original);
        const std::string path = folder.filePath("cut").toStdString();
        for (int part = 0; part < 64; ++part) {
            std::filesystem::copy_file(original, path, std::filesystem::copy_options::overwrite_existing);
            std::filesystem::resize_file(path, size * static_cast<unsigned>(part) / 64);
            CodeNames names;
            for (const uint64_t address : addresses)
                names.resolve({path, address});
        }
    }

    void damagedFilesDoNoHarm()
    {
        QTemporaryDir folder;
        const std::string original = programPath();
        const std::vector<uint64_t> addresses = codeAddresses(original, 40);
        std::ifstream in(original, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(in)), {});
        const std::string path = folder.filePath("damaged").toStdString();
        std::mt19937_64 random(7);
        // Half of the damage in the headers and tables that lead to everything else.
        const std::vector<std::pair<size_t, size_t>> places = debugPlaces(bytes);
        QVERIFY(places.size() > 4);
        for (int round = 0; round < 150; ++round) {
            std::string damaged = bytes;
            const auto& [begin, end] = places[static_cast<size_t>(round) % places.size()];
            const int hits = 1 << (round % 8);
            for (int i = 0; i < hits; ++i)
                damaged[begin + random() % (end - begin)] = static_cast<char>(random());
            std::ofstream(path, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
            CodeNames names;
            for (const uint64_t address : addresses)
                names.resolve({path, address});
        }
    }
};

QTEST_GUILESS_MAIN(TestCodeNames)
#include "tst_code_names.moc"
