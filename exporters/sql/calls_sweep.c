/* calls_sweep.c - passes over the calls of CUDA and of the C library: those that rules look for, by kind, and the time that a launch takes. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/projection_internal.h"
#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/search.h"
#include "collector/base/slots.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/sweeps.h"

#define KINDS_MAX 8

/* Names of a kind, or words for them: those that @glob fits, other than those of which @not is a part. The first that fits counts. */
struct pattern {
	unsigned kind;
	const char *glob, *not ;
};

const char *const sweep_cuda_kinds[] = {"launch", "sync", "alloc", "load", "copy", "set", NULL};
enum {
	LAUNCH,
	SYNC,
	ALLOC,
	LOAD,
	COPY = SWEPT_COPY,
	SET = SWEPT_SET
};
static const struct pattern cuda_patterns[] = {
	{LAUNCH, "cudaLaunchKernel*", NULL},
	{LAUNCH, "cuLaunchKernel*", NULL},
	{LAUNCH, "cudaLaunchCooperativeKernel*", NULL},
	{LAUNCH, "cuLaunchCooperativeKernel*", NULL},
	{SYNC, "cudaDeviceSynchronize*", NULL},
	{SYNC, "cudaStreamSynchronize*", NULL},
	{SYNC, "cudaEventSynchronize*", NULL},
	{SYNC, "cudaThreadSynchronize*", NULL},
	{SYNC, "cuCtxSynchronize*", NULL},
	{SYNC, "cuStreamSynchronize*", NULL},
	{SYNC, "cuEventSynchronize*", NULL},
	{COPY, "cudaMemcpy*", NULL},
	{COPY, "cuMemcpy*", NULL},
	{SET, "cudaMemset*", "Async"},
	{SET, "cuMemset*", "Async"},
	{ALLOC, "cudaMalloc*", "Async"},
	{ALLOC, "cudaFree*", "Async"},
	{ALLOC, "cudaHostAlloc*", "Async"},
	{ALLOC, "cudaHostRegister*", "Async"},
	{ALLOC, "cudaHostUnregister*", "Async"},
	{ALLOC, "cuMemAlloc*", "Async"},
	{ALLOC, "cuMemFree*", "Async"},
	{ALLOC, "cuMemHostAlloc*", "Async"},
	{ALLOC, "cuMemHostRegister*", "Async"},
	{ALLOC, "cuMemHostUnregister*", "Async"},
	{ALLOC, "cuMemCreate*", "Async"},
	{ALLOC, "cuMemRelease*", "Async"},
	{ALLOC, "cuMemMap*", "Async"},
	{ALLOC, "cuMemUnmap*", "Async"},
	{LOAD, "cuModuleLoad*", NULL},
	{LOAD, "cudaModuleLoad*", NULL},
	{LOAD, "cuLibraryLoad*", NULL},
	{LOAD, "cudaLibraryLoad*", NULL},
	{LOAD, "cuLinkAddData*", NULL},
	{LOAD, "cuLinkAddFile*", NULL},
	{LOAD, "cuLinkComplete*", NULL},
	{0, NULL, NULL},
};

const char *const sweep_os_kinds[] = {"lock",   "condition", "barrier", "join",
				      "create", "library",   "sync",    NULL};
enum {
	LOCK,
	CONDITION,
	BARRIER,
	JOIN,
	CREATE,
	LIBRARY,
	DISK
};
/* Of waits and operations as SL_FUNCTION_KINDS has them. */
static const struct pattern os_patterns[] = {
	{LOCK, "lock", NULL},       {CONDITION, "condition", NULL},
	{BARRIER, "barrier", NULL}, {JOIN, "join", NULL},
	{CREATE, "create", NULL},   {LIBRARY, "load", NULL},
	{DISK, "sync", NULL},       {0, NULL, NULL},
};

static const char os_names[] =
	"SELECT nameId, iif(file = 'sync', file, waits) FROM SL_FUNCTION_KINDS ORDER BY nameId";

/* ---- names ---- */

struct name {
	int64_t id;
	unsigned kind;
};

struct launches {
	int64_t pid, n, ns;
};

struct caller {
	int64_t tid, n;
};

struct pass {
	const struct pattern *patterns;
	unsigned words;
	struct name *name; /* in the order of ids */
	size_t names;
	struct rows *rows[KINDS_MAX];
	struct launches *launch;
	size_t launches;
	struct sweep_span span;
	struct caller *caller; /* in the order in which they come */
	struct slots by_tid;   /* callers */
	size_t callers, callers_room;
	size_t latest; /* caller */
};

static int name_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;
	const char *text = (const char *)sqlite3_column_text(stmt, 1);
	const struct pattern *fits = p->patterns;
	struct name *more;

	while (text && fits->glob &&
	       (sqlite3_strglob(fits->glob, text) != 0 || (fits->not &&strstr(text, fits->not ))))
		fits++;
	if (!text || !fits->glob)
		return SQLITE_OK;
	more = reallocarray(p->name, p->names + 1, sizeof(*more));
	if (!more)
		return SQLITE_NOMEM;
	p->name = more;
	more[p->names++] = (struct name){sqlite3_column_int64(stmt, 0), fits->kind};
	return SQLITE_OK;
}

static const struct name *name_of(const struct pass *p, int64_t id)
{
	size_t low = search_first(i, 0, p->names, p->name[i].id < id);

	return low < p->names && p->name[low].id == id ? &p->name[low] : NULL;
}

/* ---- calls ---- */

static int count_call(struct pass *p, int64_t tid)
{
	uint64_t hash = hash_u64((uint64_t)tid);
	uint32_t at, i;

	if (p->callers && p->caller[p->latest].tid == tid) {
		p->caller[p->latest].n++;
		return SQLITE_OK;
	}
	i = slots_first(&p->by_tid, hash, &at);
	while (i != SLOTS_NONE && p->caller[i].tid != tid)
		i = slots_next(&p->by_tid, hash, &at);
	if (i == SLOTS_NONE) {
		i = (uint32_t)p->callers;
		if (!grow(&p->caller, p->callers, &p->callers_room, sizeof(*p->caller)) ||
		    !slots_add(&p->by_tid, hash, i))
			return SQLITE_NOMEM;
		p->caller[p->callers++] = (struct caller){.tid = tid};
	}
	p->latest = i;
	p->caller[p->latest].n++;
	return SQLITE_OK;
}

static int launched(struct pass *p, struct sweep_id start, struct sweep_id end, struct sweep_id tid)
{
	struct launches *l = p->launch;
	size_t i = 0;

	if (!start.known || !end.known || !tid.known || end.value < start.value)
		return SQLITE_OK;
	while (i < p->launches && l[i].pid != tid.value >> 24)
		i++;
	if (i == p->launches) {
		l = reallocarray(p->launch, i + 1, sizeof(*l));
		if (!l)
			return SQLITE_NOMEM;
		p->launch = l;
		l[p->launches++] = (struct launches){.pid = tid.value >> 24};
	}
	l[i].n++;
	/* figures of damaged reports may be any */
	l[i].ns = (int64_t)((uint64_t)l[i].ns + (uint64_t)end.value - (uint64_t)start.value);
	return SQLITE_OK;
}

/* nameId, start, end, globalTid and the other columns of the table */
static int call_row(void *ctx, sqlite3_value **v)
{
	struct pass *p = ctx;
	struct sweep_id id = sweep_value(v[0]);
	struct sweep_id start = sweep_value(v[1]), end = sweep_value(v[2]), tid = sweep_value(v[3]);
	const struct name *name = id.known ? name_of(p, id.value) : NULL;
	int64_t record[KINDS_MAX];
	struct rows **to;

	sweep_span_add(&p->span, start, end);
	if (tid.known && count_call(p, tid.value) != SQLITE_OK)
		return SQLITE_NOMEM;
	if (!name)
		return SQLITE_OK;
	if (p->patterns == cuda_patterns && name->kind == LAUNCH)
		return launched(p, start, end, tid);
	to = &p->rows[name->kind];
	if (!*to)
		*to = rows_new(p->words);
	if (!*to)
		return SQLITE_NOMEM;
	for (unsigned i = 0; i < p->words; i++)
		record[i] = sweep_word(sweep_value(v[i]));
	return rows_add(*to, record);
}

static int show_launches(struct sweeps *to, const struct pass *p)
{
	struct rows *rows = rows_new(3);
	int rc = rows ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; i < p->launches && rc == SQLITE_OK; i++)
		rc = rows_add(rows,
			      (const int64_t[]){p->launch[i].pid, p->launch[i].n, p->launch[i].ns});
	return sweep_show(to, SWEPT_CUDA_LAUNCH, 0, rows, rc);
}

static int show_callers(struct sweeps *to, const struct pass *p, unsigned events)
{
	struct rows *rows = rows_new(2);
	int rc = rows ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; i < p->callers && rc == SQLITE_OK; i++)
		rc = rows_add(rows, (const int64_t[]){p->caller[i].tid, p->caller[i].n});
	return sweep_show(to, SWEPT_THREADS, events, rows, rc);
}

static int show(struct sweeps *to, struct pass *p, unsigned events, enum swept_table table)
{
	int rc = show_callers(to, p, events);

	if (rc == SQLITE_OK)
		rc = sweep_show_span(to, events, &p->span, true);
	for (unsigned i = 0; i < KINDS_MAX && rc == SQLITE_OK; i++)
		if (p->rows[i]) {
			rc = sweep_show(to, table, i, p->rows[i], SQLITE_OK);
			p->rows[i] = NULL;
		}
	return rc;
}

static int read_calls(sqlite3 *db, struct pass *p, const char *names, const char *columns,
		      const char *table)
{
	int rc = sql_rows(db, names, name_row, p);

	return rc == SQLITE_OK ? sql_values(db, columns, table, call_row, p) : rc;
}

static void free_pass(struct pass *p)
{
	for (unsigned i = 0; i < KINDS_MAX; i++)
		rows_free(p->rows[i]);
	free(p->name);
	free(p->launch);
	free(p->caller);
	slots_free(&p->by_tid);
}

int cuda_sweep(struct sweeps *s)
{
	struct pass p = {.patterns = cuda_patterns, .words = 5, .span = SWEEP_SPAN_NONE};
	int rc = read_calls(
		s->db, &p, "SELECT id, value FROM StringIds WHERE value GLOB 'cu*' ORDER BY id",
		"nameId, start, end, globalTid, correlationId", "CUPTI_ACTIVITY_KIND_RUNTIME");

	if (rc == SQLITE_OK)
		rc = show_launches(s, &p);
	if (rc == SQLITE_OK)
		rc = show(s, &p, SWEPT_RUNTIME, SWEPT_CUDA_CALLS);
	free_pass(&p);
	return rc;
}

int os_sweep(struct sweeps *s)
{
	struct pass p = {.patterns = os_patterns, .words = 6, .span = SWEEP_SPAN_NONE};
	int rc = read_calls(s->db, &p, os_names,
			    "nameId, start, end, globalTid, returnValue, pathId", "OSRT_API");

	if (rc == SQLITE_OK)
		rc = show(s, &p, SWEPT_OSRT, SWEPT_OS_CALLS);
	free_pass(&p);
	return rc;
}

/* ---- columns ---- */

/* Those from the second on are the words. */
void sweep_call_column(sqlite3_context *out, const struct sweeps *sweeps,
		       const struct rows_stretch *s, const int64_t *record, int column)
{
	(void)sweeps, (void)s;
	rows_give(out, record[column - 1]);
}

/* pid, ns */
void sweep_launch_column(sqlite3_context *out, const struct sweeps *sweeps,
			 const struct rows_stretch *s, const int64_t *record, int column)
{
	(void)sweeps, (void)s;
	if (column == 0)
		sqlite3_result_int64(out, record[0]);
	else
		sqlite3_result_double(out, (double)record[2] / (double)record[1]);
}
