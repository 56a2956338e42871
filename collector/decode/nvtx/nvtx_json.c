/*
 * nvtx_json.c - extended payloads as JSON: an object per payload, by its schema; a list where an event has several.
 *
 * Pointers out of the payload (strings and arrays by address) cannot be followed any more, and show their address. Every
 * length is checked against the bytes that there are: the program's schema is not trusted.
 */
#include "collector/decode/nvtx/nvtx_internal.h"

#include <stdio.h>
#include <string.h>

#include "collector/base/json.h"
#include "collector/model/strings.h"

#define DEPTH_MAX 8
#define JSON_MAX  (256u << 10)
#define STEPS_MAX 200000u

/* Flags of an entry. */
enum {
	ENTRY_POINTER = 1 << 1,
	ENTRY_FROM_BASE = 1 << 2,
	ENTRY_FROM_HERE = 1 << 3,
	ENTRY_ARRAY = 7 << 4,
	ENTRY_FIXED = 1 << 4,
	ENTRY_TERMINATED = 2 << 4,
	ENTRY_LENGTH = 3 << 4,
};
/* Types of an entry that need more than a size. */
enum {
	TYPE_CHAR = 1,
	TYPE_UCHAR = 2,
	TYPE_FLOAT = 19,
	TYPE_DOUBLE = 20,
	TYPE_LONGDOUBLE = 21,
	TYPE_ADDRESS = 23,
	TYPE_CHAR32 = 27,
	TYPE_BYTE = 32,
	TYPE_FLOAT32 = 43,
	TYPE_FLOAT64 = 44,
	TYPE_CSTRING = 75,
	TYPE_CSTRING_UTF8 = 76,
	TYPE_CSTRING_UTF16 = 77,
	TYPE_CSTRING_UTF32 = 78,
	TYPE_HANDLE = 80,
	TYPE_SELECTOR = 100,
	TYPE_REFERENCED = 1022,
	TYPE_RAW = 1023,
	SCHEMA_STATIC = 1,
	SCHEMA_DYNAMIC = 2,
};

struct payload {
	const struct arena *a;
	uint32_t domain;
	struct writer json;
	uint32_t steps; /* left: schemas may contain each other */
	bool failed;
};

static bool step(struct payload *w, uint32_t cnt)
{
	if (w->steps < cnt)
		w->failed = true;
	w->steps -= w->steps < cnt ? w->steps : cnt;
	return !w->failed && !w->json.failed;
}

/* Bytes, and whether it is signed: C's types on 64-bit machines. */
static const struct {
	uint8_t bytes, is_signed;
} BASIC[] = {
	[1] = {1, 1},  [2] = {1, 0},  [3] = {2, 1},   [4] = {2, 0},  [5] = {4, 1},  [6] = {4, 0},
	[7] = {8, 1},  [8] = {8, 0},  [9] = {8, 1},   [10] = {8, 0}, [11] = {1, 1}, [12] = {1, 0},
	[13] = {2, 1}, [14] = {2, 0}, [15] = {4, 1},  [16] = {4, 0}, [17] = {8, 1}, [18] = {8, 0},
	[19] = {4, 1}, [20] = {8, 1}, [21] = {16, 1}, [22] = {8, 0}, [23] = {8, 0}, [24] = {4, 1},
	[25] = {1, 0}, [26] = {2, 0}, [27] = {4, 0},  [32] = {1, 0}, [43] = {4, 1}, [44] = {8, 1},
	[68] = {4, 0}, [69] = {4, 0}, [70] = {8, 0},  [71] = {4, 0}, [72] = {8, 0}, [73] = {4, 0},
	[74] = {8, 0}, [80] = {8, 0}, [100] = {1, 0},
};

static bool failed(const struct payload *w)
{
	return w->failed || w->json.failed;
}

static void put_string(struct payload *w, const char *key, const char *s, size_t len)
{
	json_bytes(&w->json, key, s, strnlen(s, len));
}

static void put_address(struct payload *w, const char *key, uint64_t address)
{
	json_format(&w->json, key, "\"0x%llx\"", (unsigned long long)address);
}

static uint64_t take(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes < 8 ? bytes : 8);
	return v;
}

static void put_integer(struct payload *w, const char *key, uint64_t v, unsigned bytes,
			bool is_signed)
{
	unsigned shift = 64 - 8 * bytes;

	if (is_signed)
		json_int(&w->json, key, (int64_t)(v << shift) >> shift);
	else
		json_format(&w->json, key, "%llu", (unsigned long long)v);
}

/* An enumeration shows the name of its value; of flags, all that are set. */
static void put_enum(struct payload *w, const char *key, const struct nvtx_schema *s, uint64_t v)
{
	bool any = false;

	if (!step(w, 2 * s->values))
		return;
	for (uint32_t i = 0; i < s->values; i++)
		if (s->value[i].value == v && s->value[i].name) {
			json_text(&w->json, key, s->value[i].name);
			return;
		}
	for (uint32_t i = 0; i < s->values; i++)
		any |= s->value[i].is_flag && s->value[i].value &&
		       (v & s->value[i].value) == s->value[i].value;
	if (!any) {
		put_integer(w, key, v, 8, false);
		return;
	}
	json_open(&w->json, key, '[');
	for (uint32_t i = 0; i < s->values; i++)
		if (s->value[i].is_flag && s->value[i].value && s->value[i].name &&
		    (v & s->value[i].value) == s->value[i].value)
			json_text(&w->json, NULL, s->value[i].name);
	json_close(&w->json, ']');
}

/* ---- sizes ---- */

static size_t schema_bytes(struct payload *w, const struct nvtx_schema *s, int depth);

static bool is_basic(uint64_t type)
{
	return type < sizeof(BASIC) / sizeof(*BASIC) && BASIC[type].bytes;
}

static unsigned unit_of(uint64_t type)
{
	return type == TYPE_CSTRING_UTF16 ? 2 : type == TYPE_CSTRING_UTF32 ? 4 : 1;
}

/* Bytes of one element of @type; 0: not known. */
static size_t element_bytes(struct payload *w, uint64_t type, int depth)
{
	const struct nvtx_schema *s;

	if (is_basic(type))
		return BASIC[type].bytes;
	if (!step(w, 1))
		return 0;
	s = nvtx_schema_find(w->a->family.nvtx, w->domain, type);
	if (!s)
		s = nvtx_schema_find(w->a->family.nvtx, 0, type);
	return s && depth < DEPTH_MAX ? schema_bytes(w, s, depth + 1) : 0;
}

static size_t alignment(struct payload *w, uint64_t type, size_t limit, int depth)
{
	size_t a = 1;
	const struct nvtx_schema *s;

	if (is_basic(type)) {
		a = BASIC[type].bytes;
	} else if ((s = nvtx_schema_find(w->a->family.nvtx, w->domain, type)) && s->is_enum) {
		a = s->bytes;
	} else if (s && depth < DEPTH_MAX && step(w, s->entries)) {
		for (uint32_t i = 0; i < s->entries && !failed(w); i++) {
			size_t of = alignment(w, s->entry[i].type, limit, depth + 1);

			a = of > a ? of : a;
		}
	}
	a = limit && a > limit ? limit : a;
	return a && a <= 16 ? a : 1;
}

static bool is_pointer(const struct nvtx_entry *e)
{
	return e->flags & ENTRY_POINTER ||
	       (e->type >= TYPE_CSTRING && e->type <= TYPE_CSTRING_UTF32 &&
		!(e->flags & ENTRY_ARRAY) && !e->detail);
}

/* Bytes of @e at @at, of which there are @room; SIZE_MAX: unknown. */
static size_t entry_bytes(struct payload *w, const struct nvtx_entry *e, const unsigned char *at,
			  size_t room, uint64_t length, int depth)
{
	bool is_text = e->type >= TYPE_CSTRING && e->type <= TYPE_CSTRING_UTF32;
	size_t one = is_text ? unit_of(e->type) : element_bytes(w, e->type, depth), n;
	uint64_t cnt = 1;

	if (is_pointer(e))
		return 8;
	if (e->flags & (ENTRY_FROM_BASE | ENTRY_FROM_HERE))
		return one && one <= 8 ? one : SIZE_MAX;
	if (!one)
		return SIZE_MAX;
	switch (e->flags & ENTRY_ARRAY) {
	case 0:
		cnt = is_text ? e->detail : 1;
		break;
	case ENTRY_FIXED:
		cnt = e->detail;
		break;
	case ENTRY_LENGTH:
		cnt = length;
		break;
	case ENTRY_TERMINATED:
		for (n = 0; at && n + one <= room; n += one)
			if (one <= 8 && !take(at + n, (unsigned)one))
				return n + one;
		return SIZE_MAX;
	default:
		return SIZE_MAX;
	}
	return cnt > JSON_MAX / one ? SIZE_MAX : (size_t)cnt * one;
}

static size_t schema_bytes(struct payload *w, const struct nvtx_schema *s, int depth)
{
	size_t end = 0, widest = 1;

	if (s->bytes)
		return s->bytes <= JSON_MAX ? s->bytes : 0;
	if (s->is_enum || s->type != SCHEMA_STATIC || !step(w, s->entries))
		return 0;
	for (uint32_t i = 0; i < s->entries && !failed(w); i++) {
		size_t a = is_pointer(&s->entry[i])
				   ? 8
				   : alignment(w, s->entry[i].type, s->alignment, depth);
		size_t n = entry_bytes(w, &s->entry[i], NULL, 0, 0, depth);
		size_t at = s->entry[i].offset ? s->entry[i].offset : (end + a - 1) / a * a;

		if (n == SIZE_MAX || at > JSON_MAX)
			return 0;
		end = at + n > end ? at + n : end;
		widest = a > widest ? a : widest;
	}
	return (end + widest - 1) / widest * widest;
}

/* ---- values ---- */

static void put_schema(struct payload *w, const char *key, const struct nvtx_schema *s,
		       const unsigned char *at, size_t room, int depth);

static void put_one(struct payload *w, const char *key, uint64_t type, const unsigned char *at,
		    size_t bytes, int depth)
{
	const struct nvtx_schema *s;
	const char *text;
	double d;
	float f;

	if (!is_basic(type)) {
		s = nvtx_schema_find(w->a->family.nvtx, w->domain, type);
		if (!s)
			s = nvtx_schema_find(w->a->family.nvtx, 0, type);
		if (!s || depth >= DEPTH_MAX)
			w->failed = true;
		else if (s->is_enum)
			put_enum(w, key, s, take(at, (unsigned)(bytes < 8 ? bytes : 8)));
		else
			put_schema(w, key, s, at, bytes, depth + 1);
		return;
	}
	switch (type) {
	case TYPE_FLOAT:
	case TYPE_FLOAT32:
		memcpy(&f, at, 4);
		json_real(&w->json, key, (double)f);
		break;
	case TYPE_DOUBLE:
	case TYPE_FLOAT64:
		memcpy(&d, at, 8);
		json_real(&w->json, key, d);
		break;
	case TYPE_LONGDOUBLE: {
		long double l;

		memcpy(&l, at, sizeof(l));
		json_real(&w->json, key, (double)l);
		break;
	}
	case TYPE_ADDRESS:
		put_address(w, key, take(at, 8));
		break;
	case TYPE_HANDLE:
		text = string_find(w->a, nvtx_handle_string(w->a->family.nvtx, take(at, 8)));
		if (text)
			json_text(&w->json, key, text);
		else
			put_address(w, key, take(at, 8));
		break;
	default:
		put_integer(w, key, take(at, BASIC[type].bytes), BASIC[type].bytes,
			    BASIC[type].is_signed);
	}
}

/* UTF-16 and UTF-32 in bytes of UTF-8, as far as they are. */
static void put_wide(struct payload *w, const char *key, const unsigned char *at, size_t bytes,
		     unsigned unit)
{
	char text[4096];
	size_t n = 0;

	for (size_t i = 0; i + unit <= bytes && n + 4 < sizeof(text); i += unit) {
		uint32_t c = (uint32_t)take(at + i, unit);

		if (!c)
			break;
		if (unit == 2 && c >= 0xd800 && c < 0xdc00 && i + 4 <= bytes) {
			c = 0x10000 + ((c - 0xd800) << 10) +
			    ((uint32_t)take(at + i + 2, 2) - 0xdc00);
			i += 2;
		}
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = 0xfffd;
		if (c < 0x80) {
			text[n++] = (char)c;
			continue;
		}
		if (c >= 0x10000)
			text[n++] = (char)(0xf0 | c >> 18);
		if (c >= 0x800)
			text[n++] = (char)((c >= 0x10000 ? 0x80 : 0xe0) |
					   (c >> 12 & (c >= 0x10000 ? 0x3f : 0xf)));
		text[n++] =
			(char)((c >= 0x800 ? 0x80 : 0xc0) | (c >> 6 & (c >= 0x800 ? 0x3f : 0x1f)));
		text[n++] = (char)(0x80 | (c & 0x3f));
	}
	put_string(w, key, text, n);
}

static void put_entry(struct payload *w, const char *key, const struct nvtx_entry *e,
		      const unsigned char *at, size_t bytes, int depth)
{
	size_t one;

	if (is_pointer(e)) {
		put_address(w, key, take(at, 8));
		return;
	}
	if (e->type >= TYPE_CSTRING && e->type <= TYPE_CSTRING_UTF32) {
		if (unit_of(e->type) > 1)
			put_wide(w, key, at, bytes, unit_of(e->type));
		else
			put_string(w, key, (const char *)at, bytes);
		return;
	}
	one = element_bytes(w, e->type, depth);
	if (!one) {
		w->failed = true;
		return;
	}
	if (!(e->flags & ENTRY_ARRAY)) {
		put_one(w, key, e->type, at, one < bytes ? one : bytes, depth);
		return;
	}
	if (e->type == TYPE_CHAR || e->type == TYPE_UCHAR) {
		put_string(w, key, (const char *)at, bytes);
		return;
	}
	if ((e->flags & ENTRY_ARRAY) == ENTRY_TERMINATED)
		bytes -= one;
	json_open(&w->json, key, '[');
	for (size_t i = 0; i + one <= bytes && !failed(w); i += one)
		put_one(w, NULL, e->type, at + i, one, depth);
	json_close(&w->json, ']');
}

static void put_schema(struct payload *w, const char *key, const struct nvtx_schema *s,
		       const unsigned char *at, size_t room, int depth)
{
	uint64_t number[64] = {0}; /* values of the first entries: lengths of arrays that follow */
	size_t end = 0;

	if (s->type != SCHEMA_STATIC && s->type != SCHEMA_DYNAMIC) {
		w->failed = true;
		return;
	}
	json_open(&w->json, key, '{');
	for (uint32_t i = 0; i < s->entries && !failed(w); i++) {
		const struct nvtx_entry *e = &s->entry[i];
		size_t a = is_pointer(e) ? 8 : alignment(w, e->type, s->alignment, depth);
		size_t from = e->offset ? e->offset : (end + a - 1) / a * a, bytes;
		char nameless[16];

		if (from > room) {
			w->failed = true;
			return;
		}
		bytes = entry_bytes(
			w, e, at + from, room - from,
			e->detail < 64 && e->detail < i ? number[e->detail] : UINT64_MAX, depth);
		if (bytes == SIZE_MAX || bytes > room - from) {
			w->failed = true;
			return;
		}
		if (i < 64 && is_basic(e->type) && bytes && bytes <= 8)
			number[i] = take(at + from, (unsigned)bytes);
		snprintf(nameless, sizeof(nameless), "%u", i);
		put_entry(w, e->name && e->name[0] ? e->name : nameless, e, at + from, bytes,
			  depth);
		end = from + bytes;
	}
	json_close(&w->json, '}');
}

/* A payload has a schema, or a plain type. */
static void put_blob(struct payload *w, const struct nvtx_blob *b)
{
	struct nvtx_entry e = {.type = b->schema};

	if (b->len < b->said || b->schema == TYPE_RAW || b->schema == TYPE_REFERENCED) {
		w->failed = true;
	} else if (b->schema >= TYPE_CSTRING && b->schema <= TYPE_CSTRING_UTF32) {
		e.detail = b->len;
		put_entry(w, NULL, &e, b->at, b->len, 0);
	} else if (!is_basic(b->schema) || b->len >= BASIC[b->schema].bytes) {
		put_one(w, NULL, b->schema, b->at, b->len, 0);
	} else {
		w->failed = true;
	}
}

bool nvtx_json(const struct arena *a, uint32_t domain, const struct nvtx_blob *blob, unsigned cnt,
	       struct nvtx_text *out)
{
	struct payload w = {
		.a = a,
		.domain = domain,
		.json = {.data = out->at, .room = out->cap, .max = JSON_MAX},
		.steps = STEPS_MAX,
	};

	if (cnt > 1)
		json_open(&w.json, NULL, '[');
	for (unsigned i = 0; i < cnt && !failed(&w); i++)
		put_blob(&w, &blob[i]);
	if (cnt > 1)
		json_close(&w.json, ']');
	writer_add(&w.json, "", 1);
	out->at = w.json.data;
	out->cap = w.json.room;
	out->len = failed(&w) ? 0 : w.json.len - 1;
	return !failed(&w);
}
