// The settings of jemalloc; the program has nothing to call here.
