/* thread_states_rows.c - sl_thread_states(traced, until) as a table: the states of threads between context switches. */
#include <stddef.h>
#include <string.h>

#include "exporters/events/thread_states.h"
#include "exporters/sql/sweeps.h"
#include "exporters/sql/vtab.h"

enum {
	GLOBAL_TID,
	START,
	END,
	STATE,
	CPU,
	LAST_CPU,
	WAKEUP,
	WAKER,
	PREEMPTED,
	OPEN,
	TRACED,
	UNTIL
};

static const char *const names[THREAD_STATE_CNT] = {
	[THREAD_RUNNING] = "running",   [THREAD_RUNNABLE] = "runnable",
	[THREAD_SLEEPING] = "sleeping", [THREAD_BLOCKED] = "blocked",
	[THREAD_STOPPED] = "stopped",   [THREAD_ENDED] = "ended",
	[THREAD_OFF_CPU] = "off CPU",
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct thread_states *states;
	struct thread_state at;
	int64_t row; /* 0: at the end */
};

static int states_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			  sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(db, of,
			    "CREATE TABLE x(globalTid INTEGER, start INTEGER, end INTEGER, "
			    "state TEXT, cpu INTEGER, lastCpu INTEGER, wakeupTime INTEGER, "
			    "wakerTid INTEGER, preempted INTEGER, open INTEGER, traced HIDDEN, "
			    "until HIDDEN)",
			    out);
}

/* The plan has a bit for each argument. Rows come by thread and start. */
static int states_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	int argv = 0;

	(void)v;
	info->estimatedCost = 1e7;
	info->estimatedRows = 1000000;
	for (int column = TRACED; column <= UNTIL; column++)
		for (int i = 0; i < info->nConstraint; i++) {
			const struct sqlite3_index_constraint *c = &info->aConstraint[i];

			if (c->iColumn != column || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
				continue;
			if (!c->usable)
				return SQLITE_CONSTRAINT;
			info->aConstraintUsage[i].argvIndex = ++argv;
			info->aConstraintUsage[i].omit = 1;
			info->idxNum |= 1 << (column - TRACED);
			break;
		}
	info->orderByConsumed = info->nOrderBy > 0 && info->nOrderBy <= 2;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].iColumn != i || info->aOrderBy[i].desc)
			info->orderByConsumed = 0;
	return SQLITE_OK;
}

static int states_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	(void)v;
	return vtab_open(sizeof(struct cursor), out);
}

static int states_close(sqlite3_vtab_cursor *base)
{
	thread_states_free(((struct cursor *)base)->states);
	return vtab_close(base);
}

static int states_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	int rc = thread_states_next(c->states, &c->at);

	c->row = rc == SQLITE_ROW ? c->row + 1 : 0;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int states_filter(sqlite3_vtab_cursor *base, int idx, const char *plan, int argc,
			 sqlite3_value **argv)
{
	const struct vtab *v = (struct vtab *)base->pVtab;
	struct cursor *c = (struct cursor *)base;
	struct thread_states_options opt = {.until = THREAD_NONE};
	int rc, at = 0;

	(void)plan, (void)argc;
	if (idx & 1)
		opt.traced_only = sqlite3_value_int(argv[at++]) != 0;
	if (idx & 2 && sqlite3_value_type(argv[at]) != SQLITE_NULL)
		opt.until = sqlite3_value_int64(argv[at]);
	thread_states_free(c->states);
	c->row = 0;
	rc = thread_states_open(v->db, &opt, &c->states);
	if (rc == SQLITE_ERROR) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(v->db));
	}
	return rc == SQLITE_OK ? states_next(base) : rc;
}

static int states_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->row == 0;
}

static int states_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct cursor *)base)->row;
	return SQLITE_OK;
}

static int states_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	static const size_t numbers[] = {
		[GLOBAL_TID] = offsetof(struct thread_state, tid),
		[START] = offsetof(struct thread_state, start),
		[END] = offsetof(struct thread_state, end),
		[CPU] = offsetof(struct thread_state, cpu),
		[LAST_CPU] = offsetof(struct thread_state, last_cpu),
		[WAKEUP] = offsetof(struct thread_state, wakeup),
		[WAKER] = offsetof(struct thread_state, waker),
	};
	const struct thread_state *s = &((struct cursor *)base)->at;
	int64_t number;

	switch (col) {
	case STATE:
		sqlite3_result_text(out, names[s->state], -1, SQLITE_STATIC);
		break;
	case PREEMPTED:
		sqlite3_result_int(out, s->is_preempted);
		break;
	case OPEN:
		sqlite3_result_int(out, s->is_open);
		break;
	case TRACED:
	case UNTIL:
		break;
	default:
		memcpy(&number, (const char *)s + numbers[col], sizeof(number));
		if (number != THREAD_NONE)
			sqlite3_result_int64(out, number);
	}
	return SQLITE_OK;
}

static const sqlite3_module states_module = {
	.xConnect = states_connect,
	.xBestIndex = states_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = states_open,
	.xClose = states_close,
	.xFilter = states_filter,
	.xNext = states_next,
	.xEof = states_eof,
	.xColumn = states_column,
	.xRowid = states_rowid,
};

int thread_states_register(sqlite3 *db)
{
	return sqlite3_create_module(db, "sl_thread_states", &states_module, NULL);
}
