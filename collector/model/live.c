/*
 * live.c - running sums of calls, files and GPUs. Called for every row: no allocation but for new
 * entries.
 */
#include "collector/model/live.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/figure.h"
#include "collector/base/grow.h"
#include "collector/model/arena.h"
#include "collector/model/live_internal.h"

#define NAME_PLACES 1024u /* hash of a process's functions of GPU libraries */
#define FILES_MAX   4096u /* beyond it, files are summed up by folder */
#define FOLDERS_MAX 8192u /* beyond it, all together */

/* ---- calls ---- */

static struct live_calls *calls_new(struct live *l, struct live_calls **owner, int64_t global_pid,
				    uint32_t places)
{
	struct live_calls *c = calloc(1, sizeof(*c) + places * sizeof(c->place[0]));

	if (!c)
		return NULL;
	c->owner = owner;
	c->global_pid = global_pid;
	c->next = l->calls;
	c->link = &l->calls;
	if (c->next)
		c->next->link = &c->next;
	l->calls = c;
	return c;
}

struct live_sum *live_sum_new(struct live *l, struct live_calls **calls, int64_t global_pid,
			      enum live_kind kind, uint32_t place, int64_t name_id)
{
	struct live_calls *c = *calls;
	struct live_sum *sum;

	if (!c)
		c = *calls = calls_new(l, calls, global_pid,
				       kind == LIVE_OSRT ? SL_HOOK_CNT : NAME_PLACES);
	if (!c)
		return NULL;
	if (!grow(&c->sum, c->cnt, &c->cap, sizeof(*c->sum)))
		return NULL;
	sum = &c->sum[c->cnt++];
	*sum = (struct live_sum){.id = ++l->last_id, .name_id = name_id, .kind = (uint8_t)kind};
	c->place[place] = (uint16_t)c->cnt;
	return sum;
}

void live_calls_end(struct live *l, struct live_calls **calls)
{
	struct live_calls *c = *calls;

	if (!c)
		return;
	live_write_calls(l, c);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	free(c->sum);
	free(c);
	*calls = NULL;
}

/* Place of the name: its own, or the first free one. More than all that fit share the last. */
static uint32_t name_place(const struct live_calls *c, int64_t name_id)
{
	uint32_t at = (uint32_t)((uint64_t)name_id * 0x9e3779b97f4a7c15u >> 54);

	if (!c)
		return at;
	while (c->place[at] && c->sum[c->place[at] - 1].name_id != name_id)
		at = (at + 1) % NAME_PLACES;
	return at;
}

void live_named(struct live *l, struct live_calls **calls, int64_t global_pid, enum live_kind kind,
		int64_t name_id, int64_t ns, bool failed)
{
	uint32_t at = name_place(*calls, name_id);
	struct live_sum *s = NULL;

	if (*calls && (*calls)->place[at])
		s = &(*calls)->sum[(*calls)->place[at] - 1];
	else if (!*calls || (*calls)->cnt < NAME_PLACES - 1)
		s = live_sum_new(l, calls, global_pid, kind, at, name_id);
	if (!s)
		return;
	s->calls++;
	figure_count(&s->ns, ns > 0 ? (uint64_t)ns : 0);
	s->errors += failed;
}

/* ---- files ---- */

static uint32_t hash_of(const struct live_file *f)
{
	uint64_t h = (uint64_t)f->global_pid * 0x9e3779b97f4a7c15u + f->is_folder;

	for (uint32_t i = 0; f->path && i < f->len; i++)
		h = (h ^ (unsigned char)f->path[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32);
}

static bool is_same(const struct live_file *a, const struct live_file *b)
{
	return a->global_pid == b->global_pid && a->len == b->len && a->is_folder == b->is_folder &&
	       !a->path == !b->path && (!a->path || memcmp(a->path, b->path, a->len) == 0);
}

static uint32_t *slot_of(const struct live_files *f, const struct live_file *key)
{
	uint32_t at = hash_of(key) & (f->slots - 1);

	while (f->slot[at] && !is_same(&f->list[f->slot[at] - 1], key))
		at = (at + 1) & (f->slots - 1);
	return &f->slot[at];
}

static bool has_room(struct live_files *f)
{
	uint32_t cap = f->cap ? f->cap * 2 : 64, slots = cap * 2;
	struct live_file *list;
	uint32_t *slot;

	if (f->cnt < f->cap)
		return true;
	list = realloc(f->list, cap * sizeof(*list));
	if (!list)
		return false;
	f->list = list;
	slot = calloc(slots, sizeof(*slot));
	if (!slot)
		return false;
	free(f->slot);
	f->slot = slot;
	f->slots = slots;
	f->cap = cap;
	for (uint32_t i = 0; i < f->cnt; i++)
		*slot_of(f, &list[i]) = i + 1;
	return true;
}

/* Returns the file's place, 0: it has none, and there are @most files already. */
static uint32_t file_at(struct live *l, struct live_file *key, uint32_t most)
{
	struct live_files *f = &l->files;
	uint32_t *slot;

	if (!has_room(f))
		return 0;
	slot = slot_of(f, key);
	if (!*slot && f->cnt < most) {
		key->id = ++l->last_id;
		f->list[f->cnt++] = *key;
		*slot = f->cnt;
	}
	return *slot;
}

uint32_t live_file_of(struct live *l, int64_t global_pid, int64_t path_id)
{
	struct live_file key = {.global_pid = global_pid};
	uint32_t at;

	key.path = path_id == DB_NULL ? NULL : db_string_text(l->db, path_id, &key.len);
	at = file_at(l, &key, key.path ? FILES_MAX : UINT32_MAX);
	if (at || !key.path)
		return at;
	/* Many small files of a folder are summed up: one row for each would show nothing. */
	while (key.len > 1 && key.path[key.len - 1] != '/')
		key.len--;
	key.is_folder = true;
	at = file_at(l, &key, FOLDERS_MAX);
	key.len = 0;
	return at ? at : file_at(l, &key, UINT32_MAX);
}

/* ---- GPUs ---- */

static struct live_gpu *gpu_at(struct live *l, int64_t number, bool is_known)
{
	struct live_gpu *g;

	for (uint32_t i = 0; i < l->gpus.cnt; i++)
		if (l->gpus.list[i].number == number && l->gpus.list[i].is_known == is_known)
			return &l->gpus.list[i];
	if (!l->gpus.list)
		l->gpus.list = calloc(LIVE_GPUS, sizeof(*l->gpus.list));
	if (!l->gpus.list || l->gpus.cnt == LIVE_GPUS)
		return NULL;
	g = &l->gpus.list[l->gpus.cnt++];
	*g = (struct live_gpu){
		.id = ++l->last_id, .number = number, .is_known = is_known, .until = DB_NULL};
	return g;
}

static void drop(struct live_gpu *g, uint32_t at)
{
	memmove(&g->span[at], &g->span[at + 1], (--g->spans - at) * sizeof(g->span[0]));
}

/*
 * Returns the busy time that [from, to) adds to the GPU's. Spans are in order and apart; nearly
 * always this one comes at the end. Where there are too many, the oldest is settled: later records
 * of that time are not counted.
 */
int64_t live_gpu_busy(struct live_gpu *g, int64_t from, int64_t to)
{
	int64_t before = 0;
	uint32_t at;

	if (g->spans == LIVE_SPANS) {
		g->settled = g->span[0].to;
		drop(g, 0);
	}
	if (from < g->settled)
		from = g->settled;
	if (to <= from)
		return 0;
	for (at = g->spans; at > 0 && g->span[at - 1].from > from;)
		at--;
	if (at > 0 && g->span[at - 1].to >= from)
		at--;
	/* From @at on all that touch it become one with it. */
	while (at < g->spans && g->span[at].from <= to) {
		before += g->span[at].to - g->span[at].from;
		from = g->span[at].from < from ? g->span[at].from : from;
		to = g->span[at].to > to ? g->span[at].to : to;
		drop(g, at);
	}
	memmove(&g->span[at + 1], &g->span[at], (g->spans++ - at) * sizeof(g->span[0]));
	g->span[at].from = from;
	g->span[at].to = to;
	return to - from - before;
}

void live_gpu_work(struct live *l, int64_t number, bool is_known, enum live_work what,
		   int64_t start, int64_t end, uint64_t bytes)
{
	struct live_gpu *g = gpu_at(l, number, is_known);

	if (!g || end < start)
		return;
	g->is_changed = true;
	figure_add(&g->busy_ns, live_gpu_busy(g, start, end));
	if (what == LIVE_KERNEL) {
		g->kernels++;
		figure_add(&g->kernel_ns, end - start);
	} else if (what == LIVE_COPY) {
		g->copies++;
		figure_count(&g->bytes, bytes);
	}
}

void live_gpu_until(struct live *l, int64_t number, bool is_known, int64_t until)
{
	struct live_gpu *g = gpu_at(l, number, is_known);

	if (!g || until <= g->until)
		return;
	g->until = until;
	g->is_changed = true;
}
