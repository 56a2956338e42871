/*
 * proto.h - writes protobuf messages, field by field, into a buffer that grows.
 *
 * Only the field types that a trace of Perfetto needs. Lengths of nested messages are put in when they are known: one byte is
 * kept free, and in the rare case that the message is longer, it is moved. Own code because this is the hot path of the
 * exporter: for a slice with six arguments (100 bytes) it takes 30 to 40 ns; structures that are filled, sized and packed
 * (protobuf-c) take 280 to 300, descriptors walked field by field (nanopb) 1300.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct proto {
	char *p, *end; /* free room */
	char *buf;
	bool failed; /* no memory: the contents are lost */
};

bool proto_init(struct proto *m); /* false: no memory */
void proto_free(struct proto *m);
/* Makes room for @len bytes after p. */
void proto_grow(struct proto *m, size_t len);

static inline void proto_reset(struct proto *m)
{
	m->p = m->buf;
}

static inline size_t proto_len(const struct proto *m)
{
	return (size_t)(m->p - m->buf);
}

#define PROTO_SCALAR_MAX 16 /* tag and value of a number */

static inline void proto_room(struct proto *m, size_t len)
{
	if (__builtin_expect((size_t)(m->end - m->p) < len, 0))
		proto_grow(m, len);
}

/* Without looking for room. */
static inline char *proto_put(char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (char)v;
	return p;
}

enum {
	PROTO_VARINT = 0,
	PROTO_64 = 1,
	PROTO_LEN = 2
};
#define PROTO_TAG(field, type) ((uint64_t)(field) << 3 | (type))

/* Also of signed numbers that are not sint: as 64 bits. */
static inline void proto_uint(struct proto *m, unsigned field, uint64_t v)
{
	proto_room(m, PROTO_SCALAR_MAX);
	m->p = proto_put(proto_put(m->p, PROTO_TAG(field, PROTO_VARINT)), v);
}

static inline void proto_fixed64(struct proto *m, unsigned field, uint64_t v)
{
	proto_room(m, PROTO_SCALAR_MAX);
	m->p = proto_put(m->p, PROTO_TAG(field, PROTO_64));
	for (int i = 0; i < 8; i++)
		*m->p++ = (char)(v >> 8 * i);
}

static inline void proto_double(struct proto *m, unsigned field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	proto_fixed64(m, field, bits);
}

static inline void proto_bytes(struct proto *m, unsigned field, const void *data, size_t len)
{
	proto_room(m, PROTO_SCALAR_MAX + len);
	m->p = proto_put(proto_put(m->p, PROTO_TAG(field, PROTO_LEN)), len);
	if (m->failed)
		return;
	memcpy(m->p, data, len);
	m->p += len;
}

/* Begins a nested message: fields written until proto_close() belong to it. Returns the argument of proto_close(). */
static inline size_t proto_open(struct proto *m, unsigned field)
{
	proto_room(m, PROTO_SCALAR_MAX);
	m->p = proto_put(m->p, PROTO_TAG(field, PROTO_LEN)) + 1;
	return proto_len(m);
}

void proto_close_long(struct proto *m, size_t start);

static inline void proto_close(struct proto *m, size_t start)
{
	size_t len = proto_len(m) - start;

	if (__builtin_expect(len < 0x80, 1))
		m->buf[start - 1] = (char)len;
	else
		proto_close_long(m, start);
}

/* The field as text that is valid UTF-8: other bytes are written as \xNN. */
void proto_text(struct proto *m, unsigned field, const char *text, size_t len);
