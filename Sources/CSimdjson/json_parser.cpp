#include "CSimdjson.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
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
    // The last document, which simdjson reads in place and the texts of numbers are looked up in.
    std::unique_ptr<uint8_t[]> source;
    size_t room;
    // Whether each double on the tape has its place in the source beside its mark.
    bool is_located;
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
            parser->source.reset();
            parser->room = 0;
            capacity = 0;
        }
    }
    auto &document = parser->parser->doc;
    if (parser->room >= length && capacity >= length && document.capacity() >= length) return simdjson::SUCCESS;
    if (length > largest_capacity) return simdjson::CAPACITY;
    size_t wanted = smallest_capacity;
    while (wanted < length) wanted *= 2;
    if (wanted > largest_capacity) wanted = largest_capacity;
    auto error = parser->parser->allocate(wanted, parser->max_depth);
    if (error) return error;
    error = document.allocate(wanted);
    if (error) return error;
    // simdjson reads past the end of its input.
    parser->room = 0;
    parser->source.reset(new (std::nothrow) uint8_t[wanted + simdjson::SIMDJSON_PADDING]);
    if (parser->source == nullptr) return simdjson::MEMALLOC;
    parser->room = wanted;
    return simdjson::SUCCESS;
}

static size_t skip_digits(const uint8_t *bytes, size_t position) {
    while (bytes[position] >= '0' && bytes[position] <= '9') position++;
    return position;
}

// Returns the length of the number that begins here, or 0 where none does (RFC 8259, section 6). The padding behind the
// document ends it at the latest.
static size_t number_length(const uint8_t *bytes, bool &is_integer) {
    is_integer = true;
    size_t start = bytes[0] == '-' ? 1 : 0;
    size_t end = skip_digits(bytes, start);
    if (end == start || (bytes[start] == '0' && end > start + 1)) return 0;
    if (bytes[end] == '.') {
        is_integer = false;
        size_t first = end + 1;
        end = skip_digits(bytes, first);
        if (end == first) return 0;
    }
    if ((bytes[end] | 0x20) == 'e') {
        is_integer = false;
        size_t first = end + 1;
        if (bytes[first] == '+' || bytes[first] == '-') first++;
        end = skip_digits(bytes, first);
        if (end == first) return 0;
    }
    return end;
}

static double nearest_double(const uint8_t *bytes) {
    return std::strtod(reinterpret_cast<const char *>(bytes), nullptr);
}

// Tells whether simdjson has room for a number: for a whole one 64 bits, for another one a double.
static bool fits(const uint8_t *bytes, size_t length, bool is_integer) {
    if (!is_integer) return std::isfinite(nearest_double(bytes));
    bool is_negative = bytes[0] == '-';
    const char *greatest = is_negative ? "-9223372036854775808" : "18446744073709551615";
    size_t most = std::strlen(greatest);
    return length < most || (length == most && std::memcmp(bytes, greatest, length) <= 0);
}

// Calls `body` with each scalar, array and object of the document: its place in the source.
template <typename Body> static void for_each_value(const json_parser *parser, Body body) {
    const auto &indexes = parser->parser->implementation->structural_indexes;
    size_t count = parser->parser->implementation->n_structural_indexes;
    for (size_t number = 0; number < count; number++) {
        uint8_t byte = parser->source[indexes[number]];
        if (byte != ',' && byte != ':') body(indexes[number]);
    }
}

// Writes the place of each double in the source beside its mark, where the tape has room: structural characters and the
// words of the tape stand in one order. A double that simdjson read as another text in `copy` is read again.
static void locate_doubles(json_parser *parser, const uint8_t *copy) {
    uint64_t *tape = parser->parser->doc.tape.get();
    size_t word = 1;
    for_each_value(parser, [&](size_t place) {
        uint8_t mark = static_cast<uint8_t>(tape[word] >> 56);
        if (mark == 'd') {
            tape[word] |= place;
            const uint8_t *text = parser->source.get() + place;
            bool is_integer;
            if (copy != nullptr && std::memcmp(copy + place, text, number_length(text, is_integer)) != 0) {
                double number = nearest_double(text);
                std::memcpy(&tape[word + 1], &number, sizeof number);
            }
        }
        word += mark == 'd' || mark == 'l' || mark == 'u' ? 2 : 1;
    });
    parser->is_located = true;
}

// Parses a document with numbers that simdjson has no room for: it reads 0.0 in their places, and the tape gets the
// nearest doubles afterwards.
static simdjson::error_code parse_great_numbers(json_parser *parser, size_t length) {
    auto copy = std::unique_ptr<uint8_t[]>(new (std::nothrow) uint8_t[length + simdjson::SIMDJSON_PADDING]);
    if (copy == nullptr) return simdjson::MEMALLOC;
    const uint8_t *source = parser->source.get();
    std::memcpy(copy.get(), source, length + simdjson::SIMDJSON_PADDING);
    for_each_value(parser, [&](size_t place) {
        bool is_integer;
        size_t count = number_length(source + place, is_integer);
        if (count == 0 || fits(source + place, count, is_integer)) return;
        // What follows must not join the zeros to another number, as the second exponent of 1e999e3 would.
        if ((source[place + count] | 0x20) == 'e') return;
        std::memset(copy.get() + place, '0', count);
        copy[place + 1] = '.';
    });
    auto error = parser->parser->parse(copy.get(), length, false).error();
    if (error) return error;
    locate_doubles(parser, copy.get());
    return simdjson::SUCCESS;
}

extern "C" int json_parser_parse(
    json_parser *parser, const uint8_t *bytes, size_t length, const uint64_t **tape, const uint8_t **strings) {
    if (length == 0) return simdjson::EMPTY;
    auto room = make_room(parser, length);
    if (room) return static_cast<int>(room);
    std::memcpy(parser->source.get(), bytes, length);
    std::memset(parser->source.get() + length, 0, simdjson::SIMDJSON_PADDING);
    parser->is_located = false;
    auto error = parser->parser->parse(parser->source.get(), length, false).error();
    if (error == simdjson::NUMBER_ERROR) error = parse_great_numbers(parser, length);
    if (error) return static_cast<int>(error);
    uint64_t *words = parser->parser->doc.tape.get();
    // The root's mark is of no use to a reader; in its place the tape leads back to its parser.
    words[0] = reinterpret_cast<uintptr_t>(parser);
    *tape = words;
    *strings = parser->parser->doc.string_buf.get();
    return 0;
}

extern "C" const uint8_t *json_number_text(const uint64_t *tape, size_t word, size_t *length) {
    auto *parser = reinterpret_cast<json_parser *>(static_cast<uintptr_t>(tape[0]));
    if (!parser->is_located) locate_doubles(parser, nullptr);
    const uint8_t *text = parser->source.get() + (tape[word] & 0xFFFFFFFF);
    bool is_integer;
    *length = number_length(text, is_integer);
    return text;
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
