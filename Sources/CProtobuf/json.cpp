#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/reflection.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/stubs/strutil.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wire_format.h>
#include <google/protobuf/wire_format_lite.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "CProtobuf.h"
#include "schema.hpp"

namespace pb = google::protobuf;
using pb::FieldDescriptor;
using pb::internal::WireFormatLite;

namespace {

/// Adds up the memory that a message will take, before any of it is allocated.
class Measure {
public:
    Measure(const protobuf_schema &schema, size_t limit) : schema_(schema), left_(limit) {}

    /// Returns false where the bytes are wrong, or the memory is more than the limit.
    bool message(pb::io::CodedInputStream &input, const pb::Descriptor *kind, int depth) {
        if (depth == 0 || !take(schema_.factory->GetPrototype(kind)->SpaceUsedLong())) return exceed();
        while (uint32_t tag = input.ReadTag()) {
            if (!take(field_bytes)) return exceed();
            const FieldDescriptor *field = kind->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
            bool has_message = field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
            switch (WireFormatLite::GetTagWireType(tag)) {
            case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: {
                uint32_t length;
                if (!input.ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
                // The elements of a packed field take eight bytes each at most.
                bool may_be_packed = field != nullptr && field->is_packable();
                if (!take(size_t(length) * (may_be_packed ? 8 : 1))) return exceed();
                if (!has_message) {
                    if (!input.Skip(static_cast<int>(length))) return false;
                    break;
                }
                auto limit = input.PushLimit(static_cast<int>(length));
                if (!message(input, field->message_type(), depth - 1)) return false;
                if (input.BytesUntilLimit() != 0) return false;
                input.PopLimit(limit);
                break;
            }
            case WireFormatLite::WIRETYPE_START_GROUP:
                if (has_message && field->type() == FieldDescriptor::TYPE_GROUP) {
                    if (!message(input, field->message_type(), depth - 1)) return false;
                    break;
                }
                if (!WireFormatLite::SkipField(&input, tag)) return false;
                break;
            case WireFormatLite::WIRETYPE_END_GROUP: return true;
            default:
                if (!WireFormatLite::SkipField(&input, tag)) return false;
            }
        }
        return true;
    }

    bool is_exceeded = false;

private:
    /// What a repeated field keeps of an element besides its bytes.
    static constexpr size_t field_bytes = 64;
    const protobuf_schema &schema_;
    size_t left_;

    bool take(size_t bytes) {
        if (bytes > left_) return false;
        left_ -= bytes;
        return true;
    }
    bool exceed() {
        is_exceeded = true;
        return false;
    }
};

/// Writes messages as JSON, in the order of their fields.
class Writer {
public:
    explicit Writer(size_t limit) : limit_(limit) {}

    std::string json;
    bool is_invalid = false;
    bool is_exceeded() const { return json.size() > limit_; }

    void message(const pb::Message &message) {
        if (stops()) return;
        if (known(message)) return;
        const pb::Reflection *reflection = message.GetReflection();
        json += '{';
        bool is_first = true;
        for (int index = 0; index < message.GetDescriptor()->field_count(); index++) {
            const FieldDescriptor *field = message.GetDescriptor()->field(index);
            // A field that says whether it is there is left out where it is not.
            if (!field->is_repeated() && field->has_presence() && !reflection->HasField(message, field)) continue;
            if (!is_first) json += ',';
            is_first = false;
            text(field->name());
            json += ':';
            if (field->is_map()) {
                map(message, field);
            } else if (field->is_repeated()) {
                json += '[';
                for (int element = 0; element < reflection->FieldSize(message, field) && !stops(); element++) {
                    if (element > 0) json += ',';
                    value(message, field, element);
                }
                json += ']';
            } else {
                value(message, field, -1);
            }
            if (stops()) return;
        }
        json += '}';
    }

private:
    size_t limit_;

    bool stops() const { return is_invalid || is_exceeded(); }

    /// Writes the types that have a form of their own in JSON.
    ///
    /// Source: Protobuf's documentation, "ProtoJSON Format".
    bool known(const pb::Message &message) {
        const pb::Descriptor *kind = message.GetDescriptor();
        const std::string &file = kind->file()->name();
        if (file == "google/protobuf/wrappers.proto") {
            value(message, kind->field(0), -1);
            return true;
        }
        if (file != "google/protobuf/timestamp.proto" && file != "google/protobuf/duration.proto"
            && file != "google/protobuf/struct.proto" && file != "google/protobuf/any.proto"
            && file != "google/protobuf/field_mask.proto")
            return false;
        pb::util::JsonPrintOptions options;
        options.preserve_proto_field_names = true;
        std::string output;
        if (pb::util::MessageToJsonString(message, &output, options).ok()) {
            json += output;
        } else {
            is_invalid = true;
        }
        return true;
    }

    void map(const pb::Message &message, const FieldDescriptor *field) {
        const pb::Reflection *reflection = message.GetReflection();
        json += '{';
        for (int element = 0; element < reflection->FieldSize(message, field) && !stops(); element++) {
            const pb::Message &entry = reflection->GetRepeatedMessage(message, field, element);
            const FieldDescriptor *key = field->message_type()->map_key();
            if (element > 0) json += ',';
            bool is_text = key->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
            if (!is_text) json += '"';
            value(entry, key, -1);
            if (!is_text) json += '"';
            json += ':';
            value(entry, field->message_type()->map_value(), -1);
        }
        json += '}';
    }

    /// Writes the value of a field, or an element of it where `element` is none of -1.
    void value(const pb::Message &message, const FieldDescriptor *field, int element) {
        const pb::Reflection *r = message.GetReflection();
        bool is_single = element < 0;
        switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_INT32:
            json += std::to_string(
                is_single ? r->GetInt32(message, field) : r->GetRepeatedInt32(message, field, element));
            break;
        case FieldDescriptor::CPPTYPE_INT64:
            json += std::to_string(
                is_single ? r->GetInt64(message, field) : r->GetRepeatedInt64(message, field, element));
            break;
        case FieldDescriptor::CPPTYPE_UINT32:
            json += std::to_string(
                is_single ? r->GetUInt32(message, field) : r->GetRepeatedUInt32(message, field, element));
            break;
        case FieldDescriptor::CPPTYPE_UINT64:
            json += std::to_string(
                is_single ? r->GetUInt64(message, field) : r->GetRepeatedUInt64(message, field, element));
            break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
            number(is_single ? r->GetDouble(message, field) : r->GetRepeatedDouble(message, field, element));
            break;
        case FieldDescriptor::CPPTYPE_FLOAT:
            number(is_single ? r->GetFloat(message, field) : r->GetRepeatedFloat(message, field, element));
            break;
        case FieldDescriptor::CPPTYPE_BOOL:
            json += (is_single ? r->GetBool(message, field) : r->GetRepeatedBool(message, field, element)) ? "true"
                                                                                                        : "false";
            break;
        case FieldDescriptor::CPPTYPE_ENUM: {
            int number =
                is_single ? r->GetEnumValue(message, field) : r->GetRepeatedEnumValue(message, field, element);
            const pb::EnumValueDescriptor *found = field->enum_type()->FindValueByNumber(number);
            if (found != nullptr) {
                text(found->name());
            } else {
                json += std::to_string(number);
            }
            break;
        }
        case FieldDescriptor::CPPTYPE_STRING: {
            std::string scratch;
            const std::string &found = is_single
                ? r->GetStringReference(message, field, &scratch)
                : r->GetRepeatedStringReference(message, field, element, &scratch);
            if (field->type() == FieldDescriptor::TYPE_BYTES) {
                std::string base64;
                pb::Base64Escape(
                    reinterpret_cast<const unsigned char *>(found.data()), static_cast<int>(found.size()), &base64,
                    true);
                // No reader may take base64 for the number that it looks like.
                json += '"' + base64 + (is_number(base64) ? "\\n\"" : "\"");
            } else {
                text(found);
            }
            break;
        }
        case FieldDescriptor::CPPTYPE_MESSAGE:
            this->message(
                is_single ? r->GetMessage(message, field) : r->GetRepeatedMessage(message, field, element));
            break;
        }
    }

    /// Tells whether base64 is a number too, such as `1234` or `12e5`.
    static bool is_number(const std::string &base64) {
        const char *next = base64.c_str();
        auto digits = [&next] {
            if (*next == '+') next++;
            const char *first = next;
            while (*next >= '0' && *next <= '9') next++;
            return next > first;
        };
        if (!digits()) return false;
        if (*next == 0) return true;
        if (*next != 'e' && *next != 'E') return false;
        next++;
        return digits() && *next == 0;
    }

    template <typename Number>
    void number(Number value) {
        if (std::isnan(value)) {
            json += "\"NaN\"";
        } else if (std::isinf(value)) {
            json += value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
        } else {
            char digits[40];
            json.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
        }
    }

    void text(const std::string &text) {
        if (!pb::internal::IsStructurallyValidUTF8(text.data(), static_cast<int>(text.size()))) {
            is_invalid = true;
            return;
        }
        static const char digits[] = "0123456789abcdef";
        json += '"';
        for (unsigned char byte : text) {
            if (byte == '"' || byte == '\\') {
                json += '\\';
                json += static_cast<char>(byte);
            } else if (byte < 0x20) {
                json += "\\u00";
                json += digits[byte >> 4];
                json += digits[byte & 15];
            } else {
                json += static_cast<char>(byte);
            }
        }
        json += '"';
    }
};

const pb::Descriptor *find(const pb::FileDescriptor *file, const int32_t *indexes, size_t count) {
    const pb::Descriptor *found = nullptr;
    for (size_t place = 0; place < count; place++) {
        int32_t index = indexes[place];
        int known = found == nullptr ? file->message_type_count() : found->nested_type_count();
        if (index < 0 || index >= known) return nullptr;
        found = found == nullptr ? file->message_type(index) : found->nested_type(index);
    }
    return found;
}

}  // namespace

protobuf_result protobuf_schema_json(
    const protobuf_schema *schema, const int32_t *indexes, size_t index_count, const void *bytes, size_t size,
    int depth_limit, size_t json_limit, size_t memory_limit, char **json, size_t *json_size) {
    const pb::Descriptor *kind = find(schema->file, indexes, index_count);
    if (kind == nullptr) return PROTOBUF_NO_MESSAGE;
    if (size > INT32_MAX) return PROTOBUF_LIMIT;
    auto start = static_cast<const uint8_t *>(bytes);
    Measure measure(*schema, memory_limit);
    pb::io::CodedInputStream measured(start, static_cast<int>(size));
    if (!measure.message(measured, kind, depth_limit)) {
        return measure.is_exceeded ? PROTOBUF_LIMIT : PROTOBUF_INVALID;
    }
    std::unique_ptr<pb::Message> message(schema->factory->GetPrototype(kind)->New());
    pb::io::CodedInputStream input(start, static_cast<int>(size));
    input.SetRecursionLimit(depth_limit);
    // Required fields of proto2 may be missing: the routes say what a record must have.
    if (!message->ParsePartialFromCodedStream(&input) || !input.ConsumedEntireMessage()) return PROTOBUF_INVALID;
    Writer writer(json_limit);
    writer.message(*message);
    if (writer.is_exceeded()) return PROTOBUF_LIMIT;
    if (writer.is_invalid) return PROTOBUF_INVALID;
    *json_size = writer.json.size();
    *json = new char[writer.json.size() + 1];
    std::memcpy(*json, writer.json.data(), writer.json.size());
    return PROTOBUF_OK;
}
