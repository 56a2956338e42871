/* ranks_rollups.c - the tables of a roll-up that are one query each: kernels, calls, files, losses, clocks; by minute. */
#include "ranks_test.h"

#include <mntent.h>

#include "exporters/ranks/rollup_internal.h"

/* Rank 0 is process 7 with its helper 9, rank 1 process 8; 6 is of no rank. A minute is 60,000,000,000 ns; session time 0 is in the 20th. */
#define RANKS                                                                                     \
	"INSERT INTO process VALUES(6, NULL, 0, 9000), (7, 6, 0, 9000), (8, 6, 0, 9000), (9, 7, " \
	"0, 9000);"                                                                               \
	"INSERT INTO variable VALUES(7, 'RANK', '0'), (8, 'RANK', '1');"

static void assert_kernels(const char *want)
{
	assert_rows(rolled.db,
		    "SELECT rank, minute, name, n, ns, minNs, maxNs FROM SL_KERNELS ORDER BY rank, "
		    "minute, name",
		    want);
}

static void assert_calls(const char *want)
{
	assert_rows(rolled.db,
		    "SELECT rank, minute, library, name, n, ns, maxNs FROM SL_CALLS ORDER BY rank, "
		    "minute, library, name",
		    want);
}

static void assert_files(const char *want)
{
	assert_rows(rolled.db,
		    "SELECT rank, minute, mount, path, op, n, bytes, ns, maxNs FROM SL_FILES ORDER "
		    "BY rank, minute, path, op",
		    want);
}

static void report_without_events_has_no_rows(void **state)
{
	(void)state;
	roll_sql(RANKS);
	assert_kernels("");
	assert_calls("");
	assert_files("");
	assert_rows(rolled.db, "SELECT count(*) FROM SL_LOST", "0\n");
	assert_rows(rolled.db, "SELECT count(*) FROM SL_CLOCK", "0\n");
	assert_int_equal(rolled.misfits, 0);
}

/* ---- kernels ---- */

/* gemm: 100, 300 in minute 20; 7 at its last ns; 50 in minute 21. Two processes of rank 0 add up: 20 + 100 + 300 + 7. */
static void kernels_are_summed_by_minute_name_and_rank(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO kernel VALUES(7, 0, 100, 1, 'gemm'), (7, 200, 500, 2, 'gemm'), "
		       "(7, 59999999999, 60000000006, 3, 'gemm'), (7, 60000000000, 60000000050, 4, "
		       "'gemm'), (9, 5, 25, 1, 'gemm'), (7, 5, 6, 5, 'relu'), (8, 0, 1, 1, "
		       "'gemm'), (6, 0, 1000, 1, 'gemm')");
	assert_kernels(
		"0 20 gemm 4 427 7 300\n0 20 relu 1 1 1 1\n0 21 gemm 1 50 50 50\n1 20 gemm 1 "
		"1 1 1\n");
}

/* 5 to 5 lasts 0 ns; 6 to 5 is forged. The name of the second is in no row of StringIds. */
static void kernels_of_no_time_count_and_those_of_less_do_not(void **state)
{
	(void)state;
	roll_sql(RANKS
		 "INSERT INTO kernel VALUES(7, 5, 5, 1, 'a'), (7, 6, 5, 2, 'a'), (7, 6, 9, 3, "
		 "'b'); UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 12345 WHERE "
		 "correlationId = 3");
	assert_kernels("0 20 - 1 3 3 3\n0 20 a 1 0 0 0\n");
}

static void kernel_name_of_2000_characters_is_whole(void **state)
{
	char sql[4096], name[2001], want[2100];

	(void)state;
	memset(name, 'k', 2000);
	name[2000] = 0;
	snprintf(sql, sizeof(sql), RANKS "INSERT INTO kernel VALUES(7, 0, 10, 1, '%s')", name);
	snprintf(want, sizeof(want), "0 20 %s 1 10 10 10\n", name);
	roll_sql(sql);
	assert_kernels(want);
}

/* ---- calls ---- */

static void calls_are_summed_by_library(void **state)
{
	(void)state;
	/* read: 10 + 30; one of class 31 is no call of libc. */
	roll_sql(RANKS
		 "INSERT INTO libc VALUES(7, 7, 0, 10, 'read', '/a/b', 5), (9, 90, 20, 50, 'read', "
		 "NULL, NULL), (7, 7, 60000000000, 60000000001, 'read', NULL, NULL), (7, 7, 0, 7, "
		 "'write', NULL, NULL), (6, 6, 0, 7, 'read', NULL, NULL), (7, 7, 9, 8, 'read', "
		 "NULL, NULL), (7, 7, 0, 1000, 'syscall', NULL, NULL);"
		 "UPDATE OSRT_API SET eventClass = 31 WHERE end = 1000;"
		 "INSERT INTO cuda VALUES(8, 8, 0, 4, 1, 'cudaMalloc'), (8, 8, 10, 16, 2, "
		 "'cudaMalloc');"
		 "INSERT INTO nccl VALUES(8, 8, 0, 3, 'ncclBcast', 1, 1, 1, 0);"
		 "INSERT INTO StringIds(value) VALUES('cublasSgemm');"
		 "INSERT INTO CUBLAS_EVENTS SELECT 0, 11, 29, 8 * 16777216 + 8 + 281474976710656, "
		 "id, 90, 0, NULL FROM StringIds WHERE value = 'cublasSgemm'");
	assert_calls("0 20 libc read 2 40 30\n0 20 libc write 1 7 7\n0 21 libc read 1 1 1\n"
		     "1 20 cublas cublasSgemm 1 11 11\n1 20 cuda cudaMalloc 2 10 6\n"
		     "1 20 nccl ncclBcast 1 3 3\n");
}

/* Ids that no row of StringIds has. */
static void calls_without_a_name_or_library_are_left_out(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO libc VALUES(7, 7, 0, 10, 'read', NULL, NULL);"
		       "INSERT INTO nccl VALUES(7, 7, 0, 3, 'ncclBcast', 1, 1, 1, 0);"
		       "UPDATE OSRT_API SET nameId = 12345; UPDATE SL_LIBRARY_API SET library = "
		       "12346");
	assert_calls("");
}

/* 2^63 - 1 - (-5) does not fit: SQLite's number is a real one, which the column does not take; or the sum stops. */
static void call_that_lasts_2_to_the_63_leaves_the_others(void **state)
{
	const struct rollup_ask ask = {.rank = -1};

	(void)state;
	assert_int_equal(
		roll_as(report("r.sqlite", RANKS
			       "INSERT INTO libc VALUES(7, 7, -5, 9223372036854775807, 'read', "
			       "NULL, NULL), (7, 7, 5, 6, 'write', NULL, NULL);"
			       "INSERT INTO kernel VALUES(8, -9223372036854775807, "
			       "9223372036854775807, 1, 'k')"),
			&ask),
		0);
	assert_rows(rolled.db, "SELECT n, ns FROM SL_CALLS WHERE name = 'write'", "1 1\n");
	assert_rows(rolled.db, "SELECT name, n FROM SL_KERNELS", "k 1\n");
}

/* ---- files ---- */

/* Names of SL_FUNCTIONS decide where it has rows; here there are none, so the words do. */
static void files_are_summed_by_path_and_operation(void **state)
{
	(void)state;
	roll_sql(RANKS
		 "INSERT INTO libc VALUES(7, 7, 0, 10, 'pread64', '/data/set/a', 100), (9, 9, 20, "
		 "50, '__read_chk', '/data/set/a', 200), (7, 7, 0, 7, 'write', '/data/set/a', 40), "
		 "(7, 7, 5, 7, 'openat', '/data/set/a', NULL), (7, 7, 60000000000, 60000000003, "
		 "'read', '/data/set/a', 5), (8, 8, 0, 1, 'read', '/data/set/b', 0), (6, 6, 0, 9, "
		 "'read', '/data/set/a', 1), (7, 7, 1, 2, 'lseek', '/data/set/a', NULL), (7, 7, 9, "
		 "8, 'read', '/data/set/a', 7)");
	assert_files("0 20 /data/set /data/set/a open 1 - 2 2\n"
		     "0 20 /data/set /data/set/a read 2 300 40 30\n"
		     "0 20 /data/set /data/set/a write 1 40 7 7\n"
		     "0 21 /data/set /data/set/a read 1 5 3 3\n"
		     "1 20 /data/set /data/set/b read 1 0 1 1\n");
}

static void functions_of_the_report_decide_what_reads(void **state)
{
	(void)state;
	roll_sql(RANKS
		 "INSERT INTO libc VALUES(7, 7, 0, 10, 'read', '/data/set/a', 100), (7, 7, 0, "
		 "20, 'my_own_read', '/data/set/a', 200);"
		 "INSERT INTO SL_FUNCTIONS SELECT id, 1, 3, 0, 'read', 'object', 0, 1, 0 FROM "
		 "StringIds WHERE value = "
		 "'my_own_read'");
	assert_files("0 20 /data/set /data/set/a read 1 200 20 20\n");
}

static void files_of_the_kernel_are_none(void **state)
{
	(void)state;
	roll_sql(RANKS
		 "INSERT INTO libc VALUES(7, 7, 0, 1, 'read', '/dev/null', 1), (7, 7, 0, 1, "
		 "'read', '/proc/self/maps', 1), (7, 7, 0, 1, 'read', '/sys/x', 1), (7, 7, 0, "
		 "1, 'read', 'pipe:[7]', 1), (7, 7, 0, 1, 'read', '/', 1), (7, 7, 0, 1, "
		 "'read', '', 1), (7, 7, 0, 1, 'read', NULL, 1), (7, 7, 0, 1, 'read', "
		 "'/devs/x', 1), (7, 7, 0, 1, 'read', '/processed/x', 1)");
	assert_files(
		"0 20 /devs /devs/x read 1 1 1 1\n0 20 /processed /processed/x read 1 1 1 1\n");
}

/* Of another machine its mounts are not known: two folders, as far as there are. */
static void files_of_another_machine_are_by_their_first_two_folders(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, '', 'Hostname', 0, "
		       "'no-such-host');"
		       "INSERT INTO libc VALUES(7, 7, 0, 1, 'read', '/f', 1), (7, 7, 0, 1, 'read', "
		       "'/a/f', 1), (7, 7, 0, 1, 'read', '/a/b/f', 1), (7, 7, 0, 1, 'read', "
		       "'/a/b/c/f', 1)");
	assert_rows(rolled.db, "SELECT path, mount FROM SL_FILES ORDER BY path",
		    "/a/b/c/f /a/b\n/a/b/f /a/b\n/a/f /a\n/f /\n");
}

/* The longest mount point that the path is below, as statfs would say. */
static void longest_mount(const char *path, char best[4096])
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	const struct mntent *e;

	assert_non_null(f);
	strcpy(best, "/");
	while ((e = getmntent(f))) {
		size_t len = strlen(e->mnt_dir);

		if (len > strlen(best) && strncmp(path, e->mnt_dir, len) == 0 && path[len] == '/')
			snprintf(best, 4096, "%s", e->mnt_dir);
	}
	endmntent(f);
}

static void files_of_this_machine_are_by_mount(void **state)
{
	char sql[8192], path[3000], beside[3000], host[256] = "", want[9000], one[4096], two[4096];
	FILE *f = setmntent("/proc/self/mounts", "re");
	const struct mntent *e;

	(void)state;
	assert_non_null(f);
	strcpy(path, "/none/here");
	while ((e = getmntent(f)))
		if (strlen(e->mnt_dir) > 1 && strncmp(e->mnt_dir, "/dev", 4) != 0 &&
		    strncmp(e->mnt_dir, "/proc", 5) != 0 && strncmp(e->mnt_dir, "/sys", 4) != 0 &&
		    !strchr(e->mnt_dir, '\''))
			snprintf(path, sizeof(path), "%.2000s/a/b", e->mnt_dir);
	endmntent(f);
	/* "/mnt" is not the mount of "/mnt2/a/b". */
	snprintf(beside, sizeof(beside), "%.*s2/a/b", (int)strlen(path) - 4, path);
	gethostname(host, sizeof(host) - 1);
	snprintf(sql, sizeof(sql),
		 RANKS "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, '', 'Hostname', 0, '%s');"
		       "INSERT INTO libc VALUES(7, 7, 0, 1, 'read', '%s', 1), (7, 7, 0, 1, 'read', "
		       "'%s', 1), (7, 7, 0, 1, 'read', '/zzzz/y/x/f', 1)",
		 host, path, beside);
	roll_sql(sql);
	longest_mount(path, one);
	longest_mount(beside, two);
	snprintf(want, sizeof(want), "%s\n%s\n/\n", one, two);
	assert_rows(rolled.db, "SELECT mount FROM SL_FILES ORDER BY bytes, path", want);
}

/* ---- losses and clocks ---- */

/* 3 + 4 of rank 0, the others are of no thread, or of a process without a rank. */
static void losses_are_summed_by_rank(void **state)
{
	(void)state;
	roll_sql(RANKS
		 "INSERT INTO SL_LOST_EVENTS VALUES(1, 2, 7 * 16777216 + 7 + 281474976710656, "
		 "'full', 3), (1, 2, 9 * 16777216 + 90 + 281474976710656, 'full', 4), (1, 2, "
		 "NULL, 'full', 5), (1, 2, 6 * 16777216 + 6 + 281474976710656, 'full', 6), "
		 "(1, 2, 8 * 16777216 + 8 + 281474976710656, 'torn', 1)");
	assert_rows(rolled.db, "SELECT * FROM SL_LOST ORDER BY rank, what",
		    "- full 11\n0 full 7\n1 torn 1\n");
	assert_rows(rolled.db, "SELECT DISTINCT lost FROM SL_RANKS", "19\n");
}

static void clocks_are_as_the_report_has_them(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO SL_CLOCK_SNAPSHOTS VALUES(1, 2, 3, 4, 1, 5, 6), (7, 8, 9, 10, "
		       "NULL, NULL, NULL)");
	assert_rows(rolled.db, "SELECT * FROM SL_CLOCK ORDER BY realtime",
		    "2 3 1 5 6\n8 9 - - -\n");
}

/* Texts where numbers are due: NULL, and counted. */
static void values_of_another_type_are_null_and_counted(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO SL_CLOCK_SNAPSHOTS VALUES(1, 'x', 3, 4, 1.5, 5, 6)");
	assert_rows(rolled.db, "SELECT * FROM SL_CLOCK", "- 3 - 5 6\n");
	assert_int_equal(rolled.misfits, 2);
}

/* ---- look-ups ---- */

static void process_is_found_among_those_of_ranks(void **state)
{
	struct rank ranks[2] = {{.rank = 5}, {.rank = 6}};
	struct rank_process processes[] = {{10, 0}, {20, 1}, {30, 0}};
	struct rollup r = {.ranks = ranks, .ranks_cnt = 2, .processes = processes};

	(void)state;
	assert_null(rollup_rank(&r, 10));
	r.processes_cnt = 3;
	assert_null(rollup_rank(&r, 9));
	assert_ptr_equal(rollup_rank(&r, 10), &ranks[0]);
	assert_null(rollup_rank(&r, 11));
	assert_ptr_equal(rollup_rank(&r, 20), &ranks[1]);
	assert_ptr_equal(rollup_rank(&r, 30), &ranks[0]);
	assert_null(rollup_rank(&r, 31));
	assert_null(rollup_rank(&r, INT64_MAX));
}

/* A step has its start and not its end; 15 is between two. */
static void time_is_found_in_its_step(void **state)
{
	struct rank_step steps[] = {
		{.start = 0, .end = 10}, {.start = 20, .end = 30}, {.start = 30, .end = 40}};
	struct rank k = {.steps = steps};

	(void)state;
	assert_null(rollup_step(&k, 5));
	k.steps_cnt = 3;
	assert_null(rollup_step(&k, -1));
	assert_ptr_equal(rollup_step(&k, 0), &steps[0]);
	assert_ptr_equal(rollup_step(&k, 9), &steps[0]);
	assert_null(rollup_step(&k, 10));
	assert_null(rollup_step(&k, 15));
	assert_ptr_equal(rollup_step(&k, 29), &steps[1]);
	assert_ptr_equal(rollup_step(&k, 30), &steps[2]);
	assert_null(rollup_step(&k, 40));
}

/* An elastic agent starts rank 1 again: process 10. */
static void sums_are_of_one_start_of_the_rank(void **state)
{
	(void)state;
	roll_sql(
		RANKS
		"INSERT INTO process VALUES(10, NULL, 5000, 9000); INSERT INTO variable VALUES(10, "
		"'RANK', '1'), (10, 'TORCHELASTIC_RESTART_COUNT', '2');"
		"INSERT INTO kernel VALUES(8, 0, 10, 1, 'k'), (10, 0, 30, 1, 'k');"
		"INSERT INTO libc VALUES(8, 8, 0, 5, 'read', '/data/a/b', 1), (10, 10, 0, 7, "
		"'read', "
		"'/data/a/b', 1)");
	for (int i = 0; i < 3; i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "SELECT rank, restart, ns FROM SL_%s ORDER BY restart",
			 (const char *[]){"KERNELS", "FILES", "CALLS"}[i]);
		assert_rows(rolled.db, sql, i ? "1 0 5\n1 2 7\n" : "1 0 10\n1 2 30\n");
	}
}

/* Both ranks see both GPUs; rank 0 launches more kernels on the second. A counter of the host, and a reading that is not known. */
static void health_is_that_of_the_gpu_with_most_kernels(void **state)
{
	(void)state;
	roll_sql(RANKS
		 "INSERT INTO TARGET_INFO_GPU(vmId, id, uuid, name) VALUES(0, 0, 'u0', 'g'), (0, "
		 "1, 'u1', 'g');"
		 "INSERT INTO TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid) VALUES(0, 0, 7), (1, 1, "
		 "7), (0, 0, 8), (1, 1, 8);"
		 "INSERT INTO kernel VALUES(7, 0, 10, 1, 'k'), (7, 20, 30, 1, 'k'), (7, 40, 50, 1, "
		 "'k'), (8, 0, 10, 1, 'k');"
		 "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1 WHERE globalPid & 0xff000000 "
		 "= 7 << 24 AND start >= 20;"
		 "INSERT INTO SL_COUNTERS VALUES(1, 'gpu', 0, 'g', 0, 'SM Clock', 'Hz', 0), (2, "
		 "'gpu', 1, 'g', 1, 'SM Clock', 'Hz', 0), "
		 "(3, 'gpu', 1, 'g', 1, 'Throttled: Power', 'ns', 1), (4, 'host', NULL, 'h', NULL, "
		 "'Load', '', 0);"
		 "INSERT INTO SL_COUNTER_SAMPLES VALUES(1, 0, 100.0), (2, 0, 10.4), (2, 1, 20.2), "
		 "(2, 60000000000, 7.0), (2, 2, NULL), "
		 "(3, 5, 1e6), (4, 0, 1.0);"
		 "INSERT INTO SL_GPU_EVENTS(timestamp, gpuId, kind, code) VALUES(3, 1, 'xid', 31), "
		 "(4, 1, 'xid', 31), (5, 0, 'lost', NULL)");
	assert_rows(rolled.db,
		    "SELECT rank, minute, name, unit, isSum, n, total, least, most, restart FROM "
		    "SL_GPU_HEALTH ORDER BY rank, minute, name",
		    "0 20 SM Clock Hz 0 2 31 10 20 0\n0 20 Throttled: Power ns 1 1 1000000 1000000 "
		    "1000000 0\n"
		    "0 20 xid 31 events 1 2 2 1 1 0\n0 21 SM Clock Hz 0 1 7 7 7 0\n"
		    "1 20 SM Clock Hz 0 1 100 100 100 0\n1 20 lost events 1 1 1 1 1 0\n");
	assert_rows(rolled.db, "SELECT rank, gpuUuid FROM SL_RANKS ORDER BY rank", "0 u1\n1 u0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROLL_TEST(health_is_that_of_the_gpu_with_most_kernels),
		ROLL_TEST(sums_are_of_one_start_of_the_rank),
		ROLL_TEST(report_without_events_has_no_rows),
		ROLL_TEST(kernels_are_summed_by_minute_name_and_rank),
		ROLL_TEST(kernels_of_no_time_count_and_those_of_less_do_not),
		ROLL_TEST(kernel_name_of_2000_characters_is_whole),
		ROLL_TEST(calls_are_summed_by_library),
		ROLL_TEST(calls_without_a_name_or_library_are_left_out),
		ROLL_TEST(call_that_lasts_2_to_the_63_leaves_the_others),
		ROLL_TEST(files_are_summed_by_path_and_operation),
		ROLL_TEST(functions_of_the_report_decide_what_reads),
		ROLL_TEST(files_of_the_kernel_are_none),
		ROLL_TEST(files_of_another_machine_are_by_their_first_two_folders),
		ROLL_TEST(files_of_this_machine_are_by_mount),
		ROLL_TEST(losses_are_summed_by_rank),
		ROLL_TEST(clocks_are_as_the_report_has_them),
		ROLL_TEST(values_of_another_type_are_null_and_counted),
		ROLL_TEST(process_is_found_among_those_of_ranks),
		ROLL_TEST(time_is_found_in_its_step),
	};

	return cmocka_run_group_tests_name("ranks_rollups", tests, NULL, NULL);
}
