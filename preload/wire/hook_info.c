/* hook_info.c - the properties of each hook, from the hook tables; linked into both sides. */
#include "preload/wire/hooks.h"

#include <stddef.h>
#include <string.h>

/* One after the other, without pointers: the loader would have to relocate them in each process. */
static const struct names {
#define SL_HOOK_ONE(fail, op, waits, name) char of_##name[sizeof(#name)];
#include "preload/wire/hooks.def"
#undef SL_HOOK_ONE
} names = {
#define SL_HOOK_ONE(fail, op, waits, name) #name,
#include "preload/wire/hooks.def"
#undef SL_HOOK_ONE
};
_Static_assert(sizeof(names) <= UINT16_MAX, "sl_hook_info.name");

#pragma GCC visibility push(hidden)
const struct sl_hook_info sl_hook_info[SL_HOOK_CNT] = {
#define SL_HOOK_ONE(fail_, op_, waits_, name_)                        \
	[SL_H_##name_] = {.name = offsetof(struct names, of_##name_), \
			  .fail = SL_FAIL_##fail_,                    \
			  .io = SL_IO_OF_##op_,                       \
			  .op = SL_OP_##op_,                          \
			  .waits = SL_WAITS_##waits_},
#include "preload/wire/hooks.def"
#undef SL_HOOK_ONE
};

const char *sl_hook_name(unsigned hook)
{
	return (const char *)&names + sl_hook_info[hook].name;
}

/* FNV-1a of words: each process image computes it when it starts. */
uint64_t sl_hook_hash(void)
{
	uint64_t h = 0xcbf29ce484222325u, word;

	for (size_t at = 0; at < sizeof(names); at += sizeof(word)) {
		size_t left = sizeof(names) - at;

		word = 0;
		memcpy(&word, (const char *)&names + at, left < sizeof(word) ? left : sizeof(word));
		h = (h ^ word) * 0x100000001b3u;
	}
	return h;
}
#pragma GCC visibility pop
