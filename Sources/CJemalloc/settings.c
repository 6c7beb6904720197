// jemalloc reads its settings from this name; the environment's MALLOC_CONF adds to them. Debug builds have no jemalloc.
//
// One arena for all threads: by default there are four a processor, and each keeps freed memory of its own. The few busy
// threads allocate from their caches, so the arena is seldom contended.
//
// A thread of its own gives freed memory back: without it jemalloc does so while it allocates, and a worker that has
// caught up would keep the memory of its largest chunk.
__attribute__((used, visibility("default"))) const char *malloc_conf = "narenas:1,background_thread:true";
