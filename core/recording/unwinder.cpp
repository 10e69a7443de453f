#include "core/recording/unwinder.h"

#include "core/recording/call_frame_rules.h"

#include <algorithm>
#include <cstring>

namespace stepscope::recording {

namespace {

constexpr size_t kMaxFrames = 1024;
constexpr int kMaxSkips = 24;           // candidates of a search that are tried until one leads to the thread's start
constexpr uint64_t kSearchBytes = 65536;

const UnwindRule kUnknownRule;

bool readFrom(uint64_t start, std::span<const std::byte> bytes, uint64_t from, uint64_t& value) noexcept
{
    if (from < start || bytes.size() < 8 || from - start > bytes.size() - 8) return false;
    std::memcpy(&value, bytes.data() + (from - start), sizeof(value));
    return true;
}

// Whether an indirect call of `length` bytes (FF /2) starts at `code`.
bool isIndirectCall(const uint8_t* code, int length)
{
    if (code[0] != 0xff || (code[1] >> 3 & 7) != 2) return false;
    const int mod = code[1] >> 6, base = code[1] & 7;
    int bytes = 2;
    const bool scaled = mod != 3 && base == 4;
    if (scaled) ++bytes;
    if (mod == 1) bytes += 1;
    else if (mod == 2 || (mod == 0 && (base == 5 || (scaled && (code[2] & 7) == 5)))) bytes += 4;
    return bytes == length;
}

} // namespace

bool StackCopy::read(uint64_t from, uint64_t& value) const noexcept
{
    return readFrom(address, bytes, from, value) || readFrom(otherAddress, other, from, value);
}

void Unwinder::refresh()
{
    if (m_modules.refresh()) {
        m_places.clear();
        m_followsCall.clear();
    }
    for (CodeRegistration& registration : codeRegistry().take())
        m_generated.add(std::move(registration));
}

Unwinder::Place Unwinder::placeOf(uint64_t pc, uint64_t ticks)
{
    const auto known = m_places.find(pc);
    if (known != m_places.end()) return known->second;
    Place place;
    place.module = m_modules.find(pc);
    if (place.module != nullptr) {
        place.rule = &place.module->rules->at(pc - place.module->bias);
        m_places.emplace(pc, place);
        return place;
    }
    place.block = m_generated.find(pc, ticks);
    place.rule = place.block != nullptr ? &m_generated.rule(*place.block, pc, m_memory) : &kUnknownRule;
    return place;
}

bool Unwinder::findCfa(const UnwindRule& rule, const Registers& registers, const StackCopy& stack, uint64_t& cfa) const
{
    const uint64_t base = registers.value[rule.reg] + static_cast<uint64_t>(int64_t{rule.offset});
    switch (rule.cfa) {
    case UnwindRule::Cfa::registerOffset:
        cfa = base;
        return registers.has(rule.reg);
    case UnwindRule::Cfa::memory:
        if (!registers.has(rule.reg) || !stack.read(base, cfa)) return false;
        cfa += static_cast<uint64_t>(int64_t{rule.second});
        return true;
    case UnwindRule::Cfa::plt:
        cfa = registers.value[kStackRegister] + 8 + ((registers.value[kPcRegister] & 15) >= 11 ? 8 : 0);
        return registers.has(kStackRegister);
    default: return false;
    }
}

// From a frame to its caller by its rule.
Unwinder::Next Unwinder::step(const Place& place, Registers& registers, const StackCopy& stack) const
{
    using How = RegisterRule::How;
    const UnwindRule& rule = *place.rule;
    if (rule.cfa == UnwindRule::Cfa::outermost) return Next::outermost;
    uint64_t cfa = 0;
    if (!findCfa(rule, registers, stack, cfa)) return Next::lost;
    Registers caller;
    const auto restore = [&](int reg, const RegisterRule& how) {
        uint64_t value = 0;
        const auto offset = static_cast<uint64_t>(int64_t{how.offset});
        switch (how.how) {
        case How::same:
            if (registers.has(reg)) caller.set(reg, registers.value[static_cast<size_t>(reg)]);
            break;
        case How::atCfa:
            if (stack.read(cfa + offset, value)) caller.set(reg, value);
            break;
        case How::atRegister:
            if (registers.has(how.reg) && stack.read(registers.value[how.reg] + offset, value)) caller.set(reg, value);
            break;
        case How::isCfa: caller.set(reg, cfa + offset); break;
        case How::undefined: break;
        }
    };
    for (size_t i = 0; i < kSavedRegisters.size(); ++i)
        restore(kSavedRegisters[i], rule.saved[i]);
    restore(kPcRegister, rule.returnAddress);
    if (!caller.has(kPcRegister)) return Next::lost;
    caller.set(kStackRegister, cfa);
    const bool upwards = cfa > registers.value[kStackRegister] || rule.cfa == UnwindRule::Cfa::memory || rule.signalFrame
        || rule.reg == kFrameRegister;
    if (!upwards) return Next::lost; // a chain that does not grow may never end
    registers = caller;
    return registers.value[kPcRegister] == 0 ? Next::outermost : Next::frame;
}

bool Unwinder::isCode(uint64_t pc, uint64_t ticks) { return m_modules.find(pc) != nullptr || m_generated.find(pc, ticks) != nullptr; }

bool Unwinder::followsCall(uint64_t returnAddress)
{
    const auto known = m_followsCall.find(returnAddress);
    if (known != m_followsCall.end()) return known->second;
    constexpr int kLongest = 7;
    uint8_t code[kLongest + 8] = {};
    bool found = false;
    if (m_memory.read(returnAddress - kLongest, code, kLongest) == kLongest) {
        found = code[kLongest - 5] == 0xe8; // call rel32
        for (int length = 2; length <= kLongest && !found; ++length)
            found = isIndirectCall(code + kLongest - length, length);
    }
    return m_followsCall.emplace(returnAddress, found).first->second;
}

// Finds the next word on the stack that looks like a return address; `skip` of them are passed over first.
bool Unwinder::search(Registers& registers, const StackCopy& stack, uint64_t ticks, int& skip)
{
    uint64_t from = (registers.value[kStackRegister] + 7) & ~uint64_t{7};
    uint64_t begin = stack.address, size = stack.bytes.size();
    if (from >= stack.otherAddress && from - stack.otherAddress < stack.other.size() && stack.otherAddress > stack.address) {
        begin = stack.otherAddress; // beyond a work space
        size = stack.other.size();
    }
    if (from < begin || from >= begin + size) from = begin;
    const uint64_t end = std::min(begin + size, from + kSearchBytes);
    uint64_t word = 0;
    for (uint64_t at = from; at + 8 <= end; at += 8) {
        if (!stack.read(at, word)) return false;
        if (!isCode(word, ticks) || !followsCall(word)) continue;
        if (skip > 0) {
            --skip;
            continue;
        }
        registers.known = 0; // nothing else of the caller is certain
        registers.set(kPcRegister, word);
        registers.set(kStackRegister, at + 8);
        return true;
    }
    return false;
}

bool Unwinder::unwindOnce(Registers registers, const StackCopy& stack, uint64_t ticks, int skip, std::vector<CodeFrame>& frames, bool& searched)
{
    frames.clear();
    searched = false;
    bool exactPc = true; // the first frame and those that a signal interrupted; callers are looked up within their call
    while (frames.size() < kMaxFrames) {
        const uint64_t pc = registers.value[kPcRegister] - (exactPc ? 0 : 1);
        const Place place = placeOf(pc, ticks);
        frames.push_back({pc, place.module, place.block, searched});
        Registers caller = registers;
        Next next = step(place, caller, stack);
        // Rules of generated code are our own inference: they must lead to code.
        if (next == Next::frame && place.module == nullptr && !isCode(caller.value[kPcRegister], ticks)) next = Next::lost;
        if (next == Next::outermost) return true;
        exactPc = next == Next::frame && place.rule->signalFrame;
        if (next == Next::lost) {
            caller = registers;
            searched = true;
            if (!search(caller, stack, ticks, skip)) return false;
        }
        registers = caller;
    }
    return false;
}

bool Unwinder::unwind(const Registers& registers, const StackCopy& stack, uint64_t ticks, std::vector<CodeFrame>& frames)
{
    bool searched = false;
    if (unwindOnce(registers, stack, ticks, 0, frames, searched)) return true;
    if (!searched) return false;
    for (int skip = 1; skip <= kMaxSkips; ++skip) {
        if (!unwindOnce(registers, stack, ticks, skip, m_trial, searched)) continue;
        frames.swap(m_trial);
        return true;
    }
    return false;
}

} // namespace stepscope::recording
