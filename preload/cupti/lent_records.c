/*
 * lent_records.c - which records are of the program's own tracing, in buffers that CUPTI had from the shim or from the
 * program when it changed hands.
 *
 * Times distinguish them, unless there is none on a known clock: the program may register a clock of its own. Calls have the
 * clock of when they were made, so those on an unknown clock are the program's. Work has that of when CUPTI hands it over:
 * it is the program's if its correlation id is. The ids grow, and those of the program's calls lie between the shim's last
 * one before CUPTI was lent and the first one after that.
 */
#include "preload/cupti/guest.h"
#include "preload/cupti/known_bad.h"
#include "preload/cupti/view.h"

#define TIMES 8u /* no buffer is older */

/* A time in which CUPTI was lent. Each member is atomic. */
struct lent {
	uint64_t from, to;    /* to: UINT64_MAX while it is lent */
	uint32_t last, first; /* ids of the shim's calls before and after; 0: none is known */
};
static struct lent lent[TIMES];
static uint32_t cnt; /* atomic: so many times, of which the last ones are kept */

static uint32_t kept(void)
{
	uint32_t all = __atomic_load_n(&cnt, __ATOMIC_ACQUIRE);

	return all < TIMES ? all : TIMES;
}

bool lent_before(void)
{
	return kept() != 0;
}

void lent_begin(void)
{
	struct lent *l = &lent[cnt % TIMES];

	__atomic_store_n(&l->from, guest.host->now(), __ATOMIC_RELAXED);
	__atomic_store_n(&l->to, UINT64_MAX, __ATOMIC_RELAXED);
	__atomic_store_n(&l->last, wanted_newest(), __ATOMIC_RELAXED);
	__atomic_store_n(&l->first, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&cnt, cnt + 1, __ATOMIC_RELEASE);
}

void lent_end(uint64_t at)
{
	if (cnt)
		__atomic_store_n(&lent[(cnt - 1) % TIMES].to, at, __ATOMIC_RELAXED);
}

/* In the order of their calls; ids wrap around. */
static bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static void move(uint32_t *id, uint32_t to, bool up)
{
	uint32_t from = __atomic_load_n(id, __ATOMIC_RELAXED);

	while ((!from || (up ? is_before(from, to) : is_before(to, from))) &&
	       !__atomic_compare_exchange_n(id, &from, to, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void lent_call(uint32_t correlation, uint64_t start)
{
	for (uint32_t i = kept(); start && correlation && i; i--) {
		struct lent *l = &lent[i - 1];

		if (start < __atomic_load_n(&l->from, __ATOMIC_RELAXED))
			move(&l->last, correlation, true);
		else if (start >= __atomic_load_n(&l->to, __ATOMIC_RELAXED))
			move(&l->first, correlation, false);
	}
}

/* Whether a call of the program was made in one of the times. */
static bool is_in_time(uint32_t correlation, bool in_doubt)
{
	if (!correlation)
		return in_doubt;
	for (uint32_t i = kept(); i; i--) {
		const struct lent *l = &lent[i - 1];
		uint32_t last = __atomic_load_n(&l->last, __ATOMIC_RELAXED);
		uint32_t first = __atomic_load_n(&l->first, __ATOMIC_RELAXED);
		bool is_now = __atomic_load_n(&l->to, __ATOMIC_RELAXED) == UINT64_MAX;

		if (last && !is_before(last, correlation))
			continue;
		if (first ? is_before(correlation, first) : is_now || in_doubt)
			return true;
	}
	return false;
}

static bool is_of_graph(const struct view *v, uint32_t kind)
{
	switch (kind) {
	case CUPTI_KIND_CONCURRENT_KERNEL:
		return KERNEL_graph_node(v);
	case CUPTI_KIND_MEMCPY:
		return MEMCPY_graph_node(v);
	case CUPTI_KIND_MEMCPY2:
		return PEER_graph_node(v);
	case CUPTI_KIND_MEMSET:
		return MEMSET_graph_node(v);
	default:
		return kind == CUPTI_KIND_GRAPH_TRACE;
	}
}

/* What has a time: when it began, as CUPTI has it (0: it knows that not), and its correlation id, 0: none. */
static bool work(const struct view *v, uint32_t kind, uint64_t *start, uint32_t *correlation)
{
	*correlation = 0;
	switch (kind) {
#define WORK(kind, shape, time)                                  \
	case CUPTI_KIND_##kind:                                  \
		*start = shape##_##time(v);                      \
		*correlation = (uint32_t)shape##_correlation(v); \
		return true;
		WORK(RUNTIME, API, start)
		WORK(DRIVER, API, start)
		WORK(CONCURRENT_KERNEL, KERNEL, start)
		WORK(SERIAL_KERNEL, KERNEL, start)
		WORK(MEMCPY, MEMCPY, start)
		WORK(MEMCPY2, PEER, start)
		WORK(MEMSET, MEMSET, start)
		WORK(SYNCHRONIZATION, SYNC, start)
		WORK(CUDA_EVENT, EVENT, timestamp)
		WORK(GRAPH_TRACE, GRAPH, start)
		WORK(MEMORY2, MEMORY, time)
		WORK(MEMORY_POOL, POOL, time)
		WORK(OVERHEAD, OVERHEAD, start)
		WORK(JIT, JIT, start)
#undef WORK
	case CUPTI_KIND_UNIFIED_MEMORY_COUNTER:
		*start = UM_start(v);
		return true;
	default:
		return false;
	}
}

static bool is_untimed(const struct view *v, uint32_t kind, uint64_t *mono, uint32_t *correlation)
{
	uint64_t start;

	*mono = 0;
	if (!kept() || !work(v, kind, &start, correlation))
		return false;
	*mono = clock_mono(start, v->now);
	/* Ids of a session that is not the first. */
	if (!*mono && known_bad(BAD_GRAPH_CORRELATION) && is_of_graph(v, kind))
		*correlation = 0;
	return !*mono;
}

/* CUPTI takes its times when they are. */
static bool is_of_cpu(uint32_t kind)
{
	return kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER ||
	       kind == CUPTI_KIND_OVERHEAD;
}

bool lent_is_undecided(const struct view *v, uint32_t kind)
{
	uint64_t mono;
	uint32_t correlation;

	return is_untimed(v, kind, &mono, &correlation) && !is_of_cpu(kind);
}

/* In doubt, as most of the calls in its buffer are. */
static bool is_among_programs(const struct view *v)
{
	if (v->calls == v->calls_of_program * 2)
		return v->since != 0;
	return v->calls_of_program > v->calls - v->calls_of_program;
}

bool lent_is_programs(struct view *v, uint32_t kind)
{
	uint32_t correlation;
	uint64_t mono;
	bool yes;

	if (is_untimed(v, kind, &mono, &correlation))
		yes = is_of_cpu(kind) || is_in_time(correlation, is_among_programs(v));
	else
		yes = mono && mono < v->since;
	if (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER) {
		v->calls++;
		v->calls_of_program += yes;
	}
	return yes;
}
