/*
 * nvtx_ask.c - ranges that begin and end a capture (--capture-range=nvtx): those whose message is the session's nvtx_range,
 * in the domain it names. Others pay for one comparison of texts, in such sessions alone.
 */
#include "preload/core/capture_request.h"
#include "preload/nvtx/nvtx.h"

#include <string.h>

#define NESTED_MAX \
	8u /* ranges of one thread inside one another; the outer ones keep the capture open */
#define STARTED_MAX 64u /* ranges with start and end, at one time */

/* The ranges that this thread is inside of. Those of a forked child's parent are not the child's. */
static __thread struct {
	uint32_t process;
	struct {
		const struct sl_nvtx_domain *domain;
		uint32_t number;
		uint32_t inside; /* pushes of the same domain that came later and are not popped */
	} range[NESTED_MAX];
} tls;
__thread uint32_t sl_nvtx_nested;

/* Ends can come from any thread. */
static struct started {
	uint32_t state; /* atomic, enum below */
	uint32_t number, process;
	const struct sl_nvtx_domain *domain;
	uint64_t id;
} started[STARTED_MAX];
enum {
	FREE,
	BUSY, /* changing hands */
	OPEN,
};
uint32_t sl_nvtx_started;

static bool is_session_domain(const struct sl_nvtx_domain *d)
{
	const char *want = sl_global.session->nvtx_domain;

	if (want[0] == '*' && !want[1])
		return true;
	return strcmp(want, d ? d->name : "") == 0;
}

bool sl_nvtx_is_session_range(const char *text, size_t len)
{
	const char *want = sl_global.session->nvtx_range;

	return *want == *text && len < SL_CAPTURE_NAME_BYTES && !want[len] &&
	       memcmp(want, text, len) == 0;
}

bool sl_nvtx_is_session_text(const struct sl_nvtx_text *text)
{
	char copy[SL_CAPTURE_NAME_BYTES];

	if (!(sl_global.session->capture_by & SL_CAPTURE_NVTX_PLAIN) || text->len >= sizeof(copy))
		return false;
	sl_nvtx_copy(copy, text, text->len);
	return sl_nvtx_is_session_range(copy, text->len);
}

/* Number 0 is cudaProfilerStart's. A forked child has another pid, so that its numbers can go on. */
static uint32_t next_number(void)
{
	static uint32_t last;
	uint32_t n;

	do
		n = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	while (!n);
	return n;
}

/* ---- push and pop ---- */

void sl_nvtx_ask_push(const struct sl_nvtx_domain *d, bool wanted)
{
	uint32_t number;

	if (!sl_ready())
		return;
	if (tls.process != sl_proc.number) {
		tls.process = sl_proc.number;
		sl_nvtx_nested = 0;
	}
	for (uint32_t i = 0; i < sl_nvtx_nested; i++)
		if (tls.range[i].domain == d)
			tls.range[i].inside++;
	if (!wanted || !is_session_domain(d) || sl_nvtx_nested == NESTED_MAX)
		return;
	number = next_number();
	if (!sl_ask(SL_HELLO_OPEN, number))
		return;
	tls.range[sl_nvtx_nested].domain = d;
	tls.range[sl_nvtx_nested].number = number;
	tls.range[sl_nvtx_nested].inside = 0;
	sl_nvtx_nested++;
}

void sl_nvtx_ask_pop(const struct sl_nvtx_domain *d)
{
	uint32_t kept = 0, ended = 0;

	if (!sl_ready())
		return;
	if (tls.process != sl_proc.number)
		sl_nvtx_nested = 0;
	for (uint32_t i = 0; i < sl_nvtx_nested; i++) {
		/* Of the ranges of one domain only the innermost can be the one that ends. */
		if (tls.range[i].domain == d && tls.range[i].inside-- == 0)
			ended = tls.range[i].number;
		else
			tls.range[kept++] = tls.range[i];
	}
	sl_nvtx_nested = kept;
	if (ended)
		sl_ask(SL_HELLO_CLOSE, ended);
}

/* ---- start and end ---- */

static bool grab(struct started *s, uint32_t from)
{
	/* Acquire: pairs with the release of whoever filled it in. */
	return __atomic_compare_exchange_n(&s->state, &from, BUSY, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* A place for another one; a forked child takes those of its parent. */
static struct started *take_place(void)
{
	for (struct started *s = started; s < started + STARTED_MAX; s++) {
		if (grab(s, FREE))
			return s;
		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == OPEN &&
		    s->process != sl_proc.number && grab(s, OPEN)) {
			__atomic_sub_fetch(&sl_nvtx_started, 1, __ATOMIC_RELAXED);
			return s;
		}
	}
	return NULL;
}

void sl_nvtx_ask_start(const struct sl_nvtx_domain *d, uint64_t id)
{
	struct started *s;

	if (!sl_ready() || !is_session_domain(d) || !(s = take_place()))
		return;
	s->number = next_number();
	if (!sl_ask(SL_HELLO_OPEN, s->number)) {
		__atomic_store_n(&s->state, FREE, __ATOMIC_RELEASE);
		return;
	}
	s->process = sl_proc.number;
	s->domain = d;
	s->id = id;
	__atomic_add_fetch(&sl_nvtx_started, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->state, OPEN, __ATOMIC_RELEASE);
}

void sl_nvtx_ask_end(const struct sl_nvtx_domain *d, uint64_t id)
{
	if (!sl_ready())
		return;
	for (struct started *s = started; s < started + STARTED_MAX; s++) {
		uint32_t number;

		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != OPEN || s->id != id ||
		    s->domain != d || s->process != sl_proc.number || !grab(s, OPEN))
			continue;
		number = s->number;
		__atomic_sub_fetch(&sl_nvtx_started, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&s->state, FREE, __ATOMIC_RELEASE);
		sl_ask(SL_HELLO_CLOSE, number);
		return;
	}
}
