// The arguments of one call: takes them by position and by keyword, and refuses what is left over.
// Owner: core/model, private to it. Thread: one per parse.
#pragma once

#include "core/model/model.h"
#include "core/model/syntax.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::model {

// Typed values of folded expressions; `what` names the value in the message. Bounds are inclusive.
int64_t wholeNumber(const Expr& expr, std::string_view what, int64_t least, int64_t most);
double realNumber(const Expr& expr, std::string_view what, double least, double most);
bool trueOrFalse(const Expr& expr, std::string_view what);
std::string textValue(const Expr& expr, std::string_view what);
// A tuple of whole numbers, or one alone, in the order of the text.
std::vector<int64_t> wholeNumbers(const Expr& expr, std::string_view what, int64_t least, int64_t most);
// A Flux size (width, height, channels) as row-major dims {channels, height, width}.
Dims reversedShape(const Expr& expr, std::string_view what);

inline constexpr int64_t kMaxSize = int64_t{1} << 40; // of a single dimension; real limits come with the shapes

class Arguments {
public:
    // `form` shows how the call is written: "Dense(in => out, σ; bias, init)". The call must outlive this.
    Arguments(const Expr& call, std::string form);

    const Expr& call() const { return m_call; }
    size_t count() const { return m_positional.size(); }
    const Expr& at(size_t index, std::string_view what) const; // refuses a missing argument
    const Expr* optional(size_t index) const { return index < m_positional.size() ? m_positional[index] : nullptr; }
    // The keyword's value or null. Names the keyword as known.
    const Expr* keyword(std::string_view name, std::string_view alias = {});
    // The argument at this position, or the keyword. Both is an error.
    const Expr* either(size_t index, std::string_view name, std::string_view alias = {});
    // Refuses more than `most` positional arguments, unknown keywords (naming the known ones) and repeated ones.
    void finish(size_t most);

private:
    const Expr& m_call;
    std::string m_form;
    std::vector<const Expr*> m_positional;
    struct Named {
        const NameAt* name;
        const Expr* value;
        bool used = false;
    };
    std::vector<Named> m_named;
    std::vector<std::string_view> m_known;
};

} // namespace stepscope::model
