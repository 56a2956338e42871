/* symbols_session.h - a session and its modules: for symbols.c and symbols_kept.c alone. */
#pragma once

#include "collector/symbols/symbols_apart.h"
#include "collector/symbols/symbols_cache.h"
#include "collector/symbols/symbols_internal.h"
#include "collector/symbols/symbols_texts.h"

#define MODULES   1024u /* buckets */
#define PIDS      64u
#define JIT_BYTES (256u << 20) /* bytes kept of maps and dumps of code made at run time */

struct answer {
	uint64_t address;
	uint32_t first, cnt; /* in the module's frames; first 0: free */
};

struct symbols_module {
	struct symbols_module *next;
	char *path;
	uint8_t build_id[64];
	size_t build_id_len;
	struct {
		struct symbols_mapped by; /* pid 0: not known */
		int fd;                   /* descriptor of the file; -1: none */
	} mapped;
	bool is_open, is_broken;
	struct {
		bool is; /* read by another process: its names are not here */
		struct symbols_apart_file file;
	} apart;
	struct symbols_file file;
	struct symbols_table table;
	struct symbols_dwarf *dwarf;
	struct symbols_frame *frame; /* of all answers; the first is not used */
	size_t frames, frame_cap;
	struct {
		struct answer *list; /* open addressing */
		size_t cnt, cap;
		const struct cached_module *cached; /* of earlier recordings; NULL: none */
		bool has_asked_cache, has_new;      /* new: not from there */
	} answers;
};

struct jit {
	struct jit *next;
	int64_t pid;
	struct symbols_jit *of; /* NULL: nothing there */
};

struct symbols {
	struct symbols_texts texts;
	struct symbols_module *module[MODULES];
	struct jit *jit[PIDS];
	size_t jit_room; /* in bytes */
	struct symbols_kernel *kernel;
	bool has_kernel; /* was tried */
	struct symbols_cache *cache;
	bool has_cache; /* was tried */
	struct symbols_server server;
	struct symbols_reader *reader;
	struct symbols_apart *apart; /* NULL: no file of another user yet */
	unsigned held;               /* descriptors of files */
};

/* Returns the number of frames of @address, from the module's files. All addresses up to *@until have the same. */
size_t symbols_ask(struct symbols *s, struct symbols_module *m, uint64_t address,
		   struct symbols_frame *frame, size_t room, uint64_t *until);
/* Writes new answers into the cache, for later recordings. */
void symbols_keep_answers(struct symbols *s);
struct cached_key symbols_key_of(const struct symbols_module *m);
