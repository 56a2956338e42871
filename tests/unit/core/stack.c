/* stack.c - stacks of calls, as the shim emits them: a new stack once, a known one by its id. Unwinders are fakes. */
#include "tests/unit/core/stack_test.h"

static void the_same_stack_is_emitted_once(void **state)
{
	const uint64_t *at = ring->chunk.data;
	uint32_t one, two;
	struct record r;

	(void)state;
	one = call_from(last_place);
	assert_int_not_equal(one, 0);
	assert_int_equal(call_from(last_place), one);
	two = call_from(last_place + 1);
	assert_int_not_equal(two, one);
	assert_int_equal(call_from(last_place), one);
	assert_int_equal(count(SL_META_STACK), 2);
	assert_int_equal(count(SL_META_CHAIN), 4);
	assert_true(next(&at, &r));
	assert_int_equal(r.meta, SL_META_STACK);
	assert_true(r.payload[0] == (one | UINT64_C(2) << 32));
	assert_true(r.payload[1] == last_place && r.payload[2] == 0x77);
	assert_true(next(&at, &r));
	assert_int_equal(r.meta, SL_META_CHAIN);
	assert_int_equal(r.payload[0], one);
	assert_int_equal(r.start, 1000);
	assert_int_equal(r.duration, 100);
}

static void another_session_gets_known_stacks_again(void **state)
{
	uint32_t one;

	(void)state;
	one = call_from(last_place);
	assert_int_equal(call_from(last_place), one);
	assert_int_equal(count(SL_META_STACK), 1);
	sl_stack_forget();
	assert_int_not_equal(call_from(last_place), 0);
	assert_int_equal(count(SL_META_STACK), 2);
}

static void a_call_of_hours_has_its_number(void **state)
{
	const uint64_t *at = ring->chunk.data;
	struct record r;
	uint32_t id;

	(void)state;
	native[0] = last_place;
	native_cnt = 1;
	id = call_for(UINT64_C(1) << 40);
	assert_true(next(&at, &r) && next(&at, &r));
	assert_int_equal(r.meta, SL_META_CHAIN);
	assert_true(r.duration == UINT64_C(1) << 40);
	assert_int_equal(r.payload[0], id);
}

static void frames_of_python_follow(void **state)
{
	const uint64_t *at = ring->chunk.data;
	struct record r;

	(void)state;
	python[0] = sl_frame_python(5, 20) | last_place << 40;
	python_cnt = 1;
	assert_int_not_equal(call_from(last_place), 0);
	assert_true(next(&at, &r));
	assert_int_equal(r.payload[0] >> 32, 3);
	assert_true(r.payload[3] == python[0]);
	/* Another line of Python is another stack. */
	python[0] = sl_frame_python(5, 22);
	call_from(last_place);
	assert_int_equal(count(SL_META_STACK), 2);
}

static void depth_is_bounded(void **state)
{
	const uint64_t *at = ring->chunk.data;
	struct record r;

	(void)state;
	session.stack_depth = 100000;
	native_cnt = python_cnt = SL_FRAME_MAX;
	native[0] = last_place;
	assert_int_not_equal(call_for(100), 0);
	assert_true(next(&at, &r));
	assert_int_equal(r.payload[0] >> 32, SL_FRAME_MAX);
	assert_true(r.payload[SL_FRAME_MAX] == (SL_FRAME_REMARK | SL_REMARK_DEPTH));
}

static void a_stack_that_is_not_readable_has_no_number(void **state)
{
	(void)state;
	assert_int_equal(call_for(100), 0);
	assert_int_equal(sl_tls.chunk->committed, 0);
}

static void where_no_room_is_left_a_remark_stands(void **state)
{
	const uint64_t *at = ring->chunk.data;
	struct record r;

	(void)state;
	no_room = true;
	assert_int_not_equal(call_from(last_place), 0);
	assert_true(next(&at, &r));
	assert_int_equal(r.payload[0] >> 32, 1);
	assert_true(r.payload[1] == (SL_FRAME_REMARK | SL_REMARK_MEMORY));
}

static void what_was_unmapped_is_not_read(void **state)
{
	const struct sl_call call = {.start = 1000, .duration = 100};
	const uint64_t *at = ring->chunk.data;
	struct record r;

	(void)state;
	native[0] = last_place;
	native_cnt = python_cnt = 1;
	python[0] = sl_frame_python(5, 20);
	python_is_gone = true;
	assert_int_not_equal(sl_stack_take(&call, SL_STACK_OF_UNMAP), 0);
	assert_true(next(&at, &r));
	assert_int_equal(r.payload[0] >> 32, 2);
	assert_true(r.payload[2] == (SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN));
	/* Other calls unmap nothing, and do not ask. */
	assert_int_not_equal(sl_stack_take(&call, SL_STACK_OF_OSRT), 0);
	assert_true(next(&at, &r));
	assert_true(r.payload[2] == python[0]);
}

static void voided_stacks_are_emitted_again(void **state)
{
	uint32_t before = call_from(last_place);

	(void)state;
	generation++;
	assert_int_not_equal(call_from(last_place), before);
	assert_int_equal(count(SL_META_STACK), 2);
}

static void a_full_ring_costs_the_stack_only(void **state)
{
	uint32_t id;

	(void)state;
	room_left = 1;
	assert_int_equal(call_from(last_place), 0);
	assert_int_equal(sl_tls.chunk->committed, 0);
	room_left = 0;
	id = call_from(last_place);
	assert_int_not_equal(id, 0);
	assert_int_equal(count(SL_META_STACK), 1);
}

static void objects_are_emitted_after_the_stack(void **state)
{
	const uint64_t *at = ring->chunk.data;
	struct record r;

	(void)state;
	new_modules = modules_left = 3;
	call_from(last_place);
	new_modules = 0;
	assert_int_equal(count(SL_META_MODULE), 3);
	assert_true(next(&at, &r) && next(&at, &r));
	assert_int_equal(r.meta, SL_META_MODULE);
	assert_int_equal(r.payload[3], 5);
	assert_int_equal(r.payload[4], 5 + strlen(TEXT));
	assert_memory_equal(r.payload + 5, "\1\2\3\4\5" TEXT, 5 + strlen(TEXT));
	/* Nothing is asked for while nothing is new. */
	module_tries = 0;
	call_from(last_place);
	call_from(last_place + 1);
	assert_int_equal(module_tries, 0);
}

static void objects_without_room_come_later(void **state)
{
	(void)state;
	new_modules = modules_left = 3;
	room_left = 3; /* the stack, one object */
	call_from(last_place);
	assert_int_equal(count(SL_META_MODULE), 1);
	assert_int_equal(modules_left, 2);
	new_modules = room_left = 0;
	call_from(last_place + 1);
	assert_int_equal(count(SL_META_MODULE), 3);
}

static void a_long_line_table_comes_in_pieces(void **state)
{
	const uint64_t *at = ring->chunk.data;
	uint32_t got = 0;
	struct record r;

	(void)state;
	new_codes = codes_left = 1;
	code_lines = 60000;
	python[0] = sl_frame_python(1, 2);
	python_cnt = 1;
	call_from(last_place);
	while (next(&at, &r)) {
		const char *bytes = NULL;
		size_t len = 0;

		if (r.meta == SL_META_CODE) {
			size_t names = sizeof("file.py") + sizeof("Class.name");

			assert_true(r.payload[1] == (12 | UINT64_C(0x030b) << 32));
			assert_int_equal(r.payload[2], code_lines);
			bytes = (const char *)(r.payload + 4);
			assert_memory_equal(bytes, "file.py\0Class.name", names);
			bytes += names;
			len = r.payload[3] - names;
		} else if (r.meta == SL_META_CODE_LINES) {
			assert_int_equal(r.payload[0], 1);
			assert_int_equal(r.payload[1], got);
			bytes = (const char *)(r.payload + 3);
			len = r.payload[2];
		}
		for (size_t i = 0; i < len; i++)
			assert_int_equal((uint8_t)bytes[i], (uint8_t)((got + i) * 7));
		got += (uint32_t)len;
	}
	assert_int_equal(got, code_lines);
}

/* ---- several at once ---- */

#define THREADS 8
#define PLACES  50u
#define CALLS   20000u

static uint32_t told_ids[THREADS][CALLS];
static uint64_t told_places[THREADS][CALLS];
static unsigned told_cnt[THREADS];

static void *call_often(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	const uint64_t *at;
	struct record r;
	uint64_t seed = me + 1;

	begin_thread();
	for (unsigned i = 0; i < CALLS; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		if (!call_from(last_place + (seed >> 40) % PLACES))
			return NULL;
	}
	at = ring->chunk.data;
	while (next(&at, &r))
		if (r.meta == SL_META_STACK) {
			told_ids[me][told_cnt[me]] = (uint32_t)r.payload[0];
			told_places[me][told_cnt[me]++] = r.payload[1];
		}
	end_thread();
	return arg ? arg : (void *)1;
}

static void threads_share_what_is_known(void **state)
{
	pthread_t thread[THREADS];
	uint64_t place_of[THREADS * PLACES + 1] = {0};
	unsigned sum = 0;
	void *ok;

	(void)state;
	memset(told_cnt, 0, sizeof(told_cnt));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, call_often, (void *)i);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &ok);
		assert_non_null(ok);
	}
	/* Several may find the same one new at the same time, but each of them once. */
	for (unsigned i = 0; i < THREADS; i++) {
		assert_true(told_cnt[i] <= PLACES);
		sum += told_cnt[i];
		for (unsigned k = 0; k < told_cnt[i]; k++) {
			assert_true(told_ids[i][k] && told_ids[i][k] <= THREADS * PLACES);
			assert_int_equal(place_of[told_ids[i][k]], 0);
			place_of[told_ids[i][k]] = told_places[i][k];
		}
	}
	assert_true(sum >= PLACES);
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(place_of[call_from(last_place + i)] == last_place + i);
	assert_int_equal(count(SL_META_STACK), 0);
}

static void a_child_keeps_the_ids_of_its_parent(void **state)
{
	uint32_t known_id = call_from(last_place), parent_id;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		begin_thread();
		if (call_from(last_place) != known_id || count(SL_META_STACK))
			_exit(1);
		if (call_from(last_place + 1) != known_id + 1 || count(SL_META_STACK) != 1)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* The child's own is not ours, and its number is taken. */
	parent_id = call_from(last_place + 1);
	assert_int_equal(parent_id, known_id + 2);
}

static void what_was_begun_and_never_ended_is_ended(void **state)
{
	uint64_t frames[2] = {last_place, 0x77}, hash = hash_of(frames, 2);
	uint32_t id;

	(void)state;
	/* Another thread has put the hash in, and we are the child of a fork at that moment. */
	for (unsigned n = 0;; n++)
		if (!place(hash, n, true)->hash) {
			place(hash, n, true)->hash = hash;
			break;
		}
	id = call_from(last_place);
	assert_int_not_equal(id, 0);
	assert_int_equal(call_from(last_place), id);
	assert_int_equal(count(SL_META_STACK), 1);
}

static void handle_signal(void)
{
	uint64_t was = native[0];

	meanwhile = NULL;
	assert_int_equal(call_from(last_place + 7), 0);
	native[0] = was;
}

static void a_handler_takes_none_meanwhile(void **state)
{
	uint32_t id;

	(void)state;
	meanwhile = handle_signal;
	id = call_from(last_place);
	assert_int_not_equal(id, 0);
	assert_int_equal(call_from(last_place), id);
	assert_int_equal(count(SL_META_STACK), 1);
}

static jmp_buf away;

static void jump(void)
{
	meanwhile = NULL;
	longjmp(away, 1);
}

static void __attribute__((noinline)) be_left(void)
{
	meanwhile = jump;
	call_from(last_place);
}

static void a_stack_left_by_longjmp_is_ended(void **state)
{
	(void)state;
	if (!setjmp(away))
		be_left();
	assert_non_null(sl_tls.taking);
	assert_int_not_equal(call_from(last_place + 1), 0);
	assert_null(sl_tls.taking);
}

static void without_system_calls_there_is_no_table(void **state)
{
	struct sl_table_at kept[SL_TABLE_CNT];

	(void)state;
	memcpy(kept, sl_tables, sizeof(sl_tables));
	memset(sl_tables, 0, sizeof(sl_tables));
	sl_global.seccomp = 1;
	assert_int_equal(call_from(last_place), 0);
	sl_global.seccomp = 0;
	memcpy(sl_tables, kept, sizeof(sl_tables));
}

/* The last one: it leaves no room. */
static void a_full_table_emits_each_time(void **state)
{
	uint64_t most = 0;
	uint32_t id, again;

	(void)state;
	for (unsigned i = 0; i < LEVELS; i++)
		most += LEVEL_CNT(i);
	for (uint64_t i = 0; i < 2 * most; i++) {
		uint64_t frames[2] = {last_place + i, 0x77};

		add_id(hash_of(frames, 2), (uint32_t)i + 1);
	}
	/* One that found no place: most have by now. */
	for (uint64_t i = 2 * most;; i++) {
		id = call_from(last_place + i);
		again = call_from(last_place + i);
		assert_true(id && again);
		if (id != again)
			break;
	}
	assert_int_equal(count(SL_META_STACK) % 2, 0);
	/* Those that are in it still have their numbers. */
	assert_int_equal(call_from(last_place), 1);
}

static void functions_have_classes(void **state)
{
	static const struct {
		const char *name;
		enum sl_stack_class is;
	} of[] = {
		{"cudaLaunchKernel", SL_STACK_CLASS_KERNEL},
		{"cuLaunchKernelEx_ptsz", SL_STACK_CLASS_KERNEL},
		{"__cudaLaunchKernel", SL_STACK_CLASS_KERNEL},
		{"cudaGraphLaunch", SL_STACK_CLASS_KERNEL},
		{"cudaMalloc", SL_STACK_CLASS_MEMORY},
		{"cudaMemcpyAsync_ptsz", SL_STACK_CLASS_MEMORY},
		{"cuMemsetD8Async", SL_STACK_CLASS_MEMORY},
		{"cudaDeviceSynchronize", SL_STACK_CLASS_SYNC},
		{"cuStreamWaitEvent", SL_STACK_CLASS_SYNC},
		{"cudaStreamCreate", SL_STACK_CLASS_OTHER},
		{"cublasLtMatmul", SL_STACK_CLASS_OTHER},
		{"ncclAllReduce", SL_STACK_CLASS_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (sl_stack_class_of(of[i].name) != of[i].is)
			fail_msg("%s", of[i].name);
}

static void the_note_of_an_unknown_python_is_recorded_once(void **state)
{
	(void)state;
	note = "Python 3.99";
	call_from(last_place);
	assert_string_equal(noted, "Python 3.99");
	noted[0] = 0;
	call_from(last_place + 1);
	assert_string_equal(noted, "");
	note = "Python 3.98";
	sl_stack_rescan(false);
	assert_string_equal(noted, "Python 3.98");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_same_stack_is_emitted_once),
		TEST(another_session_gets_known_stacks_again),
		TEST(a_call_of_hours_has_its_number),
		TEST(frames_of_python_follow),
		TEST(depth_is_bounded),
		TEST(a_stack_that_is_not_readable_has_no_number),
		TEST(where_no_room_is_left_a_remark_stands),
		TEST(what_was_unmapped_is_not_read),
		TEST(voided_stacks_are_emitted_again),
		TEST(a_full_ring_costs_the_stack_only),
		TEST(objects_are_emitted_after_the_stack),
		TEST(objects_without_room_come_later),
		TEST(a_long_line_table_comes_in_pieces),
		TEST(threads_share_what_is_known),
		TEST(a_child_keeps_the_ids_of_its_parent),
		TEST(what_was_begun_and_never_ended_is_ended),
		TEST(a_handler_takes_none_meanwhile),
		TEST(a_stack_left_by_longjmp_is_ended),
		TEST(without_system_calls_there_is_no_table),
		TEST(functions_have_classes),
		TEST(the_note_of_an_unknown_python_is_recorded_once),
		TEST(a_full_table_emits_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
