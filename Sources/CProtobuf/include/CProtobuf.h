#ifndef CPROTOBUF_H
#define CPROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A schema of Protobuf that reads what it wrote. Any thread may use it.
typedef struct protobuf_schema protobuf_schema;

/// Compiles the text of a `.proto` file and of those that it imports, which stand before it.
///
/// Returns NULL where a text is wrong, with the first fault in `fault`, cut to `fault_size` bytes.
protobuf_schema *protobuf_schema_compile(
    const char *const *names, const char *const *texts, size_t count, char *fault, size_t fault_size);
void protobuf_schema_destroy(protobuf_schema *schema);

/// What became of a message.
typedef enum {
    PROTOBUF_OK = 0,
    /// The schema has no message at these indexes.
    PROTOBUF_NO_MESSAGE,
    /// The bytes are no message of this kind.
    PROTOBUF_INVALID,
    /// The message needs more memory, depth or text than it may.
    PROTOBUF_LIMIT,
} protobuf_result;

/// Writes a message as JSON.
///
/// `indexes` lead to its kind: the place of the outermost message in the file, then of each one inside it. On success
/// `*json` holds `*json_size` bytes, to be freed with protobuf_json_destroy.
protobuf_result protobuf_schema_json(
    const protobuf_schema *schema, const int32_t *indexes, size_t index_count, const void *bytes, size_t size,
    int depth_limit, size_t json_limit, size_t memory_limit, char **json, size_t *json_size);
void protobuf_json_destroy(char *json);

#ifdef __cplusplus
}
#endif

#endif
