/* launches.c - calls and work are joined by sorting both by process and correlation id. */
#include "exporters/events/launches.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/events/gpu_work.h"
#include "exporters/events/sorter.h"
#include "exporters/read/sql_rows.h"

#define IDS       2 /* process and correlation id, in front of each record */
#define WORDS_MAX 4

struct launches {
	struct sorter *calls, *work;
	unsigned words;
	bool any_call;
	int64_t least; /* process */
};

struct call_record {
	int64_t process, id;
	struct launch_call call;
};

/* ---- SQL ---- */

#define CALLS(columns, from)                                                                      \
	"SELECT globalTid >> 24 AS process, correlationId, start, end, globalTid, nameId" columns \
	" FROM " from " WHERE correlationId <> 0 AND globalTid IS NOT NULL AND start IS NOT NULL"

/* SL_LAUNCHES: with min() SQLite takes the other columns from the row that has it. */
/* clang-format off */
static const char views[] =
	"SAVEPOINT SL_LAUNCHES;"
	"CREATE TEMP VIEW IF NOT EXISTS SL_LAUNCH_CALLS AS " CALLS("", "CUPTI_ACTIVITY_KIND_RUNTIME") ";"
	"CREATE TEMP VIEW IF NOT EXISTS SL_LAUNCH_STACKS AS " CALLS(", stack", "SL_CHAIN_LAUNCHES") ";"
	"CREATE TEMP VIEW IF NOT EXISTS SL_LAUNCHES AS "
	"SELECT w.*, c.start AS callStart, c.end AS callEnd, globalTid, nameId FROM SL_GPU_WORK AS w "
	"LEFT JOIN (SELECT process, correlationId, min(start) AS start, end, globalTid, nameId "
	"FROM SL_LAUNCH_CALLS GROUP BY 1, 2) AS c ON c.correlationId = w.correlationId AND c.process = w.process;"
	"RELEASE SL_LAUNCHES";
/* clang-format on */

int launches_register(sqlite3 *db)
{
	int rc = gpu_work_register(db);

	if (rc != SQLITE_OK ||
	    sql_number(db, "SELECT 1 FROM temp.sqlite_master WHERE name = 'SL_LAUNCHES'", 0))
		return rc;
	return sqlite3_exec(db, views, NULL, NULL, NULL);
}

/* ---- calls and work ---- */

struct launches *launches_new(unsigned words)
{
	struct launches *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->words = words;
	l->calls = sorter_new(sizeof(struct call_record) / 8, IDS);
	l->work = sorter_new(IDS + words, IDS);
	if (l->calls && l->work)
		return l;
	launches_free(l);
	return NULL;
}

void launches_free(struct launches *l)
{
	if (!l)
		return;
	sorter_free(l->calls);
	sorter_free(l->work);
	free(l);
}

/* ---- adding ---- */

int launches_add_call(struct launches *l, int64_t id, const struct launch_call *call)
{
	const struct call_record c = {call->tid >> 24, id, *call};

	if (!l->any_call || c.process < l->least)
		l->least = c.process;
	l->any_call = true;
	return launch_is_id(id) ? sorter_add(l->calls, (const int64_t *)&c) : SQLITE_OK;
}

int launches_add_work(struct launches *l, int64_t pid, int64_t id, const int64_t *words)
{
	int64_t w[IDS + WORDS_MAX] = {pid == LAUNCH_NONE ? l->least : pid >> 24, id};

	memcpy(w + IDS, words, l->words * sizeof(*words));
	return launch_is_id(id) ? sorter_add(l->work, w) : SQLITE_OK;
}

/* ---- reading a report ---- */

static int64_t value_or(sqlite3_value *v, int64_t none)
{
	int64_t value = sqlite3_value_int64(v);

	/* Most are not 0, which spares a look at the type. */
	return value == 0 && sqlite3_value_type(v) == SQLITE_NULL ? none : value;
}

/* globalTid, start, end, correlationId */
static int call_row(void *ctx, sqlite3_value **v)
{
	const struct launch_call c = {value_or(v[0], LAUNCH_NONE), value_or(v[1], LAUNCH_NONE),
				      value_or(v[2], LAUNCH_OPEN), LAUNCH_NONE};

	return c.tid == LAUNCH_NONE || c.start == LAUNCH_NONE
		       ? SQLITE_OK
		       : launches_add_call(ctx, value_or(v[3], LAUNCH_NONE), &c);
}

int launches_read_calls(struct launches *l, sqlite3 *db)
{
	return sql_values(db, "globalTid, start, end, correlationId", "CUPTI_ACTIVITY_KIND_RUNTIME",
			  call_row, l);
}

/* globalPid, correlationId, and the words */
static int work_row(void *ctx, sqlite3_value **v)
{
	struct launches *l = ctx;
	int64_t words[WORDS_MAX] = {0};

	for (unsigned i = 0; i < l->words; i++)
		words[i] = value_or(v[IDS + i], LAUNCH_NONE);
	return launches_add_work(l, value_or(v[0], LAUNCH_NONE), value_or(v[1], LAUNCH_NONE),
				 words);
}

int launches_read_work(struct launches *l, sqlite3 *db, unsigned kinds, const char *columns,
		       const char *where)
{
	char *all = sqlite3_mprintf("globalPid, correlationId, %s", columns);
	int rc = all ? SQLITE_OK : SQLITE_NOMEM;

	for (unsigned kind = 0; kind < GPU_WORK_KINDS && rc == SQLITE_OK; kind++)
		if (kinds >> kind & 1)
			rc = gpu_work_values(db, kind, all, where, work_row, l);
	sqlite3_free(all);
	return rc;
}

/* ---- the join ---- */

static int next(struct sorter *s, const int64_t **record)
{
	int rc = sorter_next(s, record);

	if (rc == SQLITE_DONE)
		*record = NULL;
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* By process and id: below 0, 0, above. */
static int compare(const int64_t *a, const int64_t *b)
{
	for (int i = 0; i < IDS; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* Moves @call behind all calls with its id, of which the first to begin is @first. */
static int take_call(struct launches *l, const int64_t **call, struct call_record *first)
{
	int rc = SQLITE_OK;

	memcpy(first, *call, sizeof(*first));
	while (rc == SQLITE_OK && (rc = next(l->calls, call)) == SQLITE_OK && *call &&
	       compare(*call, &first->process) == 0)
		if (((const struct call_record *)(const void *)*call)->call.start <
		    first->call.start)
			memcpy(first, *call, sizeof(*first));
	return rc;
}

/* Gives the work that has the id of @c, and moves @work behind it. */
static int give_work(struct launches *l, const int64_t **work, const struct call_record *c,
		     const struct launch_reader *reader, void *ctx)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && *work && compare(*work, &c->process) == 0) {
		rc = reader->work(ctx, &c->call, *work + IDS);
		if (rc == SQLITE_OK)
			rc = next(l->work, work);
	}
	return rc == SQLITE_OK && reader->done ? reader->done(ctx, &c->call) : rc;
}

int launches_join(struct launches *l, const struct launch_reader *reader, void *ctx)
{
	const int64_t *call = NULL, *work = NULL;
	struct call_record first;
	int rc = sorter_rewind(l->calls);

	if (rc == SQLITE_OK)
		rc = sorter_rewind(l->work);
	if (rc == SQLITE_OK)
		rc = next(l->calls, &call);
	if (rc == SQLITE_OK)
		rc = next(l->work, &work);
	while (rc == SQLITE_OK && call && work) {
		int order = compare(call, work);

		if (order < 0) {
			rc = next(l->calls, &call);
		} else if (order > 0) {
			rc = next(l->work, &work);
		} else {
			rc = take_call(l, &call, &first);
			if (rc == SQLITE_OK)
				rc = give_work(l, &work, &first, reader, ctx);
		}
	}
	return rc;
}
