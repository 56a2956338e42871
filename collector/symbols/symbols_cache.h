/*
 * symbols_cache.h - names of addresses from earlier recordings, in a file of the user's cache folder.
 *
 * The debug information of a C library is 4 MB of compressed sections, 40 ms of processor time until the first address has a name;
 * the same few addresses occur in each recording. Kept are answers from debug information, in the file itself or in one of its
 * own: by build id, and only while both files are the ones that were read (device, inode, size, times). A file that is
 * missing, not the user's, or of another form is as one that is empty; it may be removed at any time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/symbols/symbols.h"

struct symbols_cache;
struct cached_module; /* addresses in one file; lives as long as the cache */

/* The file, read; NULL: the user has no cache folder, or no memory. */
struct symbols_cache *symbols_cache_open(void);
void symbols_cache_close(struct symbols_cache *c);

struct cached_key {
	const uint8_t *build_id;
	size_t build_id_len;
	const char *path;
	int held; /* a descriptor of the file that was read; -1: it was opened by the path */
};
/* NULL: nothing is known, or a file has changed. */
const struct cached_module *symbols_cache_module(const struct symbols_cache *c,
						 const struct cached_key *key);
/* False: the address is not in it. *@cnt: frames, also 0; at most @room. Texts live as long as the cache. */
bool symbols_cache_find(const struct cached_module *m, uint64_t address,
			struct symbols_frame *frame, size_t room, size_t *cnt);

/* ---- writing: begin; each module, and its answers; end ---- */

/* Modules of the cache that are not named again stay, while there is room. */
void symbols_cache_begin(struct symbols_cache *c);
/* False: a file is gone or has changed since the cache was opened, or no memory; then no answers follow. */
bool symbols_cache_add(struct symbols_cache *c, const struct cached_key *key, const char *debug,
		       const struct cached_module *before);
/* Of all addresses in a span: another one in it is found, too. */
struct cached_span {
	uint64_t from;
	uint32_t bytes; /* not 0 */
};
void symbols_cache_answer(struct symbols_cache *c, const struct cached_span *of,
			  const struct symbols_frame *frame, size_t cnt);
/* Written aside, and renamed. False: it was not, for instance as the disk is full; the old file stays. */
bool symbols_cache_end(struct symbols_cache *c);
