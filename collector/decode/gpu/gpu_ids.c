/*
 * gpu_ids.c - ids of calls in the report: correlationId of CUPTI_ACTIVITY_KIND_RUNTIME, callId of libraries.
 *
 * CUPTI's correlation ids begin anew in every process. The report counts all calls with one count from 1, since readers
 * join by the id alone, and hold it as a signed 32-bit integer. A process takes numbers of that count in runs, for
 * CUPTI's ids that follow each other: the first run is short, the next ones double the numbers that the process has, so
 * that little memory maps them and few numbers are left over. Ids of the first process are CUPTI's own at first.
 *
 * A correlation id of a call without a row of its own (it is nested, or its row was written before CUPTI reported it) is
 * an alias of that row's id.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

#define RUN_MIN 4096u      /* numbers; runs are multiples of it */
#define RUN_MAX (1u << 20) /* at once */
#define RUN_ALL \
	(1u     \
	 << 25) /* of one that has grown: the runs kept span less than CUPTI counts before it begins anew */
#define RENEW_AT (1ll << 30) /* half of the numbers */

/* ---- numbers ---- */

static int64_t take(struct arenas *as, struct gpu_process *p, uint32_t cnt)
{
	struct gpu_report *r = &as->gpu;
	int64_t id = r->ids_given;

	r->ids_given += cnt;
	r->has_changed = true;
	p->arena->save.has_changed = true;
	if (id <= INT32_MAX && r->ids_given > INT32_MAX)
		db_diagnostic(as->db, p->time.first, 2, 2,
			      "Ids of CUDA calls exceed 31 bits: some readers of the report "
			      "take no larger ones.",
			      DB_NULL);
	return id;
}

/* As many numbers as were @given before, in the bounds of a run. */
static uint32_t size_of(uint32_t given)
{
	return given < RUN_MIN ? RUN_MIN : given > RUN_MAX ? RUN_MAX : given;
}

static bool has(const struct gpu_run *run, uint32_t correlation)
{
	return correlation - run->first < run->cnt;
}

/* Numbers for @correlation and for those behind it, up to those that have numbers. */
static struct gpu_run *add_run(struct arenas *as, struct gpu_process *p, uint32_t correlation)
{
	struct gpu_ids *ids = &p->ids;
	struct gpu_run *last = ids->cnt ? &ids->run[(ids->added - 1) % GPU_RUNS] : NULL;
	uint32_t first = correlation / RUN_MIN * RUN_MIN, cnt = size_of(ids->given);

	for (uint32_t i = 0; i < ids->cnt; i++)
		if (ids->run[i].first - first < cnt)
			cnt = ids->run[i].first - first;
	if (cnt > UINT32_MAX - first)
		cnt = RUN_MIN;
	/* Correlation id 0 is none, so its number may be 0. */
	if (!as->gpu.ids_given && first)
		take(as, p, 1);
	ids->given += cnt;
	if (last && last->first + last->cnt == first && last->id + last->cnt == as->gpu.ids_given &&
	    last->cnt + cnt <= RUN_ALL) {
		take(as, p, cnt);
		last->cnt += cnt;
		return last;
	}
	/* The oldest gives way: the GPU's work follows its call within seconds. */
	last = &ids->run[ids->added++ % GPU_RUNS];
	ids->cnt += ids->cnt < GPU_RUNS;
	*last = (struct gpu_run){first, cnt, take(as, p, cnt)};
	return last;
}

int64_t gpu_cupti_id(struct arenas *as, struct gpu_process *p, uint32_t correlation)
{
	struct gpu_ids *ids = &p->ids;
	struct gpu_run *run = NULL;

	for (uint32_t i = 1; i <= ids->cnt && !run; i++)
		if (has(&ids->run[(ids->added - i) % GPU_RUNS], correlation))
			run = &ids->run[(ids->added - i) % GPU_RUNS];
	if (!run)
		run = add_run(as, p, correlation);
	return run->id + (correlation - run->first);
}

int64_t gpu_hook_id(struct arenas *as, struct gpu_process *p)
{
	struct gpu_ids *ids = &p->ids;

	/* CUPTI's run comes first, so that ids of most reports are CUPTI's own. */
	if (p->cupti != GPU_CUPTI_OFF && !ids->cnt)
		add_run(as, p, 1);
	if (!ids->own.cnt) {
		ids->own.cnt = size_of(ids->own_given);
		if (!as->gpu.ids_given)
			take(as, p, 1);
		ids->own.id = take(as, p, ids->own.cnt);
		ids->own_given += ids->own.cnt;
	}
	ids->own.cnt--;
	return ids->own.id++;
}

/* ---- aliases ---- */

static uint32_t alias_place(const struct gpu_alias_table *t, uint32_t key)
{
	uint32_t at = key * 2654435761u & (t->cap - 1);

	while (t->key[at] && t->key[at] != key)
		at = (at + 1) & (t->cap - 1);
	return at;
}

static void alias_free(struct gpu_alias_table *t)
{
	free(t->key);
	free(t->id);
	memset(t, 0, sizeof(*t));
}

/* False: no memory, and the table is as it was. */
static bool alias_grow(struct gpu_alias_table *t)
{
	struct gpu_alias_table more = {.cap = t->cap ? t->cap * 2 : 256, .cnt = t->cnt};

	more.key = calloc(more.cap, sizeof(*more.key));
	more.id = calloc(more.cap, sizeof(*more.id));
	if (!more.key || !more.id) {
		alias_free(&more);
		return false;
	}
	for (uint32_t i = 0; i < t->cap; i++) {
		if (!t->key[i])
			continue;
		uint32_t at = alias_place(&more, t->key[i]);

		more.key[at] = t->key[i];
		more.id[at] = t->id[i];
	}
	alias_free(t);
	*t = more;
	return true;
}

/* Keeps at least the last GPU_ALIASES: the GPU's work follows within seconds, and its queues hold far fewer launches. */
void gpu_alias_add(struct gpu_process *p, uint32_t correlation, int64_t id)
{
	struct gpu_alias_table *t = &p->calls.alias;
	uint32_t at;

	if (!correlation)
		return;
	if (t->cnt >= GPU_ALIASES) {
		alias_free(&p->calls.old_alias);
		p->calls.old_alias = *t;
		memset(t, 0, sizeof(*t));
	}
	if (t->cnt * 2 >= t->cap && !alias_grow(t))
		return;
	at = alias_place(t, correlation);
	t->cnt += !t->key[at];
	t->key[at] = correlation;
	t->id[at] = id;
	gpu_log_alias(p, correlation, id);
}

static bool alias_in(const struct gpu_alias_table *t, uint32_t key, int64_t *id)
{
	uint32_t at;

	if (!t->cnt)
		return false;
	at = alias_place(t, key);
	*id = t->id[at];
	return t->key[at] != 0;
}

int64_t gpu_alias_find(struct arenas *as, struct gpu_process *p, uint32_t correlation)
{
	int64_t id;

	if (!correlation)
		return DB_NULL;
	if (alias_in(&p->calls.alias, correlation, &id) ||
	    alias_in(&p->calls.old_alias, correlation, &id))
		return id;
	return gpu_cupti_id(as, p, correlation);
}

void gpu_alias_release(struct gpu_process *p)
{
	alias_free(&p->calls.alias);
	alias_free(&p->calls.old_alias);
}

/* ---- the next report ---- */

void gpu_ids_renew(struct arenas *as)
{
	if (as->gpu.ids_given < RENEW_AT)
		return;
	as->gpu.ids_given = 0;
	as->gpu.has_changed = true;
	for (struct arena *a = as->first; a; a = a->next)
		for (struct gpu_process *p = a->family.gpu ? a->family.gpu->first : NULL; p;
		     p = p->next) {
			/* Of calls in the report before. */
			p->ids = (struct gpu_ids){0};
			gpu_alias_release(p);
			db_map_free(&p->streams.calls);
			p->streams.calls = (struct db_map){0};
			a->family.gpu->save.has_changed = a->family.gpu->save.has_named = true;
		}
}
