/*
 * nvtx_capture.c - requests a capture for ranges whose message is the session's nvtx_range, in its nvtx_domain
 * (--capture-range=nvtx). Other ranges cost one comparison of texts, in such sessions alone.
 */
#include "preload/core/capture_request.h"
#include "preload/nvtx/nvtx.h"

#include <string.h>

#define STARTED_MAX 64u /* open ranges with start and end */

__thread uint32_t sl_nvtx_capture_depth;

/* Started ranges: any thread may end one. */
static struct started {
	uint32_t state; /* atomic, enum below */
	uint32_t number, process;
	const struct sl_nvtx_domain *domain;
	uint64_t id;
} started[STARTED_MAX];
enum {
	FREE,
	BUSY, /* being filled or freed by a thread */
	OPEN,
};
uint32_t sl_nvtx_capture_started;

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

/* Number 0 is cudaProfilerStart's. Unique together with the pid, so a forked child may continue counting. */
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

void sl_nvtx_capture_push(const struct sl_nvtx_domain *d, bool opens)
{
	struct sl_nvtx_thread *t = sl_nvtx_thread();
	uint32_t number;

	if (!sl_ready() || !t)
		return;
	if (t->process != sl_proc.number) {
		t->process = sl_proc.number;
		sl_nvtx_capture_depth = 0;
	}
	for (uint32_t i = 0; i < sl_nvtx_capture_depth; i++)
		if (t->range[i].domain == d)
			t->range[i].inside++;
	if (!opens || !is_session_domain(d) || sl_nvtx_capture_depth == NVTX_CAPTURES)
		return;
	number = next_number();
	if (!sl_capture_request(SL_HELLO_OPEN, number))
		return;
	t->range[sl_nvtx_capture_depth].domain = d;
	t->range[sl_nvtx_capture_depth].number = number;
	t->range[sl_nvtx_capture_depth].inside = 0;
	sl_nvtx_capture_depth++;
}

void sl_nvtx_capture_pop(const struct sl_nvtx_domain *d)
{
	struct sl_nvtx_thread *t = sl_nvtx_thread();
	uint32_t kept = 0, ended = 0;

	if (!sl_ready() || !t)
		return;
	if (t->process != sl_proc.number)
		sl_nvtx_capture_depth = 0;
	for (uint32_t i = 0; i < sl_nvtx_capture_depth; i++) {
		/* Pops end the innermost range of a domain. */
		if (t->range[i].domain == d && t->range[i].inside-- == 0)
			ended = t->range[i].number;
		else
			t->range[kept++] = t->range[i];
	}
	sl_nvtx_capture_depth = kept;
	if (ended)
		sl_capture_request(SL_HELLO_CLOSE, ended);
}

/* ---- start and end ---- */

static bool take(struct started *s, uint32_t from)
{
	/* Acquire: pairs with the release of the thread that filled the entry. */
	return __atomic_compare_exchange_n(&s->state, &from, BUSY, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* A free entry; entries of the parent count as free in a forked child. */
static struct started *take_place(void)
{
	for (struct started *s = started; s < started + STARTED_MAX; s++) {
		if (take(s, FREE))
			return s;
		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == OPEN &&
		    s->process != sl_proc.number && take(s, OPEN)) {
			__atomic_sub_fetch(&sl_nvtx_capture_started, 1, __ATOMIC_RELAXED);
			return s;
		}
	}
	return NULL;
}

void sl_nvtx_capture_start(const struct sl_nvtx_domain *d, uint64_t id)
{
	struct started *s;

	if (!sl_ready() || !is_session_domain(d) || !(s = take_place()))
		return;
	s->number = next_number();
	if (!sl_capture_request(SL_HELLO_OPEN, s->number)) {
		__atomic_store_n(&s->state, FREE, __ATOMIC_RELEASE);
		return;
	}
	s->process = sl_proc.number;
	s->domain = d;
	s->id = id;
	__atomic_add_fetch(&sl_nvtx_capture_started, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->state, OPEN, __ATOMIC_RELEASE);
}

void sl_nvtx_capture_end(const struct sl_nvtx_domain *d, uint64_t id)
{
	if (!sl_ready())
		return;
	for (struct started *s = started; s < started + STARTED_MAX; s++) {
		uint32_t number;

		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != OPEN || s->id != id ||
		    s->domain != d || s->process != sl_proc.number || !take(s, OPEN))
			continue;
		number = s->number;
		__atomic_sub_fetch(&sl_nvtx_capture_started, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&s->state, FREE, __ATOMIC_RELEASE);
		sl_capture_request(SL_HELLO_CLOSE, number);
		return;
	}
}
