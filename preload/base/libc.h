/*
 * libc.h - the few functions of the C library that the shim calls (libc.c). The usual headers declare the others, which
 * are called at their addresses in libc.
 */
#pragma once

struct link_map;

#pragma GCC visibility push(hidden)

/* NULL: the C library is another one than glibc. */
const char *sl_glibc_version(void);
/* Of the loader's list; NULL: it is not known. */
const struct link_map *sl_libc_map(void);
/* Once, before the first reading of a clock. */
void sl_libc_start(void);

#pragma GCC visibility pop
