/* trigger_hang.c - the trigger hang fires when nothing happens for its time, once, and not while anything does. */
#include "collector/capture/trigger_hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define SECOND INT64_C(1000000000)
#define MS     INT64_C(1000000)

static char fired[4096];
static struct triggers ts;
static struct trigger_hang *hang;

static void fire(void *to, const char *why, uint64_t since)
{
	(void)to;
	assert_int_equal(since, 0);
	snprintf(fired + strlen(fired), sizeof(fired) - strlen(fired), "%s\n", why);
}

static void begin(const char *triggers)
{
	fired[0] = '\0';
	assert_int_equal(triggers_read(&ts, triggers, "profile"), 0);
	hang = trigger_hang_new(&ts, fire, NULL);
	assert_non_null(hang);
}

/* Looks once a second, from @from to @to, at a process whose threads run for @ms of each second. */
static void pass(int from, int to, int64_t ms)
{
	static int64_t cpu;

	if (from == 1)
		cpu = 0;
	for (int s = from; s <= to; s++) {
		cpu += ms * MS;
		trigger_hang_judge(hang, s * SECOND, cpu, 1);
	}
}

static void nothing_for_its_time_fires_once(void **state)
{
	(void)state;
	begin("hang > 5s");
	pass(1, 6, 0);
	assert_string_equal(fired, "");
	pass(7, 30, 0);
	assert_string_equal(fired,
			    "the program does nothing: for 6.00 s no call, range or work of a GPU "
			    "has ended, and its threads ran for 0.0 us (trigger 'hang > 5s')\n");
	trigger_hang_free(hang);
}

static void each_trigger_has_its_time(void **state)
{
	(void)state;
	begin("hang > 5s, hang > 10s");
	pass(1, 7, 0);
	assert_null(strstr(fired, "10s"));
	pass(8, 12, 0);
	assert_non_null(strstr(fired, "(trigger 'hang > 10s')"));
	trigger_hang_free(hang);
}

static void records_are_progress(void **state)
{
	(void)state;
	begin("hang > 5s");
	for (int s = 1; s < 30; s += 4) {
		pass(s, s + 3, 0);
		trigger_hang_record(hang, s % 8 == 1 ? SL_SHAPE_FD : SL_SHAPE_GPU, SL_H_write);
	}
	assert_string_equal(fired, "");
	/* It goes on, and hangs again. */
	pass(33, 45, 0);
	assert_non_null(strstr(fired, "for 6.00 s"));
	trigger_hang_record(hang, SL_SHAPE_NVTX, 0);
	fired[0] = '\0';
	pass(46, 60, 0);
	assert_non_null(strstr(fired, "for 6.00 s"));
	trigger_hang_free(hang);
}

/* A thread that looks around, and names. */
static void waits_with_a_limit_are_no_progress(void **state)
{
	static const unsigned hooks[] = {SL_H_nanosleep, SL_H_poll, SL_H_pthread_cond_timedwait,
					 SL_H_sem_timedwait, SL_H_pthread_mutex_timedlock};

	(void)state;
	begin("hang > 5s");
	for (int s = 1; s < 8; s++) {
		pass(s, s, 5);
		for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
			trigger_hang_record(hang, SL_SHAPE_CALL, hooks[i]);
		trigger_hang_record(hang, SL_SHAPE_META, SL_META_STRING);
	}
	assert_non_null(strstr(fired, "ran for 30.0 ms"));
	trigger_hang_free(hang);
}

static void cpu_time_is_progress(void **state)
{
	(void)state;
	begin("hang > 5s");
	pass(1, 60, 100);
	assert_string_equal(fired, "");
	/* Less than a fiftieth of the time is none. */
	pass(61, 75, 15);
	assert_non_null(strstr(fired, "the program does nothing"));
	trigger_hang_free(hang);
}

static void processes_that_come_and_go_are_progress(void **state)
{
	(void)state;
	begin("hang > 5s");
	for (int s = 1; s < 40; s++)
		trigger_hang_judge(hang, s * SECOND, 0, 1 + (uint32_t)(s / 4));
	assert_string_equal(fired, "");
	/* One that ends takes its CPU time along. */
	for (int s = 40; s < 80; s++)
		trigger_hang_judge(hang, s * SECOND, (80 - s) * SECOND, 1);
	assert_string_equal(fired, "");
	trigger_hang_free(hang);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_for_its_time_fires_once),
		cmocka_unit_test(each_trigger_has_its_time),
		cmocka_unit_test(records_are_progress),
		cmocka_unit_test(waits_with_a_limit_are_no_progress),
		cmocka_unit_test(cpu_time_is_progress),
		cmocka_unit_test(processes_that_come_and_go_are_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
