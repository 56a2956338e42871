/*
 * cpu.c - spends CPU time in functions that take 70, 20 and 10 % of it, and notes all the time how much it was.
 *
 *   cpu LOG HOW SECONDS [END]
 *
 * HOW: tN    N threads, SECONDS each
 *      bN    N threads one after the other, SECONDS each
 *      cN    N children one after the other, SECONDS each
 *      lN    N libraries, loaded one after the other at one place: ./libNUMBER.so, spin(SECONDS)
 *      d     one thread that never has the same stack twice
 * END: exit status, or abort; wait: for a line on the standard input, and 0
 *
 * LOG: per task a region of 1 MiB: tid, how many, and pairs of CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID. Memory that is
 * mapped, so it is whole whatever ends the program.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEAF     __attribute__((noinline, noclone))
#define REGION   (1u << 20)
#define REGIONS  1024u
#define PAIRS    ((REGION - 16) / 16)
#define EVERY_NS 200000

struct region {
	int64_t tid, cnt;
	struct {
		int64_t mono, cpu;
	} at[PAIRS];
};

static struct region *regions;
static unsigned *taken;
static double seconds;
static volatile unsigned sink;

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static struct region *region(void)
{
	unsigned i = __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED);
	struct region *r = &regions[i < REGIONS ? i : REGIONS - 1];

	r->tid = gettid();
	return r;
}

static int64_t note(struct region *r)
{
	int64_t cpu = now(CLOCK_THREAD_CPUTIME_ID);

	if ((uint64_t)r->cnt < PAIRS && (!r->cnt || cpu - r->at[r->cnt - 1].cpu > EVERY_NS)) {
		r->at[r->cnt].mono = now(CLOCK_MONOTONIC);
		r->at[r->cnt].cpu = cpu;
		__atomic_store_n(&r->cnt, r->cnt + 1, __ATOMIC_RELEASE);
	}
	return cpu;
}

/*
 * One multiplication waits for the other: how long a round takes depends neither on where the loop lies nor on what other
 * threads do. Which function it is stands in the code, or they would be one.
 */
#define ROUNDS(n, name)                                                \
	do {                                                           \
		unsigned x_ = (n) | 1;                                 \
		for (unsigned i_ = 0; i_ < (n); i_++) {                \
			x_ *= 1103515245;                              \
			__asm__ volatile("/* " name " */" : "+r"(x_)); \
		}                                                      \
		sink = x_;                                             \
	} while (0)

static LEAF void seven(unsigned n)
{
	ROUNDS(n, "seven");
}

static LEAF void two(unsigned n)
{
	ROUNDS(n, "two");
}

static LEAF void one(unsigned n)
{
	ROUNDS(n, "one");
}

/* Never twice the same length: no lockstep with the clock that samples. */
static LEAF void work(double s)
{
	struct region *log = region();
	int64_t end = note(log) + (int64_t)(s * 1e9);

	for (unsigned r = 1; note(log) < end;) {
		unsigned n;

		r = r * 1103515245 + 12345;
		n = 500 + (r >> 16) % 1000;
		seven(70 * n);
		two(20 * n);
		one(10 * n);
	}
	sink++;
}

static LEAF void caller(double s)
{
	volatile char room[300];

	room[0] = 1;
	work(s);
	sink += (unsigned)room[0];
}

static void *thread(void *arg)
{
	(void)arg;
	caller(seconds);
	return NULL;
}

/* By the bits of @path: so many, so many stacks. */
static LEAF void left(uint64_t path, unsigned depth);

static LEAF void right(uint64_t path, unsigned depth)
{
	volatile char room[40];

	room[0] = 1;
	if (!depth)
		seven(2000);
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
	sink += (unsigned)room[0];
}

static LEAF void left(uint64_t path, unsigned depth)
{
	volatile char room[48];

	room[0] = 1;
	if (!depth)
		seven(2000);
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
	sink += (unsigned)room[0];
}

static LEAF void different(double s)
{
	struct region *log = region();
	int64_t end = note(log) + (int64_t)(s * 1e9);

	for (uint64_t r = 1; note(log) < end;)
		for (unsigned i = 0; i < 100; i++) {
			r = r * UINT64_C(6364136223846793005) + 1442695040888963407u;
			left(r >> 4, 200);
		}
	sink++;
}

static void at_once(int cnt)
{
	pthread_t t[64];

	for (int i = 0; i < cnt && i < 64; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < cnt && i < 64; i++)
		pthread_join(t[i], NULL);
}

static void one_by_one(int cnt)
{
	for (int i = 0; i < cnt; i++)
		at_once(1);
}

static void children(int cnt)
{
	for (int i = 0; i < cnt; i++) {
		pid_t pid = fork();

		if (!pid) {
			caller(seconds);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void libraries(int cnt)
{
	for (int i = 1; i <= cnt; i++) {
		char path[64];
		void *library;
		void (*spin)(double);

		snprintf(path, sizeof(path), "./lib%d.so", i);
		library = dlopen(path, RTLD_NOW);
		spin = library ? (void (*)(double))dlsym(library, "spin") : NULL;
		if (!spin)
			exit(9);
		spin(seconds);
		dlclose(library);
	}
}

static void do_it(char how, int cnt)
{
	switch (how) {
	case 't':
		at_once(cnt);
		break;
	case 'b':
		one_by_one(cnt);
		break;
	case 'c':
		children(cnt);
		break;
	case 'l':
		libraries(cnt);
		break;
	default:
		different(seconds);
		break;
	}
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 4)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)(REGIONS + 1) * REGION))
		return 1;
	regions = mmap(NULL, (size_t)(REGIONS + 1) * REGION, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);
	if (regions == MAP_FAILED)
		return 1;
	close(fd);
	taken = (void *)&regions[REGIONS];
	seconds = atof(argv[3]);
	do_it(argv[2][0], argv[2][0] ? atoi(argv[2] + 1) : 0);
	if (argc > 4 && strcmp(argv[4], "abort") == 0)
		abort();
	if (argc > 4 && strcmp(argv[4], "wait") == 0)
		return getchar() == EOF;
	return argc > 4 ? atoi(argv[4]) : 0;
}
