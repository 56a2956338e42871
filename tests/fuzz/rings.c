/*
 * rings.c - records. "decode" takes them apart alone; "rings" is a traced program that may write anything to its arena: threads
 * and processes, records of all shapes, positions, and the collector that drains, settles, commits, dies and goes on.
 */
#include "tests/fuzz/fuzz.h"

#include "collector/report/db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct db *test_open(bool resume);

/* What ring_test.h has of cmocka. */
#define assert_true(x)           \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)
#define assert_int_equal(a, b)     assert_true((a) == (b))
#define assert_ptr_not_equal(a, b) assert_true((a) != (b))
#define assert_non_null(a)         assert_true((a) != NULL)

#include "tests/unit/collect/ring_test.h"

#include "collector/collect/positions.h"
#include "collector/collect/record_families.h"
#include "collector/model/decode.h"
#include "preload/wire/gpu.h"
#include "preload/wire/nvtx_wire.h"

/* ---- decode ---- */

static volatile unsigned kept; /* what is read must be there */

static void run_decode(const uint8_t *data, size_t len)
{
	unsigned words = (unsigned)(len / 8), sum = 0, taken;
	uint64_t *w = malloc(words * 8 + 1);
	char text[300];

	memcpy(w, data, words * 8);
	for (unsigned at = 0; at < words; at += taken) {
		struct sl_file_total total;
		struct stack_meta stack;
		struct meta m;
		struct call c;

		taken = decode_record(w + at, words - at, &c);
		if (!taken)
			break;
		for (unsigned i = 0; i < c.data.len; i++)
			sum += (unsigned char)c.data.bytes[i];
		for (unsigned i = 0; i < c.data.words; i++)
			sum += (unsigned)c.data.payload[i];
		if (c.shape == SL_SHAPE_META)
			decode_file_total(&c, &total);
		if (c.shape == SL_SHAPE_META && decode_meta(&c, &m))
			for (unsigned i = 0; i < m.len; i++)
				sum += (unsigned char)m.bytes[i];
		if (c.shape == SL_SHAPE_META && decode_stack_meta(&c, &stack)) {
			for (unsigned i = 0; i < stack.len; i++)
				sum += (unsigned char)stack.bytes[i];
			for (unsigned i = 0; stack.frames && i < stack.cnt; i++)
				sum += (unsigned)stack.frames[i];
		}
		if (c.data.bytes)
			decode_sockaddr(c.data.bytes, c.data.len, text, sizeof(text));
	}
	free(w);
	kept = sum;
}

static size_t seed_decode(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	size_t words = 0;

	if (i >= SL_SHAPE_CNT)
		return 0;
	for (unsigned hook = 0; hook < 24; hook++) {
		uint64_t w[12] = {1000 + hook,
				  50 | (uint64_t)sl_head(hook, 12, 0, i, hook % 8) << 32,
				  3,
				  sl_fd_serial(3, 1),
				  40,
				  5,
				  7};

		memcpy(to + words * 8, w, sizeof(w));
		words += 12;
	}
	return words * 8;
}

const struct fuzz_target fuzz_decode = {"decode", run_decode, seed_decode, NULL};

/* ---- rings ---- */

static struct db *test_open(bool resume)
{
	static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
	char path[96], why[256] = "";
	struct db_open how = {.path = path,
			      .resume = resume,
			      .is_scratch = true,
			      .utc_epoch_ns = 1,
			      .system_clock_ns = 1};
	struct db *db;

	for (unsigned i = 0; i < 4 && !resume; i++) {
		snprintf(path, sizeof(path), "%s/report.sqlite%s", fuzz_dir(), ends[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/report.sqlite", fuzz_dir());
	db = db_open(&how, why, sizeof(why));
	if (!db) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
	return db;
}

struct input {
	const uint8_t *at, *end;
};

static uint64_t take(struct input *in, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(in->end - in->at) < bytes)
		bytes = (unsigned)(in->end - in->at);
	memcpy(&v, in->at, bytes);
	in->at += bytes;
	return v;
}

/* After a byte with its kind: most are small, or times, or texts. */
static uint64_t take_word(struct input *in, uint64_t now)
{
	unsigned kind = (unsigned)take(in, 1);

	switch (kind % 8) {
	case 0:
		return take(in, 8);
	case 1:
		return now - take(in, 4);
	case 2:
		return take(in, 2);
	case 3:
		return take(in, 2) << 32 | take(in, 2);
	case 4:
		return UINT64_MAX >> kind / 8 * 2;
	case 5:
		return 0x6f732e64006d6f66u ^ take(in, 2);
	default:
		return kind / 8;
	}
}

static void put_record(struct ring *r, uint32_t slot, struct input *in)
{
	static const uint8_t shapes[] = {SL_SHAPE_NVTX, SL_SHAPE_GPU, SL_SHAPE_API, SL_SHAPE_META};
	unsigned kind = (unsigned)take(in, 1), hook = (unsigned)take(in, 1),
		 how = (unsigned)take(in, 2);
	unsigned shape = kind < 128 ? shapes[kind % 4] : kind % 16, words = 3 + (how & 0xff) % 40;
	struct sl_chunk *c;
	uint64_t *w, now = sl_mono_ns();

	if (shape == SL_SHAPE_API || kind & 64)
		hook |= (how >> 12 & 7) << 8;
	if (how >> 8 == 0xff)
		words = 1000;
	w = ring_room(r, slot, words, &c);
	w[0] = take_word(in, now);
	w[1] = (take_word(in, now) & UINT32_MAX) |
	       (uint64_t)sl_head(hook, words, how >> 8 & 3, shape, how >> 10 & 7) << 32;
	for (unsigned i = 2; i < words; i++)
		w[i] = in->at < in->end ? take_word(in, now) : 0;
	c->committed += words * 8;
}

static void put_image(struct ring *r, uint32_t slot, bool is_fork)
{
	static const char words[] = "/bin/prog\0prog\0argument";
	unsigned len = sizeof(words) - 1, n = 5 + (len + 7) / 8;
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, n, &c);

	w[0] = sl_mono_ns();
	w[1] = (uint64_t)sl_head(SL_META_IMAGE, n, 0, SL_SHAPE_META, 0) << 32;
	w[2] = (uint32_t)getpid() | (uint64_t)getppid() << 32;
	w[3] = is_fork;
	w[4] = len;
	memcpy(w + 5, words, len);
	c->committed += n * 8;
}

/* The collector may have taken the slot's chunks back. */
static bool has_chunks(const struct ring *r, uint32_t slot)
{
	const struct sl_slot *s = &r->arena->slot[slot];

	return s->first_chunk && s->first_chunk <= r->arena->fresh_chunk;
}

/* What was poked there is no place to write a record to. */
static bool is_sound(struct ring *r, uint32_t slot)
{
	const struct sl_chunk *c = has_chunks(r, slot) ? ring_last(r, slot) : NULL;

	return c && c->committed % 8 == 0 && c->committed / 8 <= RING_WORDS;
}

/* What no shim writes. */
static void poke(struct ring *r, uint32_t slot, struct input *in)
{
	struct sl_slot *s = &r->arena->slot[slot];
	struct sl_chunk *c = ring_last(r, slot);
	unsigned what = (unsigned)take(in, 1);
	uint64_t v = take_word(in, sl_mono_ns());

	switch (what % 13) {
	case 0:
		c->committed = (uint32_t)v;
		break;
	case 1:
		c->consumed = (uint32_t)v;
		break;
	case 2:
		c->seq = (uint32_t)v;
		break;
	case 3:
		s->agg_chunk = (uint32_t)v % 12;
		break;
	case 4:
		s->state = (uint32_t)v % 4;
		break;
	case 5:
		s->instance = (uint32_t)v;
		break;
	case 6:
		s->lost_cnt = v;
		s->lost_first = take_word(in, sl_mono_ns());
		break;
	case 7:
		r->arena->unslotted_cnt = v;
		break;
	case 8:
		r->arena->gil_domain = (uint32_t)v;
		break;
	case 9:
		memcpy(s->comm, &v, sizeof(v));
		break;
	case 11:
		s->file_chunk = (uint16_t)(v % 12);
		s->flags = (uint16_t)(v >> 16);
		break;
	case 10:
		if (s->agg_chunk && s->agg_chunk <= SL_CHUNK_CNT)
			sl_chunk_at(r->arena, s->agg_chunk)->data[(v >> 8) % 64] = v;
		break;
	default:
		s->born = v;
	}
}

/* What a report from elsewhere may hold of its collector's state, when it is recovered. */
static void spoil_state(struct input *in)
{
	static const char *const queries[] = {
		"SELECT rowid, value FROM SL_STATE ORDER BY key",
		"UPDATE SL_STATE SET value = ? WHERE rowid = ?",
		"SELECT rowid, blob FROM SL_PENDING_GPU ORDER BY rowid",
		"UPDATE SL_PENDING_GPU SET blob = ? WHERE rowid = ?",
	};
	sqlite3 *db = NULL;
	char path[96];

	snprintf(path, sizeof(path), "%s/report.sqlite", fuzz_dir());
	if (sqlite3_open(path, &db) != SQLITE_OK)
		abort();
	for (unsigned q = 0; q < 4; q += 2) {
		sqlite3_stmt *rows = NULL, *set = NULL;

		sqlite3_prepare_v2(db, queries[q], -1, &rows, NULL);
		sqlite3_prepare_v2(db, queries[q + 1], -1, &set, NULL);
		while (rows && set && in->at < in->end && sqlite3_step(rows) == SQLITE_ROW) {
			size_t len = (size_t)sqlite3_column_bytes(rows, 1);
			uint8_t *copy = malloc(len + 8);
			uint64_t v = take_word(in, 0);

			if (len)
				memcpy(copy, sqlite3_column_blob(rows, 1), len);
			memcpy(copy + (len ? take(in, 1) * 4 % len : 0), &v, 8);
			if (v % 16 == 0)
				len = len ? v / 16 % len : 0;
			sqlite3_bind_blob(set, 1, copy, (int)len, SQLITE_TRANSIENT);
			sqlite3_bind_int64(set, 2, sqlite3_column_int64(rows, 0));
			sqlite3_step(set);
			sqlite3_reset(set);
			free(copy);
		}
		sqlite3_finalize(rows);
		sqlite3_finalize(set);
	}
	sqlite3_close(db);
}

static void commit(struct side *s)
{
	if (positions_save(&s->arenas) == 0 && db_commit(s->db, 1) == 0) {
		families_committed(s->arenas.first);
		positions_release(&s->arenas);
	}
}

static void run_rings(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};
	uint32_t slots[4], cnt = 1, restarts = 0;
	struct ring r = ring_new();
	struct spool spool;
	struct side s;

	spool_init(&spool);
	slots[0] = ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid());
	side_open(&s, false);
	s.arenas.spool = len % 4 ? &spool : NULL;
	side_attach(&s, &r, false);
	put_image(&r, slots[0], false);
	while (in.at < in.end && s.arenas.first && r.arena->fresh_chunk < 200) {
		unsigned op = (unsigned)take(&in, 1);
		uint32_t slot = slots[op / 16 % cnt];

		switch (op % 16) {
		case 11:
			if (cnt < 4) {
				r.arena->process_cnt = 3;
				slots[cnt] = ring_thread(&r, 1 + (uint32_t)take(&in, 1) % 3,
							 (uint32_t)getpid() + op / 64,
							 (uint32_t)gettid() + cnt);
				r.arena->slot[slots[cnt]].parent_process =
					(uint32_t)take(&in, 1) % 3;
				put_image(&r, slots[cnt++], true);
			}
			break;
		case 12:
			if (has_chunks(&r, slot))
				poke(&r, slot, &in);
			break;
		case 13:
			if (op & 32)
				move_chunks(&s.arenas);
			else
				side_drain(&s);
			families_settle(&s.arenas, s.arenas.first, op & 16);
			break;
		case 14:
			side_drain(&s);
			commit(&s);
			break;
		case 15:
			commit(&s);
			if (op & 16 && restarts++ < 2) {
				side_die(&s);
				if (op & 32)
					spoil_state(&in);
				side_open(&s, true);
				s.arenas.spool = len % 4 ? &spool : NULL;
				side_attach(&s, &r, true);
			} else {
				drain_reap(&s.arenas, true);
				drain_totals(&s.arenas, op & 32);
			}
			break;
		default:
			if (is_sound(&r, slot))
				put_record(&r, slot, &in);
		}
	}
	side_drain(&s);
	drain_reap(&s.arenas, true);
	drain_totals(&s.arenas, true);
	if (s.arenas.first)
		families_settle(&s.arenas, s.arenas.first, true);
	commit(&s);
	side_die(&s);
	spool_release(&spool);
	munmap(r.arena, SL_ARENA_BYTES);
	close(r.fd);
}

static size_t seed_rings(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	size_t len = 0;

	if (i >= 8)
		return 0;
	for (unsigned n = 0; n < 24; n++) {
		to[len++] = (uint8_t)(n == 8 ? 11 : n == 16 ? 13 : (n % 4) * 16);
		to[len++] = (uint8_t)(i < 4 ? i : 128 + i * 3 + n % 4);
		to[len++] = (uint8_t)n;
		to[len++] = (uint8_t)(n + 8);
		to[len++] = (uint8_t)(n % 8 == 7 ? 0x10 : 0);
		for (unsigned k = 0; k < 12; k++) {
			to[len++] = (uint8_t)(k == 0 ? 1 : 2 + k % 4);
			to[len++] = (uint8_t)(n * 7 + k);
			to[len++] = (uint8_t)(k == 0);
			if (k == 0 || k % 4 == 1) {
				to[len++] = 0;
				to[len++] = 0;
			}
		}
	}
	to[len++] = 14;
	to[len++] = i % 2 ? 63 : 31;
	for (unsigned n = 0; n < 16 && i % 2; n++)
		to[len++] = (uint8_t)(n * 37 + i);
	return len;
}

const struct fuzz_target fuzz_rings = {"rings", run_rings, seed_rings, NULL};

/* ---- notes: the state of a killed collector, whatever a report holds under its keys ---- */

static const char *const note_keys[] = {"position",    "arena.1", "files.1", "strings.1",
					"strings.1.0", "gpu",     "gpu.1",   "gpu.1.streams",
					"session",     "windows"};
#define NOTE_KEYS (sizeof(note_keys) / sizeof(*note_keys))

/* For each: a byte for its key, two for its length, its bytes. */
static void put_notes(struct db *db, struct input *in)
{
	while (in->at < in->end) {
		const char *key = note_keys[take(in, 1) % NOTE_KEYS];
		size_t len = take(in, 2), left = (size_t)(in->end - in->at);

		len = len < left ? len : left;
		if (db_state_set(db, key, in->at, len))
			abort();
		in->at += len;
	}
}

static void run_notes(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};
	struct saved_setup setup;
	struct ring r = ring_new();
	struct side s;
	int64_t length;

	put_image(&r, ring_thread(&r, 1, (uint32_t)getpid(), (uint32_t)gettid()), false);
	side_open(&s, false);
	side_attach(&s, &r, false);
	side_drain(&s);
	commit(&s);
	side_die(&s);
	side_open(&s, true);
	put_notes(s.db, &in);
	state_setup(s.db, &setup);
	state_is_recorded(s.db, &length);
	state_counters(&s.arenas);
	state_missing(&s.arenas);
	side_attach(&s, &r, true);
	side_drain(&s);
	drain_reap(&s.arenas, true);
	drain_totals(&s.arenas, true);
	if (s.arenas.first)
		families_settle(&s.arenas, s.arenas.first, true);
	commit(&s);
	side_die(&s);
	munmap(r.arena, SL_ARENA_BYTES);
	close(r.fd);
}

static size_t put_note(uint8_t *to, unsigned key, const void *note, size_t len)
{
	to[0] = (uint8_t)key;
	to[1] = (uint8_t)len;
	to[2] = (uint8_t)(len >> 8);
	memcpy(to + 3, note, len);
	return 3 + len;
}

static size_t seed_notes(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	struct {
		struct saved_arena head;
		struct saved_image image;
		struct saved_thread thread;
	} arena = {.head = {.id = 1, .images = 1, .threads = 1},
		   .image = {.number = 1, .pid = 1, .ns_pid = 1}};
	struct {
		struct saved_file file;
		char name[8];
	} file = {{.number = 1, .serial = 3, .id = 1, .len = 8}, "/a/file"};
	const struct {
		uint32_t id, len;
		char text[8];
	} page = {1, 8, "a text"};
	const struct saved_session position = {.last_id = 1, .ticks = 1, .ns = 1};
	const struct saved_setup session = {.version = SAVED_VERSION};
	const uint32_t pages = 1;
	size_t len = 0;

	if (i > 1)
		return 0;
	len += put_note(to + len, 0, &position, sizeof(position));
	len += put_note(to + len, 1, &arena, sizeof(arena));
	len += put_note(to + len, 2, &file, sizeof(file));
	len += put_note(to + len, 3, &pages, sizeof(pages));
	len += put_note(to + len, 4, &page, sizeof(page));
	if (i == 1)
		len += put_note(to + len, 8, &session, sizeof(session));
	return len;
}

const struct fuzz_target fuzz_notes = {"notes", run_notes, seed_notes, NULL};
