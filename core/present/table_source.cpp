#include "core/present/table_source.h"

namespace stepscope::present {

int compare(const SortValue& a, const SortValue& b)
{
    // Order of kinds: number, text, empty.
    const auto rank = [](const SortValue& v) { return v.index() == 0 ? 2 : v.index() == 1 ? 0 : 1; };
    if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
    if (const double* x = std::get_if<double>(&a)) {
        const double y = std::get<double>(b);
        return *x < y ? -1 : *x > y ? 1 : 0;
    }
    if (const std::string* x = std::get_if<std::string>(&a)) {
        const int order = x->compare(std::get<std::string>(b));
        return order < 0 ? -1 : order > 0 ? 1 : 0;
    }
    return 0;
}

} // namespace stepscope::present
