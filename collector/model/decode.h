/*
 * decode.h - one record (preload/wire/wire.h) taken apart.
 *
 * Shared memory may contain any bytes: nothing here trusts a length or a pointer, and every word is
 * read once (the other side may change it meanwhile). Pure functions, no state: the fuzzers run
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/frame.h"
#include "preload/wire/wire.h"

#define DECODE_NONE INT64_MIN /* this call has no such field; equals DB_NULL */

#define DECODE_LINES_MAX (1u << 24) /* bytes of a line table: more makes no sense */

/* A record, by shape. Fields that the shape lacks hold DECODE_NONE, 0 or NULL. */
struct call {
	uint64_t start, end; /* ticks; equal for a call that never returned */
	bool failed, returned;
	uint8_t shape, level, flags;
	uint16_t hook; /* enum sl_hook; enum sl_meta with SL_SHAPE_META */
	int64_t ret;   /* errno when failed */
	struct {
		int64_t fd;
		int64_t asked, offset;
		int64_t moved; /* bytes, where ret does not say it */
		uint32_t serial, new_serial;
	} io;
	int64_t arg;    /* LOCK: address of the object */
	uint32_t owner; /* LOCK: thread that had it, as its process sees it; 0 unknown */
	struct {
		uint32_t len;      /* of bytes */
		const char *bytes; /* in shared memory: copy before use */
		const uint64_t *payload;
		uint32_t words;
	} data;
};

/* Records that are no calls. */
struct meta {
	int64_t pid, ppid, image; /* IMAGE */
	int64_t fd;               /* FILE, SOCKET, LOCAL, CLOSE; DUP: the new one */
	uint32_t serial;          /* of fd */
	uint32_t old_serial;      /* DUP */
	uint64_t opened_by;       /* FILE, SOCKET: sl_opened_by(), or 0 */
	uint64_t last, cnt;       /* LOST, OVERHEAD: ticks of the last, how many */
	uint64_t kind; /* LOST: enum sl_loss; NOTE: enum sl_note; OVERHEAD: enum sl_overhead */
	uint32_t len;
	const char *bytes; /* in shared memory */
};

/* Descriptions of stacks: SL_META_CHAIN to CODE_LINES. Pointers into shared memory: copy before use. */
struct stack_meta {
	uint32_t id; /* CHAIN, STACK: of the stack; CODE, CODE_LINES: of the code */
	uint32_t cnt;
	const uint64_t *frames; /* STACK; in shared memory */
	uint64_t start, end, bias;
	uint32_t build_id_len; /* MODULE: the first of the bytes */
	uint32_t first_line, version, lines_len;
	uint32_t position; /* CODE_LINES */
	uint32_t len;
	const char *bytes; /* in shared memory */
};

/* Takes the record at @w, of which @words may be read. Its length in words; 0: this is no record. */
unsigned decode_record(const uint64_t *w, unsigned words, struct call *c);

/* The payload of a SL_SHAPE_META record; false when it is too short for its kind. */
bool decode_meta(const struct call *c, struct meta *m);

/* Takes apart a record of kind SL_META_FILE_TOTAL; false: it is malformed. */
bool decode_file_total(const struct call *c, struct sl_file_total *total);

/* The payload of a record about stacks; false: it is malformed. */
bool decode_stack_meta(const struct call *c, struct stack_meta *m);

/* Text of a struct sockaddr, "tcp:127.0.0.1:80" or "unix:/path" or the like; its length. */
unsigned decode_sockaddr(const char *addr, unsigned len, char *text, unsigned size);
