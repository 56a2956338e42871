/*
 * faults.c - FOLDER PAGES: touches so many pages of a file that is not in memory, one by one, so that each is a major page
 * fault. Figures: CPU time of one, its wall time, how many the kernel counts as major ones; ns.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/bench/figure.h"

#define PAGE 4096
#define STEP 7919 /* a prime: neighbours in time are none in the file */

static int make_file(const char *folder, long pages)
{
	char path[4096], page[PAGE];
	int fd;

	snprintf(path, sizeof(path), "%s/faults.XXXXXX", folder);
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	unlink(path);
	memset(page, 1, sizeof(page));
	for (long i = 0; i < pages; i++)
		if (write(fd, page, PAGE) != PAGE)
			return -1;
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	long pages = argc > 2 ? atol(argv[2]) : 0, sum = 0;
	int fd = pages > 0 ? make_file(argv[1], pages) : -1;
	struct rusage before, after;
	double cpu, wall;
	char *at;

	if (fd < 0)
		return 2;
	at = mmap(NULL, (size_t)pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || madvise(at, (size_t)pages * PAGE, MADV_RANDOM))
		return 1;
	getrusage(RUSAGE_THREAD, &before);
	cpu = cpu_s();
	wall = wall_s();
	for (long i = 0; i < pages; i++)
		sum += ((volatile char *)at)[i * STEP % pages * PAGE];
	wall = wall_s() - wall;
	cpu = cpu_s() - cpu;
	getrusage(RUSAGE_THREAD, &after);
	if (sum != pages)
		return 1;
	figure(1e9 * cpu / (double)pages, 1e9 * wall / (double)pages,
	       (double)(after.ru_majflt - before.ru_majflt));
	return 0;
}
