/* cupti_lent - CUPTI changes hands while it has buffers of the one or the other: each gets its own records, or has them counted. */
#include "tests/unit/cupti/cupti_host.h"

/* ---- a client, with a clock of its own ---- */

#define BYTES 65536u

static struct sl_cuda_client client;
static size_t client_bytes; /* of records that it got */
static int (*callbacks)(void *, void *), (*enable)(int), (*disable)(int), (*flush)(uint32_t),
	(*clocks)(uint64_t (*)(void));

static uint64_t ticks(void)
{
	return host_now() * 3;
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = aligned_alloc(8, *bytes = BYTES);
	*max_records = 0;
	client.buffers_out++;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	if (cuda.completed(context, stream, buffer, bytes, valid))
		return;
	client_bytes += valid;
	client.buffers_out--;
	free(buffer);
}

static void begin_client(void)
{
	client.requested = (void *)requested;
	client.completed = (void *)completed;
	client.clock = ticks;
	CHECK(!clocks(ticks));
	CHECK(!callbacks((void *)requested, (void *)completed));
	CHECK(!enable(CUPTI_KIND_CONCURRENT_KERNEL));
	/* The stand-in measures a clock's rate. */
	usleep(2000);
}

static void begin_profile(void)
{
	client.requested = (void *)requested;
	client.completed = (void *)completed;
	client.clock = ticks;
	CHECK(cuda.yield(&client));
	begin_client();
}

static void end_profile(void)
{
	CHECK(!disable(CUPTI_KIND_CONCURRENT_KERNEL));
	CHECK(!flush(0));
	CHECK(cuda.resume(&client));
}

static void begin(const char *lies)
{
	void *lib;

	setenv("STANDIN_CUPTI_LIES", lies, 1);
	host.completed = completed;
	CHECK_EQUAL(start("so.13", 0), 0);
	lib = dlopen(getenv("SIGHTLINE_CUPTI"), RTLD_NOW | RTLD_LOCAL);
	CHECK(lib);
	*(void **)&callbacks = dlsym(lib, "cuptiActivityRegisterCallbacks");
	*(void **)&clocks = dlsym(lib, "cuptiActivityRegisterTimestampCallback");
	*(void **)&enable = dlsym(lib, "cuptiActivityEnable");
	*(void **)&disable = dlsym(lib, "cuptiActivityDisable");
	*(void **)&flush = dlsym(lib, "cuptiActivityFlushAll");
}

static size_t untimed(void)
{
	size_t n = 0;

	for (size_t i = 0; i < told_cnt; i++)
		n += told[i].kind == SL_GPU_REC_KERNEL && !told[i].kernel.start;
	return n;
}

static uint64_t dropped(void)
{
	uint64_t n = 0;

	for (size_t i = 0; i < told_cnt; i++)
		n += told[i].kind == SL_GPU_REC_FLUSHED ? told[i].flushed.dropped : 0;
	return n;
}

/* ---- tests ---- */

/* In a buffer of the shim's, with times of no known clock. */
static void work_of_the_program_in_a_process(void)
{
	setenv("STANDIN_CUPTI_AHEAD", "1", 1);
	begin("none");
	launch("mine");
	cuda.flush(false);
	begin_profile();
	launch("theirs");
	end_profile();
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	launch("mine");
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 2);
	CHECK_EQUAL(untimed(), 0);
}
APART(work_of_the_program)

/* CUPTI has no times for some work: the shim's is recorded, so that it is counted, before, between and after. */
static void work_without_times_in_a_process(void)
{
	begin("TICKS");
	for (int i = 0; i < 25; i++)
		launch("before");
	cuda.flush(false);
	CHECK_EQUAL(untimed(), 1);
	begin_profile();
	for (int i = 0; i < 25; i++)
		launch("theirs");
	end_profile();
	for (int i = 0; i < 25; i++)
		launch("between");
	cuda.flush(false);
	CHECK_EQUAL(untimed(), 2);
	begin_profile();
	for (int i = 0; i < 25; i++)
		launch("theirs");
	end_profile();
	for (int i = 0; i < 25; i++)
		launch("after");
	cuda.flush(true);
	CHECK_EQUAL(untimed(), 3);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 75);
}
APART(work_without_times)

/* The shim's last buffer comes when CUPTI is lent, and its records have times of the client's clock. */
static void a_late_buffer_in_a_process(void)
{
	begin("none");
	launch("mine");
	setenv("STANDIN_CUPTI_LATE", "2000", 1);
	begin_profile();
	unsetenv("STANDIN_CUPTI_LATE");
	launch("theirs");
	for (int ms = 0; ms < 20000 && !count(SL_GPU_REC_KERNEL); ms++)
		usleep(1000);
	end_profile();
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	CHECK_EQUAL(untimed(), 1);
}
APART(a_late_buffer)

/* Work of the shim in a buffer that CUPTI had from the client before. */
static void a_buffer_of_the_program_in_a_process(void)
{
	setenv("STANDIN_CUPTI_AHEAD", "1", 1);
	begin("none");
	begin_profile();
	launch("theirs");
	end_profile();
	CHECK_EQUAL(client.buffers_out, 1);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 0);
	launch("mine");
	setenv("STANDIN_CUPTI_LATE", "20", 1);
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
	CHECK_EQUAL(client.buffers_out, 0);
}
APART(a_buffer_of_the_program)

/* The program was first, and the shim has had no buffer of its own. */
static void no_buffer_of_its_own_in_a_process(void)
{
	setenv("STANDIN_CUPTI_AHEAD", "1", 1);
	host.client = &client;
	begin("none");
	begin_client();
	launch("theirs");
	end_profile();
	launch("mine");
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), 1);
}
APART(no_buffer_of_its_own)

static void what_the_program_lost_in_a_process(void)
{
	uint64_t mine;

	setenv("STANDIN_CUPTI_DROP", "2", 1);
	begin("none");
	launch("mine");
	cuda.flush(false);
	mine = dropped();
	CHECK(mine &&
	      mine < 5); /* every second: kernel, a call of the runtime and the driver each, a device */
	begin_profile();
	for (int i = 0; i < 10; i++)
		launch("theirs");
	end_profile();
	launch("mine");
	cuda.flush(true);
	CHECK(dropped() > mine && dropped() <= 2 * mine);
}
APART(what_the_program_lost)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_of_the_program),  cmocka_unit_test(work_without_times),
		cmocka_unit_test(a_late_buffer),        cmocka_unit_test(a_buffer_of_the_program),
		cmocka_unit_test(no_buffer_of_its_own), cmocka_unit_test(what_the_program_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
