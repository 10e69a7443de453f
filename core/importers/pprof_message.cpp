#include "core/importers/pprof_message.h"

#include <protozero/pbf_reader.hpp>

namespace stepscope::importers::pprof {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using Unknown = std::map<uint32_t, int64_t>;

pbf_reader readerOf(std::string_view bytes) { return pbf_reader(bytes.data(), bytes.size()); }
std::string_view viewOf(protozero::data_view view) { return {view.data(), view.size()}; }

// A varint field; one with another wire type counts as unknown.
template <class T>
void number(pbf_reader& reader, T& into, Unknown& unknown)
{
    if (reader.wire_type() == pbf_wire_type::varint) {
        into = static_cast<T>(reader.get_uint64());
    } else {
        ++unknown[reader.tag()];
        reader.skip();
    }
}

// Repeated numbers come one by one or packed.
template <class T>
void numbers(pbf_reader& reader, std::vector<T>& into, Unknown& unknown)
{
    if (reader.wire_type() != pbf_wire_type::length_delimited) {
        into.emplace_back();
        number(reader, into.back(), unknown);
        return;
    }
    for (const uint64_t value : reader.get_packed_uint64())
        into.push_back(static_cast<T>(value));
}

void skipUnknown(pbf_reader& reader, Unknown& unknown)
{
    ++unknown[reader.tag()];
    reader.skip();
}

ValueType valueType(std::string_view bytes, Unknown& unknown)
{
    ValueType result;
    pbf_reader reader = readerOf(bytes);
    while (reader.next()) {
        if (reader.tag() == 1) number(reader, result.type, unknown);
        else if (reader.tag() == 2) number(reader, result.unit, unknown);
        else skipUnknown(reader, unknown);
    }
    return result;
}

Label label(std::string_view bytes, Unknown& unknown)
{
    Label result;
    pbf_reader reader = readerOf(bytes);
    while (reader.next())
        switch (reader.tag()) {
        case 1: number(reader, result.key, unknown); break;
        case 2: number(reader, result.text, unknown); break;
        case 3: number(reader, result.number, unknown); break;
        case 4: number(reader, result.unit, unknown); break;
        default: skipUnknown(reader, unknown);
        }
    return result;
}

Mapping mapping(std::string_view bytes, Unknown& unknown)
{
    Mapping result;
    pbf_reader reader = readerOf(bytes);
    while (reader.next())
        switch (reader.tag()) {
        case 1: number(reader, result.id, unknown); break;
        case 2: number(reader, result.start, unknown); break;
        case 3: number(reader, result.limit, unknown); break;
        case 4: number(reader, result.offset, unknown); break;
        case 5: number(reader, result.file, unknown); break;
        case 6:
        case 7:
        case 8:
        case 9:
        case 10: reader.skip(); break; // build id and what is known of its functions
        default: skipUnknown(reader, unknown);
        }
    return result;
}

Location location(std::string_view bytes, Unknown& unknown)
{
    Location result;
    pbf_reader reader = readerOf(bytes);
    while (reader.next())
        switch (reader.tag()) {
        case 1: number(reader, result.id, unknown); break;
        case 2: number(reader, result.mapping, unknown); break;
        case 3: number(reader, result.address, unknown); break;
        case 4: {
            if (reader.wire_type() != pbf_wire_type::length_delimited) {
                skipUnknown(reader, unknown);
                break;
            }
            pbf_reader inner = readerOf(viewOf(reader.get_view()));
            Line& line = result.lines.emplace_back();
            while (inner.next()) {
                if (inner.tag() == 1) number(inner, line.function, unknown);
                else if (inner.tag() == 2) number(inner, line.line, unknown);
                else if (inner.tag() == 3) inner.skip(); // column
                else skipUnknown(inner, unknown);
            }
            break;
        }
        case 5: reader.skip(); break; // is_folded
        default: skipUnknown(reader, unknown);
        }
    return result;
}

Function function(std::string_view bytes, Unknown& unknown)
{
    Function result;
    pbf_reader reader = readerOf(bytes);
    while (reader.next())
        switch (reader.tag()) {
        case 1: number(reader, result.id, unknown); break;
        case 2: number(reader, result.name, unknown); break;
        case 3: number(reader, result.systemName, unknown); break;
        case 4: number(reader, result.file, unknown); break;
        case 5: number(reader, result.startLine, unknown); break;
        default: skipUnknown(reader, unknown);
        }
    return result;
}

void readField(pbf_reader& reader, Profile& profile)
{
    Unknown& unknown = profile.unknownFields;
    const uint32_t tag = reader.tag();
    const bool message = (tag >= 1 && tag <= 6) || tag == 11;
    if (message && reader.wire_type() != pbf_wire_type::length_delimited) {
        skipUnknown(reader, unknown);
        return;
    }
    switch (tag) {
    case 1: profile.sampleTypes.push_back(valueType(viewOf(reader.get_view()), unknown)); break;
    case 2: profile.samples.push_back(viewOf(reader.get_view())); break;
    case 3: profile.mappings.push_back(mapping(viewOf(reader.get_view()), unknown)); break;
    case 4: profile.locations.push_back(location(viewOf(reader.get_view()), unknown)); break;
    case 5: profile.functions.push_back(function(viewOf(reader.get_view()), unknown)); break;
    case 6: profile.strings.push_back(viewOf(reader.get_view())); break;
    case 7:
    case 8:
    case 15: reader.skip(); break; // drop_frames, keep_frames, doc_url
    case 9: number(reader, profile.timeNanos, unknown); break;
    case 10: number(reader, profile.durationNanos, unknown); break;
    case 11: profile.periodType = valueType(viewOf(reader.get_view()), unknown); break;
    case 12: number(reader, profile.period, unknown); break;
    case 13: numbers(reader, profile.comments, unknown); break;
    case 14: number(reader, profile.defaultType, unknown); break;
    default: skipUnknown(reader, unknown);
    }
}

bool isSmallValueType(std::string_view bytes)
{
    Unknown unknown;
    if (bytes.size() > 22) return false;
    try {
        valueType(bytes, unknown);
    } catch (const protozero::exception&) {
        return false;
    }
    return unknown.empty();
}

} // namespace

std::string_view Profile::text(int64_t index) const
{
    return index >= 0 && static_cast<uint64_t>(index) < strings.size() ? strings[static_cast<size_t>(index)]
                                                                       : std::string_view();
}

Profile readProfile(std::string_view bytes)
{
    Profile profile;
    pbf_reader reader = readerOf(bytes);
    size_t at = 0;
    try {
        while (reader.next()) {
            readField(reader, profile);
            at = bytes.size() - reader.length();
        }
    } catch (const protozero::exception&) {
        profile.brokenAt = at;
    } catch (const std::exception&) { // an assertion of the library about a wire type
        profile.brokenAt = at;
    }
    return profile;
}

bool readSample(std::string_view bytes, Sample& sample, Unknown& unknown)
{
    sample.locations.clear();
    sample.values.clear();
    sample.labels.clear();
    try {
        pbf_reader reader = readerOf(bytes);
        while (reader.next()) {
            const bool message = reader.wire_type() == pbf_wire_type::length_delimited;
            if (reader.tag() == 1) numbers(reader, sample.locations, unknown);
            else if (reader.tag() == 2) numbers(reader, sample.values, unknown);
            else if (reader.tag() == 3 && message) sample.labels.push_back(label(viewOf(reader.get_view()), unknown));
            else skipUnknown(reader, unknown);
        }
    } catch (const std::exception&) {
        return false;
    }
    return true;
}

bool looksLikeProfile(std::string_view head, bool whole)
{
    int known = 0, types = 0, others = 0;
    bool complete = true;
    pbf_reader reader = readerOf(head);
    try {
        while (reader.next()) {
            const uint32_t tag = reader.tag();
            const bool message = (tag >= 1 && tag <= 6) || tag == 11;
            const bool plain = (tag >= 7 && tag <= 10) || tag == 12 || tag == 14 || tag == 15;
            const bool delimited = reader.wire_type() == pbf_wire_type::length_delimited;
            if ((message && !delimited) || (plain && reader.wire_type() != pbf_wire_type::varint)) return false;
            known += message || plain ? 1 : 0;
            if (known == 0) return false; // the first field is one that we know
            if (tag != 1) {
                others += message ? 1 : 0;
                reader.skip();
                continue;
            }
            if (!isSmallValueType(viewOf(reader.get_view()))) return false;
            ++types;
        }
    } catch (const std::exception&) {
        complete = false;
    }
    return types > 0 && others > 0 && (complete || !whole || known >= 4);
}

} // namespace stepscope::importers::pprof
