/*
 * buffers.c - the memory that CUPTI writes records into: given out on the program's threads, in the middle of its
 * calls, and got back on CUPTI's own, or from a flush. Versions before 12.9 crash when there is none.
 */
#include "preload/cupti/guest.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* At most some 3,000 kernels with their calls, at least some 50. One per thread that calls CUDA, from CUPTI 13 on. */
#define BYTES (1u << 20)
#define LEAST (16u << 10)
#define HEAD  4096u /* before it, so that it begins a page */
#define WARM  8u    /* so many free ones keep their memory */

enum state {
	FREE,
	BUSY, /* changing hands */
	OUT,  /* at CUPTI */
};

struct buffer {
	struct buffer *next; /* all there are; never taken out */
	uint64_t since;      /* given out */
	uint32_t bytes;      /* that CUPTI was told of */
	uint32_t state;      /* atomic */
};

static struct buffer *all;
static uint32_t free_cnt;

static bool grab(struct buffer *b, uint32_t from)
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
	/* Release: pairs with the acquire of whoever walks the list. */
	while (!__atomic_compare_exchange_n(&all, &b->next, b, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return b;
}

/*
 * How much of it CUPTI is told of. A flush brings no buffer in which something is not over yet, and where the GPU is
 * kept busy the one that is being filled always has that: it comes when it is full, and with it the calls of this
 * thread, which wait for their ids, and are lost when the program is killed. So a buffer is to be full a few times per
 * period, as fast as this thread fills them now.
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

	while (b && !grab(b, FREE))
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
	b->since = guest.host->now();
	b->bytes = (uint32_t)bytes_for(b->since);
	/* Release: whoever sees it OUT sees since (buffers_oldest). */
	__atomic_store_n(&b->state, OUT, __ATOMIC_RELEASE);
	*buffer = (uint8_t *)b + HEAD;
	*bytes = b->bytes;
}

/* Clean again, before it is free: CUPTI counts on that (CUPTI_ATTRIBUTE_ZEROED). */
static void give_back(struct buffer *b)
{
	uint8_t *data = (uint8_t *)b + HEAD;
	bool cold = __atomic_add_fetch(&free_cnt, 1, __ATOMIC_RELAXED) > WARM &&
		    madvise(data, BYTES, MADV_DONTNEED) == 0;

	if (!cold && guest.zeroed)
		memset(data, 0, b->bytes);
	/* Release: pairs with the acquire in grab(). */
	__atomic_store_n(&b->state, FREE, __ATOMIC_RELEASE);
}

void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct buffer *b = __atomic_load_n(&all, __ATOMIC_ACQUIRE);

	(void)context;
	(void)stream;
	(void)bytes;
	while (b && (uint8_t *)b + HEAD != buffer)
		b = b->next;
	/* Not one of ours: another client's, before it took the callbacks over. */
	if (!b || !grab(b, OUT))
		return;
	if (valid && valid <= b->bytes && guest_is_ours())
		convert_buffer(buffer, valid);
	give_back(b);
}

/* It came zeroed, and every record begins with its kind: CUPTI has got it for a thread that has done nothing since. */
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

/* Another thread may be in the middle of one. Not for ever: it may be in the middle of a hang, too. */
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
