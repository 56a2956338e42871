/* resolve.h - the real functions behind the hooks, looked up without the C library's dlsym(). */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/base/compiler.h"
#include "preload/wire/hooks.h"

#pragma GCC visibility push(hidden)

/* Indexed by enum sl_hook; NULL until resolved. */
extern void *sl_real[SL_HOOK_CNT];
/* Slow path of sl_get_real(). NULL if no object after this library defines the function. */
void *sl_resolve(enum sl_hook hook);
/* Before it, and where it is NULL, all loaded objects are searched. */
void sl_resolve_start(const struct link_map *libc);
/* Whether this library stands behind @libc in the loader's list: it was not preloaded, but came by dlopen(). */
bool sl_resolve_is_late(const struct link_map *libc);
/* The same as sl_resolve_start() for such a library; all functions are looked up at once. */
void sl_resolve_start_late(void);

SL_HOT void *sl_get_real(enum sl_hook hook)
{
	void *p = sl_real[hook];

	return sl_likely(p) ? p : sl_resolve(hook);
}

#pragma GCC visibility pop
