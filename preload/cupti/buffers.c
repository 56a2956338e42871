/*
 * buffers.c - buffers for CUPTI's records: requested on the program's threads, inside of its calls, and completed on
 * CUPTI's own threads, or by a flush. Versions before 12.9 crash if a request gets no buffer.
 */
#include "preload/cupti/guest.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* For at most some 3,000 kernels with their calls, at least some 50. One per calling thread from CUPTI 13 on. */
#define BYTES (1u << 20)
#define LEAST (16u << 10)
#define HEAD  4096u /* in front of the buffer, which is page-aligned */
#define WARM  8u    /* free buffers that keep their memory */

enum state {
	FREE,
	BUSY, /* being prepared or converted */
	OUT,  /* owned by CUPTI */
};

struct buffer {
	struct buffer *next; /* list of all buffers; never removed */
	uint64_t since;      /* time of the request */
	uint32_t bytes;      /* size passed to CUPTI */
	uint32_t state;      /* atomic */
};

static struct buffer *all;
static uint32_t free_cnt;

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

/*
 * The size to pass to CUPTI. A flush returns no buffer with unfinished activity, which the current buffer always has
 * while the GPU is busy: it returns when it is full, and until then calls of this thread wait for their records, which
 * are lost if the program is killed. So the size is such that this thread fills a buffer a few times per period.
 */
static size_t bytes_for(uint64_t now)
{
	static __thread size_t bytes;
	static __thread uint64_t before;
	uint64_t period = guest.host->flush_ms * (uint64_t)1000000, took = now - before;

	if (!period)
		return BYTES;
	if (!bytes)
		bytes = 4 * LEAST;
	else if (took < period / 8)
		bytes = bytes < BYTES ? bytes * 2 : BYTES;
	for (; before && took > period / 2 && bytes > LEAST; took /= 2)
		bytes /= 2;
	before = now;
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
	b->since = guest.host->now();
	b->bytes = (uint32_t)bytes_for(b->since);
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
	if (valid && valid <= b->bytes && guest_is_own_process())
		convert_buffer(buffer, valid);
	release(b);
	return true;
}

void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	/* The program's, from before its callbacks were replaced. */
	if (!buffer_is_taken(context, stream, buffer, bytes, valid) && guest.host->completed)
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
		if (!b)
			return;
		nanosleep(&step, NULL);
	}
}

bool buffers_used(void)
{
	return __atomic_load_n(&all, __ATOMIC_ACQUIRE) != NULL;
}
