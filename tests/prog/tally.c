/*
 * tally.c FILE COUNTS THREADS CALLS BURST - threads that read FILE with pread() and count their own calls in COUNTS, which is
 * mapped: after a SIGKILL the number of calls made is known, but for the one under way in each thread.
 *
 * Each thread makes CALLS calls, or as many as it can until "COUNTS.stop" exists, in bursts of BURST with a pause of 1 ms
 * (0: without a pause). Words of COUNTS: 0 the process; from 8 * (i + 1) those of thread i: its id, calls begun, calls ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/prog/raw.h"

#define MOST 64

struct words {
	_Alignas(64) _Atomic uint64_t id;
	_Atomic uint64_t begun, ended;
};

static struct words *counts;
static unsigned long calls, burst;
static int fd;
static _Atomic int stop, running;

static void *work(void *arg)
{
	struct words *w = arg;
	char buf[64];

	w->id = (uint64_t)raw3(SYS_gettid, 0, 0, 0);
	for (unsigned long i = 0; i < calls && !atomic_load_explicit(&stop, memory_order_relaxed);
	     i++) {
		atomic_store_explicit(&w->begun, i + 1, memory_order_release);
		if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
			break;
		atomic_store_explicit(&w->ended, i + 1, memory_order_release);
		if (burst && i % burst == burst - 1)
			raw_sleep_ms(1);
	}
	running--;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST];
	unsigned long size, cnt;
	char name[4096];
	int map;

	if (argc != 6)
		return 2;
	cnt = strtoul(argv[3], NULL, 10);
	cnt = cnt < MOST ? cnt : MOST;
	calls = strtoul(argv[4], NULL, 10);
	burst = strtoul(argv[5], NULL, 10);
	size = (cnt + 1) * sizeof(*counts);
	fd = raw_open(argv[1], O_RDONLY, 0);
	map = raw_open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || raw3(SYS_ftruncate, map, size, 0) < 0)
		return 1;
	counts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (counts == MAP_FAILED)
		return 1;
	counts->id = (uint64_t)raw3(SYS_getpid, 0, 0, 0);
	running = (int)cnt;
	for (unsigned long i = 0; i < cnt; i++)
		if (pthread_create(&thread[i], NULL, work, &counts[i + 1]))
			return 1;
	snprintf(name, sizeof(name), "%s.stop", argv[2]);
	while (running) {
		if (raw3(SYS_faccessat, AT_FDCWD, name, 0) == 0)
			stop = 1;
		raw_sleep_ms(2);
	}
	for (unsigned long i = 0; i < cnt; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
