#include "CSimdjson.h"

#include <new>
#include <simdjson.h>

// Room for records of ordinary size is kept for ever; room for a huge record is given back at the next small one,
// so that one large record does not hold its memory (about 14 times its size) for the life of the process.
static constexpr size_t smallest_capacity = 4096;
static constexpr size_t kept_capacity = 1 << 20;
static constexpr size_t largest_capacity = 0xFFFFFFFF;

struct json_parser {
    simdjson::dom::parser *parser;
    size_t max_depth;
};

extern "C" json_parser *json_parser_create(size_t max_depth) {
    auto *created = new (std::nothrow) json_parser();
    if (created == nullptr) return nullptr;
    created->parser = new (std::nothrow) simdjson::dom::parser();
    // simdjson refuses the level that reaches its limit: one more allows `max_depth` levels. It does not count an
    // empty array or object.
    created->max_depth = max_depth + 1;
    if (created->parser == nullptr) {
        delete created;
        return nullptr;
    }
    return created;
}

extern "C" void json_parser_destroy(json_parser *parser) {
    if (parser == nullptr) return;
    delete parser->parser;
    delete parser;
}

// Gives the parser room for `length` bytes; growing by doubling keeps slowly growing records from reallocating.
static simdjson::error_code make_room(json_parser *parser, size_t length) {
    size_t capacity = parser->parser->capacity();
    if (capacity > kept_capacity && length <= kept_capacity / 16) {
        auto *smaller = new (std::nothrow) simdjson::dom::parser();
        if (smaller != nullptr) {
            delete parser->parser;
            parser->parser = smaller;
            capacity = 0;
        }
    }
    auto &document = parser->parser->doc;
    if (capacity != 0 && capacity >= length && document.capacity() >= length) return simdjson::SUCCESS;
    if (length > largest_capacity) return simdjson::CAPACITY;
    size_t wanted = smallest_capacity;
    while (wanted < length) wanted *= 2;
    if (wanted > largest_capacity) wanted = largest_capacity;
    auto error = parser->parser->allocate(wanted, parser->max_depth);
    if (error) return error;
    return document.allocate(wanted);
}

extern "C" int json_parser_parse(
    json_parser *parser, const uint8_t *bytes, size_t length, const uint64_t **tape, const uint8_t **strings) {
    if (length == 0) return simdjson::EMPTY;
    auto room = make_room(parser, length);
    if (room) return static_cast<int>(room);
    // simdjson reads past the end of its input: `true` has it copy the record into padded memory of its own.
    auto error = parser->parser->parse(bytes, length, true).error();
    if (error) return static_cast<int>(error);
    *tape = parser->parser->doc.tape.get();
    *strings = parser->parser->doc.string_buf.get();
    return 0;
}

extern "C" int json_is_utf8(const uint8_t *bytes, size_t length) {
    return simdjson::validate_utf8(reinterpret_cast<const char *>(bytes), length) ? 1 : 0;
}

extern "C" size_t json_parser_capacity(const json_parser *parser) { return parser->parser->capacity(); }

extern "C" int json_error_depth(void) { return simdjson::DEPTH_ERROR; }
extern "C" int json_error_utf8(void) { return simdjson::UTF8_ERROR; }
extern "C" int json_error_empty(void) { return simdjson::EMPTY; }
extern "C" int json_error_capacity(void) { return simdjson::CAPACITY; }
extern "C" int json_error_memory(void) { return simdjson::MEMALLOC; }
extern "C" int json_error_number(void) { return simdjson::NUMBER_ERROR; }
