/* why_model_gpu.c - what the walk reads of GPUs: operations in order of time, and the calls that started them. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_model_test.h"

#include "exporters/why/model/gpu_sweep.h"

static uint32_t process_number(int pid)
{
	return model.threads[why_model_find(&model, tid_of(pid))].process;
}

/* The starts of all operations, in ms, in their order. */
static const char *starts(void)
{
	static char text[1024];
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < model.ops_cnt; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%g ",
					(double)model.ops[i].start / MS);
	return text;
}

/* ---- operations ---- */

/* Rows of each table in any order, and those of one table between those of another. */
static void operations_are_put_in_order(void **state)
{
	(void)state;
	report(50);
	kernel(20, 21, 0);
	kernel(10, 11, 0);
	kernel(30, 31, 0);
	copy(5, 6, 0);
	copy(25, 26, 0);
	copy(10, 12, 0);
	fill(22, 23, 0);
	fill(1, 2, 0);
	graph(40, 41, 0);
	graph(15, 16, 0);
	read_as(&(struct why_scope){.is_all = true});
	assert_string_equal(starts(), "1 5 10 10 15 20 22 25 30 40 ");
}

static void operations_of_one_table(void **state)
{
	(void)state;
	report(50);
	copy(20, 21, 0);
	copy(10, 11, 0);
	read_as(&(struct why_scope){.is_all = true});
	assert_string_equal(starts(), "10 20 ");
}

/* A table whose rows all follow those before, and one whose rows all precede them. */
static void tables_that_do_not_overlap(void **state)
{
	(void)state;
	report(50);
	kernel(20, 21, 0);
	copy(30, 31, 0);
	fill(1, 2, 0);
	read_as(&(struct why_scope){.is_all = true});
	assert_string_equal(starts(), "1 20 30 ");
}

/* Work that has no end (0), or ends as it begins, was not recorded. */
static void operations_without_an_end_are_left_out(void **state)
{
	(void)state;
	report(50);
	kernel(20, 21, 0);
	kernel(30, 30, 0);
	kernel(40, 0, 0);
	kernel(45, 44, 0);
	sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -9223372036854775808, end = "
	    "9223372036854775807 WHERE start = %lld",
	    ns_of(20));
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(model.ops_cnt, 1);
	assert_int_equal(model.ops[0].start, -WALL_FAR);
	assert_int_equal(model.ops[0].end, WALL_FAR);
}

/* Kinds: of a kernel the name; of copies the direction (2 from the GPU, 4 from an array of it). */
static void kinds_of_operations(void **state)
{
	const uint32_t want[] = {WORK_KERNEL,  WORK_COPY, WORK_TO_HOST, WORK_COPY,
				 WORK_TO_HOST, WORK_FILL, WORK_GRAPH};

	(void)state;
	report(50);
	kernel(0, 1, 0);
	for (int i = 1; i <= 4; i++)
		copy(i, i + 0.5, 0, .kind = i);
	fill(6, 7, 0);
	graph(8, 9, 0);
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(model.ops_cnt, 7);
	for (size_t i = 0; i < 7; i++) {
		const struct why_kind *k = why_kind(&model, &model.ops[i]);

		assert_int_equal(k->work, want[i]);
		assert_int_equal(k->name == WHY_NONE, i > 0);
		assert_int_equal(why_computes(&model, &model.ops[i]),
				 want[i] == WORK_KERNEL || want[i] == WORK_GRAPH);
	}
}

/* CUDA's number of a GPU in a process is the report's by the table of devices; a number that it lacks stays. */
static void gpus_by_their_number_in_the_report(void **state)
{
	const uint32_t want[] = {3, 5, 7, 2, 3, 5};

	(void)state;
	report(50);
	sql("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 100, NULL, 1), (5, 1, 100, NULL, "
	    "1), "
	    "(7, 0, 200, NULL, 1), (NULL, 2, 100, NULL, 1)");
	kernel(0, 1, 0);
	kernel(1, 2, 0, .device = 1);
	kernel(2, 3, 0, .pid = CHILD);
	kernel(3, 4, 0, .device = 2);
	kernel(4, 5, 0);
	kernel(5, 6, 0, .device = 1);
	read_as(&(struct why_scope){.is_all = true});
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(why_kind(&model, &model.ops[i])->device, want[i]);
}

/* ---- launches ---- */

/* By process and correlation id, in whatever order calls come; the same id in two processes. */
static void launches_are_found_by_their_ids(void **state)
{
	uint32_t main_process, child;

	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	for (int i = 0; i < 20; i++) {
		cuda(i % 2 ? OTHER : MAIN, "cudaLaunchKernel", i, i + 0.5, NULL, 100 - 3 * i);
		cuda(CHILD, "cudaLaunchKernel", i, i + 0.5, NULL, 100 - 3 * i);
		kernel(i + 0.5, i + 0.6, 100 - 3 * i);
		kernel(i + 0.5, i + 0.6, 100 - 3 * i, .pid = CHILD);
	}
	read_as(&(struct why_scope){.is_all = true});
	main_process = process_number(MAIN);
	child = process_number(CHILD);
	assert_int_equal(model.launches_cnt, 40);
	for (uint32_t id = 43; id <= 100; id += 3) {
		uint32_t at = why_find_launch(&model, child, id);
		double start = (100 - id) / 3.0;

		assert_int_not_equal(at, WHY_NONE);
		assert_int_equal(model.launches[at].correlation, id);
		assert_int_equal(model.threads[model.launches[at].thread].process, child);
		assert_int_equal(why_launch_call(&model, &model.launches[at])->start, ns_of(start));
		at = why_find_launch(&model, main_process, id);
		assert_int_equal(model.threads[model.launches[at].thread].process, main_process);
		assert_int_equal(why_find_launch(&model, main_process, id + 1), WHY_NONE);
	}
	assert_int_equal(why_find_launch(&model, main_process, 0), WHY_NONE);
	assert_int_equal(why_find_launch(&model, child + 1, 43), WHY_NONE);
	for (size_t i = 0; i < model.ops_cnt; i++) {
		const struct why_launch *l = &model.launches[model.ops[i].launch];

		assert_int_equal(why_kind(&model, &model.ops[i])->process,
				 model.threads[l->thread].process);
		assert_int_equal(why_launch_call(&model, l)->end, model.ops[i].start);
	}
}

/* An operation of an id that no call has, between others. */
static void operation_of_an_unknown_launch(void **state)
{
	(void)state;
	report(50);
	cuda(MAIN, "cudaLaunchKernel", 1, 2, NULL, 1);
	cuda(MAIN, "cudaLaunchKernel", 3, 4, NULL, 2);
	kernel(2, 3, 1);
	kernel(3, 4, 77);
	kernel(4, 5, 2);
	kernel(5, 6, 0);
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(model.ops[0].launch, 0);
	assert_int_equal(model.ops[1].launch, WHY_NONE);
	assert_int_equal(model.ops[2].launch, 1);
	assert_int_equal(model.ops[3].launch, WHY_NONE);
}

/* A library's call is the outermost, and the launch the one within; a call that starts nothing is no launch. */
static void launch_within_a_library_call(void **state)
{
	const struct why_launch *l;
	const struct why_thread *t;

	(void)state;
	report(50);
	library_call(MAIN, "cublasSgemm", 10, 20, NULL);
	cuda(MAIN, "cudaLaunchKernel", 12, 13, NULL, 5);
	cuda(MAIN, "cudaFree", 14, 15, NULL, 0);
	cuda(MAIN, "cudaMalloc", 30, 31, NULL, 0);
	kernel(14, 30, 5);
	read_as(&(struct why_scope){.is_all = true});
	t = &model.threads[why_model_find(&model, tid_of(MAIN))];
	assert_int_equal(t->gpu_cnt, 2);
	assert_int_equal(t->gpu[0].end, 20 * MS);
	assert_int_equal(model.launches_cnt, 1);
	assert_int_equal(model.inner_cnt, 1);
	l = &model.launches[model.ops[0].launch];
	assert_int_equal(l->call, 0);
	assert_int_equal(l->inner, 0);
	assert_int_equal(why_launch_call(&model, l)->start, 12 * MS);
	assert_int_equal(l->over, LAUNCH_GOES_ON);
}

/* A launch that never returned has the rest of the time as a call, and none as a launch. */
static void launch_that_never_returned(void **state)
{
	const struct why_thread *t;

	(void)state;
	report(50);
	cuda(MAIN, "cudaMemcpy", 10, 10, NULL, 5);
	kernel(14, 30, 5);
	read_as(&(struct why_scope){.is_all = true});
	t = &model.threads[why_model_find(&model, tid_of(MAIN))];
	assert_int_equal(t->gpu[0].end, INT64_MAX);
	assert_int_equal(why_launch_call(&model, &model.launches[0])->end, 10 * MS);
	assert_true(model.has_gpu_calls);
	assert_false(model.has_gpu_stacks);
}

/*
 * All that a call started was over when it returned, at 20: one copy; two; two, of which one goes on; one that a call within
 * started. Of a call that started nothing, nothing is known.
 */
static void launches_that_are_over(void **state)
{
	const uint32_t want[] = {LAUNCH_IS_OVER, LAUNCH_IS_OVER, LAUNCH_GOES_ON, LAUNCH_GOES_ON,
				 LAUNCH_UNKNOWN};

	(void)state;
	report(500);
	for (int i = 0; i < 5; i++) {
		if (i == 3)
			library_call(MAIN, "cublasSetMatrix", 100 * i + 9, 100 * i + 21, NULL);
		cuda(MAIN, "cudaMemcpyAsync", 100 * i + 10, 100 * i + 20, "f /me/a.py:1", i + 1);
	}
	copy(11, 20, 1);
	copy(111, 115, 2);
	copy(116, 119, 2);
	copy(211, 221, 3);
	copy(212, 213, 3);
	copy(311, 312, 4);
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(model.launches_cnt, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(model.launches[i].over, want[i]);
	assert_true(model.has_gpu_stacks);
}

/* ---- reach ---- */

/* Forty operations of 1 ms a ms apart, but the first lasts until 20.5: from there on, the 20th is the first that is not over. */
static void first_operation_that_is_not_over(void **state)
{
	(void)state;
	report(50);
	for (int i = 0; i < 40; i++)
		kernel(i, i ? i + 1 : 20.5, 0);
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(why_reach(&model, 0), 0);
	assert_int_equal(why_reach(&model, ns_of(20.4)), 0);
	assert_int_equal(why_reach(&model, ns_of(20.5)), 20);
	assert_int_equal(why_reach(&model, 21 * MS), 21);
	assert_int_equal(why_reach(&model, 39 * MS), 39);
	assert_int_equal(why_reach(&model, 40 * MS), 40);
	assert_int_equal(why_reach(&model, INT64_MAX), 40);
}

static void reach_of_nothing(void **state)
{
	(void)state;
	report(50);
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(why_reach(&model, 0), 0);
}

/* Sixteen operations are a whole block: what comes after is beyond them. */
static void reach_of_whole_blocks(void **state)
{
	(void)state;
	report(50);
	for (int i = 0; i < 16; i++)
		kernel(i, i + 1, 0);
	read_as(&(struct why_scope){.is_all = true});
	assert_int_equal(why_reach(&model, ns_of(15.5)), 15);
	assert_int_equal(why_reach(&model, 16 * MS), 16);
}

/* ---- sweeps ---- */

/*
 * Process 100: kernels 2-6 and 4-5 (the longer one is shown), copies 1-3 and 8-9, all in GPU 0; process 200: kernel 0-20 in
 * GPU 1. Of 100: copy 1-2, kernel 2-6, nothing 6-8, copy 8-9.
 */
static void sweep_over_a_process(void **state)
{
	const struct why_op *o;
	struct gpu_sweep s;
	int64_t until;

	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 50);
	runs(CHILD, 0, 50);
	kernel(2, 6, 0);
	kernel(4, 5, 0);
	copy(1, 3, 0);
	copy(8, 9, 0);
	kernel(0, 20, 0, .pid = CHILD, .device = 1);
	read_as(&(struct why_scope){.is_all = true});
	gpu_sweep_begin(&s, &model, process_number(MAIN), WHY_NONE, 0);
	assert_null(gpu_sweep_at(&s, 0, &until));
	assert_int_equal(until, 1 * MS);
	assert_int_equal(gpu_sweep_next(&s)->start, 1 * MS);
	o = gpu_sweep_at(&s, 1 * MS, &until);
	assert_int_equal(o->end, 3 * MS);
	assert_int_equal(until, 2 * MS);
	o = gpu_sweep_at(&s, 2 * MS, &until);
	assert_int_equal(o->end, 6 * MS);
	assert_int_equal(until, 6 * MS);
	assert_null(gpu_sweep_at(&s, 6 * MS, &until));
	assert_int_equal(until, 8 * MS);
	o = gpu_sweep_at(&s, 8 * MS, &until);
	assert_int_equal(until, 9 * MS);
	assert_null(gpu_sweep_next(&s));
	assert_null(gpu_sweep_at(&s, 9 * MS, &until));
	assert_int_equal(until, INT64_MAX);
	/* By device: all of GPU 1, of any process. */
	gpu_sweep_begin(&s, &model, WHY_NONE, 1, 3 * MS);
	o = gpu_sweep_at(&s, 3 * MS, &until);
	assert_int_equal(o->start, 0);
	assert_int_equal(until, 20 * MS);
	gpu_sweep_begin(&s, &model, process_number(MAIN), 1, 0);
	assert_null(gpu_sweep_at(&s, 3 * MS, &until));
	assert_int_equal(until, INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL(operations_are_put_in_order),
		MODEL(operations_of_one_table),
		MODEL(tables_that_do_not_overlap),
		MODEL(operations_without_an_end_are_left_out),
		MODEL(kinds_of_operations),
		MODEL(gpus_by_their_number_in_the_report),
		MODEL(launches_are_found_by_their_ids),
		MODEL(operation_of_an_unknown_launch),
		MODEL(launch_within_a_library_call),
		MODEL(launch_that_never_returned),
		MODEL(launches_that_are_over),
		MODEL(first_operation_that_is_not_over),
		MODEL(reach_of_nothing),
		MODEL(reach_of_whole_blocks),
		MODEL(sweep_over_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
