/* nccl_ranks.c - posts and completes collectives in memory that the ranks of one machine share. */
#include "tests/standin/nccl_ranks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	AREA = 8 << 20, /* for what one rank gives, until all have taken it */
	PATIENCE = 60,  /* seconds; the others may be traced, and the machine busy */
	/* A rank is ahead of another by a group that is over and one that is posted. */
	SLOTS = 2 * NCCL_GROUP_MAX,
	MAGIC = 0x4c43434e,
};

struct post {
	uint32_t kernel, type, op, root;
	uint64_t cnt, at; /* at: in the rank's area */
};
struct member {
	uint32_t is_there;
	uint32_t posted, done; /* collectives */
	struct post posts[SLOTS];
	/* By peer. */
	uint32_t sent[NCCL_RANK_MAX], received[NCCL_RANK_MAX];
	struct post sends[NCCL_RANK_MAX][SLOTS];
};
/* Numbers are written by the rank that they are of, with release, and read by the others with acquire. */
struct shared {
	uint32_t changes; /* a futex: one more whenever something was written */
	uint32_t cnt;
	struct member member[NCCL_RANK_MAX];
};
#define HEAD_BYTES ((sizeof(struct shared) + 4095) / 4096 * 4096)
#define ALL_BYTES  (HEAD_BYTES + (size_t)NCCL_RANK_MAX * AREA)

struct ranks {
	struct shared *shared;
	int cnt, rank;
	uint64_t used; /* of the own area */
};
struct id {
	uint32_t magic;
	int32_t pid, fd;
	uint32_t number;
};

static uint32_t get(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void set(struct ranks *r, uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
	__atomic_add_fetch(&r->shared->changes, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &r->shared->changes, FUTEX_WAKE, NCCL_RANK_MAX, NULL, NULL, 0);
}

static char *area(const struct ranks *r, int rank)
{
	return (char *)r->shared + HEAD_BYTES + (size_t)rank * AREA;
}

static struct member *me(const struct ranks *r)
{
	return &r->shared->member[r->rank];
}

/* Waits until the condition holds; false: it never did. */
#define WAIT(r, condition)                                                                  \
	({                                                                                  \
		const struct timespec second_ = {1, 0};                                     \
		int left_ = PATIENCE;                                                       \
		bool holds_;                                                                \
		for (;;) {                                                                  \
			uint32_t changes_ = get(&(r)->shared->changes);                     \
			holds_ = (condition);                                               \
			if (holds_ || !left_)                                               \
				break;                                                      \
			/* Woken early or late, the condition decides. */                   \
			if (syscall(SYS_futex, &(r)->shared->changes, FUTEX_WAIT, changes_, \
				    &second_, NULL, 0) &&                                   \
			    get(&(r)->shared->changes) == changes_)                         \
				left_--;                                                    \
		}                                                                           \
		holds_;                                                                     \
	})

/* ---- coming together ---- */

int ranks_id(char id[NCCL_ID_BYTES])
{
	static uint32_t number;
	struct id made = {.magic = MAGIC, .pid = getpid()};

	made.fd = memfd_create("standin-nccl", MFD_CLOEXEC);
	if (made.fd < 0 || ftruncate(made.fd, (off_t)ALL_BYTES))
		return NCCL_SYSTEM_ERROR;
	made.number = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
	memset(id, 0, NCCL_ID_BYTES);
	memcpy(id, &made, sizeof(made));
	return NCCL_OK;
}

static bool all_there(const struct ranks *r)
{
	int i;

	for (i = 0; i < r->cnt; i++)
		if (!get(&r->shared->member[i].is_there))
			return false;
	return true;
}

struct ranks *ranks_join(const char id[NCCL_ID_BYTES], int cnt, int rank)
{
	struct ranks *r = calloc(1, sizeof(*r));
	struct id of;
	char path[64];
	int fd;

	memcpy(&of, id, sizeof(of));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", of.pid, of.fd);
	if (!r || of.magic != MAGIC || cnt > NCCL_RANK_MAX)
		goto fail;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		goto fail;
	r->shared = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (r->shared == MAP_FAILED)
		goto fail;
	r->cnt = cnt;
	r->rank = rank;
	if (!get(&me(r)->is_there)) { /* else there are two of this rank */
		set(r, &me(r)->is_there, 1);
		if (WAIT(r, all_there(r)))
			return r;
	}
	munmap(r->shared, ALL_BYTES);
fail:
	free(r);
	return NULL;
}

void ranks_leave(struct ranks *r)
{
	if (r)
		munmap(r->shared, ALL_BYTES);
	free(r);
}

/* ---- giving ---- */

/* Have the others taken all that this one gave? */
static bool all_taken(const struct ranks *r)
{
	int i;

	for (i = 0; i < r->cnt; i++)
		if (get(&r->shared->member[i].done) != me(r)->posted ||
		    get(&r->shared->member[i].received[r->rank]) != me(r)->sent[i])
			return false;
	return true;
}

static size_t given(const struct ranks *r, const struct nccl_call *c)
{
	size_t bytes = c->cnt * nccl_type_bytes(c->type);

	if (c->way == RECEIVE || (c->kernel == BROADCAST && c->peer != r->rank))
		return 0;
	return c->kernel == REDUCE_SCATTER ? bytes * (size_t)r->cnt : bytes;
}

int ranks_post(struct ranks *r, const struct nccl_call *c)
{
	size_t bytes = given(r, c);
	struct member *m = me(r);
	struct post *p;

	if (c->way == RECEIVE)
		return NCCL_OK;
	if (bytes > AREA)
		return NCCL_INVALID_USAGE;
	if (all_taken(r))
		r->used = 0;
	if (r->used + bytes > AREA) {
		if (!WAIT(r, all_taken(r)))
			return NCCL_REMOTE_ERROR;
		r->used = 0;
	}
	if (c->way == SEND &&
	    !WAIT(r, m->sent[c->peer] - get(&r->shared->member[c->peer].received[r->rank]) < SLOTS))
		return NCCL_REMOTE_ERROR;
	p = c->way == SEND ? &m->sends[c->peer][m->sent[c->peer] % SLOTS]
			   : &m->posts[m->posted % SLOTS];
	*p = (struct post){(uint32_t)c->kernel,
			   (uint32_t)c->type,
			   (uint32_t)c->op,
			   (uint32_t)c->peer,
			   c->cnt,
			   r->used};
	memcpy(area(r, r->rank) + r->used, c->src, bytes);
	r->used += (bytes + 15) & ~(size_t)15;
	if (c->way == SEND)
		set(r, &m->sent[c->peer], m->sent[c->peer] + 1);
	else
		set(r, &m->posted, m->posted + 1);
	return NCCL_OK;
}

/* ---- taking ---- */

size_t nccl_type_bytes(int type)
{
	static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return type >= 0 && type < (int)sizeof(bytes) ? bytes[type] : 0;
}

/* ncclRedOp_t: sum, product, maximum, minimum */
#define FOLD(type)                                                         \
	for (i = 0; i < cnt; i++) {                                        \
		type a_ = ((type *)to)[i], b_ = ((const type *)from)[i];   \
		((type *)to)[i] = (type)(op == 0   ? a_ + b_               \
					 : op == 1 ? a_ * b_               \
					 : op == 2 ? (a_ > b_ ? a_ : b_)   \
						   : (a_ < b_ ? a_ : b_)); \
	}                                                                  \
	return true

static bool fold(void *to, const void *from, size_t cnt, int type, int op)
{
	size_t i;

	if (op < 0 || op > 3)
		return false;
	switch (type) {
	case 0:
		FOLD(int8_t);
	case 1:
		FOLD(uint8_t);
	case 2:
		FOLD(int32_t);
	case 3:
		FOLD(uint32_t);
	case 4:
		FOLD(int64_t);
	case 5:
		FOLD(uint64_t);
	case 7:
		FOLD(float);
	case 8:
		FOLD(double);
	default:
		return false; /* half a float: not asked yet */
	}
}

/* What rank @i gave to the collective with this number; NULL: something else than the others. */
static const char *contribution(const struct ranks *r, const struct nccl_call *c, int i,
				uint32_t number)
{
	const struct post *p = &r->shared->member[i].posts[number % SLOTS];

	if (p->kernel != (uint32_t)c->kernel || p->type != (uint32_t)c->type ||
	    p->op != (uint32_t)c->op || p->root != (uint32_t)c->peer || p->cnt != c->cnt)
		return NULL;
	return area(r, i) + p->at;
}

static int combine(struct ranks *r, const struct nccl_call *c, uint32_t number)
{
	size_t bytes = c->cnt * nccl_type_bytes(c->type);
	const char *from[NCCL_RANK_MAX];
	int i;

	for (i = 0; i < r->cnt; i++) {
		from[i] = contribution(r, c, i, number);
		if (!from[i])
			return NCCL_INVALID_USAGE;
		if (c->kernel == REDUCE_SCATTER)
			from[i] += (size_t)r->rank * bytes;
		if (c->kernel == ALL_GATHER)
			memcpy((char *)c->dst + (size_t)i * bytes, from[i], bytes);
	}
	if (c->kernel == ALL_GATHER || (c->kernel == REDUCE && c->peer != r->rank))
		return NCCL_OK;
	memcpy(c->dst, from[c->kernel == BROADCAST ? c->peer : 0], bytes);
	for (i = 1; c->kernel != BROADCAST && i < r->cnt; i++)
		if (!fold(c->dst, from[i], c->cnt, c->type, c->op))
			return NCCL_INVALID_ARGUMENT;
	return NCCL_OK;
}

static bool all_posted(const struct ranks *r, uint32_t number)
{
	int i;

	for (i = 0; i < r->cnt; i++)
		if ((int32_t)(get(&r->shared->member[i].posted) - number) <= 0)
			return false;
	return true;
}

static int receive(struct ranks *r, const struct nccl_call *c)
{
	struct member *from = &r->shared->member[c->peer];
	uint32_t number = me(r)->received[c->peer];
	const struct post *p = &from->sends[r->rank][number % SLOTS];

	if (!WAIT(r, get(&from->sent[r->rank]) != number))
		return NCCL_REMOTE_ERROR;
	if (p->cnt != c->cnt || p->type != (uint32_t)c->type)
		return NCCL_INVALID_USAGE;
	memcpy(c->dst, area(r, c->peer) + p->at, c->cnt * nccl_type_bytes(c->type));
	set(r, &me(r)->received[c->peer], number + 1);
	return NCCL_OK;
}

int ranks_complete(struct ranks *r, const struct nccl_call *c)
{
	uint32_t number = me(r)->done;
	int result;

	if (c->way != COLLECTIVE)
		return c->way == RECEIVE ? receive(r, c) : NCCL_OK;
	if (!WAIT(r, all_posted(r, number)))
		return NCCL_REMOTE_ERROR;
	result = combine(r, c, number);
	set(r, &me(r)->done, number + 1);
	return result;
}
