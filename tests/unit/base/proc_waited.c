/* proc_waited.c - the time that threads of a process wait for a CPU. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"

#define NEED_NS 20000000ll /* of waiting, of each of two that share a CPU */

/* A process that needs the CPU that this one runs on, and no other. */
static pid_t spin(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			;
	return pid;
}

static void processes_that_share_a_cpu_wait_for_it(void **state)
{
	int64_t until = mono_ns() + 120000000000ll;
	pid_t a, b;
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	a = spin();
	b = spin();
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	while (proc_waited_ns((uint32_t)a) + proc_waited_ns((uint32_t)b) < 2 * NEED_NS &&
	       mono_ns() < until)
		usleep(10000);
	assert_true(proc_waited_ns((uint32_t)a) + proc_waited_ns((uint32_t)b) >= 2 * NEED_NS);
	kill(a, SIGKILL);
	kill(b, SIGKILL);
	waitpid(a, NULL, 0);
	waitpid(b, NULL, 0);
	assert_int_equal(proc_waited_ns((uint32_t)a), 0);
}

static void process_that_sleeps_waits_for_no_cpu(void **state)
{
	pid_t pid = fork();
	uint64_t before;

	(void)state;
	if (pid == 0)
		for (;;)
			pause();
	/* Asleep from some time on: then the sum stands still. */
	do {
		before = proc_waited_ns((uint32_t)pid);
		usleep(50000);
	} while (proc_state((uint32_t)pid) != 'S' || proc_waited_ns((uint32_t)pid) != before);
	usleep(50000);
	assert_int_equal(proc_waited_ns((uint32_t)pid), before);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_that_share_a_cpu_wait_for_it),
		cmocka_unit_test(process_that_sleeps_waits_for_no_cpu),
	};

	if (proc_waited_ns((uint32_t)getpid()) ==
	    0) { /* the kernel does not count, or has not yet */
		usleep(1000);
		if (proc_waited_ns((uint32_t)getpid()) == 0)
			return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
