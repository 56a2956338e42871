/*
 * smoke.c - each target with its first inputs and RUNS (or FUZZ_RUNS) changed ones, the same every time, in a process of its own: without
 * clang, and without its sanitizers where this is not built with them.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS    1000u
#define SECONDS 120 /* of CPU time, before a run counts as endless */

/* FUZZ_RUNS, FUZZ_FROM, FUZZ: more of them; not the first ones; of some targets. */
static unsigned runs = RUNS, from;
static uint64_t state;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t change(uint8_t *data, size_t len)
{
	static const uint64_t odd[] = {0,          1,          0x7f,      0x80,
				       0xff,       0x7fff,     0xffff,    0x7fffffff,
				       0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX};

	for (unsigned times = 1 + (unsigned)(next() % 4); times; times--) {
		size_t at = len ? next() % len : 0, rest = len - at,
		       n = rest ? 1 + next() % rest : 0;
		uint64_t word = next() % 2 ? next() : odd[next() % (sizeof(odd) / sizeof(odd[0]))];

		switch (next() % 5) {
		case 0:
			if (rest)
				data[at] ^= (uint8_t)(1u << next() % 8);
			break;
		case 1:
			memcpy(data + at, &word, rest < 8 ? rest : 8);
			break;
		case 2: /* taken out */
			memmove(data + at, data + at + n, rest - n);
			len -= n;
			break;
		case 3: /* doubled */
			if (len + n <= FUZZ_SEED_MAX) {
				memmove(data + at + n, data + at, rest);
				len += n;
			}
			break;
		default:
			for (size_t i = 0; i < n && i < 16; i++)
				data[at + i] = (uint8_t)next();
		}
	}
	return len;
}

static void run_all(const struct fuzz_target *t)
{
	static uint8_t data[FUZZ_SEED_MAX];
	unsigned seeds = 0;

	if (t->init)
		t->init();
	for (size_t len; (len = t->seed(seeds, data)); seeds++)
		t->run(data, len);
	for (unsigned i = from; i < from + runs; i++) {
		size_t len;

		state = 0x9e3779b97f4a7c15u * (i + 1);
		len = change(data, t->seed((unsigned)(next() % seeds), data));
		/* A copy of its own size: a sanitizer sees what is read behind it. */
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, data, len);
		t->run(copy, len);
		free(copy);
	}
}

static bool survives(const struct fuzz_target *t)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);
		struct itimerval limit = {.it_value.tv_sec = SECONDS * (1 + runs / RUNS)};

		setitimer(ITIMER_PROF, &limit, NULL);
		dup2(null, STDOUT_FILENO);
#if !defined(__SANITIZE_ADDRESS__)
		dup2(null, STDERR_FILENO);
#endif
		run_all(t);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return false;
	if (status)
		printf("# %s: signal %d, status %d\n", t->name,
		       WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		       WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	return status == 0;
}

int main(void)
{
	const char *times = getenv("FUZZ_RUNS"), *first = getenv("FUZZ_FROM"),
		   *only = getenv("FUZZ");
	unsigned n = 0, failed = 0;

	from = first ? (unsigned)strtoul(first, NULL, 10) : 0;
	runs = times ? (unsigned)strtoul(times, NULL, 10) : RUNS;
	for (; fuzz_targets[n]; n++) {
		if (only && !strstr(only, fuzz_targets[n]->name))
			continue;
		bool ok = survives(fuzz_targets[n]);

		failed += !ok;
		printf("%sok %u - %s\n", ok ? "" : "not ", n + 1, fuzz_targets[n]->name);
		fflush(stdout);
	}
	printf("1..%u\n", n);
	return failed > 0;
}
