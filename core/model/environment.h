// The variables of a model file: replaces them by their values and does the arithmetic.
// Owner: core/model, private to it. Thread: one per parse.
#pragma once

#include "core/model/syntax.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::model {

class Environment {
public:
    // A copy of the expression in which variables stand for their values, arithmetic on numbers is done and "|> f32",
    // "|> cpu" are gone. Throws Failure for overflow, division by zero, devices, and when variables of variables grow
    // past all bounds.
    Expr fold(const Expr& expr);

    // Gives a variable its (folded) value; as in Julia, a later assignment wins and does not change what was read
    // before.
    void set(const NameAt& name, Expr value);

    struct Variable {
        Expr value;
        Place place;
        bool used = false;
        int depth = 1;
    };
    const std::map<std::string, Variable, std::less<>>& variables() const { return m_variables; }

private:
    Expr foldAt(const Expr& expr, int depth);
    Expr foldName(const Expr& expr, int depth);
    Expr foldPipe(const Expr& expr, int depth);

    std::map<std::string, Variable, std::less<>> m_variables;
    std::vector<std::string> m_shadowed; // parameters of the anonymous functions around
    size_t m_nodes = 0;
};

} // namespace stepscope::model
