/* view_test.h - a store whose lanes are filled by hand, and what a lane has as text: "10+5 a, 20+0 b, 30 open c". */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/view/index/lod.h"

static char store_dir[] = "/tmp/sightline-view-XXXXXX";
static char store_report[64];

/* Names 1 to 26 are the letters a to z. */
static struct view_store *make_store(void)
{
	struct view_store *v = view_store_new(store_report);
	bool is_kept = true;

	assert_non_null(v);
	v->side = view_side_create(store_report, &is_kept);
	assert_non_null(v->side);
	assert_int_equal(view_source_of(v, "TABLE"), 0);
	for (int i = 0; i < 26; i++) {
		char c = (char)('a' + i);

		assert_int_equal(view_name_of(v, &(struct tl_text){0, &c, 1}), i + 1);
	}
	return v;
}

static struct view_row *make_row(struct view_store *v, enum view_kind kind)
{
	struct view_row *row;
	char key[32];

	snprintf(key, sizeof(key), "row %u", v->row_cnt);
	row = view_row_add(v, kind, 0, key, "row", 3);
	assert_non_null(row);
	return row;
}

__attribute__((unused)) static struct view_lane *make_lane(struct view_store *v)
{
	struct view_lane *lane = view_lane_add(v, make_row(v, VIEW_OSRT));

	assert_non_null(lane);
	return lane;
}

/* Without an end where it is VIEW_TIME_MAX. */
static struct view_event event(int64_t start, int64_t end, char name)
{
	return (struct view_event){
		.start = start,
		.end = end,
		.row = start,
		.name = (uint32_t)(name - 'a') + 1,
		.flags = end == VIEW_TIME_MAX ? VIEW_OPEN
			 : end == start       ? VIEW_INSTANT
					      : 0,
	};
}

__attribute__((unused)) static void put(struct view_store *v, struct view_lane *lane, int64_t start,
					int64_t end, char name)
{
	struct view_event e = event(start, end, name);

	assert_int_equal(view_lane_put(v, lane, &e), 0);
}

struct lane_text {
	const struct view_store *v;
	FILE *file;
	const char *comma;
};

static int print_event(void *ctx, const struct view_event *e)
{
	struct lane_text *t = ctx;
	double real;

	fprintf(t->file, "%s%lld", t->comma, (long long)e->start);
	t->comma = ", ";
	if (e->flags & VIEW_REAL) {
		memcpy(&real, &e->row, sizeof(real));
		fprintf(t->file, " = %g", real);
	} else if (e->flags & VIEW_OPEN) {
		fprintf(t->file, " open %s", t->v->names[e->name].text);
	} else {
		fprintf(t->file, "+%lld %s", (long long)(e->end - e->start),
			t->v->names[e->name].text);
	}
	return 0;
}

/* To be freed. */
static char *text_of_lane(struct view_store *v, uint32_t lane)
{
	char *text = NULL;
	size_t len = 0;
	struct lane_text t = {v, open_memstream(&text, &len), ""};
	struct view_reader r;

	assert_non_null(t.file);
	assert_true(view_reader_begin(&r, v, lane));
	view_reader_each(&r, INT64_MIN, INT64_MAX, print_event, &t);
	assert_false(r.is_damaged);
	view_reader_end(&r);
	fclose(t.file);
	return text;
}

__attribute__((unused)) static void check_lane(struct view_store *v, uint32_t lane,
					       const char *want)
{
	char *text = text_of_lane(v, lane);

	assert_string_equal(text, want);
	free(text);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(store_dir))
		return -1;
	snprintf(store_report, sizeof(store_report), "%s/r.sqlite", store_dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(store_dir);
}
