/*
 * out.h - the bytes of an export on their way out: a buffer that is cheap to write into, then gzip, zstd or
 * nothing, then a file or stdout. Failure is kept: writers need not check, closing returns it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct out {
	char *p, *end; /* free room of the buffer */
	char *buf;
	size_t size;
	uint64_t bytes; /* written out, before compression */
	int fd;
	int err; /* errno of the first failure; later output is dropped */
	void *packer;
	int (*pack)(struct out *o, const char *data, size_t len, bool last);
};

enum out_packing {
	OUT_PLAIN,
	OUT_GZIP,
	OUT_ZSTD
};

/* By the end of the name: .gz, .zst. False after one sentence in @why where it is not built in. */
bool out_packing_of(const char *name, enum out_packing *packing, char *why, size_t why_len);

/* @fd is closed by out_close() unless it is stdout. 0, or -errno. */
int out_open(struct out *o, int fd, enum out_packing packing);
/* Writes the rest of the buffer. 0, or -errno of the first failure on the way. */
int out_close(struct out *o);

/* Makes room: afterwards end - p >= len. @len at most OUT_ROOM_MAX. */
void out_flush(struct out *o);
#define OUT_ROOM_MAX 65536

/* Room for @len bytes (at most OUT_ROOM_MAX), to be written from o->p on, which is then moved. */
static inline char *out_room(struct out *o, size_t len)
{
	if ((size_t)(o->end - o->p) < len)
		out_flush(o);
	return o->p;
}

void out_write_long(struct out *o, const void *data, size_t len);

static inline void out_write(struct out *o, const void *data, size_t len)
{
	if ((size_t)(o->end - o->p) < len) {
		out_write_long(o, data, len);
		return;
	}
	memcpy(o->p, data, len);
	o->p += len;
}

#define out_literal(o, text) out_write(o, text, sizeof(text) - 1)
static inline void out_text(struct out *o, const char *text)
{
	out_write(o, text, strlen(text));
}
