/* thread_switches.c - the one meaning of a row of SCHED_EVENTS and of SL_SCHED_DETAIL. */
#include "exporters/events/thread_switches.h"

#include <stdlib.h>

#include "collector/base/grow.h"

static const struct {
	const char *text;
	enum thread_state_kind kind;
} labels[] = {
	{"unknown", THREAD_OFF_CPU},
	{"running", THREAD_RUNNABLE}, /* it could have gone on */
	{"interruptible", THREAD_SLEEPING},
	{"uninterruptible", THREAD_BLOCKED},
	{"stopped", THREAD_STOPPED},
	{"terminated", THREAD_ENDED},
	{"unscheduled", THREAD_OFF_CPU},
	{"waiting", THREAD_SLEEPING},
	{"OS runtime", THREAD_OFF_CPU},
	{"initialized", THREAD_OFF_CPU},
	{"transition", THREAD_OFF_CPU},
};

static bool is_label(int64_t label)
{
	return label >= 0 && label < (int64_t)(sizeof(labels) / sizeof(*labels));
}

enum thread_state_kind thread_state_of(int64_t label)
{
	return is_label(label) ? labels[label].kind : THREAD_OFF_CPU;
}

const char *thread_label_text(int64_t label)
{
	return is_label(label) ? labels[label].text : NULL;
}

void thread_switch_complete(struct thread_switch *s, const struct thread_detail *d)
{
	if (s->is_in) {
		s->wakeup = d->wakeup;
		s->waker = d->waker;
	} else if (d->is_preempted) {
		s->state = THREAD_RUNNABLE;
	} else if (s->state == THREAD_RUNNABLE) {
		s->state = THREAD_OFF_CPU;
	}
}

/* ---- beside switches ---- */

struct thread_details {
	sqlite3_stmt *stmt;
	struct thread_detail *now; /* of the current time */
	size_t now_cnt, now_room;
	struct thread_detail ahead;
	bool has_ahead, failed;
};

static int64_t column(sqlite3_stmt *stmt, int col)
{
	return sqlite3_column_type(stmt, col) == SQLITE_NULL ? THREAD_NONE
							     : sqlite3_column_int64(stmt, col);
}

static void read_ahead(struct thread_details *s)
{
	int rc = sqlite3_step(s->stmt);

	s->has_ahead = rc == SQLITE_ROW;
	s->failed |= rc != SQLITE_ROW && rc != SQLITE_DONE;
	if (!s->has_ahead)
		return;
	s->ahead = (struct thread_detail){
		.tid = column(s->stmt, 0),
		.time = sqlite3_column_int64(s->stmt, 1),
		.is_in = sqlite3_column_type(s->stmt, 2) == SQLITE_NULL,
		.is_preempted = sqlite3_column_int(s->stmt, 2) != 0,
		.wakeup = column(s->stmt, 3),
		.waker = column(s->stmt, 4),
		.priority = column(s->stmt, 5),
	};
}

struct thread_details *thread_details_open(sqlite3 *db, int64_t after, bool in_order)
{
	struct thread_details *s = calloc(1, sizeof(*s));
	char *sql = sqlite3_mprintf(
		"SELECT globalTid, start, preempted, wakeupTime, wakerTid, priority "
		"FROM SL_SCHED_DETAIL%s%s",
		after == INT64_MIN ? "" : " WHERE rowid > ?1", in_order ? "" : " ORDER BY start");
	int rc = s && sql ? sqlite3_prepare_v2(db, sql, -1, &s->stmt, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (rc != SQLITE_OK) {
		free(s);
		return NULL;
	}
	if (after != INT64_MIN)
		sqlite3_bind_int64(s->stmt, 1, after);
	read_ahead(s);
	return s;
}

const struct thread_detail *thread_details_at(struct thread_details *s, int64_t time, int64_t tid,
					      bool is_in)
{
	if (!s)
		return NULL;
	if (s->now_cnt > 0 && s->now[0].time != time)
		s->now_cnt = 0;
	for (; s->has_ahead && s->ahead.time <= time; read_ahead(s)) {
		if (s->ahead.time < time)
			continue;
		if (grow(&s->now, s->now_cnt, &s->now_room, sizeof(*s->now)))
			s->now[s->now_cnt++] = s->ahead;
		else
			s->failed = true;
	}
	for (size_t i = 0; i < s->now_cnt; i++)
		if (s->now[i].tid == tid && s->now[i].is_in == is_in)
			return &s->now[i];
	return NULL;
}

bool thread_details_failed(const struct thread_details *s)
{
	return s && s->failed;
}

void thread_details_free(struct thread_details *s)
{
	if (!s)
		return;
	sqlite3_finalize(s->stmt);
	free(s->now);
	free(s);
}
