#pragma once
#include <sqlite3.h>

/* Swift cannot call a function with a variable number of arguments. */
static inline int sqlite3_config_without_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#include <sys/syscall.h>
#include <unistd.h>

/* Lets two files change names in one step: renameat2 with RENAME_EXCHANGE, which not every C library declares. */
static inline int file_exchange(const char *one, const char *other) {
    return (int)syscall(SYS_renameat2, -100 /* AT_FDCWD */, one, -100, other, 2u);
}
