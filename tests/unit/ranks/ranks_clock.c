/* ranks_clock.c - ends of collectives as an engine writes them, and lines as files of the dataset. */
#include "ranks_test.h"

#include "exporters/ranks/clock.h"

/* ---- what an engine writes ---- */

static struct clock_node list[] = {{.name = (char[]){"n0"}}, {.name = (char[]){"n1"}}};
static struct clock_nodes nodes = {.list = list, .cnt = 2};
static struct clock_end *ends;
static size_t cnt;

static void read_text(const char *text)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(in);
	list[0].ends = list[1].ends = 0;
	free(ends);
	assert_int_equal(clock_read(in, &nodes, &ends, &cnt), 0);
	fclose(in);
}

static void assert_end(size_t i, uint64_t collective, uint32_t node, int64_t end)
{
	assert_true(i < cnt);
	assert_int_equal(ends[i].collective, collective);
	assert_int_equal(ends[i].node, node);
	assert_int_equal(ends[i].end, end);
}

static int free_ends(void **state)
{
	(void)state;
	free(ends);
	ends = NULL;
	return 0;
}

static void rows_of_duckdb_are_separated_by_commas(void **state)
{
	(void)state;
	read_text("id,node,end\n1001,n0,1790000000000000100\n1001,n1,1790000000000000200\n");
	assert_int_equal(cnt, 2);
	assert_end(0, 1001, 0, 1790000000000000100);
	assert_end(1, 1001, 1, 1790000000000000200);
	assert_int_equal(list[0].ends, 1);
	assert_int_equal(list[1].ends, 1);
}

/* Spark's messages come between; the last line may have no end. */
static void rows_of_spark_are_separated_by_tabs(void **state)
{
	(void)state;
	read_text("Setting default log level to WARN.\nid\tnode\tend\n7\tn1\t5\n\nTime taken: 3 "
		  "s\n8\tn1\t6");
	assert_int_equal(cnt, 2);
	assert_end(0, 7, 1, 5);
	assert_end(1, 8, 1, 6);
	assert_int_equal(list[0].ends, 0);
	assert_int_equal(list[1].ends, 2);
}

static void nothing_is_no_ends(void **state)
{
	(void)state;
	read_text("\n");
	assert_int_equal(cnt, 0);
	assert_null(ends);
}

static void rows_of_unknown_nodes_are_left_out(void **state)
{
	(void)state;
	read_text("1,n2,5\n1,,5\n1,n,5\n1,n11,5\n1,n0\n1\n,n0,3\n");
	assert_int_equal(cnt, 1);
	assert_end(0, 0, 0, 3);
}

/* No clock is before 1970; the difference of two such would be beyond 2^63. */
static void numbers_beyond_their_limits(void **state)
{
	(void)state;
	read_text(
		"18446744073709551615,n0,9223372036854775807\n1,n0,99999999999999999999\n1,n0,-1\n"
		"1,n0,0\n");
	assert_int_equal(cnt, 3);
	assert_end(0, UINT64_MAX, 0, INT64_MAX);
	assert_end(1, 1, 0, INT64_MAX);
	assert_end(2, 1, 0, 0);
	assert_int_equal(list[0].ends, 3);
}

static void nothing_is_read_where_no_nodes_are_known(void **state)
{
	struct clock_nodes none = {0};
	FILE *in = fmemopen((char[]){"1,n0,5\n"}, 7, "r");

	(void)state;
	free(ends);
	assert_int_equal(clock_read(in, &none, &ends, &cnt), 0);
	assert_int_equal(cnt, 0);
	fclose(in);
}

/* ---- files ---- */

/* The lines of run "one" as rows. */
static const char *written(void)
{
	return json_rows(
		in_dir("_clock/run=one.json"),
		"SELECT value ->> 'node', value ->> 'time', value ->> 'offsetNs', value ->> "
		"'driftPpb', value ->> 'errorNs', value ->> 'collectives', value ->> "
		"'reference', value ->> 'source' FROM file, json_each(whole, '$.lines')");
}

static struct clock_node four[] = {
	{.name = (char[]){"a"}, .start = 10, .bound = 70},
	{.name = (char[]){"b"}, .start = 20, .bound = 80},
	{.name = (char[]){"c"}, .start = 30, .bound = 90},
	{.name = (char[]){"d"}, .start = DATASET_NULL, .bound = DATASET_NULL},
};

/* b is the reference, a has two lines, c and d share no collectives. */
static void lines_are_written_for_all_nodes(void **state)
{
	struct clock_line lines[] = {
		{.node = 0, .time = 100, .offset = -2.5, .drift = 50e-6, .error = 7.4, .ends = 256},
		{.node = 0, .time = 200, .offset = 2.5, .drift = -20e-6, .error = 7.6, .ends = 300},
	};
	const struct clock_fit fit = {.lines = lines, .cnt = 2, .reference = 1};
	const struct clock_nodes all = {.list = four, .cnt = 4};

	(void)state;
	assert_int_equal(clock_write(test_dir, "one", &all, &fit, why, sizeof(why)), 0);
	/* Rounded away from 0; drift in 10^-9: 50e-6 is 50,000. */
	assert_string_equal(written(), "a 100 -3 50000 7 256 b collectives\n"
				       "a 200 3 -20000 8 300 b collectives\n"
				       "b 20 0 0 0 0 b reference\n"
				       "c 30 0 0 90 0 b kernel\n"
				       "d 0 0 0 - 0 b kernel\n");
	assert_true(is_parquet(in_dir("SL_CLOCK_FIT/run=one/node=a/part-0.parquet")));
	assert_true(is_parquet(in_dir("SL_CLOCK_FIT/run=one/node=d/part-0.parquet")));
}

/* Without a line there is no reference either: each node has the kernel's bound. */
static void kernels_bounds_are_written_where_nothing_was_fitted(void **state)
{
	const struct clock_fit fit = {.reference = 0};
	const struct clock_nodes two = {.list = four, .cnt = 2};

	(void)state;
	assert_int_equal(clock_write(test_dir, "one", &two, &fit, why, sizeof(why)), 0);
	assert_string_equal(written(), "a 10 0 0 70 0 a kernel\nb 20 0 0 80 0 a kernel\n");
}

/* The last node has lines, the first is the reference. */
static void lines_of_the_last_node_are_its_own(void **state)
{
	struct clock_line lines[] = {{.node = 3, .time = 9, .offset = 1, .ends = 8}};
	const struct clock_fit fit = {.lines = lines, .cnt = 1, .reference = 0};
	const struct clock_nodes all = {.list = four, .cnt = 4};

	(void)state;
	assert_int_equal(clock_write(test_dir, "one", &all, &fit, why, sizeof(why)), 0);
	assert_string_equal(written(), "a 10 0 0 0 0 a reference\nb 20 0 0 80 0 a kernel\n"
				       "c 30 0 0 90 0 a kernel\nd 9 1 0 0 8 a collectives\n");
}

static void folder_that_is_a_file_cannot_be_written_to(void **state)
{
	const struct clock_fit fit = {.reference = 0};
	const struct clock_nodes two = {.list = four, .cnt = 2};

	(void)state;
	put_file(in_dir("file"), "");
	assert_int_equal(clock_write(in_dir("file"), "one", &two, &fit, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "cannot write "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rows_of_duckdb_are_separated_by_commas, free_ends),
		cmocka_unit_test_teardown(rows_of_spark_are_separated_by_tabs, free_ends),
		cmocka_unit_test_teardown(nothing_is_no_ends, free_ends),
		cmocka_unit_test_teardown(rows_of_unknown_nodes_are_left_out, free_ends),
		cmocka_unit_test_teardown(numbers_beyond_their_limits, free_ends),
		cmocka_unit_test_teardown(nothing_is_read_where_no_nodes_are_known, free_ends),
		TEST(lines_are_written_for_all_nodes),
		TEST(kernels_bounds_are_written_where_nothing_was_fitted),
		TEST(lines_of_the_last_node_are_its_own),
		TEST(folder_that_is_a_file_cannot_be_written_to),
	};

	return cmocka_run_group_tests_name("ranks_clock", tests, NULL, NULL);
}
