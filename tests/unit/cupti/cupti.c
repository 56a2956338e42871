/* cupti - how libtrace-cuda.so gets on with CUPTI, with the program, and with what goes wrong. */
#include "tests/unit/cupti/cupti_host.h"

/* ---- what the program does ---- */

static void calls_and_kernels_join_in_a_process(void)
{
	uint32_t ids[100];
	size_t seen = 0;

	CHECK_EQUAL(start("so.13", 0), 0);
	for (int i = 0; i < 100; i++)
		ids[i] = launch(i % 2 ? "_Z1av" : "_Z1bv");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_API), 200);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 100);
	for (size_t i = 0; i < told_cnt; i++) {
		const struct told *t = &told[i];

		if (t->kind == SL_GPU_REC_KERNEL) {
			uint32_t n = t->kernel.correlation - ids[0];

			CHECK(n < 100 && t->kernel.end - t->kernel.start == 5000);
			CHECK(!strcmp(text_of(t, t->kernel.name), n % 2 ? "_Z1av" : "_Z1bv"));
			CHECK(t->kernel.grid[0] == 4 && t->kernel.block[0] == 128 &&
			      t->kernel.registers == 24);
			seen++;
		} else if (t->kind == SL_GPU_REC_API) {
			CHECK(t->api.correlation - ids[0] < 100 && t->api.start <= t->api.end);
			CHECK_EQUAL(t->api.thread, this_thread());
			CHECK(!strcmp(text_of(t, t->api.name), t->api.is_driver
								       ? "cuLaunchKernel"
								       : "cudaLaunchKernel_v7000"));
		}
	}
	CHECK_EQUAL(seen, 100);
	CHECK_EQUAL(text_cnt - avoided(),
		    6); /* two kernels, two functions, the device, the status: each once */
	CHECK(only(SL_GPU_REC_FLUSHED)->flushed.is_last);
}
APART(calls_and_kernels_join)

static void a_name_may_change_behind_its_address_in_a_process(void)
{
	char name[16] = "_Z5firstv";

	CHECK_EQUAL(start("so.12", 0), 0);
	launch(name);
	cuda.flush(true);
	strcpy(name, "_Z6secondv");
	launch(name);
	cuda.flush(true);
	CHECK(!strcmp(text_of(first(SL_GPU_REC_KERNEL), first(SL_GPU_REC_KERNEL)->kernel.name),
		      "_Z5firstv"));
	CHECK(!strcmp(text_of(last(SL_GPU_REC_KERNEL), last(SL_GPU_REC_KERNEL)->kernel.name),
		      "_Z6secondv"));
}
APART(a_name_may_change_behind_its_address)

static void only_what_is_asked_for_in_a_process(void)
{
	struct standin_activity a = {.kind = STANDIN_EVENT, .start = 1, .end = 1, .event = 5};
	struct standin_activity memory = {.kind = STANDIN_ALLOC, .bytes = 4096};
	struct standin_activity graph = {
		.kind = STANDIN_GRAPH, .start = 10, .end = 20, .graph_exec = 9};
	struct standin_activity node = {
		.kind = STANDIN_MEMSET, .start = 10, .end = 20, .graph_node = 77};

	CHECK_EQUAL(start("so.13", 0), 0);
	observer->activity(&a);
	observer->activity(&memory);
	observer->activity(&graph);
	observer->activity(&node);
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_EVENT), 0);
	CHECK_EQUAL(count(SL_GPU_REC_MEMORY), 0);
	CHECK_EQUAL(count(SL_GPU_REC_MEMSET), 0); /* part of the graph */
	CHECK_EQUAL(only(SL_GPU_REC_GRAPH)->graph.graph, 9);
}
APART(only_what_is_asked_for)

static void call_of(const char *name, bool is_driver)
{
	observer->api(0, is_driver, name, 1, 0);
	observer->api(1, is_driver, name, 1, 0);
}

static void make_all_queries(void)
{
#define RUNTIME false
#define DRIVER  true
	static const struct {
		const char *name;
		bool is_driver;
	} queries[] = {
#define QUERY(domain, id, name) {#name, domain},
#include "preload/cupti/queries.def"
	};
#undef RUNTIME
#undef DRIVER
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s", queries[i].name);
		/* CUPTI's version of the runtime's functions. */
		if (!queries[i].is_driver)
			*strrchr(name, '_') = 0;
		call_of(name, queries[i].is_driver);
	}
}

/* Also when recording begins once more, which turns all calls of a kind on. */
static void queries_are_left_out_in_a_process(void)
{
	host.has_runtime = 1;
	CHECK_EQUAL(start("so.13", 0), 0);
	make_all_queries();
	cuda.record(false);
	cuda.rest();
	cuda.record(true);
	make_all_queries();
	call_of("cudaMalloc", false);
	cuda.flush(true);
	CHECK(!strcmp(text_of(only(SL_GPU_REC_API), only(SL_GPU_REC_API)->api.name),
		      "cudaMalloc_v3020"));
	CHECK_EQUAL(problems(), 0);
}
APART(queries_are_left_out)

/* No hook sees them: their rows are CUPTI's. */
static void queries_of_a_static_runtime_in_a_process(void)
{
	CHECK_EQUAL(start("so.13", 0), 0);
	call_of("cudaGetDevice", false);
	call_of("cuEventQuery", true);
	call_of("cudaEventQuery", false);
	cuda.flush(true);
	CHECK(!strcmp(text_of(only(SL_GPU_REC_API), only(SL_GPU_REC_API)->api.name),
		      "cudaEventQuery_v3020"));
}
APART(queries_of_a_static_runtime)

/* An older version cannot: all calls are recorded, and there is no message. */
static void queries_of_an_older_version_in_a_process(void)
{
	CHECK_EQUAL(start("so.12", 0), 0);
	call_of("cudaGetDevice", false);
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_API), 1);
	CHECK_EQUAL(problems(), 0);
}
APART(queries_of_an_older_version)

static void nodes_of_graphs_in_a_process(void)
{
	struct standin_activity made = {.kind = STANDIN_GRAPH_NODE, .graph = 4, .graph_node = 40};
	struct standin_activity cloned = {
		.kind = STANDIN_GRAPH_NODE, .graph = 5, .graph_node = 50, .original_node = 40};
	struct standin_activity graph = {
		.kind = STANDIN_GRAPH, .start = 10, .end = 20, .graph_exec = 9};
	struct standin_activity node = {.kind = STANDIN_MEMSET,
					.start = 10,
					.end = 20,
					.graph_node = 50,
					.graph = 5,
					.bytes = 8};

	CHECK_EQUAL(start("so.13", SL_CUDA_GRAPH_NODES), 0);
	observer->activity(&made);
	observer->activity(&cloned);
	observer->activity(&graph);
	observer->activity(&node);
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_GRAPH), 0);
	CHECK_EQUAL(only(SL_GPU_REC_MEMSET)->set.graph_node, 50);
	CHECK_EQUAL(count(SL_GPU_REC_NODE), 2);
	CHECK_EQUAL(first(SL_GPU_REC_NODE)->node.node, 40);
	CHECK_EQUAL(first(SL_GPU_REC_NODE)->node.original, 0);
	CHECK_EQUAL(last(SL_GPU_REC_NODE)->node.node, 50);
	CHECK_EQUAL(last(SL_GPU_REC_NODE)->node.original, 40);
	CHECK_EQUAL(last(SL_GPU_REC_NODE)->node.graph, 5);
	CHECK_EQUAL(last(SL_GPU_REC_NODE)->node.thread, this_thread());
}
APART(nodes_of_graphs)

#define THREADS 4
#define EACH    250000

static void *launcher(void *unused)
{
	(void)unused;
	for (int i = 0; i < EACH; i++) {
		const struct standin_value v[] = {
			{F_KERNEL_correlation, (uint64_t)i},
			{F_KERNEL_name, (uintptr_t)(i % 3 ? "_Z4someE" : "_Z5otherE")}};

		emit(&(struct standin_emit){.kind = CUPTI_KIND_CONCURRENT_KERNEL,
					    .values = v,
					    .cnt = 2,
					    .start_field = F_KERNEL_start,
					    .end_field = F_KERNEL_end,
					    .start = 1000,
					    .end = 2000});
		if (i % 50000 == 0)
			cuda.flush(false);
	}
	return NULL;
}

static void a_million_records_in_a_process(void)
{
	pthread_t thread[THREADS];
	size_t kernels = 0;

	CHECK_EQUAL(start("so.13", 0), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, launcher, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	cuda.flush(true);
	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_KERNEL) {
			const char *name = text_of(&told[i], told[i].kernel.name);

			CHECK(!strcmp(name,
				      told[i].kernel.correlation % 3 ? "_Z4someE" : "_Z5otherE"));
			kernels++;
		}
	CHECK_EQUAL(kernels, THREADS * EACH);
}
APART(a_million_records)

/* ---- flushing ---- */

static void a_flush_takes_what_is_over_in_a_process(void)
{
	uint64_t before, now = host_now();

	CHECK_EQUAL(start("so.13", 0), 0);
	launch("_Z4overv");
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	CHECK(!only(SL_GPU_REC_FLUSHED)->flushed.is_last);
	CHECK(last(SL_GPU_REC_FLUSHED)->flushed.until < host_now());
	/* One that still runs keeps its buffer back, and all that may be in there with it. */
	before = host_now();
	launch_at("_Z5stillv", now, host_now() + 60000000000u);
	launch("_Z4overv");
	usleep(200000);
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	CHECK(last(SL_GPU_REC_FLUSHED)->flushed.until <= before);
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 3);
	CHECK(last(SL_GPU_REC_FLUSHED)->flushed.is_last);
	CHECK(last(SL_GPU_REC_FLUSHED)->flushed.until > before);
	for (size_t i = 0, n = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_KERNEL && !told[i].kernel.end)
			CHECK_EQUAL(++n, 1);
}
APART(a_flush_takes_what_is_over)

/* What a thread has not written into, because it calls nothing any more, keeps nothing back. */
static void an_empty_buffer_keeps_nothing_back_in_a_process(void)
{
	uint64_t flushed;

	setenv("STANDIN_CUPTI_AHEAD", "1", 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	launch("_Z4overv");
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	flushed = host_now();
	usleep(SL_CUDA_SLACK_NS / 1000 + 50000);
	cuda.flush(false);
	CHECK(last(SL_GPU_REC_FLUSHED)->flushed.until > flushed);
}
APART(an_empty_buffer_keeps_nothing_back)

/* Something always runs on a GPU that is kept busy: what is behind it comes all the same, soon after it is over. */
static void a_busy_gpu_keeps_little_back_in_a_process(void)
{
	uint64_t now = host_now();

	CHECK_EQUAL(start("so.13", 0), 0);
	launch_at("_Z5stillv", now, now + 60000000000u);
	for (int i = 0; i < 1000; i++)
		launch("_Z4overv");
	cuda.flush(false);
	CHECK(count(SL_GPU_REC_KERNEL) > 0);
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1001);
}
APART(a_busy_gpu_keeps_little_back)

static void full_buffers_come_by_themselves_in_a_process(void)
{
	CHECK_EQUAL(start("so.13", 0), 0);
	for (int i = 0; i < 20000; i++)
		launch("_Z1kv");
	for (int i = 0; i < 500 && !count(SL_GPU_REC_KERNEL); i++)
		usleep(10000);
	CHECK(count(SL_GPU_REC_KERNEL) > 0);
	cuda.flush(true);
	CHECK(first(SL_GPU_REC_KERNEL)->thread != this_thread());
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 20000);
	CHECK_EQUAL(count(SL_GPU_REC_API), 40000);
}
APART(full_buffers_come_by_themselves)

/* The final flush waits for CUPTI's worker: the process ends after it. */
static void late_buffers_are_waited_for_in_a_process(void)
{
	setenv("STANDIN_CUPTI_LATE", "50", 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	launch("_Z4latev");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	CHECK_EQUAL(only(SL_GPU_REC_FLUSHED)->flushed.incomplete, 0);
}
APART(late_buffers_are_waited_for)

/* ... within bounds: a buffer that stays away counts as a loss, and is taken if it comes after all. */
static void buffers_after_the_end_are_taken_in_a_process(void)
{
	setenv("STANDIN_CUPTI_LATE", "3000", 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	launch("_Z4latev");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 0);
	CHECK_EQUAL(only(SL_GPU_REC_FLUSHED)->flushed.incomplete, 1);
	for (int i = 0; i < 500 && !count(SL_GPU_REC_KERNEL); i++)
		usleep(10000);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
}
APART(buffers_after_the_end_are_taken)

static void losses_are_counted_in_a_process(void)
{
	setenv("STANDIN_CUPTI_DROP", "10", 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	for (int i = 0; i < 1000; i++)
		launch("_Z1kv");
	cuda.flush(false);
	/* The device's record was the first. */
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL) + count(SL_GPU_REC_API) + count(SL_GPU_REC_DEVICE) +
			    only(SL_GPU_REC_FLUSHED)->flushed.dropped,
		    3001);
	CHECK_EQUAL(only(SL_GPU_REC_FLUSHED)->flushed.dropped, 300);
	cuda.flush(true);
	CHECK_EQUAL(last(SL_GPU_REC_FLUSHED)->flushed.dropped, 0);
}
APART(losses_are_counted)

static void a_gpu_never_used_is_not_flushed_in_a_process(void)
{
	/* No device, no record, no buffer: nothing to call CUPTI for, and the stand-in ends a process that does. */
	setenv("STANDIN_CUPTI_FAIL", "ActivityEnableAndDump:8=11,ActivityEnable:8=21", 1);
	CHECK_EQUAL(start("so.13", 0), 0);
	cuda.flush(true);
	CHECK(only(SL_GPU_REC_FLUSHED)->flushed.is_last);
}
APART(a_gpu_never_used_is_not_flushed)

/* The stand-in ends a child that calls it. */
static void a_forked_child_is_left_alone_in_a_process(void)
{
	int how;
	pid_t pid;

	CHECK_EQUAL(start("so.13", 0), 0);
	launch("_Z1kv");
	pid = fork();
	if (!pid) {
		cuda.flush(false);
		cuda.flush(true);
		_exit(cuda.yield(NULL) || count(SL_GPU_REC_FLUSHED) || count(SL_GPU_REC_KERNEL));
	}
	CHECK(waitpid(pid, &how, 0) == pid && how == 0);
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
}
APART(a_forked_child_is_left_alone)

/* ---- clocks ---- */

static void an_older_cupti_keeps_its_own_clock_in_a_process(void)
{
	uint64_t now;

	setenv("STANDIN_CUPTI_VERSION", "15", 1);
	CHECK_EQUAL(start("so.11.8", 0), 0);
	now = host_now();
	launch_at("_Z1kv", now - 3000000, now - 2000000);
	cuda.flush(true);
	/* Measured, not exact. */
	CHECK(only(SL_GPU_REC_KERNEL)->kernel.start + 1000000 > now - 3000000);
	CHECK(only(SL_GPU_REC_KERNEL)->kernel.start < now - 3000000 + 1000000);
	CHECK(only(SL_GPU_REC_KERNEL)->kernel.end - only(SL_GPU_REC_KERNEL)->kernel.start ==
	      1000000);
}
APART(an_older_cupti_keeps_its_own_clock)

/* ---- other tools that use CUPTI ---- */

static void another_tool_was_first_in_a_process(void)
{
	setenv("STANDIN_CUPTI_TAKEN", "Nsight Compute", 1);
	CHECK_EQUAL(start("so.13", 0), -1);
	CHECK(status_has(SL_GPU_STATUS_TAKEN, "\"Nsight Compute\" has it"));
	CHECK_EQUAL(status(SL_GPU_STATUS_TAKEN)->status.detail, 39);
	cuda.flush(false);
	cuda.flush(true);
	CHECK_EQUAL(told_cnt, 1);
	unsetenv("STANDIN_CUPTI_TAKEN");
	CHECK(cuda.yield(NULL));
}
APART(another_tool_was_first)

static void an_older_cupti_names_no_process_in_a_process(void)
{
	setenv("STANDIN_CUPTI_TAKEN", "x", 1);
	setenv("STANDIN_CUPTI_FAIL", "Subscribe_v2=39", 1);
	CHECK_EQUAL(start("so.12", 0), -1);
	CHECK(status_has(SL_GPU_STATUS_TAKEN, "another profiler"));
}
APART(an_older_cupti_names_no_process)

static void program_callback(void *data, int domain, uint32_t id, const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}
static size_t program_buffers;
static uint64_t program_time;

static void program_requested(uint8_t **buffer, size_t *bytes, size_t *max)
{
	*buffer = aligned_alloc(8, *bytes = 65536);
	*max = 0;
	memset(*buffer, 0, *bytes);
}

static void program_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid)
{
	(void)context;
	(void)stream;
	(void)bytes;
	if (valid >= 216)
		memcpy(&program_time, buffer + 16, 8); /* start of a kernel */
	program_buffers++;
}

/* As torch.profiler does, in the middle of it all. */
static void the_program_wants_it_in_a_process(void)
{
	int (*subscribe)(void **, cupti_callback *, void *), (*enable)(int);
	int (*callbacks)(cupti_buffer_requested *, cupti_buffer_completed *),
		(*flush_all)(uint32_t);
	int (*thread_type)(int *), type = -1;
	struct timespec wall;
	void *lib, *handle;

	CHECK_EQUAL(start("so.13", 0), 0);
	launch("_Z4oursv");
	lib = dlopen(getenv("SIGHTLINE_CUPTI"), RTLD_NOW);
	subscribe = (__typeof__(subscribe))dlsym(lib, "cuptiSubscribe");
	enable = (__typeof__(enable))dlsym(lib, "cuptiActivityEnable");
	callbacks = (__typeof__(callbacks))dlsym(lib, "cuptiActivityRegisterCallbacks");
	flush_all = (__typeof__(flush_all))dlsym(lib, "cuptiActivityFlushAll");
	thread_type = (__typeof__(thread_type))dlsym(lib, "cuptiGetThreadIdType");
	CHECK_EQUAL(subscribe(&handle, program_callback, NULL), 39);
	CHECK(cuda.yield(NULL));
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	CHECK(status_has(SL_GPU_STATUS_LOST_SLOT, "torch.profiler"));
	CHECK_EQUAL(subscribe(&handle, program_callback, NULL), 0);
	CHECK(!thread_type(&type) && type == 0);
	/* What is enabled now is the program's, in its buffers, on the clock that it expects. */
	launch("_Z7nobodysv");
	callbacks(program_requested, program_completed);
	enable(10);
	launch("_Z6theirsv");
	flush_all(1);
	clock_gettime(CLOCK_REALTIME, &wall);
	CHECK_EQUAL(program_buffers, 1);
	CHECK(program_time / 1000000000 - (uint64_t)wall.tv_sec + 2 < 4);
	cuda.flush(false);
	cuda.flush(true);
	CHECK(cuda.yield(NULL));
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	status(SL_GPU_STATUS_LOST_SLOT);
}
APART(the_program_wants_it)

static size_t strange_buffers;

static void stranger_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			       size_t valid)
{
	if (cuda.completed(context, stream, buffer, bytes, valid))
		strange_buffers++;
	else
		program_completed(context, stream, buffer, bytes, valid);
}

static uint64_t program_clock(void)
{
	return 1;
}

/* Attributes, thread ids, clock and callbacks are the program's again, and CUPTI the shim's when it has ended its use. */
static void lent_and_taken_back_in_a_process(void)
{
	struct sl_cuda_client client = {.requested = (void *)program_requested,
					.completed = (void *)stranger_completed,
					.clock = program_clock,
					.name = "libtorch_cpu.so"};
	int (*get)(int, size_t *, void *), (*thread_type)(int *);
	int (*set_thread_type)(int), (*time)(uint64_t *), (*enable)(int), (*disable)(int);
	int (*flush_all)(uint32_t), type = -1;
	uint8_t value = 7;
	size_t bytes = 1;
	uint64_t now = 0;
	void *lib;

	find_build();
	setenv("SIGHTLINE_CUPTI",
	       strcat(strcpy(malloc(4200), build), "/tests/standin/libcupti.so.13"), 1);
	lib = dlopen(getenv("SIGHTLINE_CUPTI"), RTLD_NOW);
	CHECK(lib);
	get = (__typeof__(get))dlsym(lib, "cuptiActivityGetAttribute");
	thread_type = (__typeof__(thread_type))dlsym(lib, "cuptiGetThreadIdType");
	set_thread_type = (__typeof__(set_thread_type))dlsym(lib, "cuptiSetThreadIdType");
	time = (__typeof__(time))dlsym(lib, "cuptiGetTimestamp");
	enable = (__typeof__(enable))dlsym(lib, "cuptiActivityEnable");
	disable = (__typeof__(disable))dlsym(lib, "cuptiActivityDisable");
	flush_all = (__typeof__(flush_all))dlsym(lib, "cuptiActivityFlushAll");
	/* The program has set them before. */
	CHECK_EQUAL(set_thread_type(2), 0);
	CHECK_EQUAL(start("so.13", 0), 0);
	launch("_Z5firstv");
	for (int round = 0; round < 3; round++) {
		CHECK(!cuda.resume(&client)); /* it is not lent */
		CHECK(cuda.yield(&client));
		CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1 + round);
		CHECK(round || status_has(SL_GPU_STATUS_LOST_SLOT, "libtorch_cpu.so"));
		CHECK(!get(5, &bytes, &value) && value == 0);
		CHECK(!thread_type(&type) && type == 2);
		CHECK(!time(&now) && now == 1);
		CHECK_EQUAL(enable(10), 0);
		launch("_Z6theirsv");
		CHECK_EQUAL(disable(10), 0);
		CHECK_EQUAL(flush_all(1), 0);
		CHECK_EQUAL(program_buffers, 1 + round);
		CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1 + round);
		CHECK(cuda.resume(&client));
		CHECK_EQUAL(count(SL_GPU_REC_STATUS), 5 + 2 * round);
		launch("_Z5againv");
		/* Set now, it is found later. */
		value = 0;
		CHECK(cuda.attribute(5, 1, &value));
		CHECK(!cuda.attribute(0, 1, &value));
	}
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 4);
	for (size_t i = 0; i < told_cnt; i++)
		CHECK(told[i].kind != SL_GPU_REC_KERNEL ||
		      host_now() - told[i].kernel.start < 60000000000u);
	CHECK_EQUAL(strange_buffers, 0);
}
APART(lent_and_taken_back)

/* CUPTI goes on with a buffer that it requested from the program: what it puts there since is the shim's, and no more. */
static void taken_back_in_a_buffer_of_the_programs_in_a_process(void)
{
	struct sl_cuda_client client = {.requested = (void *)program_requested,
					.completed = (void *)program_completed,
					.name = "libtorch_cpu.so"};
	int (*enable)(int), (*disable)(int);
	const struct timespec step = {0, 30000000};
	uint64_t now;
	void *lib;

	host.completed = program_completed;
	CHECK_EQUAL(start("so.13", 0), 0);
	lib = dlopen(getenv("SIGHTLINE_CUPTI"), RTLD_NOW);
	enable = (__typeof__(enable))dlsym(lib, "cuptiActivityEnable");
	disable = (__typeof__(disable))dlsym(lib, "cuptiActivityDisable");
	CHECK(cuda.yield(&client));
	CHECK_EQUAL(enable(10), 0);
	now = host_now();
	/* It still runs: the buffer stays with CUPTI. */
	launch_at("_Z6theirsv", now - 2000000, now + 20000000);
	CHECK_EQUAL(disable(10), 0);
	CHECK(cuda.resume(&client));
	now = host_now();
	launch_at("_Z4oursv", now + 2000000, now + 2000000);
	nanosleep(&step, NULL);
	cuda.flush(true);
	CHECK_EQUAL(program_buffers, 1);
	CHECK(strcmp(text_of(only(SL_GPU_REC_KERNEL), first(SL_GPU_REC_KERNEL)->kernel.name),
		     "_Z4oursv") == 0);
	CHECK_EQUAL(count(SL_GPU_REC_API), 2);
}
APART(taken_back_in_a_buffer_of_the_programs)

/* What the program asked for before the shim: CUPTI is not touched. */
static void lent_from_the_start_in_a_process(void)
{
	struct sl_cuda_client client = {.name = "a.out"};

	host.client = &client;
	CHECK_EQUAL(start("so.13", 0), 0);
	CHECK(status_has(SL_GPU_STATUS_LOST_SLOT, "a.out"));
	cuda.flush(true);
	cuda.record(true);
	CHECK_EQUAL(told_cnt, 1);
	CHECK(cuda.resume(&client));
	launch("_Z1kv");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
}
APART(lent_from_the_start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_kernels_join),
		cmocka_unit_test(a_name_may_change_behind_its_address),
		cmocka_unit_test(only_what_is_asked_for),
		cmocka_unit_test(queries_are_left_out),
		cmocka_unit_test(queries_of_a_static_runtime),
		cmocka_unit_test(queries_of_an_older_version),
		cmocka_unit_test(nodes_of_graphs),
		cmocka_unit_test(a_million_records),
		cmocka_unit_test(a_flush_takes_what_is_over),
		cmocka_unit_test(an_empty_buffer_keeps_nothing_back),
		cmocka_unit_test(a_busy_gpu_keeps_little_back),
		cmocka_unit_test(full_buffers_come_by_themselves),
		cmocka_unit_test(late_buffers_are_waited_for),
		cmocka_unit_test(buffers_after_the_end_are_taken),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(a_gpu_never_used_is_not_flushed),
		cmocka_unit_test(a_forked_child_is_left_alone),
		cmocka_unit_test(an_older_cupti_keeps_its_own_clock),
		cmocka_unit_test(another_tool_was_first),
		cmocka_unit_test(an_older_cupti_names_no_process),
		cmocka_unit_test(the_program_wants_it),
		cmocka_unit_test(lent_and_taken_back),
		cmocka_unit_test(taken_back_in_a_buffer_of_the_programs),
		cmocka_unit_test(lent_from_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
