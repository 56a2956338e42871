/* view_index_file.c - the side file: whole, cut off, damaged, of another report; and where it is put. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/view/index/lod.h"

#define EVENTS 5000

static char dir[] = "/tmp/sightline-view-XXXXXX";
static char report[64], side[96];
static const struct view_identity id = {.size = 4711, .rows = 5};

static void make(void)
{
	struct view_store *v = view_store_new(report);
	struct view_row *row;
	struct view_lane *lane;
	uint8_t *bytes;
	bool is_kept = true;
	size_t len;

	v->side = view_side_create(report, &is_kept);
	assert_non_null(v->side);
	assert_true(is_kept);
	view_source_of(v, "TABLE");
	view_name_of(v, &(struct tl_text){0, "one", 3});
	row = view_row_add(v, VIEW_OSRT, 0, "key", "name", 4);
	lane = view_lane_add(v, row);
	for (int i = 0; i < EVENTS; i++) {
		struct view_event e = {.start = i * 10, .end = i * 10 + 7, .row = i + 1, .name = 1};

		assert_int_equal(view_lane_put(v, lane, &e), 0);
	}
	assert_int_equal(view_lanes_publish(v, true), 0);
	bytes = view_directory_write(v, &len);
	assert_non_null(bytes);
	assert_int_equal(view_side_finish(v->side, &id, bytes, len), 0);
	free(bytes);
	view_store_free(v);
}

/* NULL: it is not taken. */
static struct view_store *load(const struct view_identity *as)
{
	struct view_store *v = view_store_new(report);
	uint8_t *bytes;
	size_t len;
	int rc = -1;

	v->side = view_side_open(report, as, &bytes, &len);
	if (v->side)
		rc = view_directory_read(v, bytes, len);
	free(bytes);
	if (rc == 0)
		return v;
	view_store_free(v);
	return NULL;
}

struct count {
	int64_t next;
	unsigned cnt;
};

static int each(void *ctx, const struct view_event *e)
{
	struct count *c = ctx;

	/* What comes is true, whatever else is missing. */
	assert_true(e->start % 10 == 0 && e->end == e->start + 7 && e->row == e->start / 10 + 1);
	assert_true(e->start >= c->next);
	c->next = e->start + 1;
	c->cnt++;
	return 0;
}

/* How many events are there; @damaged: it was seen that some are not. */
static unsigned count(struct view_store *v, bool *damaged)
{
	struct view_rect rects[VIEW_TILE_MAX];
	struct view_reader r;
	struct count c = {0};

	assert_true(view_reader_begin(&r, v, 1));
	view_reader_each(&r, INT64_MIN, INT64_MAX, each, &c);
	for (uint32_t k = 0; k < 12; k++)
		view_tile(&r, k, 0, rects);
	*damaged = r.is_damaged;
	view_reader_end(&r);
	return c.cnt;
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void whole(void **state)
{
	struct view_identity other = id;
	struct view_store *v;
	struct stat st;
	bool damaged;

	(void)state;
	make();
	assert_int_equal(stat(side, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	v = load(&id);
	assert_non_null(v);
	assert_int_equal(count(v, &damaged), EVENTS);
	assert_false(damaged);
	assert_int_equal(v->rows[0]->kind, VIEW_OSRT);
	assert_string_equal(v->rows[0]->name, "name");
	assert_string_equal(v->names[1].text, "one");
	view_store_free(v);
	other.rows++;
	assert_null(load(&other));
}

static void put_byte(off_t at, int flip)
{
	int fd = open(side, O_RDWR);
	unsigned char c;

	assert_int_equal(pread(fd, &c, 1, at), 1);
	c = (unsigned char)(c ^ flip);
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

/* A byte changed anywhere: not taken, or what is lost is noticed; nothing false is shown. */
static void damage(void **state)
{
	off_t size;
	unsigned refused = 0, noticed = 0;

	(void)state;
	make();
	size = size_of(side);
	for (off_t at = 0; at < size; at += 37) {
		struct view_store *v;
		bool damaged = false;
		unsigned cnt = 0;

		put_byte(at, 1 << at % 8);
		v = load(&id);
		if (v)
			cnt = count(v, &damaged);
		refused += v == NULL;
		noticed += damaged;
		/* Bytes between extents' ends and the next are nothing. */
		assert_true(!v || damaged || cnt == EVENTS);
		view_store_free(v);
		put_byte(at, 1 << at % 8);
	}
	assert_true(refused > 10 && noticed > 100);
}

static void cut(void **state)
{
	off_t size;

	(void)state;
	make();
	size = size_of(side);
	for (off_t len = size - 1; len > 0; len = len * 3 / 4) {
		assert_int_equal(truncate(side, len), 0);
		assert_null(load(&id));
	}
	/* Cut while it is open. */
	make();
	struct view_store *v = load(&id);
	bool damaged;

	assert_non_null(v);
	assert_int_equal(truncate(side, 4096), 0);
	count(v, &damaged);
	assert_true(damaged);
	view_store_free(v);
}

/* Two extents of the same size in each other's place. */
static void swapped(void **state)
{
	uint8_t a[1024], b[1024];
	struct view_store *v;
	bool damaged;
	int fd;

	(void)state;
	make();
	fd = open(side, O_RDWR);
	assert_int_equal(pread(fd, a, sizeof(a), 4096), (ssize_t)sizeof(a));
	assert_int_equal(pread(fd, b, sizeof(b), 4096 + 1024), (ssize_t)sizeof(b));
	assert_int_equal(pwrite(fd, b, sizeof(b), 4096), (ssize_t)sizeof(b));
	assert_int_equal(pwrite(fd, a, sizeof(a), 4096 + 1024), (ssize_t)sizeof(a));
	close(fd);
	v = load(&id);
	assert_non_null(v);
	count(v, &damaged);
	assert_true(damaged);
	view_store_free(v);
}

/* Any bytes as a directory. */
static void forged(void **state)
{
	struct view_store *v = NULL;
	uint64_t seed = 3;
	uint8_t *bytes, *copy;
	size_t len;

	(void)state;
	make();
	view_store_free(v);
	v = view_store_new(report);
	v->side = view_side_open(report, &id, &bytes, &len);
	assert_non_null(v->side);
	copy = malloc(len);
	for (int n = 0; n < 20000; n++) {
		struct view_store *w = view_store_new(report);
		size_t cut_len;

		memcpy(copy, bytes, len);
		for (int k = 0; k < 1 + n % 3; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			copy[(seed >> 33) % len] = (uint8_t)(seed >> 24);
		}
		cut_len = n % 4 ? len : (seed >> 33) % len;
		view_directory_read(w, copy, cut_len);
		view_store_free(w);
	}
	free(copy);
	free(bytes);
	view_store_free(v);
}

static void checksum(void **state)
{
	uint8_t bytes[256];

	(void)state;
	/* of RFC 3720 */
	assert_int_equal(view_crc(0, "123456789", 9), 0xE3069283);
	memset(bytes, 0, 32);
	assert_int_equal(view_crc(0, bytes, 32), 0x8A9136AA);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t len = 0; len < sizeof(bytes); len++)
		assert_int_equal(view_crc(5, bytes, len), view_crc_plain(5, bytes, len));
}

static void other_places(void **state)
{
	char path[128], cache[96], gone[96];
	struct view_side *s;
	bool is_kept = true;

	(void)state;
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	snprintf(gone, sizeof(gone), "%s/no-such-folder/r.sqlite", dir);
	setenv("XDG_CACHE_HOME", cache, 1);
	s = view_side_create(gone, &is_kept);
	assert_non_null(s);
	assert_true(is_kept);
	view_side_close(s);
	snprintf(path, sizeof(path), "%s/sightline", cache);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(cache), 0);
	setenv("XDG_CACHE_HOME", "/proc/no", 1);
	is_kept = true;
	s = view_side_create(gone, &is_kept);
	assert_non_null(s);
	assert_false(is_kept);
	view_side_close(s);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(report, sizeof(report), "%s/r.sqlite", dir);
	snprintf(side, sizeof(side), "%s.view", report);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(side);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),    cmocka_unit_test(damage),
		cmocka_unit_test(cut),      cmocka_unit_test(swapped),
		cmocka_unit_test(forged),   cmocka_unit_test(other_places),
		cmocka_unit_test(checksum),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
