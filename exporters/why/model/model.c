/* model.c - threads, processes and the context switches of each thread. */
#include "exporters/why/model/model_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/search.h"
#include "exporters/events/thread_states.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/sweeps.h"

struct model_rows {
	struct why_model *m;
	why_row *row;
};

static int model_row(void *ctx, sqlite3_stmt *stmt)
{
	const struct model_rows *r = ctx;

	return r->row(r->m, stmt) ? SQLITE_OK : SQLITE_NOMEM;
}

int why_rows(sqlite3 *db, const char *sql, why_row *row, struct why_model *m)
{
	return sql_rows(db, sql, model_row, &(struct model_rows){m, row});
}

void why_sort_with(void *list, size_t cnt, size_t size,
		   int (*order)(const void *, const void *, void *), void *ctx)
{
	const char *at = list;

	for (size_t i = 1; i < cnt; i++)
		if (order(at + (i - 1) * size, at + i * size, ctx) > 0) {
			big_sort(list, cnt, size, order, ctx);
			return;
		}
}

struct plain_order {
	int (*order)(const void *, const void *);
};

static int by_plain(const void *a, const void *b, void *plain)
{
	return ((const struct plain_order *)plain)->order(a, b);
}

void why_sort(void *list, size_t cnt, size_t size, int (*order)(const void *, const void *))
{
	why_sort_with(list, cnt, size, by_plain, &(struct plain_order){order});
}

int64_t why_time(sqlite3_value *time)
{
	return wall_time(sqlite3_value_int64(time));
}

uint32_t why_number(struct id_map *map, sqlite3_value *id)
{
	long number;

	if (sqlite3_value_type(id) == SQLITE_NULL)
		return WHY_NONE;
	number = id_map_add(map, sqlite3_value_int64(id));
	return number < 0 ? WHY_NONE : (uint32_t)number;
}

uint32_t why_model_process(struct why_model *m, int64_t pid)
{
	long number = id_map_find(&m->pids, pid);

	if (number >= 0)
		return (uint32_t)number;
	number = id_map_add(&m->pids, pid);
	if (number < 0 ||
	    !grow(&m->processes, m->processes_cnt, &m->processes_room, sizeof(*m->processes)))
		return WHY_NONE;
	m->processes[m->processes_cnt++] = (struct why_process){
		.pid = pid, .start = WHY_NO_TIME, .end = INT64_MAX, .main_thread = WHY_NONE};
	return (uint32_t)number;
}

uint32_t why_model_find(const struct why_model *m, int64_t tid)
{
	long number = id_map_find(&m->tids, tid);

	return number < 0 ? WHY_NONE : (uint32_t)number;
}

uint32_t why_model_thread(struct why_model *m, int64_t tid)
{
	uint32_t number = why_model_find(m, tid), process;

	if (number != WHY_NONE)
		return number;
	process = why_model_process(m, tid >> 24);
	if (process == WHY_NONE || id_map_add(&m->tids, tid) < 0 ||
	    !grow(&m->threads, m->threads_cnt, &m->threads_room, sizeof(*m->threads)))
		return WHY_NONE;
	number = (uint32_t)m->threads_cnt++;
	m->threads[number] =
		(struct why_thread){.tid = tid, .process = process, .birth = WHY_NO_TIME};
	if ((tid & 0xffffff) == (tid >> 24 & 0xffffff))
		m->processes[process].main_thread = number;
	return number;
}

static int64_t time_at(const void *list, size_t size, size_t i)
{
	int64_t at;

	memcpy(&at, (const char *)list + i * size, sizeof(at));
	return at;
}

/* Whether @i is the last at most @time. */
static bool is_last(const void *list, size_t cnt, size_t size, size_t i, int64_t time)
{
	return i < cnt && time_at(list, size, i) <= time &&
	       (i + 1 == cnt || time_at(list, size, i + 1) > time);
}

size_t why_last(const void *list, size_t cnt, size_t size, int64_t time)
{
	/* Most searches of a list go on where the search before ended. An entry of another list does no harm, as entries are checked. */
	static __thread size_t hints[64];
	size_t *hint = &hints[((uintptr_t)list >> 4 ^ (uintptr_t)list >> 12) % 64];
	size_t low;

	for (size_t i = *hint; i < *hint + 3; i++)
		if (is_last(list, cnt, size, i, time))
			return *hint = i;
	low = search_first(i, 0, cnt, time_at(list, size, i) <= time);
	*hint = low ? low - 1 : 0;
	return low ? low - 1 : cnt;
}

/* ---- processes ---- */

/* The last text counts; NULL: none. False: no memory. */
static bool keep_text(char **to, const char *text)
{
	if (!text)
		return true;
	free(*to);
	*to = strdup(text);
	return *to != NULL;
}

/* globalPid, parentGlobalPid, start, end, traced, exe: an image; the last image of a process gives its name. */
static bool image_row(struct why_model *m, sqlite3_stmt *stmt)
{
	uint32_t number = why_model_process(m, sqlite3_column_int64(stmt, 0) >> 24);
	const char *exe = (const char *)sqlite3_column_text(stmt, 5);
	const char *command = (const char *)sqlite3_column_text(stmt, 6);
	struct why_process *p;

	if (number == WHY_NONE)
		return false;
	p = &m->processes[number];
	p->parent = sqlite3_column_int64(stmt, 1) >> 24;
	if (p->start == WHY_NO_TIME)
		p->start = wall_time(sqlite3_column_int64(stmt, 2));
	p->end = sqlite3_column_type(stmt, 3) == SQLITE_NULL ? INT64_MAX
							     : sqlite3_column_int64(stmt, 3);
	p->traced |= sqlite3_column_int(stmt, 4) != 0;
	p->is_killed = sqlite3_column_int(stmt, 7) & 0x7f;
	return keep_text(&p->exe, exe) && keep_text(&p->command, command);
}

uint32_t why_model_root(const struct why_model *m)
{
	return m->root;
}

/* ---- context switches ---- */

static int take_switch(struct why_model *m, struct why_thread *t, const struct thread_switch *w)
{
	if (!big_grow(&t->switches, t->switches_cnt, &t->switches_room, sizeof(*t->switches)))
		return SQLITE_NOMEM;
	m->follows_calls &= w->wakeup == THREAD_NONE && w->waker == THREAD_NONE;
	t->switches[t->switches_cnt++] = (struct why_switch){
		.time = wall_time(w->time),
		.wakeup = w->wakeup == THREAD_NONE ? WHY_NO_TIME : wall_time(w->wakeup),
		/* A waker outside of the recording has no number. */
		.waker = w->waker == THREAD_NONE ? WHY_NONE : why_model_find(m, w->waker),
		.is_in = w->is_in,
		.is_preempted = w->state == THREAD_RUNNABLE,
		.is_on_disk = w->state == THREAD_BLOCKED,
		.is_end = !w->is_in && w->state == THREAD_ENDED,
	};
	return SQLITE_OK;
}

static int read_switches(struct why_model *m)
{
	struct thread_states_options opt = {.until = 0};
	struct thread_states *s;
	struct thread_switch w;
	struct why_thread *t = NULL;
	const int64_t *tids;
	size_t cnt;
	int rc = thread_states_open(m->db, &opt, &s);

	m->has_switches = db_read_has(m->db, "SCHED_EVENTS");
	/* Other reports have no objects of calls. */
	m->follows_calls = db_read_has(m->db, "SL_PROCESS_TREE");
	/* Numbers of threads before their switches, which have wakers. */
	if (rc == SQLITE_OK)
		tids = thread_states_threads(s, &cnt);
	for (size_t i = 0; rc == SQLITE_OK && i < cnt; i++)
		rc = why_model_thread(m, tids[i]) == WHY_NONE ? SQLITE_NOMEM : SQLITE_OK;
	while (rc == SQLITE_OK && (rc = thread_switches_next(s, &w)) == SQLITE_ROW) {
		if (!t || t->tid != w.tid)
			t = &m->threads[why_model_find(m, w.tid)];
		rc = take_switch(m, t, &w);
	}
	thread_states_free(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* @none: there is no event. */
static int64_t first_event(const struct why_thread *t, int64_t none)
{
	int64_t call = t->calls_cnt ? t->calls[0].start : INT64_MAX,
		sample = t->samples_cnt ? t->samples[0].time : INT64_MAX;

	return call == INT64_MAX && sample == INT64_MAX ? none : call < sample ? call : sample;
}

/* A thread begins when it first needs a CPU; without switches, a main thread with its process, others with their first event. */
static void find_births(struct why_model *m)
{
	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		struct why_thread *t = &m->threads[i];
		const struct why_switch *first = t->switches;

		if (!t->switches_cnt && m->processes[t->process].main_thread == i)
			t->birth = m->processes[t->process].start;
		else if (!t->switches_cnt)
			t->birth = first_event(t, m->processes[t->process].start);
		else
			t->birth = first->is_in && first->wakeup != WHY_NO_TIME ? first->wakeup
										: first->time;
	}
}

uint32_t why_maker(const struct why_model *m, uint32_t thread)
{
	const struct why_thread *t = &m->threads[thread];
	uint32_t maker = t->switches_cnt && t->switches[0].is_in ? t->switches[0].waker : WHY_NONE;

	if (maker == WHY_NONE || maker == thread || !m->threads[maker].switches_cnt) {
		long number = id_map_find(&m->pids, m->processes[t->process].parent);

		maker = m->processes[t->process].main_thread;
		if (maker == thread)
			maker = number < 0 ? WHY_NONE : m->processes[number].main_thread;
	}
	return maker != WHY_NONE && maker != thread && m->threads[maker].switches_cnt ? maker
										      : WHY_NONE;
}

static bool cpus_row(struct why_model *m, sqlite3_stmt *stmt)
{
	m->cpus = sqlite3_column_int64(stmt, 0);
	return true;
}

static bool messages_row(struct why_model *m, sqlite3_stmt *stmt)
{
	m->messages = sqlite3_column_int64(stmt, 0);
	return true;
}

static bool lost_row(struct why_model *m, sqlite3_stmt *stmt)
{
	m->lost = sqlite3_column_int64(stmt, 0);
	return true;
}

/* start, end: in order of start */
static bool loss_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_loss l = {wall_time(sqlite3_column_int64(stmt, 0)),
			     wall_time(sqlite3_column_int64(stmt, 1)) + 1};
	struct why_loss *last = m->losses_cnt ? &m->losses[m->losses_cnt - 1] : NULL;

	if (last && l.start <= last->end) {
		last->end = l.end > last->end ? l.end : last->end;
		return true;
	}
	if (!grow(&m->losses, m->losses_cnt, &m->losses_room, sizeof(l)))
		return false;
	m->losses[m->losses_cnt++] = l;
	return true;
}

/* Rows that could not be written have a time; what the kernel skips is spread over the whole recording. */
static int read_losses(struct why_model *m)
{
	int rc = why_rows(m->db,
			  "SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS "
			  "WHERE what NOT LIKE 'callers in stacks%'",
			  lost_row, m);

	if (rc == SQLITE_OK)
		rc = why_rows(m->db,
			      "SELECT start, end FROM SL_LOST_EVENTS WHERE what LIKE 'context "
			      "switches:%' AND start > 0 AND end >= start ORDER BY start",
			      loss_row, m);
	return rc;
}

/* timestamp, globalTid, nameId, object, pathId, ownerTid, stackId, is it Python's lock?, state */
static bool open_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_open o = {
		.time = wall_time(sqlite3_column_int64(stmt, 0)),
		.thread = why_model_thread(m, sqlite3_column_int64(stmt, 1)),
		.name = why_number(&m->names, sqlite3_column_value(stmt, 2)),
		.object = why_number(&m->objects, sqlite3_column_value(stmt, 4)),
		.stack = why_number(&m->stacks, sqlite3_column_value(stmt, 6)),
		.owner = WHY_NONE,
		.is_lock = sqlite3_column_type(stmt, 3) != SQLITE_NULL,
		.is_gil = sqlite3_column_int(stmt, 7) != 0,
	};

	if (o.is_gil)
		o.object = WHY_NONE;
	if (o.thread != WHY_NONE && sqlite3_column_type(stmt, 8) != SQLITE_NULL) {
		m->has_looks = m->threads[o.thread].is_looked_at = true;
		/* It runs: no wait. */
		if (*(const char *)sqlite3_column_text(stmt, 8) == 'R')
			return true;
	}

	if (sqlite3_column_type(stmt, 5) != SQLITE_NULL)
		o.owner = why_model_thread(m, sqlite3_column_int64(stmt, 5));
	if (o.thread == WHY_NONE ||
	    !grow(&m->opens, m->opens_cnt, &m->opens_room, sizeof(*m->opens)))
		return false;
	m->opens[m->opens_cnt++] = o;
	return true;
}

static bool look_row(struct why_model *m, sqlite3_stmt *stmt)
{
	(void)stmt;
	m->is_look = true;
	return true;
}

/* ---- missing samples ---- */

static bool taken_row(struct why_model *m, sqlite3_stmt *stmt)
{
	(void)stmt;
	m->samples.taken = true;
	return true;
}

/* whether it is of Python's frames, text */
static bool refused_row(struct why_model *m, sqlite3_stmt *stmt)
{
	char **text = sqlite3_column_int(stmt, 0) ? &m->samples.no_python : &m->samples.refused;
	const char *got = (const char *)sqlite3_column_text(stmt, 1);

	if (*text || !got)
		return true;
	*text = strdup(got);
	return *text != NULL;
}

static bool go_row(struct why_model *m, sqlite3_stmt *stmt)
{
	(void)stmt;
	m->has_go = true;
	return true;
}

static int read_sampling(struct why_model *m)
{
	int rc = SQLITE_OK;

	/* nsys does not write this table. */
	if (db_read_has(m->db, "META_DATA_CAPTURE"))
		rc = why_rows(m->db,
			      "SELECT 1 FROM META_DATA_CAPTURE WHERE name = "
			      "'LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY'",
			      taken_row, m);
	if (rc == SQLITE_OK && db_read_has(m->db, "DIAGNOSTIC_EVENT"))
		rc = why_rows(m->db,
			      "SELECT text LIKE 'Python''s%', "
			      "iif(text LIKE 'no CPU samples: %', substr(text, 17), text) "
			      "FROM DIAGNOSTIC_EVENT WHERE text LIKE 'no CPU samples: %' "
			      "OR text LIKE 'Python''s frames in samples need %'",
			      refused_row, m);
	if (rc == SQLITE_OK && !m->has_calls)
		rc = why_rows(m->db,
			      "SELECT 1 FROM StringIds WHERE value IN ('runtime.goexit', "
			      "'runtime.goexit.abi0', 'runtime.mcall') LIMIT 1",
			      go_row, m);
	return rc;
}

int why_model_read(struct why_model *m, sqlite3 *db, const struct why_scope *scope)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->db = db;
	m->root = WHY_NONE;
	m->whats.width = sizeof(struct why_what) / sizeof(uint32_t);
	m->kinds.width = sizeof(struct why_kind) / sizeof(uint32_t);
	rc = sweeps_register(db);
	if (scope->wall)
		m->wall = *scope->wall;
	else if (rc == SQLITE_OK)
		rc = wall_read(db, scope->filter, &m->wall);
	if (rc == SQLITE_OK)
		rc = why_rows(db,
			      "SELECT globalPid, parentGlobalPid, start, end, traced, exe, "
			      "commandLine, exitStatus "
			      "FROM SL_PROCESS_TREE ORDER BY start",
			      image_row, m);
	if (rc == SQLITE_OK)
		rc = read_switches(m);
	if (rc == SQLITE_OK)
		rc = why_read_sends(m);
	if (rc == SQLITE_OK)
		rc = why_find_near(m, scope);
	if (rc == SQLITE_OK)
		rc = why_read_calls(m);
	if (rc == SQLITE_OK)
		rc = why_read_gpu(m);
	if (rc == SQLITE_OK)
		rc = why_read_ranges(m);
	if (rc == SQLITE_OK)
		rc = why_read_objects(m);
	if (rc == SQLITE_OK)
		rc = read_sampling(m);
	if (rc == SQLITE_OK)
		rc = read_losses(m);
	if (rc == SQLITE_OK && db_read_has(db, "SL_FILE_TOTALS"))
		rc = why_rows(db,
			      "SELECT coalesce(sum(count), 0) FROM SL_FILE_TOTALS JOIN "
			      "OSRT_FILE_ACCESS_DESCRIPTORS AS d USING (fileAccessId) WHERE "
			      "eventType = 4 AND (filePath GLOB 'pipe:*' OR filePath GLOB "
			      "'fifo:*' OR filePath GLOB 'socket:*' OR filePath GLOB 'unix:*' OR "
			      "filePath GLOB 'tcp*' OR filePath GLOB 'udp*')",
			      messages_row, m);
	if (rc == SQLITE_OK && db_read_has(db, "TARGET_INFO_SYSTEM_ENV"))
		rc = why_rows(db,
			      "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CpuCores'",
			      cpus_row, m);
	if (rc == SQLITE_OK)
		rc = why_rows(db,
			      "SELECT timestamp, globalTid, nameId, object, pathId, ownerTid, "
			      "stackId, coalesce(pathId = (SELECT id FROM StringIds WHERE value = "
			      "'[GIL]'), 0), state FROM SL_OPEN_WAITS ORDER BY timestamp",
			      open_row, m);
	if (rc == SQLITE_OK)
		rc = why_rows(db, "SELECT 1 FROM META_DATA_CAPTURE WHERE name = 'SL_LOOK'",
			      look_row, m);
	find_births(m);
	return rc;
}

const char *why_error_text(sqlite3 *db, int rc)
{
	return rc == SQLITE_NOMEM ? sqlite3_errstr(rc) : sqlite3_errmsg(db);
}

void why_model_free(struct why_model *m)
{
	for (size_t i = 0; i < m->threads_cnt; i++) {
		struct why_thread *t = &m->threads[i];

		big_free(t->switches);
		big_free(t->calls);
		big_free(t->gpu);
		big_free(t->system);
		big_free(t->samples);
		big_free(t->offs);
		big_free(t->objects);
		big_free(t->faults);
		big_free(t->ios);
		big_free(t->ranges);
	}
	for (size_t i = 0; i < m->processes_cnt; i++) {
		free(m->processes[i].exe);
		free(m->processes[i].command);
	}
	free(m->samples.refused);
	free(m->samples.no_python);
	free(m->threads);
	free(m->processes);
	big_free(m->ops);
	big_free(m->reach);
	big_free(m->launches);
	big_free(m->inner);
	tuples_free(&m->whats);
	tuples_free(&m->kinds);
	free(m->devices);
	big_free(m->sends);
	free(m->ends);
	big_free(m->uses);
	free(m->does);
	big_free(m->ios);
	free(m->losses);
	free(m->opens);
	why_free_ranges(m);
	id_map_free(&m->tids);
	id_map_free(&m->pids);
	id_map_free(&m->stacks);
	id_map_free(&m->names);
	id_map_free(&m->objects);
}
