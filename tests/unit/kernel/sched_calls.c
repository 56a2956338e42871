/*
 * System calls of real programs, compared with what they know to have made.
 */
#include "collector/base/now.h"
#include "tests/unit/kernel/sched_capture.h"

#include <sys/wait.h>

#include "collector/kernel/bpf/syscalls.h"

#define SHORT_CALLS 20000
#define LONG_CALLS  50
#define WRONG_CALLS 300

struct seen {
	uint64_t rows, summed, errors, short_ns, row_ns, least_ns, most_ns;
	int64_t result; /* of the last row */
};
static struct {
	struct seen of[2][1024]; /* by whether in the second thread or process, and number */
	uint64_t outside;        /* of the window */
	uint64_t from, to;
	uint64_t sums;
} got;

static struct seen *seen_of(uint32_t tid, unsigned number)
{
	assert_true(number < 1024);
	return &got.of[tid == (uint32_t)told->tid_b][number];
}

static void on_call(void *ctx, const struct sched_call *call)
{
	struct seen *s = seen_of(call->tid, call->number);
	uint64_t ns = call->end_ns - call->start_ns;

	(void)ctx;
	assert_false(call->is_compat);
	assert_true(call->end_ns >= call->start_ns);
	s->rows++;
	s->row_ns += ns;
	s->errors += call->result < 0;
	s->result = call->result;
	got.outside += call->start_ns < got.from || (got.to && call->end_ns > got.to);
}

static void on_call_sum(void *ctx, const struct sched_call_sum *sum)
{
	struct seen *s = seen_of(sum->tid, sum->number);

	(void)ctx;
	assert_true(sum->min_ns <= sum->max_ns && sum->total_ns >= sum->max_ns);
	s->summed += sum->count;
	s->errors += sum->errors;
	s->short_ns += sum->total_ns;
	if (!s->least_ns || sum->min_ns < s->least_ns)
		s->least_ns = sum->min_ns;
	if (sum->max_ns > s->most_ns)
		s->most_ns = sum->max_ns;
	got.sums++;
}

static const struct sched_ops call_ops = {.on_call = on_call, .on_call_sum = on_call_sum};

static void make_calls(void)
{
	for (int i = 0; i < SHORT_CALLS; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < WRONG_CALLS; i++)
		syscall(SYS_dup, -1);
	for (int i = 0; i < LONG_CALLS; i++)
		usleep(1000);
}

static void *make_in_thread(void *arg)
{
	told->tid_b = gettid();
	make_calls();
	return arg;
}

static int two_threads(void)
{
	pthread_t thread;

	told->tid_a = gettid();
	pthread_create(&thread, NULL, make_in_thread, NULL);
	make_calls();
	pthread_join(thread, NULL);
	return 0;
}

static struct sched *open_calls(enum sched_mode mode, uint64_t threshold_ns)
{
	struct sched_ask ask = {.mode = mode,
				.want = SCHED_BACKEND_BPF,
				.calls = true,
				.calls_threshold_ns = threshold_ns};
	char why[512], fix[256];
	struct sched *s;

	capture_reset();
	memset(&got, 0, sizeof(got));
	if (sched_probe(SCHED_BACKEND_BPF, why, sizeof(why), fix, sizeof(fix))) {
		print_message("%s; to enable: %s\n", why, fix);
		skip();
	}
	s = sched_open_for(&ask, why, sizeof(why));
	if (!s || *why)
		print_message("# %s\n", why);
	assert_non_null(s);
	assert_true(sched_has_calls(s));
	return s;
}

static void run_calls(struct sched *s, int (*work)(void))
{
	int go;

	cap.child = start_child(work, &go);
	assert_int_equal(sched_follow(s, cap.child), 0);
	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	while (waitpid(cap.child, &cap.status, WNOHANG) == 0) {
		usleep(5000);
		sched_poll(s, &call_ops, NULL);
	}
	sched_stop(s);
	sched_poll(s, &call_ops, NULL);
}

static void check_thread(int which, uint64_t threshold_ns)
{
	const struct seen *s = &got.of[which][SYS_getppid], *wrong = &got.of[which][SYS_dup],
			  *sleep = &got.of[which][SYS_clock_nanosleep];

	assert_int_equal(s->rows + s->summed, SHORT_CALLS);
	assert_int_equal(s->errors, 0);
	assert_int_equal(wrong->rows + wrong->summed, WRONG_CALLS);
	assert_int_equal(wrong->errors, WRONG_CALLS);
	assert_int_equal(sleep->rows, LONG_CALLS);
	assert_true(sleep->row_ns >= LONG_CALLS * 1000000ull);
	if (threshold_ns) {
		assert_true(s->summed > SHORT_CALLS / 2);
		assert_true(s->most_ns < threshold_ns);
		assert_true(s->rows == 0 || s->row_ns / s->rows >= threshold_ns);
		assert_in_range(s->short_ns, s->least_ns * s->summed, s->most_ns * s->summed);
	} else {
		assert_int_equal(s->summed, 0);
		assert_int_equal(s->result, getpid());
		assert_int_equal(wrong->result, -EBADF);
	}
}

static void every_call(void **state)
{
	const uint64_t thresholds[] = {0, 10000};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sched *s = open_calls(SCHED_MODE_TREE, thresholds[i]);

		run_calls(s, two_threads);
		assert_int_equal(sched_calls_lost(s), 0);
		sched_close(s);
		check_thread(0, thresholds[i]);
		check_thread(1, thresholds[i]);
	}
}

/* Also where switches are not asked for, or asked for of everybody: calls are those of the tree. */
static void whatever_else(void **state)
{
	const enum sched_mode modes[] = {SCHED_MODE_NONE, SCHED_MODE_SYSTEM};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sched *s = open_calls(modes[i], 0);

		run_calls(s, two_threads);
		assert_int_equal(sched_calls_lost(s), 0);
		sched_close(s);
		check_thread(0, 0);
		check_thread(1, 0);
	}
}

/* ---- windows ---- */

static _Atomic long *calls_made; /* shared with the child */

static int call_on(void)
{
	told->tid_a = gettid();
	while (!*(volatile int *)&told->rounds) {
		syscall(SYS_getppid);
		++*calls_made;
	}
	return 0;
}

/* The child has the CPU when others let it. */
static void await_calls(long more)
{
	long before = *calls_made;

	for (int i = 0; i < 60000 && *calls_made < before + more; i++)
		usleep(1000);
	assert_true(*calls_made >= before + more);
}

/* Rows and sums lie within; there are some in each window, and none without one. */
static void windows(void **state)
{
	struct sched *s = open_calls(SCHED_MODE_TREE, 400);
	uint64_t calls = 0;
	int go;

	(void)state;
	sched_pause(s, (uint64_t)mono_ns());
	cap.child = start_child(call_on, &go);
	assert_int_equal(sched_follow(s, cap.child), 0);
	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	for (int i = 0; i < 30; i++) {
		struct seen *seen = &got.of[0][SYS_getppid];

		usleep(2000);
		memset(&got.of, 0, sizeof(got.of));
		got.to = 0;
		got.from = (uint64_t)mono_ns();
		sched_resume(s, got.from);
		await_calls(1000);
		got.to = (uint64_t)mono_ns();
		sched_pause(s, got.to);
		while (!sched_has_told(s, got.to)) {
			usleep(200);
			sched_poll(s, &call_ops, NULL);
		}
		assert_true(seen->rows + seen->summed >= 1000);
		/* No call takes less than 20 ns. */
		assert_true(seen->rows + seen->summed < (got.to - got.from) / 20);
		calls += seen->rows + seen->summed;
	}
	memset(&got.of, 0, sizeof(got.of));
	await_calls(1000);
	sched_poll(s, &call_ops, NULL);
	assert_int_equal(got.of[0][SYS_getppid].rows + got.of[0][SYS_getppid].summed, 0);
	assert_int_equal(got.outside, 0);
	print_message("# %lu calls in 30 windows\n", (unsigned long)calls);
	told->rounds = 1;
	waitpid(cap.child, NULL, 0);
	assert_int_equal(sched_calls_lost(s), 0);
	sched_close(s);
}

/* ---- trouble ---- */

static int many_short(void)
{
	told->tid_a = gettid();
	for (int i = 0; i < SHORT_CALLS; i++)
		syscall(SYS_getppid);
	return 0;
}

/* What does not fit is counted. */
static void losses(void **state)
{
	struct sched *s;
	const struct seen *seen = &got.of[0][SYS_getppid];
	int go, status;

	(void)state;
	sched_tuning.records_per_cpu = 256;
	s = open_calls(SCHED_MODE_NONE, 0);
	sched_tuning.records_per_cpu = 0;
	cap.child = start_child(many_short, &go);
	assert_int_equal(sched_follow(s, cap.child), 0);
	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	waitpid(cap.child, &status, 0);
	sched_stop(s);
	sched_poll(s, &call_ops, NULL);
	assert_true(seen->rows <= 512);
	/* Other calls of the child are among the lost, and it may have begun to wait before. */
	assert_in_range(sched_calls_lost(s) + seen->rows, SHORT_CALLS, SHORT_CALLS + 1100);
	sched_close(s);
}

/* All threads share one slot, in calls at the same time. */
static void shared_slot(void **state)
{
	struct sched *s;

	(void)state;
	sched_tuning.call_slots = 1;
	s = open_calls(SCHED_MODE_TREE, 1000);
	sched_tuning.call_slots = 0;
	run_calls(s, two_threads);
	assert_int_equal(sched_calls_lost(s), 0);
	sched_close(s);
	check_thread(0, 1000);
	check_thread(1, 1000);
}

static void names(void **state)
{
	char buffer[32];

	(void)state;
	assert_string_equal(sched_call_name(SYS_read, false, buffer), "read");
	assert_string_equal(sched_call_name(SYS_futex, false, buffer), "futex");
	assert_string_equal(sched_call_name(1023, false, buffer), "syscall_1023");
	assert_string_equal(sched_call_name(70000, false, buffer), "syscall_70000");
#ifdef __x86_64__
	assert_string_equal(sched_call_name(3, true, buffer), "read");
	assert_string_equal(sched_call_name(1, true, buffer), "exit");
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call),  cmocka_unit_test(whatever_else),
		cmocka_unit_test(windows),     cmocka_unit_test(losses),
		cmocka_unit_test(shared_slot), cmocka_unit_test(names),
	};

	if (!capture_init())
		return 1;
	calls_made = mmap(NULL, sizeof(*calls_made), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (calls_made == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
