/*
 * calls_sweep.c - sl_cuda_sweep() and sl_os_sweep(): the calls that rules look for, by kind, and the time that a launch
 * takes.
 *
 * They fill cuda_calls, os_calls, cuda_launch, event_spans and thread_calls (described in analyze/rules/shared/).
 */
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

static const char *const cuda_kinds[] = {"launch", "sync", "alloc", "load", "copy", "set", NULL};
enum {
	LAUNCH,
	SYNC,
	ALLOC,
	LOAD,
	COPY = SWEPT_COPY,
	SET
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

static const char *const os_kinds[] = {"lock",   "condition", "barrier", "join",
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
	int64_t cnt;
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

	p->cnt++;
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

static int write_launches(sqlite3 *db, const struct pass *p)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO temp.cuda_launch VALUES (?1, ?2)", -1, &stmt,
				    NULL);

	for (size_t i = 0; i < p->launches && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(stmt, 1, p->launch[i].pid);
		sqlite3_bind_double(stmt, 2, (double)p->launch[i].ns / (double)p->launch[i].n);
		rc = sweep_insert(stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int write_callers(sqlite3 *db, const struct pass *p, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO temp.thread_calls VALUES (?, ?, ?)", -1, &stmt,
				    NULL);

	if (rc == SQLITE_OK)
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	for (size_t i = 0; i < p->callers && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(stmt, 2, p->caller[i].tid);
		sqlite3_bind_int64(stmt, 3, p->caller[i].n);
		rc = sweep_insert(stmt);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_OK ? sweep_span_write(db, table, &p->span, true) : rc;
}

static int show(struct pass *p, struct rows_shown *shown)
{
	int rc = SQLITE_OK;

	for (unsigned i = 0; i < KINDS_MAX && rc == SQLITE_OK; i++) {
		struct rows_stretch s = {.number = i, .rows = p->rows[i]};

		if (!s.rows)
			continue;
		rc = rows_end(s.rows);
		s.last = rows_cnt(s.rows);
		if (rc == SQLITE_OK)
			rc = rows_shown_add(shown, &s);
		if (rc == SQLITE_OK)
			p->rows[i] = NULL;
	}
	return rc;
}

static int read_calls(sqlite3 *db, struct pass *p, const char *names, const char *columns,
		      const char *table, struct rows_shown *shown)
{
	int rc = rows_shown_clear(shown);

	if (rc == SQLITE_OK)
		rc = sql_rows(db, names, name_row, p);
	if (rc == SQLITE_OK)
		rc = sql_values(db, columns, table, call_row, p);
	if (rc == SQLITE_OK)
		rc = write_callers(db, p, table);
	return rc == SQLITE_OK ? show(p, shown) : rc;
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

int cuda_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows)
{
	struct pass p = {.patterns = cuda_patterns, .words = 5, .span = SWEEP_SPAN_NONE};
	int rc = read_calls(db, &p,
			    "SELECT id, value FROM StringIds WHERE value GLOB 'cu*' ORDER BY id",
			    "nameId, start, end, globalTid, correlationId",
			    "CUPTI_ACTIVITY_KIND_RUNTIME", &s->cuda_calls);

	if (rc == SQLITE_OK)
		rc = write_launches(db, &p);
	*rows = p.cnt;
	free_pass(&p);
	return rc;
}

int os_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows)
{
	struct pass p = {.patterns = os_patterns, .words = 6, .span = SWEEP_SPAN_NONE};
	int rc = read_calls(db, &p, os_names, "nameId, start, end, globalTid, returnValue, pathId",
			    "OSRT_API", &s->os_calls);

	*rows = p.cnt;
	free_pass(&p);
	return rc;
}

/* ---- the tables ---- */

/* Columns from the second on are the words after the name, then that. */
static void give_call(sqlite3_context *out, const struct sweeps *sweeps,
		      const struct rows_stretch *s, const int64_t *record, int column)
{
	(void)sweeps, (void)s;
	rows_give(out, record[column - 1]);
}

struct rows_table cuda_calls_table(struct sweeps *s)
{
	return (struct rows_table){
		.name = "sl_cuda_calls",
		.columns = "CREATE TABLE x(what TEXT, nameId INTEGER, start INTEGER, end INTEGER, "
			   "globalTid INTEGER, correlationId INTEGER)",
		.number = 0,
		.first = -1,
		.at = -1,
		.other = -1,
		.names = cuda_kinds,
		.column = give_call,
		.sweeps = s,
		.shown = &s->cuda_calls,
	};
}

struct rows_table os_calls_table(struct sweeps *s)
{
	return (struct rows_table){
		.name = "sl_os_calls",
		.columns = "CREATE TABLE x(what TEXT, nameId INTEGER, start INTEGER, end INTEGER, "
			   "globalTid INTEGER, returnValue INTEGER, pathId INTEGER)",
		.number = 0,
		.first = -1,
		.at = -1,
		.other = -1,
		.names = os_kinds,
		.column = give_call,
		.sweeps = s,
		.shown = &s->os_calls,
	};
}
