#include "core/recording/code_names.h"

#include "core/recording/debug_file.h"
#include "core/recording/debuginfod.h"
#include "core/recording/demangle.h"
#include "core/recording/dwarf_index.h"
#include "core/recording/elf_file.h"
#include "core/recording/loaded_modules.h"
#include "core/recording/symbol_index.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

namespace stepscope::recording {

namespace {

struct Module {
    std::optional<ElfFile> file;  // none: it cannot be read, and its addresses have no names
    std::optional<ElfFile> debug; // debug information apart from it
    std::optional<DwarfIndex> lines;
    SymbolIndex symbols;
    std::vector<ElfFile::Section> sections;
    bool mayBeFetched = false; // debug information may come from a server
};

std::string wholePath(const char* file, const char* folder)
{
    std::filesystem::path path(file);
    if (path.is_relative() && folder != nullptr) path = std::filesystem::path(folder) / path;
    return path.lexically_normal().string();
}

} // namespace

struct CodeNames::Impl {
    CodeNameOptions options;
    std::unique_ptr<Debuginfod> servers;
    std::unordered_map<std::string, std::unique_ptr<Module>> modules;
    std::vector<std::string> notes;
    std::vector<DwarfIndex::Frame> found; // reused
    std::chrono::steady_clock::duration waited{0}; // for downloads

    Module& module(const std::string& path);
    std::optional<ElfFile> open(const std::string& path);
    void useDebugFile(Module& module, ElfFile file);
    void fetch(Module& module, std::chrono::milliseconds patience);
    static std::vector<SymbolFrame> fromSymbols(const Module& module, uint64_t address);
};

// The file of a module, if it is the one that runs: a library that was replaced on disk would give wrong names.
std::optional<ElfFile> CodeNames::Impl::open(const std::string& path)
{
    if (path == "[vdso]") {
        base::Result<ElfFile> image = ElfFile::fromMemory(systemLibraryImage());
        return image ? std::optional<ElfFile>(std::move(*image)) : std::nullopt;
    }
    base::Result<ElfFile> file = ElfFile::open(path);
    const std::string running = loadedBuildId(path);
    if (running.empty() || (file && file->buildId() == running)) return file ? std::optional<ElfFile>(std::move(*file)) : std::nullopt;
    if (base::Result<ElfFile> program = ElfFile::open("/proc/self/exe"); program && program->buildId() == running) return std::move(*program);
    notes.push_back(fmt::format("{} was replaced since it was loaded, so its functions have no names.", path));
    return std::nullopt;
}

Module& CodeNames::Impl::module(const std::string& path)
{
    const auto [at, added] = modules.try_emplace(path);
    if (!added) return *at->second;
    at->second = std::make_unique<Module>();
    Module& module = *at->second;
    module.file = open(path);
    if (!module.file) return module;
    module.sections = module.file->codeSections();
    module.symbols.add(*module.file);
    if (Dwarf* dwarf = module.file->dwarf(); dwarf != nullptr) {
        module.lines.emplace(dwarf);
    } else if (std::optional<ElfFile> debug = findDebugFile(*module.file, options.debugDirectories)) {
        useDebugFile(module, std::move(*debug));
    } else if (servers != nullptr && !module.file->buildId().empty()) {
        module.mayBeFetched = true;
        const auto start = std::chrono::steady_clock::now();
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(options.debuginfodPatience - waited);
        fetch(module, std::max(left, std::chrono::milliseconds(0)));
        waited += std::chrono::steady_clock::now() - start;
    }
    module.symbols.finish();
    return module;
}

void CodeNames::Impl::useDebugFile(Module& module, ElfFile file)
{
    module.debug = std::move(file);
    module.lines.emplace(module.debug->dwarf());
    module.symbols.add(*module.debug);
}

void CodeNames::Impl::fetch(Module& module, std::chrono::milliseconds patience)
{
    const Debuginfod::Answer answer = servers->ask(module.file->buildId(), patience);
    if (answer.state == Debuginfod::State::coming) return;
    module.mayBeFetched = false;
    if (answer.state != Debuginfod::State::here) return;
    std::optional<ElfFile> debug = openDebugFile(*module.file, answer.path);
    if (!debug) return;
    useDebugFile(module, std::move(*debug));
    module.symbols.finish();
}

std::vector<SymbolFrame> CodeNames::Impl::fromSymbols(const Module& module, uint64_t address)
{
    SymbolFrame frame;
    if (const SymbolIndex::Entry* symbol = module.symbols.find(address); symbol != nullptr) {
        frame.function = demangled(symbol->name);
        frame.offset = address - symbol->begin;
        return {std::move(frame)};
    }
    for (const ElfFile::Section& section : module.sections) {
        if (address < section.begin || address >= section.end || section.name.rfind(".plt", 0) != 0) continue;
        frame.function = "[call into another library]";
        frame.offset = address - section.begin;
        return {std::move(frame)};
    }
    return {};
}

CodeNames::CodeNames(CodeNameOptions options) : m_impl(std::make_unique<Impl>())
{
    m_impl->options = std::move(options);
    std::string why;
    if (m_impl->options.useDebuginfod) m_impl->servers = Debuginfod::make(why);
    if (!why.empty()) m_impl->notes.push_back(why + ".");
}

CodeNames::~CodeNames() = default;

std::vector<std::string> CodeNames::notes() const { return m_impl->notes; }

std::vector<SymbolFrame> CodeNames::resolve(const CodeAddress& address)
{
    Module& module = m_impl->module(address.module);
    if (!module.file) return {};
    if (module.mayBeFetched) m_impl->fetch(module, std::chrono::milliseconds(0));
    std::vector<DwarfIndex::Frame>& found = m_impl->found;
    found.clear();
    if (!module.lines || !module.lines->resolve(address.address, found)) return Impl::fromSymbols(module, address.address);
    std::vector<SymbolFrame> frames;
    frames.reserve(found.size());
    for (const DwarfIndex::Frame& one : found) {
        SymbolFrame frame;
        if (one.linkageName != nullptr) frame.function = demangled(one.linkageName);
        else if (one.name != nullptr) frame.function = one.name;
        if (one.file != nullptr) frame.file = wholePath(one.file, one.folder);
        frame.line = std::max(0, one.line);
        frames.push_back(std::move(frame));
    }
    // Functions without linkage have a name without their scopes in the debug information; the symbol table has it whole.
    if (found.back().linkageName == nullptr) {
        if (const SymbolIndex::Entry* symbol = module.symbols.find(address.address); symbol != nullptr)
            frames.back().function = demangled(symbol->name);
    }
    return frames;
}

} // namespace stepscope::recording
