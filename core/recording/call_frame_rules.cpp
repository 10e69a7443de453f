#include "core/recording/call_frame_rules.h"

#include <cstdlib>
#include <optional>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

struct FreeMemory {
    void operator()(void* memory) const noexcept { std::free(memory); }
};

struct RegisterPlus {
    uint8_t reg = 0;
    int64_t offset = 0;
};

std::optional<RegisterPlus> registerPlus(const Dwarf_Op& operation)
{
    if (operation.atom >= DW_OP_breg0 && operation.atom <= DW_OP_breg31)
        return RegisterPlus{static_cast<uint8_t>(operation.atom - DW_OP_breg0), static_cast<int64_t>(operation.number)};
    if (operation.atom == DW_OP_bregx)
        return RegisterPlus{static_cast<uint8_t>(operation.number), static_cast<int64_t>(operation.number2)};
    return std::nullopt;
}

bool readCfa(Dwarf_Frame* frame, UnwindRule& rule)
{
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return false;
    const std::optional<RegisterPlus> base = registerPlus(ops[0]);
    if (!base || base->reg >= kRegisters) return false;
    rule.reg = base->reg;
    rule.offset = static_cast<int32_t>(base->offset);
    rule.cfa = UnwindRule::Cfa::registerOffset;
    if (count == 1) return true;
    if (ops[1].atom == DW_OP_plus_uconst && count == 2) {
        rule.offset += static_cast<int32_t>(ops[1].number);
        return true;
    }
    if (ops[1].atom == DW_OP_deref && count <= 3) {
        rule.cfa = UnwindRule::Cfa::memory;
        if (count == 3 && ops[2].atom != DW_OP_plus_uconst) return false;
        rule.second = count == 3 ? static_cast<int32_t>(ops[2].number) : 0;
        return true;
    }
    // The linker's expression for the procedure linkage table: sp + 8 + (((pc & 15) >= 11) << 3).
    if (count > 5 && rule.reg == kStackRegister) {
        rule.cfa = UnwindRule::Cfa::plt;
        return true;
    }
    return false;
}

RegisterRule readRegister(Dwarf_Frame* frame, int number)
{
    using How = RegisterRule::How;
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0) return {};
    if (count == 0) return {ops == memory ? How::undefined : How::same, 0, 0};
    if (ops[0].atom == DW_OP_call_frame_cfa) {
        RegisterRule rule{How::atCfa, 0, 0};
        if (count > 1 && ops[1].atom == DW_OP_plus_uconst) rule.offset = static_cast<int32_t>(static_cast<int64_t>(ops[1].number));
        if (ops[count - 1].atom == DW_OP_stack_value) rule.how = How::isCfa;
        return rule;
    }
    const std::optional<RegisterPlus> base = registerPlus(ops[0]);
    if (count == 1 && base && base->reg < kRegisters) return {How::atRegister, base->reg, static_cast<int32_t>(base->offset)};
    return {How::undefined, 0, 0};
}

UnwindRule readRule(Dwarf_Frame* frame, bool signalFrame)
{
    UnwindRule rule;
    rule.signalFrame = signalFrame;
    if (!readCfa(frame, rule)) return {};
    for (size_t i = 0; i < kSavedRegisters.size(); ++i)
        rule.saved[i] = readRegister(frame, kSavedRegisters[i]);
    rule.returnAddress = readRegister(frame, kPcRegister);
    if (rule.returnAddress.how == RegisterRule::How::undefined) rule.cfa = UnwindRule::Cfa::outermost;
    else if (rule.returnAddress.how == RegisterRule::How::same) rule.returnAddress = {RegisterRule::How::atCfa, 0, -8};
    return rule;
}

} // namespace

struct CallFrameRules::File {
    int file = -1;
    Elf* elf = nullptr;
    Dwarf* dwarf = nullptr;
    Dwarf_CFI* ehFrame = nullptr;
    Dwarf_CFI* debugFrame = nullptr; // owned by `dwarf`

    explicit File(const std::string& path)
    {
        elf_version(EV_CURRENT);
        if (path == "[vdso]") {
            openVdso();
        } else {
            file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
            if (file >= 0) elf = elf_begin(file, ELF_C_READ_MMAP, nullptr);
        }
        if (elf == nullptr) return;
        ehFrame = dwarf_getcfi_elf(elf);
        dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
        if (dwarf != nullptr) debugFrame = dwarf_getcfi(dwarf);
    }
    ~File()
    {
        if (dwarf != nullptr) dwarf_end(dwarf);
        if (ehFrame != nullptr) dwarf_cfi_end(ehFrame);
        if (elf != nullptr) elf_end(elf);
        if (file >= 0) ::close(file);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    void openVdso()
    {
        const auto image = ::getauxval(AT_SYSINFO_EHDR);
        if (image == 0) return;
        const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
        const size_t bytes = header->e_shoff + size_t{header->e_shentsize} * header->e_shnum;
        elf = elf_memory(reinterpret_cast<char*>(image), bytes);
    }
};

CallFrameRules::CallFrameRules(std::string path) : m_path(std::move(path)) {}
CallFrameRules::~CallFrameRules() = default;

const UnwindRule& CallFrameRules::at(uint64_t address)
{
    auto after = m_ranges.upper_bound(address);
    if (after != m_ranges.begin()) {
        const auto& [start, range] = *std::prev(after);
        if (address < range.end) return range.rule;
    }
    return read(address);
}

const UnwindRule& CallFrameRules::read(uint64_t address)
{
    if (m_file == nullptr) m_file = std::make_unique<File>(m_path);
    Range range{address + 1, {}};
    uint64_t start = address;
    for (Dwarf_CFI* const source : {m_file->ehFrame, m_file->debugFrame}) {
        Dwarf_Frame* found = nullptr;
        if (source == nullptr || dwarf_cfi_addrframe(source, address, &found) != 0) continue;
        const std::unique_ptr<Dwarf_Frame, FreeMemory> frame(found);
        Dwarf_Addr from = address, to = address + 1;
        bool signalFrame = false;
        dwarf_frame_info(found, &from, &to, &signalFrame);
        if (from <= address && address < to) {
            start = from;
            range.end = to;
        }
        range.rule = readRule(found, signalFrame);
        if (range.rule.cfa != UnwindRule::Cfa::unknown) break;
    }
    return m_ranges.insert_or_assign(start, range).first->second.rule;
}

} // namespace stepscope::recording
