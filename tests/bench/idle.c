/*
 * idle THREADS REST_MS lock|core [FOLDER] - every thread calls pread() once and rests; then the memory of the process.
 * Figures: KiB mapped, KiB resident, KiB locked after mlockall(MCL_CURRENT).
 *
 * With core it ends by a signal instead, and its core file lies in FOLDER.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "figure.h"

static pthread_barrier_t ready;

static void call_once(void)
{
	char b[64];
	int fd = open("/dev/zero", O_RDONLY);

	if (fd < 0 || pread(fd, b, sizeof(b), 0) != sizeof(b))
		exit(3);
	close(fd);
}

static void *work(void *arg)
{
	call_once();
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return arg;
}

/* KiB after @key in a file of /proc. */
static double kib(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	char line[256];
	double v = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			v = atof(line + strlen(key));
	if (f)
		fclose(f);
	return v;
}

static int start_threads(int cnt)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_barrier_init(&ready, NULL, (unsigned)cnt);
	pthread_attr_init(&attr);
	/* Small: mlockall() fills stacks. */
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + 65536);
	for (int i = 1; i < cnt; i++)
		if (pthread_create(&t, &attr, work, NULL))
			return -1;
	call_once();
	pthread_barrier_wait(&ready);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	double mapped, resident;

	if (argc < 4 || start_threads(atoi(argv[1])))
		return 2;
	usleep((useconds_t)atoi(argv[2]) * 1000);
	if (!strcmp(argv[3], "core")) {
		if (argc < 5 || chdir(argv[4]) || setrlimit(RLIMIT_CORE, &unlimited))
			return 2;
		abort();
	}
	mapped = kib("/proc/self/status", "VmSize:");
	resident = kib("/proc/self/smaps_rollup", "Rss:");
	if (mlockall(MCL_CURRENT)) {
		perror("mlockall");
		return 1;
	}
	figure(mapped, resident, kib("/proc/self/status", "VmLck:"));
	return 0;
}
