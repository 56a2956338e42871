/*
 * gpu.c - see gpu.h. Records come in here and wait here; who is waited for, and until when.
 *
 * A process is waited for only where CUPTI speaks: until it says that all that ended before some time has been told
 * (SL_GPU_REC_FLUSHED) and the rings have been read up to where it said so; else twice the time in which it has to,
 * and a second; or the process's end. What waits is bounded, in bytes: beyond, rows are written as they are known,
 * and the report says so.
 */
#include "collector/gpu_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/pidns.h"
#include "collector/stacks.h"
#include "collector/strings.h"

#define SECOND_NS    1000000000ll
#define LOOK_NS      250000000ll /* between two looks for what has waited too long */
#define THREAD_NS    (60 * SECOND_NS)
#define QUEUE_KEEP   (1u << 20)
#define SOURCE_SHIM  1
#define SEVERITY_INF 1
#define SEVERITY_WRN 2

static const char loss_dropped[] = "GPU records: dropped by CUPTI, its buffers were full";
static const char loss_disk[] = "GPU rows: disk full";

void *gpu_queue_add(struct gpu_queue *q, size_t bytes)
{
	char *more;

	if (q->len + bytes > q->cap) {
		size_t cap = q->cap ? q->cap : 4096;

		while (cap < q->len + bytes)
			cap *= 2;
		more = realloc(q->at, cap);
		if (!more)
			return NULL;
		q->at = more;
		q->cap = cap;
	}
	more = q->at + q->len;
	q->len += bytes;
	return more;
}

/* A burst's memory is not kept for ever. */
static void queue_shrink(struct gpu_queue *q)
{
	if (q->len || q->cap <= QUEUE_KEEP)
		return;
	free(q->at);
	memset(q, 0, sizeof(*q));
}

int64_t gpu_session_ns(const struct arenas *as, uint64_t mono)
{
	return mono ? (int64_t)mono - as->clock->zero : 0;
}

static void waits(struct gpu_arena *g, size_t bytes)
{
	g->pending += bytes;
	g->waiting++;
	g->fresh++;
}

void gpu_waits_no_more(struct gpu_arena *g, const struct gpu_saved *s, size_t bytes)
{
	g->pending -= bytes;
	g->waiting--;
	gpu_saved_done(g, s);
}

void gpu_count_row(struct gpu_arena *g, int64_t start, int64_t end)
{
	if (!g->rows++)
		g->first_ns = start;
	g->last_ns = end;
}

/* ---- who ---- */

static struct gpu_arena *gpu_of(struct arena *a)
{
	if (!a->gpu)
		a->gpu = calloc(1, sizeof(*a->gpu));
	return a->gpu;
}

struct gpu_process *gpu_process(struct arena *a, uint32_t number, uint32_t pid, int64_t now)
{
	struct gpu_arena *g = gpu_of(a);
	struct gpu_process *p;

	if (!g)
		return NULL;
	if (g->last && g->last->number == number)
		return g->last;
	for (p = g->first; p && p->number != number; p = p->next)
		;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->arena = g;
		p->number = number;
		p->pid = pid;
		p->global_pid = GLOBAL_PID(pid);
		p->first_ns = now;
		p->until = p->next_until = p->last_until = p->horizon = p->last_call = INT64_MIN;
		p->cupti_block = p->hook_block = -1;
		p->next = g->first;
		g->first = p;
	}
	g->last = p;
	return p;
}

static struct gpu_thread *thread_of(struct gpu_process *p, uint32_t ns_tid, int64_t global_tid)
{
	struct gpu_thread **list = &p->thread[ns_tid % GPU_THREADS], *th = p->last_thread;

	if (th && th->ns_tid == ns_tid)
		return th;
	for (th = *list; th && th->ns_tid != ns_tid; th = th->next)
		;
	if (!th) {
		th = calloc(1, sizeof(*th));
		if (!th)
			return NULL;
		th->ns_tid = ns_tid;
		th->global_tid = global_tid;
		th->oldest = INT64_MAX;
		th->next = *list;
		*list = th;
	}
	/* Ids of threads are used again. */
	if (global_tid)
		th->global_tid = global_tid;
	p->last_thread = th;
	return th;
}

static void thread_free(struct gpu_arena *g, struct gpu_thread *th)
{
	g->pending -= th->hooks.len - th->hooks.begin + th->api_cnt * sizeof(*th->api);
	free(th->hooks.at);
	free(th->api);
	free(th->written);
	free(th);
}

static void process_free(struct arenas *as, struct gpu_arena *g, struct gpu_process *p)
{
	live_calls_end(&as->model->live, &p->live);
	for (unsigned i = 0; i < GPU_THREADS; i++)
		while (p->thread[i]) {
			struct gpu_thread *th = p->thread[i];

			p->thread[i] = th->next;
			thread_free(g, th);
		}
	gpu_alias_release(p);
	free(p->work.at);
	free(p);
}

/* ---- looking at what waits ---- */

static int64_t newest_ns(struct arenas *as)
{
	return clock_map_ns(as->clock, as->clock->newest);
}

static int64_t wait_ns(const struct arenas *as)
{
	return as->gpu.flush_ns ? 2 * as->gpu.flush_ns + SECOND_NS : GPU_FOREVER_NS;
}

static bool thread_waits(const struct gpu_thread *th)
{
	return th->hooks.len || th->api_cnt;
}

static void write_work(const struct gpu_look *look)
{
	struct gpu_process *p = look->process;
	struct gpu_queue *q = &p->work;
	size_t to = 0;

	for (size_t at = 0, bytes; at < q->len; at += bytes) {
		struct gpu_work *w = (struct gpu_work *)(q->at + at);
		const void *payload = w + 1;
		bool is_late = look->all || w->arrived + look->wait <= look->now;

		bytes = w->bytes;
		if (is_late || ((w->end == INT64_MIN || w->end + GPU_SLACK_NS <= p->horizon) &&
				gpu_work_is_named(look->arena, w->kind, payload))) {
			gpu_work_write(look->as, look->arena, p, w->kind, payload);
			gpu_waits_no_more(look->arena->gpu, &w->saved, bytes);
			continue;
		}
		memmove(q->at + to, w, bytes);
		to += bytes;
	}
	q->len = to;
	queue_shrink(q);
}

/* True when the thread has been silent for so long that it can be forgotten. */
static bool look_at_thread(const struct gpu_look *look, struct gpu_thread *th)
{
	bool is_late = th->oldest != INT64_MAX && th->oldest + look->wait <= look->now;

	if (thread_waits(th) && (look->all || look->is_news || is_late ||
				 (th->is_changed && look->process->cupti != GPU_CUPTI_ON))) {
		th->is_changed = false;
		gpu_match(look, th);
		queue_shrink(&th->hooks);
	}
	return !thread_waits(th) && th->used_at + THREAD_NS < look->now;
}

static void look_at_process(struct gpu_look *look)
{
	struct gpu_process *p = look->process;

	p->looked_at = look->now;
	for (unsigned i = 0; i < GPU_THREADS; i++) {
		struct gpu_thread **at = &p->thread[i];

		while (*at) {
			struct gpu_thread *th = *at;

			if (!look_at_thread(look, th)) {
				at = &th->next;
				continue;
			}
			*at = th->next;
			if (p->last_thread == th)
				p->last_thread = NULL;
			thread_free(look->arena->gpu, th);
		}
	}
	p->horizon = p->until < look->read_to ? p->until : look->read_to;
	if (p->work.len)
		write_work(look);
	if (p->until != INT64_MIN)
		gpu_work_told(look->as, p);
}

/* CUPTI's word holds once everything that was handed over before it has been read. True: it does now. */
static bool take_watermark(struct gpu_process *p, uint64_t read_to)
{
	if (p->next_until == INT64_MIN || p->next_tick > read_to)
		return false;
	if (p->next_until > p->until)
		p->until = p->next_until;
	p->next_until = p->last_until;
	p->next_tick = p->last_tick;
	p->last_until = INT64_MIN;
	return true;
}

static bool is_due(const struct gpu_look *look)
{
	const struct gpu_process *p = look->process;

	return look->all || look->is_news || p->cupti == GPU_CUPTI_OFF ||
	       p->looked_at + LOOK_NS <= look->now;
}

/* Killed, or left by _exit: what CUPTI still had is gone with the process. */
static void note_missing(struct arenas *as, struct gpu_process *p)
{
	char text[200];

	if (p->cupti != GPU_CUPTI_ON || p->is_told_all || p->is_said_missing ||
	    p->last_call <= p->until || p->last_call <= p->next_until ||
	    p->last_call <= p->last_until)
		return;
	p->is_said_missing = true;
	snprintf(text, sizeof(text),
		 "Process %u ended before CUPTI had handed everything over: the GPU's work of its "
		 "last moments is missing",
		 p->pid);
	db_diagnostic(as->db, p->last_call, SOURCE_SHIM, SEVERITY_WRN, text, p->global_pid);
}

void gpu_settle(struct arenas *as, struct arena *a, bool all)
{
	struct gpu_arena *g = a->gpu;
	struct gpu_process **at;
	struct gpu_look look = {.as = as, .arena = a, .wait = wait_ns(as)};
	uint64_t read_to;

	if (!g)
		return;
	look.now = newest_ns(as);
	read_to = drain_read_to(a);
	if (read_to > as->clock->newest)
		read_to = as->clock->newest;
	look.read_to = clock_map_ns(as->clock, read_to);
	for (at = &g->first; *at;) {
		struct gpu_process *p = *at;
		bool over = all || gpu_is_over(a, p);

		look.process = p;
		look.is_news = take_watermark(p, read_to);
		if (p->cupti == GPU_CUPTI_UNKNOWN && p->first_ns + GPU_GRACE_NS <= look.now) {
			p->cupti = GPU_CUPTI_OFF;
			look.is_news = true;
		}
		look.all = over || p->is_hurried;
		p->is_hurried = false;
		if (is_due(&look))
			look_at_process(&look);
		if (over)
			note_missing(as, p);
		if (!over || all) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		if (g->last == p)
			g->last = NULL;
		process_free(as, g, p);
	}
}

/* So much waits that something has to give: everything is written at the next look. */
static void hurry(struct arenas *as, const struct gpu_process *p)
{
	if (p->arena->pending <= GPU_PENDING || p->is_hurried)
		return;
	as->gpu.hurried += p->arena->waiting;
	for (struct gpu_process *q = p->arena->first; q; q = q->next)
		q->is_hurried = true;
}

void gpu_release(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->gpu;

	if (!g)
		return;
	while (g->first) {
		struct gpu_process *p = g->first;

		g->first = p->next;
		process_free(as, g, p);
	}
	gpu_state_release(as, a);
	free(g->name);
	free(g->function_id);
	free(g->node);
	free(g);
	a->gpu = NULL;
}

void gpu_rows_lost(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->gpu;

	if (!g || !g->rows)
		return;
	db_lost(as->db, g->first_ns, g->last_ns, GLOBAL_PID(a->peer_pid), loss_disk,
		(int64_t)g->rows);
	as->lost_disk += g->rows;
	g->rows = 0;
}

void gpu_rows_safe(struct arena *a)
{
	if (a->gpu)
		a->gpu->rows = 0;
}

/* ---- records ---- */

static bool keep_hook(struct gpu_process *p, struct gpu_thread *th, const struct gpu_hook *h)
{
	struct gpu_hook *mine = gpu_queue_add(&th->hooks, h->bytes);

	if (!mine)
		return false;
	memcpy(mine, h, h->bytes);
	waits(p->arena, h->bytes);
	th->is_changed = true;
	if (h->end < th->oldest)
		th->oldest = h->end;
	if (!h->level)
		th->open_at = th->hooks.len;
	return true;
}

static void add_hook(struct arenas *as, struct arena *a, struct gpu_process *p,
		     struct gpu_thread *th, const struct gpu_hook *h)
{
	const struct gpu_look look = {.as = as,
				      .arena = a,
				      .process = p,
				      .now = h->end,
				      .wait = INT64_MAX / 4,
				      .read_to = h->end};

	if (!keep_hook(p, th, h)) {
		db_lost(as->db, h->start, h->end, th->global_tid, "GPU calls: no memory", 1);
		return;
	}
	if (h->level)
		return;
	/* The only one that waits, and nobody else has a word in it: most calls, where there is no CUPTI. */
	if (th->hooks.len == h->bytes && !th->api_cnt &&
	    (p->cupti == GPU_CUPTI_OFF || gpu_function(h->function)->library > SL_GPU_cuda))
		gpu_match(&look, th);
}

void gpu_call(struct arenas *as, struct thread *t, const struct call *c)
{
	struct {
		struct gpu_hook h;
		uint64_t words[SL_GPU_ARGS];
	} copy = {.h = {.function = c->hook, .level = c->level}};
	uint64_t first = c->payload[0];
	unsigned words = (unsigned)(first >> 32 & 0xff);
	struct arena *a = t->image->arena;
	struct gpu_process *p;
	struct gpu_thread *th;

	if (c->hook >= SL_GPU_FUNCTION_CNT || words > SL_GPU_ARGS || words + 1 > c->payload_words) {
		as->corrupt++;
		return;
	}
	copy.h.start = clock_map_ns(as->clock, c->start);
	copy.h.end = c->end == c->start ? copy.h.start : clock_map_ns(as->clock, c->end);
	copy.h.stack = stacks_take(as, t, c->start);
	copy.h.result = (int32_t)(uint32_t)first;
	copy.h.words = (uint8_t)words;
	copy.h.bytes = (uint32_t)(sizeof(copy.h) + words * 8);
	memcpy(copy.h.word, c->payload + 1, words * 8);
	p = gpu_process(a, t->image->number, t->image->proc->pid, copy.h.start);
	th = p ? thread_of(p, t->ns_tid, t->global_tid) : NULL;
	if (!th) {
		db_lost(as->db, copy.h.start, copy.h.end, t->global_tid, "GPU calls: no memory", 1);
		return;
	}
	th->used_at = copy.h.end;
	if (copy.h.end > p->last_call)
		p->last_call = copy.h.end;
	add_hook(as, a, p, th, &copy.h);
	hurry(as, p);
}

static bool keep_api(struct gpu_process *p, struct gpu_thread *th, const struct gpu_api *api)
{
	if (th->api_cnt == th->api_cap) {
		size_t cap = th->api_cap ? th->api_cap * 2 : 64;
		struct gpu_api *more = realloc(th->api, cap * sizeof(*more));

		if (!more)
			return false;
		th->api = more;
		th->api_cap = cap;
	}
	th->api[th->api_cnt++] = *api;
	th->is_changed = true;
	th->used_at = api->end;
	if (api->end < th->oldest)
		th->oldest = api->end;
	waits(p->arena, sizeof(*api));
	return true;
}

static void add_api(struct arenas *as, struct arena *a, struct gpu_process *p,
		    const struct sl_gpu_api *r)
{
	struct gpu_api api = {.start = gpu_session_ns(as, r->start),
			      .end = gpu_session_ns(as, r->end),
			      .correlation = r->correlation,
			      .name = r->name,
			      .result = r->result,
			      .is_driver = r->is_driver != 0};
	struct gpu_thread *th;

	if (!windows_have_ns(as->windows, as->clock->zero, api.start))
		return;
	th = thread_of(p, r->thread, 0);
	if (th && !th->global_tid) {
		uint32_t tid = a->is_foreign ? pidns_thread(p->pid, r->thread) : r->thread;

		th->global_tid = GLOBAL_TID(p->pid, tid ? tid : r->thread);
	}
	if (th && gpu_is_written(p, th, &api, gpu_canon_string(a, r->name)))
		return;
	if (!th || !keep_api(p, th, &api))
		db_lost(as->db, api.start, api.end, p->global_pid, "GPU calls: no memory", 1);
}

static void flushed(struct arenas *as, struct gpu_process *p, const struct sl_gpu_flushed *f,
		    uint64_t tick)
{
	int64_t until = gpu_session_ns(as, f->until), before = p->until;

	p->is_told_all |= f->is_last != 0;

	if (f->dropped) {
		db_lost(as->db, before == INT64_MIN ? p->first_ns : before, until, p->global_pid,
			loss_dropped, (int64_t)f->dropped);
		as->gpu.dropped += f->dropped;
	}
	if (p->next_until == INT64_MIN) {
		p->next_until = until;
		p->next_tick = tick;
	} else {
		p->last_until = until;
		p->last_tick = tick;
	}
}

/* To the user, who need not read from each of many processes that there is no CUPTI. */
static void warn(struct arenas *as, const char *line)
{
	struct gpu_report *r = &as->gpu;
	const uint32_t cnt = sizeof(r->said) / sizeof(r->said[0]);
	uint32_t hash = gpu_canon(line);

	for (uint32_t i = 0; i < r->said_cnt && i < cnt; i++)
		if (r->said[i] == hash)
			return;
	r->said[r->said_cnt++ % cnt] = hash;
	if (r->warn)
		r->warn(r->warn_to, line);
}

static void status(struct arenas *as, struct arena *a, struct gpu_process *p,
		   const struct sl_gpu_status *s, int64_t ns)
{
	const char *text = string_find(a, s->text);
	char line[1100];

	if (s->code == SL_GPU_STATUS_ON)
		p->cupti = GPU_CUPTI_ON;
	else if (s->code != SL_GPU_STATUS_KIND_FAILED && s->code != SL_GPU_STATUS_OTHER)
		p->cupti = GPU_CUPTI_OFF;
	if (!text)
		text = s->code == SL_GPU_STATUS_ON ? "CUPTI is on"
						   : "CUPTI: no record of the GPU's work";
	snprintf(line, sizeof(line), s->detail ? "%s (CUPTI's error %u)" : "%s", text, s->detail);
	db_diagnostic(as->db, ns, SOURCE_SHIM,
		      s->code == SL_GPU_STATUS_ON ? SEVERITY_INF : SEVERITY_WRN, line,
		      p->global_pid);
	if (s->code != SL_GPU_STATUS_ON)
		warn(as, line);
}

/*
 * What the GPU did outlasts the calls that asked for it: all that was over after recording began is kept, for CUPTI
 * tells only of what was asked for while it was on; with the flight recorder it always is, and what began after the
 * report's end is not its. Devices, contexts, graphs are no events.
 */
static bool is_wanted(const struct arenas *as, unsigned kind, const void *payload, int64_t end)
{
	const struct windows *w = as->windows;

	if (kind == SL_GPU_REC_UM)
		end = gpu_session_ns(as, ((const struct sl_gpu_um *)payload)->start);
	if (!w || end == INT64_MIN)
		return true;
	/* When it was or began is the first thing that each of them tells. */
	if (as->follows_files && w->cnt && *(const int64_t *)payload >= w->list[w->cnt - 1].to_mono)
		return false;
	return w->cnt && end + as->clock->zero >= w->list[0].from_mono;
}

static void add_work(struct arenas *as, struct arena *a, struct gpu_process *p, unsigned kind,
		     const void *payload, size_t size, int64_t ns)
{
	struct gpu_work *w;
	int64_t end = gpu_work_end(as, kind, payload);

	if (!is_wanted(as, kind, payload, end))
		return;

	if (end == INT64_MIN && gpu_work_is_named(a, kind, payload)) {
		gpu_work_write(as, a, p, kind, payload);
		return;
	}
	w = gpu_queue_add(&p->work, sizeof(*w) + size);
	if (!w) {
		gpu_work_write(as, a, p, kind, payload);
		return;
	}
	*w = (struct gpu_work){.bytes = (uint32_t)(sizeof(*w) + size),
			       .kind = (uint16_t)kind,
			       .end = end,
			       .arrived = ns};
	memcpy(w + 1, payload, size);
	waits(p->arena, w->bytes);
}

void gpu_record(struct arenas *as, struct thread *t, const struct call *c)
{
	union {
		uint64_t words[40];
		struct sl_gpu_api api;
		struct sl_gpu_flushed flushed;
		struct sl_gpu_status status;
	} r; /* what the program may still change is copied first */
	struct arena *a = t->image->arena;
	size_t size = gpu_work_size(c->hook);
	int64_t ns = clock_map_ns(as->clock, c->start);
	struct gpu_process *p = gpu_process(a, t->image->number, t->image->proc->pid, ns);

	if (!size || size > sizeof(r) || c->payload_words * 8 < size) {
		as->corrupt++;
		return;
	}
	memcpy(&r, c->payload, size);
	if (!p) {
		db_lost(as->db, ns, ns, t->global_tid, "GPU records: no memory", 1);
		return;
	}
	if (c->hook != SL_GPU_REC_STATUS)
		p->cupti = GPU_CUPTI_ON;
	switch (c->hook) {
	case SL_GPU_REC_API:
		add_api(as, a, p, &r.api);
		break;
	case SL_GPU_REC_FLUSHED:
		flushed(as, p, &r.flushed, c->start);
		break;
	case SL_GPU_REC_STATUS:
		status(as, a, p, &r.status, ns);
		break;
	default:
		add_work(as, a, p, c->hook, &r, size, ns);
	}
	hurry(as, p);
}

/* ---- what a previous collector kept ---- */

void gpu_restore_hook(struct arenas *as, struct gpu_process *p, uint32_t ns_tid, int64_t global_tid,
		      const void *record, size_t bytes)
{
	struct {
		struct gpu_hook h;
		uint64_t words[SL_GPU_ARGS];
	} copy;
	struct gpu_thread *th = thread_of(p, ns_tid, global_tid);

	if (bytes > sizeof(copy))
		return;
	memcpy(&copy, record, bytes);
	if (!th || copy.h.bytes != bytes || copy.h.function >= SL_GPU_FUNCTION_CNT ||
	    bytes != sizeof(copy.h) + copy.h.words * 8u) {
		as->corrupt++;
		return;
	}
	copy.h.saved.segment = 0;
	keep_hook(p, th, &copy.h);
}

void gpu_restore_api(struct gpu_process *p, uint32_t ns_tid, int64_t global_tid, const void *record)
{
	struct gpu_thread *th = thread_of(p, ns_tid, global_tid);
	struct gpu_api api;

	memcpy(&api, record, sizeof(api));
	api.saved.segment = 0;
	if (th)
		keep_api(p, th, &api);
}

void gpu_restore_work(struct gpu_process *p, const void *record, size_t bytes)
{
	struct gpu_work *w, head;

	memcpy(&head, record, sizeof(head));
	if (head.bytes != bytes || bytes - sizeof(head) != gpu_work_size(head.kind))
		return;
	w = gpu_queue_add(&p->work, bytes);
	if (!w)
		return;
	memcpy(w, record, bytes);
	w->saved.segment = 0;
	waits(p->arena, bytes);
}
