#pragma once
#include <sqlite3.h>

/* Swift cannot call a function with a variable number of arguments. */
static inline int sqlite3_config_without_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* Closing the last connection then leaves the write-ahead log as it is: no checkpoint, and the file stays. */
static inline int sqlite3_leave_log_on_close(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

#include <sys/syscall.h>
#include <unistd.h>

/* Lets two files change names in one step: renameat2 with RENAME_EXCHANGE, which not every C library declares. */
static inline int file_exchange(const char *one, const char *other) {
    return (int)syscall(SYS_renameat2, -100 /* AT_FDCWD */, one, -100, other, 2u);
}
