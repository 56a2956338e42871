/*
 * tl_flows.c - which calls started GPU work.
 *
 * Correlation ids count up from 1 within a process, so a bit for each is little even for many millions, and
 * pages of bits that are made on demand cope with ids from the middle of a long run. Only calls that started
 * several pieces of work (graphs) are counted.
 *
 * Readers of traces join by the correlation id itself, so a flow has it as its id; only where two processes have
 * work with the same id, which happens in nsys's reports, one of them has a number of the process above it.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/timeline/tl_internal.h"

#define PAGE_BITS  15
#define RECENT     64
#define PAGE_WORDS ((1u << PAGE_BITS) / 64)

/* Bits by id: @work: there is GPU work; @call: its call came by. */
struct page {
	uint64_t work[PAGE_WORDS], call[PAGE_WORDS];
};

struct tl_flows {
	struct map
		processes; /* globalPid, with the bits of its correlation ids above 32 -> number from 1 */
	struct map pages;   /* (process, id >> PAGE_BITS) -> struct page * */
	struct map several; /* flow -> pieces of work, where more than one */
	sqlite3 *db;
	int64_t unsaid;  /* globalPid of GPU work that has none; TL_NONE: not looked up yet */
	uint64_t *above; /* by number of the process: the bits above 32 of its exported ids */
	uint64_t
		wanted; /* tables, by their places in tl_source_defs, whose work is not known yet */
	/* Found last: a few processes take turns, and ids of each come in order. */
	struct {
		int64_t global;
		uint64_t number;
	} process[RECENT];
	struct {
		uint64_t key;
		struct page *page;
	} page[RECENT];
};

static uint64_t process_of(struct tl_flows *f, int64_t global, bool add)
{
	size_t at = (size_t)(global >> 24 ^ global) & (RECENT - 1);
	uint64_t *number;

	if (f->process[at].number && f->process[at].global == global)
		return f->process[at].number;
	number = map_at(&f->processes, (uint64_t)global, add);
	if (!number)
		return 0;
	if (*number == 0)
		*number = f->processes.cnt;
	f->process[at].global = global;
	f->process[at].number = *number;
	return *number;
}

/* As the maps have it: the number of the process above the id. 0: a flow that is left out. */
static uint64_t flow_of(struct tl_flows *f, int64_t global, int64_t correlation, bool add)
{
	uint64_t process;

	if (global == TL_NONE)
		global = tl_flows_process(f);
	if (!launch_is_id(correlation) || correlation < 0 || correlation >> 32 > 0xFFFFFF)
		return 0;
	/* Our own ids have a number of the process above the 32 bits that CUPTI counts with. */
	process = process_of(f, TL_PROCESS_OF(global) | correlation >> 32, add);
	return process > 0 && process < 1u << 20 ? process << 32 | (uint32_t)correlation : 0;
}

static struct page *page_of(struct tl_flows *f, uint64_t flow, bool add)
{
	uint64_t key = flow >> PAGE_BITS;
	size_t at = (size_t)(key + (flow >> 32) * 7) & (RECENT - 1);
	uint64_t *slot;

	if (f->page[at].page && f->page[at].key == key)
		return f->page[at].page;
	slot = map_at(&f->pages, key, add);
	if (slot && !*slot)
		*slot = (uintptr_t)calloc(1, sizeof(struct page));
	if (!slot || !*slot)
		return NULL;
	f->page[at].key = key;
	f->page[at].page = (struct page *)(uintptr_t)*slot;
	return f->page[at].page;
}

static bool test_bit(const uint64_t *words, uint64_t flow)
{
	return words[(flow >> 6) & (PAGE_WORDS - 1)] >> (flow & 63) & 1;
}

static void set_bit(uint64_t *words, uint64_t flow)
{
	words[(flow >> 6) & (PAGE_WORDS - 1)] |= (uint64_t)1 << (flow & 63);
}

struct reader {
	struct tl_each each; /* first */
	struct tl_flows *f;
};

/* A piece of work. */
void tl_flows_work(struct tl_flows *f, sqlite3_value *global, sqlite3_value *correlation)
{
	int64_t process =
		sqlite3_value_type(global) == SQLITE_NULL ? TL_NONE : sqlite3_value_int64(global);
	uint64_t flow = flow_of(f, process, sqlite3_value_int64(correlation), true);
	struct page *page = flow ? page_of(f, flow, true) : NULL;

	if (!page)
		return;
	if (test_bit(page->work, flow)) {
		uint64_t *times = map_at(&f->several, flow, true);

		if (times)
			*times += *times == 0 ? 2 : 1;
	}
	set_bit(page->work, flow);
}

static bool on_work(struct tl_each *e, int cnt, sqlite3_value **v)
{
	if (cnt == 2)
		tl_flows_work(((struct reader *)e)->f, v[0], v[1]);
	return false;
}

bool tl_flows_want(const struct tl_flows *f, const struct tl_source_def *def)
{
	return f->wanted >> (def - tl_source_defs) & 1;
}

void tl_flows_have(struct tl_flows *f, const struct tl_source_def *def)
{
	f->wanted &= ~(UINT64_C(1) << (def - tl_source_defs));
}

int tl_flows_read(struct tl_flows *f, const struct tl_run *r, const struct tl_source_def *def)
{
	const char *table = def->table;
	struct reader reader = {{on_work}, f};
	sqlite3_stmt *stmt = NULL;
	char bound[TL_BOUND], *sql;
	int rc = -1;

	/* A filter is a view, which has no row numbers. */
	tl_bound(r, table, bound, sizeof(bound));
	sql = sqlite3_mprintf("SELECT 1 FROM %s\"%w\" WHERE %s sl_tl_each(?1, %s, %s)",
			      r->opt->filtered ? "" : "main.", table, r->opt->filtered ? "" : bound,
			      tl_has_column(r->db, table, "globalPid") ? "globalPid" : "NULL",
			      tl_has_column(r->db, table, "correlationId") ? "correlationId"
									   : "NULL");
	if (tl_each_prepare(r->db, &reader.each, sql, &stmt) == 0)
		rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : -1;
	sqlite3_finalize(stmt);
	tl_flows_have(f, def);
	return rc;
}

/* ---- ids as others see them ---- */

#define ABOVE_MAX ((uint64_t)1 << 21) /* or ids exceed what JavaScript represents exactly */

struct span {
	uint64_t ids; /* which: id >> PAGE_BITS, with the process's bits above 32 */
	uint64_t number;
	const struct page *page;
};

static int by_ids(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->ids != y->ids)
		return x->ids < y->ids ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Marks processes with ids that a process of a smaller number has, too. */
static void mark_shared(const struct span *span, size_t cnt, bool *shared)
{
	uint64_t taken[PAGE_WORDS];

	for (size_t i = 0; i < cnt; i++) {
		if (i == 0 || span[i].ids != span[i - 1].ids)
			memset(taken, 0, sizeof(taken));
		for (size_t w = 0; w < PAGE_WORDS && !shared[span[i].number]; w++)
			shared[span[i].number] = (taken[w] & span[i].page->work[w]) != 0;
		for (size_t w = 0; w < PAGE_WORDS && !shared[span[i].number]; w++)
			taken[w] |= span[i].page->work[w];
	}
}

static int find_shared(struct tl_flows *f, bool *shared)
{
	struct span *span = calloc(f->pages.cnt + 1, sizeof(*span));
	size_t cnt = 0;

	for (size_t i = 0; span && i < f->pages.size; i++) {
		uint64_t key = f->pages.slot[i].key, number = key >> (32 - PAGE_BITS);

		if (!f->pages.slot[i].used || !f->pages.slot[i].value)
			continue;
		span[cnt++] = (struct span){
			f->above[number] << 32 | (key & ((1u << (32 - PAGE_BITS)) - 1)), number,
			(const struct page *)(uintptr_t)f->pages.slot[i].value};
	}
	if (span) {
		qsort(span, cnt, sizeof(*span), by_ids);
		mark_shared(span, cnt, shared);
	}
	free(span);
	return span ? 0 : -1;
}

static uint64_t outside(const struct tl_flows *f, uint64_t flow)
{
	uint64_t above = f->above[flow >> 32];

	return above < ABOVE_MAX ? above << 32 | (uint32_t)flow : 0;
}

int tl_flows_settle(struct tl_flows *f)
{
	bool *shared = calloc(f->processes.cnt + 1, sizeof(*shared));
	struct map several = {0};
	uint64_t most = 0;
	int rc;

	f->above = calloc(f->processes.cnt + 1, sizeof(*f->above));
	rc = shared && f->above ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < f->processes.size; i++) {
		const struct map_slot *slot = &f->processes.slot[i];

		if (!slot->used)
			continue;
		f->above[slot->value] = slot->key & 0xFFFFFF;
		most = f->above[slot->value] > most ? f->above[slot->value] : most;
	}
	if (rc == 0)
		rc = find_shared(f, shared);
	for (size_t n = 1; rc == 0 && n <= f->processes.cnt; n++)
		if (shared[n])
			f->above[n] = most + n;
	for (size_t i = 0; rc == 0 && i < f->several.size; i++) {
		const struct map_slot *slot = &f->several.slot[i];
		uint64_t *at = slot->used ? map_at(&several, outside(f, slot->key), true) : NULL;

		if (at)
			*at = slot->value;
		else if (slot->used)
			rc = -1;
	}
	map_free(&f->several);
	f->several = several;
	free(shared);
	return rc;
}

struct tl_flows *tl_flows_new(const struct tl_run *r)
{
	struct tl_flows *f = calloc(1, sizeof(*f));
	uint32_t activities = r->opt->activities;

	if (!f)
		return NULL;
	f->db = r->db;
	f->unsaid = TL_NONE;
	for (const struct tl_source_def *d = tl_source_defs; d->table; d++)
		if (d->correlation[0] == '<' && (d->activity & activities) &&
		    (activities & TL_ACT_CUDA_API) &&
		    sqlite3_table_column_metadata(r->db, "main", d->table, NULL, NULL, NULL, NULL,
						  NULL, NULL) == SQLITE_OK)
			f->wanted |= UINT64_C(1) << (d - tl_source_defs);
	return f;
}

int64_t tl_flows_process(struct tl_flows *f)
{
	if (f->unsaid == TL_NONE) {
		int64_t process = gpu_work_unsaid(f->db);

		f->unsaid = process == GPU_WORK_NONE ? 0 : process << 24;
	}
	return f->unsaid;
}

void tl_flows_free(struct tl_flows *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->pages.size; i++)
		if (f->pages.slot[i].used)
			free((void *)(uintptr_t)f->pages.slot[i].value);
	map_free(&f->processes);
	map_free(&f->pages);
	map_free(&f->several);
	free(f->above);
	free(f);
}

uint64_t tl_flow_out(struct tl_flows *f, int64_t global, int64_t correlation)
{
	uint64_t flow = flow_of(f, global, correlation, false);
	struct page *page = flow ? page_of(f, flow, false) : NULL;

	if (!page || !test_bit(page->work, flow) || test_bit(page->call, flow))
		return 0;
	set_bit(page->call, flow);
	return outside(f, flow);
}

uint64_t tl_flow_in(struct tl_flows *f, int64_t global, int64_t correlation)
{
	uint64_t flow = flow_of(f, global, correlation, false);
	struct page *page = flow ? page_of(f, flow, false) : NULL;

	return page && test_bit(page->call, flow) ? outside(f, flow) : 0;
}

uint32_t tl_flow_count(struct tl_flows *f, uint64_t flow)
{
	uint64_t *cnt = map_at(&f->several, flow, false);

	return cnt ? (uint32_t)*cnt : 1;
}
