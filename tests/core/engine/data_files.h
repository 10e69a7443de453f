// Writes small data files for tests.
#pragma once

#include <QtTest>

#include <QFile>
#include <QTemporaryDir>

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::testing {

class DataFolder {
public:
    std::string path(const std::string& name) const { return m_folder.path().toStdString() + "/" + name; }
    std::string folder() const { return m_folder.path().toStdString(); }

    std::string write(const std::string& name, const std::string& content) const
    {
        QFile file(QString::fromStdString(path(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(content.data(), static_cast<qint64>(content.size())) < 0)
            qFatal("cannot write a test file");
        return path(name);
    }

    std::string writeGz(const std::string& name, const std::string& content) const
    {
        gzFile file = gzopen(path(name).c_str(), "wb");
        if (file == nullptr || gzwrite(file, content.data(), static_cast<unsigned>(content.size())) <= 0)
            qFatal("cannot write a test file");
        gzclose(file);
        return path(name);
    }

    std::string read(const std::string& name) const
    {
        QFile file(QString::fromStdString(path(name)));
        if (!file.open(QIODevice::ReadOnly)) qFatal("cannot read a test file");
        return file.readAll().toStdString();
    }

private:
    QTemporaryDir m_folder;
};

inline std::string idxHeader(uint8_t type, const std::vector<uint32_t>& dims)
{
    std::string header{'\0', '\0', static_cast<char>(type), static_cast<char>(dims.size())};
    for (const uint32_t d : dims) {
        for (int shift = 24; shift >= 0; shift -= 8)
            header.push_back(static_cast<char>(d >> shift & 0xff));
    }
    return header;
}

// n images of height x width whose byte k of image i is i + k, and labels i % 3.
inline std::string idxImages(uint32_t n, uint32_t height, uint32_t width)
{
    std::string content = idxHeader(0x08, {n, height, width});
    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t k = 0; k < height * width; ++k)
            content.push_back(static_cast<char>(i + k));
    }
    return content;
}

inline std::string idxLabels(uint32_t n)
{
    std::string content = idxHeader(0x08, {n});
    for (uint32_t i = 0; i < n; ++i)
        content.push_back(static_cast<char>(i % 3));
    return content;
}

template <class T>
std::string rawBytes(const std::vector<T>& values)
{
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

} // namespace stepscope::testing
