/* why_advice.c - what could be won, what is missing, and GPUs: the lines of the answer about them. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_text_test.h"

static void put_notes(FILE *out)
{
	why_put_notes(out, &test.y);
}

static void put_gains(FILE *out)
{
	why_put_gains(out, &test.y, false);
}

static void put_gpus(FILE *out)
{
	why_put_gpus(out, &test.y);
}

/* ---- what could be won ---- */

/* Bounds in one unit, in two, and equal ones; what is less than a hundredth has no line. */
static void bounds_of_gains(void **state)
{
	struct why_gain list[] = {
		{.lower = 20 * MS, .upper = 30 * MS, .severity = GAIN_BAD, .sure = 1},
		{.lower = 800000, .upper = 2 * MS, .severity = GAIN_BAD, .sure = 0.7},
		{.lower = 7 * MS, .upper = 7 * MS, .severity = GAIN_NOTE, .sure = 0.5},
		{.lower = 0, .upper = 9 * MS, .severity = GAIN_BAD, .sure = 1, .is_up_to = true},
		{.lower = 6 * MS, .upper = 6 * MS, .severity = GAIN_BAD, .sure = 1},
	};

	(void)state;
	program();
	ask();
	free(test.y.gains);
	test.y.gains = malloc(sizeof(list));
	memcpy(test.y.gains, list, sizeof(list));
	test.y.gains_cnt = 5;
	for (size_t i = 0; i < 5; i++)
		test.y.gains[i].place = test.y.culprits[0].place;
	assert_string_equal(
		text_of(put_gains),
		"What to change\n"
		"  1  bad     Removing the computation at a.py:1 in f1 would save 20 to "
		"30 ms of 110 ms: compute it once\n"
		"  2  bad     Removing the computation at a.py:1 in f1 would save 800 us "
		"to 2.0 ms of 110 ms: compute it once (likely)\n"
		"  3  info    Removing the computation at a.py:1 in f1 would save 7.0 ms "
		"of 110 ms: compute it once (unclear)\n"
		"  4  bad     Removing the computation at a.py:1 in f1 would save up to "
		"9.0 ms of 110 ms: compute it once\n");
	/* A hundredth of 110 ms is 1.1. */
	test.y.gains_cnt = 1;
	test.y.gains[0].upper = 1099999;
	assert_string_equal(text_of(put_gains), "");
	test.y.gains[0].upper = 1100000;
	assert_non_null(strstr(text_of(put_gains), "What to change"));
	test.y.has_replay = false;
	test.y.gains[0].is_up_to = true;
	assert_line(text_of(put_gains), "What to change: bounds, without a replay");
	assert_non_null(strstr(written, "would save at most 1.1 ms of 110 ms"));
}

/* What to do, by action and reason: as a condition, and the sentence that begins with @change. */
static void advice(enum gain_action action, uint32_t reason, uint32_t cnt, const char *change,
		   const char *want)
{
	struct why_gain *g = &test.y.gains[0];
	struct why_culprit *c = &test.y.culprits[0];

	memset(c->of_reason, 0, sizeof(c->of_reason));
	c->of_reason[reason] = 1;
	g->action = action;
	g->cnt = cnt;
	g->culprit = 0;
	test.y.gains_cnt = 1;
	if (!strstr(text_of(put_gains), change))
		fail_msg("no '%s' in %s", change, written);
	text_of(put_json);
	assert_string_equal(value_of(written, "$.gains[0].conditions[0]"), want);
	assert_string_equal(value_of(written, "$.gains[0].action"), gain_action_name(action));
}

static void advice_by_action_and_reason(void **state)
{
	(void)state;
	program();
	ask();
	test.y.culprits[0].is_of_processes = false;
	advice(GAIN_UNLOCK, WHY_SLEEP, 0, "Moving the sleep at a.py:9 in f9 out of the lock would",
	       "not while the lock is held");
	advice(GAIN_TOGETHER, WHY_SLEEP, 3, "Doing all 3 at the same time at a.py:9 in f9 would",
	       "all 3 at the same time");
	advice(GAIN_LEVEL, WHY_SLEEP, 4, "Giving the 4 threads equal parts at a.py:9 in f9 would",
	       "equal parts for the 4 threads");
	advice(GAIN_LEVEL, WHY_GPU_UNEVEN, 0, "Giving the streams equal parts at a.py:9",
	       "equal parts for the streams");
	advice(GAIN_SYNC, WHY_GPU_SYNC, 0, "Waiting less for the GPU at a.py:9 in f9 would",
	       "do not wait for the GPU there");
	advice(GAIN_REMOVE, WHY_COMPUTE, 0, "Removing the computation at a.py:9 in f9 would",
	       "do without, or compute it once");
	advice(GAIN_REMOVE, WHY_KERNEL, 0, ": in fewer and larger calls\n",
	       "do without, or in fewer and larger calls");
	advice(GAIN_REMOVE, WHY_FILE, 0, "Removing the wait for a file at a.py:9 in f9 would",
	       "do without, or read and write ahead, in larger parts");
	advice(GAIN_BATCH, WHY_FSYNC, 0, "Making fewer calls at a.py:9 in f9 would",
	       "less than half as often, or once at the end");
	advice(GAIN_REMOVE, WHY_SOCKET, 0, "Removing the wait for the network at",
	       "do without, or ask ahead");
	advice(GAIN_REMOVE, WHY_POLL, 0, ": wait for what it waits for\n",
	       "do without, or wait for what it waits for");
	advice(GAIN_REMOVE, WHY_IMPORT, 0, "Removing the import at",
	       "import it once, later, or not at all");
	advice(GAIN_REMOVE, WHY_PAGE_IN, 0, "Removing the wait for a page of memory at",
	       "read ahead, or in the order of the file");
	advice(GAIN_BATCH, WHY_GPU_CALL, 0, ": less than half as many calls, each for more",
	       "less than half as many calls, each for more, or none");
	advice(GAIN_BATCH, WHY_GPU_COPY, 0, "Making fewer calls at",
	       "less than half as many bytes or calls, or from pinned memory");
	advice(GAIN_REMOVE, WHY_PIPE, 0, ": ahead of time\n", "do without, or ahead of time");
	advice(GAIN_REMOVE, WHY_GPU_SYNC, 0,
	       "Removing the wait for the GPU, which then has nothing",
	       "do without, or ahead of time");
	advice(GAIN_REMOVE, WHY_GIL, 0, "Removing the wait for the GIL at",
	       "do without, or ahead of time");
	advice(GAIN_REMOVE, WHY_BLOCKED, 0, "Removing the time at", "do without, or ahead of time");
	test.y.culprits[0].is_of_processes = true;
	advice(GAIN_REMOVE, WHY_KERNEL, 0, "Removing the processes that are made at a.py:9 in f9",
	       "do without a process of its own for each, or make one for many");
	advice(GAIN_REMOVE, WHY_SLEEP, 0, "Removing the sleep at a.py:9 in f9 would",
	       "do without, or wait for what it waits for");
}

/* Where more than a fifth is not recorded, a line before the gains states it. A GPU that works most of the time has nothing to be won. */
static void what_cannot_be_won(void **state)
{
	(void)state;
	program();
	ask();
	test.y.of_reason[WHY_UNKNOWN] = 22 * MS;
	assert_null(strstr(text_of(put_gains), "not recorded"));
	test.y.of_reason[WHY_UNKNOWN] = 22 * MS + 1;
	assert_line(text_of(put_gains), "20 % of the time is not recorded: no gain is sure");
	test.y.gains_cnt = 0;
	test.y.of_reason[WHY_GPU] = 55 * MS - 1;
	assert_string_equal(text_of(put_gains), "");
	test.y.of_reason[WHY_GPU] = 55 * MS;
	assert_string_equal(text_of(put_gains),
			    "Nothing is to be won but in the GPU's kernels, which take 50.0 %\n");
	test.y.has_replay = false;
	assert_string_equal(text_of(put_gains), "");
}

/* ---- notes ---- */

static void notes_on_what_is_missing(void **state)
{
	(void)state;
	report(50);
	sql("INSERT INTO SL_LOST_EVENTS VALUES (0, 1, NULL, 'records', 3)");
	sql("INSERT INTO DIAGNOSTIC_EVENT(timestamp, timestampType, source, severity, text) VALUES "
	    "(0, 0, 0, 0, "
	    "'no CPU samples: perf_event_paranoid is 4')");
	ask();
	assert_string_equal(
		text_of(put_notes),
		"Not recorded: context switches; computing includes waiting for a CPU, and no "
		"waits are followed to what ended them (--cpuctxsw=process-tree)\n"
		"Not recorded: samples; computing has no lines: perf_event_paranoid is 4\n"
		"Not recorded: calls; waits have no names (--trace=osrt, "
		"--syscall=process-tree)\n"
		"Lost: records (3); what is said holds for the rest\n");
	text_of(put_json);
	assert_string_equal(value_of(written, "$.notes[3]"),
			    "Lost: records (3); what is said holds for the rest");
	assert_string_equal(value_of(written, "$.notes[4]"), "null");
	assert_string_equal(value_of(written, "$.checks.lost"), "3");
}

/* A thread that ran @runs times, which are two context switches each, in 100 ms. */
static void ran(int runs_cnt)
{
	report(100);
	for (int i = 0; i < runs_cnt; i++)
		runs(MAIN, i, i + 0.5);
}

static const char *line_on_losses(void)
{
	const char *at = strstr(text_of(put_notes), "Lost: ");

	return at ? at : "";
}

#define LOST_BY_KERNEL "(0, 1, NULL, 'context switches: lost by the kernel', 1)"

static void a_small_loss_of_switches_has_no_line(void **state)
{
	(void)state;
	ran(50); /* 100, and one was lost: 0.99 % */
	sql("INSERT INTO SL_LOST_EVENTS VALUES " LOST_BY_KERNEL);
	ask();
	assert_string_equal(line_on_losses(), "");
}

static void a_loss_of_a_hundredth_has_a_line(void **state)
{
	(void)state;
	ran(49);
	sql("INSERT INTO SL_LOST_EVENTS VALUES " LOST_BY_KERNEL
	    ", (5, 5, NULL, 'callers in stacks of CPU samples: deeper', 70)");
	ask();
	assert_string_equal(line_on_losses(),
			    "Lost: context switches (1 %); what is said holds for the rest\n");
}

/* Each kind for itself, with the share of the time where that is known. */
static void a_loss_in_a_part_of_the_time_has_a_line(void **state)
{
	(void)state;
	ran(60);
	sql("INSERT INTO SL_LOST_EVENTS VALUES (%lld, %lld, NULL, 'context switches: no room', 1), "
	    "(0, 1, NULL, 'CPU samples: throttled by the kernel', 2)",
	    (long long)ns_of(70), (long long)ns_of(72));
	ask();
	assert_string_equal(line_on_losses(),
			    "Lost: CPU samples (100 %), context switches (1 %) in 2 % of the time; "
			    "what is said holds for the rest\n");
}

/* The option was given, and the program does not use the C library. */
static void note_on_calls_that_cannot_be_hooked(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 50);
	sample(MAIN, 10, L(1));
	sql("INSERT INTO META_DATA_CAPTURE VALUES ('CAPTURE_EVENT_TYPE', 'osrt')");
	ask();
	assert_string_equal(text_of(put_notes),
			    "Not recorded: calls of the C library: the program has none that can "
			    "be hooked; waits have no names (--syscall=process-tree)\n");
}

/* Goroutines change threads: their wake-ups of each other are not recorded, so no gain is known. */
static void program_of_go_has_no_gains(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 50);
	sample(MAIN, 1, "runtime.goexit.abi0 /me/a");
	computes(MAIN, 1, 50, L(1));
	ask();
	assert_true(test.y.culprits_cnt > 0);
	assert_int_equal(test.y.gains_cnt, 0);
	assert_string_equal(text_of(put_notes),
			    "Not recorded: what goroutines wait for, and which thread goes on with "
			    "them: no gain is known (go tool trace; --syscall=process-tree names "
			    "waits of threads)\n");
}

/* Pages of a child that is made are touched, too: the advice is about the process. */
static void first_touches_of_processes_are_of_processes(void **state)
{
	(void)state;
	report(110);
	runs(MAIN, 0, 110);
	computes(MAIN, 0, 100, L(1));
	ask();
	assert_int_equal(test.y.gains_cnt, 1);
	memset(test.y.culprits[0].of_reason, 0, sizeof(test.y.culprits[0].of_reason));
	test.y.culprits[0].of_reason[WHY_TOUCH] = 100 * MS;
	assert_non_null(strstr(text_of(put_gains), ": keep the memory for use again"));
	test.y.culprits[0].is_of_processes = true;
	assert_non_null(strstr(text_of(put_gains), ": do without a process of its own"));
}

/* Java without a perf map: the note has the options for one; with one, there is no note. */
static void note_on_names_of_run_times(bool has_names)
{
	report(50);
	sql("UPDATE SL_PROCESS_TREE SET exe = '/usr/bin/java'");
	runs(MAIN, 0, 50);
	call(MAIN, "read", 10, 20, NULL);
	sample(MAIN, 5, "?0x1 [anonymous]; f /usr/lib/jvm/libjvm.so");
	if (has_names)
		sample(MAIN, 6, "void A.f(int) [JIT]; f /usr/lib/jvm/libjvm.so");
	ask();
	assert_string_equal(text_of(put_notes),
			    has_names ? ""
				      : "Not recorded: names of Java's compiled methods (java "
					"-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
					"-XX:+DumpPerfMapAtExit)\n");
}

static void code_made_at_run_time_without_names_has_a_note(void **state)
{
	(void)state;
	note_on_names_of_run_times(false);
}

static void code_made_at_run_time_with_names_has_no_note(void **state)
{
	(void)state;
	note_on_names_of_run_times(true);
}

static void notes_on_pythons_frames_and_cudas_stacks(void **state)
{
	(void)state;
	report(50);
	sql("UPDATE SL_PROCESS_TREE SET exe = '/usr/bin/python3.11'");
	runs(MAIN, 0, 50);
	sample(MAIN, 10, L(1));
	cuda(MAIN, "cudaFree", 20, 30, NULL, 1);
	sql("INSERT INTO DIAGNOSTIC_EVENT(timestamp, timestampType, source, severity, text) VALUES "
	    "(0, 0, 0, 0, "
	    "'Python''s frames in samples need eBPF')");
	ask();
	assert_string_equal(text_of(put_notes),
			    "Not recorded: Python's lines of what computes: Python's frames in "
			    "samples need eBPF\n"
			    "Not recorded: stacks of CUDA calls; what a GPU does has no lines "
			    "(--cudabacktrace=all)\n");
	/* A program that is no Python's lacks none of its lines. */
	free(test.y.model.processes[0].exe);
	test.y.model.processes[0].exe = strdup("/usr/bin/prog");
	assert_null(strstr(text_of(put_notes), "Python"));
}

/* Read from outside, some samples have Python's frames: a note only where most of what computes has none. */
static void notes_on_frames_read_from_outside(bool has_line)
{
	report(50);
	sql("UPDATE SL_PROCESS_TREE SET exe = '/usr/bin/python3.11'");
	runs(MAIN, 0, 50);
	computes(MAIN, 0, 50, has_line ? L(1) : "?0x1 /usr/bin/python3.11");
	sql("INSERT INTO DIAGNOSTIC_EVENT(timestamp, timestampType, source, severity, text) VALUES "
	    "(0, 0, 0, 0, 'Python''s frames in samples need eBPF: read from outside, or not')");
	ask();
	assert_string_equal(text_of(put_notes),
			    has_line ? "Not recorded: calls; waits have no names (--trace=osrt, "
				       "--syscall=process-tree)\n"
				     : "Not recorded: Python's lines of what computes: Python's "
				       "frames in samples need eBPF: read from outside, or not\n"
				       "Not recorded: calls; waits have no names (--trace=osrt, "
				       "--syscall=process-tree)\n");
}

static void frames_missing_from_outside_have_a_note(void **state)
{
	(void)state;
	notes_on_frames_read_from_outside(false);
}

static void frames_read_from_outside_have_no_note(void **state)
{
	(void)state;
	notes_on_frames_read_from_outside(true);
}

/* ---- GPUs ---- */

/* Idle 10-30 of 0-40, asleep at line 9 15 of it; shares below a hundredth. */
static void line_of_a_gpu(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 12);
	call(MAIN, "usleep", 12, 27, L(9));
	runs(MAIN, 27, 100);
	sample(MAIN, 27, L(1));
	cuda(MAIN, "cudaLaunchKernel", 0, 0.2, L(2), 1);
	cuda(MAIN, "cudaLaunchKernel", 30, 31, L(2), 2);
	kernel(0.2, 10, 1);
	kernel(31, 40, 2);
	copy(9.9, 10.1, 1);
	ask();
	/* 18.8 of 40 in kernels, 0.1 of a copy alone: 47 %; host 19.9; launching 1.2. */
	assert_string_equal(
		text_of(put_gpus),
		"GPU 0 busy 47 % (copies alone < 1 %); idle: host 50 %, launching 3 %, launch "
		"latency 0 %; of 40 ms from first launch to last completion\n"
		"  idle 15 ms <- main thread sleeping, usleep at a.py:9 in f9\n");
	text_of(put_json);
	assert_string_equal(value_of(written, "$.gpu[0].kernel_ns"), "18800000");
	assert_string_equal(value_of(written, "$.gpu[0].copy_only_ns"), "100000");
	assert_string_equal(value_of(written, "$.gpu[0].host_ns"), "19900000");
	assert_string_equal(value_of(written, "$.gpu[0].operations"), "3");
}

/* Six GPUs: a line for each of four, and how many more there are. */
static void more_gpus_than_lines(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	for (int i = 0; i < 6; i++)
		kernel(10, 20, 0, .device = i);
	ask();
	assert_line(text_of(put_gpus), "2 more GPUs (--gpu, -f json)");
	assert_non_null(strstr(written, "GPU 3 busy 100 %"));
	assert_null(strstr(written, "GPU 4 "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEXT(bounds_of_gains),
		TEXT(advice_by_action_and_reason),
		TEXT(what_cannot_be_won),
		TEXT(notes_on_what_is_missing),
		TEXT(a_small_loss_of_switches_has_no_line),
		TEXT(a_loss_of_a_hundredth_has_a_line),
		TEXT(a_loss_in_a_part_of_the_time_has_a_line),
		TEXT(note_on_calls_that_cannot_be_hooked),
		TEXT(program_of_go_has_no_gains),
		TEXT(first_touches_of_processes_are_of_processes),
		TEXT(code_made_at_run_time_without_names_has_a_note),
		TEXT(code_made_at_run_time_with_names_has_no_note),
		TEXT(notes_on_pythons_frames_and_cudas_stacks),
		TEXT(frames_read_from_outside_have_no_note),
		TEXT(frames_missing_from_outside_have_a_note),
		TEXT(line_of_a_gpu),
		TEXT(more_gpus_than_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
