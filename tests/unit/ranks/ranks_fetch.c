/* ranks_fetch.c - a span of ranks out of reports by hand: which rows, at which times, by which clock. */
#include "ranks_test.h"

#include "exporters/ranks/fetch.h"

static sqlite3 *db;
static char reports[4][256];
static char *list[4];
static size_t reports_cnt;
static struct fetch f;

static int setup(void **state)
{
	reports_cnt = 0;
	f = (struct fetch){.run = "one", .ranks = "0", .reports = list};
	return test_setup(state);
}

static int teardown(void **state)
{
	sqlite3_close(db);
	db = NULL;
	return test_teardown(state);
}

/* Sets the report's host, and its time 0 to so many ns behind EPOCH. */
static void add_report(const char *name, const char *host, int64_t behind, const char *sql)
{
	char text[8192];

	snprintf(text, sizeof(text),
		 "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, '', 'Hostname', 0, '%s');"
		 "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + %lld;%s",
		 host, (long long)behind, sql);
	snprintf(reports[reports_cnt], sizeof(reports[0]), "%s", report(name, text));
	list[reports_cnt] = reports[reports_cnt];
	reports_cnt++;
}

static int fetch(void)
{
	static char output[256];
	int err;

	snprintf(output, sizeof(output), "%s", in_dir("out.sqlite"));
	f.folder = test_dir;
	f.output = output;
	f.reports_cnt = reports_cnt;
	f.force = true;
	err = fetch_check(&f, why, sizeof(why));
	if (!err)
		err = fetch_ranks(&f, why, sizeof(why));
	fetch_free(&f);
	f.span = (struct db_filter){0};
	f.ranked = NULL;
	sqlite3_close(db);
	db = NULL;
	if (!err)
		assert_int_equal(sqlite3_open(output, &db), SQLITE_OK);
	return err;
}

static void must_fetch(void)
{
	if (fetch() != 0)
		fail_msg("%s", why);
}

/* ---- what is asked for ---- */

static int check(const char *ranks, const char *time)
{
	int err;

	f.folder = test_dir;
	f.output = in_dir("new");
	f.ranks = ranks;
	f.time = time;
	err = fetch_check(&f, why, sizeof(why));
	fetch_free(&f);
	f.span = (struct db_filter){0};
	f.ranked = NULL;
	return err;
}

static void ranks_are_numbers(void **state)
{
	static const char *const wrong[] = {"", ",", "1,", ",1", "1,,2", "a", "1 2", "-1", "1-3"};

	(void)state;
	assert_int_equal(check("0", NULL), 0);
	assert_int_equal(check("3,7,12", NULL), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(check(wrong[i], NULL), -1);
		assert_non_null(strstr(why, "--rank takes numbers"));
	}
}

static void time_is_one_span(void **state)
{
	(void)state;
	assert_int_equal(check("0", "1s/2s"), 0);
	assert_int_equal(check("0", "1s/2s,3s/4s"), -1);
	assert_non_null(strstr(why, "--time takes one span"));
	assert_int_equal(check("0", "x"), -1);
}

static void file_that_is_there_is_replaced_on_demand_only(void **state)
{
	(void)state;
	put_file(in_dir("new"), "");
	assert_int_equal(check("0", NULL), -1);
	assert_non_null(strstr(why, "exists already"));
	f.force = true;
	assert_int_equal(check("0", NULL), 0);
}

static void patterns_of_names_need_a_number(void **state)
{
	(void)state;
	add_report("r.sqlite", "g0", 0, "");
	f.reports_cnt = 1;
	f.rank_from = "rank%r";
	assert_int_equal(check("0", NULL), -1);
	assert_non_null(strstr(why, "no number"));
	f.reports_cnt = 0;
	f.rank_from = "rank";
	assert_int_equal(check("0", NULL), 0);
}

/* ---- one rank ---- */

/* Rank 0 is process 7, rank 1 process 8. */
static const char two_ranks[] =
	"INSERT INTO process VALUES(7, NULL, 0, 9000), (8, NULL, 0, 9000);"
	"INSERT INTO variable VALUES(7, 'RANK', '0'), (8, 'RANK', '1');"
	"INSERT INTO kernel VALUES(7, 100, 200, 1, 'a'), (7, 5000, 6000, 2, "
	"'b'), (8, 100, 300, 1, 'c')";

static void rank_has_its_rows_at_their_times(void **state)
{
	(void)state;
	put_manifest("one", "n0", "{\"start\": " EPOCH_TEXT "}");
	add_report("r.sqlite", "g0", 0, two_ranks);
	must_fetch();
	assert_rows(db, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL",
		    "100 200\n5000 6000\n");
	/* Nothing of the other rank: neither its process nor its variables. */
	assert_rows(db, "SELECT name FROM PROCESSES", "rank 0, g0: p\n");
	assert_rows(db, "SELECT value FROM SL_RANK_VARIABLES", "0\n");
	assert_rows(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", EPOCH_TEXT "\n");
	f.ranks = "1";
	must_fetch();
	assert_rows(db, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL", "100 300\n");
}

/* The run begins at EPOCH, this report 1,000 ns later: 1,050 to 3,000 of the run is 50 to 2,000 of the report. */
static void span_is_that_of_the_run(void **state)
{
	(void)state;
	put_manifest("one", "n0", "{\"start\": " EPOCH_TEXT "}");
	add_report("r.sqlite", "g0", 1000, two_ranks);
	f.time = "1050ns/3000ns";
	must_fetch();
	assert_rows(db, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL", "100 200\n");
	/* Without an end: from 3,000 of the report on. */
	f.time = "4000ns/";
	must_fetch();
	assert_rows(db, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL", "5000 6000\n");
}

/* The node's clock is 1,000 ns behind the reference's: 1,050 of the run is then what the node has as 50. */
static void span_is_by_the_clock_of_the_reference(void **state)
{
	(void)state;
	put_manifest("one", "n0",
		     "{\"start\": " EPOCH_TEXT ", \"ranks\": [{\"rank\": 0, \"host\": \"g0\", "
		     "\"report\": \"r.sqlite\"}]}");
	add_report("r.sqlite", "g0", 0, two_ranks);
	assert_int_equal(dataset_write_text(test_dir, in_dir("_clock/run=one.json"),
					    "{\"lines\": [{\"node\": \"n0\", \"time\": 0, "
					    "\"offsetNs\": 1000, \"driftPpb\": 0, \"source\": "
					    "\"collectives\"}, {\"node\": \"n9\", \"time\": 0, "
					    "\"offsetNs\": 77, \"driftPpb\": 0, \"source\": "
					    "\"collectives\"}]}",
					    why, sizeof(why)),
			 0);
	f.time = "1050ns/3000ns";
	must_fetch();
	assert_rows(db, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL", "100 200\n");
	f.time = "50ns/1050ns";
	must_fetch();
	/* A table without rows is not made. */
	assert_rows(db,
		    "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'",
		    "0\n");
}

/* ---- several ---- */

#define RANK(pid, rank)                                                                        \
	"INSERT INTO process VALUES(" pid ", NULL, 0, 9000); INSERT INTO variable VALUES(" pid \
	", 'RANK', '" rank "'); INSERT INTO kernel VALUES(" pid                                \
	", 100, 200, 1, 'a'); INSERT INTO "                                                    \
	"cpu VALUES(" pid ", " pid ", 5, 1), (" pid ", " pid ", 9, 0);"

/* Node n1's report begins 500 ns later by its clock, which is 20 ns behind. */
static void ranks_of_two_nodes_are_on_one_axis(void **state)
{
	(void)state;
	put_manifest("one", "n0",
		     "{\"start\": " EPOCH_TEXT ", \"ranks\": [{\"rank\": 0, \"report\": "
		     "\"r0.sqlite\"}]}");
	put_manifest("one", "n1",
		     "{\"start\": 1200000000700, \"ranks\": [{\"rank\": 1, \"report\": "
		     "\"r1.sqlite\"}]}");
	assert_int_equal(dataset_write_text(test_dir, in_dir("_clock/run=one.json"),
					    "{\"lines\": [{\"node\": \"n0\", \"time\": 0, "
					    "\"offsetNs\": 0, \"driftPpb\": 0, \"source\": "
					    "\"reference\"}, {\"node\": \"n1\", \"time\": 0, "
					    "\"offsetNs\": 20, \"driftPpb\": 0, \"source\": "
					    "\"collectives\"}]}",
					    why, sizeof(why)),
			 0);
	add_report("r0.sqlite", "g0", 0, RANK("7", "0"));
	add_report("r1.sqlite", "g1", 500, RANK("7", "1"));
	f.ranks = "0,1";
	must_fetch();
	assert_rows(db, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start",
		    "100 200\n620 720\n");
	assert_rows(db, "SELECT name FROM PROCESSES ORDER BY 1", "rank 0, g0: p\nrank 1, g1: p\n");
	/* Each host has one CPU, of number 0. */
	assert_rows(db, "SELECT host, firstCpu, cpus FROM SL_RANK_CPUS", "g0 0 1\ng1 1 1\n");
	assert_rows(db, "SELECT DISTINCT cpu FROM SCHED_EVENTS ORDER BY 1", "0\n1\n");
	assert_rows(db, "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_MERGE_OF'",
		    "r0.sqlite\nr1.sqlite\n");
	/* No part is left. */
	assert_int_not_equal(access(in_dir("out.sqlite.part-0"), F_OK), 0);
	assert_int_not_equal(access(in_dir("out.sqlite.part"), F_OK), 0);
}

/* Reports of one host have the same CPUs: 3 is the largest of both. */
static void reports_of_one_host_share_their_cpus(void **state)
{
	(void)state;
	put_manifest("one", "n0", "{\"start\": " EPOCH_TEXT "}");
	add_report("r0.sqlite", "g0", 0, RANK("7", "0"));
	add_report("r1.sqlite", "g1", 0, RANK("8", "1"));
	add_report("r2.sqlite", "g0", 0, RANK("9", "2") "UPDATE SCHED_EVENTS SET cpu = 3");
	f.ranks = "0,1,2";
	must_fetch();
	assert_rows(db, "SELECT host, firstCpu, cpus FROM SL_RANK_CPUS", "g0 0 4\ng1 4 1\n");
	assert_rows(db, "SELECT DISTINCT cpu FROM SCHED_EVENTS ORDER BY 1", "0\n3\n4\n");
}

static void report_without_the_ranks_is_left_out(void **state)
{
	(void)state;
	put_manifest("one", "n0", "{\"start\": " EPOCH_TEXT "}");
	add_report("r0.sqlite", "g0", 0, RANK("7", "0"));
	add_report("r1.sqlite", "g1", 0, RANK("8", "1"));
	f.ranks = "1";
	must_fetch();
	assert_rows(db, "SELECT name FROM PROCESSES", "rank 1, g1: p\n");
	assert_rows(db, "SELECT count(*) FROM META_DATA_EXPORT WHERE name = 'SL_MERGE_OF'", "0\n");
}

/* ---- ranks of reports that do not show them ---- */

static const char without_rank[] = "INSERT INTO process VALUES(7, NULL, 0, 9000);"
				   "INSERT INTO kernel VALUES(7, 100, 200, 1, 'a')";

static void rank_is_that_of_the_command_line(void **state)
{
	(void)state;
	put_manifest("one", "n0", "{\"start\": " EPOCH_TEXT "}");
	add_report("r.sqlite", "g0", 0, without_rank);
	strcat(reports[0], "=5");
	f.ranks = "5";
	must_fetch();
	assert_rows(db, "SELECT name FROM PROCESSES", "rank 5, g0: p\n");
}

static void rank_is_that_with_which_the_report_was_added(void **state)
{
	(void)state;
	put_manifest(
		"one", "n0",
		"{\"start\": " EPOCH_TEXT ", \"ranks\": [{\"rank\": 6, \"report\": \"r.sqlite\", "
		"\"source\": \"file name\"}, {\"rank\": 9, \"report\": \"r.sqlite\", \"source\": "
		"\"RANK\"}]}");
	add_report("r.sqlite", "g0", 0, without_rank);
	f.ranks = "6";
	must_fetch();
	assert_rows(db, "SELECT name FROM PROCESSES", "rank 6, g0: p\n");
}

static void report_with_no_rank_at_all_is_named(void **state)
{
	(void)state;
	/* Of two ranks with one report none is its. */
	put_manifest("one", "n0",
		     "{\"start\": " EPOCH_TEXT
		     ", \"ranks\": [{\"rank\": 6, \"report\": \"r.sqlite\", "
		     "\"source\": \"option\"}, {\"rank\": 7, \"report\": \"r.sqlite\", \"source\": "
		     "\"option\"}]}");
	add_report("r.sqlite", "g0", 0, without_rank);
	f.ranks = "6";
	assert_int_equal(fetch(), -1);
	assert_non_null(strstr(why, "rank 6 is in none of the reports, and "));
	assert_non_null(strstr(why, "r.sqlite=N"));
}

static void rank_that_is_in_no_report_is_named(void **state)
{
	(void)state;
	put_manifest("one", "n0", "{\"start\": " EPOCH_TEXT "}");
	add_report("r.sqlite", "g0", 0, two_ranks);
	f.ranks = "0,4";
	assert_int_equal(fetch(), -1);
	assert_string_equal(why, "rank 4 is in none of the reports");
	/* Not a rank that begins or ends alike. */
	f.ranks = "10";
	assert_int_equal(fetch(), -1);
	assert_int_not_equal(access(in_dir("out.sqlite"), F_OK), 0);
}

static void file_that_is_no_report_is_named(void **state)
{
	(void)state;
	put_manifest("one", "n0", "{\"start\": " EPOCH_TEXT "}");
	add_report("r.sqlite", "g0", 0, two_ranks);
	unlink(reports[0]);
	assert_int_equal(fetch(), -1);
	assert_non_null(strstr(why, "r.sqlite"));
}

/* Numbers of 2^63 in the lines of clocks: the times stop there, and nothing overflows. */
static void forged_lines_of_clocks(void **state)
{
	(void)state;
	put_manifest("one", "n0",
		     "{\"start\": -9223372036854775808, \"ranks\": [{\"rank\": 0, \"report\": "
		     "\"r.sqlite\"}, {\"rank\": 1, \"report\": \"r1.sqlite\"}]}");
	assert_int_equal(
		dataset_write_text(test_dir, in_dir("_clock/run=one.json"),
				   "{\"lines\": [{\"node\": \"n0\", \"time\": "
				   "-9223372036854775808, \"offsetNs\": 9223372036854775807, "
				   "\"driftPpb\": 9223372036854775807, \"source\": "
				   "\"collectives\"}, \"text\", 7]}",
				   why, sizeof(why)),
		0);
	add_report("r.sqlite", "g0", 0, RANK("7", "0"));
	add_report("r1.sqlite", "g0", 0, RANK("8", "1"));
	f.ranks = "0,1";
	f.time = "1s/2s";
	must_fetch();
	assert_rows(db, "SELECT count(*) FROM PROCESSES", "2\n");
}

#define FETCH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FETCH_TEST(ranks_are_numbers),
		FETCH_TEST(time_is_one_span),
		FETCH_TEST(file_that_is_there_is_replaced_on_demand_only),
		FETCH_TEST(patterns_of_names_need_a_number),
		FETCH_TEST(rank_has_its_rows_at_their_times),
		FETCH_TEST(span_is_that_of_the_run),
		FETCH_TEST(span_is_by_the_clock_of_the_reference),
		FETCH_TEST(ranks_of_two_nodes_are_on_one_axis),
		FETCH_TEST(reports_of_one_host_share_their_cpus),
		FETCH_TEST(report_without_the_ranks_is_left_out),
		FETCH_TEST(rank_is_that_of_the_command_line),
		FETCH_TEST(rank_is_that_with_which_the_report_was_added),
		FETCH_TEST(report_with_no_rank_at_all_is_named),
		FETCH_TEST(rank_that_is_in_no_report_is_named),
		FETCH_TEST(file_that_is_no_report_is_named),
		FETCH_TEST(forged_lines_of_clocks),
	};

	return cmocka_run_group_tests_name("ranks_fetch", tests, NULL, NULL);
}
