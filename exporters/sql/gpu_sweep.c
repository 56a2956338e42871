/* gpu_sweep.c - the pass over the work of GPUs: when GPUs were busy, the union of each kind of operation, sums by stream. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/projection_internal.h"
#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/search.h"
#include "collector/base/slots.h"
#include "exporters/events/gpu_work.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/sweeps.h"

enum { /* kinds of operations, as bits */
	IS_KERNEL = 1,
	IS_NCCL = 2,
	IS_HOST_COPY = 4
};

/* gpu_cover.what: operations that have all of @with and none of @without. */
static const struct cover_kind {
	const char *name;
	unsigned with, without;
} cover_kinds[] = {
	{"all", 0, 0},
	{"kernel", IS_KERNEL, 0},
	{"compute", IS_KERNEL, IS_NCCL},
	{"nccl", IS_NCCL, 0},
	{"not nccl", 0, IS_NCCL},
	{"host copy", IS_HOST_COPY, 0},
	{"not host copy", 0, IS_HOST_COPY},
};
#define COVERS (sizeof(cover_kinds) / sizeof(cover_kinds[0]))

struct cover {
	int64_t n, ns, total, start, end;
};

struct gpu {
	struct sweep_id pid, device;
	struct sweep_id context_min, context_max; /* the lowest that is not 0 */
	int64_t nr;                               /* in the order of process, GPU */
	double launch;                            /* < 0: not known */
	size_t first, busy;                       /* rows of gpu_busy */
	struct cover cover[COVERS];
};

struct sum {
	struct sweep_id key[5]; /* globalPid, deviceId, contextId, streamId, detail */
	unsigned what, kind;
	size_t gpu;
	int64_t n, ns, bytes, first, last, small;
	bool has_bytes;
};

#define SUM_WHAT 4 /* word and column, after as many words of the key */

struct launch {
	int64_t pid;
	double ns;
};

struct op { /* of a sorter: by GPU and start */
	int64_t gpu, start, ns_kind;
};
#define KIND_BITS 3
#define NS_MAX    (INT64_MAX >> KIND_BITS)
#define OP_KEYS   2
#define SORTERS   32

/* Numbers of names, in order. SQLite looks a number up in a list of its own more slowly than it reads a row. */
struct names {
	int64_t *id;
	size_t cnt;
};

struct pass {
	struct sweeps *to;
	struct names nccl;
	/* Operations of a GPU are nearly in order of time, those of several are not: a sorter for each, as long as they are few. */
	struct sorter *ops[SORTERS];
	struct gpu *gpu;
	size_t gpus;
	struct sum *sum;
	struct slots by_key; /* sums */
	size_t sums, sums_room;
	struct launch *launch;
	size_t launches;
	unsigned what; /* of the table that is being read */
	struct sweep_span span;
};

/* Figures of damaged reports may be any. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static bool same(struct sweep_id a, struct sweep_id b)
{
	return a.known == b.known && a.value == b.value;
}

/* ---- names ---- */

static int name_row(void *ctx, sqlite3_stmt *stmt)
{
	struct names *n = ctx;
	int64_t *more = reallocarray(n->id, n->cnt + 1, sizeof(*more));

	if (!more)
		return SQLITE_NOMEM;
	n->id = more;
	n->id[n->cnt++] = sqlite3_column_int64(stmt, 0);
	return SQLITE_OK;
}

static bool is_among(const struct names *n, int64_t id)
{
	size_t low = search_first(i, 0, n->cnt, n->id[i] < id);

	return low < n->cnt && n->id[low] == id;
}

/* ---- the time of a launch ---- */

/* pid, ns */
static int launch_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;
	struct launch *more = reallocarray(p->launch, p->launches + 1, sizeof(*more));

	if (!more)
		return SQLITE_NOMEM;
	p->launch = more;
	more[p->launches++] =
		(struct launch){sqlite3_column_int64(stmt, 0), sqlite3_column_double(stmt, 1)};
	return SQLITE_OK;
}

/* ---- reading ---- */

static size_t gpu_of(struct pass *p, const struct sweep_id *key)
{
	struct gpu *g;

	for (size_t i = 0; i < p->gpus; i++)
		if (same(p->gpu[i].pid, key[0]) && same(p->gpu[i].device, key[1]))
			return i;
	g = reallocarray(p->gpu, p->gpus + 1, sizeof(*g));
	if (!g)
		return SIZE_MAX;
	p->gpu = g;
	g += p->gpus;
	*g = (struct gpu){.pid = key[0], .device = key[1], .launch = -1};
	for (size_t i = 0; i < p->launches; i++)
		if (g->pid.known && p->launch[i].pid == g->pid.value >> 24)
			g->launch = p->launch[i].ns;
	return p->gpus++;
}

static uint64_t hash_of(const struct sum *s)
{
	uint64_t h = s->what;

	for (size_t i = 0; i < 5; i++)
		h = hash_join(h, (uint64_t)s->key[i].value * 2 + (uint64_t)s->key[i].known);
	return h;
}

static bool equal(const struct sum *a, const struct sum *b)
{
	for (size_t i = 0; i < 5; i++)
		if (!same(a->key[i], b->key[i]))
			return false;
	return a->what == b->what;
}

static struct sum *sum_of(struct pass *p, struct sum *like)
{
	uint64_t hash = hash_of(like);
	uint32_t at, i;

	for (i = slots_first(&p->by_key, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&p->by_key, hash, &at))
		if (equal(&p->sum[i], like))
			return &p->sum[i];
	like->gpu = gpu_of(p, like->key);
	if (like->gpu == SIZE_MAX || !grow(&p->sum, p->sums, &p->sums_room, sizeof(*p->sum)) ||
	    !slots_add(&p->by_key, hash, (uint32_t)p->sums))
		return NULL;
	p->sum[p->sums] = *like;
	return &p->sum[p->sums++];
}

static void see_context(struct gpu *g, struct sweep_id context)
{
	if (!context.known)
		return;
	if (context.value != 0 && (!g->context_min.known || context.value < g->context_min.value))
		g->context_min = context;
	if (!g->context_max.known || context.value > g->context_max.value)
		g->context_max = context;
}

static unsigned kind_of(unsigned what, struct sweep_id detail, bool nccl)
{
	unsigned kind = what == GPU_WORK_KERNEL || what == GPU_WORK_GRAPH ? IS_KERNEL : 0;

	if (what == GPU_WORK_KERNEL && nccl)
		kind |= IS_NCCL;
	if (what == GPU_WORK_MEMCPY && detail.known && detail.value >= 1 && detail.value <= 4)
		kind |= IS_HOST_COPY;
	return kind;
}

/* globalPid, deviceId, contextId, streamId, detail, start, end, bytes */
static int op_row(void *ctx, sqlite3_value **v)
{
	struct pass *p = ctx;
	struct sum like = {.what = p->what, .first = INT64_MAX, .last = INT64_MIN}, *s;
	struct sweep_id first = sweep_value(v[5]), last = sweep_value(v[6]);
	int64_t start = first.value, end = last.value, ns = minus(end, start);
	struct sweep_id bytes = sweep_value(v[7]);
	struct op op = {.start = start, .ns_kind = ns < 0 || ns > NS_MAX ? NS_MAX : ns};

	sweep_span_add(&p->span, first, last);
	if (!first.known || !last.known || end < start)
		return SQLITE_OK;
	for (int i = 0; i < 5; i++)
		like.key[i] = sweep_value(v[i]);
	s = sum_of(p, &like);
	if (!s)
		return SQLITE_NOMEM;
	if (s->n++ == 0)
		s->kind = kind_of(p->what, s->key[4],
				  s->key[4].known && is_among(&p->nccl, s->key[4].value));
	s->ns = plus(s->ns, ns);
	s->bytes = plus(s->bytes, bytes.value);
	s->has_bytes |= bytes.known;
	s->first = start < s->first ? start : s->first;
	s->last = end > s->last ? end : s->last;
	s->small += (double)ns < p->gpu[s->gpu].launch;
	see_context(&p->gpu[s->gpu], s->key[2]);
	op.gpu = (int64_t)s->gpu;
	op.ns_kind = op.ns_kind << KIND_BITS | s->kind;
	if (!p->ops[s->gpu % SORTERS])
		p->ops[s->gpu % SORTERS] = sorter_new(sizeof(struct op) / 8, OP_KEYS);
	if (!p->ops[s->gpu % SORTERS])
		return SQLITE_NOMEM;
	return sorter_add(p->ops[s->gpu % SORTERS], (const int64_t *)&op);
}

static int read_ops(struct pass *p)
{
	int rc = SQLITE_OK;

	for (p->what = 0; p->what < GPU_WORK_KINDS && rc == SQLITE_OK; p->what++) {
		p->span = SWEEP_SPAN_NONE;
		rc = gpu_work_values(p->to->db, p->what,
				     p->what == GPU_WORK_KERNEL
					     ? "globalPid, deviceId, contextId, streamId, "
					       "shortName, start, end, bytes"
					     : "globalPid, deviceId, contextId, streamId, "
					       "copyKind, start, end, bytes",
				     "", op_row, p);
		if (rc == SQLITE_OK)
			rc = sweep_show_span(p->to, SWEPT_WORK + p->what, &p->span, false);
	}
	return rc;
}

/* ---- in the order of time ---- */

static int by_id(struct sweep_id a, struct sweep_id b)
{
	if (a.known != b.known)
		return a.known ? 1 : -1;
	return a.value < b.value ? -1 : a.value > b.value;
}

/* In the order of SQLite: an unknown id comes first. */
static void number_gpus(struct pass *p)
{
	for (size_t i = 0; i < p->gpus; i++)
		for (size_t k = 0; k < p->gpus; k++) {
			int c = by_id(p->gpu[k].pid, p->gpu[i].pid);

			c = c ? c : by_id(p->gpu[k].device, p->gpu[i].device);
			p->gpu[i].nr += c < 0;
		}
}

static struct sweep_id context_of(const struct gpu *g)
{
	return g->context_min.known && same(g->context_min, g->context_max) ? g->context_max
									    : (struct sweep_id){0};
}

static void cover_op(struct gpu *g, const struct op *op, int64_t end)
{
	int64_t start = op->start;

	for (size_t i = 0; i < COVERS; i++) {
		struct cover *c = &g->cover[i];

		if ((op->ns_kind & cover_kinds[i].with) != cover_kinds[i].with ||
		    (op->ns_kind & cover_kinds[i].without))
			continue;
		/* a row adds to a union only the time that no row before it covers */
		if (c->n++ == 0) {
			*c = (struct cover){1, minus(end, start), 0, start, end};
		} else if (end > c->end) {
			c->ns = plus(c->ns, minus(end, start > c->end ? start : c->end));
			c->end = end;
		}
		c->total = plus(c->total, minus(end, start));
	}
}

/* Adds a busy time that is over. @next: start of the following one; ROWS_NULL: none follows. */
static int add_busy(struct rows *busy, int64_t *sum, int64_t start, int64_t end, int64_t next)
{
	int64_t record[BUSY_WORDS] = {
		[BUSY_END] = end,
		[BUSY_START] = start,
		[BUSY_IDLE] = next == ROWS_NULL ? ROWS_NULL : minus(next, end),
		[BUSY_SUM] = *sum = plus(*sum, minus(end, start)),
	};

	return rows_add(busy, record);
}

static int go_through(struct pass *p, struct sorter *ops, struct rows *busy)
{
	struct gpu *last = NULL;
	const int64_t *record = NULL;
	int64_t start = 0, end = 0, sum = 0;
	int rc = sorter_rewind(ops);

	while (rc == SQLITE_OK && (rc = sweep_next(ops, &record)) == SQLITE_OK && record) {
		const struct op *op = (const void *)record;
		struct gpu *g = &p->gpu[op->gpu];
		bool goes_on = last && g == last; /* on the same GPU */

		int64_t op_end = plus(op->start, op->ns_kind >> KIND_BITS);

		cover_op(g, op, op_end);
		if (goes_on && op->start <= end) {
			end = op_end > end ? op_end : end;
			continue;
		}
		if (last)
			rc = add_busy(busy, &sum, start, end, goes_on ? op->start : ROWS_NULL);
		if (!goes_on) {
			sum = 0;
			g->first = rows_cnt(busy);
		}
		last = g;
		start = op->start;
		end = op_end;
		g->busy++;
	}
	return last && rc == SQLITE_OK ? add_busy(busy, &sum, start, end, ROWS_NULL) : rc;
}

/* By the number of the GPU. Takes @busy. */
static int show_busy(struct sweeps *s, const struct pass *p, struct rows *busy)
{
	int rc = rows_end(busy);
	size_t nr = 0;

	free(s->gpu);
	s->gpu = calloc(p->gpus + 1, sizeof(*s->gpu));
	rc = s->gpu ? rc : SQLITE_NOMEM;
	for (; nr < p->gpus && rc == SQLITE_OK; nr++) {
		const struct gpu *g = p->gpu;

		while (g->nr != (int64_t)nr)
			g++;
		s->gpu[nr] = (struct swept_gpu){sweep_word(g->pid), sweep_word(g->device),
						sweep_word(context_of(g))};
		rc = rows_shown_add(
			&s->shown[SWEPT_GPU_BUSY],
			&(struct rows_stretch){(int64_t)nr, busy, g->first, g->first + g->busy});
	}
	if (s->shown[SWEPT_GPU_BUSY].cnt == 0)
		rows_free(busy);
	return rc;
}

static int show_lives(struct pass *p)
{
	struct rows *rows = rows_new(6);
	int rc = rows ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; i < p->gpus && rc == SQLITE_OK; i++) {
		const struct gpu *g = &p->gpu[i];

		rc = rows_add(rows,
			      (const int64_t[]){g->nr, sweep_word(g->pid), sweep_word(g->device),
						sweep_word(context_of(g)), g->cover[0].start,
						g->cover[0].end});
	}
	return sweep_show(p->to, SWEPT_GPU_LIFE, 0, rows, rc);
}

static int show_covers(struct pass *p)
{
	struct rows *rows = rows_new(8);
	int rc = rows ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; i < p->gpus * COVERS && rc == SQLITE_OK; i++) {
		const struct gpu *g = &p->gpu[i / COVERS];
		const struct cover *c = &g->cover[i % COVERS];

		if (c->n)
			rc = rows_add(rows, (const int64_t[]){i % COVERS, sweep_word(g->pid),
							      sweep_word(g->device), c->n, c->ns,
							      c->total, c->start, c->end});
	}
	return sweep_show(p->to, SWEPT_GPU_COVER, 0, rows, rc);
}

static int show_sums(struct pass *p)
{
	struct rows *rows = rows_new(12);
	int rc = rows ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; i < p->sums && rc == SQLITE_OK; i++) {
		const struct sum *s = &p->sum[i];
		bool launched = s->what == GPU_WORK_KERNEL && p->gpu[s->gpu].launch >= 0;
		int64_t record[12] = {
			[SUM_WHAT] = s->what,
			sweep_word(s->key[4]),
			s->n,
			s->ns,
			s->has_bytes ? s->bytes : ROWS_NULL,
			s->first,
			s->last,
			launched ? s->small : ROWS_NULL,
		};

		for (int k = 0; k < SUM_WHAT; k++)
			record[k] = sweep_word(s->key[k]);
		rc = rows_add(rows, record);
	}
	return sweep_show(p->to, SWEPT_GPU_SUMS, 0, rows, rc);
}

static int take_launches(struct pass *p)
{
	return sql_rows(p->to->db, "SELECT pid, ns FROM sl_cuda_launch", launch_row, p);
}

int gpu_sweep(struct sweeps *s)
{
	struct pass p = {.to = s};
	struct rows *busy = rows_new(BUSY_WORDS);
	int rc = busy ? take_launches(&p) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = sql_rows(s->db,
			      "SELECT id FROM StringIds WHERE value GLOB 'nccl*' ORDER BY id",
			      name_row, &p.nccl);
	if (rc == SQLITE_OK)
		rc = read_ops(&p);
	number_gpus(&p);
	for (size_t i = 0; i < SORTERS; i++) {
		if (rc == SQLITE_OK && p.ops[i])
			rc = go_through(&p, p.ops[i], busy);
		sorter_free(p.ops[i]);
	}
	if (rc == SQLITE_OK)
		rc = show_lives(&p);
	if (rc == SQLITE_OK)
		rc = show_covers(&p);
	if (rc == SQLITE_OK)
		rc = show_sums(&p);
	if (rc == SQLITE_OK)
		rc = show_busy(s, &p, busy);
	else
		rows_free(busy);
	free(p.gpu);
	free(p.sum);
	slots_free(&p.by_key);
	free(p.launch);
	free(p.nccl.id);
	return rc;
}

/* ---- columns ---- */

/* gpu, globalPid, deviceId, contextId, start, end, next, idle, busy; at is hidden */
void sweep_busy_column(sqlite3_context *out, const struct sweeps *sweeps,
		       const struct rows_stretch *s, const int64_t *record, int column)
{
	const struct swept_gpu *g = &sweeps->gpu[s->number];
	const int64_t words[] = {
		s->number,
		g->pid,
		g->device,
		g->context,
		record[BUSY_START],
		record[BUSY_END],
		record[BUSY_IDLE] == ROWS_NULL ? ROWS_NULL
					       : plus(record[BUSY_END], record[BUSY_IDLE]),
		record[BUSY_IDLE],
		record[BUSY_SUM],
	};

	rows_give(out, words[column]);
}

/* what, globalPid, deviceId, n, ns, total, start, end */
void sweep_cover_column(sqlite3_context *out, const struct sweeps *sweeps,
			const struct rows_stretch *s, const int64_t *record, int column)
{
	if (column == 0)
		sqlite3_result_text(out, cover_kinds[record[0]].name, -1, SQLITE_STATIC);
	else
		rows_give_words(out, sweeps, s, record, column);
}

/* globalPid, deviceId, contextId, streamId, what, detail, n, ns, bytes, first, last, small */
void sweep_sum_column(sqlite3_context *out, const struct sweeps *sweeps,
		      const struct rows_stretch *s, const int64_t *record, int column)
{
	if (column == SUM_WHAT)
		sqlite3_result_text(out, gpu_work_tables[record[SUM_WHAT]].kind, -1, SQLITE_STATIC);
	else
		rows_give_words(out, sweeps, s, record, column);
}
