/*
 * thread_states.c - switches and details are sorted by thread and time, in little memory; then each switch begins a state.
 *
 * The switches of a thread are nearly in the order of time, those of all threads are not: each of several sorters has a few
 * threads.
 */
#include "exporters/events/thread_states.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/search.h"
#include "exporters/events/sorter.h"
#include "exporters/read/id_map.h"
#include "exporters/read/sql_rows.h"

#define SORTERS 128
#define PENDING 3 /* states that one switch ends or begins */

enum { /* words of a record */
	TID,
	TIME,
	PLACE, /* order at one time: switches onto a CPU first, details before their switches; flags in the low bits */
	KEYS,
	CPU = KEYS, /* of a switch */
	WAKEUP = CPU,
	WAKER,
	WORDS
};
enum { /* places */
	DETAIL_IN,
	IN,
	DETAIL_OUT,
	OUT
};
#define PLACE_OF(place, flag) ((int64_t)(place) << 8 | (int64_t)(flag))
#define PLACE_IN(word)        ((int)((word) >> 8))
#define FLAG_IN(word)         ((int)((word)&255)) /* state of a switch, is_preempted of a detail */

struct thread_states {
	struct thread_states_options opt;
	struct id_map pids; /* traced processes; none: all are */
	struct id_map tids;
	size_t switched;                /* tids that have switches, before others */
	struct sorter *sorter[SORTERS]; /* that of a thread: its number modulo SORTERS */
	const int64_t *head[SORTERS];   /* the next record; NULL: at the end */
	int64_t last;                   /* time of the last switch */
	uint32_t *order;                /* numbers of threads by their ids */
	size_t at;
	struct thread_switch now; /* the state from this one on comes next */
	int64_t last_cpu;         /* of the switch before it */
	bool has_now;
	struct thread_state pending[PENDING];
	unsigned pending_cnt, pending_at;
};

/* ---- reading ---- */

static int pid_row(void *ctx, sqlite3_stmt *stmt)
{
	struct thread_states *s = ctx;

	return id_map_add(&s->pids, sqlite3_column_int64(stmt, 0) >> 24) < 0 ? SQLITE_NOMEM
									     : SQLITE_OK;
}

static int add(struct thread_states *s, const int64_t *record)
{
	long number = id_map_find(&s->tids, record[TID]);
	struct sorter **to;

	if (number < 0) {
		if (s->pids.cnt > 0 && id_map_find(&s->pids, record[TID] >> 24) < 0)
			return SQLITE_OK;
		number = id_map_add(&s->tids, record[TID]);
		if (number < 0)
			return SQLITE_NOMEM;
	}
	to = &s->sorter[number % SORTERS];
	if (!*to && !(*to = sorter_new(WORDS, KEYS)))
		return SQLITE_NOMEM;
	return sorter_add(*to, record);
}

static int64_t number(sqlite3_value *v)
{
	return sqlite3_value_type(v) == SQLITE_NULL ? THREAD_NONE : sqlite3_value_int64(v);
}

/* globalTid, start, isSchedIn, threadState, cpu */
static int switch_row(void *ctx, sqlite3_value **v)
{
	struct thread_states *s = ctx;
	bool is_in = sqlite3_value_int(v[2]) != 0;
	int64_t record[WORDS] = {
		[TID] = sqlite3_value_int64(v[0]),
		[TIME] = sqlite3_value_int64(v[1]),
		[PLACE] = is_in ? PLACE_OF(IN, THREAD_RUNNING)
				: PLACE_OF(OUT, thread_state_of(sqlite3_value_int64(v[3]))),
		[CPU] = number(v[4]),
	};

	if (record[TIME] > s->last)
		s->last = record[TIME];
	return add(s, record);
}

/* globalTid, start, preempted, wakeupTime, wakerTid */
static int detail_row(void *ctx, sqlite3_value **v)
{
	bool is_in = sqlite3_value_type(v[2]) == SQLITE_NULL;
	int64_t record[WORDS] = {
		[TID] = sqlite3_value_int64(v[0]),
		[TIME] = sqlite3_value_int64(v[1]),
		[PLACE] = PLACE_OF(is_in ? DETAIL_IN : DETAIL_OUT, sqlite3_value_int(v[2]) != 0),
		[WAKEUP] = number(v[3]),
		[WAKER] = number(v[4]),
	};

	return add(ctx, record);
}

static int64_t end_of_session(sqlite3 *db, int64_t last)
{
	int64_t end = sql_number(db, "SELECT max(duration) FROM ANALYSIS_DETAILS", 0);

	return end > last ? end : last;
}

static int read_all(struct thread_states *s, sqlite3 *db)
{
	int rc = SQLITE_OK;

	if (s->opt.traced_only)
		rc = sql_rows(db,
			      "SELECT DISTINCT globalPid FROM SL_PROCESS_TREE WHERE globalPid IS "
			      "NOT NULL AND (traced = 1 OR kind <> 0)",
			      pid_row, s);
	if (rc == SQLITE_OK)
		rc = sql_values(
			db, "globalTid, start, isSchedIn, threadState, cpu",
			"SCHED_EVENTS WHERE globalTid IS NOT NULL AND start IS NOT NULL AND "
			"isSchedIn IS NOT NULL",
			switch_row, s);
	s->switched = s->tids.cnt;
	if (rc == SQLITE_OK)
		rc = sql_values(db, "globalTid, start, preempted, wakeupTime, wakerTid",
				"SL_SCHED_DETAIL WHERE globalTid IS NOT NULL AND start IS NOT NULL",
				detail_row, s);
	if (rc == SQLITE_OK && s->opt.until == THREAD_NONE)
		s->opt.until = end_of_session(db, s->last);
	return rc;
}

static int by_id(const void *a, const void *b, void *ctx)
{
	const struct id_map *tids = ctx;
	int64_t x = tids->ids[*(const uint32_t *)a], y = tids->ids[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

static int advance(struct thread_states *s, size_t i)
{
	int rc = sorter_next(s->sorter[i], &s->head[i]);

	if (rc == SQLITE_DONE)
		s->head[i] = NULL;
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int begin(struct thread_states *s)
{
	int rc = SQLITE_OK;

	s->order = malloc((s->tids.cnt + 1) * sizeof(*s->order));
	if (!s->order)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < s->tids.cnt; i++)
		s->order[i] = (uint32_t)i;
	qsort_r(s->order, s->tids.cnt, sizeof(*s->order), by_id, &s->tids);
	for (size_t i = 0; i < SORTERS && rc == SQLITE_OK; i++) {
		if (!s->sorter[i])
			continue;
		rc = sorter_rewind(s->sorter[i]);
		if (rc == SQLITE_OK)
			rc = advance(s, i);
	}
	return rc;
}

int thread_states_open(sqlite3 *db, const struct thread_states_options *opt,
		       struct thread_states **out)
{
	struct thread_states *s = *out = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return SQLITE_NOMEM;
	s->opt = *opt;
	s->last = THREAD_NONE;
	rc = read_all(s, db);
	return rc == SQLITE_OK ? begin(s) : rc;
}

void thread_states_free(struct thread_states *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < SORTERS; i++)
		sorter_free(s->sorter[i]);
	id_map_free(&s->pids);
	id_map_free(&s->tids);
	free(s->order);
	free(s);
}

/* ---- switches in order ---- */

static void complete(struct thread_switch *w, const int64_t *detail)
{
	struct thread_detail d = {
		.wakeup = detail[WAKEUP],
		.waker = detail[WAKER],
		.is_preempted = FLAG_IN(detail[PLACE]) != 0,
	};

	if (detail[TIME] == w->time &&
	    PLACE_IN(detail[PLACE]) == (w->is_in ? DETAIL_IN : DETAIL_OUT))
		thread_switch_complete(w, &d);
}

const int64_t *thread_states_threads(const struct thread_states *s, size_t *cnt)
{
	*cnt = s->switched;
	return s->tids.ids;
}

int thread_switches_next(struct thread_states *s, struct thread_switch *w)
{
	int64_t detail[WORDS] = {[TIME] = THREAD_NONE, [PLACE] = -1};

	while (s->at < s->tids.cnt) {
		size_t i = s->order[s->at] % SORTERS;
		const int64_t *record = s->head[i];
		int64_t tid = s->tids.ids[s->order[s->at]];
		int place, rc;

		if (!record || record[TID] != tid) {
			s->at++;
			detail[PLACE] = -1;
			continue;
		}
		place = PLACE_IN(record[PLACE]);
		if (place == DETAIL_IN || place == DETAIL_OUT)
			memcpy(detail, record, sizeof(detail));
		else
			*w = (struct thread_switch){
				.tid = tid,
				.time = record[TIME],
				.cpu = record[CPU],
				.wakeup = THREAD_NONE,
				.waker = THREAD_NONE,
				.state = (enum thread_state_kind)FLAG_IN(record[PLACE]),
				.is_in = place == IN,
			};
		rc = advance(s, i);
		if (rc != SQLITE_OK)
			return rc;
		if (place == IN || place == OUT) {
			complete(w, detail);
			return SQLITE_ROW;
		}
	}
	return SQLITE_DONE;
}

/* ---- states ---- */

static struct thread_state *put(struct thread_states *s, const struct thread_state *state)
{
	s->pending[s->pending_cnt] = *state;
	return &s->pending[s->pending_cnt++];
}

/*
 * The wait for a CPU that the switch @in ends, from the wake-up on: not before @start, as the waker may be faster than the
 * switch off the CPU. The wait's start; that of the run where no wake-up is known, or a later one.
 */
static int64_t put_woken(struct thread_states *s, const struct thread_switch *in, int64_t start,
			 int64_t last_cpu)
{
	int64_t woken = in->wakeup > start ? in->wakeup : start;

	if (in->wakeup == THREAD_NONE || in->wakeup > in->time)
		return in->time;
	put(s, &(struct thread_state){
		       .tid = in->tid,
		       .start = woken,
		       .end = in->time,
		       .cpu = in->cpu,
		       .last_cpu = last_cpu,
		       .wakeup = in->wakeup,
		       .waker = in->waker,
		       .state = THREAD_RUNNABLE,
	       });
	return woken;
}

/* The state from s->now on; @next: the thread's switch after it, NULL: there is none. */
static void put_states(struct thread_states *s, const struct thread_switch *next)
{
	const struct thread_switch *w = &s->now;
	struct thread_state *state = put(s, &(struct thread_state){
						    .tid = w->tid,
						    .start = w->time,
						    .end = THREAD_NONE,
						    .cpu = w->is_in ? w->cpu : THREAD_NONE,
						    .last_cpu = w->is_in ? s->last_cpu : w->cpu,
						    .wakeup = THREAD_NONE,
						    .waker = THREAD_NONE,
						    .state = w->state,
						    .is_preempted = w->state == THREAD_RUNNABLE,
					    });

	if (w->state == THREAD_ENDED)
		return;
	if (!next) {
		state->end = w->time > s->opt.until ? w->time : s->opt.until;
		state->is_open = true;
	}
	if (!next || next->is_in == w->is_in)
		return;
	state->end = next->time;
	if (w->is_in)
		return;
	state->cpu = next->cpu;
	if (!state->is_preempted)
		state->end = put_woken(s, next, w->time, w->cpu);
	if (s->pending_cnt > 1) {
		state->wakeup = next->wakeup;
		state->waker = next->waker;
	}
}

int thread_states_next(struct thread_states *s, struct thread_state *out)
{
	while (s->pending_at == s->pending_cnt) {
		struct thread_switch next;
		int rc = thread_switches_next(s, &next);
		bool goes_on = rc == SQLITE_ROW && s->has_now && next.tid == s->now.tid;

		if (rc != SQLITE_ROW && (rc != SQLITE_DONE || !s->has_now))
			return rc;
		s->pending_cnt = s->pending_at = 0;
		if (s->has_now)
			put_states(s, goes_on ? &next : NULL);
		s->last_cpu = goes_on ? s->now.cpu : THREAD_NONE;
		/* A thread that begins, perhaps with the id of one that ended. */
		if (rc == SQLITE_ROW && next.is_in && (!goes_on || s->now.state == THREAD_ENDED))
			put_woken(s, &next, goes_on ? s->now.time : THREAD_NONE, s->last_cpu);
		s->has_now = rc == SQLITE_ROW;
		if (s->has_now)
			s->now = next;
	}
	*out = s->pending[s->pending_at++];
	return SQLITE_ROW;
}
