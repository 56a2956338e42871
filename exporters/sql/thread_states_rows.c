/* thread_states_rows.c - sl_thread_states(traced, until) as a table: the states of threads between context switches. */
#include <stddef.h>
#include <string.h>

#include "exporters/events/thread_states.h"
#include "exporters/sql/sweeps.h"
#include "exporters/sql/tables/vtab.h"

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
	OPEN
};

static const char *const names[THREAD_STATE_CNT] = {
	[THREAD_RUNNING] = "running",   [THREAD_RUNNABLE] = "runnable",
	[THREAD_SLEEPING] = "sleeping", [THREAD_BLOCKED] = "blocked",
	[THREAD_STOPPED] = "stopped",   [THREAD_ENDED] = "ended",
	[THREAD_OFF_CPU] = "off CPU",
};

struct cursor {
	struct vtab_cursor base;
	struct thread_states *states;
	struct thread_state at;
};

static void states_end(struct vtab_cursor *c)
{
	thread_states_free(((struct cursor *)c)->states);
	((struct cursor *)c)->states = NULL;
}

static int states_begin(struct vtab_cursor *c, sqlite3 *db, sqlite3_value *const *args)
{
	struct thread_states_options opt = {
		.traced_only = args[0] && sqlite3_value_int(args[0]) != 0,
		.until = args[1] && sqlite3_value_type(args[1]) != SQLITE_NULL
				 ? sqlite3_value_int64(args[1])
				 : THREAD_NONE,
	};

	return thread_states_open(db, &opt, &((struct cursor *)c)->states);
}

static int states_next(struct vtab_cursor *c)
{
	return thread_states_next(((struct cursor *)c)->states, &((struct cursor *)c)->at);
}

static int states_column(struct vtab_cursor *c, sqlite3_context *out, int col)
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
	const struct thread_state *s = &((struct cursor *)c)->at;
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
	default:
		memcpy(&number, (const char *)s + numbers[col], sizeof(number));
		if (number != THREAD_NONE)
			sqlite3_result_int64(out, number);
	}
	return SQLITE_OK;
}

int thread_states_register(sqlite3 *db)
{
	static const struct vtab_table table = {
		.columns = "CREATE TABLE x(globalTid INTEGER, start INTEGER, end INTEGER, state "
			   "TEXT, cpu INTEGER, lastCpu INTEGER, wakeupTime INTEGER, wakerTid "
			   "INTEGER, preempted INTEGER, open INTEGER, traced HIDDEN, until HIDDEN)",
		.first_arg = OPEN + 1,
		.arg_cnt = 2,
		.order = GLOBAL_TID,
		.order_cnt = 2,
		.rows = 1000000,
		.cursor_size = sizeof(struct cursor),
		.begin = states_begin,
		.next = states_next,
		.column = states_column,
		.end = states_end,
	};

	return vtab_register(db, "sl_thread_states", &table);
}
