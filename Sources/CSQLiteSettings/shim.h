#pragma once
#include <sqlite3.h>

/* Swift cannot call a function with a variable number of arguments. */
static inline int sqlite3_config_without_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
