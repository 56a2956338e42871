/* gpu_recover.c - reads the pending log and its notes back into memory, after the collector was killed. */
#include "collector/decode/gpu/gpu_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks of a stream put together, without their heads. */
struct loaded {
	struct gpu_queue settled, rest;
};

static void add_bytes(struct gpu_queue *q, const void *bytes, size_t len)
{
	void *to = len ? gpu_queue_add(q, len) : NULL;

	if (to)
		memcpy(to, bytes, len);
}

/* A chunk may be damaged: whole records of it are taken. */
static void take_records(void *ctx, const void *blob, size_t len)
{
	const char *at = blob, *end = at + len;
	struct loaded *to = ctx;
	struct record_head r;
	uint64_t cnt = 0;

	if (len >= sizeof(cnt))
		memcpy(&cnt, at, sizeof(cnt));
	if (len < sizeof(cnt) || cnt > (len - sizeof(cnt)) / sizeof(struct settled))
		return;
	at += sizeof(cnt);
	add_bytes(&to->settled, at, cnt * sizeof(struct settled));
	for (at += cnt * sizeof(struct settled); at + sizeof(r) <= end; at += sizeof(r) + r.bytes) {
		memcpy(&r, at, sizeof(r));
		if (r.bytes > (size_t)(end - at) - sizeof(r) || r.bytes < sizeof(uint64_t) ||
		    r.bytes % 8)
			return;
		add_bytes(&to->rest, at, sizeof(r) + r.bytes);
	}
}

static void take_facts(void *ctx, const void *blob, size_t len)
{
	struct loaded *to = ctx;

	add_bytes(&to->rest, blob, len - len % sizeof(struct fact));
}

static int compare_settled(const void *x, const void *y)
{
	const struct settled *a = x, *b = y;

	/* They do not overlap: equal is where one is inside of the other. */
	return a->to < b->from ? -1 : a->from > b->to;
}

static void load_records(struct arenas *as, struct arena *a, const struct loaded *l)
{
	size_t cnt = l->settled.len / sizeof(struct settled);
	const struct record_head *r;

	if (cnt)
		qsort(l->settled.at, cnt, sizeof(struct settled), compare_settled);
	for (size_t at = 0; at < l->rest.len; at += sizeof(*r) + r->bytes) {
		struct gpu_process *p;
		struct settled key;

		r = (const struct record_head *)(l->rest.at + at);
		memcpy(&key.from, r + 1, sizeof(key.from));
		key.to = key.from;
		if (cnt && bsearch(&key, l->settled.at, cnt, sizeof(key), compare_settled))
			continue;
		p = gpu_process(a, r->number, 0, 0);
		if (!p)
			continue;
		if (r->what == RECORD_HOOK && r->bytes >= sizeof(struct gpu_hook))
			gpu_restore_hook(as, p, r->ns_tid, r->global_tid, r + 1, r->bytes);
		else if (r->what == RECORD_API && r->bytes >= sizeof(struct gpu_api))
			gpu_restore_api(p, r->ns_tid, r->global_tid, r + 1);
		else if (r->what == RECORD_WORK && r->bytes > sizeof(struct gpu_work))
			gpu_restore_work(p, r + 1, r->bytes);
	}
}

static void load_row(struct gpu_process *p, const struct fact *f)
{
	struct gpu_thread *th = gpu_thread(p, f->ns_tid, f->global_tid);
	const struct gpu_written w = {f->start, f->end, f->id, f->name, f->what != FACT_ROW};
	uint32_t cnt;

	if (!th)
		return;
	if (th->used_at < f->end)
		th->used_at = f->end;
	cnt = th->written_cnt < GPU_WRITTEN ? th->written_cnt : GPU_WRITTEN;
	for (uint32_t i = 1; f->what == FACT_REPORTED && i <= cnt; i++) {
		struct gpu_written *old = &th->written[(th->written_cnt - i) % GPU_WRITTEN];

		if (old->start != w.start || old->end != w.end || old->id != w.id)
			continue;
		old->is_reported = true;
		gpu_log_reported(p, th, old);
		return;
	}
	gpu_remember(p, th, &w);
}

static void load_facts(const struct gpu_arena *g, const struct gpu_queue *q)
{
	const struct fact *f = (const struct fact *)q->at;

	for (size_t cnt = q->len / sizeof(*f); cnt; cnt--, f++) {
		struct gpu_process *p = g->first;

		while (p && p->id.number != f->number)
			p = p->next;
		if (p && f->what == FACT_ALIAS)
			gpu_alias_add(p, f->name, f->id);
		else if (p)
			load_row(p, f);
	}
}

/* Loaded streams are logged anew with the next commit. */
static void load_streams(struct arenas *as, struct arena *a)
{
	struct loaded records = {0}, facts = {0};

	db_pending_gpu_read(as->db, gpu_seq(a, GPU_STREAM_RECORDS, 0),
			    gpu_seq(a, GPU_STREAM_RECORDS, UINT32_MAX), take_records, &records);
	db_pending_gpu_read(as->db, gpu_seq(a, GPU_STREAM_FACTS, 0),
			    gpu_seq(a, GPU_STREAM_FACTS, UINT32_MAX), take_facts, &facts);
	load_records(as, a, &records);
	gpu_streams_restore(as, a);
	if (a->family.gpu) {
		load_facts(a->family.gpu, &facts.rest);
		a->family.gpu->save.is_log_void = true;
	}
	free(records.settled.at);
	free(records.rest.at);
	free(facts.rest.at);
}

static void load_process(struct arena *a, const struct saved_process *s)
{
	struct gpu_process *p = gpu_process(a, s->number, s->pid, s->first_ns);

	if (!p)
		return;
	p->cupti = s->cupti <= GPU_CUPTI_OFF ? (enum gpu_cupti)s->cupti : GPU_CUPTI_UNKNOWN;
	p->reached.until = s->until;
	p->ids = (struct gpu_ids){.cnt = s->runs,
				  .added = s->runs,
				  .given = s->given,
				  .own = s->own,
				  .own_given = s->own_given};
	memcpy(p->ids.run, s + 1, s->runs * sizeof(p->ids.run[0]));
	p->calls.is_range_partial = true;
}

/* Whole processes are taken of a blob that may be damaged. */
static void load_processes(struct arena *a, const char *at, size_t len)
{
	const struct saved_process *s = (const struct saved_process *)at;
	size_t bytes;

	for (; len >= sizeof(*s) && s->runs <= GPU_RUNS; s = (const struct saved_process *)at) {
		bytes = sizeof(*s) + s->runs * sizeof(struct gpu_run);
		if (bytes > len)
			return;
		load_process(a, s);
		at += bytes;
		len -= bytes;
	}
}

static void load_report(struct arenas *as)
{
	struct saved_report *s;
	void *blob;
	size_t len;

	if (db_state_get(as->db, "gpu", &blob, &len) != 0)
		return;
	s = blob;
	if (len == sizeof(*s)) {
		as->gpu.ids_given = s->ids_given;
		as->gpu.flush_ns = s->flush_ns;
		as->gpu.no_um_cpu_faults = s->no_um_cpu_faults;
		as->gpu.no_um_gpu_faults = s->no_um_gpu_faults;
		as->gpu.gpus.given = s->given;
		as->gpu.gpus.sampled = s->sampled;
		as->gpu.gpus.used = s->used;
		memcpy(as->gpu.gpus.uuid, s->uuid, sizeof(s->uuid));
	}
	free(blob);
}

void gpu_restore(struct arenas *as, struct arena *a)
{
	struct saved_gpu head = {0};
	char key[48];
	void *blob;
	size_t len;

	if (!as->gpu.ids_given)
		load_report(as);
	snprintf(key, sizeof(key), "gpu.%u", a->id);
	if (db_state_get(as->db, key, &blob, &len) != 0)
		return;
	if (len >= sizeof(head)) {
		memcpy(&head, blob, sizeof(head));
		load_processes(a, (const char *)blob + sizeof(head), len - sizeof(head));
		load_streams(as, a);
	}
	if (head.unlogged) {
		db_lost(as->db, head.first_ns, clock_map_ns(as->clock, as->clock->newest),
			GLOBAL_PID(a->peer.pid),
			"GPU records: waited in the collector when it ended",
			(int64_t)head.unlogged);
		as->lost.other += head.unlogged;
	}
	free(blob);
}
