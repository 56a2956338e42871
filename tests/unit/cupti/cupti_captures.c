/*
 * cupti_captures - what is recorded of work around captures: CUPTI has to know graphs early, must not be disabled while a
 * program launches, and reports work that belongs to no capture.
 */
#include "tests/unit/cupti/cupti_host.h"

static void at_version(const char *version, uint32_t recording, uint32_t flags)
{
	setenv("STANDIN_CUPTI_VERSION", version, 1);
	host.recording = recording;
	CHECK_EQUAL(start("so.13", flags), 0);
}

static void instantiate(uint32_t exec)
{
	struct standin_activity cloned = {.kind = STANDIN_GRAPH_NODE,
					  .graph = 1,
					  .graph_exec = exec,
					  .graph_node = 50,
					  .original_node = 40};

	observer->activity(&cloned);
}

/* The call, the whole graph, and its one node. */
static void launch_graph(uint32_t exec)
{
	uint32_t id = ++driver_calls;
	uint64_t now = host_now();
	struct standin_activity node = {.kind = STANDIN_KERNEL,
					.start = now - 2000,
					.end = now - 1000,
					.correlation = id,
					.name = "_Z4nodev",
					.graph_node = 50,
					.graph = 1};
	struct standin_activity whole = {.kind = STANDIN_GRAPH,
					 .start = now - 2000,
					 .end = now - 1000,
					 .correlation = id,
					 .graph = 1,
					 .graph_exec = exec};

	observer->api(0, 0, "cudaGraphLaunch", id, 0);
	observer->activity(&node);
	observer->activity(&whole);
	observer->api(1, 0, "cudaGraphLaunch", id, 0);
}

static void graph_around_a_capture(enum sl_gpu_record kind)
{
	instantiate(9);
	launch_graph(9);
	cuda.flush(false);
	CHECK_EQUAL(count(kind), 0);
	cuda.record(true);
	launch_graph(9);
	cuda.record(false);
	cuda.rest();
	cuda.flush(true);
	CHECK_EQUAL(count(kind), 1);
	CHECK_EQUAL(count(SL_GPU_REC_API), 1);
}

static void a_graph_of_before_is_recorded_in_a_process(void)
{
	at_version("130001", 0, 0);
	graph_around_a_capture(SL_GPU_REC_GRAPH);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 0);
}
APART(a_graph_of_before_is_recorded)

static void nodes_of_a_graph_of_before_in_a_process(void)
{
	at_version("130001", 0, SL_CUDA_GRAPH_NODES);
	graph_around_a_capture(SL_GPU_REC_KERNEL);
	CHECK_EQUAL(count(SL_GPU_REC_GRAPH), 0);
}
APART(nodes_of_a_graph_of_before)

/* Tracing whole graphs crashes there: the stand-in ends the process. */
static void older_versions_trace_nodes_in_a_process(void)
{
	at_version("22", 0, 0);
	graph_around_a_capture(SL_GPU_REC_KERNEL);
	CHECK_EQUAL(count(SL_GPU_REC_GRAPH), 0);
	CHECK_EQUAL(problems(), 0);
	CHECK(has_avoided("by their nodes"));
}
APART(older_versions_trace_nodes)

static void whole_graphs_on_request_in_a_process(void)
{
	setenv("STANDIN_CUPTI_LIES", "GRAPH_LATE", 1);
	at_version("22", 0, SL_CUDA_GRAPH_WHOLE);
	graph_around_a_capture(SL_GPU_REC_GRAPH);
	CHECK(status_has(SL_GPU_STATUS_LIMITED, "may crash the program"));
}
APART(whole_graphs_on_request)

static int ready[2], leave[2];

/* A launch that lasts. */
static void *launcher(void *unused)
{
	char c = 0;

	(void)unused;
	observer->api(0, 0, "cudaLaunchKernel", 1000, 0);
	CHECK(write(ready[1], &c, 1) == 1);
	CHECK(read(leave[0], &c, 1) == 1);
	observer->api(1, 0, "cudaLaunchKernel", 1000, 0);
	return NULL;
}

/* The end of a capture, and of the shim's use of CUPTI: disabling kernels may hang. */
static void nothing_hangs_during_a_launch_in_a_process(void)
{
	pthread_t thread;
	char c = 0;

	at_version("130000", 1, 0);
	CHECK(!pipe(ready) && !pipe(leave));
	CHECK(!pthread_create(&thread, NULL, launcher, NULL));
	CHECK(read(ready[0], &c, 1) == 1);
	cuda.record(false);
	cuda.rest();
	cuda.record(true);
	cuda.record(false);
	cuda.rest();
	cuda.yield(NULL);
	CHECK(write(leave[1], &c, 1) == 1);
	pthread_join(thread, NULL);
	CHECK(has_avoided("stay enabled"));
}
APART(nothing_hangs_during_a_launch)

/* That disables nothing: it may block, and a thread of the program waits for it. */
static void the_end_of_a_capture_only_is_noted_in_a_process(void)
{
	size_t calls;

	at_version("130001", 1, 0);
	launch("_Z6insidev");
	cuda.record(false);
	launch("_Z7outsidev");
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_API), 4);
	cuda.rest();
	calls = count(SL_GPU_REC_API);
	launch("_Z7outsidev");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_API), calls);
}
APART(the_end_of_a_capture_only_is_noted)

static void rest_spares_what_is_recorded_in_a_process(void)
{
	at_version("130001", 1, 0);
	cuda.rest();
	launch("_Z6insidev");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_API), 2);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
}
APART(rest_spares_what_is_recorded)

/* Between captures of a version that must not disable kernels, they cost no record of the shim's. */
static void work_between_captures_is_dropped_in_a_process(void)
{
	at_version("130000", 0, 0);
	launch("_Z6beforev");
	cuda.record(true);
	launch("_Z6insidev");
	cuda.record(false);
	usleep(SL_CUDA_SLACK_NS / 1000 + 50000);
	cuda.rest();
	cuda.flush(false);
	cuda.flush(false);
	for (int i = 0; i < 100; i++)
		launch("_Z7betweenv");
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	cuda.record(true);
	launch("_Z6insidev");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 2);
	CHECK_EQUAL(count(SL_GPU_REC_API), 4);
}
APART(work_between_captures_is_dropped)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_of_before_is_recorded),
		cmocka_unit_test(nodes_of_a_graph_of_before),
		cmocka_unit_test(older_versions_trace_nodes),
		cmocka_unit_test(whole_graphs_on_request),
		cmocka_unit_test(nothing_hangs_during_a_launch),
		cmocka_unit_test(the_end_of_a_capture_only_is_noted),
		cmocka_unit_test(rest_spares_what_is_recorded),
		cmocka_unit_test(work_between_captures_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
