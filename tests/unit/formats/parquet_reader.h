/*
 * parquet_reader.h - reads flat Parquet files without the product's writer: the footer (Thrift's compact protocol), pages,
 * levels, PLAIN and DELTA_BINARY_PACKED values.
 */
#pragma once

#include "fmt_test.h"

#include <inttypes.h>
#include <zlib.h>
#include <zstd.h>

struct tr { /* what is left to read */
	const unsigned char *p, *end;
};

static inline unsigned tr_byte(struct tr *r)
{
	assert_true(r->p < r->end);
	return *r->p++;
}

static inline uint64_t tr_varint(struct tr *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned b = tr_byte(r);

		v |= (uint64_t)(b & 0x7F) << shift;
		if (b < 0x80)
			return v;
	}
}

static inline int64_t tr_zigzag(struct tr *r)
{
	uint64_t v = tr_varint(r);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* ---- Thrift as text: {1:5 2:"text" 4:[{...}, {...}]} ---- */

static inline void tr_put_value(FILE *f, struct tr *r, unsigned type);

static inline void tr_put_struct(FILE *f, struct tr *r)
{
	const char *space = "";
	int64_t id = 0;

	fputc('{', f);
	for (unsigned head; (head = tr_byte(r)) != 0; space = " ") {
		id = head >> 4 ? id + (head >> 4) : tr_zigzag(r);
		fprintf(f, "%s%" PRId64 ":", space, id);
		tr_put_value(f, r, head & 15);
	}
	fputc('}', f);
}

static inline void tr_put_list(FILE *f, struct tr *r)
{
	unsigned head = tr_byte(r);
	uint64_t cnt = head >> 4 == 15 ? tr_varint(r) : head >> 4;

	fputc('[', f);
	for (uint64_t i = 0; i < cnt; i++) {
		fputs(i ? ", " : "", f);
		tr_put_value(f, r, head & 15);
	}
	fputc(']', f);
}

static inline void tr_put_value(FILE *f, struct tr *r, unsigned type)
{
	uint64_t len;

	switch (type) {
	case 5:
	case 6:
		fprintf(f, "%" PRId64, tr_zigzag(r));
		return;
	case 8:
		len = tr_varint(r);
		assert_true((uint64_t)(r->end - r->p) >= len);
		fputc('"', f);
		for (; len > 0; len--, r->p++)
			fprintf(f, *r->p < ' ' || *r->p > 126 ? "\\%02x" : "%c", *r->p);
		fputc('"', f);
		return;
	case 9:
		tr_put_list(f, r);
		return;
	case 12:
		tr_put_struct(f, r);
		return;
	default:
		fail_msg("type %u", type);
	}
}

/* A struct as text, in a new buffer; @r is behind it then. */
static inline char *tr_text(struct tr *r)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	tr_put_struct(f, r);
	fclose(f);
	return text;
}

/* The footer of a file in memory; between its end and the metadata's nothing is left. Freed by the caller. */
static inline char *pqr_footer(const void *data, size_t size)
{
	const unsigned char *file = data, *tail = file + size - 8;
	uint32_t len = tail[0] | tail[1] << 8 | tail[2] << 16 | (uint32_t)tail[3] << 24;
	struct tr r = {tail - len, tail};
	char *text;

	assert_true(size >= 12 && len <= size - 12);
	assert_memory_equal(file, "PAR1", 4);
	assert_memory_equal(tail + 4, "PAR1", 4);
	text = tr_text(&r);
	assert_ptr_equal(r.p, tail);
	return text;
}

/* The number behind the @nth occurrence of @key in a text of Thrift. */
static inline int64_t tr_number(const char *text, const char *key, unsigned nth)
{
	const char *p = text;

	while ((p = strstr(p, key)) != NULL && nth-- > 0)
		p += strlen(key);
	if (!p)
		fail_msg("no %s in %s", key, text);
	return strtoll(p + strlen(key), NULL, 10);
}

/* ---- pages ---- */

static inline void pqr_unpack(const unsigned char *from, size_t len, int64_t codec, void *to,
			      size_t to_len)
{
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)from,
		      .avail_in = (unsigned)len,
		      .next_out = to,
		      .avail_out = (unsigned)to_len};

	if (codec == 6) {
		assert_int_equal(ZSTD_decompress(to, to_len, from, len), to_len);
	} else if (codec == 2) {
		assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.total_out, to_len);
		inflateEnd(&z);
	} else {
		assert_int_equal(codec, 0);
		memcpy(to, from, len);
	}
}

/* Which of @rows have a value. */
static inline void pqr_levels(struct tr *r, bool *there, size_t rows)
{
	uint32_t len = 0;
	struct tr l;

	for (int i = 0; i < 4; i++)
		len |= tr_byte(r) << 8 * i;
	l = (struct tr){r->p, r->p + len};
	r->p += len;
	for (size_t at = 0; at < rows;) {
		uint64_t head = tr_varint(&l);

		if (head & 1) {
			for (uint64_t i = 0; i < (head >> 1) * 8; i += 8) {
				unsigned bits = tr_byte(&l);

				for (unsigned k = 0; k < 8 && at < rows; k++)
					there[at++] = bits >> k & 1;
			}
		} else {
			bool level = tr_byte(&l);

			for (uint64_t i = 0; i < head >> 1; i++)
				there[at++] = level;
		}
	}
	assert_ptr_equal(l.p, l.end);
}

static inline void pqr_deltas(struct tr *r, int64_t *v, size_t cnt)
{
	uint64_t block = tr_varint(r), minis = tr_varint(r), all = tr_varint(r);
	uint64_t last = (uint64_t)tr_zigzag(r), per = block / minis;

	assert_int_equal(all, cnt);
	v[0] = (int64_t)last;
	for (size_t at = 1; at < cnt;) {
		uint64_t min = (uint64_t)tr_zigzag(r);
		const unsigned char *width = r->p;

		r->p += minis;
		for (uint64_t m = 0; m < minis; m++) {
			for (uint64_t i = 0; i < per && at < cnt; i++) {
				uint64_t rest = 0;

				for (unsigned b = 0; b < width[m]; b++) {
					uint64_t bit = i * width[m] + b;

					rest |= (uint64_t)(r->p[bit / 8] >> bit % 8 & 1) << b;
				}
				last += min + rest;
				v[at++] = (int64_t)last;
			}
			r->p += width[m] * per / 8;
		}
	}
}

struct pqr_column {
	int64_t type, at, rows, codec;
	int64_t raw, packed; /* bytes of its pages, with their heads */
	bool optional;
};

static inline void pqr_put_value(FILE *f, struct tr *r, const struct pqr_column *c)
{
	double real;
	uint32_t len = 0;

	if (c->type == 2) {
		int64_t v;

		memcpy(&v, r->p, 8);
		r->p += 8;
		fprintf(f, "%" PRId64, v);
	} else if (c->type == 5) {
		memcpy(&real, r->p, 8);
		r->p += 8;
		fprintf(f, "%.17g", real);
	} else {
		for (int i = 0; i < 4; i++)
			len |= tr_byte(r) << 8 * i;
		fputc('\'', f);
		for (; len > 0; len--, r->p++)
			fprintf(f, *r->p < ' ' || *r->p > 126 ? "\\%02x" : "%c", *r->p);
		fputc('\'', f);
	}
}

/* One page; returns how many rows it has, and takes its bytes off those of the column. */
static inline size_t pqr_put_page(FILE *f, struct tr *r, struct pqr_column *c)
{
	const unsigned char *begin = r->p;
	char *head = tr_text(r);
	size_t raw = (size_t)tr_number(head, " 2:", 0), packed = (size_t)tr_number(head, " 3:", 0);
	size_t rows = (size_t)tr_number(head, "{1:", 1), cnt = 0;
	int64_t encoding = tr_number(head, " 2:", 1), *v = calloc(rows, sizeof(*v));
	bool *there = malloc(rows);
	unsigned char *page = malloc(raw + 1);
	struct tr body = {page, page + raw};

	c->raw -= r->p - begin + (int64_t)raw;
	pqr_unpack(r->p, packed, c->codec, page, raw);
	r->p += packed;
	c->packed -= r->p - begin;
	memset(there, 1, rows);
	if (c->optional)
		pqr_levels(&body, there, rows);
	for (size_t i = 0; i < rows; i++)
		cnt += there[i];
	if (encoding == 5)
		pqr_deltas(&body, v, cnt);
	for (size_t i = 0, k = 0; i < rows; i++) {
		fputc(' ', f);
		if (!there[i])
			fputs("NULL", f);
		else if (encoding == 5)
			fprintf(f, "%" PRId64, v[k++]);
		else
			pqr_put_value(f, &body, c);
	}
	assert_ptr_equal(body.p, body.end);
	free(head);
	free(v);
	free(there);
	free(page);
	return rows;
}

/* All values of a column of the file's only row group. Where each column's pages are is in the footer. */
static inline const char *pqr_column(const void *data, struct pqr_column c)
{
	static char *text;
	const unsigned char *file = data;
	struct tr r = {file + c.at, file + fmt_len};
	size_t len;
	FILE *f;

	free(text);
	f = open_memstream(&text, &len);
	for (int64_t rows = 0; rows < c.rows;)
		rows += (int64_t)pqr_put_page(f, &r, &c);
	assert_int_equal(c.raw, 0);
	assert_int_equal(c.packed, 0);
	fclose(f);
	return text;
}
