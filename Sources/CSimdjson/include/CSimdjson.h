#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A reusable simdjson DOM parser with a fixed depth limit. Not thread-safe: one per thread.
typedef struct json_parser json_parser;

/// Returns a parser, or NULL when memory is short. `max_depth` is the number of nested arrays and objects
/// allowed, empty ones not counted.
json_parser *json_parser_create(size_t max_depth);
void json_parser_destroy(json_parser *parser);

/// Parses one whole document (UTF-8 is validated, trailing content is an error).
/// Returns 0, or a simdjson error code. On success `*tape` and `*strings` point into memory of the parser
/// that stays valid until its next parse. The layout is simdjson's tape format (doc/tape.md), with two differences:
/// word 0 belongs to `json_number_text`, and a number beyond 64 bits is the nearest double, or an infinity.
int json_parser_parse(
    json_parser *parser, const uint8_t *bytes, size_t length, const uint64_t **tape, const uint8_t **strings);

/// Returns the text of a double of the last parsed document as it was written, and its length in bytes. `word` is its
/// place on the tape. The text stays valid until the parser's next parse.
const uint8_t *json_number_text(const uint64_t *tape, size_t word, size_t *length);

/// Returns 1 if the bytes are UTF-8, otherwise 0.
int json_is_utf8(const uint8_t *bytes, size_t length);

/// Returns the largest record, in bytes, that the parser has room for now.
size_t json_parser_capacity(const json_parser *parser);

/// simdjson's codes that callers tell apart.
int json_error_depth(void);
int json_error_utf8(void);
int json_error_empty(void);
int json_error_capacity(void);
int json_error_memory(void);
int json_error_number(void);

#ifdef __cplusplus
}
#endif

#endif
