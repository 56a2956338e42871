/*
 * nsysrep_make.h - writes files in the format of Nsight Systems' reports, field by field: for unit tests, the fuzzer's seeds and
 * tests/prog/nsysrep_make.c. The caller names the fields of an event.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SL_HAVE_LZ4
#include <lz4.h>
#endif

#include "exporters/formats/proto.h"

#define REP_VM     (1ull << 48)
#define REP_PID    (REP_VM | 77ull << 24)
#define REP_TID    (REP_PID | 77ull)
#define REP_BLOCKS 64

struct rep {
	const char *version;   /* behind the magic, with its dot: "2026@1@1@204-1v0." */
	const char *product;   /* of the UI data; NULL: none */
	const char *codec;     /* "lz4" */
	const char *text_mark; /* "QDTEXT00" */
	struct proto events, strings, target, options, clocks, names, gpus;
	uint64_t event_cnt, string_cnt, thread_cnt;
	size_t block_bytes; /* events are cut into blocks of about as many bytes; 0: one block */
	/* What is wrong with it: added to the header's counts, cut off at the end. */
	int64_t more_events, more_strings, more_threads;
	size_t cut;
	unsigned messages;     /* behind the known ones */
	const char *more_part; /* the name of a part more; NULL: none */
	uint64_t more_size;    /* of that part, beyond what it has */
	uint64_t more_plain;   /* bytes of a block that is unpacked, likewise */
};

static inline void rep_init(struct rep *r)
{
	*r = (struct rep){.version = "2026@1@1@204-261137176666v0.",
			  .product = "2026.1.1.204-261137176666v0",
			  .codec = "lz4",
			  .text_mark = "QDTEXT00"};
	proto_init(&r->events);
	proto_init(&r->strings);
	proto_init(&r->target);
	proto_init(&r->options);
	proto_init(&r->clocks);
	proto_init(&r->names);
	proto_init(&r->gpus);
}

static inline void rep_free(struct rep *r)
{
	proto_free(&r->events);
	proto_free(&r->strings);
	proto_free(&r->target);
	proto_free(&r->options);
	proto_free(&r->clocks);
	proto_free(&r->names);
	proto_free(&r->gpus);
}

/* A number behind no field. */
static inline void rep_length(struct proto *m, uint64_t value)
{
	proto_room(m, PROTO_SCALAR_MAX);
	m->p = proto_put(m->p, value);
}

static inline void rep_raw(struct proto *m, const void *data, size_t len)
{
	proto_room(m, len);
	memcpy(m->p, data, len);
	m->p += len;
}

/* A record: its length, field 1, the message of @len bytes. */
static inline void rep_record(struct proto *to, unsigned field, const void *data, size_t len)
{
	struct proto one;

	proto_init(&one);
	proto_bytes(&one, field, data, len);
	rep_length(to, proto_len(&one));
	rep_raw(to, one.buf, proto_len(&one));
	proto_free(&one);
}

static inline uint64_t rep_string(struct rep *r, const char *text)
{
	rep_record(&r->strings, 1, text, strlen(text));
	return r->string_cnt++;
}

/* An event of @type whose payload, field @number, is @payload. */
static inline void rep_event(struct rep *r, unsigned type, unsigned number, struct proto *payload)
{
	struct proto event;

	proto_init(&event);
	proto_uint(&event, 1, type);
	proto_bytes(&event, number, payload->buf, proto_len(payload));
	rep_record(&r->events, 1, event.buf, proto_len(&event));
	r->event_cnt++;
	proto_free(&event);
	proto_reset(payload);
}

/* Fields of a message: number, value, number, value, ..., 0. */
static inline void rep_fields(struct proto *m, const uint64_t *pairs)
{
	for (; pairs[0]; pairs += 2)
		proto_uint(m, (unsigned)pairs[0], pairs[1]);
}
#define REP_FIELDS(m, ...) rep_fields(m, (const uint64_t[]){__VA_ARGS__, 0})

static inline void rep_stream(struct rep *r, uint64_t pid, uint64_t name, uint64_t contents)
{
	struct proto m;

	proto_init(&m);
	REP_FIELDS(&m, 1, pid, 2, name, 3, contents);
	rep_record(&r->strings, 2, m.buf, proto_len(&m));
	proto_free(&m);
}

static inline void rep_thread(struct rep *r, uint64_t name, uint64_t tid)
{
	size_t at = proto_open(&r->names, 1);

	REP_FIELDS(&r->names, 2, name, 3, 20, 4, tid);
	proto_close(&r->names, at);
	r->thread_cnt++;
}

/* ---- the file ---- */

/* LZ4, or, without its library, an LZ4 block of literals alone. */
static inline void rep_block(struct proto *to, const char *data, size_t len, uint64_t more)
{
	size_t room = len + len / 255 + 64, packed = 0;
	char *out = malloc(room);

#ifdef SL_HAVE_LZ4
	packed = (size_t)LZ4_compress_default(data, out, (int)len, (int)room);
#else
	size_t left = len;

	out[packed++] = (char)(len < 15 ? len << 4 : 0xf0);
	for (left = len < 15 ? 0 : len - 15; len >= 15; left -= 255) {
		out[packed++] = (char)(left < 255 ? left : 255);
		if (left < 255)
			break;
	}
	memcpy(out + packed, data, len);
	packed += len;
#endif
	rep_length(to, packed);
	rep_length(to, len + more);
	rep_raw(to, out, packed);
	free(out);
}

/* Records of @from, cut behind whole ones. */
static inline void rep_blocks(struct proto *to, const struct proto *from, size_t block,
			      uint64_t more)
{
	const char *at = from->buf, *end = from->buf + proto_len(from), *begin = at;

	while (at < end) {
		uint64_t len = 0;
		unsigned shift = 0;

		do {
			len |= (uint64_t)(*at & 0x7f) << shift;
			shift += 7;
		} while (*at++ & 0x80);
		at += len;
		at = at < end ? at : end;
		if (at == end || (block && (size_t)(at - begin) >= block)) {
			rep_block(to, begin, (size_t)(at - begin), more);
			begin = at;
		}
	}
}

static inline void rep_header(const struct rep *r, struct proto *m)
{
	proto_uint(m, 1, r->event_cnt + (uint64_t)r->more_events);
	proto_uint(m, 3, r->string_cnt + (uint64_t)r->more_strings);
	proto_uint(m, 5, r->thread_cnt + (uint64_t)r->more_threads);
	proto_bytes(m, 9, r->codec, strlen(r->codec));
}

static inline void rep_part(struct proto *file, struct proto *directory, const char *name,
			    const char *data, size_t len, uint64_t more)
{
	size_t at = proto_open(directory, 1);

	proto_bytes(directory, 1, name, strlen(name));
	proto_uint(directory, 2, proto_len(file));
	proto_uint(directory, 3, len + more);
	proto_close(directory, at);
	rep_raw(file, data, len);
}

/* All of it into @file, which is empty. */
static inline void rep_make(const struct rep *r, struct proto *file)
{
	struct proto contents, directory, m;
	uint64_t at;
	char tail[8];

	proto_init(&contents);
	proto_init(&directory);
	proto_init(&m);
	rep_raw(file, "NVIDIA Tegra Profiler Report ", 29);
	rep_raw(file, r->version, strlen(r->version));
	rep_part(file, &directory, "Analysis Options Data", r->options.buf, proto_len(&r->options),
		 0);
	rep_raw(&contents, r->text_mark, strlen(r->text_mark));
	rep_length(&contents, proto_len(&r->target));
	rep_raw(&contents, r->target.buf, proto_len(&r->target));
	rep_header(r, &m);
	rep_length(&contents, proto_len(&m));
	rep_raw(&contents, m.buf, proto_len(&m));
	rep_blocks(&contents, &r->events, r->block_bytes, r->more_plain);
	rep_blocks(&contents, &r->strings, r->block_bytes, r->more_plain);
	rep_length(&contents, proto_len(&r->names));
	rep_raw(&contents, r->names.buf, proto_len(&r->names));
	rep_length(&contents, proto_len(&r->gpus));
	rep_raw(&contents, r->gpus.buf, proto_len(&r->gpus));
	for (unsigned i = 0; i < r->messages; i++)
		rep_length(&contents, 0);
	rep_part(file, &directory, "Raw Sampling Data", contents.buf, proto_len(&contents), 0);
	if (r->more_part)
		rep_part(file, &directory, r->more_part, "?", 1, r->more_size);
	if (proto_len(&r->clocks))
		rep_part(file, &directory, "Time Conversion Data", r->clocks.buf,
			 proto_len(&r->clocks), 0);
	proto_reset(&m);
	if (r->product)
		proto_bytes(&m, 6, r->product, strlen(r->product));
	rep_part(file, &directory, "UI Data", m.buf, proto_len(&m), 0);
	at = proto_len(file);
	rep_raw(file, directory.buf, proto_len(&directory));
	for (int i = 0; i < 8; i++)
		tail[i] = (char)(at >> 8 * i);
	rep_raw(file, tail, 8);
	rep_raw(file, "U3w[END]", 8);
	if (r->cut)
		file->p -= r->cut < proto_len(file) ? r->cut : proto_len(file);
	proto_free(&contents);
	proto_free(&directory);
	proto_free(&m);
}

static inline bool rep_write(const struct rep *r, const char *path)
{
	struct proto file;
	FILE *f = fopen(path, "w");
	bool ok;

	proto_init(&file);
	rep_make(r, &file);
	ok = f && fwrite(file.buf, 1, proto_len(&file), f) == proto_len(&file);
	ok = f && fclose(f) == 0 && ok;
	proto_free(&file);
	return ok;
}

/* ---- one event of each kind ---- */

/* A call: class, name, times; and, if any, fields behind them. */
static inline void rep_call(struct rep *r, uint64_t class, uint64_t name, uint64_t start,
			    uint64_t end, uint64_t correlation)
{
	struct proto m;

	proto_init(&m);
	REP_FIELDS(&m, 1, start, 2, end, 3, correlation, 6, class, 7, name, 8, 0, 13, REP_TID);
	rep_event(r, 48, 108, &m);
	proto_free(&m);
}

/* Work of a GPU: @part is the number of its part, whose fields follow. */
static inline void rep_work(struct rep *r, unsigned type, unsigned part, uint64_t start,
			    uint64_t end, uint64_t correlation, const uint64_t *fields)
{
	struct proto m;
	size_t at;

	proto_init(&m);
	REP_FIELDS(&m, 1, start, 2, end, 3, correlation, 4, 0, 5, 1, 6, 7, 7, 3, 8, REP_PID);
	at = proto_open(&m, part);
	rep_fields(&m, fields);
	proto_close(&m, at);
	rep_event(r, type, 107, &m);
	proto_free(&m);
}
#define REP_WORK(r, type, part, start, end, id, ...) \
	rep_work(r, type, part, start, end, id, (const uint64_t[]){__VA_ARGS__, 0})

/* A frame, field @field of @m. */
static inline void rep_frame(struct proto *m, unsigned field, uint64_t symbol, uint64_t module,
			     uint64_t address)
{
	size_t at = proto_open(m, field);

	REP_FIELDS(m, 1, symbol, 2, module, 4, 0, 5, 0, 6, 0, 8, address, 9, 7);
	proto_close(m, at);
}

/* What each report has: names, a thread, the session's times. */
static inline void rep_basics(struct rep *r)
{
	size_t at;

	rep_string(r, "");
	rep_string(r, "main");
	rep_string(r, "open");
	rep_string(r, "kernel<int>(int)");
	rep_string(r, "kernel");
	rep_thread(r, 1, REP_TID);
	at = proto_open(&r->target, 1);
	proto_bytes(&r->target, 1, "Local (CLI)", 11);
	proto_uint(&r->target, 3, REP_VM);
	proto_close(&r->target, at);
	proto_uint(&r->target, 17, 1000000000);
	proto_uint(&r->target, 18, 3000000000);
}
