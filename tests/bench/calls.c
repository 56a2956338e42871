/*
 * calls [N [THREADS [SLICES [NAP_MS]]]] - every thread calls pread() of 64 bytes N times, each on
 * its own descriptor of /dev/zero (a shared one would measure the cache line of its reference
 * count).
 *
 * Figures, means over the threads: thread CPU ns per call and wall ns per call of the whole loop; thread CPU ns per
 * call as the lower quartile over slices of the loop, which leaves out whatever happens seldom. A nap between slices
 * (in none of the figures) lets a tracer that stores records elsewhere catch up.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "figure.h"

enum {
	MAX_THREADS = 64,
	MAX_SLICES = 64
};

static long calls_per_slice;
static int slices = 1, nap_ms;
static pthread_barrier_t barrier;
static struct {
	double cpu, wall, quartile;
} result[MAX_THREADS];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quartile(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return v[n / 4];
}

static void *work(void *arg)
{
	long me = (long)arg, sum = 0, total = calls_per_slice * slices;
	double cpu[MAX_SLICES], cpu_sum = 0, wall_sum = 0;
	int fd = open("/dev/zero", O_RDONLY);
	char b[64];

	pthread_barrier_wait(&barrier);
	for (int s = 0; s < slices; s++) {
		double c = cpu_s(), w = wall_s();

		for (long i = 0; i < calls_per_slice; i++)
			sum += pread(fd, b, sizeof(b), 0);
		wall_sum += wall_s() - w;
		cpu[s] = cpu_s() - c;
		cpu_sum += cpu[s];
		if (nap_ms)
			usleep((useconds_t)nap_ms * 1000);
	}
	if (sum != total * (long)sizeof(b)) {
		fprintf(stderr, "calls: bytes are missing\n");
		exit(3);
	}
	result[me].cpu = cpu_sum / (double)total * 1e9;
	result[me].wall = wall_sum / (double)total * 1e9;
	result[me].quartile = quartile(cpu, slices) / (double)calls_per_slice * 1e9;
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 2000000;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t thread[MAX_THREADS];
	double cpu = 0, wall = 0, low = 0;

	if (argc > 3)
		slices = atoi(argv[3]);
	if (argc > 4)
		nap_ms = atoi(argv[4]);
	if (threads < 1 || threads > MAX_THREADS || slices < 1 || slices > MAX_SLICES || n % slices)
		return 2;
	calls_per_slice = n / slices;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (long i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			return 1;
	work((void *)0);
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < threads; i++) {
		cpu += result[i].cpu / threads;
		wall += result[i].wall / threads;
		low += result[i].quartile / threads;
	}
	figure(cpu, wall, low);
	return 0;
}
