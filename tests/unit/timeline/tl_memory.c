/* tl_memory.c - GPU memory in use: what was allocated less what was freed, and what was there before the recording. */
#include "tl_test.h"

static const struct tl_options memory = {.activities = TL_ACT_MEMORY, .no_args = true};

static void memory_in_use_is_the_sum_of_what_was_allocated_and_freed(void **state)
{
	(void)state;
	/* Devices, kinds and processes have curves of their own; kinds that do not exist are one. */
	check_with(&memory, SHOW_TRACKS,
		   "strings: (1, 'x');"
		   "CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, memKind, bytes, "
		   "memoryOperationType): (10, $70, 0, 2, 100, 0), (20, $70, 0, 2, 50, 0), "
		   "(30, $70, 0, 2, 100, 1), (40, $70, 0, 1, 7, 0), (50, $70, 1, 2, 9, 0), "
		   "(60, $70, 0, 8, 5, 0), (70, $70, 0, -1, 5, 0), (80, $70, 0, 2, 0, 0), "
		   "(90, $70, 0, 2, NULL, 0);",
		   "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		   "2: gpu 0 of 70 'GPU 0' in 1, pid 16777216 tid 0 sort 0\n"
		   "3: counter 'GPU memory: device' of gpu 0 of 70 'GPU memory: device' in 2, "
		   "pid 16777216 tid 0 sort 0 unit 'bytes'\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 10 = 100\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 20 = 150\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 30 = 50\n"
		   "4: counter 'GPU memory: pinned' of gpu 0 of 70 'GPU memory: pinned' in 2, "
		   "pid 16777216 tid 0 sort 0 unit 'bytes'\n"
		   "counter 'GPU memory: pinned' of gpu 0 of 70: 40 = 7\n"
		   "5: gpu 1 of 70 'GPU 1' in 1, pid 16777217 tid 0 sort 1\n"
		   "6: counter 'GPU memory: device' of gpu 1 of 70 'GPU memory: device' in 5, "
		   "pid 16777217 tid 0 sort 0 unit 'bytes'\n"
		   "counter 'GPU memory: device' of gpu 1 of 70: 50 = 9\n"
		   "7: counter 'GPU memory: unknown' of gpu 0 of 70 'GPU memory: unknown' in 2, "
		   "pid 16777216 tid 0 sort 0 unit 'bytes'\n"
		   "counter 'GPU memory: unknown' of gpu 0 of 70: 60 = 5\n"
		   "counter 'GPU memory: unknown' of gpu 0 of 70: 70 = 10\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 80 = 50\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 90 = 50\n");
}

static const char before[] =
	"strings: (1, 'x');"
	"CUDA_GPU_MEMORY_USAGE_EVENTS(address, correlationId, start, globalPid, "
	"deviceId, memKind, bytes, memoryOperationType): (1, 1, 10, $70, 0, 2, 30, "
	"0), (2, 2, 20, $70, 0, 2, 100, 1), (2, 3, 30, $70, 0, 2, 8, 0), "
	"(2, 4, 40, $70, 0, 2, 8, 1), (3, 5, 50, $70, 0, 2, 7, 1), "
	"(4, 6, 60, $70, 1, 2, 5, 1), (0, 7, 70, $70, 0, 2, 6, 1), "
	"(2, 8, 80, $80, 0, 2, 3, 1);";

static void memory_that_is_freed_first_was_there_before(void **state)
{
	struct tl_options opt = memory;

	(void)state;
	/*
	 * Of process 70, GPU 0: addresses 2 and 3 were allocated before, 107 bytes, 1 was not. Of address 0 nothing is
	 * known. Process 80's address 2 is another.
	 */
	check_with(&opt, 0, before,
		   "counter 'GPU memory: device' of gpu 0 of 70: 10 = 137\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 20 = 37\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 30 = 45\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 40 = 37\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 50 = 30\n"
		   "counter 'GPU memory: device' of gpu 1 of 70: 60 = 0\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 70 = 24\n"
		   "counter 'GPU memory: device' of gpu 0 of 80: 80 = 0\n");
	/* A run that goes on adds to what an earlier one has summed up. */
	opt.goes_on = true;
	opt.only_table = "CUDA_GPU_MEMORY_USAGE_EVENTS";
	opt.only_row = 2;
	check_with(&opt, 0, before, "counter 'GPU memory: device' of gpu 0 of 70: 20 = -100\n");
}

static void memory_of_a_report_without_addresses_begins_at_0(void **state)
{
	(void)state;
	check_with(&memory, 0,
		   "strings: (1, 'x');"
		   "CUDA_GPU_MEMORY_USAGE_EVENTS(address, start, globalPid, deviceId, memKind, "
		   "bytes, memoryOperationType): (2, 20, $70, 0, 2, 100, 1);",
		   "counter 'GPU memory: device' of gpu 0 of 70: 20 = -100\n");
	check_with(&memory, 0,
		   "strings: (1, 'x');"
		   "CUDA_GPU_MEMORY_USAGE_EVENTS(correlationId, start, globalPid, deviceId, "
		   "memKind, bytes, memoryOperationType): (2, 20, $70, 0, 2, 100, 1);",
		   "counter 'GPU memory: device' of gpu 0 of 70: 20 = -100\n");
}

static void sums_of_63_bits_wrap_around_without_harm(void **state)
{
	(void)state;
	/* 2 * (2^63 - 1) is -2 among 64 bits. */
	check_with(&memory, 0,
		   "strings: (1, 'x');"
		   "CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, memKind, bytes, "
		   "memoryOperationType): (10, $70, 0, 2, 9223372036854775807, 0), "
		   "(20, $70, 0, 2, 9223372036854775807, 0), (30, $70, 0, 2, -2, 1);",
		   "counter 'GPU memory: device' of gpu 0 of 70: 10 = 9223372036854775807\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 20 = -2\n"
		   "counter 'GPU memory: device' of gpu 0 of 70: 30 = 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_in_use_is_the_sum_of_what_was_allocated_and_freed),
		cmocka_unit_test(memory_that_is_freed_first_was_there_before),
		cmocka_unit_test(memory_of_a_report_without_addresses_begins_at_0),
		cmocka_unit_test(sums_of_63_bits_wrap_around_without_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
