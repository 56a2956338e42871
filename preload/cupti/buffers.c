/*
 * buffers.c - buffers for CUPTI's records: requested on the program's threads, inside of its calls, and completed on
 * CUPTI's own threads, or by a flush. Versions before 12.9 crash if a request gets no buffer.
 */
#include "preload/cupti/guest.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* For at most some 3,000 kernels with their calls, at least some 50. */
#define BYTES (1u << 20)
#define FIRST (64u << 10)
#define LEAST (16u << 10)
#define HEAD  4096u /* in front of the buffer, which is page-aligned */
#define WARM  8u    /* free buffers that keep their memory */
/* Version of the API; CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER. */
#define PER_THREAD_SINCE 130000
#define RECORD_MOST      512u /* bytes, more than any record has */

enum state {
	FREE,
	BUSY, /* being prepared or converted */
	OUT,  /* owned by CUPTI */
};

struct buffer {
	struct buffer *next; /* list of all buffers; never removed */
	uint64_t since;      /* atomic: time of the request */
	uint32_t bytes;      /* size passed to CUPTI */
	uint32_t state;      /* atomic */
	bool is_full;        /* when it was returned; written before @state */
};

static struct buffer *all;
static uint32_t free_cnt;
static uint32_t converting; /* atomic: threads with a buffer of the program's */

static bool take(struct buffer *b, uint32_t from)
{
	return __atomic_compare_exchange_n(&b->state, &from, BUSY, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static struct buffer *make(void)
{
	struct buffer *b = mmap(NULL, HEAD + BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (b == MAP_FAILED)
		return NULL;
	b->state = BUSY;
	b->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire of readers of the list. */
	while (!__atomic_compare_exchange_n(&all, &b->next, b, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return b;
}

/* Sizes of successive buffers: of this thread from CUPTI 13 on, before that of all threads together. */
struct sizes {
	size_t bytes; /* 0: none yet */
	const struct buffer *last;
	uint64_t since; /* of the last */
};

/* A flush takes a buffer in part: it was not full, and kept nothing back. */
static bool was_full(const struct sizes *s)
{
	const struct buffer *b = s->last;

	return __atomic_load_n(&b->since, __ATOMIC_RELAXED) == s->since &&
	       (__atomic_load_n(&b->state, __ATOMIC_ACQUIRE) != FREE || b->is_full);
}

/*
 * The size to pass to CUPTI. NVIDIA recommends 1 MiB and more. But a flush returns no buffer with unfinished activity, which
 * the current buffer always has while the GPU is never idle: it returns when it is full, and until then calls wait for
 * their records, which are lost if the program is killed. So where buffers return full, the size is such that a few of
 * them fill per period; there are at most 8 requests per period for smaller ones than BYTES.
 */
static size_t bytes_for(struct sizes *s, const struct buffer *next, uint64_t now)
{
	uint64_t period = guest.host->flush_ms * (uint64_t)1000000, took = now - s->since;

	if (!period)
		return BYTES;
	if (!s->bytes) {
		s->bytes = FIRST;
	} else if (was_full(s)) {
		if (took < period / 8)
			s->bytes = s->bytes * 4 < BYTES ? s->bytes * 4 : BYTES;
		for (; took > period / 2 && s->bytes > LEAST; took /= 2)
			s->bytes /= 2;
	}
	s->last = next;
	s->since = now;
	return s->bytes;
}

static size_t next_bytes(const struct buffer *next, uint64_t now)
{
	static __thread struct sizes own;
	static struct sizes shared;
	static uint32_t sizing; /* atomic: a thread is in here */
	size_t bytes;

	if (guest.version >= PER_THREAD_SINCE)
		return bytes_for(&own, next, now);
	/* Of requests at the same time, one counts. */
	if (__atomic_exchange_n(&sizing, 1, __ATOMIC_ACQUIRE))
		return BYTES;
	bytes = bytes_for(&shared, next, now);
	__atomic_store_n(&sizing, 0, __ATOMIC_RELEASE);
	return bytes;
}

void buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	struct buffer *b = __atomic_load_n(&all, __ATOMIC_ACQUIRE);

	while (b && !take(b, FREE))
		b = b->next;
	if (b)
		__atomic_sub_fetch(&free_cnt, 1, __ATOMIC_RELAXED);
	else
		b = make();
	*max_records = 0;
	*buffer = NULL;
	*bytes = 0;
	if (!b)
		return;
	if (!b->next && guest.host->begun)
		guest.host->begun();
	__atomic_store_n(&b->since, guest.host->now(), __ATOMIC_RELAXED);
	b->bytes = (uint32_t)next_bytes(b, b->since);
	/* Release: a reader of OUT also reads @since (buffers_oldest()). */
	__atomic_store_n(&b->state, OUT, __ATOMIC_RELEASE);
	*buffer = (uint8_t *)b + HEAD;
	*bytes = b->bytes;
}

/* Zeroed before it is free: CUPTI relies on that (CUPTI_ATTRIBUTE_ZEROED). */
static void release(struct buffer *b)
{
	uint8_t *data = (uint8_t *)b + HEAD;
	bool cold = __atomic_add_fetch(&free_cnt, 1, __ATOMIC_RELAXED) > WARM &&
		    madvise(data, BYTES, MADV_DONTNEED) == 0;

	if (!cold && guest.zeroed)
		memset(data, 0, b->bytes);
	/* Release: pairs with the acquire in take(). */
	__atomic_store_n(&b->state, FREE, __ATOMIC_RELEASE);
}

bool buffer_is_own(const uint8_t *buffer)
{
	const struct buffer *b = __atomic_load_n(&all, __ATOMIC_ACQUIRE);

	while (b && (const uint8_t *)b + HEAD != buffer)
		b = b->next;
	return b != NULL;
}

bool buffer_is_taken(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct buffer *b = __atomic_load_n(&all, __ATOMIC_ACQUIRE);

	(void)context;
	(void)stream;
	(void)bytes;
	while (b && (uint8_t *)b + HEAD != buffer)
		b = b->next;
	if (!b)
		return false;
	if (!take(b, OUT))
		return true;
	b->is_full = valid + RECORD_MOST > b->bytes;
	if (valid && valid <= b->bytes && guest_is_own_process())
		convert_buffer(buffer, valid, 0);
	release(b);
	return true;
}

/* CUPTI had requested it from the program, perhaps in advance, and has filled it since it was taken back. */
static void convert_programs(uint8_t *buffer, size_t bytes, size_t valid)
{
	uint64_t since = __atomic_load_n(&guest.back_at, __ATOMIC_ACQUIRE);

	if (!since || !valid || valid > bytes || !guest_is_own_process())
		return;
	__atomic_add_fetch(&converting, 1, __ATOMIC_ACQUIRE);
	convert_buffer(buffer, valid, since);
	__atomic_sub_fetch(&converting, 1, __ATOMIC_RELEASE);
}

void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	if (buffer_is_taken(context, stream, buffer, bytes, valid))
		return;
	/* The program's, from before its callbacks were replaced. */
	convert_programs(buffer, bytes, valid);
	if (guest.host->completed)
		guest.host->completed(context, stream, buffer, bytes, valid);
}

/* Still zeroed, and every record begins with its kind: CUPTI wrote nothing to it. */
static bool is_empty(const struct buffer *b)
{
	return guest.zeroed && __atomic_load_n(&b->state, __ATOMIC_ACQUIRE) == OUT &&
	       !__atomic_load_n((const uint32_t *)((const uint8_t *)b + HEAD), __ATOMIC_RELAXED);
}

uint64_t buffers_oldest(void)
{
	uint64_t oldest = UINT64_MAX;

	for (const struct buffer *b = __atomic_load_n(&all, __ATOMIC_ACQUIRE); b; b = b->next)
		if (__atomic_load_n(&b->state, __ATOMIC_ACQUIRE) != FREE && b->since < oldest &&
		    !is_empty(b))
			oldest = b->since;
	return oldest;
}

/* Waits for buffers that other threads convert. Bounded: such a thread may hang. */
void buffers_wait(void)
{
	const struct timespec step = {0, 1000000};

	for (int ms = 0; ms < 500; ms++) {
		const struct buffer *b = __atomic_load_n(&all, __ATOMIC_ACQUIRE);

		while (b && __atomic_load_n(&b->state, __ATOMIC_ACQUIRE) != BUSY)
			b = b->next;
		if (!b && !__atomic_load_n(&converting, __ATOMIC_ACQUIRE))
			return;
		nanosleep(&step, NULL);
	}
}

bool buffers_used(void)
{
	return __atomic_load_n(&all, __ATOMIC_ACQUIRE) != NULL;
}
