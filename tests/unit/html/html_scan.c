/* html_scan.c - what the summary counts of a report, against sums by hand: GPUs, processors, input and output, the axis. */
#include "tests/unit/formats/fmt_test.h"

#include "exporters/html/scan.h"

static struct scan s;
static sqlite3 *db;

static void end_scan(void)
{
	scan_free(&s);
	sqlite3_close(db);
	db = NULL;
	memset(&s, 0, sizeof(s));
}

static void scanned(const char *sql)
{
	end_scan();
	fmt_report(sql);
	s.db = db = fmt_open();
	if (scan_report(&s) != 0)
		fail_msg("%s", s.why);
}

static void axis_is(int64_t from, int64_t to)
{
	assert_int_equal(s.axis.from, from);
	assert_int_equal(s.axis.to, to);
	assert_float_equal(s.axis.width, (double)(to - from) / CURVE_BINS, 1e-9);
}

#define near(a, b) assert_float_equal(a, b, 1e-6)

static double sum(const struct curve *c)
{
	double all = 0;

	for (int i = 0; i < CURVE_BINS; i++)
		all += curve_at(c, i);
	return all;
}

/* ---- the axis ---- */

#define SESSION(ns) "INSERT INTO ANALYSIS_DETAILS VALUES (1, " #ns ", 0, " #ns ");"

static void the_axis_of_an_empty_report(void **state)
{
	(void)state;
	scanned("");
	axis_is(0, 1);
	assert_int_equal(s.gpu_cnt + s.process_cnt, 0);
	assert_false(s.has_gpu_work || s.has_cpu || s.has_io || s.io_known || s.has_memory);
	scanned(SESSION(5000));
	axis_is(0, 5000);
}

/* The session is the axis where events cover a quarter of it. */
static void the_axis_is_the_session_if_events_cover_it(void **state)
{
	(void)state;
	scanned(SESSION(1000) CALL(100, 350, 1, T1));
	axis_is(0, 1000);
	scanned(SESSION(1000) CALL(100, 349, 1, T1));
	axis_is(100, 349);
	scanned(SESSION(1000) CALL(-50, 1250, 1, T1));
	axis_is(-50, 1250);
	scanned(SESSION(1000) CALL(-50, 1251, 1, T1)); /* more than a quarter behind it */
	axis_is(-50, 1251);
	scanned(SESSION(1000) CALL(1000, 1250, 1, T1)); /* all of them behind it */
	axis_is(1000, 1250);
	scanned(CALL(700, 700, 1, T1));
	axis_is(700, 701);
}

/* Ranges may have been open long before: they count if there is nothing else. */
static void ranges_make_an_axis_only_alone(void **state)
{
	(void)state;
	scanned(RANGE(5, 9000, "'r'", T1) RANGE(20, NULL, "'open'", T1));
	axis_is(5, 9000);
	scanned(RANGE(5, 9000, "'r'", T1) CALL(100, 200, 1, T1));
	axis_is(100, 200);
}

static void times_of_nonsense_are_cut(void **state)
{
	(void)state;
	scanned(CALL(-9223372036854775807, 9223372036854775807, 1, T1));
	axis_is(-(INT64_MAX / 4), INT64_MAX / 4);
}

/* ---- GPUs ---- */

#define WORK(table, start, end, device, process, more, values)                                   \
	"INSERT INTO CUPTI_ACTIVITY_KIND_" table " (start, end, deviceId, contextId, streamId, " \
	"globalPid, " more ") VALUES (" #start ", " #end ", " #device ", 1, 7, " process         \
	", " values ");"
#define KERNEL(start, end, device, process)                                                        \
	WORK("KERNEL", start, end, device, process,                                                \
	     "demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, " \
	     "blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, "             \
	     "localMemoryTotal, gridId, tensorSizeMinusOneElements",                               \
	     "1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, ''")
#define COPY(start, end, device, process, bytes) \
	WORK("MEMCPY", start, end, device, process, "bytes, copyKind", #bytes ", 1")
#define FILL(start, end, device, process) \
	WORK("MEMSET", start, end, device, process, "value, bytes, memKind", "0, 64, 2")

/* Kernels [0,100), [50,150), [150,160); copies [140,170), [10,20); nothing ends before it begins. */
static void overlaps_count_once(void **state)
{
	(void)state;
	scanned(KERNEL(0, 100, 0, P1) KERNEL(50, 150, 0, P1) KERNEL(150, 160, 0, P1)
			COPY(140, 170, 0, P1, 300) COPY(10, 20, 0, P1, 7) FILL(165, 200, 0, P1)
				KERNEL(90, 80, 0, P1));
	assert_int_equal(s.gpu_cnt, 1);
	near(s.gpus[0].kernel_ns, 160);
	near(s.gpus[0].copy_ns, 10 + 60); /* with the fill: [10,20), [140,200) */
	near(s.gpus[0].busy_ns, 200);
	near(s.kernel_sum_ns, 210);
	assert_int_equal(s.gpus[0].kernel_cnt, 3);
	assert_int_equal(s.kernel_time.all, 3);
	assert_int_equal(s.copy_cnt, 2); /* a fill is none */
	near(s.copy_bytes, 307);
	near(sum(&s.gpus[0].kernels), 160);
	near(sum(&s.gpus[0].copies), 70);
	near(curve_at(&s.gpus[0].kernels, 0), s.axis.width);
	near(curve_at(&s.gpus[0].kernels, CURVE_BINS - 1), 0);
}

/* Device 0 of process 200 is GPU 1, which is device 1 of process 100. */
static void devices_of_processes_are_gpus(void **state)
{
	(void)state;
	scanned("INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid) VALUES (1, 1, 100), (1, "
		"0, 200);"
		"INSERT INTO TARGET_INFO_GPU (vmId, id, name) VALUES (0, 1, 'Toy'), (0, 5, "
		"NULL);" KERNEL(0, 10, 5, P1) KERNEL(20, 25, 1, P1) KERNEL(24, 30, 0, P2));
	assert_int_equal(s.gpu_cnt, 2);
	assert_int_equal(s.gpus[0].id, 1);
	assert_string_equal(s.gpus[0].name, "Toy");
	near(s.gpus[0].busy_ns, 10);
	assert_int_equal(s.gpus[1].id, 5);
	assert_string_equal(s.gpus[1].name, "");
	assert_int_equal(s.process_cnt, 2);
	near(s.processes[0].kernel_ns, 15);
	near(s.processes[1].kernel_ns, 6);
}

/* More rows than are straightened at once, and the last row is the first in time: the pass begins again. */
static void rows_far_out_of_order(void **state)
{
	(void)state;
	scanned("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 140000) "
		"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, "
		"streamId, globalPid, "
		"bytes, copyKind) SELECT i * 10, i * 10 + 5, 0, 1, 7, " P1
		", 2, 1 FROM n;" COPY(3, 7, 0, P1, 1) KERNEL(0, 2, 0, P1));
	assert_int_equal(s.gpu_cnt, 1);
	near(s.gpus[0].copy_ns, 140000 * 5 + 4);
	near(s.gpus[0].kernel_ns, 2);
	near(s.gpus[0].busy_ns, 140000 * 5 + 6);
	assert_int_equal(s.copy_cnt, 140001);
	near(s.copy_bytes, 280001);
	assert_int_equal(s.gpus[0].kernel_cnt, 1);
	assert_float_equal(sum(&s.gpus[0].copies), 140000 * 5 + 4, 1);
}

#define MEMORY(start, kind, op, bytes)                                                             \
	"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, "        \
	"address, "                                                                                \
	"pc, bytes, memKind, memoryOperationType) VALUES (" #start ", " P1 ", 0, 1, 0, 0, " #bytes \
	", " #kind ", " #op ");"

/* Host memory (0, 1) is none of a GPU; what was allocated before the recording does not make it negative. */
static void memory_of_gpus(void **state)
{
	(void)state;
	scanned(MEMORY(0, 2, 1, 70) MEMORY(10, 2, 0, 100) MEMORY(20, 1, 0, 5000)
			MEMORY(30, 4, 0, 50) MEMORY(40, 2, 1, 120) MEMORY(1000, 2, 1, 120));
	assert_true(s.has_memory);
	assert_int_equal(s.gpu_cnt, 1);
	near(s.gpus[0].memory->peak, 150);
	near(s.gpus[0].memory->now, 0);
	near(s.gpus[0].memory->high[5], 0);
	near(s.gpus[0].memory->high[10], 100);
	near(s.gpus[0].memory->high[30], 150);
	near(s.gpus[0].memory->high[41], 30);
	near(s.gpus[0].memory->high[CURVE_BINS - 1], 30);
}

/* ---- processors ---- */

#define SWITCH(start, cpu, in, thread) \
	"INSERT INTO SCHED_EVENTS VALUES (" #start ", " #cpu ", " #in ", " thread ", NULL, NULL);"

static void time_on_processors(void **state)
{
	(void)state;
	/* 100: 30 + until the session's end; 200: 10. A switch out without one in counts nothing. */
	scanned(SESSION(1000) SWITCH(0, 0, 0, T1B) SWITCH(100, 0, 1, T1) SWITCH(130, 0, 0, T1)
			SWITCH(140, 2, 1, T2) SWITCH(150, 2, 0, T2) SWITCH(900, 0, 1, T1));
	assert_true(s.has_cpu);
	assert_int_equal(s.cpu_cnt, 3); /* the highest number that was seen, and 0 */
	near(s.cpu_ns, 30 + 100 + 10);
	assert_int_equal(s.process_cnt, 2);
	near(s.processes[0].cpu_ns, 130);
	near(s.processes[1].cpu_ns, 10);
	near(sum(&s.processes[0].cpu), 130);
}

static void switches_out_of_order(void **state)
{
	(void)state;
	scanned("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'CpuCores', 0, '64');" SWITCH(
		50, 0, 0, T1) SWITCH(100, 0, 1, T1) SWITCH(20, 0, 1, T1) SWITCH(140, 0, 0, T1));
	near(s.cpu_ns, 30 + 40);
	assert_int_equal(s.cpu_cnt, 64);
}

/* ---- input and output ---- */

#define IO(name, bytes)                                                                  \
	"INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, " \
	"nestingLevel, "                                                                 \
	"callchainId, argumentsId, bytesDone) VALUES (0, 100, 27, " T1 ", " #name        \
	", 0, 0, 0, 0, " #bytes ");"
#define NAMES                                                                                    \
	"INSERT INTO StringIds VALUES (1, 'read'), (2, 'write'), (3, 'poll'), (9, 'libc');"      \
	"INSERT INTO SL_FUNCTIONS(nameId, library, io, isStdio) VALUES (1, 9, 3, 0), (2, 9, 4, " \
	"0), (3, 9, NULL, 0);"

/* Calls below the threshold have no rows: they are in the totals, not in the sizes. */
static void bytes_of_calls(void **state)
{
	(void)state;
	scanned(NAMES IO(1, 10) IO(1, 0) IO(2, 70) IO(3, 99)
			IO(1, NULL) "INSERT INTO SL_OSRT_TOTALS VALUES (" T1
				    ", 0, 1, 5, 1, 1, 1, 20, 0, 0, 0, 0), (" T1
				    ", 0, 3, 7, 1, 1, 1, 0, 0, 0, 0, 0)");
	assert_true(s.has_io && s.io_known);
	near(s.read_bytes, 30);
	near(s.read_calls, 7);
	near(s.write_bytes, 70);
	near(s.write_calls, 1);
	assert_int_equal(s.read_size.all, 2);
	near(sum(&s.read_curve), 10);
	near(sum(&s.write_curve), 70);
	scanned(NAMES IO(1, 0));
	assert_true(!s.has_io && s.io_known); /* known to be nothing */
}

static void bytes_of_files(void **state)
{
	(void)state;
	scanned(NAMES "INSERT INTO OSRT_FILE_ACCESS_EVENTS VALUES (1, 100, 0, 10, 3, 1, 40, ''), "
		      "(1, 100, 0, 10, 4, 2, 5, ''), (1, 100, 0, 10, 1, 1, 7, '')");
	near(s.read_bytes, 40);
	near(s.read_calls, 1);
	near(s.write_bytes, 5);
	near(s.write_calls, 1);
}

/* ---- processes ---- */

static void callers_are_processes_where_no_tree_is(void **state)
{
	(void)state;
	scanned(CALL(0, 1, 1, T1) CALL(2, 3, 1, T1B) CALL(4, 5, 1, T1) RANGE(0, 1, "'r'", T2)
			CALL(6, 7, 1, "-5"));
	assert_int_equal(s.process_cnt, 2);
	scanned(CALL(0, 1, 1,
		     T1) "INSERT INTO SL_PROCESS_TREE (globalPid, start, kind, traced) VALUES "
			 "(" P2 ", 0, 0, 1)");
	assert_int_equal(s.process_cnt, 0);
}

static int tear_down(void **state)
{
	end_scan();
	return fmt_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_axis_of_an_empty_report),
		cmocka_unit_test(the_axis_is_the_session_if_events_cover_it),
		cmocka_unit_test(ranges_make_an_axis_only_alone),
		cmocka_unit_test(times_of_nonsense_are_cut),
		cmocka_unit_test(overlaps_count_once),
		cmocka_unit_test(devices_of_processes_are_gpus),
		cmocka_unit_test(rows_far_out_of_order),
		cmocka_unit_test(memory_of_gpus),
		cmocka_unit_test(time_on_processors),
		cmocka_unit_test(switches_out_of_order),
		cmocka_unit_test(bytes_of_calls),
		cmocka_unit_test(bytes_of_files),
		cmocka_unit_test(callers_are_processes_where_no_tree_is),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, tear_down);
}
