/* gpu_comms.c - communicators of NCCL and MPI as the shim keeps them: names, numbers of calls, announcements in each window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "preload/gpu/gpu_comms.c" /* NOLINT(bugprone-suspicious-include): with what it calls replaced */
#include "preload/gpu/gpu_mpi.c" /* NOLINT(bugprone-suspicious-include): likewise */

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

/* ---- MPI: two libraries, by the symbols that they have ---- */

static char open_mpi[8][16]; /* objects: world, null, ... */
static char copied[16];      /* that of the program's own file */
static bool is_open_mpi, has_copy;
static int asked; /* about communicators that are none */
static const uint64_t not_comm[] = {0, MPICH_COMM_NULL};

static bool is_comm(uint64_t comm)
{
	bool is_none = comm == not_comm[0] || comm == not_comm[1] ||
		       comm == (uint64_t)(uintptr_t)open_mpi[1];

	asked += is_none;
	return !is_none;
}

static int mpi_size(uint64_t comm, int *ranks)
{
	*ranks = comm == mpi.world ? 8 : 2;
	return !is_comm(comm);
}

static int mpi_rank(uint64_t comm, int *rank)
{
	*rank = comm == mpi.world ? 5 : 1;
	return !is_comm(comm);
}

static int groups; /* not freed */

static int mpi_group(uint64_t comm, uint64_t *group)
{
	groups++;
	*group = comm;
	return !is_comm(comm);
}

/* Of communicators with even handles rank 4 of the world is the first, of others rank 1. */
static int mpi_translate(uint64_t from, int cnt, const int *ranks, uint64_t to, int *found)
{
	assert_int_equal(cnt, 1);
	assert_int_equal(*ranks, 0);
	assert_true(to == mpi.world);
	*found = from & 16 ? 1 : 4;
	return 0;
}

static int mpi_free(uint64_t *group)
{
	(void)group;
	groups--;
	return 0;
}

bool sl_object_open(struct sl_object *o, const struct dl_phdr_info *info)
{
	static const uint32_t hash[1];

	(void)info;
	o->gnu_hash = hash;
	o->base = 1; /* the program */
	return true;
}

void *sl_object_find(const struct sl_object *o, const char *name)
{
	static const struct {
		const char *name;
		void *at;
	} found[] = {
		{"PMPI_Comm_size", (void *)mpi_size},
		{"PMPI_Comm_rank", (void *)mpi_rank},
		{"PMPI_Comm_group", (void *)mpi_group},
		{"PMPI_Group_translate_ranks", (void *)mpi_translate},
		{"PMPI_Group_free", (void *)mpi_free},
		{"ompi_mpi_comm_world", open_mpi[0]},
		{"ompi_mpi_comm_null", open_mpi[1]},
		{"ompi_mpi_double", open_mpi[2]},
		{"ompi_mpi_char", open_mpi[3]},
	};

	if (o->base == 1)
		return has_copy && strcmp(name, "ompi_mpi_comm_world") == 0 ? copied : NULL;
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		if (strcmp(found[i].name, name) == 0 && (is_open_mpi || name[0] == 'P'))
			return found[i].at;
	return NULL;
}

static void bind(bool as_open_mpi)
{
	struct sl_object o = {0};

	is_open_mpi = as_open_mpi;
	has_copy = false;
	asked = 0;
	assert_true(sl_gpu_mpi_open(&o, as_open_mpi ? 40 : 12));
	assert_int_equal(sl_gpu_mpi_is_int(), !as_open_mpi);
}

/* send, receive, count, type, op, comm: count, size of the type, comm are kept */
#define MPI_REDUCE(how, comm) how(MPI_Allreduce, 10, 8, comm)
/* of, colour, key, made */
#define MPI_SPLIT(how, comm, made) how(MPI_Comm_split, comm, 0, 0, made)

static void functions_of_mpi_have_their_kinds(void **state)
{
	(void)state;
	assert_int_equal(use_of(SL_G_MPI_Allreduce).kind, SL_GPU_COMM_COLLECTIVE);
	assert_int_equal(use_of(SL_G_PMPI_Ibarrier).kind, SL_GPU_COMM_COLLECTIVE);
	assert_int_equal(use_of(SL_G_MPI_Comm_split).kind, SL_GPU_COMM_SPLIT);
	assert_int_equal(use_of(SL_G_MPI_Cart_sub).kind, SL_GPU_COMM_SPLIT);
	assert_int_equal(use_of(SL_G_MPI_Isend).kind, SL_GPU_COMM_SEND);
	assert_int_equal(use_of(SL_G_PMPI_Recv).kind, SL_GPU_COMM_RECEIVE);
	assert_int_equal(use_of(SL_G_MPI_Irecv).kind, SL_GPU_COMM_RECEIVE);
	assert_int_equal(use_of(SL_G_MPI_Wait).kind, SL_GPU_COMM_NONE);
	assert_int_equal(use_of(SL_G_MPI_Init).kind, SL_GPU_COMM_NONE);
	assert_true(use_of(SL_G_MPI_Barrier).is_mpi);
	assert_false(use_of(SL_G_ncclAllReduce).is_mpi);
}

static void world_of_mpi_has_a_name_and_numbers_from_the_first_call_on(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t hash = told[0].hash;

		setup(state);
		bind(i == 0);
		assert_int_equal(CLOSED(MPI_Barrier, mpi.world), 1);
		assert_int_equal(MPI_REDUCE(CALL, mpi.world), 2);
		assert_int_equal(told_cnt, 1);
		assert_int_equal(told[0].flags, SL_GPU_COMM_IS_MPI | SL_GPU_COMM_HAS_HASH |
							SL_GPU_COMM_HAS_RANKS |
							SL_GPU_COMM_HAS_WORLD);
		assert_true(told[0].handle == mpi.world);
		assert_int_equal(told[0].ranks, 8);
		assert_int_equal(told[0].rank, 5);
		assert_int_equal(told[0].world, 5);
		assert_string_equal(told[0].name, "MPI_COMM_WORLD");
		assert_true(!i || told[0].hash == hash);
	}
}

static void splits_of_mpi_are_named_by_their_first_rank(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t even = i ? 0x84000000 : 0x100, odd = i ? 0x84000011 : 0x110;
		uint64_t again = i ? 0x84000002 : 0x120;

		setup(state);
		bind(i == 0);
		MPI_SPLIT(CALL, mpi.world, mpi.null); /* in no part, and counts */
		CALL(MPI_Comm_dup, mpi.world, even);
		CALL(MPI_Comm_create, mpi.world, odd);
		assert_int_equal(told_cnt, 0);
		assert_int_equal(MPI_REDUCE(CALL, even), 1);
		assert_int_equal(MPI_REDUCE(CALL, odd), 1);
		CALL(MPI_Comm_dup, even, again);
		assert_int_equal(MPI_REDUCE(CALL, again), 1);
		assert_int_equal(MPI_REDUCE(CALL, even), 2);
		assert_int_equal(told_cnt, 3);
		assert_true(told[0].handle == even && told[1].handle == odd);
		assert_true(told[0].hash == split_name(split_name(0, 0, 0), 2, 4));
		assert_true(told[1].hash == split_name(split_name(0, 0, 0), 3, 1));
		assert_true(told[2].hash == split_name(told[0].hash, 1, even & 16 ? 1 : 4));
		assert_int_equal(told[1].ranks, 2);
		assert_int_equal(asked, 0);
		assert_int_equal(groups, 0);
	}
}

static void other_communicators_of_mpi_have_no_name(void **state)
{
	(void)state;
	bind(false);
	assert_int_equal(MPI_REDUCE(CALL, 0x84000000), 0);
	assert_int_equal(told[0].flags,
			 SL_GPU_COMM_IS_MPI | SL_GPU_COMM_HAS_RANKS | SL_GPU_COMM_HAS_WORLD);
}

/* Non-position-independent programs have a copy of an object that they name. */
static void world_of_open_mpi_is_the_copy_that_a_program_has(void **state)
{
	struct sl_object o = {0};

	(void)state;
	bind(true);
	has_copy = true;
	assert_true(sl_gpu_mpi_open(&o, 40));
	assert_true(sl_gpu_mpi_is_world((uint64_t)(uintptr_t)copied));
	assert_true(sl_gpu_mpi_is_null((uint64_t)(uintptr_t)open_mpi[1]));
}

static void datatypes_of_mpi_have_their_sizes(void **state)
{
	(void)state;
	bind(true);
	assert_int_equal(sl_gpu_mpi_type_bytes((uint64_t)(uintptr_t)open_mpi[2]), 8);
	assert_int_equal(sl_gpu_mpi_type_bytes((uint64_t)(uintptr_t)open_mpi[3]), 1);
	assert_int_equal(sl_gpu_mpi_type_bytes((uint64_t)(uintptr_t)open_mpi[4]), 0);
	assert_int_equal(sl_gpu_mpi_type_bytes(0), 0);
	bind(false);
	assert_int_equal(sl_gpu_mpi_type_bytes(0x4c00080b), 8);      /* MPI_DOUBLE */
	assert_int_equal(sl_gpu_mpi_type_bytes(0xdead4c000405u), 4); /* MPI_INT */
	assert_int_equal(sl_gpu_mpi_type_bytes(0x0c000000), 0);      /* MPI_DATATYPE_NULL */
	assert_int_equal(sl_gpu_mpi_type_bytes(0xcc000000u), 0);     /* derived */
}

static void library_of_another_abi_is_not_bound(void **state)
{
	struct sl_object o = {0};

	(void)state;
	is_open_mpi = false;
	assert_false(sl_gpu_mpi_open(&o, 0));
	assert_false(sl_gpu_mpi_open(&o, 40));
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
		cmocka_unit_test_setup(functions_of_mpi_have_their_kinds, setup),
		cmocka_unit_test_setup(world_of_mpi_has_a_name_and_numbers_from_the_first_call_on,
				       setup),
		cmocka_unit_test_setup(splits_of_mpi_are_named_by_their_first_rank, setup),
		cmocka_unit_test_setup(other_communicators_of_mpi_have_no_name, setup),
		cmocka_unit_test_setup(world_of_open_mpi_is_the_copy_that_a_program_has, setup),
		cmocka_unit_test_setup(datatypes_of_mpi_have_their_sizes, setup),
		cmocka_unit_test_setup(library_of_another_abi_is_not_bound, setup),
	};

	return cmocka_run_group_tests_name("gpu_comms", tests, NULL, NULL);
}
