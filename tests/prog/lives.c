/*
 * lives.c - processes that are hard to follow, each with its own exit status: SL_PROCESS_TREE must have them all.
 *
 * lives KIND [CNT]: prints the number of processes that it made, itself included.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static void reap(int *live, int most)
{
	while (*live > most) {
		if (wait(NULL) < 0 && errno == ECHILD)
			return;
		--*live;
	}
}

/* Processes that end at once, by six at a time. */
static int forks(int cnt)
{
	int live = 0;

	for (int i = 0; i < cnt; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(i % 100);
		live += pid > 0;
		reap(&live, 5);
	}
	reap(&live, 0);
	return cnt;
}

/* Long ones below the churn of short ones. */
static int churn(int cnt)
{
	int live = 0;

	for (int i = 0; i < cnt; i++) {
		if (!fork()) {
			if (i % 10)
				_exit(3);
			for (int k = 0; k < 20; k++) {
				work(10000);
				(void)!access("/", F_OK);
			}
			_exit(5);
		}
		live++;
		reap(&live, 20);
	}
	reap(&live, 0);
	return cnt;
}

static void vfork_one(const char *program)
{
	pid_t pid = vfork();

	if (!pid) {
		if (!program)
			_exit(7);
		execl(program, "true", NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static int vforks(int cnt)
{
	const char *const programs[] = {NULL, "/bin/true", "/proc/self/exe"};

	for (int i = 0; i < cnt; i++)
		vfork_one(programs[i % 3]);
	return cnt;
}

/* A child of a child that has ended: this process is its new parent. */
static int orphans(int cnt)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < cnt; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (!fork()) {
				if (i % 2)
					execl("/bin/true", "true", NULL);
				work(i % 5 * 500);
				_exit(4);
			}
			_exit(2);
		}
		waitpid(pid, NULL, 0);
	}
	while (wait(NULL) > 0)
		;
	return 2 * cnt;
}

static void *exec_true(void *arg)
{
	execl("/bin/true", "true", NULL);
	return arg;
}

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

/* exec of a thread that is not the main one, which waits for it. */
static int thread_execs(int cnt)
{
	void *(*const run[])(void *) = {wait_for_ever, wait_for_ever, exec_true};
	int live = 0;

	for (int i = 0; i < cnt; i++) {
		if (!fork()) {
			pthread_t t;

			for (int k = 0; k < 3; k++)
				if (pthread_create(&t, NULL, run[k], NULL))
					_exit(1);
			pthread_join(t, NULL);
			_exit(1);
		}
		live++;
		reap(&live, 3);
	}
	reap(&live, 0);
	return cnt;
}

/* Killed anywhere between fork, exec, and what the new program does first. */
static int kills(int cnt)
{
	for (int i = 0; i < cnt; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/sleep", "sleep", "10", NULL);
			_exit(127);
		}
		work(i * 37 % 2500);
		kill(pid, i % 2 ? SIGKILL : SIGTERM);
		waitpid(pid, NULL, 0);
	}
	return cnt;
}

/* Each image starts the next one: five of them. */
static int chains(int cnt)
{
	int live = 0;

	for (int i = 0; i < cnt; i++) {
		if (!fork()) {
			execl("/usr/bin/env", "env", "A=1", "/usr/bin/env", "B=1", "/bin/sh", "-c",
			      "exec /bin/true", NULL);
			_exit(127);
		}
		live++;
		reap(&live, 5);
	}
	reap(&live, 0);
	return cnt;
}

/* Generations: each process starts the next and ends without waiting. */
static int daemons(int cnt)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < cnt; i++) {
		if (!fork()) {
			if (!fork()) {
				setsid();
				if (!fork())
					_exit(9);
				_exit(8);
			}
			_exit(7);
		}
		while (wait(NULL) > 0)
			;
	}
	return 3 * cnt;
}

static const struct {
	const char *name;
	int (*make)(int cnt);
	int cnt;
} kinds[] = {
	{"forks", forks, 400},
	{"churn", churn, 300},
	{"vforks", vforks, 150},
	{"orphans", orphans, 150},
	{"thread-execs", thread_execs, 60},
	{"kills", kills, 120},
	{"chains", chains, 80},
	{"daemons", daemons, 80},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		printf("%d\n", 1 + kinds[i].make(argc > 2 ? atoi(argv[2]) : kinds[i].cnt));
	}
	return 0;
}
