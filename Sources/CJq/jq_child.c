#define _GNU_SOURCE
#include "CJq.h"

#include <errno.h>
#include <jq.h>
#include <jv.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static _Noreturn void out_of_memory(void) { _exit(jq_child_ended_by_memory); }

static void no_memory(void *data) {
    (void)data;
    out_of_memory();
}

static void out_of_time(int signal) {
    (void)signal;
    _exit(jq_child_ended_by_time);
}

struct buffer {
    char *bytes;
    size_t count, capacity;
};

static void append(struct buffer *buffer, const char *bytes, size_t count) {
    if (buffer->count + count > buffer->capacity) {
        size_t capacity = (buffer->count + count) * 2;
        char *grown = realloc(buffer->bytes, capacity);
        if (grown == NULL) out_of_memory();
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    if (count > 0) memcpy(buffer->bytes + buffer->count, bytes, count);
    buffer->count += count;
}

static void read_fully(void *bytes, size_t count) {
    static char inbox[1 << 16];
    static size_t taken, received;
    char *rest = bytes;
    while (count > 0) {
        if (taken == received) {
            ssize_t got = read(STDIN_FILENO, inbox, sizeof inbox);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) _exit(0);
            taken = 0;
            received = (size_t)got;
        }
        size_t part = received - taken < count ? received - taken : count;
        memcpy(rest, inbox + taken, part);
        taken += part;
        rest += part;
        count -= part;
    }
}

static void write_fully(const void *bytes, size_t count) {
    const char *rest = bytes;
    while (count > 0) {
        ssize_t put = write(STDOUT_FILENO, rest, count);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) _exit(0);
        rest += put;
        count -= (size_t)put;
    }
}

static void read_frame(struct buffer *frame) {
    uint8_t head[4];
    read_fully(head, sizeof head);
    size_t count = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    frame->count = 0;
    append(frame, NULL, 0);
    if (count + 1 > frame->capacity) {
        char *grown = realloc(frame->bytes, count + 1);
        if (grown == NULL) out_of_memory();
        frame->bytes = grown;
        frame->capacity = count + 1;
    }
    read_fully(frame->bytes, count);
    frame->bytes[count] = 0;
    frame->count = count;
}

// An answer is small or has been bounded by the caller: head and text leave in one write where that is possible.
static void answer(char mark, const char *text, size_t count) {
    static struct buffer frame;
    size_t length = count + 1;
    char head[5] = {(char)length, (char)(length >> 8), (char)(length >> 16), (char)(length >> 24), mark};
    frame.count = 0;
    append(&frame, head, sizeof head);
    append(&frame, text, count);
    write_fully(frame.bytes, frame.count);
}

static void note_error(void *context, jv message) {
    if (jv_get_kind(message) == JV_KIND_STRING) {
        append(context, jv_string_value(message), (size_t)jv_string_length_bytes(jv_copy(message)));
        append(context, "\n", 1);
    }
    jv_free(message);
}

static void set_timer(unsigned long milliseconds) {
    struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)(milliseconds / 1000), .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

// What the program can reach: no files, no environment, no more memory than it is given.
static void confine(unsigned long memory_bytes) {
    // libjq's messages, which may hold values of a record, are read by nobody.
    int errors = memfd_create("errors", 0);
    if (errors >= 0) dup2(errors, STDERR_FILENO);
    close_range(3, ~0U, 0);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPROF, out_of_time);
    clearenv();
    setenv("TZ", "UTC", 1);
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    if (sizes != NULL) {
        if (fscanf(sizes, "%lu", &pages) != 1) pages = 0;
        fclose(sizes);
    }
    rlim_t size = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + memory_bytes;
    setrlimit(RLIMIT_AS, &(struct rlimit){size, size});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
}

// The timer ends with the record: a signal behind the answer would end the process while it holds the next one.
static void answer_record(char mark, const char *text, size_t count) {
    set_timer(0);
    answer(mark, text, count);
}

static void run(jq_state *jq, const struct buffer *input, size_t output_bytes, struct buffer *output) {
    jv value = jv_parse_sized(input->bytes, (int)input->count);
    if (!jv_is_valid(jv_copy(value))) {
        jv_free(value);
        return answer_record('p', NULL, 0);
    }
    jq_start(jq, value, 0);
    output->count = 0;
    append(output, "[", 1);
    jv result;
    while (jv_is_valid(result = jq_next(jq))) {
        jv text = jv_dump_string(result, 0);
        if (output->count > 1) append(output, ",", 1);
        append(output, jv_string_value(text), (size_t)jv_string_length_bytes(jv_copy(text)));
        jv_free(text);
        if (output->count > output_bytes) return answer_record('l', NULL, 0);
    }
    if (!jv_invalid_has_msg(jv_copy(result))) {
        jv_free(result);
        append(output, "]", 1);
        return answer_record('o', output->bytes, output->count);
    }
    jv message = jv_invalid_get_msg(result);
    int is_text = jv_get_kind(message) == JV_KIND_STRING;
    answer_record(
        'e', is_text ? jv_string_value(message) : NULL,
        is_text ? (size_t)jv_string_length_bytes(jv_copy(message)) : 0);
    jv_free(message);
}

_Noreturn void jq_child_run(int count, const char *const *arguments) {
    if (count != 3) _exit(jq_child_ended_by_arguments);
    unsigned long memory_bytes = strtoul(arguments[0], NULL, 10);
    unsigned long milliseconds = strtoul(arguments[1], NULL, 10);
    unsigned long output_bytes = strtoul(arguments[2], NULL, 10);
    confine(memory_bytes);
    struct buffer frame = {0}, output = {0};
    read_frame(&frame);
    jv_nomem_handler(no_memory, NULL);
    jq_state *jq = jq_init();
    if (jq == NULL) out_of_memory();
    // libjq 1.6 leaves its own handler as the allocated bytes have it, and calls that from here on.
    jq_set_nomem_handler(jq, no_memory, NULL);
    jq_set_error_cb(jq, note_error, &output);
    if (!jq_compile(jq, frame.bytes)) {
        answer('c', output.bytes, output.count);
        _exit(0);
    }
    answer('r', NULL, 0);
    for (;;) {
        read_frame(&frame);
        set_timer(milliseconds);
        run(jq, &frame, output_bytes, &output);
        // The next record finds as much memory as this one found.
        if (output.capacity > 1 << 20 || frame.capacity > 1 << 20) {
            free(output.bytes);
            free(frame.bytes);
            output = frame = (struct buffer){0};
            malloc_trim(0);
        }
    }
}
