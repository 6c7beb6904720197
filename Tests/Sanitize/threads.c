/* Shows the thread sanitizer what it does not see by itself; loaded with LD_PRELOAD.

   Swift's Mutex: one that is free is taken by an atomic operation in the code that is checked. One that is held is
   handed over in the runtime's library and in the kernel, where nothing is checked: without this, whatever a contended
   mutex guards is reported as a race.

   C11 threads, in which librdkafka runs: the sanitizer knows those of POSIX only. Checked code that such a thread calls,
   as each callback is, would end the process without a word. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

typedef void (*annotation)(void *);

static void tell(const char *name, annotation *known, void *lock) {
    if (!*known) *known = (annotation)dlsym(RTLD_DEFAULT, name);
    // Other programs, which the environment leads here too, have no sanitizer.
    if (*known) (*known)(lock);
}

static void acquired(void *lock) {
    static annotation known;
    tell("__tsan_acquire", &known, lock);
}

static void releases(void *lock) {
    static annotation known;
    tell("__tsan_release", &known, lock);
}

/* The function that this one stands before. */
#define REAL(function, name) \
    static __typeof__(function) *real; \
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, name)

/* --- Swift's Mutex */

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF mutex) __asm__(LOCK);
SWIFT bool try_slow(SELF mutex) __asm__(TRY);
SWIFT void unlock_slow(SELF mutex) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF mutex) {
    REAL(lock_slow, LOCK);
    real(thread, mutex);
    acquired(mutex);
}

SWIFT bool try_slow(SELF mutex) {
    REAL(try_slow, TRY);
    bool is_locked = real(mutex);
    if (is_locked) acquired(mutex);
    return is_locked;
}

SWIFT void unlock_slow(SELF mutex) {
    REAL(unlock_slow, UNLOCK);
    releases(mutex);
    real(mutex);
}

/* --- C11 threads */

struct start {
    thrd_start_t function;
    void *argument;
};

static void *run(void *pointer) {
    struct start start = *(struct start *)pointer;
    free(pointer);
    return (void *)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
    struct start *start = malloc(sizeof *start);
    if (!start) return thrd_nomem;
    *start = (struct start){function, argument};
    if (pthread_create(thread, NULL, run, start) == 0) return thrd_success;
    free(start);
    return thrd_error;
}

int thrd_join(thrd_t thread, int *result) {
    void *value;
    if (pthread_join(thread, &value) != 0) return thrd_error;
    if (result) *result = (int)(intptr_t)value;
    return thrd_success;
}

int thrd_detach(thrd_t thread) { return pthread_detach(thread) == 0 ? thrd_success : thrd_error; }

int mtx_lock(mtx_t *mutex) {
    REAL(mtx_lock, "mtx_lock");
    int result = real(mutex);
    if (result == thrd_success) acquired(mutex);
    return result;
}

int mtx_unlock(mtx_t *mutex) {
    REAL(mtx_unlock, "mtx_unlock");
    releases(mutex);
    return real(mutex);
}

int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    REAL(cnd_wait, "cnd_wait");
    releases(mutex);
    int result = real(condition, mutex);
    acquired(mutex);
    return result;
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until) {
    REAL(cnd_timedwait, "cnd_timedwait");
    releases(mutex);
    int result = real(condition, mutex, until);
    acquired(mutex);
    return result;
}
