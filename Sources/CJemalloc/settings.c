// jemalloc reads its settings from this name; the environment's MALLOC_CONF adds to them. Debug builds have no jemalloc.
//
// One arena for all threads: by default there are four a processor, and each keeps freed memory of its own. The few busy
// threads allocate from their caches, so the arena is seldom contended.
__attribute__((used, visibility("default"))) const char *malloc_conf = "narenas:1";
