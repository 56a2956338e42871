/*
 * deaths.c - one rank of a job of which one rank dies or hangs.
 *
 *   deaths FILE STEPS RANK FAULT STEP
 *
 * FILE: names the job (nccl_job.c). In step STEP, before its collective, RANK has the FAULT, one of the table at the end; each is in a
 * function of its own, and the line with the comment GUILTY is where the rank dies or waits. The others wait for it in their collective.
 * Rank and size: RANK, WORLD_SIZE.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"
#include "tests/standin/cuda_types.h"

struct unique_id {
	char bytes[128];
};
int ncclGetUniqueId(struct unique_id *);
int ncclCommInitRank(void **, int, struct unique_id, int);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, CUstream);
int cudaMalloc(void **, size_t);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaStreamSynchronize(CUstream);

#define DO(call)                                                                                   \
	do {                                                                                       \
		int do_result_ = (call);                                                           \
		if (do_result_) {                                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, do_result_); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static struct job {
	const char *file;
	void *world, *other, *data;
	CUstream stream;
} job;

static void reduce(void *comm)
{
	DO(ncclAllReduce(job.data, job.data, 1024, 7, 0, comm, job.stream));
	DO(cudaStreamSynchronize(job.stream)); /* GUILTY other */
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static volatile uint64_t sum;

/* ---- deaths ---- */

/* From outside, as a batch system or the OOM killer does it, while the rank computes. */
static void killed(void)
{
	pid_t self = getpid();

	if (fork() == 0) {
		sleep_ms(400);
		kill(self, SIGKILL);
		_exit(0);
	}
	/* clang-format off */
	for (;;) sum += sum * 3 + 1; /* GUILTY killed */
	/* clang-format on */
}

static void segv(void)
{
	volatile int *volatile none = NULL;

	*none = 1; /* GUILTY segv */
}

static void aborts(void)
{
	abort(); /* GUILTY abort */
}

static void exits(void)
{
	fprintf(stderr, "rank %s: the loss is not a number\n", getenv("RANK"));
	exit(3); /* GUILTY exit */
}

static void leaves(void)
{
	exit(0); /* GUILTY leaves */
}

static void divides(void)
{
	volatile int zero = 0, one = 1;

	one /= zero; /* GUILTY divides */
}

/* ---- hangs ---- */

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *other_way(void *x)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first); /* GUILTY locks too */
	return x;
}

static void locks(void)
{
	pthread_t t;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&t, NULL, other_way, NULL))
		exit(1);
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&second); /* GUILTY locks */
	sum++;
}

static void self_lock(void)
{
	pthread_mutex_lock(&first);
	pthread_mutex_lock(&first); /* GUILTY self */
	sum++;                      /* no tail call, which has no frame */
}

static void absent(void)
{
	for (;;)
		pause(); /* GUILTY absent */
}

static void spins(void)
{
	/* clang-format off */
	for (;;) sum += sum * 3 + 1; /* GUILTY spins */
	/* clang-format on */
}

static void naps(void)
{
	struct timespec t = {0, 20000000};

	for (;;)
		nanosleep(&t, NULL); /* GUILTY naps */
}

static void elsewhere(void)
{
	reduce(job.other);
}

static void reads_pipe(void)
{
	int both_ends[2];
	char c;

	if (pipe(both_ends) || read(both_ends[0], &c, 1) < 0) /* GUILTY pipe */
		exit(1);
}

static void waits_for_file(void)
{
	char path[4096];
	int fd, ready[2];
	char c;

	snprintf(path, sizeof(path), "%s.lock", job.file);
	if (pipe(ready))
		exit(1);
	if (fork() == 0) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		flock(fd, LOCK_EX);
		if (write(ready[1], "", 1) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (read(ready[0], &c, 1) < 0)
		exit(1);
	flock(fd, LOCK_EX); /* GUILTY flock */
	sum++;
}

static void waits_for_peer(void)
{
	int ends[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	if (fork() == 0) {
		close(ends[0]);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (recv(ends[0], &c, 1, 0) < 0) /* GUILTY net */
		exit(1);
}

static void stops(void)
{
	raise(SIGSTOP); /* GUILTY stop */
	sum++;
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
	{"killed", killed},      {"segv", segv},
	{"abort", aborts},       {"exit", exits},
	{"leaves", leaves},      {"divides", divides},
	{"locks", locks},        {"self", self_lock},
	{"absent", absent},      {"spins", spins},
	{"naps", naps},          {"other", elsewhere},
	{"pipe", reads_pipe},    {"flock", waits_for_file},
	{"net", waits_for_peer}, {"stop", stops},
};

/* FILE.fault is there from then on. */
static void fail(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.fault", job.file);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(name, faults[i].name) == 0)
			faults[i].run();
}

int main(int argc, char **argv)
{
	const char *rank_text = getenv("RANK"), *size_text = getenv("WORLD_SIZE");
	int rank = rank_text ? atoi(rank_text) : -1, size = size_text ? atoi(size_text) : 0;
	struct unique_id id;

	if (argc < 6 || rank < 0 || size < 1 || !nvtx_load())
		return 2;
	job.file = argv[1];
	setenv("JOB_ID", argv[1], 1);
	DO(cudaStreamCreateWithFlags(&job.stream, 1));
	DO(cudaMalloc(&job.data, 4096));
	DO(ncclGetUniqueId(&id));
	DO(ncclCommInitRank(&job.world, size, id, rank));
	DO(ncclGetUniqueId(&id));
	DO(ncclCommInitRank(&job.other, size, id, rank));
	for (int i = 1; i <= atoi(argv[2]); i++) {
		push("step");
		sleep_ms(5);
		if (rank == atoi(argv[3]) && i == atoi(argv[5]))
			fail(argv[4]);
		reduce(job.world);
		pop();
	}
	return 0;
}
