/* ranks_merge.c - reports of several nodes as one: the axis of time, and numbers of rows, processes, names, GPUs and CPUs. */
#include "ranks_test.h"

#include "exporters/ranks/merge.h"

#define FIRST_FREE 12582912 /* 2^23 + 2^22: the first id of a process whose own is taken */

static struct merge_part parts[4];
static sqlite3 *merged;

static const struct merge_part *add_part(size_t i, const char *sql)
{
	static char names[4][16], paths[4][256];

	snprintf(names[i], sizeof(names[i]), "p%zu.sqlite", i);
	snprintf(paths[i], sizeof(paths[i]), "%s", report(names[i], sql));
	parts[i] =
		(struct merge_part){.path = paths[i], .name = names[i], .host = "", .epoch = EPOCH};
	return &parts[i];
}

static void merge(size_t cnt, int64_t origin)
{
	sqlite3_close(merged);
	merged = NULL;
	if (merge_reports(in_dir("all.sqlite"), parts, cnt, origin, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	assert_int_equal(sqlite3_open(in_dir("all.sqlite"), &merged), SQLITE_OK);
}

static int merge_teardown(void **state)
{
	sqlite3_close(merged);
	merged = NULL;
	memset(parts, 0, sizeof(parts));
	return test_teardown(state);
}

/* ---- the axis ---- */

static void assert_axis(const char *want)
{
	assert_rows(merged, "SELECT start, end FROM OSRT_API ORDER BY rowid", want);
}

static const char calls[] = "INSERT INTO libc VALUES(7, 7, 0, 10, 'read', NULL, NULL), (7, 7, "
			    "2000000000, 3000000000, 'read', NULL, NULL), (7, 7, 3000000001, "
			    "4000000000, 'read', NULL, NULL)";

/* The result begins 500 before the part. */
static void time_0_is_the_origin(void **state)
{
	(void)state;
	add_part(0, calls);
	merge(1, EPOCH - 500);
	assert_axis("500 510\n2000000500 3000000500\n3000000501 4000000500\n");
	/* 20 minutes less 500 ns after 1970 */
	assert_rows(merged, "SELECT utcEpochNs, utcTime FROM TARGET_INFO_SESSION_START_TIME",
		    "1199999999500 1970-01-01T00:19:59\n");
}

/*
 * Before 3 s: 1,000 ahead, and 1 of 10^6 more: at 0 s 1,000, at 2 s 1,000 + 2,000; a fraction is cut off. From
 * 3 s on: 5,000 behind. The first line holds before its time, too.
 */
static void times_are_moved_by_the_line_in_force(void **state)
{
	static const struct merge_line lines[] = {{EPOCH, 1000, 1000},
						  {EPOCH + 3000000000, -5000, 0}};

	(void)state;
	add_part(0, calls);
	parts[0].lines = lines;
	parts[0].lines_cnt = 2;
	merge(1, EPOCH);
	assert_axis("1000 1010\n2000003000 2999995000\n2999995001 3999995000\n");
	parts[0].epoch = EPOCH - 1000000000;
	merge(1, EPOCH - 1000000000);
	/* At -1 s: 1,000 - 1,000, and 10 ns later 1,000 - 999.99999, which is cut to -999; at 1 s: 1,000 + 1,000; at 2 s, and a ns after: 1,000 + 2,000; at 3 s: -5,000. */
	assert_axis("0 11\n2000002000 3000003000\n3000003001 3999995000\n");
}

static void length_is_to_the_latest_time(void **state)
{
	(void)state;
	add_part(0, "INSERT INTO libc VALUES(7, 7, 0, 10, 'read', NULL, NULL);"
		    "DELETE FROM ANALYSIS_DETAILS; INSERT INTO ANALYSIS_DETAILS VALUES(0, 100, 5, "
		    "105)");
	add_part(1, "INSERT INTO libc VALUES(8, 8, 0, 50, 'read', NULL, NULL)");
	parts[1].epoch = EPOCH + 1000;
	merge(2, EPOCH);
	assert_rows(merged, "SELECT duration, startTime, stopTime FROM ANALYSIS_DETAILS",
		    "1050 0 1050\n");
	/* What ran longer than its rows stays as long. */
	merge(1, EPOCH);
	assert_rows(merged, "SELECT duration, startTime, stopTime FROM ANALYSIS_DETAILS",
		    "100 0 100\n");
}

/* A file that was never opened or closed has 0 there. */
static void time_0_of_files_stays_0(void **state)
{
	(void)state;
	add_part(0, "INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES(1, 7, 0, 70, '/f')");
	merge(1, EPOCH - 500);
	assert_rows(merged, "SELECT openedAt, closedAt FROM OSRT_FILE_ACCESS_DESCRIPTORS",
		    "0 570\n");
}

static void times_beyond_2_to_the_63_stop_there(void **state)
{
	static const struct merge_line line = {INT64_MIN, INT64_MAX, INT64_MAX};

	(void)state;
	add_part(0, "INSERT INTO libc VALUES(7, 7, 9223372036854775807, -9223372036854775807, "
		    "'read', NULL, NULL)");
	merge(1, 0);
	/* -(2^63 - 1) + 1.2 * 10^12 */
	assert_axis("9223372036854775807 -9223370836854775807\n");
	parts[0].lines = &line;
	parts[0].lines_cnt = 1;
	merge(1, INT64_MIN);
	assert_axis("9223372036854775807 9223372036854775807\n");
}

/* ---- numbers ---- */

static const char one_rank[] = "INSERT INTO process VALUES(7, 1, 0, 100);"
			       "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(3, 0, 7, NULL, 1);"
			       "INSERT INTO TARGET_INFO_GPU(vmId, id, name) VALUES(0, 3, 'H100');"
			       "INSERT INTO cuda VALUES(7, 70, 0, 1, 5, 'cudaLaunchKernel');"
			       "INSERT INTO kernel VALUES(7, 2, 3, 5, 'gemm');"
			       "INSERT INTO nccl VALUES(7, 70, 0, 1, 'ncclBcast', 99, 8, 7, 0);"
			       "INSERT INTO cpu VALUES(7, 70, 5, 1);"
			       "INSERT INTO mark VALUES(7, 70, 0, 1, 'step')";

/* Two nodes have process 7 with thread 70: those of the second get numbers that no process has. */
static void processes_of_two_nodes_get_ids_of_their_own(void **state)
{
	(void)state;
	add_part(0, one_rank);
	add_part(1, one_rank);
	merge(2, EPOCH);
	assert_rows(merged, "SELECT count(DISTINCT globalPid), count(DISTINCT pid) FROM PROCESSES",
		    "2 2\n");
	/* The upper 8 bits are the number of the part, the next 8 are the machine's. */
	assert_rows(
		merged,
		"SELECT globalPid >> 56, globalPid >> 48 & 255, globalPid & 16777215, (globalPid "
		">> 24 & 16777215) = pid, pid = 7, pid >= 12582912 FROM PROCESSES ORDER BY 1",
		"0 1 0 1 1 0\n1 1 0 1 0 1\n");
	/* Each table has the same process, by its whole id and by its plain one. */
	assert_rows(
		merged,
		"SELECT count(*) FROM PROCESSES AS p JOIN CUPTI_ACTIVITY_KIND_KERNEL USING "
		"(globalPid) JOIN TARGET_INFO_CUDA_DEVICE AS d USING (pid) JOIN SCHED_EVENTS AS s "
		"ON s.globalTid >> 24 = p.globalPid >> 24 JOIN NVTX_EVENTS AS n ON n.globalTid = "
		"s.globalTid JOIN SL_LIBRARY_API AS l ON l.globalTid = s.globalTid",
		"2\n");
	/* The parent 1 is not in the report, and is another one on each node. */
	assert_rows(merged, "SELECT count(DISTINCT parentGlobalPid) FROM SL_PROCESS_TREE", "2\n");
}

/* What is free is so for the parts together: node 3 has process 7 again, and FIRST_FREE of its own. */
static void ids_that_were_given_are_not_given_twice(void **state)
{
	(void)state;
	add_part(0, "INSERT INTO process VALUES(7, NULL, 0, 100)");
	add_part(1, "INSERT INTO process VALUES(7, NULL, 0, 100), (8, 7, 0, 100)");
	add_part(2, "INSERT INTO process VALUES(7, NULL, 0, 100), (12582912, 7, 0, 100), (9, 7, 0, "
		    "100)");
	merge(3, EPOCH);
	assert_rows(merged,
		    "SELECT count(*), count(DISTINCT globalPid), count(DISTINCT pid) FROM "
		    "PROCESSES",
		    "6 6 6\n");
	assert_rows(merged, "SELECT pid FROM PROCESSES WHERE pid < 100 ORDER BY 1", "7\n8\n9\n");
	assert_int_equal(FIRST_FREE, 1 << 23 | 1 << 22);
	assert_rows(merged, "SELECT min(pid), max(pid) FROM PROCESSES WHERE pid > 100",
		    "12582912 12582914\n");
}

/* Readers hold ids as signed 32-bit integers: small ones follow those of the part before, whose last is 5; 0 and NULL are no rows. */
static void rows_of_the_second_part_have_other_numbers(void **state)
{
	(void)state;
	add_part(0, one_rank);
	add_part(1, one_rank);
	merge(2, EPOCH);
	assert_rows(merged, "SELECT correlationId, callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
		    "5 -\n10 -\n");
	assert_rows(merged, "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL", "5\n10\n");
	/* Values of arguments are handles and counts, and stay. */
	assert_rows(merged, "SELECT callId, role, value FROM SL_GPU_ARGUMENTS ORDER BY 1, 2",
		    "1 26 8\n1 27 7\n1 30 99\n6 26 8\n6 27 7\n6 30 99\n");
	assert_rows(merged, "SELECT eventId FROM NVTX_EVENTS", "1\n6\n");
}

/* Ids that are large already, as those of graphs and of older reports are, keep to numbers above: of no part are they small ones. */
static void large_numbers_of_rows_stay_apart(void **state)
{
	(void)state;
	add_part(0, "INSERT INTO cuda VALUES(7, 7, 0, 1, 4294967301, 'l'), (7, 7, 0, 1, "
		    "2147483647, 'l')");
	add_part(1, "INSERT INTO cuda VALUES(8, 8, 0, 1, 4294967301, 'l'), (8, 8, 0, 1, 3, 'l'), "
		    "(8, 8, 0, 1, 2147483648, 'l')");
	merge(2, EPOCH);
	assert_rows(merged, "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
		    "4294967301\n2147483647\n1103806595077\n2147483650\n1101659111424\n");
}

/* 256 GPUs for each part. */
static void gpus_of_the_second_part_have_other_numbers(void **state)
{
	(void)state;
	add_part(0, one_rank);
	add_part(1, one_rank);
	merge(2, EPOCH);
	assert_rows(merged, "SELECT id FROM TARGET_INFO_GPU", "3\n259\n");
	assert_rows(merged, "SELECT gpuId, cudaId FROM TARGET_INFO_CUDA_DEVICE", "3 0\n259 0\n");
}

/* A name that both have keeps one number; "ours" is number 2 here, as "theirs" is there. */
static void names_that_both_have_are_one(void **state)
{
	char name[2001], a[5000], b[5000];

	(void)state;
	memset(name, 'x', 2000);
	name[2000] = 0;
	snprintf(a, sizeof(a),
		 "DELETE FROM StringIds; INSERT INTO StringIds VALUES(1, 'read'), (2, 'ours'), (3, "
		 "'%s'); INSERT INTO libc VALUES(7, 7, 0, 1, 'ours', '%s', NULL)",
		 name, name);
	snprintf(b, sizeof(b),
		 "DELETE FROM StringIds; INSERT INTO StringIds VALUES(5, 'read'), (2, 'theirs'), "
		 "(1, "
		 "'%s'); INSERT INTO libc VALUES(8, 8, 0, 1, 'theirs', '%s', NULL), (8, 8, 2, 3, "
		 "'read', NULL, NULL)",
		 name, name);
	add_part(0, a);
	add_part(1, b);
	merge(2, EPOCH);
	assert_rows(merged, "SELECT id, substr(value, 1, 6) FROM StringIds ORDER BY id",
		    "1 read\n2 ours\n3 xxxxxx\n5 theirs\n");
	assert_rows(merged, "SELECT nameId, pathId FROM OSRT_API", "2 3\n5 3\n1 -\n");
}

/* An id that StringIds does not have is moved as a row is, so that it meets no name of another part. */
static void ids_without_a_name_meet_no_other_name(void **state)
{
	(void)state;
	add_part(0,
		 "DELETE FROM StringIds; INSERT INTO libc VALUES(7, 7, 0, 1, 'read', NULL, NULL)");
	add_part(1, "INSERT INTO libc VALUES(8, 8, 0, 1, 'read', NULL, NULL); UPDATE OSRT_API SET "
		    "nameId = 1; DELETE FROM StringIds");
	merge(2, EPOCH);
	assert_rows(merged, "SELECT nameId FROM OSRT_API", "1\n2\n");
}

/* Each machine has a CPU 0: those of the second begin at 4. */
static void cpus_of_another_host_have_other_numbers(void **state)
{
	(void)state;
	add_part(0, one_rank);
	add_part(1, one_rank);
	add_part(2, one_rank);
	parts[0].host = "g0";
	parts[0].cpus = 4;
	parts[1].host = "g1";
	parts[1].first_cpu = 4;
	parts[1].cpus = 2;
	parts[2].host = "g0";
	parts[2].cpus = 4;
	merge(3, EPOCH);
	assert_rows(merged, "SELECT cpu FROM SCHED_EVENTS", "0\n4\n0\n");
	assert_rows(merged, "SELECT * FROM SL_RANK_CPUS", "g0 0 4\ng1 4 2\n");
	/* One host: the table would say nothing. */
	merge(1, EPOCH);
	assert_rows(merged,
		    "SELECT count(*) FROM sqlite_master WHERE name = 'SL_RANK_CPUS' AND "
		    "EXISTS (SELECT 1 FROM SL_RANK_CPUS)",
		    "0\n");
}

/* ---- tables ---- */

static void tables_of_the_whole_file_are_those_of_the_first(void **state)
{
	(void)state;
	add_part(0, "INSERT INTO META_DATA_EXPORT VALUES('a', '1')");
	add_part(1, "INSERT INTO META_DATA_EXPORT VALUES('b', '2');"
		    "INSERT INTO SL_CLOCK_SNAPSHOTS VALUES(1, 2, 3, 4, 1, 5, 6);"
		    "INSERT INTO SL_FUNCTIONS(nameId, library, io, isStdio) VALUES(1, 1, 3, 0)");
	merge(2, EPOCH);
	assert_rows(merged, "SELECT name FROM META_DATA_EXPORT WHERE length(name) = 1", "a\n");
	assert_rows(merged, "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_MERGE_OF'",
		    "p0.sqlite\np1.sqlite\n");
	assert_rows(merged, "SELECT count(*) FROM TARGET_INFO_SESSION_START_TIME", "1\n");
	assert_rows(merged, "SELECT count(*) = count(DISTINCT id) FROM ENUM_NSYS_EVENT_TYPE",
		    "1\n");
	/* Clocks of one machine are no others'. */
	assert_rows(merged, "SELECT count(*) FROM sqlite_master WHERE name = 'SL_CLOCK_SNAPSHOTS'",
		    "0\n");
	assert_rows(merged, "SELECT count(*) FROM SL_FUNCTIONS", "1\n");
}

/* A table and a column that only one of them has; the first part decides on the columns. */
static void tables_and_columns_that_one_part_has(void **state)
{
	(void)state;
	add_part(0, "CREATE TABLE \"we\"\"ird\"(start, \"na\"\"me\"); INSERT INTO \"we\"\"ird\" "
		    "VALUES(1, 'a')");
	add_part(1,
		 "CREATE TABLE \"we\"\"ird\"(start, more, \"na\"\"me\"); INSERT INTO "
		 "\"we\"\"ird\" VALUES(2, 'x', 'b'); CREATE TABLE own(start, globalPid); INSERT "
		 "INTO own VALUES(3, NULL); CREATE INDEX by_start ON own(start); CREATE VIEW both "
		 "AS SELECT * FROM own; CREATE VIEW broken AS SELECT * FROM no_table");
	parts[1].epoch = EPOCH + 1000;
	merge(2, EPOCH);
	assert_rows(merged, "SELECT * FROM \"we\"\"ird\"", "1 a\n1002 b\n");
	assert_rows(merged, "SELECT * FROM own", "1003 -\n");
	assert_rows(merged, "SELECT * FROM both", "1003 -\n");
	assert_rows(merged, "SELECT count(*) FROM sqlite_master WHERE name = 'by_start'", "1\n");
}

/* Whatever the type, no value is lost. */
static void values_that_are_no_numbers_stay(void **state)
{
	(void)state;
	add_part(0, "");
	add_part(1,
		 "CREATE TABLE odd(correlationId, nameId, cpu, typeId, globalPid, pid, start);"
		 "INSERT INTO odd VALUES('a', 'b', 'c', 'd', 'e', 'f', 'g'), (1.5, 2.5, 3.5, 4.5, "
		 "5.5, 6.5, 7.5), (NULL, NULL, NULL, NULL, NULL, NULL, NULL), (0, 0, 0, 0, 0, 0, "
		 "0)");
	parts[1].first_cpu = 8;
	parts[1].cpus = 1;
	merge(2, EPOCH);
	/* Of processes and times nothing but a number makes sense. Number 0 of a name is the empty one, which both have. */
	assert_rows(merged, "SELECT * FROM odd",
		    "a b c d - - -\n1.5 2.5 3.5 4.5 - - -\n- - - - - - -\n0 0 8 256 0 0 0\n");
}

static void numbers_beyond_2_to_the_63_do_not_overflow(void **state)
{
	(void)state;
	add_part(0, "");
	add_part(1, "CREATE TABLE odd(correlationId, typeId, cpu, globalPid, pid);"
		    "INSERT INTO odd VALUES(9223372036854775807, 9223372036854775807, "
		    "9223372036854775807, 9223372036854775807, 9223372036854775807), "
		    "(-9223372036854775808, -9223372036854775808, -9223372036854775808, "
		    "-9223372036854775808, -1)");
	parts[1].first_cpu = 8;
	parts[1].cpus = INT64_MAX;
	merge(2, EPOCH);
	assert_rows(merged, "SELECT count(*) FROM odd", "2\n");
}

/* Of the tables of events and facts; those of the collector's own state are in no copy of a report. */
#define KEPT                                                                                      \
	"type = 'table' AND name NOT LIKE 'ENUM%' AND name NOT LIKE 'sqlite%' AND name NOT LIKE " \
	"'SL_LIVE%' AND name NOT IN ('SL_STATE', 'SL_PENDING_GPU')"

/* One row of ones in each table, of two nodes: all of them are there twice, with keys of their own. */
static void every_table_of_the_schema_is_merged(void **state)
{
	static const char ones[] =
		"SELECT 'INSERT OR REPLACE INTO \"' || m.name || '\" VALUES(' || group_concat('1', "
		"',') || ');' FROM (SELECT name FROM sqlite_master WHERE " KEPT
		") AS m JOIN pragma_table_info(m.name) GROUP BY m.name";
	static const char counts[] = "SELECT 'SELECT ''' || name || ''' AS name, count(*) AS cnt "
				     "FROM \"' || name || '\" "
				     "UNION ALL' FROM sqlite_master WHERE " KEPT;
	sqlite3 *db;
	char *sql;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	exec_sql(db, schema_text());
	sql = strdup(rows(db, ones));
	sqlite3_close(db);
	add_part(0, sql);
	add_part(1, sql);
	free(sql);
	merge(2, EPOCH);
	assert_true(asprintf(&sql,
			     "SELECT name, cnt FROM (%s SELECT NULL, 2) WHERE cnt <> 2 ORDER BY 1",
			     rows(merged, counts)) > 0);
	/* Those of the whole file are the first part's (two of them have two rows there); settings have two rows SL_MERGE_OF more. Functions are shared by name. */
	assert_rows(merged, sql, "META_DATA_CAPTURE 1\nMETA_DATA_EXPORT 3\nSL_FUNCTIONS 1\n");
	free(sql);
}

/* ---- merged again ---- */

/* The first part was made of three: the second is number 3, so its call 5 is 3 * 2^40 + 5. */
static void parts_that_were_merged_keep_their_numbers(void **state)
{
	(void)state;
	add_part(0,
		 "INSERT INTO META_DATA_EXPORT VALUES('SL_MERGE_OF', 'x'), ('SL_MERGE_OF', 'y'), "
		 "('SL_MERGE_OF', 'z');"
		 "INSERT INTO cuda VALUES(7, 7, 0, 1, 5, 'l')");
	add_part(1, "INSERT INTO cuda VALUES(8, 8, 0, 1, 5, 'l')");
	add_part(2, "INSERT INTO META_DATA_EXPORT VALUES('SL_MERGE_OF', 'u'), ('SL_MERGE_OF', 'v');"
		    "INSERT INTO cuda VALUES(9, 9, 0, 1, 5, 'l')");
	add_part(3, "INSERT INTO cuda VALUES(10, 10, 0, 1, 5, 'l')");
	merge(4, EPOCH);
	assert_rows(merged, "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
		    "5\n10\n15\n20\n");
	assert_rows(merged, "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_MERGE_OF'",
		    "x\ny\nz\np1.sqlite\nu\nv\np3.sqlite\n");
}

/* SL_RANK_CPUS of the part has the hosts that it is of. */
static void cpus_of_hosts_of_a_merged_part_stay(void **state)
{
	(void)state;
	add_part(0, "INSERT INTO SL_RANK_CPUS VALUES('a', 0, 2), ('b', 2, 2)");
	add_part(1, "");
	parts[0].host = "a";
	parts[0].cpus = 4;
	parts[1].host = "";
	parts[1].first_cpu = 4;
	parts[1].cpus = 3;
	merge(2, EPOCH);
	assert_rows(merged, "SELECT * FROM SL_RANK_CPUS", "a 0 2\nb 2 2\n- 4 3\n");
}

/* ---- failures ---- */

static void nothing_stays_of_a_merge_that_fails(void **state)
{
	(void)state;
	add_part(0, "");
	add_part(1, "");
	parts[1].path = "/nowhere/at/all.sqlite";
	assert_int_equal(merge_reports(in_dir("all.sqlite"), parts, 2, EPOCH, why, sizeof(why)),
			 -1);
	assert_int_not_equal(strlen(why), 0);
	assert_int_not_equal(access(in_dir("all.sqlite"), F_OK), 0);
	/* What is no database. */
	parts[1].path = in_dir("text");
	put_file(parts[1].path,
		 "no database, though it is longer than the head of one would be, by far and away");
	assert_int_equal(merge_reports(in_dir("all.sqlite"), parts, 2, EPOCH, why, sizeof(why)),
			 -1);
	assert_int_not_equal(access(in_dir("all.sqlite"), F_OK), 0);
	assert_int_equal(merge_reports("/nowhere/all.sqlite", parts, 1, EPOCH, why, sizeof(why)),
			 -1);
}

static void file_that_was_there_is_replaced(void **state)
{
	(void)state;
	put_file(in_dir("all.sqlite"), "something else");
	add_part(0, calls);
	merge(1, EPOCH);
	assert_rows(merged, "SELECT count(*) FROM OSRT_API", "3\n");
}

#define MERGE_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, merge_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MERGE_TEST(time_0_is_the_origin),
		MERGE_TEST(times_are_moved_by_the_line_in_force),
		MERGE_TEST(length_is_to_the_latest_time),
		MERGE_TEST(time_0_of_files_stays_0),
		MERGE_TEST(times_beyond_2_to_the_63_stop_there),
		MERGE_TEST(processes_of_two_nodes_get_ids_of_their_own),
		MERGE_TEST(ids_that_were_given_are_not_given_twice),
		MERGE_TEST(rows_of_the_second_part_have_other_numbers),
		MERGE_TEST(large_numbers_of_rows_stay_apart),
		MERGE_TEST(gpus_of_the_second_part_have_other_numbers),
		MERGE_TEST(names_that_both_have_are_one),
		MERGE_TEST(ids_without_a_name_meet_no_other_name),
		MERGE_TEST(cpus_of_another_host_have_other_numbers),
		MERGE_TEST(tables_of_the_whole_file_are_those_of_the_first),
		MERGE_TEST(tables_and_columns_that_one_part_has),
		MERGE_TEST(values_that_are_no_numbers_stay),
		MERGE_TEST(numbers_beyond_2_to_the_63_do_not_overflow),
		MERGE_TEST(every_table_of_the_schema_is_merged),
		MERGE_TEST(parts_that_were_merged_keep_their_numbers),
		MERGE_TEST(cpus_of_hosts_of_a_merged_part_stay),
		MERGE_TEST(nothing_stays_of_a_merge_that_fails),
		MERGE_TEST(file_that_was_there_is_replaced),
	};

	return cmocka_run_group_tests_name("ranks_merge", tests, NULL, NULL);
}
