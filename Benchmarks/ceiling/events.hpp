// Parts of both ceilings: time stamps, and files of events.
#pragma once

#include <fcntl.h>
#include <simdjson.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

using std::string;
using std::string_view;
namespace ondemand = simdjson::ondemand;

[[noreturn]] static void fail(const string &message) {
    fprintf(stderr, "ceiling: %s\n", message.c_str());
    exit(1);
}

static int64_t microseconds_now() {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

/// Reads 2026-01-01T00:00:00.000Z, the one form that the generator writes, as microseconds since 1970.
static int64_t microseconds(string_view text) {
    if (text.size() < 20) return 0;
    auto number = [&](size_t start, size_t count) {
        int value = 0;
        for (size_t i = start; i < start + count; i++) value = value * 10 + (text[i] - '0');
        return value;
    };
    int year = number(0, 4), month = number(5, 2), day = number(8, 2);
    if (month <= 2) {
        year -= 1;
        month += 12;
    }
    int64_t days = 365LL * year + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + day - 1 - 719468;
    int64_t seconds = days * 86400 + number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2);
    return seconds * 1000000 + (text.size() >= 24 ? number(20, 3) * 1000 : 0);
}

/// Reads a file line by line through one buffer, so that memory does not grow with the file.
template <typename Writer> static void read_lines(const string &path, Writer &writer) {
    int file = open(path.c_str(), O_RDONLY);
    if (file < 0) fail("could not open " + path);
    size_t capacity = 1 << 20, filled = 0;
    char *buffer = static_cast<char *>(malloc(capacity + simdjson::SIMDJSON_PADDING));
    memset(buffer, 0, capacity + simdjson::SIMDJSON_PADDING);
    ondemand::parser parser;
    for (;;) {
        ssize_t count = read(file, buffer + filled, capacity - filled);
        if (count < 0) fail("could not read " + path);
        filled += size_t(count);
        size_t start = 0;
        while (start < filled) {
            auto end = static_cast<char *>(memchr(buffer + start, '\n', filled - start));
            size_t length = end != nullptr ? size_t(end - buffer) - start : filled - start;
            if (end == nullptr && count > 0) break;
            if (length > 0) {
                ondemand::document document;
                auto error = parser.iterate(buffer + start, length, capacity - start + simdjson::SIMDJSON_PADDING).get(document);
                if (error) fail(simdjson::error_message(error));
                writer.write(document);
            }
            start += length + 1;
        }
        if (count == 0) break;
        if (start == 0) fail("a line is longer than the buffer");
        start = std::min(start, filled);
        memmove(buffer, buffer + start, filled - start);
        filled -= start;
    }
    free(buffer);
    close(file);
}
