/*
 * view_totals.c - a selection summed up of totals by name against the same one event by event: every figure but the median
 * and the time without nested events is the same, and the median is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/view/server/route.h"
#include "exporters/view/answers/answer.h"
#include "exporters/view/index/totals.h"

#define SPANS 150

static char dir[] = "/tmp/sightline-view-XXXXXX";
static char file[64];
static uint64_t seed = 5;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed ^ seed >> 31) % n;
}

struct lane {
	struct view_event *e;
	uint32_t cnt;
	enum view_kind kind;
};
#define LANES 6
static struct lane lanes[LANES];
static int64_t last;

static struct view_store *make_store(uint32_t names)
{
	struct view_store *v = view_store_new(file);
	bool is_kept = true;
	char name[32];

	assert_non_null(v);
	v->side = view_side_create(file, &is_kept);
	assert_non_null(v->side);
	assert_int_equal(view_source_of(v, "TABLE"), 0);
	for (uint32_t i = 1; i < names; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		assert_int_equal(view_name_of(v, &(struct tl_text){0, name, strlen(name)}), i);
	}
	return v;
}

/*
 * One lane has more names than totals do, one so many that each keeps less, one an event that lasts too long for them, one ends
 * with an open event.
 */
static void fill(struct view_store *v, int n, uint32_t cnt)
{
	struct lane *l = &lanes[n];
	struct view_lane *lane;
	struct view_row *row;
	int64_t at = (int64_t)below(5000);
	char key[32];

	snprintf(key, sizeof(key), "row %d", n);
	l->kind = n % 2 ? VIEW_OSRT : VIEW_CUDA;
	l->e = calloc(cnt, sizeof(*l->e));
	l->cnt = cnt;
	row = view_row_add(v, l->kind, 0, key, "row", 3);
	assert_true(row && l->e);
	lane = view_lane_add(v, row);
	assert_non_null(lane);
	for (uint32_t i = 0; i < cnt; i++) {
		struct view_event e = {.start = at, .row = i};

		e.name = (uint32_t)(n == 0 ? below(400) : below(2) ? 3 : below(n == 3 ? 150 : 60));
		e.end = e.start + (int64_t)below(3u << below(14));
		if (n == 1 && i == cnt / 2)
			e.end = e.start + VIEW_TOTALS_NS;
		if (n == 2 && i == cnt - 1) {
			e.end = VIEW_TIME_MAX;
			e.flags = VIEW_OPEN;
		} else {
			at = e.end + (int64_t)below(100);
		}
		l->e[i] = e;
		assert_int_equal(view_lane_put(v, lane, &e), 0);
		if (below(40000) == 0)
			assert_int_equal(view_lanes_publish(v, false), 0);
	}
	last = at > last ? at : last;
}

static char *select_of(struct view_store *v, int64_t from, int64_t to, bool by_totals)
{
	static struct view_report report = {.lock = PTHREAD_MUTEX_INITIALIZER,
					    .why_lock = PTHREAD_MUTEX_INITIALIZER};
	static struct view_server server = {.reports = &report, .report_cnt = 1};
	char body[128];
	struct view_request q = {.server = &server, .is_post = true, .path = "/v1/select"};
	struct view_reply a;
	char *text;

	report.store = v;
	snprintf(body, sizeof(body), "{\"from\": %lld, \"to\": %lld, \"lanes\": []}",
		 (long long)from, (long long)to);
	q.body = (const uint8_t *)body;
	q.len = strlen(body);
	view_exact_most = by_totals ? 0 : UINT64_MAX;
	view_route(&q, &a);
	assert_int_equal(a.status, 200);
	text = strndup(a.body.data, a.body.len);
	writer_free(&a.body);
	return text;
}

/* How much of a name's durations in the span are below, or are, a value. */
static void check_median(enum view_kind kind, uint32_t name, int64_t from, int64_t to, double value)
{
	uint64_t under = 0, same = 0, all = 0;

	for (int n = 0; n < LANES; n++)
		for (uint32_t i = 0; i < lanes[n].cnt && lanes[n].kind == kind; i++) {
			const struct view_event *e = &lanes[n].e[i];
			int64_t start = e->start > from ? e->start : from;
			int64_t end = e->end < to ? e->end : to;

			if (e->name != name || !view_overlaps(e, from, to))
				continue;
			all++;
			under += (double)(float)(end - start) < value;
			same += (double)(float)(end - start) == value;
		}
	assert_true(all > 0);
	if (all > 20000 &&
	    ((double)under > 0.65 * (double)all || (double)(under + same) < 0.35 * (double)all))
		fail_msg("median %f of name %u: %llu of %llu are below", value, name,
			 (unsigned long long)under, (unsigned long long)all);
}

/* Takes the medians out of a reply, whose rows say which name they are of. */
static void cut_medians(char *text, int64_t from, int64_t to, bool checked)
{
	for (char *p = text; (p = strstr(p, "\"name_id\":")) != NULL;) {
		uint32_t name = (uint32_t)strtoul(p + 10, NULL, 10);
		enum view_kind kind = strstr(p, "\"kind\":\"cuda\"") == strstr(p, "\"kind\":")
					      ? VIEW_CUDA
					      : VIEW_OSRT;
		char *median = strstr(p, "\"median\":"), *end;

		assert_non_null(median);
		if (checked)
			check_median(kind, name, from, to, strtod(median + 9, NULL));
		end = strchr(median, ',');
		memmove(median, end, strlen(end) + 1);
		p = strstr(median, "\"exact_median\":");
		assert_non_null(p);
		end = strchr(p, '}');
		memmove(p, end, strlen(end) + 1);
	}
}

/* Time within an event without those nested in it: all of the time here; totals have no such figure, a reply that needed none has. */
static void cut_self(char *text)
{
	for (char *p = text, *end; (p = strstr(p, "\"self\":")) != NULL; p = end) {
		const char *total = p;

		while (strncmp(total, "\"total\":", 8) != 0)
			assert_true(--total > text);
		assert_int_equal(strtoll(p + 7, NULL, 10), strtoll(total + 8, NULL, 10));
		end = strchr(p, ',') + 1;
		memmove(p, end, strlen(end) + 1);
		end = p;
	}
}

static void test_same(void **state)
{
	static const uint32_t sizes[LANES] = {60000, 50000, 200000, 120000, 16384, 20};
	struct view_store *v = make_store(400);
	uint32_t stretches = 0;

	(void)state;
	for (int n = 0; n < LANES; n++)
		fill(v, n, sizes[n]);
	assert_int_equal(view_lanes_publish(v, true), 0);
	assert_int_equal(v->disordered, 0);
	for (uint32_t i = 0; i < v->lane_cnt; i++) {
		struct view_reader r;

		assert_true(view_reader_begin(&r, v, i + 1));
		for (uint32_t k = 0; k < r.lane->seen.cnt[VIEW_TOTALS_LEVEL]; k++)
			stretches += view_reader_totals(&r, k, NULL, NULL);
		assert_false(r.is_damaged);
		view_reader_end(&r);
	}
	/* Of 3, 12, 7 and, where a block was written early, perhaps not 1. */
	assert_in_range(stretches, 17, 22);
	for (int i = 0; i < SPANS; i++) {
		int64_t a = (int64_t)below((uint64_t)last), b = a + (int64_t)below((uint64_t)last);
		char *exact, *summed;

		if (i == 0) {
			a = -1;
			b = last + 1;
		}
		exact = select_of(v, a, b, false);
		summed = select_of(v, a, b, true);
		cut_self(exact);
		cut_self(summed);
		cut_medians(exact, a, b, false);
		cut_medians(summed, a, b, i % 10 == 0);
		assert_string_equal(exact, summed);
		free(exact);
		free(summed);
	}
	view_store_free(v);
	for (int n = 0; n < LANES; n++)
		free(lanes[n].e);
}

/* Durations grow tenfold while they come, so that a median of the first ones would be far off; and a small sample shall do. */
static void test_sample(void **state)
{
	enum {
		CNT = 2500000
	};
	struct view_store *v = make_store(2);
	struct view_row *row = view_row_add(v, VIEW_OSRT, 0, "row", "row", 3);
	struct view_lane *lane = row ? view_lane_add(v, row) : NULL;
	uint32_t *dur = calloc(CNT, sizeof(*dur)), under = 0;
	int64_t at = 0;
	double median;
	char *text;

	(void)state;
	assert_true(lane && dur);
	for (uint32_t i = 0; i < CNT; i++) {
		struct view_event e = {.start = at, .row = i, .name = 1};

		dur[i] = (uint32_t)below(500) + i / (CNT / 5000);
		e.end = at = at + dur[i];
		assert_int_equal(view_lane_put(v, lane, &e), 0);
	}
	assert_int_equal(view_lanes_publish(v, true), 0);
	view_sample_min = 64;
	text = select_of(v, 0, at + 1, true);
	assert_non_null(strstr(text, "\"exact_median\":false"));
	median = strtod(strstr(text, "\"median\":") + 9, NULL);
	for (uint32_t i = 0; i < CNT; i++)
		under += dur[i] < median;
	if (under < 0.42 * CNT || under > 0.58 * CNT)
		fail_msg("median %f: %u of %d are below", median, under, CNT);
	view_sample_min = 4096;
	free(text);
	free(dur);
	view_store_free(v);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/run.sqlite", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rmdir(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_sample),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
