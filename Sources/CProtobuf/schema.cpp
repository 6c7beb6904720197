#include "schema.hpp"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/api.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/type.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <cstring>

#include "CProtobuf.h"

namespace pb = google::protobuf;

pb::io::ZeroCopyInputStream *ingest::Texts::Open(const std::string &name) {
    auto found = files.find(name);
    if (found == files.end()) return nullptr;
    return new pb::io::ArrayInputStream(found->second.data(), static_cast<int>(found->second.size()));
}

void ingest::FirstFault::AddError(const std::string &file, int line, int, const std::string &message) {
    if (!text.empty()) return;
    text = file;
    if (line >= 0) text += " line " + std::to_string(line + 1);
    text += ": " + message;
}

/// What Confluent's converters import without naming it as a reference: options, and a decimal number.
static const char *const confluent_meta =
    "syntax = \"proto3\"; package confluent; import \"google/protobuf/descriptor.proto\";"
    "message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }"
    "extend google.protobuf.FileOptions { Meta file_meta = 1088; }"
    "extend google.protobuf.MessageOptions { Meta message_meta = 1088; }"
    "extend google.protobuf.FieldOptions { Meta field_meta = 1088; }"
    "extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }"
    "extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }";
static const char *const confluent_decimal =
    "syntax = \"proto3\"; package confluent.type;"
    "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }";

/// The linker drops what nobody names; the compiler of schemas finds these types by their files' names.
static void keep_known_types() {
    pb::Any::descriptor();
    pb::Api::descriptor();
    pb::Duration::descriptor();
    pb::Empty::descriptor();
    pb::FieldMask::descriptor();
    pb::Struct::descriptor();
    pb::Timestamp::descriptor();
    pb::Type::descriptor();
    pb::Int64Value::descriptor();
}

protobuf_schema *protobuf_schema_compile(
    const char *const *names, const char *const *texts, size_t count, char *fault, size_t fault_size) {
    keep_known_types();
    // The library would write what is wrong with a record to the standard error stream.
    pb::SetLogHandler(nullptr);
    auto schema = std::make_unique<protobuf_schema>();
    schema->texts.files["confluent/meta.proto"] = confluent_meta;
    schema->texts.files["confluent/type/decimal.proto"] = confluent_decimal;
    for (size_t index = 0; index < count; index++) schema->texts.files[names[index]] = texts[index];
    schema->database.RecordErrorsTo(&schema->fault);
    schema->file = schema->pool.FindFileByName(names[count - 1]);
    if (schema->file == nullptr) {
        const std::string &text = schema->fault.text;
        std::strncpy(fault, text.empty() ? "it cannot be compiled" : text.c_str(), fault_size - 1);
        fault[fault_size - 1] = 0;
        return nullptr;
    }
    // A message that names a type which is not there would be noted too, by any thread.
    schema->database.RecordErrorsTo(nullptr);
    schema->factory = std::make_unique<pb::DynamicMessageFactory>(&schema->pool);
    return schema.release();
}

void protobuf_schema_destroy(protobuf_schema *schema) { delete schema; }
void protobuf_json_destroy(char *json) { delete[] json; }
