/*
 * wire.h - messages in protobuf's wire format, field by field. Input of strangers: nothing outside of the message is read, and
 * a message that breaks off sets @bad.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire {
	const uint8_t *p, *end;
	bool bad;
};

struct wire_field {
	uint32_t number;
	bool is_bytes;       /* @data and @len, else @value */
	uint64_t value;      /* fixed-width values are in here as they are */
	const uint8_t *data; /* not NULL, also of no bytes */
	size_t len;
};

static inline struct wire wire_of(const uint8_t *data, size_t len)
{
	return (struct wire){.p = data, .end = data + len};
}

static inline struct wire wire_in(const struct wire_field *f)
{
	return wire_of(f->data, f->is_bytes ? f->len : 0);
}

/* Up to ten bytes; more, or the end of the input within, set @bad. */
static inline uint64_t wire_varint(struct wire *w)
{
	uint64_t value = 0;

	if (w->p < w->end && *w->p < 0x80)
		return *w->p++;
	for (unsigned shift = 0; shift < 64 && w->p < w->end; shift += 7) {
		uint8_t byte = *w->p++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	w->bad = true;
	w->p = w->end;
	return 0;
}

static inline bool wire_fixed(struct wire *w, struct wire_field *f, size_t size)
{
	if ((size_t)(w->end - w->p) < size)
		return false;
	f->value = 0;
	memcpy(&f->value, w->p, size);
	w->p += size;
	return true;
}

/* The next field; false: there is none, or @bad. */
static inline bool wire_next(struct wire *w, struct wire_field *f)
{
	uint64_t key, len;
	bool is_whole = true;

	if (w->p >= w->end)
		return false;
	key = wire_varint(w);
	f->number = (uint32_t)(key >> 3);
	f->is_bytes = (key & 7) == 2;
	f->data = w->p;
	f->len = 0;
	f->value = 0;
	switch (key & 7) {
	case 0:
		f->value = wire_varint(w);
		break;
	case 1:
		is_whole = wire_fixed(w, f, 8);
		break;
	case 2:
		len = wire_varint(w);
		is_whole = len <= (uint64_t)(w->end - w->p);
		if (is_whole) {
			f->data = w->p;
			f->len = (size_t)len;
			w->p += len;
		}
		break;
	case 5:
		is_whole = wire_fixed(w, f, 4);
		break;
	default:
		is_whole = false;
	}
	if (!is_whole || w->bad || f->number == 0 || key >> 32) {
		w->bad = true;
		w->p = w->end;
		return false;
	}
	return true;
}

/* The field @number of a message, the last one where it has several; @f is all zeros where it has none. */
static inline bool wire_find(struct wire w, uint32_t number, struct wire_field *f)
{
	struct wire_field each;
	bool has = false;

	*f = (struct wire_field){.data = w.p};
	while (wire_next(&w, &each))
		if (each.number == number) {
			*f = each;
			has = true;
		}
	return has;
}
