/*
 * nccl_job.c - as much of NCCL as tests/gpu/ranks.c needs. A collective's kernel begins when its rank has launched it, and ends
 * on all ranks when the last of them has begun, as a real one: an early rank waits. Ranks are processes of one machine, or
 * of containers that share the folder: they find each other by a file beside the job's own (JOB_ID). A message ends on both sides when both
 * have begun.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/standin/standin.h"

struct dim3 {
	unsigned x, y, z;
};
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);

enum {
	KERNEL_NS = 50000, /* of a collective, once all are there, as in its name */
	SLOTS = 16,        /* a rank is ahead of another by one collective at most */
	COMMS_MAX = 8,
	RANKS_MAX = 64,
	PATIENCE_S = 60, /* the machine may be busy */
};

/* When a rank's kernel began, of its collective with this number. The number is written last, with release. */
struct arrival {
	uint64_t number, start;
};
struct comm {
	struct arrival (*of)[SLOTS]; /* by rank */
	struct arrival (*sides)[RANKS_MAX][2]
			       [SLOTS];  /* of messages: by sender, receiver, whether it receives */
	uint64_t messages[RANKS_MAX][2]; /* so far, to and from each rank */
	int cnt, rank;
	uint64_t number; /* collectives so far */
};

struct unique_id {
	char bytes[128];
};
int ncclGetUniqueId(struct unique_id *id);
int ncclCommInitRank(void **comm, int cnt, struct unique_id id, int rank);
int ncclAllReduce(const void *from, void *to, size_t cnt, int type, int op, void *comm,
		  void *stream);
int ncclSend(const void *from, size_t cnt, int type, int peer, void *comm, void *stream);
int ncclRecv(void *to, size_t cnt, int type, int peer, void *comm, void *stream);
int ncclCommDestroy(void *comm);

static char kernel; /* its address is what nvcc makes a handle of */

/* The same on all ranks of the job, which ask for as many of them in the same order. */
int ncclGetUniqueId(struct unique_id *id)
{
	const char *job = getenv("JOB_ID");
	static unsigned asked;

	memset(id, 0, sizeof(*id));
	snprintf(id->bytes, sizeof(id->bytes), "%u job %s", asked++, job ? job : "");
	return 0;
}

static void make_kernel(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	static char name[96];
	void **binary;

	if (*name)
		return;
	snprintf(name, sizeof(name), "ncclDevKernel_AllReduce_Sum_f32_RING_LL_us%d_",
		 KERNEL_NS / 1000);
	binary = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(binary, &kernel, name, name, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
}

/* Memory that all ranks of the @nth communicator of the job share. */
static struct comm *join(unsigned nth, int cnt, int rank)
{
	size_t own = RANKS_MAX * sizeof(struct arrival[SLOTS]);
	size_t bytes = own + sizeof(struct arrival[RANKS_MAX][RANKS_MAX][2][SLOTS]);
	const char *job = getenv("JOB_ID");
	struct comm *c = calloc(1, sizeof(*c));
	char path[4096];
	void *at = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s.nccl", job ? job : "");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (c && nth < COMMS_MAX && fd >= 0 && ftruncate(fd, (off_t)(COMMS_MAX * bytes)) == 0)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (off_t)(nth * bytes));
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED) {
		free(c);
		return NULL;
	}
	c->of = at;
	c->sides = (void *)((char *)at + own);
	c->cnt = cnt;
	c->rank = rank;
	return c;
}

int ncclCommInitRank(void **comm, int cnt, struct unique_id id, int rank)
{
	static unsigned made;

	(void)id;
	if (cnt > RANKS_MAX)
		return 5;
	make_kernel();
	*comm = join(made++, cnt, rank);
	return *comm ? 0 : 2;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The end of the collective: the last begin and the time that it takes. 0: not all have begun. */
static uint64_t end_of(void *data, uint64_t start)
{
	struct comm *c = data;
	struct arrival *own = &c->of[c->rank][c->number % SLOTS];
	uint64_t last = start;

	own->start = start;
	__atomic_store_n(&own->number, c->number, __ATOMIC_RELEASE);
	for (int i = 0; i < c->cnt; i++) {
		const struct arrival *a = &c->of[i][c->number % SLOTS];

		/* A rank that died: a real collective hangs, a test has to end. */
		if (__atomic_load_n(&a->number, __ATOMIC_ACQUIRE) != c->number)
			return now() > start + PATIENCE_S * 1000000000ull ? now() : 0;
		last = a->start > last ? a->start : last;
	}
	return last + KERNEL_NS;
}

int ncclAllReduce(const void *from, void *to, size_t cnt, int type, int op, void *comm,
		  void *stream)
{
	struct dim3 one = {1, 1, 1};
	struct comm *c = comm;

	(void)from;
	(void)to;
	(void)cnt;
	(void)type;
	(void)op;
	if (!c)
		return 4;
	c->number++;
	standin_next_ends(end_of, c);
	return cudaLaunchKernel(&kernel, one, one, NULL, 0, stream);
}

/* One side of a message. */
struct side {
	struct comm *c;
	struct arrival *own;
	const struct arrival *other;
	uint64_t number;
};

static uint64_t end_of_message(void *data, uint64_t start)
{
	struct side *s = data;

	s->own->start = start;
	__atomic_store_n(&s->own->number, s->number, __ATOMIC_RELEASE);
	if (__atomic_load_n(&s->other->number, __ATOMIC_ACQUIRE) != s->number)
		return now() > start + PATIENCE_S * 1000000000ull ? now() : 0;
	return (s->other->start > start ? s->other->start : start) + KERNEL_NS;
}

static int message(struct comm *c, int peer, bool receives, void *stream)
{
	static struct side
		sides[SLOTS]; /* of messages that have not ended: of one at a time, here */
	static unsigned turn;
	struct dim3 one = {1, 1, 1};
	struct side *s = &sides[turn++ % SLOTS];
	int from, to;

	if (!c || peer < 0 || peer >= c->cnt)
		return 4;
	from = receives ? peer : c->rank;
	to = receives ? c->rank : peer;
	s->c = c;
	s->number = ++c->messages[peer][receives];
	s->own = &c->sides[from][to][receives][s->number % SLOTS];
	s->other = &c->sides[from][to][!receives][s->number % SLOTS];
	standin_next_ends(end_of_message, s);
	return cudaLaunchKernel(&kernel, one, one, NULL, 0, stream);
}

int ncclSend(const void *from, size_t cnt, int type, int peer, void *comm, void *stream)
{
	(void)from;
	(void)cnt;
	(void)type;
	return message(comm, peer, false, stream);
}

int ncclRecv(void *to, size_t cnt, int type, int peer, void *comm, void *stream)
{
	(void)to;
	(void)cnt;
	(void)type;
	return message(comm, peer, true, stream);
}

int ncclCommDestroy(void *comm)
{
	struct comm *c = comm;

	if (!c)
		return 4;
	munmap(c->of, (size_t)((char *)&c->sides[RANKS_MAX] - (char *)c->of));
	free(c);
	return 0;
}
