/* gpu_comms.c - communicators of NCCL as the shim keeps them: names, numbers of calls, announcements in each window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "preload/gpu/gpu_comms.c" /* NOLINT(bugprone-suspicious-include): with what it calls replaced */

__thread struct sl_tls sl_tls;
struct sl_proc sl_proc;
const volatile uint32_t sl_no_gate = 1;

static struct sl_gpu_comm told[64];
static unsigned told_cnt;

static void put_record(unsigned kind, const void *payload, size_t bytes)
{
	assert_int_equal(kind, SL_GPU_REC_COMM);
	assert_int_equal(bytes, sizeof(told[0]));
	assert_true(told_cnt < 64);
	memcpy(&told[told_cnt++], payload, bytes);
}

static int ranks_of(void *comm, int *cnt)
{
	*cnt = comm == (void *)0xa8 ? 4 : 2;
	return 0;
}

static int rank_of(void *comm, int *rank)
{
	*rank = comm == (void *)0xa8 ? 3 : 1;
	return 0;
}

/* The line of a function, as it is bound. */
static struct sl_gpu_comm_use use_of(unsigned number)
{
	struct sl_gpu_comm_use use = {0};
	struct sl_gpu_use uses[SL_GPU_ARGS];
	const char *at = sl_gpu_text;
	struct sl_gpu_line line;
	int cnt;

	for (unsigned i = 0; i <= number; i++)
		at = sl_gpu_next(at, &line);
	cnt = sl_gpu_uses(line.roles, uses);
	sl_gpu_comm_place(line.name, uses, cnt, &use);
	return use;
}

struct ask {
	uint64_t start, config;
	bool is_closed;
	uint32_t result;
};

static uint64_t call_with(struct ask a, unsigned function, const uint64_t *words)
{
	struct sl_gpu_comm_use use = use_of(function);

	assert_int_not_equal(use.kind, SL_GPU_COMM_NONE);
	return sl_gpu_comm_called(&(struct sl_gpu_comm_call){.use = &use,
							     .word = words,
							     .config = a.config,
							     .start = a.is_closed ? 0 : a.start,
							     .result = a.result,
							     .is_recorded = !a.is_closed,
							     .put = put_record,
							     .count = ranks_of,
							     .own = rank_of});
}
#define CALL(name, ...) \
	call_with((struct ask){.start = 100}, SL_G_##name, (const uint64_t[]){__VA_ARGS__})
#define CLOSED(name, ...) \
	call_with((struct ask){.is_closed = true}, SL_G_##name, (const uint64_t[]){__VA_ARGS__})
/* comm, ranks, rank, hash of the id */
#define MAKE(how, handle, hash) how(ncclCommInitRank, handle, 8, 3, hash)
/* src dst count type op comm stream */
#define REDUCE(how, handle) how(ncclAllReduce, 1, 2, 3, 7, 0, handle, 0)
/* of, made, colour, key */
#define SPLIT(how, handle, made, color) how(ncclCommSplit, handle, made, (uint32_t)(color), 0)

static int setup(void **state)
{
	(void)state;
	sl_gpu_comms_open();
	memset(comms, 0, sizeof(*comms));
	told_cnt = 0;
	return 0;
}

static void functions_have_their_kinds(void **state)
{
	(void)state;
	assert_int_equal(use_of(SL_G_ncclCommInitRank).kind, SL_GPU_COMM_MADE);
	assert_int_equal(use_of(SL_G_ncclCommInitRankScalable).kind, SL_GPU_COMM_MADE);
	assert_int_equal(use_of(SL_G_ncclCommInitAll).kind, SL_GPU_COMM_MADE);
	assert_int_equal(use_of(SL_G_ncclCommSplit).kind, SL_GPU_COMM_SPLIT);
	assert_int_equal(use_of(SL_G_ncclCommGrow).kind, SL_GPU_COMM_SPLIT);
	assert_int_equal(use_of(SL_G_ncclCommDestroy).kind, SL_GPU_COMM_ENDED);
	assert_int_equal(use_of(SL_G_pncclCommAbort).kind, SL_GPU_COMM_ENDED);
	assert_int_equal(use_of(SL_G_ncclBcast).kind, SL_GPU_COMM_COLLECTIVE);
	assert_int_equal(use_of(SL_G_ncclAllGatherConfig).kind, SL_GPU_COMM_COLLECTIVE);
	assert_int_equal(use_of(SL_G_ncclSend).kind, SL_GPU_COMM_SEND);
	assert_int_equal(use_of(SL_G_ncclRecv).kind, SL_GPU_COMM_RECEIVE);
	assert_int_equal(use_of(SL_G_ncclCommFinalize).kind, SL_GPU_COMM_NONE);
	assert_int_equal(use_of(SL_G_ncclWaitSignal).kind, SL_GPU_COMM_NONE);
	assert_int_equal(use_of(SL_G_ncclGroupEnd).kind, SL_GPU_COMM_NONE);
	assert_int_equal(use_of(SL_G_cudaMalloc).kind, SL_GPU_COMM_NONE);
}

static void calls_are_counted_while_nothing_is_recorded(void **state)
{
	(void)state;
	MAKE(CLOSED, 0xa0, 77);
	for (int i = 1; i <= 41; i++)
		assert_int_equal(REDUCE(CLOSED, 0xa0), i);
	assert_int_equal(told_cnt, 0);
	assert_int_equal(REDUCE(CALL, 0xa0), 42);
	assert_int_equal(told_cnt, 1);
	assert_int_equal(told[0].hash, 77);
	assert_int_equal(told[0].handle, 0xa0);
	assert_int_equal(told[0].flags, SL_GPU_COMM_HAS_HASH | SL_GPU_COMM_HAS_RANKS);
	assert_int_equal(told[0].ranks, 8);
	assert_int_equal(told[0].rank, 3);
	assert_true(told[0].made && told[0].made <= sl_mono_ns());
}

static void windows_announce_it_once_and_long_ones_again(void **state)
{
	const uint64_t words[] = {1, 2, 3, 7, 0, 0xa0, 0};

	(void)state;
	MAKE(CALL, 0xa0, 77);
	assert_int_equal(told_cnt, 1);
	REDUCE(CALL, 0xa0);
	REDUCE(CALL, 0xa0);
	assert_int_equal(told_cnt, 1);
	comms->comm[place_of(0xa0) % COMM_CNT].gate = 7; /* another window */
	REDUCE(CALL, 0xa0);
	assert_int_equal(told_cnt, 2);
	call_with((struct ask){.start = 99 + ANNOUNCE_TICKS}, SL_G_ncclAllReduce, words);
	assert_int_equal(told_cnt, 2);
	call_with((struct ask){.start = 100 + ANNOUNCE_TICKS}, SL_G_ncclAllReduce, words);
	assert_int_equal(told_cnt, 3);
	assert_memory_equal(&told[0], &told[2], sizeof(told[0]));
}

/* Two ranks, here of one process: the same parents, numbers and colours have the same names. */
static void splits_have_names_that_their_ranks_share(void **state)
{
	(void)state;
	MAKE(CLOSED, 0xa0, 77);
	MAKE(CLOSED, 0xb0, 77);
	SPLIT(CLOSED, 0xa0, 0xa8, 1);
	SPLIT(CALL, 0xb0, 0xb8, 1);
	SPLIT(CALL, 0xa0, 0, -1); /* in no part, and counts */
	SPLIT(CLOSED, 0xb0, 0xc0, 1);
	SPLIT(CLOSED, 0xa0, 0xc8, 1);
	SPLIT(CLOSED, 0xb0, 0xd0, 1);
	assert_int_equal(told_cnt, 0); /* it may not be ready */
	REDUCE(CALL, 0xa8);
	REDUCE(CALL, 0xb8);
	REDUCE(CALL, 0xc0);
	REDUCE(CALL, 0xc8);
	REDUCE(CALL, 0xd0);
	assert_int_equal(told_cnt, 5);
	assert_int_equal(told[0].parent, 77);
	assert_true(told[0].hash == told[1].hash);
	assert_true(told[2].hash != told[1].hash);
	assert_true(told[3].hash == told[4].hash);
	assert_int_equal(told[0].flags,
			 SL_GPU_COMM_HAS_HASH | SL_GPU_COMM_HAS_PARENT | SL_GPU_COMM_HAS_RANKS);
	assert_int_equal(told[0].ranks, 4);
	assert_int_equal(told[0].rank, 3);
}

static void one_that_was_made_unseen_has_neither_name_nor_numbers(void **state)
{
	(void)state;
	assert_int_equal(REDUCE(CALL, 0xa0), 0);
	SPLIT(CALL, 0xa0, 0xa8, 1);
	assert_int_equal(REDUCE(CALL, 0xa8), 0);
	assert_int_equal(told_cnt, 2);
	assert_int_equal(told[0].flags, SL_GPU_COMM_HAS_RANKS);
	assert_int_equal(told[1].flags, SL_GPU_COMM_HAS_RANKS);
}

static void a_handle_that_is_used_again_is_another(void **state)
{
	(void)state;
	MAKE(CALL, 0xa0, 77);
	assert_int_equal(REDUCE(CALL, 0xa0), 1);
	CALL(ncclCommDestroy, 0xa0);
	MAKE(CALL, 0xa0, 78);
	assert_int_equal(REDUCE(CALL, 0xa0), 1);
	MAKE(CALL, 0xa0, 79); /* its end was not seen */
	assert_int_equal(REDUCE(CALL, 0xa0), 1);
	assert_int_equal(told_cnt, 3);
	assert_int_equal(told[2].hash, 79);
}

/* src or dst, count, type, peer, comm, stream */
static void sends_and_receives_are_counted_by_peer(void **state)
{
	(void)state;
	MAKE(CALL, 0xa0, 77);
	assert_int_equal(CALL(ncclSend, 1, 3, 7, 0, 0xa0, 0), 1);
	assert_int_equal(CALL(ncclSend, 1, 3, 7, 1, 0xa0, 0), 1);
	assert_int_equal(CLOSED(ncclSend, 1, 3, 7, 0, 0xa0, 0), 2);
	assert_int_equal(CALL(ncclRecv, 1, 3, 7, 0, 0xa0, 0), 1);
	assert_int_equal(REDUCE(CALL, 0xa0), 1);
	CALL(ncclCommDestroy, 0xa0);
	MAKE(CALL, 0xa0, 78);
	assert_int_equal(CALL(ncclSend, 1, 3, 7, 0, 0xa0, 0), 1);
}

static void many_find_no_place_and_harm_none(void **state)
{
	unsigned known = 0;

	(void)state;
	for (uint64_t i = 1; i <= 2 * COMM_CNT; i++)
		MAKE(CLOSED, i * 64, i);
	for (uint64_t i = 1; i <= 2 * COMM_CNT; i++) {
		struct comm *m = find(comms, i * 64);

		assert_true(!m || m->hash == i);
		known += m != NULL;
	}
	assert_in_range(known, COMM_CNT / 2, COMM_CNT);
	assert_int_equal(CLOSED(ncclAllReduce, 1, 2, 3, 7, 0, 3, 0), 0); /* no address */
	assert_int_equal(CLOSED(ncclAllReduce, 1, 2, 3, 7, 0, 0, 0), 0);
}

static void its_name_is_that_of_the_configuration(void **state)
{
	struct {
		uint64_t bytes;
		uint32_t magic, version;
		int32_t numbers[4];
		const char *net;
		int32_t more[2];
		const char *name;
	} config = {sizeof(config), 0xcafebeef, 22700, {0}, NULL, {0}, "tp"};
	const uint64_t words[] = {0xa0, 8, 3, 77};
	char longer[200];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	for (int i = 0; i < 5; i++) {
		config.magic = i == 1 ? 1 : 0xcafebeef;
		config.bytes = i == 2 ? 48 : sizeof(config); /* of a version without names */
		config.name = i == 3 ? NULL : i == 4 ? longer : "tp";
		call_with((struct ask){.start = 100, .config = (uint64_t)(uintptr_t)&config},
			  SL_G_ncclCommInitRankConfig, words);
	}
	assert_string_equal(told[0].name, "tp");
	for (int i = 1; i < 4; i++)
		assert_string_equal(told[i].name, "");
	assert_int_equal(strlen(told[4].name), SL_GPU_COMM_NAME - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(functions_have_their_kinds, setup),
		cmocka_unit_test_setup(calls_are_counted_while_nothing_is_recorded, setup),
		cmocka_unit_test_setup(windows_announce_it_once_and_long_ones_again, setup),
		cmocka_unit_test_setup(splits_have_names_that_their_ranks_share, setup),
		cmocka_unit_test_setup(one_that_was_made_unseen_has_neither_name_nor_numbers,
				       setup),
		cmocka_unit_test_setup(a_handle_that_is_used_again_is_another, setup),
		cmocka_unit_test_setup(sends_and_receives_are_counted_by_peer, setup),
		cmocka_unit_test_setup(many_find_no_place_and_harm_none, setup),
		cmocka_unit_test_setup(its_name_is_that_of_the_configuration, setup),
	};

	return cmocka_run_group_tests_name("gpu_comms", tests, NULL, NULL);
}
