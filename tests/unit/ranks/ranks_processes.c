/* ranks_processes.c - which process is of which rank, by variables, communicators and parents; the columns of SL_RANKS. */
#include "ranks_test.h"

#include <limits.h>

static void assert_ranks(const char *want)
{
	assert_rows(rolled.db,
		    "SELECT rank, restart, localRank, worldSize, source, pid, ncclRank FROM "
		    "SL_RANKS ORDER BY rank, restart",
		    want);
}

/* ---- variables ---- */

static void torchrun_names_rank_restart_and_sizes(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'RANK', '3'), (7, 'LOCAL_RANK', '1'), (7, "
		 "'WORLD_SIZE', '8'), (7, 'TORCHELASTIC_RESTART_COUNT', '2')");
	assert_ranks("3 2 1 8 RANK 7 -\n");
	assert_int_equal(found.ranks, 1);
	assert_int_equal(found.steps, 0);
	assert_int_equal(found.collectives, 0);
}

/* Of Open MPI's and PMIx's the first counts; sizes and local ranks are those of the same library. */
static void mpi_names_the_rank_where_torchrun_does_not(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100), (8, NULL, 0, 100), (9, NULL, 0, 9);"
		 "INSERT INTO variable VALUES(7, 'OMPI_COMM_WORLD_RANK', '5'), (7, 'PMIX_RANK', "
		 "'6'), (7, 'OMPI_COMM_WORLD_LOCAL_RANK', '1'), (7, 'OMPI_COMM_WORLD_SIZE', '16'),"
		 "(8, 'PMI_RANK', '2'), (8, 'PMI_SIZE', '4'),"
		 "(9, 'RANK', '1'), (9, 'OMPI_COMM_WORLD_RANK', '9'), "
		 "(9, 'OMPI_COMM_WORLD_SIZE', '16')");
	/* Of rank 1 torchrun gave no WORLD_SIZE, and another source's is not taken for it. */
	assert_ranks("1 0 - - RANK 9 -\n2 0 - 4 MPI 8 -\n5 0 1 16 MPI 7 -\n");
}

static void slurm_names_ranks_of_more_than_one_task(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100), (8, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'SLURM_PROCID', '0'), (7, 'SLURM_NTASKS', '2'), "
		 "(7, 'SLURM_LOCALID', '0'), (8, 'SLURM_PROCID', '1'), (8, 'SLURM_NTASKS', '2'), "
		 "(8, 'SLURM_LOCALID', '1')");
	assert_ranks("0 0 0 2 SLURM_PROCID 7 -\n1 0 1 2 SLURM_PROCID 8 -\n");
}

/* Both ranks have task 0, so the task is a launcher's: it is of no rank. */
static void slurm_task_of_a_launcher_is_no_rank(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(6, NULL, 0, 100), (7, 6, 1, 99), (8, 6, 1, 99);"
		 "INSERT INTO variable VALUES(6, 'SLURM_PROCID', '0'), (6, 'SLURM_NTASKS', '2'), "
		 "(7, 'SLURM_PROCID', '0'), (7, 'SLURM_NTASKS', '2'), (7, 'RANK', '0'), "
		 "(8, 'SLURM_PROCID', '0'), (8, 'SLURM_NTASKS', '2'), (8, 'RANK', '1')");
	assert_ranks("0 0 - - RANK 7 -\n1 0 - - RANK 8 -\n");
}

static void index_of_a_kubernetes_job_is_the_last_source(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'JOB_COMPLETION_INDEX', '4'), (7, "
		 "'SLURM_PROCID', '9'), (7, 'SLURM_NTASKS', '1')");
	assert_ranks("4 0 - - JOB_COMPLETION_INDEX 7 -\n");
}

/* Nine digits at most, so that no rank overflows. */
static void text_that_is_no_number_is_no_rank(void **state)
{
	static const struct rollup_ask ask = {.rank = -1};
	static const char *const values[] = {"",    "abc", "-1",         "1 ",
					     "0x1", "1.5", "1234567890", "9223372036854775808"};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		char sql[256];

		snprintf(sql, sizeof(sql),
			 "INSERT INTO process VALUES(7, NULL, 0, 100); INSERT INTO variable "
			 "VALUES(7, 'RANK', '%s')",
			 values[i]);
		assert_int_equal(roll_as(report("r.sqlite", sql), &ask), -1);
		assert_non_null(strstr(why, "does not show which rank it is of"));
	}
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'RANK', '123456789')");
	assert_ranks("123456789 0 - - RANK 7 -\n");
}

/* ---- communicators ---- */

static void largest_communicator_names_the_rank(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100), (8, NULL, 0, 100);"
		 "INSERT INTO comm VALUES(7, 1, 100, 2, 1, 5, NULL), (7, 2, 200, 4, 3, 6, NULL), "
		 "(8, 3, 300, 1, 0, 7, NULL), (8, 1, 200, 4, 2, 6, NULL)");
	assert_ranks("2 0 - 4 NCCL 8 2\n3 0 - 4 NCCL 7 3\n");
}

/* Of 4 ranks a communicator of 2 has other numbers: ncclRank is only that of one with all ranks. */
static void communicator_of_some_ranks_gives_no_nccl_rank(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100), (8, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'RANK', '3'), (7, 'WORLD_SIZE', '4'), (8, "
		 "'RANK', '2'), (8, 'WORLD_SIZE', '4');"
		 "INSERT INTO comm VALUES(7, 1, 100, 2, 1, 5, NULL), (8, 1, 100, 4, 0, 5, NULL)");
	assert_ranks("2 0 - 4 RANK 8 0\n3 0 - 4 RANK 7 -\n");
}

/* ---- processes of a rank ---- */

static const char helpers[] = "INSERT INTO process VALUES(10, NULL, 0, 100), (11, 10, 1, 90), (12, "
			      "11, 2, 80), (13, 10, 1, 70);"
			      "INSERT INTO variable VALUES(10, 'RANK', '0'), (13, 'RANK', '1');";

static void assert_main(const char *more, const char *want)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), "%s%s", helpers, more);
	roll_sql(sql);
	assert_rows(rolled.db, "SELECT rank, pid FROM SL_RANKS ORDER BY rank", want);
}

static void first_process_is_main_where_none_works(void **state)
{
	(void)state;
	assert_main("", "0 10\n1 13\n");
}

static void process_with_ranges_is_main(void **state)
{
	(void)state;
	assert_main("INSERT INTO mark VALUES(11, 11, 5, 6, 'a'), (12, 12, 5, 6, 'a'), (12, 12, 7, "
		    "8, 'a'), (13, 13, 1, 2, 'a')",
		    "0 12\n1 13\n");
}

/* One kernel is more than any number of ranges. */
static void process_with_kernels_is_main(void **state)
{
	(void)state;
	assert_main("INSERT INTO mark VALUES(12, 12, 5, 6, 'a'), (12, 12, 7, 8, 'a');"
		    "INSERT INTO kernel VALUES(11, 5, 6, 1, 'k')",
		    "0 11\n1 13\n");
}

static void process_with_a_communicator_is_main(void **state)
{
	(void)state;
	assert_main("INSERT INTO kernel VALUES(11, 5, 6, 1, 'k');"
		    "INSERT INTO comm VALUES(12, 1, 100, NULL, NULL, 5, NULL)",
		    "0 12\n1 13\n");
}

/* The parents of 20 and 21 are each other, that of 22 is itself. */
static void parents_in_a_circle_come_to_an_end(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(20, 21, 0, 100), (21, 20, 0, 100), (22, 22, 0, 100);"
		 "INSERT INTO variable VALUES(20, 'RANK', '0'), (22, 'RANK', '1')");
	assert_rows(rolled.db, "SELECT rank, pid FROM SL_RANKS ORDER BY rank", "0 20\n1 22\n");
}

static void restarts_of_a_rank_are_ranks_of_their_own(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100), (8, NULL, 200, 300);"
		 "INSERT INTO variable VALUES(8, 'RANK', '3'), (7, 'RANK', '3'), (8, "
		 "'TORCHELASTIC_RESTART_COUNT', '1')");
	assert_ranks("3 0 - - RANK 7 -\n3 1 - - RANK 8 -\n");
}

static void kernel_of_a_process_without_a_row_is_of_its_rank(void **state)
{
	(void)state;
	/* No PROCESSES, no tree, as in exports of nsys: the process is known by its kernel alone. */
	const struct rollup_ask ask = {.rank = 5, .from = "file name"};

	assert_int_equal(
		roll_as(report("r.sqlite", "INSERT INTO kernel VALUES(9, 5, 8, 1, 'k')"), &ask), 0);
	assert_ranks("5 0 - - file name 9 -\n");
	assert_rows(rolled.db, "SELECT rank, n, ns FROM SL_KERNELS", "5 1 3\n");
}

/* ---- the rank of all processes ---- */

static void given_rank_is_that_of_all_processes(void **state)
{
	const struct rollup_ask ask = {.rank = 6, .from = "option"};
	const char *path = report("r.sqlite", helpers);

	(void)state;
	assert_int_equal(roll_as(path, &ask), 0);
	/* Of 10 to 13 none works more than another: the first is the main process. */
	assert_ranks("6 0 - - option 10 -\n");
}

static void report_without_processes_has_no_rank(void **state)
{
	const struct rollup_ask ask = {.rank = 0, .from = "option"}, none = {.rank = -1};

	(void)state;
	assert_int_equal(roll_as(report("r.sqlite", ""), &ask), -1);
	assert_string_equal(why, "the report has no processes");
	assert_int_equal(roll_as(report("r.sqlite", ""), &none), -1);
	assert_non_null(strstr(why, "--rank-from=PATTERN"));
}

static void file_that_is_no_report_is_refused(void **state)
{
	const struct rollup_ask ask = {.rank = 0, .from = "option"};

	(void)state;
	assert_int_equal(roll_as(in_dir("none.sqlite"), &ask), -1);
	assert_non_null(strstr(why, "none.sqlite"));
}

/* ---- columns of a rank ---- */

static void life_of_a_rank_is_that_of_its_main_process(void **state)
{
	(void)state;
	/* 8 execs at 50, its end was not seen: the wall is from 10 to 400, the end of 7. */
	roll_sql("INSERT INTO process VALUES(7, NULL, 10, 400), (8, 7, 30, 50), (8, 7, 50, NULL), "
		 "(9, 7, 30, NULL);"
		 "INSERT INTO variable VALUES(7, 'RANK', '0'), (8, 'RANK', '1'), (9, 'RANK', '2')");
	assert_rows(rolled.db,
		    "SELECT rank, start - " EPOCH_TEXT ", end - " EPOCH_TEXT
		    " FROM SL_RANKS ORDER BY rank",
		    "0 10 400\n1 30 50\n2 30 400\n");
}

static void facts_of_a_rank_are_those_of_its_report(void **state)
{
	(void)state;
	/* lost: 3 + 4; bound of the clock: the larger of 900 and 700. GPU 6 is CUDA's device 0 of process 7. */
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'RANK', '0'), (7, 'SLURM_JOB_ID', '77'), (7, "
		 "'TORCHELASTIC_RUN_ID', 'run-1');"
		 "INSERT INTO TARGET_INFO_GPU(vmId, id, name, uuid) VALUES(0, 5, 'A100', 'aaa'), "
		 "(0, 6, 'H100', 'hhh');"
		 "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(5, 1, 7, NULL, 1), (6, 0, 7, NULL, "
		 "1), (5, 0, 8, NULL, 1);"
		 "INSERT INTO SL_LOST_EVENTS VALUES(1, 2, NULL, 'a', 3), (1, 2, NULL, 'b', 4);"
		 "INSERT INTO SL_CLOCK_SNAPSHOTS VALUES(1, 1, 1, 1, 1, 5, 900), (2, 2, 2, 2, 1, 5, "
		 "700);"
		 "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, '', 'Hostname', 0, 'g077');"
		 "DELETE FROM META_DATA_EXPORT; INSERT INTO META_DATA_EXPORT VALUES('SL_COMPLETE', "
		 "'0'), ('EXPORT_PRODUCT_VERSION', '1.2')");
	assert_rows(rolled.db,
		    "SELECT host, gpuUuid, gpuName, complete, lost, clockErrorNs, report, version "
		    "FROM SL_RANKS",
		    "g077 hhh H100 0 7 900 r.sqlite 1.2\n");
	assert_string_equal(found.host, "g077");
	/* SLURM's number of the job is before torchrun's. */
	assert_string_equal(found.job, "77");
}

static void report_of_nsys_is_whole_and_its_first_gpu_is_taken(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'RANK', '0'), (7, 'TORCHELASTIC_RUN_ID', 'none'), "
		 "(7, 'PMIX_NAMESPACE', 'prterun');"
		 "INSERT INTO TARGET_INFO_GPU(vmId, id, name, uuid) VALUES(0, 6, 'H100', 'hhh'), "
		 "(0, 5, 'A100', 'aaa');"
		 "DELETE FROM META_DATA_EXPORT");
	assert_rows(rolled.db,
		    "SELECT host, gpuUuid, complete, lost, clockErrorNs, version FROM SL_RANKS",
		    "- aaa 1 0 - -\n");
	/* torchrun's run is called none where the user gave it no name. */
	assert_string_equal(found.job, "prterun");
}

static void long_names_are_cut(void **state)
{
	char sql[10000], name[2001];

	(void)state;
	memset(name, 'n', 2000);
	name[2000] = 0;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO process VALUES(7, NULL, 0, 100);"
		 "INSERT INTO variable VALUES(7, 'RANK', '0'), (7, 'SLURM_JOB_ID', '%s');"
		 "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, '', 'Hostname', 0, '%s');"
		 "INSERT INTO TARGET_INFO_GPU(vmId, id, name, uuid) VALUES(0, 6, '%s', '%s')",
		 name, name, name, name);
	roll_sql(sql);
	assert_int_equal(strlen(found.job), sizeof(found.job) - 1);
	assert_int_equal(strlen(found.host), sizeof(found.host) - 1);
	assert_rows(rolled.db,
		    "SELECT length(host), length(gpuName), length(gpuUuid) FROM SL_RANKS",
		    "255 127 63\n");
}

/* Times after the year 2262 stop at the largest number. */
static void times_beyond_2_to_the_63_stop_there(void **state)
{
	(void)state;
	roll_sql("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = 9223372036854775807;"
		 "INSERT INTO process VALUES(7, NULL, 5, 9223372036854775807);"
		 "INSERT INTO variable VALUES(7, 'RANK', '0')");
	assert_rows(rolled.db, "SELECT start, end FROM SL_RANKS",
		    "9223372036854775807 9223372036854775807\n");
}

/* ---- processes alone ---- */

static void processes_of_ranks_are_found_for_a_filter(void **state)
{
	static const struct rollup_ask ask = {.rank = -1};
	struct rollup_processes p;
	const char *path;
	/* The ids are 48 bits and more: 2^24 + 10 = 16777226 in the upper bits. */
	const char *pairs = "(16777226, 0), (16777227, 0), (16777228, 0)";

	(void)state;
	path = report("r.sqlite",
		      "INSERT INTO process VALUES(10, NULL, 0, 100), (11, 10, 1, 90), (12, 11, 2, "
		      "80), (13, 10, 1, 70); INSERT INTO variable VALUES(10, 'RANK', '0'), (13, "
		      "'RANK', '1');"
		      "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, '', 'Hostname', 0, 'g077')");
	assert_int_equal(rollup_processes(path, &ask, "0,5", &p, why, sizeof(why)), 0);
	assert_string_equal(p.pids, "10,11,12");
	assert_string_equal(p.ranks, "0");
	assert_string_equal(p.pairs, pairs);
	assert_string_equal(p.host, "g077");
	assert_int_equal(p.epoch, EPOCH);
	assert_true(p.is_ranked);
	assert_false(p.is_merged);
	rollup_processes_free(&p);
	assert_null(p.pids);
	/* The report has ranks, but not this one. */
	assert_int_equal(rollup_processes(path, &ask, "5", &p, why, sizeof(why)), 0);
	assert_null(p.pids);
	assert_true(p.is_ranked);
	rollup_processes_free(&p);
}

static void report_that_was_fetched_is_merged(void **state)
{
	static const struct rollup_ask ask = {.rank = -1};
	struct rollup_processes p;
	const char *path = report("r.sqlite",
				  "INSERT INTO META_DATA_EXPORT VALUES('SL_MERGE_OF', 'a.sqlite')");

	(void)state;
	assert_int_equal(rollup_processes(path, &ask, "0", &p, why, sizeof(why)), 0);
	assert_true(p.is_merged);
	assert_false(p.is_ranked);
	rollup_processes_free(&p);
	assert_int_equal(rollup_processes(in_dir("none"), &ask, "0", &p, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "none"));
	/* Not numbers: one sentence, which names the file. */
	path = report("h.sqlite", helpers);
	assert_int_equal(rollup_processes(path, &ask, "x", &p, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "h.sqlite: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROLL_TEST(torchrun_names_rank_restart_and_sizes),
		ROLL_TEST(mpi_names_the_rank_where_torchrun_does_not),
		ROLL_TEST(slurm_names_ranks_of_more_than_one_task),
		ROLL_TEST(slurm_task_of_a_launcher_is_no_rank),
		ROLL_TEST(index_of_a_kubernetes_job_is_the_last_source),
		ROLL_TEST(text_that_is_no_number_is_no_rank),
		ROLL_TEST(largest_communicator_names_the_rank),
		ROLL_TEST(communicator_of_some_ranks_gives_no_nccl_rank),
		ROLL_TEST(first_process_is_main_where_none_works),
		ROLL_TEST(process_with_ranges_is_main),
		ROLL_TEST(process_with_kernels_is_main),
		ROLL_TEST(process_with_a_communicator_is_main),
		ROLL_TEST(parents_in_a_circle_come_to_an_end),
		ROLL_TEST(restarts_of_a_rank_are_ranks_of_their_own),
		ROLL_TEST(kernel_of_a_process_without_a_row_is_of_its_rank),
		ROLL_TEST(given_rank_is_that_of_all_processes),
		ROLL_TEST(report_without_processes_has_no_rank),
		ROLL_TEST(file_that_is_no_report_is_refused),
		ROLL_TEST(life_of_a_rank_is_that_of_its_main_process),
		ROLL_TEST(facts_of_a_rank_are_those_of_its_report),
		ROLL_TEST(report_of_nsys_is_whole_and_its_first_gpu_is_taken),
		ROLL_TEST(long_names_are_cut),
		ROLL_TEST(times_beyond_2_to_the_63_stop_there),
		TEST(processes_of_ranks_are_found_for_a_filter),
		TEST(report_that_was_fetched_is_merged),
	};

	return cmocka_run_group_tests_name("ranks_processes", tests, NULL, NULL);
}
