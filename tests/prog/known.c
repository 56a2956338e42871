/*
 * known.c - known DIRECTORY: calls of the C library whose numbers, bytes and times it prints itself:
 *   call FUNCTION CALLS BYTES      (bytes: - where a call moves none)
 *   file PATH OPENS READS BYTES WRITES BYTES
 *   slept NS                       time in nanosleep(), measured around each call
 * Short calls and long ones, of files, pipes and streams, failed ones, from two threads and a child.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char buf[1 << 16];
static char path[3][4096];

static int must(long rc)
{
	if (rc < 0) {
		perror("known");
		exit(3);
	}
	return (int)rc;
}

static void *reads(void *arg)
{
	int fd = must(open(path[0], O_RDONLY));

	(void)arg;
	for (int i = 0; i < 5000; i++)
		must(pread(fd, buf, 16, i));
	must(close(fd));
	return NULL;
}

static void writes(void)
{
	int fd = must(open(path[1], O_WRONLY | O_CREAT | O_TRUNC, 0600));

	for (int i = 0; i < 700; i++)
		must(write(fd, buf, i % 100));
	must(fsync(fd));
	must(close(fd));
}

static void in_child(void)
{
	pid_t child = must(fork());
	int status;

	if (child == 0) {
		int fd = must(open(path[2], O_RDONLY));

		for (int i = 0; i < 40; i++)
			must(read(fd, buf, 1000));
		must(close(fd));
		_exit(0);
	}
	must(waitpid(child, &status, 0));
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct timespec nap = {0, 5000000};
	long long slept = 0;
	pthread_t thread;
	int fd;

	if (argc < 2)
		return 2;
	for (int i = 0; i < 3; i++)
		snprintf(path[i], sizeof(path[i]), "%s/known.%d", argv[1], i);
	must(pthread_create(&thread, NULL, reads, NULL));
	reads(NULL);
	pthread_join(thread, NULL);
	writes();
	in_child();
	for (int i = 0; i < 300; i++)
		if (read(-1, buf, 10) != -1 || errno != EBADF)
			return 3;
	fd = must(open("/dev/zero", O_RDONLY));
	for (int i = 0; i < 3000; i++)
		must(read(fd, buf, 64));
	must(close(fd));
	for (int i = 0; i < 20; i++) {
		long long from = now();

		nanosleep(&nap, NULL);
		slept += now() - from;
	}
	printf("call pread 10000 160000\ncall write 700 34650\ncall read 3340 232000\n");
	printf("call fsync 1 -\ncall nanosleep 20 -\ncall open 5 -\ncall fork 1 -\n");
	printf("file %s 2 10000 160000 0 0\nfile %s 1 0 0 700 34650\n", path[0], path[1]);
	printf("file %s 1 40 40000 0 0\nfile /dev/zero 1 3000 192000 0 0\n", path[2]);
	printf("file [file_not_known] 0 300 0 0 0\nslept %lld\n", slept);
	return 0;
}
