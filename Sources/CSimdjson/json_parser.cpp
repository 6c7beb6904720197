#include "CSimdjson.h"

#include <new>
#include <simdjson.h>

struct json_parser {
    simdjson::dom::parser parser;
    size_t max_depth;
};

extern "C" json_parser *json_parser_create(size_t max_depth) {
    auto *created = new (std::nothrow) json_parser();
    if (created != nullptr) created->max_depth = max_depth;
    return created;
}

extern "C" void json_parser_destroy(json_parser *parser) { delete parser; }

extern "C" int json_parser_parse(
    json_parser *parser, const uint8_t *bytes, size_t length, const uint64_t **tape, const uint8_t **strings) {
    // Room grows with the largest record seen; the depth limit has to be given each time it grows.
    if (parser->parser.capacity() < length || parser->parser.max_depth() != parser->max_depth) {
        size_t capacity = length < 4096 ? 4096 : length;
        auto allocated = parser->parser.allocate(capacity, parser->max_depth);
        if (allocated) return static_cast<int>(allocated);
    }
    // simdjson reads past the end of its input: `true` has it copy the record into padded memory of its own.
    auto error = parser->parser.parse(bytes, length, true).error();
    if (error) return static_cast<int>(error);
    *tape = parser->parser.doc.tape.get();
    *strings = parser->parser.doc.string_buf.get();
    return 0;
}

extern "C" const char *json_error_message(int code) {
    return simdjson::error_message(static_cast<simdjson::error_code>(code));
}

extern "C" int json_error_depth(void) { return simdjson::DEPTH_ERROR; }
extern "C" int json_error_utf8(void) { return simdjson::UTF8_ERROR; }
extern "C" int json_error_empty(void) { return simdjson::EMPTY; }
extern "C" int json_error_capacity(void) { return simdjson::CAPACITY; }
