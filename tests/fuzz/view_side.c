/*
 * view_side.c - an index beside a report, of which anything may have been changed and given good checksums: the whole file, its
 * directory, and any of its extents - blocks, nodes, totals.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/view/server/route.h"
#include "exporters/view/answers/answer.h"
#include "exporters/view/index/totals.h"

/* clang-format off */
#define NAMES  40
#define BLOCKS (VIEW_TOTALS_BLOCKS + 12) /* a stretch with totals, and some behind it */
#define EVENTS (2 * BLOCKS)              /* two in each: so a look at all of them is short */
/* clang-format on */
#define VALUES 300

static struct view_report report = {.lock = PTHREAD_MUTEX_INITIALIZER,
				    .why_lock = PTHREAD_MUTEX_INITIALIZER};
static struct view_server server = {.reports = &report, .report_cnt = 1};
static char path[128];
static int64_t last;

/* ---- an index with all kinds of extents ---- */

/* What an extent had in it: it is put back after each run. */
struct extent {
	view_ref ref;
	uint32_t lane, level, used;
	uint8_t *data;
};
#define EXTENTS 256
static struct extent extents[EXTENTS];
static unsigned extent_cnt;

static struct view_lane *lane_of(struct view_store *v, enum view_kind kind, const char *key)
{
	struct view_row *row = view_row_add(v, kind, 0, key, key, strlen(key));
	struct view_lane *lane = row ? view_lane_add(v, row) : NULL;

	if (!lane)
		abort();
	return lane;
}

static void fill(struct view_store *v)
{
	struct view_lane *calls = lane_of(v, VIEW_OSRT, "calls"),
			 *curve = lane_of(v, VIEW_COUNTER, "curve");
	char name[32];

	view_source_of(v, "OSRT_API");
	for (unsigned i = 1; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		view_name_of(v, &(struct tl_text){0, name, strlen(name)});
	}
	for (unsigned i = 0; i < EVENTS; i++) {
		struct view_event e = {.start = last, .end = last + 1 + i * 7 % 1000};

		e.name = i * i % NAMES;
		e.row = (int64_t)i + 1;
		last = e.end + i % 5;
		if (view_lane_put(v, calls, &e) < 0 || (i % 2 && view_lanes_publish(v, false) < 0))
			abort();
	}
	for (unsigned i = 0; i < VALUES; i++)
		if (view_lane_value(v, curve, i * (last / VALUES), false, i % 90, 0) < 0)
			abort();
	v->events = EVENTS + VALUES;
	v->last = v->indexed = last;
	v->state = VIEW_READY;
}

static void add_extent(struct view_reader *r, view_ref ref, uint32_t level)
{
	struct view_page *page;

	for (unsigned i = 0; i < extent_cnt; i++)
		if (extents[i].ref == ref)
			return;
	page = view_page_get(r->v->side, ref, VIEW_EXTENT_HEAD, r->lane->id, level);
	if (!page || extent_cnt == EXTENTS)
		abort();
	extents[extent_cnt] = (struct extent){.ref = ref,
					      .lane = r->lane->id,
					      .level = level,
					      .used = page->used,
					      .data = malloc(page->used)};
	memcpy(extents[extent_cnt++].data, page->data, page->used);
	view_page_put(r->v->side, page);
}

static void find_extents(struct view_store *v, uint32_t lane)
{
	struct view_reader r;
	const struct view_seen *seen = &v->lanes[lane - 1]->seen;

	if (!view_reader_begin(&r, v, lane))
		abort();
	for (uint32_t level = 0; level < VIEW_LEVELS; level++) {
		for (uint32_t i = 0; i < seen->cnt[level]; i++) {
			const struct view_node *n = view_reader_node(&r, level, i);

			if (level == 0)
				add_extent(&r, n->where >> 16, VIEW_LEVEL_BLOCKS);
			if (level == VIEW_TOTALS_LEVEL && n->where)
				add_extent(&r, n->where >> 16, VIEW_LEVEL_TOTALS);
		}
		for (uint32_t i = 0; i < seen->refs[level].cnt; i++)
			add_extent(&r, seen->refs[level].ref[i], level);
	}
	view_reader_end(&r);
}

static void init(void)
{
	struct view_store *v;
	bool is_kept = false;
	unsigned totals = 0;

	if (report.store)
		return;
	snprintf(path, sizeof(path), "%s/index.sqlite", fuzz_dir());
	v = report.store = view_store_new(path);
	v->side = view_side_create(path, &is_kept);
	if (!v->side)
		abort();
	fill(v);
	if (view_lanes_publish(v, true) < 0)
		abort();
	for (uint32_t lane = 1; lane <= v->lane_cnt; lane++)
		find_extents(v, lane);
	for (unsigned i = 0; i < extent_cnt; i++)
		totals += extents[i].level == VIEW_LEVEL_TOTALS;
	if (totals == 0)
		abort();
}

/* ---- questions ---- */

static char *ask(const char *of, const char *query, const void *body, size_t len, int *status)
{
	struct view_request q = {.server = &server,
				 .is_post = body != NULL,
				 .path = of,
				 .query = query,
				 .body = body,
				 .len = len};
	struct view_reply a;
	char *text;

	view_route(&q, &a);
	*status = a.status;
	if (a.status != 200 && a.status != 404 && a.status != 503)
		abort();
	if (strcmp(a.type, "application/json") == 0 &&
	    (a.body.len < 2 || a.body.data[0] != '{' || a.body.data[a.body.len - 1] != '}'))
		abort();
	text = strndup(a.body.data, a.body.len);
	writer_free(&a.body);
	return text;
}

/* Totals by name of everything: of what is summed up in the file where there is such, or event by event. */
static char *totals_of(bool summed)
{
	char body[96];
	int status, len = snprintf(body, sizeof(body), "{\"from\":-1,\"to\":%lld,\"lanes\":[1,2]}",
				   (long long)last + 1);

	view_exact_most = summed ? 0 : UINT64_MAX;
	return ask("/v1/select", NULL, body, (size_t)len, &status);
}

static void ask_tiles(const char *of)
{
	uint8_t body[2 * 4 * 16] = {0};
	int status;

	for (unsigned i = 0; i < 8; i++) {
		body[16 * i] = (uint8_t)(1 + i % 2);
		body[16 * i + 4] = (uint8_t)(i / 2 * 7);
	}
	free(ask(of, NULL, body, sizeof(body), &status));
}

static void ask_all(uint32_t level)
{
	int status;

	free(totals_of(true));
	/* Where totals are refused, that was it already. */
	if (level != VIEW_LEVEL_TOTALS && level != VIEW_TOTALS_LEVEL)
		free(totals_of(false));
	ask_tiles("/v1/tiles");
	ask_tiles("/v1/counters");
	free(ask("/v1/search", "q=name%203&t=100&dir=1", NULL, 0, &status));
}

/* ---- an extent: its number, then what is in it instead ---- */

static void put_extent(struct view_side *s, const struct extent *x, const uint8_t *data,
		       uint32_t used)
{
	static uint8_t room[65536];

	memset(room, 0, sizeof(room));
	memcpy(room + VIEW_EXTENT_HEAD, data, used - VIEW_EXTENT_HEAD);
	if (view_side_write(s, x->ref, room, used, x->lane, x->level) < 0)
		abort();
	view_side_forget(s, x->ref, false);
}

static void run_extent(const uint8_t *data, size_t len)
{
	static char *whole;
	static unsigned cnt;
	struct view_store *v = report.store;
	const struct extent *x;
	size_t most;

	if (len < 1)
		return;
	if (!whole)
		whole = totals_of(true);
	x = &extents[data[0] % extent_cnt];
	most = view_class_bytes[VIEW_REF_CLASS(x->ref)] - VIEW_EXTENT_HEAD;
	len = len - 1 < most ? len - 1 : most;
	put_extent(v->side, x, data + 1, VIEW_EXTENT_HEAD + (uint32_t)len);
	ask_all(x->level);
	put_extent(v->side, x, x->data + VIEW_EXTENT_HEAD, x->used);
	if (cnt++ % 256 == 0) {
		char *again = totals_of(true);

		/* Nothing of it is left in the cache. */
		if (strcmp(again, whole) != 0)
			abort();
		free(again);
	}
}

static size_t seed_extent(unsigned i, uint8_t *to)
{
	init();
	if (i >= extent_cnt)
		return 0;
	to[0] = (uint8_t)i;
	memcpy(to + 1, extents[i].data + VIEW_EXTENT_HEAD, extents[i].used - VIEW_EXTENT_HEAD);
	return 1 + extents[i].used - VIEW_EXTENT_HEAD;
}

const struct fuzz_target fuzz_view_extent = {"view_extent", run_extent, seed_extent, init};

/* ---- a directory that names extents, blocks in them ---- */

static void run_side(const uint8_t *data, size_t len)
{
	struct view_store *v = view_store_new("/nowhere/report");
	struct view_event events[VIEW_BLOCK];
	struct view_rect rects[VIEW_TILE_MAX];
	uint8_t *block = calloc(1, len + 16);

	memcpy(block, data, len);
	view_unpack(block, len, events, true);
	if (view_directory_read(v, data, len) == 0) {
		/* Its extents are those of the index, or nothing. */
		v->side = report.store->side;
		for (uint32_t lane = 1; lane <= v->lane_cnt && lane < 20; lane++) {
			struct view_reader r;

			if (!view_reader_begin(&r, v, lane))
				continue;
			for (uint32_t k = 0; k < 20; k += 3)
				view_tile(&r, k, 0, rects);
			for (uint32_t i = 0; i < r.lane->seen.cnt[VIEW_TOTALS_LEVEL] && i < 4; i++)
				view_reader_totals(&r, i, NULL, NULL);
			view_reader_end(&r);
		}
		v->side = NULL;
	}
	free(block);
	view_store_free(v);
}

static size_t seed_side(unsigned i, uint8_t *to)
{
	size_t len;
	uint8_t *dir;

	if (i > 0)
		return 0;
	init();
	dir = view_directory_write(report.store, &len);
	if (!dir || len > FUZZ_SEED_MAX)
		abort();
	memcpy(to, dir, len);
	free(dir);
	return len;
}

const struct fuzz_target fuzz_view_side = {"view_side", run_side, seed_side, init};

/* ---- the file: its checksums are made good where there is room for them ---- */

#define CRC_AT     12 /* in what the file begins with; then the identity */
#define ID_AT      16
#define DIR_AT     (ID_AT + sizeof(struct view_identity))
#define DIR_CRC_AT (DIR_AT + 24)
#define SUPER      (DIR_AT + 32)

static const struct view_identity identity = {.size = 4711, .rows = 5};

static void mend(uint8_t *file, size_t len)
{
	uint64_t dir_at, dir_len;
	uint32_t crc = 0;

	if (len < SUPER)
		return;
	memcpy(file + ID_AT, &identity, sizeof(identity));
	memcpy(&dir_at, file + DIR_AT, sizeof(dir_at));
	memcpy(&dir_len, file + DIR_AT + 8, sizeof(dir_len));
	/* What is behind the directory changes where it is cut off. */
	memcpy(file + DIR_AT + 16, &(uint64_t){len}, 8);
	if (dir_at <= len && dir_len <= len - dir_at) {
		uint32_t sum = view_crc(0, file + dir_at, dir_len);

		memcpy(file + DIR_CRC_AT, &sum, sizeof(sum));
	}
	memset(file + CRC_AT, 0, sizeof(crc));
	crc = view_crc(0, file, SUPER);
	memcpy(file + CRC_AT, &crc, sizeof(crc));
}

static void run_file(const uint8_t *data, size_t len)
{
	struct view_store *v = view_store_new(path), *was = report.store;
	uint8_t *file = malloc(len + 1), *dir = NULL;
	char name[160];
	size_t dir_len;

	memcpy(file, data, len);
	if (len % 8)
		mend(file, len);
	snprintf(name, sizeof(name), "%s.view", path);
	fuzz_file(name, file, len);
	v->side = view_side_open(path, &identity, &dir, &dir_len);
	if (v->side && view_directory_read(v, dir, dir_len) == 0) {
		report.store = v;
		ask_all(VIEW_LEVEL_BLOCKS);
		report.store = was;
	}
	free(dir);
	free(file);
	view_store_free(v);
	unlink(name);
}

/* A small one: that of a lane with a few blocks. */
static size_t seed_file(unsigned i, uint8_t *to)
{
	struct view_store *v;
	struct view_lane *lane;
	bool is_kept = true;
	char name[160];
	size_t len;
	uint8_t *dir;
	FILE *f;

	if (i > 0)
		return 0;
	init();
	v = view_store_new(path);
	v->side = view_side_create(path, &is_kept);
	view_source_of(v, "OSRT_API");
	view_name_of(v, &(struct tl_text){0, "name 3", 6});
	lane = lane_of(v, VIEW_OSRT, "calls");
	for (int k = 0; k < 400; k++) {
		struct view_event e = {.start = k * 10, .end = k * 10 + 7, .row = k + 1, .name = 1};

		if (view_lane_put(v, lane, &e) < 0)
			abort();
	}
	if (view_lanes_publish(v, true) < 0)
		abort();
	dir = view_directory_write(v, &len);
	if (!is_kept || view_side_finish(v->side, &identity, dir, len) < 0)
		abort();
	free(dir);
	view_store_free(v);
	snprintf(name, sizeof(name), "%s.view", path);
	f = fopen(name, "re");
	len = f ? fread(to, 1, FUZZ_SEED_MAX, f) : 0;
	if (f)
		fclose(f);
	unlink(name);
	return len;
}

const struct fuzz_target fuzz_view_file = {"view_file", run_file, seed_file, init};
