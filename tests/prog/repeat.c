/*
 * repeat.c FILE N [END] - N preads of FILE, as fast as it can; then, by END:
 *   (none)  exits
 *   kill    sends itself SIGKILL
 *   wait    creates "FILE.done" and waits until "FILE.go" exists, makes N more, and exits
 *   slow    does the same in batches over about two seconds
 * Prints the sum of the bytes read, so that a caller sees that all of them worked.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/prog/raw.h"

static long sum;

static void preads(int fd, long n)
{
	char buf[64];

	for (long i = 0; i < n; i++)
		sum += pread(fd, buf, sizeof(buf), 0);
}

int main(int argc, char **argv)
{
	const char *end = argc > 3 ? argv[3] : "";
	char name[4096], line[64];
	long n;
	int fd;

	if (argc < 3)
		return 2;
	fd = raw_open(argv[1], O_RDONLY, 0);
	n = atol(argv[2]);
	if (!strcmp(end, "slow")) {
		for (int i = 0; i < 100; i++) {
			preads(fd, n / 100);
			raw_sleep_ms(20);
		}
	} else {
		preads(fd, n);
	}
	if (!strcmp(end, "kill"))
		raw3(SYS_kill, getpid(), SIGKILL, 0);
	if (!strcmp(end, "wait")) {
		sprintf(name, "%s.done", argv[1]);
		raw_close(raw_open(name, O_WRONLY | O_CREAT, 0644));
		sprintf(name, "%s.go", argv[1]);
		while (raw3(SYS_faccessat, AT_FDCWD, name, 0) < 0)
			raw_sleep_ms(10);
		preads(fd, n);
	}
	raw_write(1, line, (unsigned long)sprintf(line, "bytes %ld\n", sum));
	return 0;
}
