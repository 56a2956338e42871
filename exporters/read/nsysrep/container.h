/*
 * container.h - the parts of a report file: directory, header, blocks of packed records.
 *
 * The file: a line with the container's version; parts; the directory of parts; its offset, 8 bytes; "U3w[END]". The part "Raw
 * Sampling Data": "QDTEXT00", the message about the target, the header with counts, blocks (two lengths and LZ4), messages
 * behind them. A block holds records: events, then strings, each behind its length.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/read/nsysrep/wire.h"

#define NR_WHY      1024
#define NR_PARTS    32
#define NR_MESSAGE  ((uint64_t)64 << 20) /* bytes of one message outside of blocks */
#define NR_BLOCK    INT32_MAX            /* bytes of a block: more, LZ4 does not pack into one */
#define NR_CONTENTS "Raw Sampling Data"

struct nr_part {
	char name[64];
	uint64_t at, size;
};

struct nr_bytes {
	uint8_t *data;
	size_t len;
};

/* Room that only grows: in memory, or, from nr_mapped_from bytes on, in a file that has no name. */
struct nr_room {
	uint8_t *data;
	size_t size;
	bool is_mapped;
};
extern uint64_t nr_mapped_from;

struct nr_file {
	const char *path;
	int fd;
	uint64_t size;
	char container[96]; /* the version in its first line */
	char product
		[64]; /* version of the nsys that wrote it, "2024.5.1.113-245134619542v0"; "": not known */
	unsigned release; /* 202405; 0: not known */
	struct nr_part part[NR_PARTS];
	unsigned part_cnt;
};

/* Opens and checks it. 0, or -1 after one sentence in @why, of NR_WHY bytes: what it is instead. */
int nr_open(struct nr_file *f, const char *path, char *why);
void nr_close(struct nr_file *f);
/* Whether it begins as such a file: nothing else is checked. */
bool nr_is_report(int fd);
/* By its first bytes: "packed by gzip", ...; NULL: not known. */
const char *nr_kind(int fd);
/* The sentence on a file that is none. */
void nr_say_foreign(int fd, const char *path, char *why);
const struct nr_part *nr_find_part(const struct nr_file *f, const char *name);
/* All of it, malloc'd; -1 with @why: too much, or not to be read. */
int nr_read(const struct nr_file *f, uint64_t at, uint64_t size, struct nr_bytes *to, char *why);

struct nr_header {
	uint64_t events, strings, threads;
};

/* The part NR_CONTENTS, read from its beginning to its end. */
struct nr_contents {
	const struct nr_file *file;
	uint64_t at, end; /* in the file: next byte to be read, end of the part */
	struct nr_bytes target, header_bytes;
	struct nr_header header;
	struct nr_room packed, block;
};

int nr_contents_begin(struct nr_contents *c, const struct nr_file *f, char *why);
/* Unpacks the next block: its length, or -1 with @why. Valid until the next call. */
int64_t nr_contents_block(struct nr_contents *c, char *why);
/* Whether messages, a few, and no blocks follow up to the end of the part. */
bool nr_contents_is_tail(const struct nr_contents *c);
/* The next message behind the blocks: 1, 0 at the end, -1 with @why. */
int nr_contents_message(struct nr_contents *c, struct nr_bytes *to, char *why);
void nr_contents_end(struct nr_contents *c);
