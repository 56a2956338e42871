/* parquet_file.c - pages, row groups and the metadata at the end, which is Thrift's compact protocol. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef SL_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef SL_HAVE_ZSTD
#include <zstd.h>
#endif

#include "exporters/formats/parquet_encode.h"
#include "exporters/formats/parquet_file.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

/* As the format numbers them. */
enum {
	TYPE_INT64 = 2,
	TYPE_DOUBLE = 5,
	TYPE_BYTE_ARRAY = 6
};
enum {
	ENC_PLAIN = 0,
	ENC_RLE = 3,
	ENC_DELTA = 5
};
enum {
	CODEC_NONE = 0,
	CODEC_GZIP = 2,
	CODEC_ZSTD = 6
};

#if defined(SL_HAVE_ZSTD)
#define CODEC CODEC_ZSTD
#elif defined(SL_HAVE_ZLIB)
#define CODEC CODEC_GZIP
#else
#define CODEC CODEC_NONE
#endif

/* ---- Thrift's compact protocol ---- */

enum {
	T_I32 = 5,
	T_I64 = 6,
	T_BINARY = 8,
	T_LIST = 9,
	T_STRUCT = 12
};

/* A field is written as the distance of its number from the one before; @last keeps that, a variable per struct. */
static void field(struct proto *m, int *last, int id, int type)
{
	put_byte(m, (unsigned)(id - *last) << 4 | (unsigned)type);
	*last = id;
}

static void field_int(struct proto *m, int *last, int id, int type, int64_t v)
{
	field(m, last, id, type);
	put_varint(m, zigzag(v));
}

static void put_binary(struct proto *m, const void *data, size_t len)
{
	put_varint(m, len);
	put_raw(m, data, len);
}

static void field_binary(struct proto *m, int *last, int id, const void *data, size_t len)
{
	field(m, last, id, T_BINARY);
	put_binary(m, data, len);
}

static void field_list(struct proto *m, int *last, int id, size_t cnt, int type)
{
	field(m, last, id, T_LIST);
	if (cnt < 15) {
		put_byte(m, (unsigned)cnt << 4 | (unsigned)type);
		return;
	}
	put_byte(m, 0xF0 | (unsigned)type);
	put_varint(m, cnt);
}

static void stop(struct proto *m)
{
	put_byte(m, 0);
}

/* ---- packing ---- */

static bool open_packer(struct pq_file *f)
{
#if defined(SL_HAVE_ZSTD)
	f->packer = ZSTD_createCCtx();
	return f->packer;
#elif defined(SL_HAVE_ZLIB)
	z_stream *z = calloc(1, sizeof(*z));

	/* 16: with gzip's header, as the format wants it. */
	if (z && deflateInit2(z, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(z);
		z = NULL;
	}
	f->packer = z;
	return z;
#else
	(void)f;
	return true;
#endif
}

static void close_packer(struct pq_file *f)
{
#if defined(SL_HAVE_ZSTD)
	ZSTD_freeCCtx(f->packer);
#elif defined(SL_HAVE_ZLIB)
	if (f->packer)
		deflateEnd(f->packer);
	free(f->packer);
#endif
	f->packer = NULL;
}

/* f->page into f->packed. */
static void pack(struct pq_file *f)
{
	size_t len = proto_len(&f->page);

	proto_reset(&f->packed);
#if defined(SL_HAVE_ZSTD)
	size_t room = ZSTD_compressBound(len);

	proto_room(&f->packed, room);
	size_t got = f->packed.failed
			     ? 0
			     : ZSTD_compressCCtx(f->packer, f->packed.p, room, f->page.buf, len, 1);

	if (ZSTD_isError(got))
		f->failed = true;
	else
		f->packed.p += got;
#elif defined(SL_HAVE_ZLIB)
	z_stream *z = f->packer;
	size_t room;

	/* First: after the end of a stream, zlib does not count gzip's header in the room that it asks for. */
	deflateReset(z);
	room = deflateBound(z, len);
	proto_room(&f->packed, room);
	if (f->packed.failed)
		return;
	z->next_in = (unsigned char *)f->page.buf;
	z->avail_in = (unsigned)len;
	z->next_out = (unsigned char *)f->packed.p;
	z->avail_out = (unsigned)room;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		f->failed = true;
	else
		f->packed.p += room - z->avail_out;
#else
	put_raw(&f->packed, f->page.buf, len);
#endif
}

/* ---- pages ---- */

static void put_page_head(struct pq_column *c, size_t len, size_t packed_len, int encoding)
{
	size_t start = proto_len(&c->pages);
	int last = 0, in = 0;

	field_int(&c->pages, &last, 1, T_I32, 0); /* a data page */
	field_int(&c->pages, &last, 2, T_I32, (int64_t)len);
	field_int(&c->pages, &last, 3, T_I32, (int64_t)packed_len);
	field(&c->pages, &last, 5, T_STRUCT);
	field_int(&c->pages, &in, 1, T_I32, c->rows);
	field_int(&c->pages, &in, 2, T_I32, encoding);
	field_int(&c->pages, &in, 3, T_I32, ENC_RLE);
	field_int(&c->pages, &in, 4, T_I32, ENC_RLE);
	stop(&c->pages);
	stop(&c->pages);
	c->raw += proto_len(&c->pages) - start + len;
	c->encodings |= 1U << encoding | 1U << ENC_RLE;
}

/* The values of the page after its levels. Returns their encoding. */
static int put_values(struct pq_file *f, const struct pq_column *c)
{
	size_t start = proto_len(&f->page), len = proto_len(&c->values);

	if (c->kind == PQ_INT && c->cnt > 0) {
		pq_encode_deltas(&f->page, (const int64_t *)(const void *)c->values.buf, c->cnt);
		if (proto_len(&f->page) - start < len)
			return ENC_DELTA;
		f->page.p = f->page.buf + start;
	}
	put_raw(&f->page, c->values.buf, len);
	return ENC_PLAIN;
}

static void end_page(struct pq_file *f, struct pq_column *c)
{
	int encoding;

	f->failed |= c->values.failed || c->levels.failed;
	if (c->rows == 0 || f->failed)
		return;
	proto_reset(&f->page);
	if (c->optional) {
		put_fixed(&f->page, 0, 4);
		pq_encode_levels(&f->page, (const unsigned char *)c->levels.buf, c->rows);
		for (unsigned i = 0; i < 4; i++)
			f->page.buf[i] = (char)((proto_len(&f->page) - 4) >> 8 * i);
	}
	encoding = put_values(f, c);
	pack(f);
	put_page_head(c, proto_len(&f->page), proto_len(&f->packed), encoding);
	put_raw(&c->pages, f->packed.buf, proto_len(&f->packed));
	c->chunk_rows += c->rows;
	c->nulls += c->rows - c->cnt;
	c->rows = c->cnt = 0;
	proto_reset(&c->values);
	proto_reset(&c->levels);
}

static void level(struct pq_column *c, bool there)
{
	c->rows++;
	c->cnt += there;
	if (c->optional)
		put_byte(&c->levels, there);
}

void pq_null(struct pq_column *c)
{
	level(c, false);
}

void pq_int(struct pq_column *c, int64_t v)
{
	level(c, true);
	proto_room(&c->values, sizeof(v));
	memcpy(c->values.p, &v, sizeof(v));
	c->values.p += sizeof(v);
	c->min.num = !c->any || v < c->min.num ? v : c->min.num;
	c->max.num = !c->any || v > c->max.num ? v : c->max.num;
	c->any = true;
}

void pq_real(struct pq_column *c, double v)
{
	level(c, true);
	proto_room(&c->values, sizeof(v));
	memcpy(c->values.p, &v, sizeof(v));
	c->values.p += sizeof(v);
	if (isnan(v))
		return;
	c->min.real = !c->any || v < c->min.real ? v : c->min.real;
	c->max.real = !c->any || v > c->max.real ? v : c->max.real;
	c->any = true;
}

void pq_bytes(struct pq_column *c, const void *data, size_t len)
{
	level(c, true);
	put_fixed(&c->values, len, 4);
	put_raw(&c->values, data, len);
}

/* ---- row groups ---- */

static void put_limits(struct proto *m, const struct pq_column *c)
{
	union pq_number min = c->min, max = c->max;
	int last = 0;

	field_int(m, &last, 3, T_I64, (int64_t)c->nulls);
	/* Readers compare 0.0 and -0.0 as different or not: the limits hold both. */
	if (c->kind == PQ_REAL && c->any) {
		min.real = min.real == 0 ? -0.0 : min.real;
		max.real = max.real == 0 ? 0.0 : max.real;
	}
	if (c->any) {
		field_binary(m, &last, 5, &max, sizeof(max));
		field_binary(m, &last, 6, &min, sizeof(min));
	}
	stop(m);
}

static int type_of(enum pq_kind kind)
{
	return kind == PQ_INT ? TYPE_INT64 : kind == PQ_REAL ? TYPE_DOUBLE : TYPE_BYTE_ARRAY;
}

static void put_chunk(struct proto *m, const struct pq_column *c, uint64_t at)
{
	int last = 0, in = 0;

	field_int(m, &last, 2, T_I64, (int64_t)at);
	field(m, &last, 3, T_STRUCT);
	field_int(m, &in, 1, T_I32, type_of(c->kind));
	field_list(m, &in, 2, (size_t)__builtin_popcount(c->encodings), T_I32);
	for (int i = 0; i < 32; i++)
		if (c->encodings >> i & 1)
			put_varint(m, zigzag(i));
	field_list(m, &in, 3, 1, T_BINARY);
	put_binary(m, c->name, strlen(c->name));
	field_int(m, &in, 4, T_I32, CODEC);
	field_int(m, &in, 5, T_I64, (int64_t)c->chunk_rows);
	field_int(m, &in, 6, T_I64, (int64_t)c->raw);
	field_int(m, &in, 7, T_I64, (int64_t)proto_len(&c->pages));
	field_int(m, &in, 9, T_I64, (int64_t)at);
	field(m, &in, 12, T_STRUCT);
	put_limits(m, c);
	stop(m);
	stop(m);
}

static void clear_chunk(struct pq_column *c)
{
	proto_reset(&c->pages);
	c->raw = c->chunk_rows = c->nulls = 0;
	c->encodings = 0;
	c->any = false;
}

static uint64_t place(const struct out *o)
{
	return o->bytes + (uint64_t)(o->p - o->buf);
}

static void end_group(struct pq_file *f)
{
	struct proto *m = &f->groups;
	uint64_t raw = 0, packed = 0;
	int last = 0;

	if (f->group_rows == 0)
		return;
	field_list(m, &last, 1, (size_t)f->col_cnt, T_STRUCT);
	for (int i = 0; i < f->col_cnt; i++) {
		struct pq_column *c = &f->cols[i];
		uint64_t at = place(f->out);

		end_page(f, c);
		f->failed |= c->pages.failed;
		out_write(f->out, c->pages.buf, proto_len(&c->pages));
		raw += c->raw;
		packed += proto_len(&c->pages);
		put_chunk(m, c, at);
		clear_chunk(c);
	}
	field_int(m, &last, 2, T_I64, (int64_t)raw);
	field_int(m, &last, 3, T_I64, (int64_t)f->group_rows);
	field_int(m, &last, 6, T_I64, (int64_t)packed);
	stop(m);
	f->group_cnt++;
	f->group_rows = f->group_bytes = 0;
}

void pq_row(struct pq_file *f)
{
	f->rows++;
	f->group_rows++;
	for (int i = 0; i < f->col_cnt; i++) {
		struct pq_column *c = &f->cols[i];
		size_t len = proto_len(&c->values);

		if (c->rows < PQ_PAGE_ROWS && len < PQ_PAGE_BYTES)
			continue;
		f->group_bytes += len;
		end_page(f, c);
	}
	if (f->group_rows >= PQ_GROUP_ROWS || f->group_bytes >= PQ_GROUP_BYTES)
		end_group(f);
}

/* ---- the file ---- */

bool pq_begin(struct pq_file *f, struct out *out, struct pq_column *cols, int col_cnt)
{
	bool good;

	*f = (struct pq_file){.out = out, .cols = cols, .col_cnt = col_cnt};
	good = proto_init(&f->groups) && proto_init(&f->page) && proto_init(&f->packed) &&
	       open_packer(f);
	for (int i = 0; i < col_cnt && good; i++) {
		struct pq_column *c = &cols[i];

		*c = (struct pq_column){.name = c->name, .kind = c->kind, .optional = c->optional};
		good = proto_init(&c->values) && proto_init(&c->levels) && proto_init(&c->pages);
	}
	out_write(out, magic, sizeof(magic));
	return good;
}

static void put_schema(struct proto *m, const struct pq_file *f)
{
	int last = 0;

	field_binary(m, &last, 4, "schema", 6);
	field_int(m, &last, 5, T_I32, f->col_cnt);
	stop(m);
	for (int i = 0; i < f->col_cnt; i++) {
		const struct pq_column *c = &f->cols[i];

		last = 0;
		field_int(m, &last, 1, T_I32, type_of(c->kind));
		field_int(m, &last, 3, T_I32, c->optional);
		field_binary(m, &last, 4, c->name, strlen(c->name));
		if (c->kind == PQ_TEXT) {
			int in = 0;

			field_int(m, &last, 6, T_I32, 0); /* UTF8, for old readers */
			field(m, &last, 10, T_STRUCT);
			field(m, &in, 1, T_STRUCT); /* STRING */
			stop(m);
			stop(m);
		}
		stop(m);
	}
}

static void put_notes(struct proto *m, int *last, const struct pq_note *notes)
{
	size_t cnt = 0;

	while (notes && notes[cnt].key)
		cnt++;
	if (cnt == 0)
		return;
	field_list(m, last, 5, cnt, T_STRUCT);
	for (size_t i = 0; i < cnt; i++) {
		int in = 0;

		field_binary(m, &in, 1, notes[i].key, strlen(notes[i].key));
		field_binary(m, &in, 2, notes[i].value, strlen(notes[i].value));
		stop(m);
	}
}

bool pq_finish(struct pq_file *f, const struct pq_note *notes)
{
	static const char by[] = "sightline";
	struct proto *m = &f->page;
	int last = 0;

	end_group(f);
	proto_reset(m);
	field_int(m, &last, 1, T_I32, 1);
	field_list(m, &last, 2, (size_t)f->col_cnt + 1, T_STRUCT);
	put_schema(m, f);
	field_int(m, &last, 3, T_I64, (int64_t)f->rows);
	field_list(m, &last, 4, f->group_cnt, T_STRUCT);
	put_raw(m, f->groups.buf, proto_len(&f->groups));
	put_notes(m, &last, notes);
	field_binary(m, &last, 6, by, sizeof(by) - 1);
	/* The order that the limits of each column follow: that of its type. */
	field_list(m, &last, 7, (size_t)f->col_cnt, T_STRUCT);
	for (int i = 0; i < f->col_cnt; i++) {
		int in = 0;

		field(m, &in, 1, T_STRUCT);
		stop(m);
		stop(m);
	}
	stop(m);
	put_fixed(m, proto_len(m), 4);
	put_raw(m, magic, sizeof(magic));
	if (f->failed || m->failed || f->groups.failed || f->packed.failed)
		return false;
	out_write(f->out, m->buf, proto_len(m));
	return true;
}

void pq_end(struct pq_file *f)
{
	for (int i = 0; i < f->col_cnt; i++) {
		proto_free(&f->cols[i].values);
		proto_free(&f->cols[i].levels);
		proto_free(&f->cols[i].pages);
	}
	proto_free(&f->groups);
	proto_free(&f->page);
	proto_free(&f->packed);
	if (f->packer)
		close_packer(f);
	f->col_cnt = 0;
}
