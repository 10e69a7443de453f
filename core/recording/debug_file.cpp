#include "core/recording/debug_file.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <zlib.h>

namespace stepscope::recording {

namespace {

std::optional<uint32_t> checksum(const std::string& path)
{
    const std::unique_ptr<std::FILE, void (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                                [](std::FILE* opened) { std::fclose(opened); });
    if (file == nullptr) return std::nullopt;
    std::array<unsigned char, 65536> buffer;
    uLong sum = crc32(0, nullptr, 0);
    for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), file.get())) > 0;)
        sum = crc32(sum, buffer.data(), static_cast<uInt>(n));
    if (std::ferror(file.get()) != 0) return std::nullopt;
    return static_cast<uint32_t>(sum);
}

// A name without folders: what stands in a file must not lead anywhere else.
bool isPlainName(const std::string& name) { return !name.empty() && name.find('/') == std::string::npos && name != "." && name != ".."; }

} // namespace

std::optional<ElfFile> openDebugFile(const ElfFile& stripped, const std::string& path)
{
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
    if (std::filesystem::equivalent(path, stripped.path(), ignored)) return std::nullopt;
    base::Result<ElfFile> file = ElfFile::open(path);
    if (!file) return std::nullopt;
    if (!stripped.buildId().empty() && !file->buildId().empty()) {
        if (stripped.buildId() != file->buildId()) return std::nullopt;
    } else if (checksum(path) != stripped.debugLinkCrc()) {
        return std::nullopt;
    }
    if (file->dwarf() == nullptr) return std::nullopt;
    return std::move(*file);
}

std::optional<ElfFile> findDebugFile(const ElfFile& stripped, const std::vector<std::string>& directories)
{
    std::vector<std::string> places;
    const std::string& id = stripped.buildId();
    if (id.size() > 2)
        for (const std::string& directory : directories)
            places.push_back(directory + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
    if (isPlainName(stripped.debugLink()) && !stripped.path().empty()) {
        const std::string folder = std::filesystem::path(stripped.path()).parent_path().string();
        places.push_back(folder + "/" + stripped.debugLink());
        places.push_back(folder + "/.debug/" + stripped.debugLink());
        for (const std::string& directory : directories)
            places.push_back(directory + folder + "/" + stripped.debugLink());
    }
    for (const std::string& place : places)
        if (std::optional<ElfFile> file = openDebugFile(stripped, place)) return file;
    return std::nullopt;
}

} // namespace stepscope::recording
