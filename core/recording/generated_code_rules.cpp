#include "core/recording/generated_code_rules.h"

#include <algorithm>
#include <optional>

#include <capstone/capstone.h>

namespace stepscope::recording {

namespace {

// Where the CFA is before an instruction.
struct State {
    enum class Base : uint8_t { stack, frame, memory, unknown };
    Base base = Base::stack;
    bool frameIsCopy = false; // rbp holds an old stack pointer: CFA = rbp + frameOffset
    int32_t offset = 8;       // base stack: CFA = rsp + offset
    int32_t frameOffset = 0;
    int32_t slot = 0;         // base memory: CFA = [rsp + slot] + frameOffset
    std::array<int32_t, kSavedRegisters.size()> saved{}; // at CFA + saved; 0: still in the register
    friend bool operator==(const State&, const State&) = default;
};

UnwindRule ruleOf(const State& state)
{
    UnwindRule rule;
    switch (state.base) {
    case State::Base::stack:
        rule.cfa = UnwindRule::Cfa::registerOffset;
        rule.offset = state.offset;
        break;
    case State::Base::frame:
        rule.cfa = UnwindRule::Cfa::registerOffset;
        rule.reg = kFrameRegister;
        rule.offset = state.frameOffset;
        break;
    case State::Base::memory:
        rule.cfa = UnwindRule::Cfa::memory;
        rule.offset = state.slot;
        rule.second = state.frameOffset;
        break;
    case State::Base::unknown: return rule;
    }
    for (size_t i = 0; i < state.saved.size(); ++i)
        if (state.saved[i] != 0) rule.saved[i] = {RegisterRule::How::atCfa, 0, state.saved[i]};
    return rule;
}

std::optional<size_t> savedIndex(unsigned reg)
{
    constexpr std::array<unsigned, kSavedRegisters.size()> kRegs{X86_REG_RBX, X86_REG_RBP, X86_REG_R12,
                                                                 X86_REG_R13, X86_REG_R14, X86_REG_R15};
    const auto at = std::find(kRegs.begin(), kRegs.end(), reg);
    if (at == kRegs.end()) return std::nullopt;
    return static_cast<size_t>(at - kRegs.begin());
}

// What one instruction does to the state.
class Step {
public:
    Step(State& state, const cs_insn& instruction) : m_state(state), m_id(instruction.id), m_x86(instruction.detail->x86) {}

    void apply()
    {
        switch (m_id) {
        case X86_INS_PUSH: push(); return;
        case X86_INS_POP: pop(); return;
        case X86_INS_ADD:
        case X86_INS_SUB: add(); return;
        case X86_INS_LEA: loadAddress(); return;
        case X86_INS_MOV: move(); return;
        case X86_INS_LEAVE: leave(); return;
        case X86_INS_CALL:
        case X86_INS_RET: return;
        default: other();
        }
    }

private:
    bool isReg(int operand, unsigned reg) const
    {
        return operand < m_x86.op_count && m_x86.operands[operand].type == X86_OP_REG && m_x86.operands[operand].reg == reg;
    }
    bool isMemory(int operand, unsigned base) const
    {
        if (operand >= m_x86.op_count || m_x86.operands[operand].type != X86_OP_MEM) return false;
        return m_x86.operands[operand].mem.base == base && m_x86.operands[operand].mem.index == X86_REG_INVALID;
    }
    int32_t displacement(int operand) const { return static_cast<int32_t>(m_x86.operands[operand].mem.disp); }

    void loseStack() { m_state.base = m_state.frameIsCopy ? State::Base::frame : State::Base::unknown; }
    void loseFrame()
    {
        m_state.frameIsCopy = false;
        if (m_state.base == State::Base::frame) m_state.base = State::Base::unknown;
    }
    void moveStack(int32_t bytes) // downwards
    {
        if (m_state.base == State::Base::stack) m_state.offset += bytes;
        else if (m_state.base == State::Base::memory) m_state.slot += bytes;
    }
    void restoreStack(int32_t offset)
    {
        m_state.base = State::Base::stack;
        m_state.offset = offset;
    }

    void push()
    {
        moveStack(8);
        if (m_state.base != State::Base::stack || m_x86.operands[0].type != X86_OP_REG) return;
        if (const auto i = savedIndex(m_x86.operands[0].reg); i && m_state.saved[*i] == 0) m_state.saved[*i] = -m_state.offset;
    }
    void pop()
    {
        if (m_x86.operands[0].type == X86_OP_REG && m_state.base == State::Base::stack) {
            const auto i = savedIndex(m_x86.operands[0].reg);
            if (i && m_state.saved[*i] == -m_state.offset) m_state.saved[*i] = 0;
        }
        moveStack(-8);
        if (isReg(0, X86_REG_RSP)) loseStack();
        if (isReg(0, X86_REG_RBP)) loseFrame();
    }
    void add()
    {
        if (!isReg(0, X86_REG_RSP)) return other();
        if (m_x86.operands[1].type != X86_OP_IMM) return loseStack();
        const auto value = static_cast<int32_t>(m_x86.operands[1].imm);
        moveStack(m_id == X86_INS_SUB ? value : -value);
    }
    void loadAddress()
    {
        if (!isReg(0, X86_REG_RSP)) return other();
        if (isMemory(1, X86_REG_RSP)) moveStack(-displacement(1));
        else if (isMemory(1, X86_REG_RBP) && m_state.frameIsCopy) restoreStack(m_state.frameOffset - displacement(1));
        else loseStack();
    }
    void move()
    {
        if (isReg(0, X86_REG_RBP) && isReg(1, X86_REG_RSP)) {
            if (m_state.base != State::Base::stack) return loseFrame();
            m_state.frameIsCopy = true;
            m_state.frameOffset = m_state.offset;
        } else if (isReg(0, X86_REG_RSP)) {
            if (isReg(1, X86_REG_RBP) && m_state.frameIsCopy) restoreStack(m_state.frameOffset);
            else if (m_state.base == State::Base::memory && isMemory(1, X86_REG_RSP) && displacement(1) == m_state.slot)
                restoreStack(m_state.frameOffset);
            else loseStack();
        } else if (isMemory(0, X86_REG_RSP) && isReg(1, X86_REG_RBP) && m_state.base == State::Base::frame) {
            m_state.base = State::Base::memory; // the old stack pointer is kept where the new one points to
            m_state.slot = displacement(0);
        } else {
            other();
        }
    }
    void leave()
    {
        if (m_state.frameIsCopy) restoreStack(m_state.frameOffset - 8);
        else m_state.base = State::Base::unknown;
        m_state.frameIsCopy = false;
    }
    void other()
    {
        for (int i = 0; i < m_x86.op_count; ++i) {
            if (m_x86.operands[i].type != X86_OP_REG || (m_x86.operands[i].access & CS_AC_WRITE) == 0) continue;
            const unsigned reg = m_x86.operands[i].reg;
            if (reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP || reg == X86_REG_BPL) loseFrame();
            if (reg == X86_REG_RSP || reg == X86_REG_ESP) loseStack();
        }
    }

    State& m_state;
    unsigned m_id;
    const cs_x86& m_x86;
};

class Walk {
public:
    Walk(std::span<const std::byte> code, uint64_t address) : m_code(code), m_address(address), m_seen(code.size()) {}
    ~Walk()
    {
        if (m_instruction != nullptr) cs_free(m_instruction, 1);
        if (m_handle != 0) cs_close(&m_handle);
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    std::vector<std::pair<uint32_t, State>> run()
    {
        if (cs_open(CS_ARCH_X86, CS_MODE_64, &m_handle) != CS_ERR_OK) return {};
        cs_option(m_handle, CS_OPT_DETAIL, CS_OPT_ON);
        m_instruction = cs_malloc(m_handle);
        if (m_instruction == nullptr) return {};
        m_todo.emplace_back(0, State());
        while (!m_todo.empty()) {
            const auto [offset, state] = m_todo.back();
            m_todo.pop_back();
            follow(offset, state);
        }
        std::sort(m_rows.begin(), m_rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        return std::move(m_rows);
    }

private:
    void follow(size_t offset, State state)
    {
        while (offset < m_code.size() && !m_seen[offset]) {
            m_seen[offset] = true;
            const auto* at = reinterpret_cast<const uint8_t*>(m_code.data()) + offset;
            size_t left = m_code.size() - offset;
            uint64_t address = m_address + offset;
            if (!cs_disasm_iter(m_handle, &at, &left, &address, m_instruction)) return;
            m_rows.emplace_back(static_cast<uint32_t>(offset), state);
            const unsigned id = m_instruction->id;
            if (id == X86_INS_RET) return;
            if (id == X86_INS_CALL) branch(State());
            else if (cs_insn_group(m_handle, m_instruction, CS_GRP_JUMP)) branch(state);
            if (id == X86_INS_JMP) return;
            Step(state, *m_instruction).apply();
            offset += m_instruction->size;
        }
    }
    // To the instruction's target, if that is a fixed place in this code.
    void branch(const State& state)
    {
        const cs_x86& x86 = m_instruction->detail->x86;
        if (x86.op_count == 0 || x86.operands[0].type != X86_OP_IMM) return;
        const uint64_t target = static_cast<uint64_t>(x86.operands[0].imm) - m_address;
        if (target < m_code.size() && !m_seen[target]) m_todo.emplace_back(static_cast<size_t>(target), state);
    }

    std::span<const std::byte> m_code;
    uint64_t m_address;
    csh m_handle = 0;
    cs_insn* m_instruction = nullptr;
    std::vector<bool> m_seen;
    std::vector<std::pair<size_t, State>> m_todo;
    std::vector<std::pair<uint32_t, State>> m_rows;
};

} // namespace

std::vector<std::pair<uint32_t, UnwindRule>> generatedCodeRules(std::span<const std::byte> code, uint64_t address)
{
    std::vector<std::pair<uint32_t, UnwindRule>> rules;
    const State* last = nullptr;
    const auto rows = Walk(code, address).run();
    for (const auto& [offset, state] : rows) {
        if (last == nullptr || !(*last == state)) rules.emplace_back(offset, ruleOf(state));
        last = &state;
    }
    return rules;
}

} // namespace stepscope::recording
