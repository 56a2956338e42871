/* resolve.h - the real functions behind the hooks, looked up without the C library's dlsym(). */
#pragma once

#include <link.h>
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

SL_HOT void *sl_get_real(enum sl_hook hook)
{
	void *p = sl_real[hook];

	return sl_likely(p) ? p : sl_resolve(hook);
}

#pragma GCC visibility pop
