/* static.c - statically linked: nothing can be preloaded. */
#include "tests/prog/closed.c"
