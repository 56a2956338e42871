/*
 * gpu_state.c - what waits in memory, kept in SL_STATE with the commits: the rings have given these records up, so
 * recover could not read them again.
 *
 * What has come to wait since the last commit is written as one segment, "gpu.ARENA.SEGMENT"; which of it has got its
 * rows meanwhile, bit by bit, as "gpu.ARENA.SEGMENT.done"; and who it belongs to as "gpu.ARENA". A segment of which
 * nothing waits any more is removed. So every record is written once more at most, whatever its wait. When more comes
 * in between two commits than is sensible to write twice, that is not kept but counted. "gpu.ARENA.streams" has names of
 * streams (gpu_streams.c), "gpulinks.ARENA.NUMBER" what may be told of calls that have their rows (gpu_row_index.c).
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT_MAX  (4u << 20) /* bytes */
#define SEGMENT_NONE UINT32_MAX /* of records that are not kept */

/* Key "gpu.ARENA": this, numbers of segments, processes. */
struct saved_gpu {
	uint32_t segments, processes;
	uint64_t unsaved; /* records that are not kept */
	int64_t first_ns; /* the oldest of all that wait */
	uint32_t first_links, last_links;
};
struct saved_process {
	uint32_t number, pid, cupti, pad;
	int64_t first_ns, until, cupti_block, hook_block, hook_ids;
};
/* Of a segment: this before each record. */
struct saved_record {
	uint32_t what; /* enum saved_what */
	uint32_t bytes;
	uint32_t number, ns_tid; /* process, thread */
	int64_t global_tid;
};
enum saved_what {
	SAVED_HOOK,
	SAVED_API,
	SAVED_WORK
};

/* Key "gpu": of all arenas. */
struct saved_report {
	int64_t blocks, flush_ns;
	uint32_t gpus, no_um_cpu_faults, no_um_gpu_faults, pad;
	uint8_t uuid[64][16];
};

struct gpu_segment {
	struct gpu_segment *next;
	uint32_t id, cnt, waiting;
	bool is_dirty;
	uint8_t *done; /* a bit for each record */
};

static void key_of(char key[48], const struct arena *a, uint32_t segment, const char *end)
{
	snprintf(key, 48, "gpu.%u.%u%s", a->id, segment, end);
}

/* ---- as records come to wait, and go ---- */

void gpu_saved_done(struct gpu_arena *g, const struct gpu_saved *s)
{
	struct gpu_segment *seg = g->segments;

	g->fresh -= !s->segment;
	g->unsaved -= s->segment == SEGMENT_NONE;
	while (seg && seg->id != s->segment)
		seg = seg->next;
	if (!seg || s->place >= seg->cnt)
		return;
	seg->done[s->place / 8] |= (uint8_t)(1 << s->place % 8);
	seg->waiting--;
	seg->is_dirty = true;
	g->has_changed = true;
}

void gpu_state_release(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->gpu;
	char key[48];

	snprintf(key, sizeof(key), "gpu.%u", a->id);
	db_state_drop(as->db, key);
	gpu_streams_drop(as, a);
	gpu_links_release(as, a);
	while (g->segments) {
		struct gpu_segment *seg = g->segments;

		key_of(key, a, seg->id, "");
		db_state_drop(as->db, key);
		key_of(key, a, seg->id, ".done");
		db_state_drop(as->db, key);
		g->segments = seg->next;
		free(seg->done);
		free(seg);
	}
}

/* ---- a new segment ---- */

struct writer {
	struct gpu_queue out;
	uint32_t segment, cnt;
	bool failed;
};

static void put(struct writer *w, enum saved_what what, const struct gpu_process *p,
		const struct gpu_thread *th, struct gpu_saved *s, const void *record, size_t bytes)
{
	size_t padded = (bytes + 7) & ~(size_t)7;
	struct saved_record *r;

	if (s->segment)
		return;
	r = w->failed || w->out.len > SEGMENT_MAX ? NULL
						  : gpu_queue_add(&w->out, sizeof(*r) + padded);
	if (!r) {
		w->failed = true;
		return;
	}
	s->segment = w->segment;
	s->place = w->cnt++;
	*r = (struct saved_record){.what = what,
				   .bytes = (uint32_t)padded,
				   .number = p->number,
				   .ns_tid = th ? th->ns_tid : 0,
				   .global_tid = th ? th->global_tid : 0};
	memset((char *)(r + 1) + padded - 8, 0, 8);
	memcpy(r + 1, record, bytes);
}

static void put_thread(struct writer *w, struct gpu_process *p, struct gpu_thread *th)
{
	for (size_t at = th->hooks.begin, bytes; at < th->hooks.len; at += bytes) {
		struct gpu_hook *h = (struct gpu_hook *)(th->hooks.at + at);

		bytes = h->bytes;
		put(w, SAVED_HOOK, p, th, &h->saved, h, bytes);
	}
	for (size_t i = 0; i < th->api_cnt; i++)
		put(w, SAVED_API, p, th, &th->api[i].saved, &th->api[i], sizeof(th->api[i]));
}

static void put_all(struct writer *w, struct gpu_arena *g)
{
	for (struct gpu_process *p = g->first; p; p = p->next) {
		for (unsigned i = 0; i < GPU_THREADS; i++)
			for (struct gpu_thread *th = p->thread[i]; th; th = th->next)
				put_thread(w, p, th);
		for (size_t at = 0, bytes; at < p->work.len; at += bytes) {
			struct gpu_work *work = (struct gpu_work *)(p->work.at + at);

			bytes = work->bytes;
			put(w, SAVED_WORK, p, NULL, &work->saved, work, bytes);
		}
	}
}

/* Those that did not get into a segment stay out: next time there would be more still. */
static void give_up(struct gpu_saved *s, struct gpu_arena *g)
{
	if (s->segment)
		return;
	s->segment = SEGMENT_NONE;
	g->unsaved++;
}

static void give_up_rest(struct gpu_arena *g)
{
	for (struct gpu_process *p = g->first; p; p = p->next) {
		for (unsigned i = 0; i < GPU_THREADS; i++)
			for (struct gpu_thread *th = p->thread[i]; th; th = th->next) {
				for (size_t at = th->hooks.begin; at < th->hooks.len;
				     at += ((struct gpu_hook *)(th->hooks.at + at))->bytes)
					give_up(&((struct gpu_hook *)(th->hooks.at + at))->saved,
						g);
				for (size_t k = 0; k < th->api_cnt; k++)
					give_up(&th->api[k].saved, g);
			}
		for (size_t at = 0; at < p->work.len;
		     at += ((struct gpu_work *)(p->work.at + at))->bytes)
			give_up(&((struct gpu_work *)(p->work.at + at))->saved, g);
	}
}

static int save_fresh(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->gpu;
	struct writer w = {.segment = g->last_segment + 1};
	struct gpu_segment *seg;
	char key[48];
	int err = 0;

	if (!g->fresh)
		return 0;
	put_all(&w, g);
	seg = calloc(1, sizeof(*seg));
	if (seg)
		seg->done = calloc(1, w.cnt / 8 + 1);
	if (seg && seg->done && w.cnt) {
		g->last_segment++;
		seg->id = w.segment;
		seg->cnt = seg->waiting = w.cnt;
		seg->next = g->segments;
		g->segments = seg;
		key_of(key, a, w.segment, "");
		err = db_state_set(as->db, key, w.out.at, w.out.len);
	} else if (seg) {
		free(seg->done);
		free(seg);
	}
	if (w.failed)
		give_up_rest(g);
	g->fresh = 0;
	free(w.out.at);
	return err;
}

/* ---- what became of the old ones ---- */

static int save_done(struct arenas *as, struct arena *a)
{
	struct gpu_segment **at = &a->gpu->segments;
	char key[48];
	int err = 0;

	while (*at && !err) {
		struct gpu_segment *seg = *at;

		if (!seg->is_dirty) {
			at = &seg->next;
			continue;
		}
		key_of(key, a, seg->id, ".done");
		if (seg->waiting) {
			seg->is_dirty = false;
			err = db_state_set(as->db, key, seg->done, seg->cnt / 8 + 1);
			at = &seg->next;
			continue;
		}
		err = db_state_drop(as->db, key);
		key_of(key, a, seg->id, "");
		if (!err)
			err = db_state_drop(as->db, key);
		*at = seg->next;
		free(seg->done);
		free(seg);
	}
	return err;
}

static int save_head(struct arenas *as, const struct arena *a)
{
	const struct gpu_arena *g = a->gpu;
	struct gpu_queue out = {0};
	struct saved_gpu head = {.unsaved = g->unsaved,
				 .first_ns = g->first_ns,
				 .first_links = gpu_links_first(&g->links),
				 .last_links = g->links.number};
	bool ok = gpu_queue_add(&out, sizeof(head)) != NULL;
	char key[48];
	int err = 0;

	for (const struct gpu_segment *s = g->segments; s && ok; s = s->next) {
		uint64_t *id = gpu_queue_add(&out, sizeof(*id));

		ok = id != NULL;
		if (ok)
			*id = s->id;
		head.segments++;
	}
	for (const struct gpu_process *p = g->first; p && ok; p = p->next) {
		struct saved_process *s = gpu_queue_add(&out, sizeof(*s));

		ok = s != NULL;
		if (!ok)
			break;
		*s = (struct saved_process){.number = p->number,
					    .pid = p->pid,
					    .cupti = p->cupti,
					    .first_ns = p->first_ns,
					    .until = p->until,
					    .cupti_block = p->cupti_block,
					    .hook_block = p->hook_block,
					    .hook_ids = p->hook_ids};
		head.processes++;
	}
	snprintf(key, sizeof(key), "gpu.%u", a->id);
	if (ok) {
		memcpy(out.at, &head, sizeof(head));
		err = db_state_set(as->db, key, out.at, out.len);
	}
	free(out.at);
	return err;
}

static int save_report(struct arenas *as)
{
	struct gpu_report *r = &as->gpu;
	struct saved_report s = {.blocks = r->blocks,
				 .flush_ns = r->flush_ns,
				 .gpus = r->gpus,
				 .no_um_cpu_faults = r->no_um_cpu_faults,
				 .no_um_gpu_faults = r->no_um_gpu_faults};

	if (!r->has_changed)
		return 0;
	r->has_changed = false;
	memcpy(s.uuid, r->uuid, sizeof(s.uuid));
	return db_state_set(as->db, "gpu", &s, sizeof(s));
}

int gpu_save(struct arenas *as, struct arena *a)
{
	struct gpu_arena *g = a->gpu;
	int err = save_report(as);

	if (!g || err || !(g->fresh || g->rows || g->has_changed))
		return err;
	g->has_changed = false;
	err = save_done(as, a);
	if (!err)
		err = save_fresh(as, a);
	if (!err)
		err = gpu_streams_save(as, a);
	if (!err)
		err = gpu_links_save(as, a);
	return err ? err : save_head(as, a);
}

/* ---- after a crash ---- */

static void load_record(struct arenas *as, struct arena *a, const struct saved_record *r,
			const void *record)
{
	struct gpu_process *p = gpu_process(a, r->number, 0, 0);

	if (!p)
		return;
	if (r->what == SAVED_HOOK && r->bytes >= sizeof(struct gpu_hook))
		gpu_restore_hook(as, p, r->ns_tid, r->global_tid, record, r->bytes);
	else if (r->what == SAVED_API && r->bytes >= sizeof(struct gpu_api))
		gpu_restore_api(p, r->ns_tid, r->global_tid, record);
	else if (r->what == SAVED_WORK && r->bytes > sizeof(struct gpu_work))
		gpu_restore_work(p, record, r->bytes);
}

static void load_segment(struct arenas *as, struct arena *a, uint32_t id)
{
	char key[48];
	void *blob, *done = NULL;
	size_t len, done_len = 0, at = 0;
	uint32_t place = 0;

	key_of(key, a, id, "");
	if (db_state_get(as->db, key, &blob, &len) != 0)
		return;
	db_state_drop(as->db, key);
	key_of(key, a, id, ".done");
	if (db_state_get(as->db, key, &done, &done_len) == 0)
		db_state_drop(as->db, key);
	for (; at + sizeof(struct saved_record) <= len; place++) {
		struct saved_record r;

		memcpy(&r, (char *)blob + at, sizeof(r));
		at += sizeof(r);
		if (r.bytes > len - at)
			break;
		if (place / 8 >= done_len || !(((uint8_t *)done)[place / 8] >> place % 8 & 1))
			load_record(as, a, &r, (char *)blob + at);
		at += r.bytes;
	}
	free(done);
	free(blob);
}

static void load_process(struct arena *a, const struct saved_process *s)
{
	struct gpu_process *p = gpu_process(a, s->number, s->pid, s->first_ns);

	if (!p)
		return;
	p->cupti = s->cupti <= GPU_CUPTI_OFF ? (enum gpu_cupti)s->cupti : GPU_CUPTI_UNKNOWN;
	p->until = s->until;
	p->cupti_block = s->cupti_block;
	p->hook_block = s->hook_block;
	p->hook_ids = s->hook_ids;
}

static void load_report(struct arenas *as)
{
	struct saved_report *s;
	void *blob;
	size_t len;

	if (db_state_get(as->db, "gpu", &blob, &len) != 0)
		return;
	s = blob;
	if (len == sizeof(*s) && s->gpus <= 64) {
		as->gpu.blocks = s->blocks;
		as->gpu.flush_ns = s->flush_ns;
		as->gpu.no_um_cpu_faults = s->no_um_cpu_faults;
		as->gpu.no_um_gpu_faults = s->no_um_gpu_faults;
		as->gpu.gpus = s->gpus;
		memcpy(as->gpu.uuid, s->uuid, sizeof(s->uuid));
	}
	free(blob);
}

void gpu_restore(struct arenas *as, struct arena *a)
{
	char key[48];
	struct saved_gpu head;
	const uint64_t *ids;
	void *blob;
	size_t len;

	if (!as->gpu.blocks)
		load_report(as);
	snprintf(key, sizeof(key), "gpu.%u", a->id);
	if (db_state_get(as->db, key, &blob, &len) != 0)
		return;
	memset(&head, 0, sizeof(head));
	if (len >= sizeof(head))
		memcpy(&head, blob, sizeof(head));
	if (len == sizeof(head) + head.segments * sizeof(*ids) +
			   head.processes * sizeof(struct saved_process)) {
		ids = (const uint64_t *)((char *)blob + sizeof(head));
		for (uint32_t i = 0; i < head.processes; i++)
			load_process(a, (const struct saved_process *)(ids + head.segments) + i);
		/* The youngest stands first. */
		for (uint32_t i = head.segments; i--;)
			load_segment(as, a, (uint32_t)ids[i]);
		if (a->gpu && head.segments)
			a->gpu->last_segment = (uint32_t)ids[0];
		gpu_streams_restore(as, a);
		gpu_links_restore(as, a, head.first_links, head.last_links);
	}
	if (head.unsaved) {
		db_lost(as->db, head.first_ns, clock_map_ns(as->clock, as->clock->newest),
			GLOBAL_PID(a->peer_pid),
			"GPU records: waited in the collector when it ended",
			(int64_t)head.unsaved);
		as->lost_other += head.unsaved;
	}
	free(blob);
}
