/* view_merge.c - new events of a report that grows, merged with those that its rows have: which are written again, and where. */
#include "view_test.h"

#include "exporters/view/build/live.h"

static sqlite3 *db;

static void run(const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static struct view_live *begin(const char *tables)
{
	struct view_live *l;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	run(tables);
	l = view_live_new(db);
	assert_non_null(l);
	return l;
}

static void end(struct view_live *l)
{
	view_live_free(l);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- which rows are new ---- */

static void check_rows(struct view_live *l, const char *table, int64_t after, int64_t upto)
{
	int64_t from = -1, to = -1;

	assert_true(view_live_rows(l, table, &from, &to));
	assert_int_equal(from, after);
	assert_int_equal(to, upto);
}

static void rows_of_a_run_are_those_since_the_one_before(void **state)
{
	struct view_live *l =
		begin("CREATE TABLE OSRT_API(a); INSERT INTO OSRT_API VALUES (1), (2), (3);"
		      "CREATE TABLE PMU_EVENTS(a); INSERT INTO PMU_EVENTS VALUES (1);"
		      "CREATE TABLE SL_GPU_METRIC_GAPS(a);");
	int64_t from, to;

	(void)state;
	check_rows(l, "OSRT_API", 0, 3);
	check_rows(l, "PMU_EVENTS", 0, 1);
	check_rows(l, "SYSCALL", 0, 0);
	assert_false(view_live_rows(l, "no such table", &from, &to));
	assert_int_equal(view_live_new_rows(l), 4);
	assert_false(view_live_has_doubled(l));
	run("INSERT INTO OSRT_API VALUES (4), (5); INSERT INTO PMU_EVENTS VALUES (2); "
	    "INSERT INTO SL_GPU_METRIC_GAPS VALUES (1)");
	assert_int_equal(view_live_next(l, db), 0);
	check_rows(l, "OSRT_API", 3, 5);
	/* Values that depend on those before them are read again, those of gaps are not. */
	check_rows(l, "PMU_EVENTS", 0, 2);
	check_rows(l, "SL_GPU_METRIC_GAPS", 0, 1);
	assert_int_equal(view_live_new_rows(l), 4);
	/* 8 rows are twice 4. */
	assert_true(view_live_has_doubled(l));
	assert_int_equal(view_live_next(l, db), 0);
	check_rows(l, "OSRT_API", 5, 5);
	check_rows(l, "SL_GPU_METRIC_GAPS", 1, 1);
	assert_int_equal(view_live_new_rows(l), 0);
	/* Of 16 rounds, of which the first was when all began. */
	for (int i = 0; i < 13; i++)
		assert_int_equal(view_live_next(l, db), 0);
	check_rows(l, "PMU_EVENTS", 1, 2);
	assert_int_equal(view_live_next(l, db), 0);
	check_rows(l, "PMU_EVENTS", 2, 2);
	end(l);
	/* Of nothing twice as much is nothing. */
	l = begin("");
	assert_false(view_live_has_doubled(l));
	run("CREATE TABLE SYSCALL(a); INSERT INTO SYSCALL VALUES (1)");
	assert_int_equal(view_live_next(l, db), 0);
	assert_true(view_live_has_doubled(l));
	end(l);
}

static void rows_are_doubled_at_twice_their_first_number_and_not_before(void **state)
{
	struct view_live *l =
		begin("CREATE TABLE SYSCALL(a); INSERT INTO SYSCALL VALUES (1), (2), (3);");

	(void)state;
	run("INSERT INTO SYSCALL VALUES (4), (5)");
	assert_int_equal(view_live_next(l, db), 0);
	assert_false(view_live_has_doubled(l));
	run("INSERT INTO SYSCALL VALUES (6)");
	assert_int_equal(view_live_next(l, db), 0);
	assert_true(view_live_has_doubled(l));
	end(l);
}

/* ---- into lanes ---- */

static void add(struct view_live *l, const struct view_row *row, enum view_how how, int64_t start,
		int64_t end, char name)
{
	struct view_event e = event(start, end, name);

	assert_int_equal(view_live_put(l, row, how, &e), 0);
}

static void take(struct view_live *l, struct view_store *v)
{
	assert_int_equal(view_live_take(l, v), 0);
	assert_int_equal(v->disordered, 0);
}

static void check_row(struct view_store *v, const struct view_row *row, uint32_t lanes,
		      const char *const *want)
{
	assert_int_equal(row->lane_cnt, lanes);
	for (uint32_t i = 0; i < lanes; i++)
		check_lane(v, row->lanes[i], want[i]);
}

static void what_nests_goes_to_lanes_further_in(void **state)
{
	static const char *const first[] = {"10+90 a, 100+10 d", "20+30 b, 60+5 c", "20+10 c"};
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_OSRT), *other = make_row(v, VIEW_OSRT);

	(void)state;
	add(l, row, VIEW_ADDED, 10, 100, 'a');
	add(l, row, VIEW_ADDED, 20, 50, 'b');
	add(l, row, VIEW_ADDED, 20, 30, 'c');
	add(l, row, VIEW_ADDED, 60, 65, 'c');
	add(l, row, VIEW_ADDED, 100, 110, 'd');
	take(l, v);
	check_row(v, row, 3, first);
	check_row(v, other, 0, NULL);
	assert_int_equal(view_live_moved(l), 0);
	/* A run that brings nothing changes nothing. */
	take(l, v);
	check_row(v, row, 3, first);
	view_store_free(v);
	end(l);
}

static void a_call_that_has_ended_takes_its_place_around_those_in_it(void **state)
{
	static const char *const before[] = {"10+5 a, 30+10 b, 50+10 c"};
	static const char *const outer[] = {"10+5 a, 25+45 d", "30+10 b, 50+10 c"};
	static const char *const more[] = {"10+5 a, 25+45 d, 80+10 f", "30+10 b, 50+10 c",
					   "52+3 e"};
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_OSRT);

	(void)state;
	add(l, row, VIEW_ADDED, 10, 15, 'a');
	add(l, row, VIEW_ADDED, 30, 40, 'b');
	add(l, row, VIEW_ADDED, 50, 60, 'c');
	take(l, v);
	check_row(v, row, 1, before);
	add(l, row, VIEW_ADDED, 25, 70, 'd');
	take(l, v);
	check_row(v, row, 2, outer);
	/* What begins at 25 or later is written again: b and c. */
	assert_int_equal(view_live_moved(l), 2);
	/* What lies in c, and what comes after all: what begins before 52 stays. */
	add(l, row, VIEW_ADDED, 52, 55, 'e');
	add(l, row, VIEW_ADDED, 80, 90, 'f');
	take(l, v);
	check_row(v, row, 3, more);
	assert_int_equal(view_live_moved(l), 2);
	view_store_free(v);
	end(l);
}

static void of_events_that_begin_together_the_longest_is_outside(void **state)
{
	static const char *const want[] = {"10+30 b", "10+20 c", "10+20 a", "10+5 d"};
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_OSRT);
	struct view_event e = event(10, 30, 'a');

	(void)state;
	/* Of two that also end together the one whose row comes first. */
	e.row = 7;
	assert_int_equal(view_live_put(l, row, VIEW_ADDED, &e), 0);
	take(l, v);
	add(l, row, VIEW_ADDED, 10, 40, 'b');
	e = event(10, 30, 'c');
	e.row = 3;
	assert_int_equal(view_live_put(l, row, VIEW_ADDED, &e), 0);
	add(l, row, VIEW_ADDED, 10, 15, 'd');
	take(l, v);
	check_row(v, row, 4, want);
	view_store_free(v);
	end(l);
}

static void an_event_takes_the_place_of_all_from_its_start_on(void **state)
{
	static const char *const first[] = {"10+10 a, 30+10 b, 50 open c"};
	static const char *const second[] = {"10+10 a, 30+30 d, 60 open e"};
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_CPU);

	(void)state;
	add(l, row, VIEW_INSTEAD, 10, 20, 'a');
	add(l, row, VIEW_INSTEAD, 30, 40, 'b');
	add(l, row, VIEW_INSTEAD, 50, VIEW_TIME_MAX, 'c');
	take(l, v);
	check_row(v, row, 1, first);
	add(l, row, VIEW_INSTEAD, 30, 60, 'd');
	add(l, row, VIEW_INSTEAD, 60, VIEW_TIME_MAX, 'e');
	take(l, v);
	check_row(v, row, 1, second);
	view_store_free(v);
	end(l);
}

static void add_value(struct view_live *l, const struct view_row *row, int64_t ts, double real)
{
	struct view_event e = {.start = ts, .end = ts, .flags = VIEW_REAL};

	memcpy(&e.row, &real, sizeof(real));
	assert_int_equal(view_live_put(l, row, VIEW_ON_TOP, &e), 0);
}

static void values_are_added_to_those_that_are_there(void **state)
{
	static const char *const first[] = {"10 = 1, 20 = 3, 30 = 0.5"};
	static const char *const second[] = {
		"10 = 1, 15 = 101, 20 = 203, 25 = 13, 30 = 10.5, 40 = 0.5"};
	static const char *const third[] = {
		"10 = 1, 15 = 101, 20 = 203, 25 = 13, 30 = 10.5, 40 = 0.5, 50 = 7.5"};
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_COUNTER);

	(void)state;
	assert_non_null(view_lane_add(v, row));
	add_value(l, row, 10, 1);
	add_value(l, row, 20, 3);
	add_value(l, row, 30, 0.5);
	take(l, v);
	check_row(v, row, 1, first);
	/* 100 from 15 on upon 1; at 20 both change, 200 and 3; 10 from 25 on; nothing more from 40 on. */
	add_value(l, row, 15, 100);
	add_value(l, row, 20, 200);
	add_value(l, row, 25, 10);
	add_value(l, row, 40, 0);
	take(l, v);
	check_row(v, row, 1, second);
	/* Upon the last value that is there: 0.5 and 7. */
	add_value(l, row, 50, 7);
	take(l, v);
	check_row(v, row, 1, third);
	view_store_free(v);
	end(l);
}

static void whole_numbers_are_added_as_such(void **state)
{
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_COUNTER);
	struct view_lane *lane = view_lane_add(v, row);
	struct view_event e = {.start = 10, .end = 10, .row = INT64_MAX - 5};
	float least[VIEW_TILE_PX], most[VIEW_TILE_PX], last[VIEW_TILE_PX];
	struct view_reader r;

	(void)state;
	assert_int_equal(view_live_put(l, row, VIEW_ON_TOP, &e), 0);
	take(l, v);
	e.row = -(INT64_MAX - 8);
	assert_int_equal(view_live_put(l, row, VIEW_ON_TOP, &e), 0);
	take(l, v);
	assert_true(view_reader_begin(&r, v, lane->id));
	view_tile_counter(&r, 0, 0, least, most, last);
	view_reader_end(&r);
	/* 3, which no sum of doubles of that size is. */
	assert_true(isnan(last[9]) && last[10] == 3 && last[255] == 3);
	view_store_free(v);
	end(l);
}

static void what_nests_deeper_than_256_is_left_out(void **state)
{
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_OSRT);

	(void)state;
	for (int i = 0; i < 300; i++)
		add(l, row, VIEW_ADDED, i, 1000 - i, 'a');
	take(l, v);
	assert_int_equal(row->lane_cnt, 256);
	check_lane(v, row->lanes[255], "255+490 a");
	view_store_free(v);
	end(l);
}

static void of_a_long_lane_only_its_end_is_written_again(void **state)
{
	struct view_live *l = begin("");
	struct view_store *v = make_store();
	struct view_row *row = make_row(v, VIEW_OSRT);
	char *text, *want = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&want, &len);

	(void)state;
	for (int i = 0; i < 1000; i++)
		add(l, row, VIEW_ADDED, 10 * i, 10 * i + 2, 'a');
	take(l, v);
	/* In a gap ten events before the end, and two that come last of all. */
	add(l, row, VIEW_ADDED, 9905, 9907, 'b');
	take(l, v);
	assert_int_equal(view_live_moved(l), 9);
	add(l, row, VIEW_ADDED, 20000, 20001, 'c');
	add(l, row, VIEW_ADDED, 20002, 20003, 'd');
	take(l, v);
	assert_int_equal(view_live_moved(l), 9);
	for (int i = 0; i < 1000; i++) {
		fprintf(f, "%s%d+2 a", i ? ", " : "", 10 * i);
		if (i == 990)
			fprintf(f, ", 9905+2 b");
	}
	fprintf(f, ", 20000+1 c, 20002+1 d");
	fclose(f);
	assert_int_equal(row->lane_cnt, 1);
	text = text_of_lane(v, row->lanes[0]);
	assert_string_equal(text, want);
	assert_int_equal(v->lanes[row->lanes[0] - 1]->seen.events, 1003);
	assert_int_equal(v->lanes[row->lanes[0] - 1]->seen.busy, 2000 + 2 + 1 + 1);
	free(text);
	free(want);
	view_store_free(v);
	end(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_run_are_those_since_the_one_before),
		cmocka_unit_test(rows_are_doubled_at_twice_their_first_number_and_not_before),
		cmocka_unit_test(what_nests_goes_to_lanes_further_in),
		cmocka_unit_test(a_call_that_has_ended_takes_its_place_around_those_in_it),
		cmocka_unit_test(of_events_that_begin_together_the_longest_is_outside),
		cmocka_unit_test(an_event_takes_the_place_of_all_from_its_start_on),
		cmocka_unit_test(values_are_added_to_those_that_are_there),
		cmocka_unit_test(whole_numbers_are_added_as_such),
		cmocka_unit_test(what_nests_deeper_than_256_is_left_out),
		cmocka_unit_test(of_a_long_lane_only_its_end_is_written_again),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
