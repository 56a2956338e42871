/*
 * gpu.c - decides each tick which records have waited long enough, and has their rows written.
 *
 * Records wait where CUPTI is on: until it reports that everything that ended before some time has been handed over
 * (SL_GPU_REC_FLUSHED) and the rings have been read up to that record; else for twice the flush interval and a second;
 * or until the process ends. The bytes that wait are bounded: beyond, rows are written as they are, and the report has a
 * warning.
 */
#include "collector/decode/gpu/gpu_internal.h"
#include "collector/base/grow.h"
#include "collector/model/ring_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS    1000000000ll
#define LOOK_NS      250000000ll /* between two checks for records that have waited too long */
#define THREAD_NS    (60 * SECOND_NS)
#define QUEUE_KEEP   (1u << 20)
#define SOURCE_SHIM  1
#define SEVERITY_WRN 2

/* Frees the memory of a burst. */
static void queue_shrink(struct gpu_queue *q)
{
	if (q->len || q->cap <= QUEUE_KEEP)
		return;
	free(q->at);
	memset(q, 0, sizeof(*q));
}

/* ---- the end of threads and processes ---- */

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
	live_calls_end(&as->model->live, &p->calls.live);
	for (unsigned i = 0; i < GPU_THREADS; i++)
		while (p->threads.at[i]) {
			struct gpu_thread *th = p->threads.at[i];

			p->threads.at[i] = th->next;
			thread_free(g, th);
		}
	gpu_alias_release(p);
	gpu_captured_release(p);
	gpu_streams_release(p);
	db_map_free(&p->tables.comms);
	free(p->work.at);
	free(p->lent.event);
	free(p->lent.call);
	gpu_lent_graphs_release(p);
	free(p);
}

/* ---- waiting records ---- */

static int64_t wait_ns(const struct arenas *as)
{
	return as->gpu.flush_ns ? 2 * as->gpu.flush_ns + SECOND_NS : GPU_FOREVER_NS;
}

static bool thread_waits(const struct gpu_thread *th)
{
	return th->hooks.len || th->api_cnt;
}

static bool is_captured(const struct gpu_look *look, unsigned kind, const void *payload)
{
	uint32_t correlation;

	return !gpu_work_is_launched(kind, payload, &correlation) ||
	       gpu_captured(look->as, look->process,
			    gpu_session_ns(look->as, *(const uint64_t *)payload), correlation);
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
		if (is_late || ((w->end == INT64_MIN || w->end + GPU_SLACK_NS <= p->time.horizon) &&
				gpu_work_is_named(look->arena, w->kind, payload))) {
			if (is_captured(look, w->kind, payload))
				gpu_work_write(look->as, look->arena, p, w->kind, payload);
			gpu_waits_no_more(look->arena->family.gpu, w->logged, bytes);
			continue;
		}
		memmove(q->at + to, w, bytes);
		to += bytes;
	}
	q->len = to;
	queue_shrink(q);
}

/* True when the thread has made no call for so long that it can be freed. */
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

	p->time.looked_at = look->now;
	for (unsigned i = 0; i < GPU_THREADS; i++) {
		struct gpu_thread **at = &p->threads.at[i];

		while (*at) {
			struct gpu_thread *th = *at;

			if (!look_at_thread(look, th)) {
				at = &th->next;
				continue;
			}
			*at = th->next;
			if (p->threads.last == th)
				p->threads.last = NULL;
			thread_free(look->arena->family.gpu, th);
		}
	}
	p->time.horizon = p->reached.until < look->read_to ? p->reached.until : look->read_to;
	if ((p->lent.cnt || p->lent.graphs.call_cnt) && p->time.horizon != INT64_MIN)
		gpu_lent_settle(look->as, p, look->read_to, p->time.horizon - GPU_SLACK_NS);
	if (p->work.len)
		write_work(look);
	if (p->reached.until != INT64_MIN)
		gpu_work_reported(look->as, p);
}

/* A watermark of CUPTI holds once everything handed over before it has been read. True: it does now. */
static bool take_watermark(struct gpu_process *p, uint64_t read_to)
{
	if (p->reached.next_until == INT64_MIN || p->reached.next_tick > read_to)
		return false;
	if (p->reached.next_until > p->reached.until)
		p->reached.until = p->reached.next_until;
	p->reached.next_until = p->reached.last_until;
	p->reached.next_tick = p->reached.last_tick;
	p->reached.last_until = INT64_MIN;
	return true;
}

static bool is_due(const struct gpu_look *look)
{
	const struct gpu_process *p = look->process;

	return look->all || look->is_news || p->cupti == GPU_CUPTI_OFF ||
	       p->time.looked_at + LOOK_NS <= look->now;
}

/* The process was killed, or called _exit(): records that CUPTI had not delivered are lost. */
static void note_missing(struct arenas *as, struct gpu_process *p)
{
	char text[200];

	if (p->cupti != GPU_CUPTI_ON || p->has_reported_all || p->is_missing_noted ||
	    p->calls.last <= p->reached.until || p->calls.last <= p->reached.next_until ||
	    p->calls.last <= p->reached.last_until)
		return;
	p->is_missing_noted = true;
	snprintf(text, sizeof(text),
		 "Process %u ended before CUPTI had handed everything over: the GPU's work of its "
		 "last moments is missing",
		 p->id.pid);
	db_diagnostic(as->db, p->calls.last, SOURCE_SHIM, SEVERITY_WRN, text, p->id.global_pid);
}

void gpu_settle(struct arenas *as, struct arena *a, bool all)
{
	struct gpu_arena *g = a->family.gpu;
	struct gpu_process **at;
	struct gpu_look look = {.as = as, .arena = a, .wait = wait_ns(as)};
	uint64_t read_to;

	if (!g)
		return;
	read_to = ring_read_to(a);
	if (read_to > as->clock->newest)
		read_to = as->clock->newest;
	look.read_to = clock_map_ns(as->clock, read_to);
	/* A wait is for records that have not been written, not for those that this round has not read yet. */
	look.now = look.read_to;
	for (at = &g->first; *at;) {
		struct gpu_process *p = *at;
		bool over = all || gpu_is_over(a, p);

		look.process = p;
		look.is_news = take_watermark(p, read_to);
		if (p->cupti == GPU_CUPTI_UNKNOWN && p->time.first + GPU_GRACE_NS <= look.now) {
			p->cupti = GPU_CUPTI_OFF;
			look.is_news = true;
		}
		look.all = over || p->time.is_hurried;
		p->time.is_hurried = false;
		if (is_due(&look))
			look_at_process(&look);
		if (over) {
			note_missing(as, p);
			gpu_lent_settle(as, p, INT64_MAX, INT64_MAX);
		}
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

void gpu_release(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->family.gpu;

	if (!g)
		return;
	while (g->first) {
		struct gpu_process *p = g->first;

		g->first = p->next;
		process_free(as, g, p);
	}
	gpu_pending_release(as, a);
	free_pages(&g->name, &g->names);
	free(g->function_id);
	free(g->match.node);
	free(g);
	a->family.gpu = NULL;
}

static void gpu_rows_lost(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->family.gpu;
	char what[64];

	if (!g || !g->txn.rows)
		return;
	snprintf(what, sizeof(what), "GPU rows: %s", as->lost.why);
	db_lost(as->db, g->txn.first_ns, g->txn.last_ns, GLOBAL_PID(a->peer.pid), what,
		(int64_t)g->txn.rows);
	as->lost.disk += g->txn.rows;
	g->txn.rows = 0;
}

static void gpu_rows_safe(struct arena *a)
{
	if (a->family.gpu)
		a->family.gpu->txn.rows = 0;
}

static void record(struct arenas *as, struct thread *t, const struct call *c)
{
	if (c->shape == SL_SHAPE_GPU)
		gpu_record(as, t, c);
	else if (windows_have(as->report.windows, c->start))
		gpu_call(as, t, c);
}

static void release(struct arenas *as, struct arena *a)
{
	gpu_settle(as, a, true);
	gpu_release(as, a);
}

const struct record_family gpu_records = {
	.record = record,
	.settle = gpu_settle,
	.save = gpu_save,
	.restore = gpu_restore,
	.committed = gpu_rows_safe,
	.lost = gpu_rows_lost,
	.rotate = gpu_shift,
	.release = release,
};
