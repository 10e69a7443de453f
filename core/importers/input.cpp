#include "core/importers/input.h"

#include "core/importers/packing.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::importers {

namespace {

constexpr int kMaxNesting = 6;
constexpr size_t kMaxMembers = 1000;

// One packing around the bytes, and for archives the member that was taken.
struct Layer {
    Packing packing = Packing::none;
    std::string member;
};

using OpenFirst = std::function<base::Result<SourcePtr>()>;

base::Result<SourcePtr> unpack(base::Result<SourcePtr> source, const std::vector<Layer>& layers)
{
    for (const Layer& layer : layers) {
        if (!source) return source;
        source = isArchive(layer.packing) ? archiveSource(std::move(*source), layer.member)
                                          : streamSource(layer.packing, std::move(*source));
    }
    return source;
}

std::string lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return c < 128 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c); });
    return text;
}

// "trace.json.gz" -> "trace.json", "trace.tgz" -> "trace.tar".
std::string withoutPackingEnding(const std::string& name, Packing packing)
{
    static constexpr std::pair<Packing, std::pair<std::string_view, std::string_view>> kEndings[] = {
        {Packing::gzip, {".gz", ""}},   {Packing::gzip, {".gzip", ""}}, {Packing::gzip, {".tgz", ".tar"}},
        {Packing::zstd, {".zst", ""}},  {Packing::zstd, {".zstd", ""}}, {Packing::zstd, {".tzst", ".tar"}},
        {Packing::xz, {".xz", ""}},     {Packing::xz, {".txz", ".tar"}},
    };
    const std::string small = lower(name);
    for (const auto& [kind, ending] : kEndings)
        if (kind == packing && small.size() > ending.first.size() && small.ends_with(ending.first))
            return name.substr(0, name.size() - ending.first.size()) + std::string(ending.second);
    return name;
}

std::string fileNameOf(const std::string& member)
{
    const size_t slash = member.find_last_of("/\\");
    return slash == std::string::npos ? member : member.substr(slash + 1);
}

base::Result<std::string> chooseMember(std::vector<std::string>& names, SourcePtr archive, const std::string& wanted)
{
    const base::Result<std::vector<ArchiveMember>> members = listArchive(std::move(archive), kMaxMembers);
    if (!members) return base::fail(members.error());
    for (const ArchiveMember& member : *members)
        names.push_back(member.name);
    if (names.empty()) return base::fail(base::ErrorCode::wrongFormat, "the archive holds no file");
    if (wanted.empty()) {
        // Resource forks and the like stand beside the file that is meant.
        for (const std::string& name : names)
            if (!fileNameOf(name).starts_with('.') && name.find("__MACOSX/") == std::string::npos) return name;
        return names.front();
    }
    if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
    return base::fail(base::ErrorCode::notFound, fmt::format("the archive has no file \"{}\"", wanted), {},
                      fmt::format("the first of its files is \"{}\"", names.front()));
}

base::Result<Input> openLayers(OpenFirst openFirst, std::filesystem::path path, std::string name,
                               const InputOptions& options)
{
    Input input;
    input.path = std::move(path);
    input.name = std::move(name);
    std::vector<Layer> layers;
    for (;;) {
        base::Result<SourcePtr> source = unpack(openFirst(), layers);
        if (!source) return base::fail(source.error());
        std::string head(Input::kHeadBytes, '\0');
        const base::Result<size_t> got = (*source)->read(head);
        if (!got) return base::fail(got.error()); // nothing at all can be read
        head.resize(*got);
        const Packing packing = sniffPacking(head);
        if (packing == Packing::bzip2)
            return base::fail(base::ErrorCode::unsupported, "the file is packed with bzip2, which is not read directly", {},
                              "unpack it with bunzip2 and open the result");
        if (packing == Packing::none) {
            input.head = head;
            input.bytes = limitedSource(joinedSource(std::move(head), std::move(*source)), options.maxUnpackedBytes);
            if (options.firstBytes > 0) input.bytes = firstPartSource(std::move(input.bytes), options.firstBytes);
            input.reopen = [open = std::move(openFirst), layers, limit = options.maxUnpackedBytes]() -> base::Result<SourcePtr> {
                base::Result<SourcePtr> again = unpack(open(), layers);
                return again ? limitedSource(std::move(*again), limit) : std::move(again);
            };
            return input;
        }
        if (layers.size() >= kMaxNesting)
            return base::fail(base::ErrorCode::unsupported,
                              fmt::format("the file is packed more than {} times", kMaxNesting), {},
                              "unpack it and open the result");
        Layer layer{packing, {}};
        if (isArchive(packing)) {
            input.members.clear();
            base::Result<std::string> member =
                chooseMember(input.members, limitedSource(joinedSource(std::move(head), std::move(*source)), options.maxUnpackedBytes),
                             options.member);
            if (!member) return base::fail(member.error());
            input.name = fileNameOf(*member);
            layer.member = std::move(*member);
        } else {
            input.name = withoutPackingEnding(input.name, packing);
        }
        input.packing += (input.packing.empty() ? "" : ", ") + std::string(packingName(packing));
        layers.push_back(std::move(layer));
    }
}

} // namespace

base::Result<Input> openInput(const std::filesystem::path& path, const InputOptions& options)
{
    base::Result<Input> input =
        openLayers([path] { return openFileSource(path); }, path, path.filename().string(), options);
    if (input || !input.error().where.file.empty()) return input;
    base::Error error = input.error();
    error.where.file = path.string();
    return base::fail(std::move(error));
}

Input inputFromBytes(std::string bytes, std::string name)
{
    const auto shared = std::make_shared<const std::string>(std::move(bytes));
    base::Result<Input> input = openLayers([shared]() -> base::Result<SourcePtr> { return memorySource(shared); }, {}, name, {});
    if (input) return std::move(*input);
    // What cannot be unpacked is shown as it is; no importer will take it.
    Input packed;
    packed.name = std::move(name);
    packed.head = shared->substr(0, Input::kHeadBytes);
    packed.bytes = memorySource(shared);
    packed.reopen = [shared]() -> base::Result<SourcePtr> { return memorySource(shared); };
    return packed;
}

base::Result<std::string> readAll(ByteSource& source, uint64_t limit)
{
    std::string all;
    std::string block(size_t{1} << 20, '\0');
    for (;;) {
        const base::Result<size_t> got = source.read(block);
        if (!got) return base::fail(got.error());
        if (*got == 0) return all;
        if (all.size() + *got > limit)
            return base::fail(base::ErrorCode::unsupported, fmt::format("the file has more than {} bytes, the limit of its format here", limit));
        all.append(block, 0, *got);
    }
}

} // namespace stepscope::importers
