/*
 * gpu_pending.c - the pending log: the state that recover continues from, in the same transactions
 * as the rows. The rings have given these records up, so they could not be read again.
 *
 * Two streams of chunks in SL_PENDING_GPU, a chunk of each per commit, deleted from the oldest on:
 *   records  new waiting records since the last commit, numbered, and the numbers of records that have their rows
 *            meanwhile. Records that outlast their chunk are appended anew.
 *   facts    about rows of calls that late records refer to: correlation ids that lead to a row, and which call it was.
 * More records than CHUNK_MAX in a commit are not logged but counted, so that recover reports how many are lost.
 * Processes and the totals of the report are notes, "gpu.ARENA" and "gpu" in SL_STATE; "gpu.ARENA.streams" has names of
 * streams (gpu_streams.c).
 */
#include "collector/base/grow.h"
#include "collector/decode/gpu/gpu_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MAX   (4u << 20)
#define RECORDS_MAX (1u << 20) /* of the log, besides twice the bytes that wait */
#define FACTS_MAX   (12u << 20)
#define NOT_LOGGED  UINT64_MAX

/* ---- as records settle, and rows are written ---- */

void gpu_log_settled(struct gpu_arena *g, uint64_t logged)
{
	struct gpu_queue *q = &g->save.settled;
	struct settled *s = q->len ? (struct settled *)(q->at + q->len) - 1 : NULL;

	g->save.has_changed = true;
	if (!logged) {
		g->save.fresh--;
	} else if (logged == NOT_LOGGED) {
		g->save.unlogged--;
	} else if (s && s->to + 1 == logged) {
		s->to = logged;
	} else {
		s = gpu_queue_add(q, sizeof(*s));
		if (s)
			*s = (struct settled){logged, logged};
	}
}

/* Where a commit would have too many facts the younger half remains. */
static void add_fact(struct gpu_process *p, const struct fact *f)
{
	struct gpu_queue *q = &p->arena->save.facts;
	struct fact *to;

	if (p->cupti == GPU_CUPTI_OFF)
		return;
	if (q->len + sizeof(*f) > FACTS_MAX) {
		size_t half = q->len / sizeof(*f) / 2 * sizeof(*f);

		memmove(q->at, q->at + half, q->len - half);
		q->len -= half;
	}
	p->arena->save.has_changed = true;
	to = gpu_queue_add(q, sizeof(*f));
	if (to)
		*to = *f;
}

void gpu_log_alias(struct gpu_process *p, uint32_t correlation, int64_t id)
{
	add_fact(p, &(struct fact){.id = id,
				   .number = p->id.number,
				   .name = correlation,
				   .what = FACT_ALIAS});
}

static void add_row(struct gpu_process *p, const struct gpu_thread *th, const struct gpu_written *w,
		    enum fact_what what)
{
	add_fact(p, &(struct fact){w->start, w->end, w->id, th->global_tid, p->id.number,
				   th->ns_tid, w->canon, what});
}

void gpu_log_row(struct gpu_process *p, const struct gpu_thread *th, const struct gpu_written *w)
{
	add_row(p, th, w, w->is_reported ? FACT_ROW_REPORTED : FACT_ROW);
}

void gpu_log_reported(struct gpu_process *p, const struct gpu_thread *th,
		      const struct gpu_written *w)
{
	add_row(p, th, w, FACT_REPORTED);
}

/* ---- the streams ---- */

/* Deletes the oldest chunks until at most @limit bytes are left. Returns the number of the last record in them. */
static uint64_t delete_oldest(struct arenas *as, const struct arena *a, enum gpu_stream stream,
			      size_t limit)
{
	struct gpu_log *l = &a->family.gpu->save.log[stream];
	uint64_t last = 0;
	uint32_t cnt = 0;

	while (cnt < l->cnt && l->bytes > limit) {
		l->bytes -= l->chunk[cnt].bytes;
		last = l->chunk[cnt++].last;
	}
	if (!cnt)
		return 0;
	db_pending_gpu_delete(as->db, gpu_seq(a, stream, l->first),
			      gpu_seq(a, stream, l->first + cnt - 1));
	l->first += cnt;
	l->cnt -= cnt;
	memmove(l->chunk, l->chunk + cnt, l->cnt * sizeof(*l->chunk));
	return last;
}

/* False: no memory. */
static bool append(struct arenas *as, const struct arena *a, enum gpu_stream stream,
		   const struct gpu_queue *q)
{
	struct gpu_log *l = &a->family.gpu->save.log[stream];

	if (!grow(&l->chunk, l->cnt, &l->cap, sizeof(*l->chunk)))
		return false;
	if (db_pending_gpu_add(as->db, gpu_seq(a, stream, l->first + l->cnt), q->at, q->len))
		return false;
	l->chunk[l->cnt++] = (struct gpu_chunk){a->family.gpu->save.last_logged, q->len};
	l->bytes += q->len;
	return true;
}

static void delete_all(struct arenas *as, const struct arena *a)
{
	db_pending_gpu_delete(as->db, gpu_seq(a, 0, 0), gpu_seq(a, GPU_STREAM_CNT - 1, UINT32_MAX));
	for (int i = 0; i < GPU_STREAM_CNT; i++)
		a->family.gpu->save.log[i].cnt = a->family.gpu->save.log[i].bytes = 0;
}

void gpu_log_void(struct gpu_arena *g)
{
	g->save.facts.len = g->save.settled.len = 0;
	g->save.is_log_void = g->save.has_changed = true;
}

void gpu_pending_release(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->family.gpu;
	char key[48];

	snprintf(key, sizeof(key), "gpu.%u", a->id);
	db_state_drop(as->db, key);
	gpu_streams_drop(as, a);
	delete_all(as, a);
	for (int i = 0; i < GPU_STREAM_CNT; i++)
		free(g->save.log[i].chunk);
	free(g->save.facts.at);
	free(g->save.settled.at);
}

/* ---- a chunk of records ---- */

struct writer {
	struct gpu_arena *g;
	struct gpu_queue out;
	uint64_t deleted; /* records up to this number have no chunk any more */
};

/* @logged is the number in the record itself. */
static void put(struct writer *w, enum record_what what, const struct gpu_process *p,
		const struct gpu_thread *th, uint64_t *logged, const void *record, size_t bytes)
{
	size_t padded = (bytes + 7) & ~(size_t)7;
	struct record_head *r;

	if (*logged > w->deleted)
		return;
	r = w->out.len > CHUNK_MAX ? NULL : gpu_queue_add(&w->out, sizeof(*r) + padded);
	if (!r) {
		/* The next commit would have more still. */
		*logged = NOT_LOGGED;
		w->g->save.unlogged++;
		return;
	}
	*logged = ++w->g->save.last_logged;
	*r = (struct record_head){.what = what,
				  .bytes = (uint32_t)padded,
				  .number = p->id.number,
				  .ns_tid = th ? th->ns_tid : 0,
				  .global_tid = th ? th->global_tid : 0};
	memset((char *)(r + 1) + padded - 8, 0, 8);
	memcpy(r + 1, record, bytes);
}

static void put_all(struct writer *w)
{
	for (struct gpu_process *p = w->g->first; p; p = p->next) {
		for (unsigned i = 0; i < GPU_THREADS; i++)
			for (struct gpu_thread *th = p->threads.at[i]; th; th = th->next) {
				for (size_t at = th->hooks.begin, bytes; at < th->hooks.len;
				     at += bytes) {
					struct gpu_hook *h = (struct gpu_hook *)(th->hooks.at + at);

					bytes = h->bytes;
					put(w, RECORD_HOOK, p, th, &h->logged, h, bytes);
				}
				for (struct gpu_api *api = th->api; api < th->api + th->api_cnt;
				     api++)
					put(w, RECORD_API, p, th, &api->logged, api, sizeof(*api));
			}
		for (size_t at = 0, bytes; at < p->work.len; at += bytes) {
			struct gpu_work *work = (struct gpu_work *)(p->work.at + at);

			bytes = work->bytes;
			put(w, RECORD_WORK, p, NULL, &work->logged, work, bytes);
		}
	}
}

static void save_records(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->family.gpu;
	struct writer w = {g, {0}, 0};
	uint64_t *cnt;

	w.deleted = delete_oldest(as, a, GPU_STREAM_RECORDS, RECORDS_MAX + 2 * g->pending);
	if (g->save.is_log_void) {
		w.deleted = g->save.last_logged;
		delete_all(as, a);
		g->save.is_log_void = false;
	}
	if (!g->save.fresh && !w.deleted && !g->save.settled.len)
		return;
	cnt = gpu_queue_add(&w.out, sizeof(*cnt) + g->save.settled.len);
	if (!cnt) {
		g->save.is_log_void = true; /* all is logged anew at the next commit */
		return;
	}
	*cnt = g->save.settled.len / sizeof(struct settled);
	if (g->save.settled.len)
		memcpy(cnt + 1, g->save.settled.at, g->save.settled.len);
	put_all(&w);
	g->save.is_log_void = !append(as, a, GPU_STREAM_RECORDS, &w.out);
	g->save.settled.len = 0;
	g->save.fresh = 0;
	free(w.out.at);
}

static void save_facts(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->family.gpu;

	if (!g->save.facts.len)
		return;
	delete_oldest(as, a, GPU_STREAM_FACTS, FACTS_MAX);
	if (append(as, a, GPU_STREAM_FACTS, &g->save.facts))
		g->save.facts.len = 0;
}

/* ---- notes ---- */

static int save_head(struct arenas *as, const struct arena *a)
{
	const struct gpu_arena *g = a->family.gpu;
	struct saved_gpu *head;
	struct gpu_queue out = {0};
	bool ok = gpu_queue_add(&out, sizeof(*head)) != NULL;
	char key[48];
	int err = 0;

	for (const struct gpu_process *p = g->first; p && ok; p = p->next) {
		size_t runs = p->ids.cnt * sizeof(p->ids.run[0]);
		struct saved_process *s = gpu_queue_add(&out, sizeof(*s) + runs);

		ok = s != NULL;
		if (!ok)
			break;
		*s = (struct saved_process){.number = p->id.number,
					    .pid = p->id.pid,
					    .cupti = p->cupti,
					    .runs = p->ids.cnt,
					    .first_ns = p->time.first,
					    .until = p->reached.until,
					    .own = p->ids.own,
					    .given = p->ids.given,
					    .own_given = p->ids.own_given};
		/* The oldest first. */
		for (uint32_t i = 0; i < p->ids.cnt; i++)
			((struct gpu_run *)(s + 1))[i] =
				p->ids.run[(p->ids.added - p->ids.cnt + i) % GPU_RUNS];
	}
	snprintf(key, sizeof(key), "gpu.%u", a->id);
	if (ok) {
		head = (struct saved_gpu *)out.at;
		*head = (struct saved_gpu){g->save.unlogged, g->txn.first_ns};
		err = db_state_set(as->db, key, out.at, out.len);
	}
	free(out.at);
	return err;
}

static int save_report(struct arenas *as)
{
	struct gpu_report *r = &as->gpu;
	struct saved_report s = {.ids_given = r->ids_given,
				 .flush_ns = r->flush_ns,
				 .given = r->gpus.given,
				 .sampled = r->gpus.sampled,
				 .used = r->gpus.used,
				 .no_um_cpu_faults = r->no_um_cpu_faults,
				 .no_um_gpu_faults = r->no_um_gpu_faults};

	if (!r->has_changed)
		return 0;
	r->has_changed = false;
	memcpy(s.uuid, r->gpus.uuid, sizeof(s.uuid));
	return db_state_set(as->db, "gpu", &s, sizeof(s));
}

int gpu_save(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->family.gpu;
	int err = save_report(as);

	if (!g || err || !(g->save.fresh || g->txn.rows || g->save.has_changed))
		return err;
	g->save.has_changed = false;
	save_records(as, a);
	save_facts(as, a);
	err = gpu_streams_save(as, a);
	return err ? err : save_head(as, a);
}
