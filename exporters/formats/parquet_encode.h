/* parquet_encode.h - how Parquet writes numbers, levels and differences. */
#pragma once

#include "exporters/formats/proto.h"

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline void put_byte(struct proto *m, unsigned v)
{
	proto_room(m, 1);
	*m->p++ = (char)v;
}

static inline void put_varint(struct proto *m, uint64_t v)
{
	proto_room(m, PROTO_SCALAR_MAX);
	m->p = proto_put(m->p, v);
}

static inline void put_raw(struct proto *m, const void *data, size_t len)
{
	proto_room(m, len);
	if (m->failed || len == 0)
		return;
	memcpy(m->p, data, len);
	m->p += len;
}

static inline void put_fixed(struct proto *m, uint64_t v, unsigned bytes)
{
	proto_room(m, 8);
	for (unsigned i = 0; i < bytes; i++)
		*m->p++ = (char)(v >> 8 * i);
}

/* @cnt levels of 0 and 1 as RLE and bit-packed runs. */
void pq_encode_levels(struct proto *to, const unsigned char *levels, size_t cnt);
/* DELTA_BINARY_PACKED of @cnt (at least one) numbers. */
void pq_encode_deltas(struct proto *to, const int64_t *v, size_t cnt);
