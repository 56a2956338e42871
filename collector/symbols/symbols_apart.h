/*
 * symbols_apart.h - files of other users, read by a process that has their owner's rights, none of this process's descriptors or
 * memory, and limits on time and memory (symbols_serve.c). Used by symbols.c alone.
 */
#pragma once

#include "collector/symbols/symbols_internal.h"

struct symbols_apart;

/* A file as one of those processes knows it. */
struct symbols_apart_file {
	uid_t owner;
	uint32_t number;
	uint64_t life;  /* of the process */
	uint32_t state; /* SYMBOLS_HAS_... */
};

enum symbols_apart_result {
	SYMBOLS_APART_DONE,
	SYMBOLS_APART_ANEW, /* the process that knew the file has ended since: it is to be opened again */
	SYMBOLS_APART_LOST, /* counted: nothing more is asked about this file */
};

struct symbols_apart *symbols_apart_new(void); /* NULL: no memory */
void symbols_apart_free(struct symbols_apart *a);

/*
 * @fd: a descriptor of the file; -1, or a file that is not the owner's: the process looks for it at @path itself. It stays open
 * here. @f->owner is set.
 */
enum symbols_apart_result symbols_apart_open(struct symbols_apart *a, struct symbols *s,
					     struct symbols_apart_file *f, const char *path, int fd,
					     const uint8_t *id, size_t id_len);
/* As symbols_at(); *cnt: how many. */
enum symbols_apart_result symbols_apart_ask(struct symbols_apart *a, struct symbols *s,
					    const struct symbols_apart_file *f, const char *path,
					    uint64_t address, struct symbols_frame *frame,
					    size_t room, size_t *cnt);

/* As symbols_lost(). */
bool symbols_apart_lost(const struct symbols_apart *a, unsigned i, struct symbols_lost *lost);

/* Limits, for tests. In ms: an answer's processor time; its time; all time of an owner's processes that came to nothing. */
extern int symbols_apart_cpu_ms, symbols_apart_wait_ms, symbols_apart_vain_ms;
