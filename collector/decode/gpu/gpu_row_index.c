/*
 * gpu_row_index.c - rows of calls that CUPTI may still have a word on, kept in SL_STATE for recover: other names of their
 * ids, and when which call was. What the GPU did for a call, or what was inside it, may come after the row.
 *
 * They are written in the order in which they came, as segments "gpulinks.ARENA.NUMBER"; the last one is written anew
 * with every commit until it is large enough. Old segments go when newer ones hold enough.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT_FULL (64u << 10) /* bytes */
#define LINKS_MAX \
	(8u << 20) /* of all segments of an arena, and of what comes between two commits */

/* A segment: this, then the aliases, then the rows. */
struct saved_links {
	uint32_t aliases, rows;
};
struct saved_alias {
	uint32_t number, correlation; /* the process */
	int64_t id;
};
struct saved_row {
	int64_t start, end, id, global_tid;
	uint32_t number, ns_tid, canon;
	uint32_t is_told; /* enum told */
};
enum told {
	NOT_TOLD,
	TOLD,
	TOLD_SINCE /* of a row that was saved as not told */
};

/* Full ones; the oldest is the first. */
struct gpu_link_segment {
	struct gpu_link_segment *next;
	uint32_t number;
	size_t bytes;
};

static void key_of(char key[48], const struct arena *a, uint32_t number)
{
	snprintf(key, 48, "gpulinks.%u.%u", a->id, number);
}

/* Room for one more; the younger half remains where there would be too many. NULL: nobody is interested. */
static void *add(struct gpu_process *p, struct gpu_queue *q, size_t bytes)
{
	struct gpu_arena *g = p->arena;

	if (p->cupti == GPU_CUPTI_OFF)
		return NULL;
	if (q->len + bytes > LINKS_MAX / 2) {
		size_t half = q->len / bytes / 2 * bytes;

		memmove(q->at, q->at + half, q->len - half);
		q->len -= half;
	}
	g->has_changed = g->links.has_changed = true;
	return gpu_queue_add(q, bytes);
}

void gpu_link_alias(struct gpu_process *p, uint32_t correlation, int64_t id)
{
	struct saved_alias *s = add(p, &p->arena->links.aliases, sizeof(*s));

	if (s)
		*s = (struct saved_alias){p->number, correlation, id};
}

static void add_row(struct gpu_process *p, const struct gpu_thread *th, const struct gpu_written *w,
		    enum told told)
{
	struct saved_row *s = add(p, &p->arena->links.rows, sizeof(*s));

	if (s)
		*s = (struct saved_row){.start = w->start,
					.end = w->end,
					.id = w->id,
					.global_tid = th->global_tid,
					.number = p->number,
					.ns_tid = th->ns_tid,
					.canon = w->canon,
					.is_told = told};
}

void gpu_link_row(struct gpu_process *p, const struct gpu_thread *th, const struct gpu_written *w)
{
	add_row(p, th, w, w->is_told ? TOLD : NOT_TOLD);
}

void gpu_link_told(struct gpu_process *p, const struct gpu_thread *th, const struct gpu_written *w)
{
	add_row(p, th, w, TOLD_SINCE);
}

/* ---- writing ---- */

static void drop_oldest(struct arenas *as, const struct arena *a)
{
	struct gpu_links *l = &a->gpu->links;
	struct gpu_link_segment *s = l->first;
	char key[48];

	key_of(key, a, s->number);
	db_state_drop(as->db, key);
	l->first = s->next;
	if (!l->first)
		l->last = &l->first;
	l->bytes -= s->bytes;
	free(s);
}

/* The open segment is full: another one begins. */
static void close_segment(struct arenas *as, const struct arena *a, size_t bytes)
{
	struct gpu_links *l = &a->gpu->links;
	struct gpu_link_segment *s = calloc(1, sizeof(*s));

	if (!s)
		return; /* it goes on growing, and is halved in time */
	s->number = l->number++;
	s->bytes = bytes;
	if (!l->first)
		l->last = &l->first;
	*l->last = s;
	l->last = &s->next;
	l->bytes += bytes;
	l->aliases.len = l->rows.len = 0;
	while (l->first && l->bytes - l->first->bytes >= LINKS_MAX)
		drop_oldest(as, a);
}

int gpu_links_save(struct arenas *as, struct arena *a)
{
	struct gpu_links *l = &a->gpu->links;
	const struct saved_links head = {
		.aliases = (uint32_t)(l->aliases.len / sizeof(struct saved_alias)),
		.rows = (uint32_t)(l->rows.len / sizeof(struct saved_row))};
	size_t bytes = sizeof(head) + l->aliases.len + l->rows.len;
	char key[48], *blob;
	int err;

	while (l->is_void && l->first)
		drop_oldest(as, a);
	l->is_void = false;
	if (!l->has_changed)
		return 0;
	blob = malloc(bytes);
	if (!blob)
		return 0; /* tried again at the next commit */
	memcpy(blob, &head, sizeof(head));
	if (l->aliases.len)
		memcpy(blob + sizeof(head), l->aliases.at, l->aliases.len);
	if (l->rows.len)
		memcpy(blob + sizeof(head) + l->aliases.len, l->rows.at, l->rows.len);
	key_of(key, a, l->number);
	err = db_state_set(as->db, key, blob, bytes);
	free(blob);
	l->has_changed = false;
	if (!err && bytes >= SEGMENT_FULL)
		close_segment(as, a, bytes);
	return err;
}

void gpu_links_void(struct gpu_arena *g)
{
	g->links.aliases.len = g->links.rows.len = 0;
	g->links.is_void = g->links.has_changed = true;
}

void gpu_links_release(struct arenas *as, struct arena *a)
{
	struct gpu_links *l = &a->gpu->links;
	char key[48];

	while (l->first)
		drop_oldest(as, a);
	key_of(key, a, l->number);
	db_state_drop(as->db, key);
	free(l->aliases.at);
	free(l->rows.at);
}

/* ---- after a crash ---- */

static struct gpu_process *find(const struct gpu_arena *g, uint32_t number)
{
	struct gpu_process *p = g->first;

	while (p && p->number != number)
		p = p->next;
	return p;
}

static void load_row(struct gpu_process *p, const struct saved_row *s)
{
	struct gpu_thread *th = gpu_thread(p, s->ns_tid, s->global_tid);
	const struct gpu_written w = {.start = s->start,
				      .end = s->end,
				      .id = s->id,
				      .canon = s->canon,
				      .is_told = s->is_told != NOT_TOLD};
	uint32_t cnt;

	if (!th)
		return;
	if (th->used_at < s->end)
		th->used_at = s->end;
	cnt = th->written_cnt < GPU_WRITTEN ? th->written_cnt : GPU_WRITTEN;
	for (uint32_t i = 1; s->is_told == TOLD_SINCE && i <= cnt; i++) {
		struct gpu_written *old = &th->written[(th->written_cnt - i) % GPU_WRITTEN];

		if (old->start != w.start || old->end != w.end || old->id != w.id)
			continue;
		old->is_told = true;
		gpu_link_told(p, th, old);
		return;
	}
	gpu_remember(p, th, &w);
}

static void load(const struct gpu_arena *g, const char *blob, size_t len)
{
	struct saved_links head;
	const struct saved_alias *alias;
	const struct saved_row *row;

	if (len < sizeof(head))
		return;
	memcpy(&head, blob, sizeof(head));
	if (len != sizeof(head) + head.aliases * sizeof(*alias) + head.rows * sizeof(*row))
		return;
	alias = (const struct saved_alias *)(blob + sizeof(head));
	row = (const struct saved_row *)(alias + head.aliases);
	for (uint32_t i = 0; i < head.aliases; i++) {
		struct gpu_process *p = find(g, alias[i].number);

		if (p)
			gpu_alias_add(p, alias[i].correlation, alias[i].id);
	}
	for (uint32_t i = 0; i < head.rows; i++) {
		struct gpu_process *p = find(g, row[i].number);

		if (p)
			load_row(p, &row[i]);
	}
}

/* What is loaded is written again, as a segment that follows: it is not more than one may have. */
void gpu_links_restore(struct arenas *as, struct arena *a, uint32_t first, uint32_t last)
{
	char key[48];
	void *blob;
	size_t len;

	if (!a->gpu || last - first > LINKS_MAX / SEGMENT_FULL * 2)
		return;
	a->gpu->links.number = last + 1;
	for (uint32_t i = first; i != last + 1; i++) {
		key_of(key, a, i);
		if (db_state_get(as->db, key, &blob, &len) != 0)
			continue;
		db_state_drop(as->db, key);
		load(a->gpu, blob, len);
		free(blob);
	}
}

uint32_t gpu_links_first(const struct gpu_links *l)
{
	return l->first ? l->first->number : l->number;
}
