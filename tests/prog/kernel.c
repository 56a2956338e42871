/*
 * kernel.c FILE - does a known amount of I/O and blocking and prints what the kernel counted meanwhile:
 * /proc/self/io (rchar wchar syscr syscw) and getrusage's voluntary and involuntary switches, with the times
 * (CLOCK_MONOTONIC) from which and to which it counted these.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/prog/raw.h"

struct counters {
	long rchar, wchar, syscr, syscw;
};

/* The reading of the counters is itself counted, after they were taken: returns its bytes. */
static long counters(struct counters *c)
{
	static char buf[4096];
	int fd = raw_open("/proc/self/io", O_RDONLY, 0);
	long n = raw3(SYS_read, fd, buf, sizeof(buf) - 1);

	buf[n > 0 ? n : 0] = 0;
	if (sscanf(buf, "rchar: %ld wchar: %ld syscr: %ld syscw: %ld", &c->rchar, &c->wchar,
		   &c->syscr, &c->syscw) != 4)
		exit(77);
	raw_close(fd);
	return n;
}

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	struct iovec v[2] = {{buf, 1000}, {buf, 500}};
	struct counters a, b;
	long own;
	struct rusage before, after;
	struct timespec from, to;
	char line[400];
	int fd = raw_open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT | O_TRUNC, 0600), p[2];

	if (fd < 0 || pipe(p) < 0)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &from);
	getrusage(RUSAGE_SELF, &before);
	own = counters(&a);
	a.rchar += own;
	a.syscr++;
	for (int i = 0; i < 300; i++) {
		if (write(fd, buf, (size_t)(i * 10)) != i * 10 || pwrite(fd, buf, 77, 10000) != 77)
			return 1;
		if (pread(fd, buf, (size_t)(i * 7), 3) != i * 7 && i * 7 > i * i * 5)
			return 1;
		if (readv(fd, v, 2) < 0 || writev(p[1], v, 1) != 1000 ||
		    read(p[0], buf, 2000) != 1000)
			return 1;
	}
	counters(&b);
	for (int i = 0; i < 20; i++)
		usleep(1000);
	getrusage(RUSAGE_SELF, &after);
	clock_gettime(CLOCK_MONOTONIC, &to);
	raw_write(1, line,
		  (unsigned long)sprintf(
			  line,
			  "rchar %ld\nwchar %ld\nsyscr %ld\nsyscw %ld\nnvcsw %ld\nnivcsw %ld\n"
			  "from %ld%09ld\nto %ld%09ld\n",
			  b.rchar - a.rchar, b.wchar - a.wchar, b.syscr - a.syscr,
			  b.syscw - a.syscw, after.ru_nvcsw - before.ru_nvcsw,
			  after.ru_nivcsw - before.ru_nivcsw, from.tv_sec, from.tv_nsec, to.tv_sec,
			  to.tv_nsec));
	return 0;
}
