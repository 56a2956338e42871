/* ranks_collectives.c - collectives of NCCL: which calls, how many bytes, the communicator and the place in its order, the kernel. */
#include "ranks_test.h"

/* Rank 0 is process 7, rank 1 process 8; 6 is of no rank. */
#define RANKS                                                                             \
	"INSERT INTO process VALUES(6, NULL, 0, 9000), (7, 6, 0, 9000), (8, 6, 0, 9000);" \
	"INSERT INTO variable VALUES(7, 'RANK', '0'), (8, 'RANK', '1');"

static void roll_ranks(const char *sql)
{
	char text[8192];

	snprintf(text, sizeof(text), RANKS "%s", sql);
	roll_sql(text);
}

static void assert_seqs(const char *want)
{
	assert_rows(rolled.db,
		    "SELECT rank, commHash, seq, callStart - " EPOCH_TEXT
		    " FROM SL_COLLECTIVES ORDER BY rank, callStart, commHash",
		    want);
}

/* callStart, start, end, grouped */
static void assert_kernels(const char *want)
{
	assert_rows(rolled.db,
		    "SELECT rank, callStart - " EPOCH_TEXT ", start - " EPOCH_TEXT
		    ", end - " EPOCH_TEXT ", grouped FROM SL_COLLECTIVES ORDER BY rank, callStart",
		    want);
}

/* ---- calls ---- */

static void report_without_nccl_has_no_collectives(void **state)
{
	(void)state;
	roll_ranks("");
	assert_rows(rolled.db, "SELECT count(*) FROM SL_COLLECTIVES", "0\n");
	assert_int_equal(found.collectives, 0);
	assert_int_equal(found.unmatched, 0);
}

/* 1,000 values of type 7 (float32), 4 bytes each. */
static void collective_has_all_columns(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO mark VALUES(7, 7, 100, 500, 'step 3');"
		   "INSERT INTO comm VALUES(7, 1, 777, 2, 1, 50, NULL);"
		   "INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclAllReduce', 1, 1000, 7, 0);"
		   "INSERT INTO cuda VALUES(7, 7, 120, 130, 5, 'cudaLaunchKernel');"
		   "INSERT INTO kernel VALUES(7, 300, 400, 5, 'ncclDevKernel_AllReduce')");
	assert_rows(rolled.db,
		    "SELECT rank, step, commHash, seq, op, bytes, nRanks, commRank, callStart "
		    "- " EPOCH_TEXT ", start - " EPOCH_TEXT ", end - " EPOCH_TEXT
		    ", grouped FROM SL_COLLECTIVES",
		    "0 3 777 1 AllReduce 4000 2 1 100 300 400 1\n");
	assert_rows(rolled.db, "SELECT rank, collectives FROM SL_RANKS ORDER BY rank",
		    "0 1\n1 0\n");
	assert_int_equal(found.collectives, 1);
	assert_int_equal(found.unmatched, 0);
	assert_int_equal(found.unnamed, 0);
}

/* int8 1, uint8 1, int32 4, uint32 4, int64 8, uint64 8, float16 2, float32 4, float64 8, bfloat16 2, float8e4m3 1, float8e5m2 1 */
static void types_have_the_bytes_of_nccl(void **state)
{
	static const int bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	char sql[4096], *at = sql, want[256], *w = want;

	(void)state;
	at = stpcpy(at,
		    "INSERT INTO nccl VALUES(7, 7, 0, 1, 'ncclBcast', 1, 3, -1, 0), (7, 7, 1, 2, "
		    "'ncclBcast', 1, 3, 12, 0), (7, 7, 2, 3, 'ncclBcast', 1, NULL, 7, 0), (7, "
		    "7, 3, 4, 'ncclBcast', 1, 3, NULL, 0)");
	/* Without a type, it is 0: one byte. */
	w = stpcpy(w, "0\n0\n0\n3\n");
	for (int i = 0; i < 12; i++) {
		at += sprintf(at, ", (7, 7, %d, %d, 'ncclBcast', 1, 3, %d, 0)", 10 + i, 11 + i, i);
		w += sprintf(w, "%d\n", 3 * bytes[i]);
	}
	roll_ranks(sql);
	assert_rows(rolled.db, "SELECT bytes FROM SL_COLLECTIVES ORDER BY callStart", want);
}

static void bytes_beyond_2_to_the_63_stop_there(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO nccl VALUES(7, 7, 0, 1, 'ncclBcast', 1, 9223372036854775807, 4, 0), "
		"(7, 7, 2, 3, 'ncclBcast', 1, 9223372036854775807, 0, 0), (7, 7, 4, 5, "
		"'ncclBcast', 1, 1152921504606846976, 4, 0)");
	/* 8 * (2^63 - 1), 1 * (2^63 - 1), 8 * 2^60 = 2^63 */
	assert_rows(rolled.db, "SELECT bytes FROM SL_COLLECTIVES ORDER BY callStart",
		    "9223372036854775807\n9223372036854775807\n9223372036854775807\n");
}

static void collectives_are_known_by_their_names(void **state)
{
	static const char *const names[] = {"ncclAllReduce",
					    "ncclBroadcast",
					    "ncclBcast",
					    "ncclReduce",
					    "ncclAllGather",
					    "ncclReduceScatter",
					    "ncclAlltoAll",
					    "ncclGather",
					    "ncclScatter",
					    "ncclAllReduceConfig",
					    "ncclReduceScatterConfig"};
	static const char *const others[] = {"ncclSendX",
					     "ncclRecvs",
					     "ncclCommInitRank",
					     "ncclReduceX",
					     "ncclAllReduceConfig2",
					     "ncclAllReduc",
					     "AllReduce",
					     "nccl",
					     ""};
	char sql[4096], *at = sql;

	(void)state;
	at = stpcpy(at, "INSERT INTO nccl VALUES(6, 6, 0, 1, 'ncclAllReduce', 1, 1, 1, 0)");
	for (int i = 0; i < 11; i++)
		at += sprintf(at, ", (7, 7, %d, %d, '%s', 1, 1, 0, 0)", 10 * i, 10 * i + 1,
			      names[i]);
	for (int i = 0; i < 9; i++)
		at += sprintf(at, ", (7, 7, %d, %d, '%s', 1, 1, 0, 0)", 10 * i + 5, 10 * i + 6,
			      others[i]);
	roll_ranks(sql);
	assert_rows(rolled.db, "SELECT op FROM SL_COLLECTIVES ORDER BY callStart",
		    "AllReduce\nBroadcast\nBcast\nReduce\nAllGather\nReduceScatter\nAlltoAll\n"
		    "Gather\nScatter\nAllReduce\nReduceScatter\n");
}

static void failed_calls_and_those_of_other_libraries_are_none(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 0, 1, 'ncclAllReduce', 1, 1, 7, 5), (7, 7, 2, 3, "
		   "'ncclAllReduce', 1, 1, 7, 0);"
		   "INSERT INTO StringIds(value) VALUES('cufft');"
		   "UPDATE SL_LIBRARY_API SET library = (SELECT id FROM StringIds WHERE value = "
		   "'cufft') WHERE start = 2");
	assert_rows(rolled.db, "SELECT count(*) FROM SL_COLLECTIVES", "0\n");
}

/* 99 is before step 4, 100 in it, 200 in step 5, 300 behind it. */
static void collective_is_of_the_step_that_its_call_begins_in(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO mark VALUES(7, 7, 100, 200, 'step 4'), (7, 7, 200, 300, 'step 5');"
		   "INSERT INTO nccl VALUES(7, 7, 99, 150, 'ncclBcast', 1, 1, 0, 0), (7, 7, 100, "
		   "110, 'ncclBcast', 1, 1, 0, 0), (7, 7, 199, 250, 'ncclBcast', 1, 1, 0, 0), (7, "
		   "7, 200, 210, 'ncclBcast', 1, 1, 0, 0), (7, 7, 299, 310, 'ncclBcast', 1, 1, 0, "
		   "0), (7, 7, 300, 310, 'ncclBcast', 1, 1, 0, 0)");
	assert_rows(rolled.db, "SELECT step FROM SL_COLLECTIVES ORDER BY callStart",
		    "-\n4\n4\n5\n5\n-\n");
}

/* ---- communicators ---- */

/* Thread 70 comes first in the report, its calls are later. */
static void collectives_are_numbered_by_communicator_in_order_of_time(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO comm VALUES(7, 1, 100, 2, 0, 0, NULL), (7, 2, 200, 2, 0, 0, NULL), "
		   "(8, 1, 100, 2, 1, 0, NULL);"
		   "INSERT INTO nccl VALUES(7, 70, 500, 510, 'ncclBcast', 1, 1, 0, 0), (7, 7, 600, "
		   "610, 'ncclBcast', 1, 1, 0, 0), (7, 7, 400, 410, 'ncclBcast', 1, 1, 0, 0), (7, "
		   "7, 450, 460, 'ncclBcast', 2, 1, 0, 0), (8, 8, 900, 910, 'ncclBcast', 1, 1, 0, "
		   "0)");
	assert_seqs("0 100 1 400\n0 200 1 450\n0 100 2 500\n0 100 3 600\n1 100 1 900\n");
}

/* At one time, the thread with the smaller id is first. */
static void collectives_of_one_time_are_numbered_by_thread(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO comm VALUES(7, 1, 100, 2, 0, 0, NULL);"
		   "INSERT INTO nccl VALUES(7, 71, 500, 510, 'ncclGather', 1, 1, 0, 0), (7, 70, "
		   "500, 510, 'ncclScatter', 1, 1, 0, 0)");
	assert_rows(rolled.db, "SELECT op, seq FROM SL_COLLECTIVES ORDER BY seq",
		    "Scatter 1\nGather 2\n");
}

/* Handle 1 is of hash 100 from 10 to 500, and of 200 from 600 on; a call at the end is still of the first. */
static void handle_is_of_the_communicator_of_its_time(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO comm VALUES(7, 1, 100, 2, 0, 10, 500), (7, 1, 200, 4, 3, 600, NULL);"
		"INSERT INTO nccl VALUES(7, 7, 9, 10, 'ncclBcast', 1, 1, 0, 0), (7, 7, 10, 11, "
		"'ncclBcast', 1, 1, 0, 0), (7, 7, 500, 510, 'ncclBcast', 1, 1, 0, 0), (7, 7, "
		"501, 510, 'ncclBcast', 1, 1, 0, 0), (7, 7, 600, 610, 'ncclBcast', 1, 1, 0, 0)");
	assert_rows(rolled.db,
		    "SELECT callStart - " EPOCH_TEXT
		    ", commHash, nRanks, commRank, seq FROM SL_COLLECTIVES ORDER BY 1",
		    "9 - - - 1\n10 100 2 0 1\n500 100 2 0 2\n501 - - - 2\n600 200 4 3 1\n");
	assert_int_equal(found.unnamed, 2);
}

/* Handles 5 and 6 were made before the recording, in both processes: four communicators. */
static void communicators_from_before_the_recording_have_no_hash(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 1, 2, 'ncclBcast', 5, 1, 0, 0), (7, 7, 3, 4, "
		   "'ncclBcast', 6, 1, 0, 0), (7, 7, 5, 6, 'ncclBcast', 5, 1, 0, 0), (8, 8, 2, 3, "
		   "'ncclBcast', 5, 1, 0, 0), (8, 8, 4, 5, 'ncclBcast', NULL, 1, 0, 0)");
	assert_seqs("0 - 1 1\n0 - 1 3\n0 - 2 5\n1 - 1 2\n1 - 1 4\n");
	assert_int_equal(found.unnamed, 5);
	assert_int_equal(found.unmatched, 5);
}

static void communicator_of_another_process_is_another(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO comm VALUES(8, 1, 100, 2, 0, 0, NULL);"
		   "INSERT INTO nccl VALUES(7, 7, 1, 2, 'ncclBcast', 1, 1, 0, 0)");
	assert_seqs("0 - 1 1\n");
}

/* ---- kernels ---- */

/* The launch at 200 is behind the call [100, 200), that at 100 inside. */
static void kernel_is_that_of_the_launch_in_the_call(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclBcast', 1, 1, 0, 0), (7, 7, 300, "
		   "400, 'ncclBcast', 1, 1, 0, 0);"
		   "INSERT INTO cuda VALUES(7, 7, 100, 110, 1, 'l'), (7, 7, 200, 210, 2, 'l'), (7, "
		   "70, 310, 320, 3, 'l'), (8, 8, 310, 320, 4, 'l');"
		   "INSERT INTO kernel VALUES(7, 1000, 1100, 1, 'k'), (7, 2000, 2100, 2, 'k'), (7, "
		   "3000, 3100, 3, 'k'), (7, 4000, 4100, 4, 'k'), (7, 5000, 5100, 9, 'k'), (7, "
		   "6000, 6100, NULL, 'k')");
	/* Launch 3 is another thread's, 4 another process's. */
	assert_kernels("0 100 1000 1100 1\n0 300 - - -\n");
	assert_int_equal(found.unmatched, 1);
}

/* Id 5 is in use in both processes. */
static void correlation_ids_are_those_of_a_process(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclBcast', 1, 1, 0, 0), (8, 8, 100, "
		   "200, 'ncclBcast', 1, 1, 0, 0);"
		   "INSERT INTO cuda VALUES(8, 8, 110, 120, 5, 'l'), (7, 7, 130, 140, 5, 'l');"
		   "INSERT INTO kernel VALUES(7, 1000, 1100, 5, 'k'), (8, 2000, 2100, 5, 'k')");
	assert_kernels("0 100 1000 1100 1\n1 100 2000 2100 1\n");
}

/* cudaLaunchKernel calls cuLaunchKernel, both with id 5; the kernel is one. */
static void launch_with_two_rows_has_one_kernel(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclBcast', 1, 1, 0, 0);"
		   "INSERT INTO cuda VALUES(7, 7, 110, 130, 5, 'l'), (7, 7, 115, 120, 5, 'l');"
		   "INSERT INTO kernel VALUES(7, 1000, 1100, 5, 'k')");
	assert_kernels("0 100 1000 1100 1\n");
}

/* Id 5 is used in three calls: the kernel is that of the first, as its row comes first. */
static void kernel_of_an_id_used_again_is_that_of_the_first_launch(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclBcast', 1, 1, 0, 0), (7, 7, 300, "
		   "400, 'ncclBcast', 1, 1, 0, 0), (7, 7, 500, 600, 'ncclBcast', 1, 1, 0, 0);"
		   "INSERT INTO cuda VALUES(7, 7, 110, 130, 5, 'l'), (7, 7, 310, 330, 5, 'l'), (7, "
		   "7, 510, 530, 5, 'l');"
		   "INSERT INTO kernel VALUES(7, 1000, 1100, 5, 'k')");
	assert_kernels("0 100 1000 1100 1\n0 300 - - -\n0 500 - - -\n");
}

static void kernel_that_ends_before_it_starts_is_none(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclBcast', 1, 1, 0, 0), (7, 7, 300, "
		   "400, 'ncclBcast', 1, 1, 0, 0);"
		   "INSERT INTO cuda VALUES(7, 7, 110, 130, 5, 'l'), (7, 7, 310, 330, 6, 'l');"
		   "INSERT INTO kernel VALUES(7, 1100, 1099, 5, 'k'), (7, 1200, 1200, 6, 'k')");
	assert_kernels("0 100 - - -\n0 300 1200 1200 1\n");
}

/* Two kernels in one call: from the first start to the last end, whatever the order of the rows. */
static void collective_with_two_kernels_has_the_time_of_both(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclBcast', 1, 1, 0, 0);"
		   "INSERT INTO cuda VALUES(7, 7, 110, 120, 5, 'l'), (7, 7, 130, 140, 6, 'l');"
		   "INSERT INTO kernel VALUES(7, 1500, 1600, 6, 'k'), (7, 1000, 1700, 5, 'k')");
	assert_kernels("0 100 1000 1700 1\n");
}

/* ---- groups ---- */

#define GROUP_OF_2                                                                                \
	"INSERT INTO nccl VALUES(7, 7, 100, 101, 'ncclGroupStart', NULL, NULL, NULL, 0), (7, 7, " \
	"110, 111, 'ncclAllReduce', 1, 1, 0, 0), (7, 7, 120, 121, 'ncclAllGather', 1, 1, 0, 0), " \
	"(7, 7, 130, 200, 'ncclGroupEnd', NULL, NULL, NULL, 0), (7, 7, 300, 400, 'ncclReduce', "  \
	"1, "                                                                                     \
	"1, 0, 0);"                                                                               \
	"INSERT INTO cuda VALUES(7, 7, 140, 141, 1, 'l'), (7, 7, 150, 151, 2, 'l'), (7, 7, 160, " \
	"161, 3, 'l'), (7, 7, 310, 311, 4, 'l');"

/* As many kernels as collectives: in order of their launches, whenever they ran. */
static void group_with_a_kernel_for_each_collective(void **state)
{
	(void)state;
	roll_ranks(GROUP_OF_2 "INSERT INTO kernel VALUES(7, 1000, 1100, 2, 'k'), (7, 2000, 2100, "
			      "1, 'k'), (7, 3000, 3100, 4, 'k')");
	assert_kernels("0 110 2000 2100 1\n0 120 1000 1100 1\n0 300 3000 3100 1\n");
}

static void group_with_one_kernel_for_two_collectives(void **state)
{
	(void)state;
	roll_ranks(GROUP_OF_2
		   "INSERT INTO kernel VALUES(7, 1000, 1100, 2, 'k'), (7, 3000, 3100, 4, "
		   "'k')");
	assert_kernels("0 110 1000 1100 2\n0 120 1000 1100 2\n0 300 3000 3100 1\n");
}

static void group_with_three_kernels_has_the_time_of_all(void **state)
{
	(void)state;
	roll_ranks(GROUP_OF_2
		   "INSERT INTO kernel VALUES(7, 1000, 1100, 2, 'k'), (7, 2000, 2200, 1, "
		   "'k'), (7, 500, 600, 3, 'k'), (7, 3000, 3100, 4, 'k')");
	assert_kernels("0 110 500 2200 2\n0 120 500 2200 2\n0 300 3000 3100 1\n");
}

static void group_without_kernels(void **state)
{
	(void)state;
	roll_ranks(GROUP_OF_2 "INSERT INTO kernel VALUES(7, 3000, 3100, 4, 'k')");
	assert_kernels("0 110 - - -\n0 120 - - -\n0 300 3000 3100 1\n");
	assert_int_equal(found.unmatched, 2);
}

/* The inner group does not end the outer: the kernel is launched in the last ncclGroupEnd. */
static void groups_in_groups_are_one(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO nccl VALUES(7, 7, 100, 101, 'ncclGroupStart', NULL, NULL, NULL, 0), "
		"(7, 7, 105, 106, 'ncclGroupStart', NULL, NULL, NULL, 0), (7, 7, 110, 111, "
		"'ncclAllReduce', 1, 1, 0, 0), (7, 7, 120, 121, 'ncclGroupEnd', NULL, NULL, "
		"NULL, 0), (7, 7, 130, 131, 'ncclAllGather', 1, 1, 0, 0), (7, 7, 140, 200, "
		"'ncclGroupEnd', NULL, NULL, NULL, 0);"
		"INSERT INTO cuda VALUES(7, 7, 150, 151, 1, 'l');"
		"INSERT INTO kernel VALUES(7, 1000, 1100, 1, 'k')");
	assert_kernels("0 110 1000 1100 2\n0 130 1000 1100 2\n");
}

static void end_of_a_group_that_did_not_begin_is_nothing(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO nccl VALUES(7, 7, 90, 95, 'ncclGroupEnd', NULL, NULL, NULL, 0), (7, "
		"7, 100, 200, 'ncclAllReduce', 1, 1, 0, 0);"
		"INSERT INTO cuda VALUES(7, 7, 150, 151, 1, 'l');"
		"INSERT INTO kernel VALUES(7, 1000, 1100, 1, 'k')");
	assert_kernels("0 100 1000 1100 1\n");
}

/* The recording ended in thread 7's group; that of the next thread is none. */
static void group_without_an_end_does_not_reach_the_next_thread(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO nccl VALUES(7, 7, 100, 101, 'ncclGroupStart', NULL, NULL, NULL, 0), "
		"(7, 7, 110, 111, 'ncclAllReduce', 1, 1, 0, 0), (7, 70, 120, 200, "
		"'ncclAllGather', 1, 1, 0, 0), (7, 70, 300, 400, 'ncclAllGather', 1, 1, 0, 0);"
		"INSERT INTO cuda VALUES(7, 70, 150, 151, 1, 'l'), (7, 70, 350, 351, 2, 'l');"
		"INSERT INTO kernel VALUES(7, 1000, 1100, 1, 'k'), (7, 2000, 2100, 2, 'k')");
	assert_kernels("0 110 - - -\n0 120 1000 1100 1\n0 300 2000 2100 1\n");
}

/* A group of messages has its own kernel. */
static void kernel_of_a_group_of_sends_is_of_the_sends(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO nccl VALUES(7, 7, 100, 101, 'ncclGroupStart', NULL, NULL, NULL, 0), "
		"(7, 7, 110, 111, 'ncclSend', 1, 1, 0, 0), (7, 7, 120, 200, 'ncclGroupEnd', "
		"NULL, NULL, NULL, 0), (7, 7, 300, 400, 'ncclAllReduce', 1, 1, 0, 0);"
		"INSERT INTO cuda VALUES(7, 7, 150, 151, 1, 'l'), (7, 7, 350, 351, 2, 'l');"
		"INSERT INTO kernel VALUES(7, 1000, 1100, 1, 'k'), (7, 2000, 2100, 2, 'k')");
	assert_kernels("0 110 1000 1100 1\n0 300 2000 2100 1\n");
}

static void times_beyond_2_to_the_63_stop_there(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO nccl VALUES(7, 7, 9223372036854775806, 9223372036854775807, "
		   "'ncclAllReduce', 1, 1, 0, 0);"
		   "INSERT INTO cuda VALUES(7, 7, 9223372036854775806, 9223372036854775807, 1, "
		   "'l');"
		   "INSERT INTO kernel VALUES(7, 9223372036854775807, 9223372036854775807, 1, "
		   "'k')");
	assert_rows(rolled.db, "SELECT callStart, start, end FROM SL_COLLECTIVES",
		    "9223372036854775807 9223372036854775807 9223372036854775807\n");
}

/* ---- windows that begin late ---- */

/* The number that the program gave to the call which begins at TIME. */
#define NUMBER(time, number)                                                                  \
	"INSERT INTO SL_GPU_ARGUMENTS SELECT callId, 9, 45, " #number " FROM SL_LIBRARY_API " \
	"WHERE start = " #time ";"
#define COLLECTIVE(rank_pid, comm, time)                                          \
	"INSERT INTO nccl VALUES(" #rank_pid ", " #rank_pid ", " #time ", " #time \
	" + 1, 'ncclAllReduce', " #comm ", 1, 7, 0);"

static void numbers_of_the_program_are_kept(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO comm VALUES(7, 1, 777, 2, 1, -50, NULL);" COLLECTIVE(7, 1, 100)
			   COLLECTIVE(7, 1, 200) COLLECTIVE(7, 1, 300) COLLECTIVE(7, 1, 400)
				   NUMBER(100, 41) NUMBER(300, 44));
	/* One without a number follows the one before. */
	assert_seqs("0 777 41 100\n0 777 42 200\n0 777 44 300\n0 777 45 400\n");
}

/* Two collectives in each step; the window has cut step 21. */
static void steps_without_numbers_go_on_where_the_window_begins(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO comm VALUES(7, 1, 777, 2, 1, -50, NULL), (8, 1, 777, 2, 0, -50, "
		   "NULL), (7, 2, 1, 1, 0, -50, NULL);"
		   "INSERT INTO mark VALUES(7, 7, 100, 199, 'step'), (7, 7, 200, 299, 'step'), (7, "
		   "7, 300, 399, 'step');"
		   "INSERT INTO mark VALUES(8, 8, 205, 299, 'step'), (8, 8, 305, 399, "
		   "'step');" COLLECTIVE(7, 1, 150) COLLECTIVE(7, 1, 210) COLLECTIVE(7, 1, 220)
			   COLLECTIVE(7, 2, 230) COLLECTIVE(7, 1, 310) COLLECTIVE(8, 1, 215)
				   COLLECTIVE(8, 1, 225) COLLECTIVE(8, 1, 315) NUMBER(150, 42)
					   NUMBER(210, 43) NUMBER(220, 44) NUMBER(230, 1)
						   NUMBER(310, 45) NUMBER(215, 43) NUMBER(225, 44)
							   NUMBER(315, 45));
	assert_rows(rolled.db,
		    "SELECT rank, group_concat(step) FROM (SELECT * FROM SL_STEPS ORDER BY rank, "
		    "step) GROUP BY rank",
		    "0 21,22,23\n1 22,23\n");
	assert_rows(rolled.db,
		    "SELECT rank, group_concat(step) FROM (SELECT * FROM SL_COLLECTIVES WHERE "
		    "commHash = 777 ORDER BY rank, seq) GROUP BY rank",
		    "0 21,22,22,23\n1 22,22,23\n");
}

static void steps_from_the_begin_on_or_with_numbers_keep_theirs(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO comm VALUES(7, 1, 777, 2, 1, 0, NULL), (8, 1, 777, 2, 0, -50, NULL);"
		"INSERT INTO mark VALUES(7, 7, 100, 199, 'step'), (7, 7, 200, 299, 'step'), (7, 7, "
		"300, 399, 'step');"
		"INSERT INTO mark VALUES(8, 8, 105, 199, 'step 5'), (8, 8, 205, 299, 'step 6'), "
		"(8, 8, 305, 399, 'step 7');" COLLECTIVE(7, 1, 90) COLLECTIVE(7, 1, 110)
			COLLECTIVE(7, 1, 210) COLLECTIVE(7, 1, 310) COLLECTIVE(8, 1, 115)
				COLLECTIVE(8, 1, 215) COLLECTIVE(8, 1, 315) NUMBER(90, 1)
					NUMBER(110, 2) NUMBER(210, 3) NUMBER(310, 4) NUMBER(115, 42)
						NUMBER(215, 43) NUMBER(315, 44));
	assert_rows(rolled.db,
		    "SELECT rank, group_concat(step) FROM (SELECT * FROM SL_STEPS ORDER BY rank, "
		    "step) GROUP BY rank",
		    "0 1,2,3\n1 5,6,7\n");
}

/* ---- messages ---- */

/* Arguments peer and number of the calls of process 7, in order. */
#define PEERS(values)                                                                             \
	"INSERT INTO SL_GPU_ARGUMENTS WITH p AS (SELECT key, value FROM json_each('[" values      \
	"]')) SELECT key + 1, 5, 4, value % 100 FROM p UNION ALL SELECT key + 1, 6, 45, value / " \
	"100 FROM p WHERE value >= 100;"

/* Rank 0 of the communicator sends, rank 1 receives: both sides have one name and number, which others have not. */
static void sides_of_a_message_share_a_communicator(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO comm VALUES(7, 1, 777, 4, 0, 50, NULL), (8, 1, 777, 4, 1, 50, NULL);"
		"UPDATE SL_NCCL_COMMUNICATORS SET name = 'pp';"
		"INSERT INTO nccl VALUES(7, 7, 100, 110, 'ncclSend', 1, 10, 7, 0), (8, 8, 100, "
		"110, "
		"'ncclRecv', 1, 10, 7, 0), (7, 7, 200, 210, 'ncclRecv', 1, 10, 7, 0), (8, 8, 200, "
		"210, "
		"'ncclSend', 1, 10, 7, 0), (7, 7, 300, 310, 'ncclSend', 1, 10, 7, 0), (7, 7, 400, "
		"410, "
		"'ncclSend', 1, 10, 7, 0);" PEERS("501, 500, 101, 100, 601, 2"));
	assert_rows(rolled.db,
		    "SELECT group_concat(rank || ':' || callStart, ' '), seq, op, bytes, nRanks, "
		    "comm FROM "
		    "(SELECT rank, callStart - " EPOCH_TEXT
		    " AS callStart, commHash, seq, op, bytes, nRanks, "
		    "comm FROM SL_COLLECTIVES ORDER BY rank) GROUP BY commHash, seq ORDER BY "
		    "min(callStart), seq",
		    "0:100 1:100 5 SendRecv 40 2 pp 0 > 1\n0:200 1:200 1 SendRecv 40 2 pp 1 > "
		    "0\n0:300 6 "
		    "SendRecv 40 2 pp 0 > 1\n0:400 - SendRecv 40 2 pp 0 > 2\n");
	assert_rows(rolled.db,
		    "SELECT count(*) FROM SL_COLLECTIVES WHERE commHash IS NULL OR commHash < 0",
		    "1\n");
	assert_int_equal(found.unnamed, 1);
}

/* Of three ranks, with the rank itself or without; one that lacks a message is none. */
static void group_of_messages_with_all_ranks_is_an_all_to_all(void **state)
{
	static const char *const peers[] = {"0, 101, 101, 102, 102, 0",
					    "0, 101, 101, 301, 102, 102, 0",
					    "0, 201, 102, 101, 102, 0", "0, 101, 101, 102, 0"};
	static const char *const kinds[] = {"GSRSRE", "GSRSSRE", "GSSRRE", "GSRSE"};
	static const char *const want[] = {"AlltoAll 3 1 1\n", "SendRecv - - -\n",
					   "AlltoAll 3 2 1\n", "SendRecv - - -\n"};

	(void)state;
	for (int i = 0; i < 4; i++) {
		char sql[4096], *at = sql;

		at = stpcpy(at, "INSERT INTO comm VALUES(7, 1, 777, 3, 0, 50, NULL); INSERT INTO "
				"nccl VALUES");
		for (int n = 0; kinds[i][n]; n++)
			at += sprintf(at, "%s(7, 7, %d, %d, 'nccl%s', %s, 10, 7, 0)", n ? ", " : "",
				      100 + 10 * n, 105 + 10 * n,
				      kinds[i][n] == 'G'   ? "GroupStart"
				      : kinds[i][n] == 'E' ? "GroupEnd"
				      : kinds[i][n] == 'S' ? "Send"
							   : "Recv",
				      kinds[i][n] == 'G' || kinds[i][n] == 'E' ? "NULL" : "1");
		sprintf(at,
			"; INSERT INTO SL_GPU_ARGUMENTS WITH p AS (SELECT key, value FROM "
			"json_each('[%s]')) "
			"SELECT key + 1, 5, 4, value %% 100 FROM p UNION ALL SELECT key + 1, 6, "
			"45, value / 100 "
			"FROM p WHERE value >= 100;"
			"INSERT INTO cuda SELECT 7, 7, start + 1, start + 2, 1, 'l' FROM "
			"SL_LIBRARY_API WHERE "
			"callId = %d; INSERT INTO kernel VALUES(7, 1000, 1100, 1, 'k')",
			peers[i], (int)strlen(kinds[i]));
		roll_ranks(sql);
		assert_rows(
			rolled.db,
			"SELECT DISTINCT op, CASE op WHEN 'AlltoAll' THEN nRanks END, CASE op WHEN "
			"'AlltoAll' THEN seq END, CASE op WHEN 'AlltoAll' THEN grouped END FROM "
			"SL_COLLECTIVES",
			want[i]);
	}
}

static void messages_to_the_rank_itself_are_left_out(void **state)
{
	(void)state;
	roll_ranks("INSERT INTO comm VALUES(7, 1, 777, 4, 2, 50, NULL);"
		   "INSERT INTO nccl VALUES(7, 7, 100, 110, 'ncclSend', 1, 10, 7, 0), (7, 7, 200, "
		   "210, "
		   "'ncclRecv', 1, 10, 7, 0);" PEERS("102, 102"));
	assert_rows(rolled.db, "SELECT count(*) FROM SL_COLLECTIVES", "0\n");
}

/* ---- MPI ---- */

static void collective_of_mpi_is_its_own_kernel(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO mark VALUES(7, 7, 100, 500, 'step 3');"
		"INSERT INTO mpi_comm VALUES(7, 777, 2, 1), (8, 777, 2, 0);"
		"INSERT INTO mpi VALUES(7, 7, 110, 200, 'MPI_Allreduce', 777, 80, 5, NULL), (7, 7, "
		"300, 400, 'MPI_Barrier', 888, NULL, NULL, NULL), (7, 7, 410, 420, 'MPI_Ibarrier', "
		"777, NULL, 6, 1), (7, 7, 430, 420, 'MPI_Barrier', 777, NULL, 7, NULL), (6, 6, 1, "
		"2, "
		"'MPI_Barrier', 777, NULL, 1, NULL)");
	assert_rows(rolled.db,
		    "SELECT rank, step, commHash, seq, op, bytes, nRanks, commRank, callStart "
		    "- " EPOCH_TEXT ", start - " EPOCH_TEXT ", end - " EPOCH_TEXT
		    ", grouped FROM SL_COLLECTIVES "
		    "ORDER BY callStart",
		    "0 3 777 5 AllReduce 80 2 1 110 110 200 1\n0 3 888 1 Barrier - - - 300 300 400 "
		    "1\n0 3 777 6 Ibarrier - 2 1 410 - - -\n");
	assert_int_equal(found.collectives, 3);
	assert_int_equal(found.unmatched, 0);
	assert_int_equal(found.unnamed, 0);
}

static void operations_of_mpi_have_the_names_of_nccl(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO mpi SELECT 7, 7, 10 * key, 10 * key + 5, value, 1, 1, key, NULL FROM "
		"json_each('[\"MPI_Allreduce\", \"MPI_Allgatherv\", \"MPI_Alltoallw\", "
		"\"MPI_Reduce_scatter_block\", \"MPI_Bcast\", \"MPI_Reduce\", \"MPI_Gatherv\", "
		"\"MPI_Scatter\", \"MPI_Exscan\"]')");
	assert_rows(rolled.db,
		    "SELECT group_concat(op, ' ') FROM (SELECT op FROM SL_COLLECTIVES ORDER BY "
		    "callStart)",
		    "AllReduce AllGather AlltoAll ReduceScatter Broadcast Reduce Gather Scatter "
		    "Scan\n");
}

/* Kernels of NCCL are found by their launches, whatever stands beside them. */
static void nccl_and_mpi_in_one_program_are_both_there(void **state)
{
	(void)state;
	roll_ranks(
		"INSERT INTO comm VALUES(7, 1, 777, 2, 1, 50, NULL);"
		"INSERT INTO mpi VALUES(7, 7, 60, 70, 'MPI_Barrier', 888, NULL, 1, NULL), (7, 7, "
		"250, 260, 'MPI_Barrier', 888, NULL, 2, NULL);"
		"INSERT INTO nccl VALUES(7, 7, 100, 200, 'ncclAllReduce', 1, 1000, 7, 0);"
		"INSERT INTO cuda VALUES(7, 7, 120, 130, 5, 'cudaLaunchKernel'), (7, 7, 255, 256, "
		"6, "
		"'cudaLaunchKernel');"
		"INSERT INTO kernel VALUES(7, 300, 400, 5, 'ncclDevKernel_AllReduce'), (7, 500, "
		"600, "
		"6, 'pack')");
	assert_kernels("0 60 60 70 1\n0 100 300 400 1\n0 250 250 260 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROLL_TEST(sides_of_a_message_share_a_communicator),
		ROLL_TEST(group_of_messages_with_all_ranks_is_an_all_to_all),
		ROLL_TEST(messages_to_the_rank_itself_are_left_out),
		ROLL_TEST(collective_of_mpi_is_its_own_kernel),
		ROLL_TEST(operations_of_mpi_have_the_names_of_nccl),
		ROLL_TEST(nccl_and_mpi_in_one_program_are_both_there),
		ROLL_TEST(report_without_nccl_has_no_collectives),
		ROLL_TEST(collective_has_all_columns),
		ROLL_TEST(types_have_the_bytes_of_nccl),
		ROLL_TEST(bytes_beyond_2_to_the_63_stop_there),
		ROLL_TEST(collectives_are_known_by_their_names),
		ROLL_TEST(failed_calls_and_those_of_other_libraries_are_none),
		ROLL_TEST(collective_is_of_the_step_that_its_call_begins_in),
		ROLL_TEST(collectives_are_numbered_by_communicator_in_order_of_time),
		ROLL_TEST(collectives_of_one_time_are_numbered_by_thread),
		ROLL_TEST(handle_is_of_the_communicator_of_its_time),
		ROLL_TEST(communicators_from_before_the_recording_have_no_hash),
		ROLL_TEST(communicator_of_another_process_is_another),
		ROLL_TEST(kernel_is_that_of_the_launch_in_the_call),
		ROLL_TEST(correlation_ids_are_those_of_a_process),
		ROLL_TEST(launch_with_two_rows_has_one_kernel),
		ROLL_TEST(kernel_of_an_id_used_again_is_that_of_the_first_launch),
		ROLL_TEST(kernel_that_ends_before_it_starts_is_none),
		ROLL_TEST(collective_with_two_kernels_has_the_time_of_both),
		ROLL_TEST(group_with_a_kernel_for_each_collective),
		ROLL_TEST(group_with_one_kernel_for_two_collectives),
		ROLL_TEST(group_with_three_kernels_has_the_time_of_all),
		ROLL_TEST(group_without_kernels),
		ROLL_TEST(groups_in_groups_are_one),
		ROLL_TEST(end_of_a_group_that_did_not_begin_is_nothing),
		ROLL_TEST(group_without_an_end_does_not_reach_the_next_thread),
		ROLL_TEST(kernel_of_a_group_of_sends_is_of_the_sends),
		ROLL_TEST(times_beyond_2_to_the_63_stop_there),
		ROLL_TEST(numbers_of_the_program_are_kept),
		ROLL_TEST(steps_without_numbers_go_on_where_the_window_begins),
		ROLL_TEST(steps_from_the_begin_on_or_with_numbers_keep_theirs),
	};

	return cmocka_run_group_tests_name("ranks_collectives", tests, NULL, NULL);
}
