/* Faults from below: loaded before the C library with LD_PRELOAD, it counts what a process does to the files of its
 * store and to the broker, and ends the process at a named step, makes calls fail, or loses what was not synced.
 *
 * FAULT_CONTROL   a file of 4096 bytes that the harness maps too; struct control says what is in it
 * FAULT_STORE     the store's path; the files beside it that end in -wal and -shm are known by it
 * FAULT_REDIRECT  FROM:TO, ports of the loopback interface: connections to FROM go to TO
 *
 * Build: cc -O1 -shared -fPIC -o shim.so shim.c -ldl -lpthread
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <semaphore.h>
#include <time.h>
#include <sys/time.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum step {
    LOG_FIRST_FRAME = 1, LOG_BETWEEN_FRAMES, LOG_TORN_FRAME, LOG_BEFORE_COMMIT_FRAME, LOG_TORN_COMMIT_FRAME,
    LOG_AFTER_COMMIT_FRAME, CHECKPOINT_BEFORE_LOG_SYNC, CHECKPOINT_AFTER_LOG_SYNC, CHECKPOINT_BETWEEN_PAGES,
    CHECKPOINT_TORN_PAGE, CHECKPOINT_BEFORE_STORE_SYNC, CHECKPOINT_AFTER_STORE_SYNC, LOG_RESTART, LOG_AFTER_RESTART,
    OFFSETS_BEFORE_COMMIT, OFFSETS_AFTER_COMMIT, NOTIFICATION_BEFORE_SEND, NOTIFICATION_AFTER_SEND,
    CURSOR_BEFORE_SAVE, CURSOR_AFTER_SAVE, LEASE_TAKE, TRANSACTION_BEFORE_TOKEN, TRANSACTION_BEFORE_COMMIT,
    TRANSACTION_AFTER_COMMIT, REVOKE_BEGIN, REVOKE_SAVED, REVOKE_DONE, ANY_OPERATION, STEPS
};
enum manner { KILL, LOSE_ALL, LOSE_SOME, GARBLE_SOME, STOP };
enum mode { NO_FAULT, FAIL, SHORT_WRITE };
enum operation { WRITE = 1, SYNC = 2, TRUNCATE = 4, OPEN = 8, READ = 16 };
enum file { NO_FILE, STORE, LOG, INDEX };
enum bug { NO_BUG, OFFSETS_AHEAD, POSITION_LOST, DEAD_LETTER_LOST, HISTORY_LOST, LEAK, BINDING_LOST };
enum library { NO_LIBRARY, SQLITE, KAFKA, POSTGRES, JQ, SIMDJSON, LIBRARIES };

/* Mirrored by harness/shim.py. */
struct control {
    uint32_t step, manner;
    int64_t at;               /* the occurrence of the step that fires, from 1; counted from when it was armed */
    uint32_t mode, operations, files;
    int32_t error;
    int64_t skip, times;      /* operations that pass before the fault, and how many fail then; -1: all */
    uint64_t seed;
    uint32_t bug, unused;
    int64_t clock;            /* seconds that are added to the program's clock */
    uint64_t fired;           /* steps that fired */
    uint64_t failed;          /* operations that were made to fail */
    uint64_t counts[32];      /* how often each step was reached */
    /* Allocations of one library fail; a process has to find the library named when it starts. */
    int64_t library, first, denials; /* from which number on, counted from 1, and how many; 0: all are only counted */
    int64_t allocations, denied;
};

static struct control none, *control = &none;
static char store[4096];
static int redirect_from, redirect_to;
static unsigned char kinds[65536];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(result, name, ...) \
    static result (*real_##name)(__VA_ARGS__); \
    static void load_##name(void) { if (!real_##name) real_##name = dlsym(RTLD_NEXT, #name); }

REAL(int, open64, const char *, int, ...)
REAL(int, close, int)
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
REAL(ssize_t, pread64, int, void *, size_t, off64_t)
REAL(int, fdatasync, int)
REAL(int, fsync, int)
REAL(int, ftruncate64, int, off64_t)
REAL(int, unlink, const char *)
REAL(int, connect, int, const struct sockaddr *, socklen_t)
REAL(int, clock_gettime, clockid_t, struct timespec *)
REAL(int, gettimeofday, struct timeval *, void *)
REAL(int, sem_timedwait, sem_t *, const struct timespec *)
REAL(int, pthread_cond_timedwait, pthread_cond_t *, pthread_mutex_t *, const struct timespec *)

/* --- the clock: that of the program and of Swift's libraries, not that by which C libraries wait --- */

static struct { uintptr_t from, to; } program[32];
static int program_parts;

static int note_part(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size; (void)data;
    const char *name = strrchr(info->dlpi_name, '/');
    name = name ? name + 1 : info->dlpi_name;
    int is_program = !*name || !strncmp(name, "libswift", 8) || !strncmp(name, "libFoundation", 13) ||
        !strncmp(name, "lib_Foundation", 14) || !strncmp(name, "libdispatch", 11);
    for (int i = 0; is_program && i < info->dlpi_phnum && program_parts < 32; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        program[program_parts].from = info->dlpi_addr + part->p_vaddr;
        program[program_parts++].to = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

static int64_t shift_for(void *caller) {
    if (!control->clock) return 0;
    for (int i = 0; i < program_parts; i++)
        if ((uintptr_t)caller >= program[i].from && (uintptr_t)caller < program[i].to) return control->clock;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    load_clock_gettime();
    int result = real_clock_gettime(clock, time);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        time->tv_sec += shift_for(__builtin_return_address(0));
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    load_gettimeofday();
    int result = real_gettimeofday(time, zone);
    time->tv_sec += shift_for(__builtin_return_address(0));
    return result;
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    load_sem_timedwait();
    struct timespec shifted = *until;
    shifted.tv_sec -= shift_for(__builtin_return_address(0));
    return real_sem_timedwait(semaphore, &shifted);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    if (!real_pthread_cond_timedwait)
        real_pthread_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    load_pthread_cond_timedwait();
    struct timespec shifted = *until;
    struct timespec now;
    load_clock_gettime();
    real_clock_gettime(CLOCK_REALTIME, &now);
    int64_t shift = shift_for(__builtin_return_address(0));
    /* A condition may wait by the monotonic clock, whose times are far from the real ones. */
    if (shift && until->tv_sec - shift > now.tv_sec - 1000000) shifted.tv_sec -= shift;
    return real_pthread_cond_timedwait(condition, mutex, &shifted);
}

static int hook_allocations(struct dl_phdr_info *info, size_t size, void *data);

__attribute__((constructor)) static void begin(void) {
    load_open64(); load_close(); load_pwrite64(); load_pread64(); load_fdatasync(); load_fsync();
    load_ftruncate64(); load_unlink(); load_connect();
    dl_iterate_phdr(note_part, NULL);
    const char *path = getenv("FAULT_CONTROL");
    if (path) {
        int fd = real_open64(path, O_RDWR | O_CLOEXEC);
        void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) control = map;
        if (fd >= 0) real_close(fd);
    }
    const char *name = getenv("FAULT_STORE");
    if (name) snprintf(store, sizeof store, "%s", name);
    const char *ports = getenv("FAULT_REDIRECT");
    if (ports) sscanf(ports, "%d:%d", &redirect_from, &redirect_to);
    if (control->library) dl_iterate_phdr(hook_allocations, NULL);
}

static enum file kind_of_path(const char *path) {
    size_t length = strlen(store);
    if (!length || strncmp(path, store, length)) return NO_FILE;
    if (!path[length]) return STORE;
    if (!strcmp(path + length, "-wal")) return LOG;
    return strcmp(path + length, "-shm") ? NO_FILE : INDEX;
}

static enum file kind_of(int fd) { return fd >= 0 && fd < (int)sizeof kinds ? kinds[fd] : NO_FILE; }

/* --- power loss: the sectors as they were at the last sync --- */

enum { SECTOR = 512, BUCKETS = 1 << 16 };
struct sector { struct sector *next; int64_t number; unsigned char bytes[SECTOR]; };
struct unsynced { struct sector *buckets[BUCKETS]; int64_t size; int fd; };
static struct unsynced unsynced[2];

static int keeps_sectors(void) { return control->manner >= LOSE_ALL && control->manner <= GARBLE_SOME; }

static void remember(enum file kind, int fd, int64_t offset, int64_t length) {
    if (!keeps_sectors() || (kind != STORE && kind != LOG)) return;
    struct unsynced *file = &unsynced[kind - STORE];
    struct stat status;
    if (!file->fd && fstat(fd, &status) == 0) file->size = status.st_size;
    file->fd = fd + 1;
    for (int64_t number = offset / SECTOR; number * SECTOR < offset + length; number++) {
        struct sector **place = &file->buckets[number % BUCKETS], *found = *place;
        while (found && found->number != number) found = found->next;
        if (found) continue;
        found = calloc(1, sizeof *found);
        found->number = number;
        if (real_pread64(fd, found->bytes, SECTOR, number * SECTOR) < 0) memset(found->bytes, 0, SECTOR);
        found->next = *place;
        *place = found;
    }
}

static void synced(enum file kind) {
    if (kind != STORE && kind != LOG) return;
    struct unsynced *file = &unsynced[kind - STORE];
    if (!file->fd) return;
    for (int i = 0; i < BUCKETS; i++) {
        while (file->buckets[i]) {
            struct sector *next = file->buckets[i]->next;
            free(file->buckets[i]);
            file->buckets[i] = next;
        }
    }
    file->fd = 0;
}

static uint64_t next_random(void) {
    static uint64_t state;
    if (!state) state = control->seed * 0x9E3779B97F4A7C15u + 1;
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return state;
}

static void lose(void) {
    for (int k = 0; k < 2; k++) {
        struct unsynced *file = &unsynced[k];
        if (!file->fd) continue;
        for (int i = 0; i < BUCKETS; i++) {
            for (struct sector *each = file->buckets[i]; each; each = each->next) {
                if (control->manner != LOSE_ALL && next_random() & 0x10000) continue;
                if (control->manner == GARBLE_SOME)
                    for (int b = 0; b < SECTOR; b++) each->bytes[b] = (unsigned char)(next_random() >> 20);
                real_pwrite64(file->fd - 1, each->bytes, SECTOR, each->number * SECTOR);
            }
        }
        if (control->manner == LOSE_ALL && real_ftruncate64(file->fd - 1, file->size)) _exit(99);
    }
}

/* --- steps --- */

static void fire(void) {
    control->fired++;
    if (control->manner == STOP) {
        control->step = 0;
        raise(SIGSTOP);
        return;
    }
    if (keeps_sectors()) lose();
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int is_due(enum step step) {
    __atomic_add_fetch(&control->counts[step], 1, __ATOMIC_SEQ_CST);
    if (control->step != step) return 0;
    return __atomic_sub_fetch(&control->at, 1, __ATOMIC_SEQ_CST) == 0;
}

static void reach(enum step step) {
    if (is_due(step)) fire();
}

/* Returns whether the operation is to fail; errno is set then. */
static int fails(enum operation operation, enum file kind) {
    if (control->mode == NO_FAULT || !(control->operations & operation) || !(control->files & (1u << kind))) return 0;
    if (control->skip > 0) { control->skip--; return 0; }
    if (control->times == 0) return 0;
    if (control->times > 0) control->times--;
    control->failed++;
    errno = control->error;
    return 1;
}

/* --- files --- */

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < (int)sizeof kinds) kinds[fd] = (unsigned char)kind_of_path(path);
    return fd;
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    load_open64();
    enum file kind = kind_of_path(path);
    if (kind && fails(OPEN, kind)) return -1;
    return opened(real_open64(path, flags, mode), path);
}

int close(int fd) {
    load_close();
    if (fd >= 0 && fd < (int)sizeof kinds) kinds[fd] = NO_FILE;
    return real_close(fd);
}

static int log_state; /* 0: the next frame is a transaction's first; 1: within one; 2: the page of a commit frame is next */
static int is_torn(enum step step) { return is_due(step); }

static void before_log_write(int fd, const unsigned char *bytes, size_t size, off64_t offset) {
    if (offset == 0 && size == 32) return reach(LOG_RESTART);
    if (size == 24) {
        int is_commit = bytes[4] | bytes[5] | bytes[6] | bytes[7];
        reach(log_state == 0 ? LOG_FIRST_FRAME : LOG_BETWEEN_FRAMES);
        if (is_commit) reach(LOG_BEFORE_COMMIT_FRAME);
        log_state = is_commit ? 2 : 1;
        return;
    }
    if (is_torn(log_state == 2 ? LOG_TORN_COMMIT_FRAME : LOG_TORN_FRAME)) {
        real_pwrite64(fd, bytes, size / 2, offset);
        fire();
    }
}

static void before_store_write(int fd, const void *bytes, size_t size, off64_t offset) {
    reach(CHECKPOINT_BETWEEN_PAGES);
    if (is_torn(CHECKPOINT_TORN_PAGE)) {
        real_pwrite64(fd, bytes, size / 2, offset);
        fire();
    }
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) {
    load_pwrite64();
    enum file kind = kind_of(fd);
    if (!kind) return real_pwrite64(fd, bytes, size, offset);
    pthread_mutex_lock(&lock);
    reach(ANY_OPERATION);
    remember(kind, fd, offset, (int64_t)size);
    if (kind == LOG) before_log_write(fd, bytes, size, offset);
    if (kind == STORE) before_store_write(fd, bytes, size, offset);
    ssize_t result;
    if (fails(WRITE, kind)) {
        result = control->mode == SHORT_WRITE ? real_pwrite64(fd, bytes, size / 2, offset) : -1;
        if (control->mode == SHORT_WRITE && control->error) { errno = control->error; }
    } else {
        result = real_pwrite64(fd, bytes, size, offset);
        if (kind == LOG && offset == 0 && size == 32) reach(LOG_AFTER_RESTART);
        if (kind == LOG && log_state == 2 && size != 24 && size != 32) {
            log_state = 0;
            reach(LOG_AFTER_COMMIT_FRAME);
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset) {
    load_pread64();
    enum file kind = kind_of(fd);
    if (kind && fails(READ, kind)) return -1;
    return real_pread64(fd, bytes, size, offset);
}

static int sync_file(int fd, int (*real)(int)) {
    enum file kind = kind_of(fd);
    if (!kind) return real(fd);
    pthread_mutex_lock(&lock);
    reach(ANY_OPERATION);
    if (kind == LOG) reach(CHECKPOINT_BEFORE_LOG_SYNC);
    if (kind == STORE) reach(CHECKPOINT_BEFORE_STORE_SYNC);
    int result = fails(SYNC, kind) ? -1 : real(fd);
    if (result == 0) {
        synced(kind);
        if (kind == LOG) reach(CHECKPOINT_AFTER_LOG_SYNC);
        if (kind == STORE) reach(CHECKPOINT_AFTER_STORE_SYNC);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int fdatasync(int fd) { load_fdatasync(); return sync_file(fd, real_fdatasync); }

int fsync(int fd) { load_fsync(); return sync_file(fd, real_fsync); }

int ftruncate64(int fd, off64_t size) {
    load_ftruncate64();
    enum file kind = kind_of(fd);
    if (kind && fails(TRUNCATE, kind)) return -1;
    if (kind == STORE || kind == LOG) synced(kind);
    return real_ftruncate64(fd, size);
}

int unlink(const char *path) {
    load_unlink();
    if (kind_of_path(path) == LOG) synced(LOG);
    return real_unlink(path);
}

/* --- the network --- */

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    load_connect();
    struct sockaddr_in changed;
    if (redirect_from && address->sa_family == AF_INET && length >= sizeof changed) {
        memcpy(&changed, address, sizeof changed);
        if (ntohs(changed.sin_port) == redirect_from) {
            changed.sin_port = htons((uint16_t)redirect_to);
            return real_connect(fd, (struct sockaddr *)&changed, sizeof changed);
        }
    }
    return real_connect(fd, address, length);
}

/* --- librdkafka; the layouts are those of its public header --- */

struct partitions { int count, size; struct { char *topic; int32_t partition; int64_t offset; void *metadata;
    size_t metadata_size; void *opaque; int error; void *private; } *elements; };
static int sent;

#define NEXT(type, name) static type real; if (!real) real = (type)dlsym(RTLD_NEXT, name)

static void leak(void) {
    static void *volatile leaked;
    if (control->bug != LEAK) return;
    leaked = malloc(32 << 20);
    if (leaked) memset(leaked, 1, 32 << 20);
}

static void get_ahead(struct partitions *offsets) {
    if (control->bug != OFFSETS_AHEAD || !offsets) return;
    for (int i = 0; i < offsets->count; i++) offsets->elements[i].offset += 1000000;
}

int rd_kafka_commit(void *client, struct partitions *offsets, int is_asynchronous) {
    typedef int (*commit)(void *, struct partitions *, int);
    NEXT(commit, "rd_kafka_commit");
    reach(OFFSETS_BEFORE_COMMIT);
    get_ahead(offsets);
    int result = real(client, offsets, is_asynchronous);
    reach(OFFSETS_AFTER_COMMIT);
    return result;
}

/* The waiting kind of commit, with a queue for the answer. */
int rd_kafka_commit_queue(void *client, struct partitions *offsets, void *queue, void *callback, void *opaque) {
    typedef int (*commit)(void *, struct partitions *, void *, void *, void *);
    NEXT(commit, "rd_kafka_commit_queue");
    reach(OFFSETS_BEFORE_COMMIT);
    get_ahead(offsets);
    int result = real(client, offsets, queue, callback, opaque);
    reach(OFFSETS_AFTER_COMMIT);
    return result;
}

void *rd_kafka_produceva(void *client, const void *arguments, size_t count) {
    typedef void *(*produce)(void *, const void *, size_t);
    NEXT(produce, "rd_kafka_produceva");
    reach(NOTIFICATION_BEFORE_SEND);
    leak();
    sent = 1;
    return real(client, arguments, count);
}

int rd_kafka_flush(void *client, int milliseconds) {
    typedef int (*flush)(void *, int);
    NEXT(flush, "rd_kafka_flush");
    int result = real(client, milliseconds);
    if (result == 0 && sent) {
        sent = 0;
        reach(NOTIFICATION_AFTER_SEND);
    }
    return result;
}

void *rd_kafka_send_offsets_to_transaction(void *client, const void *offsets, const void *group, int milliseconds) {
    typedef void *(*send)(void *, const void *, const void *, int);
    NEXT(send, "rd_kafka_send_offsets_to_transaction");
    reach(TRANSACTION_BEFORE_TOKEN);
    return real(client, offsets, group, milliseconds);
}

void *rd_kafka_commit_transaction(void *client, int milliseconds) {
    typedef void *(*commit)(void *, int);
    NEXT(commit, "rd_kafka_commit_transaction");
    reach(TRANSACTION_BEFORE_COMMIT);
    void *result = real(client, milliseconds);
    if (!result) reach(TRANSACTION_AFTER_COMMIT);
    return result;
}

/* A revocation: first the client asks whether the partitions are lost, then the worker saves, then it lets go. */
int rd_kafka_assignment_lost(void *client) {
    typedef int (*lost)(void *);
    NEXT(lost, "rd_kafka_assignment_lost");
    reach(REVOKE_BEGIN);
    return real(client);
}

int rd_kafka_assign(void *client, const void *partitions) {
    typedef int (*assign)(void *, const void *);
    NEXT(assign, "rd_kafka_assign");
    if (!partitions) reach(REVOKE_SAVED);
    int result = real(client, partitions);
    if (!partitions) reach(REVOKE_DONE);
    return result;
}

void *rd_kafka_incremental_unassign(void *client, const void *partitions) {
    typedef void *(*unassign)(void *, const void *);
    NEXT(unassign, "rd_kafka_incremental_unassign");
    reach(REVOKE_SAVED);
    void *result = real(client, partitions);
    reach(REVOKE_DONE);
    return result;
}

/* --- SQLite --- */

static int is_write(const char *sql, const char *table) {
    return sql && strstr(sql, table) && (!strncmp(sql, "INSERT", 6) || !strncmp(sql, "UPDATE", 6));
}

int sqlite3_step(void *statement) {
    typedef int (*step)(void *);
    typedef const char *(*text)(void *);
    NEXT(step, "sqlite3_step");
    int watches = control->step == CURSOR_BEFORE_SAVE || control->step == CURSOR_AFTER_SAVE ||
        control->step == LEASE_TAKE || (control->bug >= POSITION_LOST && control->bug <= HISTORY_LOST);
    if (!watches) return real(statement);
    static text sql_of;
    if (!sql_of) sql_of = (text)dlsym(RTLD_DEFAULT, "sqlite3_sql");
    const char *sql = sql_of(statement);
    if (control->bug == POSITION_LOST && is_write(sql, "_position")) return 101;
    if (control->bug == DEAD_LETTER_LOST && is_write(sql, "_dead_letter")) return 101;
    if (control->bug == HISTORY_LOST && (is_write(sql, "_history_change") || is_write(sql, "_history_range")))
        return 101;
    int is_cursor = is_write(sql, "_cursor");
    if (is_cursor) reach(CURSOR_BEFORE_SAVE);
    if (is_write(sql, "_lease")) reach(LEASE_TAKE);
    int result = real(statement);
    if (is_cursor) reach(CURSOR_AFTER_SAVE);
    return result;
}

/* --- memory: one library's allocations, by its own table of imports; Swift's runtime ends where one of its own fails --- */

static const char *const library_names[LIBRARIES] = {
    [SQLITE] = "libsqlite3.so", [KAFKA] = "librdkafka.so", [POSTGRES] = "libpq.so", [JQ] = "libjq.so",
    [SIMDJSON] = "libsimdjson.so"};

static __thread int is_binding;

static int is_denied(void) {
    if (control->bug == BINDING_LOST && !is_binding) return 0;
    int64_t number = __atomic_add_fetch(&control->allocations, 1, __ATOMIC_SEQ_CST);
    if (number < control->first || number - control->first >= control->denials) return 0;
    __atomic_add_fetch(&control->denied, 1, __ATOMIC_SEQ_CST);
    errno = ENOMEM;
    return 1;
}

/* The planted bug: a text for which there was no memory counts as bound. */
int sqlite3_bind_text(void *statement, int position, const char *text, int size, void (*destroy)(void *)) {
    typedef int (*bind)(void *, int, const char *, int, void (*)(void *));
    NEXT(bind, "sqlite3_bind_text");
    if (control->bug != BINDING_LOST) return real(statement, position, text, size, destroy);
    is_binding = 1;
    int result = real(statement, position, text, size, destroy);
    is_binding = 0;
    return result == 7 ? 0 : result;
}

static void *hooked_malloc(size_t size) { return is_denied() ? NULL : malloc(size); }
static void *hooked_calloc(size_t count, size_t size) { return is_denied() ? NULL : calloc(count, size); }
static void *hooked_realloc(void *old, size_t size) { return is_denied() ? NULL : realloc(old, size); }
static char *hooked_strdup(const char *text) { return is_denied() ? NULL : strdup(text); }
static char *hooked_strndup(const char *text, size_t size) { return is_denied() ? NULL : strndup(text, size); }

static int hooked_posix_memalign(void **result, size_t alignment, size_t size) {
    return is_denied() ? ENOMEM : posix_memalign(result, alignment, size);
}

/* C++: new (std::nothrow) T, and new (std::nothrow) T[n]. */
static void *hooked_new(size_t size, const void *nothrow) {
    typedef void *(*allocate)(size_t, const void *);
    NEXT(allocate, "_ZnwmRKSt9nothrow_t");
    return is_denied() ? NULL : real(size, nothrow);
}

static void *hooked_new_array(size_t size, const void *nothrow) {
    typedef void *(*allocate)(size_t, const void *);
    NEXT(allocate, "_ZnamRKSt9nothrow_t");
    return is_denied() ? NULL : real(size, nothrow);
}

static const struct { const char *name; void *hook; } hooks[] = {
    {"malloc", (void *)hooked_malloc}, {"calloc", (void *)hooked_calloc}, {"realloc", (void *)hooked_realloc},
    {"strdup", (void *)hooked_strdup}, {"strndup", (void *)hooked_strndup},
    {"posix_memalign", (void *)hooked_posix_memalign},
    {"_ZnwmRKSt9nothrow_t", (void *)hooked_new}, {"_ZnamRKSt9nothrow_t", (void *)hooked_new_array}};

static void hook_import(ElfW(Addr) *slot, const char *name, int is_program) {
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        if (strcmp(name, hooks[i].name) || (is_program && name[0] != '_')) continue;
        uintptr_t page = (uintptr_t)slot & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
        if (mprotect((void *)page, (uintptr_t)(slot + 1) - page, PROT_READ | PROT_WRITE)) _exit(98);
        *slot = (ElfW(Addr))hooks[i].hook;
    }
}

/* simdjson's header puts a part of the library into the program itself, which alone uses the operators there. */
static int hook_allocations(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size; (void)data;
    const char *file = strrchr(info->dlpi_name, '/');
    file = file ? file + 1 : info->dlpi_name;
    int is_program = !*file;
    const char *wanted = library_names[control->library];
    if (is_program ? control->library != SIMDJSON : strncmp(file, wanted, strlen(wanted))) return 0;
    const ElfW(Sym) *symbols = NULL;
    const char *texts = NULL;
    const ElfW(Rela) *tables[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *each = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; each->d_tag != DT_NULL; each++) {
            if (each->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)each->d_un.d_ptr;
            if (each->d_tag == DT_STRTAB) texts = (const char *)each->d_un.d_ptr;
            if (each->d_tag == DT_RELA) tables[0] = (const ElfW(Rela) *)each->d_un.d_ptr;
            if (each->d_tag == DT_RELASZ) sizes[0] = each->d_un.d_val;
            if (each->d_tag == DT_JMPREL) tables[1] = (const ElfW(Rela) *)each->d_un.d_ptr;
            if (each->d_tag == DT_PLTRELSZ) sizes[1] = each->d_un.d_val;
        }
    }
    for (int table = 0; table < 2 && symbols && texts; table++) {
        for (size_t i = 0; i < sizes[table] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *each = &tables[table][i];
            size_t symbol = ELF64_R_SYM(each->r_info);
            if (!symbol || symbols[symbol].st_shndx != SHN_UNDEF) continue;
            hook_import((ElfW(Addr) *)(info->dlpi_addr + each->r_offset), texts + symbols[symbol].st_name, is_program);
        }
    }
    return 0;
}

/* The process that runs jq programs is started without the worker's environment: it gets the shim again. */
int posix_spawn(pid_t *process, const char *path, const void *actions, const void *attributes, char *const arguments[],
                char *const environment[]) {
    typedef int (*spawn)(pid_t *, const char *, const void *, const void *, char *const[], char *const[]);
    NEXT(spawn, "posix_spawn");
    char *variables[64], preload[4096], orders[4096];
    size_t count = 0;
    if (control->library != JQ || strcmp(path, "/proc/self/exe"))
        return real(process, path, actions, attributes, arguments, environment);
    while (environment[count] && count < 60) { variables[count] = environment[count]; count++; }
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
    snprintf(orders, sizeof orders, "FAULT_CONTROL=%s", getenv("FAULT_CONTROL"));
    variables[count++] = preload;
    variables[count++] = orders;
    variables[count] = NULL;
    return real(process, path, actions, attributes, arguments, variables);
}
