/*
 * spool.h - chunks that were copied out of the rings, in the order of each thread, until they have become rows.
 *
 * A ring's chunk goes back to its pool as soon as it has been copied, so a program's rings stay small and in the caches
 * however long rows take. Copies are in segments: memfds first, of which the keeper has descriptors, too, then files in the
 * report's folder of rings. Both survive the collector's death; recover links them again by arena, slot and position.
 *
 * References to spooled chunks follow those of an arena's own: SL_CHUNK_CNT + 1 + index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/arena.h"

#define SPOOL_VERSION        1u
#define SPOOL_SEGMENT_CHUNKS 128u /* 4 MiB */
#define SPOOL_SEGMENT_BYTES  (SPOOL_SEGMENT_CHUNKS * SL_CHUNK_BYTES)
#define SPOOL_IN_MEMORY      16u /* segments: 64 MiB */
#define SPOOL_SEGMENTS       128u
#define SPOOL_SUFFIX         ".spool" /* N.spool */
#define SPOOL_NAME_BYTES     256u

/* Words of sl_chunk.reserved in a copy. */
enum {
	SPOOL_ARENA,    /* its id; 0: the chunk is free; stored last (release) */
	SPOOL_INSTANCE, /* of the slot */
	SPOOL_WORD_VERSION,
	SPOOL_SUM_LOW, /* of data[] */
	SPOOL_SUM_HIGH,
};

struct spool_segment {
	struct sl_chunk *map; /* NULL: there is none */
	int fd;
	bool is_file;
	uint32_t used; /* chunks */
	uint64_t taken[SPOOL_SEGMENT_CHUNKS / 64];
};

struct spool {
	struct spool_segment segment[SPOOL_SEGMENTS];
	uint32_t used; /* chunks, of all segments */
	uint32_t
		in_memory; /* segments that may be in memory, at most SPOOL_IN_MEMORY; the others of those are left out */
	int folder; /* of the files, while there are some; -1: none */
	int beside; /* it is in there, by the name; -1: not the spool's to remove */
	char name[SPOOL_NAME_BYTES];
	uint64_t no_file_before; /* ns, CLOCK_MONOTONIC: the disk was full */
	bool has_old;            /* chunks of a collector that died */
	uint32_t damaged;        /* of these, how many make no sense */
	/* A segment was made (@fd), or is gone (-1). */
	void (*on_segment)(void *ctx, uint32_t index, int fd);
	/* Before the first file: makes folder, and fills beside and name. */
	void (*open_folder)(void *ctx, struct spool *s);
	void *ctx;
};

void spool_init(struct spool *s);
void spool_release(struct spool *s); /* files are removed */

static inline bool spool_is_ref(sl_ref ref)
{
	return ref > SL_CHUNK_CNT;
}

/* @ref: one that spool_take() returned. */
static inline struct sl_chunk *spool_at(const struct spool *s, sl_ref ref)
{
	uint32_t i = ref - SL_CHUNK_CNT - 1;

	return s->segment[i / SPOOL_SEGMENT_CHUNKS].map + i % SPOOL_SEGMENT_CHUNKS;
}

/* A free chunk; 0: there is no room. */
sl_ref spool_take(struct spool *s);
void spool_give(struct spool *s, sl_ref ref);
/* Copies of an arena: frees them; how many there are. */
void spool_drop(struct spool *s, uint32_t arena);
uint32_t spool_count(struct spool *s, uint32_t arena);

/* Marks a filled copy as that of a thread; from here on recover finds it. */
void spool_publish(struct spool *s, sl_ref ref, uint32_t arena, uint32_t instance);

/* Bytes that wait; and the waiting part of the limit, in per cent. */
uint64_t spool_bytes(const struct spool *s);
unsigned spool_fill(const struct spool *s);

/* Takes over a segment of a collector that died; @fd is the spool's afterwards. False: it makes no sense, and is closed. */
bool spool_adopt(struct spool *s, uint32_t index, int fd);
/* Adopted copies of a use of a slot, in their order, linked. The first and *last one; 0: there are none. */
sl_ref spool_link(struct spool *s, uint32_t arena, uint32_t slot, uint32_t instance, sl_ref *last);
