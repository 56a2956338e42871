/*
 * gpu_match.c - matches the records of one thread by hooks and by CUPTI: finds records of the same
 * call, nested calls, and calls that can be written now.
 *
 * Hooks see calls through the dynamic linker, CUPTI calls that the libraries see themselves. Calls
 * of a shared runtime have both records; those of a runtime linked into the program have CUPTI's
 * alone, while the driver calls inside it pass a hook. Only the outermost call of runtime and
 * driver has a row; correlation ids of nested ones are aliases of it.
 *
 * Both sides use the same clock, CUPTI by way of clock_gettime() and hooks through clock_map.h, so times that come
 * from the same side compare exactly, others within GPU_CLOCK_NS.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/model/strings.h"

/* A call of runtime or driver, with one or both records. */
struct gpu_node {
	struct gpu_hook *hook;
	struct gpu_api *api;
	int64_t start, end; /* the keys of its order: CUPTI's times where it has them */
	struct gpu_node *outer;
	int64_t id; /* of its row, 0: none */
	bool is_done;
	uint32_t canon;
	bool is_closed; /* nothing that has not returned is around it, as far as hooks know */
};

#define LOOK_AHEAD 1024u /* how many calls after one are searched for those around it */

static bool is_cuda(const struct gpu_hook *h)
{
	return gpu_function(h->function)->library <= SL_GPU_cuda;
}

static int compare_nodes(const void *x, const void *y)
{
	const struct gpu_node *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	/* The same to the nanosecond: the caller comes before the callee. */
	if (a->hook && b->hook && a->hook->level != b->hook->level)
		return a->hook->level < b->hook->level ? -1 : 1;
	if (a->api && b->api && a->api->is_driver != b->api->is_driver)
		return a->api->is_driver ? 1 : -1;
	return 0;
}

static void sort_nodes(struct gpu_node *n, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (compare_nodes(&n[i - 1], &n[i]) > 0) {
			qsort(n, cnt, sizeof(*n), compare_nodes);
			return;
		}
}

static struct gpu_hook *hook_at(const struct gpu_queue *q, size_t at)
{
	return (struct gpu_hook *)(q->at + at);
}

static bool room_for_nodes(struct gpu_arena *g, size_t cnt)
{
	struct gpu_node *more;

	if (cnt <= g->match.node_cap)
		return true;
	more = realloc(g->match.node, cnt * 2 * sizeof(*more));
	if (!more)
		return false;
	g->match.node = more;
	g->match.node_cap = cnt * 2;
	return true;
}

/* The hooks of runtime and driver that wait. */
static size_t take_hooks(struct gpu_arena *g, struct gpu_thread *th)
{
	const struct gpu_queue *q = &th->hooks;
	size_t cnt = 0;

	for (size_t at = q->begin; at < q->len; at += hook_at(q, at)->bytes) {
		struct gpu_hook *h = hook_at(q, at);

		if (h->is_done || !is_cuda(h))
			continue;
		if (!room_for_nodes(g, cnt + 1))
			break;
		g->match.node[cnt++] =
			(struct gpu_node){.hook = h,
					  .start = h->start,
					  .end = h->end,
					  .canon = gpu_function(h->function)->canon,
					  .is_closed = at < th->open_at || !h->level};
	}
	sort_nodes(g->match.node, cnt);
	return cnt;
}

static int64_t overlap(const struct gpu_node *n, const struct gpu_api *api)
{
	int64_t end = n->hook->end < api->end ? n->hook->end : api->end;

	return end - (n->hook->start > api->start ? n->hook->start : api->start);
}

/*
 * The hook's record of the same call: of that name, and around CUPTI's times. Of several short calls in a row it is the
 * first unmatched one that overlaps at all, else the nearest.
 */
static struct gpu_node *find_hook(struct gpu_node *from, struct gpu_node *end,
				  const struct gpu_api *api, uint32_t canon)
{
	struct gpu_node *best = NULL;
	int64_t most = -GPU_CLOCK_NS;

	for (struct gpu_node *n = from; n < end && n->hook->start <= api->start + GPU_CLOCK_NS;
	     n++) {
		if (n->api || n->canon != canon || n->hook->end + GPU_CLOCK_NS < api->end)
			continue;
		if (overlap(n, api) > 0)
			return n;
		if (overlap(n, api) > most) {
			most = overlap(n, api);
			best = n;
		}
	}
	return best;
}

static int compare_apis(const void *x, const void *y)
{
	const struct gpu_api *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

/* Adds CUPTI's records to the hooks' nodes, or as nodes of their own. Returns the number of nodes. */
static size_t take_apis(const struct gpu_look *look, struct gpu_thread *th, size_t hooks)
{
	struct gpu_arena *g = look->arena->family.gpu;
	size_t cnt = hooks, from = 0;

	if (!room_for_nodes(g, hooks + th->api_cnt))
		return cnt;
	qsort(th->api, th->api_cnt, sizeof(*th->api), compare_apis);
	for (size_t i = 0; i < th->api_cnt; i++) {
		struct gpu_api *api = &th->api[i];
		uint32_t canon = gpu_canon_string(look->arena, api->name);
		struct gpu_node *n;

		while (from < hooks && g->match.node[from].hook->end + GPU_CLOCK_NS < api->start)
			from++;
		n = canon ? find_hook(g->match.node + from, g->match.node + hooks, api, canon)
			  : NULL;
		if (n) {
			n->api = api;
			n->start = api->start;
			n->end = api->end;
		} else {
			g->match.node[cnt++] = (struct gpu_node){.api = api,
								 .start = api->start,
								 .end = api->end,
								 .canon = canon,
								 .is_closed = true};
		}
	}
	sort_nodes(g->match.node, cnt);
	return cnt;
}

static bool span_holds(int64_t start, int64_t end, int64_t inner_start, int64_t inner_end)
{
	return start <= inner_start && inner_end <= end;
}

/* Whether @b is nested in @a. */
static bool node_holds(const struct gpu_node *a, const struct gpu_node *b)
{
	int64_t middle = b->start + (b->end - b->start) / 2;

	if (a->hook && b->hook)
		return a->hook->level < b->hook->level &&
		       span_holds(a->hook->start, a->hook->end, b->hook->start, b->hook->end);
	if (a->api && b->api)
		return span_holds(a->api->start, a->api->end, b->api->start, b->api->end);
	return b->end - b->start <= a->end - a->start + 2 * GPU_CLOCK_NS && a->start <= middle &&
	       middle <= a->end;
}

/* Gives each node the outermost one around it. */
static void find_outer(struct gpu_node *node, size_t cnt)
{
	struct gpu_node *outer = NULL;

	for (struct gpu_node *n = node; n < node + cnt; n++) {
		if (outer && node_holds(outer, n)) {
			n->outer = outer;
		} else if (outer && node_holds(n, outer)) {
			/* The clocks' difference sorted it after its callee. */
			for (struct gpu_node *m = outer; m < n; m++)
				if (m == outer || m->outer == outer)
					m->outer = n;
			outer = n;
		} else {
			outer = n;
		}
	}
}

/* Whether no record is missing that could concern this call, or the one around it. */
static bool is_ready(const struct gpu_look *look, const struct gpu_node *n)
{
	const struct gpu_process *p = look->process;
	bool is_driver = n->hook ? gpu_function(n->hook->function)->library == SL_GPU_cuda
				 : n->api->is_driver;
	int64_t end = n->hook && n->hook->end > n->end ? n->hook->end : n->end;

	if (look->all || end + look->wait <= look->now)
		return true;
	if (!n->is_closed)
		return false;
	switch (p->cupti) {
	case GPU_CUPTI_UNKNOWN:
		return p->time.first + GPU_GRACE_NS <= look->now;
	case GPU_CUPTI_OFF:
		return true;
	case GPU_CUPTI_ON:
		break;
	}
	if (!n->hook && end + GPU_SLACK_NS / 100 > look->read_to)
		return false;
	if (n->api && !gpu_canon_string(look->arena, n->api->name))
		return false;
	if (is_driver)
		return end + GPU_SLACK_NS <= p->reached.until;
	/* A nested call may be reported much later, in another buffer: then it would get a row of its own. */
	return end + GPU_CLOCK_NS <= p->reached.until || (n->api && !look->as->gpu.flush_ns);
}

static void finish_node(struct gpu_node *n)
{
	n->is_done = true;
	if (n->hook)
		n->hook->is_done = true;
	if (n->api)
		n->api->is_done = true;
}

/*
 * Known from CUPTI alone, and no call of the program: queries; cuInit() by a runtime, on whose first call CUPTI is enabled,
 * so that the record of that call is missing.
 */
static bool is_internal(const char *name)
{
	return gpu_is_skipped(name) || strcmp(name, "cuInit") == 0;
}

static void write_cuda(const struct gpu_look *look, struct gpu_thread *th, size_t cnt)
{
	struct gpu_node *node = look->arena->family.gpu->match.node;

	for (struct gpu_node *n = node; n < node + cnt; n++) {
		const char *name = n->hook ? NULL : string_find(look->arena, n->api->name);

		if (n->outer || !is_ready(look, n))
			continue;
		if (!name || !is_internal(name))
			n->id = gpu_write_call(look->as, look->arena, look->process, th, n->hook,
					       n->api);
		else
			gpu_remember(look->process, th,
				     &(struct gpu_written){.start = n->start,
							   .end = n->end,
							   .is_reported = true});
		finish_node(n);
	}
	for (struct gpu_node *n = node; n < node + cnt; n++) {
		const struct gpu_node *outer = n->outer;

		while (outer && outer->outer)
			outer = outer->outer;
		if (!outer || !outer->is_done)
			continue;
		if (n->api && outer->id &&
		    !(outer->api && outer->api->correlation == n->api->correlation))
			gpu_alias_add(look->process, n->api->correlation, outer->id);
		finish_node(n);
	}
}

/* By how much @api exceeds the call: the records are of two clocks. */
static int64_t beyond(const struct gpu_written *w, const struct gpu_api *api)
{
	int64_t before = w->start - api->start, behind = api->end - w->end;

	return (before > 0 ? before : 0) + (behind > 0 ? behind : 0);
}

/* CUPTI has not reported it, and @api may be its record. */
static bool may_be(const struct gpu_written *w, const struct gpu_api *api, uint32_t canon)
{
	return !w->is_reported && w->canon == canon &&
	       span_holds(w->start - GPU_CLOCK_NS, w->end + GPU_CLOCK_NS, api->start, api->end);
}

bool gpu_is_written(struct gpu_process *p, struct gpu_thread *th, const struct gpu_api *api,
		    uint32_t canon)
{
	uint32_t cnt = th->written_cnt < GPU_WRITTEN ? th->written_cnt : GPU_WRITTEN;
	struct gpu_written *best = NULL;

	for (uint32_t i = 1; i <= cnt; i++) {
		struct gpu_written *w = &th->written[(th->written_cnt - i) % GPU_WRITTEN];

		if (w->end + GPU_CLOCK_NS < api->start)
			break; /* calls written before are older still */
		if ((may_be(w, api, canon) || span_holds(w->start, w->end, api->start, api->end)) &&
		    (!best || beyond(w, api) < beyond(best, api)))
			best = w;
	}
	if (!best)
		return false;
	if (may_be(best, api, canon)) {
		best->is_reported = true;
		gpu_log_reported(p, th, best);
	}
	if (best->id)
		gpu_alias_add(p, api->correlation, best->id);
	return true;
}

/* ---- libraries ---- */

enum family {
	FAMILY_CUBLAS,
	FAMILY_CUDNN,
	FAMILY_OTHER
};

static enum family family_of(const struct gpu_hook *h)
{
	switch (gpu_function(h->function)->library) {
	case SL_GPU_cublas:
	case SL_GPU_cublaslt:
		return FAMILY_CUBLAS;
	case SL_GPU_cudnn:
		return FAMILY_CUDNN;
	default:
		return FAMILY_OTHER;
	}
}

/*
 * Calls of other libraries, which have hooks alone. The queue is in the order of their returns, so a call comes after
 * those nested in it.
 */
static void write_libraries(const struct gpu_look *look, struct gpu_thread *th)
{
	const struct gpu_queue *q = &th->hooks;

	for (size_t at = q->begin; at < q->len; at += hook_at(q, at)->bytes) {
		struct gpu_hook *h = hook_at(q, at);
		bool is_closed = at < th->open_at || !h->level;
		unsigned nesting = 0, looked = 0;
		bool is_inner = false;

		if (h->is_done || is_cuda(h) ||
		    (!is_closed && !look->all && h->end + look->wait > look->now))
			continue;
		for (size_t next = at + h->bytes;
		     h->level && next < q->len && looked++ < LOOK_AHEAD;
		     next += hook_at(q, next)->bytes) {
			const struct gpu_hook *o = hook_at(q, next);

			if (o->start <= h->start && o->level < h->level && !is_cuda(o)) {
				nesting++;
				is_inner |= family_of(o) == family_of(h);
			}
			if (!o->level)
				break;
		}
		h->is_done = true;
		if (!is_inner || family_of(h) == FAMILY_OTHER)
			gpu_write_library(look->as, look->arena, look->process, th, h, nesting);
	}
}

/* ---- the queues ---- */

/* Removes finished calls; waiting calls stay in order. */
static void clean_hooks(struct gpu_arena *g, struct gpu_thread *th)
{
	struct gpu_queue *q = &th->hooks;
	size_t to = 0, open_at = 0;

	th->oldest = INT64_MAX;
	for (size_t at = q->begin, bytes; at < q->len; at += bytes) {
		struct gpu_hook *h = hook_at(q, at);

		bytes = h->bytes;
		if (at < th->open_at)
			open_at = to;
		if (h->is_done) {
			gpu_waits_no_more(g, h->logged, bytes);
			continue;
		}
		if (h->end < th->oldest)
			th->oldest = h->end;
		memmove(q->at + to, h, bytes);
		to += bytes;
		if (at < th->open_at)
			open_at = to;
	}
	th->open_at = open_at;
	q->begin = 0;
	q->len = to;
}

static void clean_apis(struct gpu_arena *g, struct gpu_thread *th)
{
	size_t to = 0;

	for (size_t i = 0; i < th->api_cnt; i++) {
		if (th->api[i].is_done) {
			gpu_waits_no_more(g, th->api[i].logged, sizeof(th->api[i]));
			continue;
		}
		if (th->api[i].end < th->oldest)
			th->oldest = th->api[i].end;
		th->api[to++] = th->api[i];
	}
	th->api_cnt = to;
}

void gpu_match(const struct gpu_look *look, struct gpu_thread *th)
{
	struct gpu_arena *g = look->arena->family.gpu;
	size_t cnt = take_hooks(g, th);

	if (th->api_cnt)
		cnt = take_apis(look, th, cnt);
	find_outer(g->match.node, cnt);
	write_cuda(look, th, cnt);
	write_libraries(look, th);
	clean_hooks(g, th);
	clean_apis(g, th);
}
