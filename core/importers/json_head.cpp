#include "core/importers/json_head.h"

#include "core/importers/json_pull.h"
#include "core/importers/text_encoding.h"

namespace stepscope::importers {

void forHeadKeys(const Input& input, const std::function<bool(std::string_view, std::string_view)>& key)
{
    const std::string head = headText(input.head);
    JsonPull json(head);
    std::string_view name;
    for (bool in = json.enterObject(); in && json.nextKey(name);) {
        const std::string kept(name);
        const JsonPull::Kind kind = json.kind();
        if (kind == JsonPull::Kind::object || kind == JsonPull::Kind::array) {
            const std::string_view rest = std::string_view(head).substr(json.offset());
            if (!key(kept, rest)) return;
            json.skip();
        } else if (!key(kept, json.scalar())) {
            return;
        }
    }
}

bool headHasKey(const Input& input, std::string_view wanted)
{
    bool found = false;
    forHeadKeys(input, [&](std::string_view name, std::string_view) {
        found = found || name == wanted;
        return !found;
    });
    return found;
}

} // namespace stepscope::importers
