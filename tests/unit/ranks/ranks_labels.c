/* ranks_labels.c - names of processes with their ranks, and the rank of a report by its file's name or the command line. */
#include "ranks_test.h"

#include "exporters/ranks/rank_labels.h"
#include "exporters/ranks/rank_of_file.h"

/* ---- label ---- */

/* 2^24 + 7 and 2^24 + 8: the upper bits of the ids of processes 7 and 8. */
static struct rollup_processes processes = {.pairs = (char[]){"(16777223, 3), (16777224, 4)"}};
static sqlite3 *db;
static int64_t cpus;

static int label_teardown(void **state)
{
	sqlite3_close(db);
	db = NULL;
	return test_teardown(state);
}

static void label(const char *host, const char *sql)
{
	const char *path = report("r.sqlite", sql);

	snprintf(processes.host, sizeof(processes.host), "%s", host);
	sqlite3_close(db);
	db = NULL;
	if (label_report(path, &processes, &cpus, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
}

#define NO_LABELS "DROP TABLE SL_RANK_PROCESSES;"

static void processes_have_rank_and_host_in_their_names(void **state)
{
	(void)state;
	label("g077",
	      NO_LABELS "INSERT INTO process VALUES(7, NULL, 0, 1), (8, 7, 0, 1), (9, 7, 0, 1);"
			"UPDATE PROCESSES SET name = 'python3' WHERE pid = 8");
	assert_rows(db, "SELECT pid, name FROM PROCESSES ORDER BY 1",
		    "7 rank 3, g077: p\n8 rank 4, g077: python3\n9 /usr/bin/p\n");
	assert_rows(db, "SELECT globalPid, rank, host FROM SL_RANK_PROCESSES ORDER BY rank",
		    "281475094151168 3 g077\n281475110928384 4 g077\n");
}

static void processes_without_a_host_or_name(void **state)
{
	(void)state;
	label("", NO_LABELS "INSERT INTO process VALUES(7, NULL, 0, 1), (8, 7, 0, 1);"
			    "UPDATE PROCESSES SET name = NULL WHERE pid = 8");
	assert_rows(db, "SELECT name FROM PROCESSES ORDER BY pid", "rank 3: p\nrank 4\n");
	assert_rows(db, "SELECT host FROM SL_RANK_PROCESSES", "-\n-\n");
}

/* Process 8 is not in the report: a row of it would be one without a process. */
static void processes_that_are_not_there_get_no_row(void **state)
{
	(void)state;
	label("g", NO_LABELS "INSERT INTO process VALUES(7, NULL, 0, 1)");
	assert_rows(db, "SELECT count(*), min(rank) FROM SL_RANK_PROCESSES", "1 3\n");
}

static void export_of_nsys_gets_its_processes(void **state)
{
	(void)state;
	label("g", NO_LABELS "DROP TABLE PROCESSES");
	assert_rows(db, "SELECT globalPid >> 24, pid, name FROM PROCESSES ORDER BY pid",
		    "16777223 7 rank 3, g\n16777224 8 rank 4, g\n");
	assert_rows(db, "SELECT count(*) FROM SL_RANK_PROCESSES", "2\n");
}

/* What was fetched has its labels: another rank, "python" as a name. */
static void labels_that_are_there_stay(void **state)
{
	(void)state;
	label("g", "INSERT INTO process VALUES(7, NULL, 0, 1);"
		   "INSERT INTO SL_RANK_PROCESSES VALUES(7, 9, 'h')");
	assert_rows(db, "SELECT name FROM PROCESSES", "/usr/bin/p\n");
	assert_rows(db, "SELECT rank, host FROM SL_RANK_PROCESSES", "9 h\n");
}

/* A quote in the name of a host, and names of 2,000 characters. */
static void names_of_any_kind(void **state)
{
	char sql[4096], name[2001];

	(void)state;
	memset(name, 'x', 2000);
	name[2000] = 0;
	snprintf(sql, sizeof(sql),
		 NO_LABELS
		 "INSERT INTO process VALUES(7, NULL, 0, 1), (8, 7, 0, 1);"
		 "UPDATE PROCESSES SET name = CASE pid WHEN 7 THEN '/%%s/%s' ELSE 'a/' END",
		 name);
	label("o'h'); --", sql);
	assert_rows(
		db, "SELECT length(name), substr(name, 1, 20) FROM PROCESSES ORDER BY pid",
		/* "rank 3, o'h'); --: " has 19 characters; of a name that ends in a slash nothing is left. */
		"2019 rank 3, o'h'); --: x\n19 rank 4, o'h'); --: \n");
}

static void cpus_are_one_more_than_the_largest(void **state)
{
	(void)state;
	label("g", "INSERT INTO cpu VALUES(7, 7, 0, 1)");
	assert_int_equal(cpus, 1);
	label("g",
	      "INSERT INTO cpu VALUES(7, 7, 0, 1); INSERT INTO sample VALUES(7, 7, 1, 'm', 's'); "
	      "UPDATE COMPOSITE_EVENTS SET cpu = 17");
	assert_int_equal(cpus, 18);
	label("g", "");
	assert_int_equal(cpus, 0);
	label("g", "DROP TABLE SCHED_EVENTS; DROP TABLE COMPOSITE_EVENTS");
	assert_int_equal(cpus, 0);
}

/* Numbers of CPUs are added up over hosts: a million each at most. */
static void forged_numbers_of_cpus_are_bounded(void **state)
{
	(void)state;
	label("g", "INSERT INTO cpu VALUES(7, 7, 0, 1); UPDATE SCHED_EVENTS SET cpu = "
		   "9223372036854775807");
	assert_int_equal(cpus, 1 << 20);
	label("g", "INSERT INTO cpu VALUES(7, 7, 0, 1); UPDATE SCHED_EVENTS SET cpu = -5");
	assert_int_equal(cpus, 0);
}

static void file_that_is_no_report_is_named(void **state)
{
	(void)state;
	assert_int_equal(label_report(in_dir("none"), &processes, &cpus, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "/none: "));
	/* Without NULL: a table of that name with other columns. */
	assert_int_equal(label_report(report("r.sqlite", NO_LABELS
					     "DROP TABLE PROCESSES; CREATE TABLE "
					     "PROCESSES(a); INSERT INTO PROCESSES VALUES(1)"),
				      &processes, &cpus, why, sizeof(why)),
			 -1);
	assert_non_null(strstr(why, "r.sqlite: no such column"));
}

static void tables_are_made_as_the_schema_has_them(void **state)
{
	char *sql = label_table("SL_RANK_CPUS");

	(void)state;
	assert_non_null(sql);
	assert_int_equal(strncmp(sql, "CREATE TABLE SL_RANK_CPUS (", 27), 0);
	assert_string_equal(sql + strlen(sql) - 3, "\n);");
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	exec_sql(db, sql);
	sqlite3_free(sql);
	assert_rows(db, "SELECT name FROM pragma_table_info('SL_RANK_CPUS')",
		    "host\nfirstCpu\ncpus\n");
	assert_null(label_table("SL_RANK"));
}

/* ---- the rank of a report ---- */

static char word[2100];

static int rank_of(const char *pattern, const char *text, struct ranked *r)
{
	snprintf(word, sizeof(word), "%s", text);
	return ranked_report(pattern, word, r, why, sizeof(why));
}

static void assert_rank(const char *pattern, const char *text, int64_t rank, const char *path,
			const char *from)
{
	struct ranked r;

	if (rank_of(pattern, text, &r) != 0)
		fail_msg("%s: %s", text, why);
	assert_int_equal(r.rank, rank);
	assert_string_equal(r.path, path);
	if (rank >= 0)
		assert_string_equal(r.from, from);
}

static void rank_behind_the_equals_sign(void **state)
{
	(void)state;
	assert_rank(NULL, "r.sqlite", -1, "r.sqlite", "");
	assert_rank(NULL, "r.sqlite=7", 7, "r.sqlite", "option");
	assert_rank(NULL, "a=b/r.sqlite=0", 0, "a=b/r.sqlite", "option");
	assert_rank(NULL, "r=12345678", 12345678, "r", "option");
	/* More digits, none, others behind them: a part of the name. */
	assert_rank(NULL, "r=123456789", -1, "r=123456789", "");
	assert_rank(NULL, "r=", -1, "r=", "");
	assert_rank(NULL, "r=7.sqlite", -1, "r=7.sqlite", "");
	assert_rank(NULL, "r=-1", -1, "r=-1", "");
	assert_rank(NULL, "", -1, "", "");
}

static void file_with_an_equals_sign_in_its_name(void **state)
{
	const char *path;

	(void)state;
	path = in_dir("r=7");
	put_file(path, "");
	assert_rank(NULL, path, -1, path, "");
}

static void rank_in_the_name_of_the_file(void **state)
{
	(void)state;
	assert_rank("rank%r", "/x/rank5/node3-rank12.sqlite", 12, "/x/rank5/node3-rank12.sqlite",
		    "file name");
	assert_rank("%r", "r12-34", 12, "r12-34", "file name");
	assert_rank("%r.s", "r12-34.s", 34, "r12-34.s", "file name");
	/* "r" comes twice; the first has no digits behind it, the second has them, and the dash. */
	assert_rank("r%r-", "rr7-x", 7, "rr7-x", "file name");
	assert_rank("rank%r", "rank12345678", 12345678, "rank12345678", "file name");
	/* The command line is before the name. */
	assert_rank("rank%r", "rank5=6", 6, "rank5", "option");
}

static void name_without_a_number_is_refused(void **state)
{
	static const char *const names[] = {"r.sqlite", "rank.sqlite", "rank123456789",
					    "rank5/x",  "rank-5",      ""};
	struct ranked r;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(rank_of("rank%r", names[i], &r), -1);
		assert_non_null(strstr(why, ": no number where --rank-from=rank%r has %r"));
	}
	assert_int_equal(rank_of("rank", "rank5", &r), -1);
	assert_string_equal(why, "--rank-from=rank has no %r");
	/* Also where the rank is given: the pattern is wrong for all. */
	assert_int_equal(rank_of("", "rank5=5", &r), -1);
}

static void name_of_2000_characters(void **state)
{
	char name[2001];

	(void)state;
	memset(name, 'r', 2000);
	memcpy(name + 1995, "k42.s", 6);
	assert_rank("k%r.", name, 42, name, "file name");
}

#define LABEL_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, label_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LABEL_TEST(processes_have_rank_and_host_in_their_names),
		LABEL_TEST(processes_without_a_host_or_name),
		LABEL_TEST(processes_that_are_not_there_get_no_row),
		LABEL_TEST(export_of_nsys_gets_its_processes),
		LABEL_TEST(labels_that_are_there_stay),
		LABEL_TEST(names_of_any_kind),
		LABEL_TEST(cpus_are_one_more_than_the_largest),
		LABEL_TEST(forged_numbers_of_cpus_are_bounded),
		LABEL_TEST(file_that_is_no_report_is_named),
		LABEL_TEST(tables_are_made_as_the_schema_has_them),
		TEST(rank_behind_the_equals_sign),
		TEST(file_with_an_equals_sign_in_its_name),
		TEST(rank_in_the_name_of_the_file),
		TEST(name_without_a_number_is_refused),
		TEST(name_of_2000_characters),
	};

	return cmocka_run_group_tests_name("ranks_labels", tests, NULL, NULL);
}
