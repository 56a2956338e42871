/* top_read.c - the sums of a growing report, read once a second: only the changed rows, in one short transaction. */
#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/now.h"
#include "exporters/top/top.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "exporters/read/db_read.h"
#include "exporters/read/sql_rows.h"

#define SECOND_NS INT64_C(1000000000)
#define IDLE_NS          \
	(5 * SECOND_NS / \
	 2)            /* the collector writes about once a second, if there is anything to write */
#define NAMES_LOOKS 10 /* so often names are read again: they may change */

void top_init(struct top *t, const char *path)
{
	memset(t, 0, sizeof(*t));
	t->path = path;
}

static void free_names(struct top_name **list, size_t *cnt)
{
	for (size_t i = 0; i < *cnt; i++)
		free((*list)[i].text);
	free(*list);
	*list = NULL;
	*cnt = 0;
}

static void forget_items(struct top *t)
{
	for (int k = 0; k < TOP_KINDS; k++) {
		for (size_t i = 0; i < t->set[k].cnt; i++)
			free(t->set[k].item[i].text);
		free(t->set[k].item);
		slots_free(&t->set[k].by_id);
		t->set[k] = (struct top_set){0};
	}
}

void top_free(struct top *t)
{
	forget_items(t);
	free_names(&t->process, &t->process_cnt);
	free_names(&t->thread, &t->thread_cnt);
	free(t->program);
	memset(t, 0, sizeof(*t));
}

void top_restart(struct top *t, const char *path)
{
	const char *session = t->session;

	top_free(t);
	top_init(t, path);
	t->session = session;
}

/* ---- items ---- */

struct top_item *top_item(struct top_set *set, int64_t id)
{
	uint64_t hash = hash_u64((uint64_t)id);
	uint32_t at, i;

	for (i = slots_first(&set->by_id, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&set->by_id, hash, &at))
		if (set->item[i].id == id)
			return &set->item[i];
	if (!grow(&set->item, set->cnt, &set->cap, sizeof(*set->item)) ||
	    !slots_add(&set->by_id, hash, (uint32_t)set->cnt))
		return NULL;
	set->item[set->cnt] = (struct top_item){.id = id, .until = -1, .until_before = -1};
	return &set->item[set->cnt++];
}

/* ---- names ---- */

static int by_id(const void *a, const void *b)
{
	const struct top_name *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static const char *find_name(const struct top_name *list, size_t cnt, int64_t id)
{
	const struct top_name key = {.id = id}, *found = NULL;

	if (cnt)
		found = bsearch(&key, list, cnt, sizeof(*list), by_id);
	return found ? found->text : NULL;
}

const char *top_process_name(const struct top *t, int64_t pid)
{
	return find_name(t->process, t->process_cnt, pid);
}

const char *top_thread_name(const struct top *t, int64_t pid, int64_t tid)
{
	return find_name(t->thread, t->thread_cnt, pid << 24 | tid);
}

static char *text_of(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? strdup(text) : NULL;
}

static void read_names(sqlite3 *db, const char *sql, struct top_name **list, size_t *cnt)
{
	sqlite3_stmt *stmt = NULL;
	size_t cap = 0;

	free_names(list, cnt);
	/* The table comes into being with its first row. */
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		char *text = text_of(stmt, 1);

		if (*cnt == cap) {
			struct top_name *more;

			cap = cap ? cap * 2 : 64;
			more = realloc(*list, cap * sizeof(*more));
			if (!more) {
				free(text);
				break;
			}
			*list = more;
		}
		(*list)[(*cnt)++] = (struct top_name){sqlite3_column_int64(stmt, 0), text};
	}
	sqlite3_finalize(stmt);
	if (*cnt)
		qsort(*list, *cnt, sizeof(**list), by_id);
}

void top_read_names(struct top *t, sqlite3 *db)
{
	read_names(db, "SELECT globalPid >> 24 & 0xffffff, name FROM PROCESSES", &t->process,
		   &t->process_cnt);
	read_names(db,
		   "SELECT globalTid & 0xffffffffffff, value FROM ThreadNames JOIN StringIds ON "
		   "StringIds.id = nameId",
		   &t->thread, &t->thread_cnt);
}

/* When a process has come, and now and then. */
static void look_for_names(struct top *t, sqlite3 *db)
{
	if (++t->looks < NAMES_LOOKS && t->named == t->set[TOP_THREAD].cnt)
		return;
	t->looks = 0;
	t->named = t->set[TOP_THREAD].cnt;
	top_read_names(t, db);
}

/* ---- kind and writer of the report ---- */

static char *one_text(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	stmt = sql_first(db, sql);
	if (stmt)
		text = text_of(stmt, 0);
	sqlite3_finalize(stmt);
	return text;
}

static bool text_is(char *text, const char *wanted)
{
	bool is = text && strcmp(text, wanted) == 0;

	free(text);
	return is;
}

static void look_at_report(struct top *t, sqlite3 *db)
{
	char *clock = one_text(db, "SELECT startTime FROM ANALYSIS_DETAILS");

	t->start_clock = clock ? strtoll(clock, NULL, 10) : 0;
	free(clock);
	t->is_foreign = !text_is(one_text(db, "SELECT value FROM META_DATA_EXPORT WHERE name = "
					      "'EXPORT_PRODUCT_NAME'"),
				 "Sightline");
	if (!t->program)
		t->program = one_text(db, "SELECT commandLine FROM SL_PROCESS_TREE WHERE "
					  "commandLine IS NOT NULL ORDER BY start LIMIT 1");
}

static bool is_finished(const struct top *t, sqlite3 *db)
{
	return t->is_foreign ||
	       text_is(one_text(db, "SELECT value FROM META_DATA_EXPORT WHERE name = "
				    "'SL_COMPLETE'"),
		       "1");
}

/* ---- sums ---- */

static int64_t session_now(const struct top *t)
{
	int64_t now = mono_ns() - t->start_clock;

	return now > t->time ? now : t->time;
}

static void take_thread(struct top_item *i, sqlite3_stmt *s)
{
	int64_t tid = sqlite3_column_int64(s, 1);

	i->pid = tid >> 24 & 0xffffff;
	i->tid = tid & 0xffffff;
	i->cpu_ns = sqlite3_column_int64(s, 2);
	i->off_ns = sqlite3_column_int64(s, 3);
	i->now[THREAD_SWITCHES] = sqlite3_column_int64(s, 4);
	i->has_switches = sqlite3_column_type(s, 5) != SQLITE_NULL;
	i->is_on = sqlite3_column_int(s, 5) == 1;
	i->switched = sqlite3_column_int64(s, 6);
	i->is_over = sqlite3_column_int(s, 7);
	i->now[THREAD_CALLS] = sqlite3_column_int64(s, 8);
	i->now[THREAD_CALL_NS] = sqlite3_column_int64(s, 9);
}

static void take_call(struct top_item *i, sqlite3_stmt *s)
{
	i->pid = sqlite3_column_int64(s, 1) >> 24 & 0xffffff;
	i->part = (uint8_t)sqlite3_column_int(s, 2);
	for (int k = 0; k < 4; k++)
		i->now[k] = sqlite3_column_int64(s, 3 + k);
	if (!i->text)
		i->text = text_of(s, 7);
}

static void take_file(struct top_item *i, sqlite3_stmt *s)
{
	const char *path = (const char *)sqlite3_column_text(s, 7);

	i->pid = sqlite3_column_int64(s, 1) >> 24 & 0xffffff;
	i->part = !path ? 2 : (uint8_t)(sqlite3_column_int(s, 2) != 0);
	for (int k = 0; k < 4; k++)
		i->now[k] = sqlite3_column_int64(s, 3 + k);
	if (!i->text && path && (!i->part || asprintf(&i->text, "%s*", path) < 0))
		i->text = strdup(path);
}

static void take_gpu(struct top_item *i, sqlite3_stmt *s)
{
	i->pid = sqlite3_column_int64(s, 1);
	for (int k = 0; k < TOP_SUMS; k++)
		i->now[k] = sqlite3_column_int64(s, 2 + k);
	i->until = sqlite3_column_type(s, 7) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 7);
	if (!i->text)
		i->text = text_of(s, 8);
}

/* In the order of the enums above; the first column is the id, rows newer than ?1 are selected. */
static const struct {
	const char *sql;
	void (*take)(struct top_item *i, sqlite3_stmt *s);
} kinds[TOP_KINDS] = {
	[TOP_THREAD] =
		{"SELECT id, globalTid, cpuNs, offCpuNs, switches, isOnCpu, switched, isOver, "
		 "calls, callNs FROM main.SL_LIVE_THREADS WHERE changed > ?1",
		 take_thread},
	[TOP_CALL] = {"SELECT l.id, globalPid, kind, calls, totalNs, bytes, errorCount, value FROM "
		      "main.SL_LIVE_CALLS l LEFT JOIN main.StringIds s ON s.id = nameId WHERE "
		      "changed > ?1",
		      take_call},
	[TOP_FILE] = {"SELECT id, globalPid, isFolder, operations, bytesRead, bytesWritten, "
		      "totalNs, path FROM main.SL_LIVE_FILES WHERE changed > ?1",
		      take_file},
	[TOP_GPU] =
		{"SELECT l.id, gpu, busyNs, kernels, kernelNs, copies, bytes, until, g.name FROM "
		 "main.SL_LIVE_GPUS l LEFT JOIN TARGET_INFO_GPU g ON g.id = gpu AND isKnown "
		 "WHERE changed > ?1",
		 take_gpu},
};

static int read_kind(struct top *t, sqlite3 *db, enum top_kind kind, int64_t after)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, kinds[kind].sql, -1, &stmt, NULL);

	/* Tables come into being with their first row. */
	if (rc != SQLITE_OK)
		return rc == SQLITE_ERROR ? SQLITE_OK : rc;
	sqlite3_bind_int64(stmt, 1, after);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct top_item *i = top_item(&t->set[kind], sqlite3_column_int64(stmt, 0));

		if (i)
			kinds[kind].take(i, stmt);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The sums of before are those of now. */
static void begin_interval(struct top *t)
{
	for (int k = 0; k < TOP_KINDS; k++) {
		for (size_t n = 0; n < t->set[k].cnt; n++) {
			struct top_item *i = &t->set[k].item[n];

			memcpy(i->before, i->now, sizeof(i->now));
			i->until_before = i->until;
		}
	}
	t->events_before = t->events;
	t->before = t->time;
}

/* The collector counts up to the last context switch; the state of a thread since then is taken to last until @t->time. */
static void go_on(struct top *t)
{
	for (size_t n = 0; n < t->set[TOP_THREAD].cnt; n++) {
		struct top_item *i = &t->set[TOP_THREAD].item[n];
		int64_t from = i->switched > t->resumed ? i->switched : t->resumed;
		int64_t more =
			i->has_switches && !i->is_over && t->time > from ? t->time - from : 0;

		i->now[THREAD_CPU] = i->cpu_ns + (i->is_on ? more : 0);
		i->now[THREAD_OFF] = i->off_ns + (i->is_on ? 0 : more);
	}
}

struct session {
	int64_t round, since, resumed, time, recording, events, lost, processes, unreported, behind;
};

#define SESSION_COLUMNS \
	"SELECT changed, since, resumed, time, recording, events, lost, processes, untold"

static int read_session(sqlite3 *db, struct session *s)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, SESSION_COLUMNS ", behind FROM main.SL_LIVE_SESSION", -1,
				    &stmt, NULL);

	/* For a report of a version without the column. */
	if (rc == SQLITE_ERROR)
		rc = sqlite3_prepare_v2(db, SESSION_COLUMNS ", 0 FROM main.SL_LIVE_SESSION", -1,
					&stmt, NULL);
	*s = (struct session){0};
	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		*s = (struct session){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
				      sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3),
				      sqlite3_column_int64(stmt, 4), sqlite3_column_int64(stmt, 5),
				      sqlite3_column_int64(stmt, 6), sqlite3_column_int64(stmt, 7),
				      sqlite3_column_int64(stmt, 8), sqlite3_column_int64(stmt, 9)};
	sqlite3_finalize(stmt);
	return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

/* Nothing new was written: it may be late, or there is nothing to write; threads may run on all the same. */
static void no_news(struct top *t)
{
	int64_t now = session_now(t);

	if (now - t->time < IDLE_NS || t->status != TOP_RECORDING)
		return;
	begin_interval(t);
	/* The next row may be about an event a second ago. */
	t->time = now - SECOND_NS;
	t->is_idle = t->is_sampled = true;
	go_on(t);
}

static void take_session(struct top *t, const struct session *s)
{
	bool is_first = t->round == 0;

	/* Another recording of the same name, or one that went on after its collector was killed. */
	if (s->round < t->round || s->since != t->since) {
		forget_items(t);
		is_first = true;
	}
	begin_interval(t);
	t->is_idle = false;
	t->round = s->round;
	t->since = s->since;
	t->resumed = s->resumed;
	t->time = s->time > t->time || is_first ? s->time : t->time;
	t->events = s->events;
	t->lost = s->lost;
	t->unreported = s->unreported;
	t->behind = s->behind;
	t->processes = s->processes;
	t->is_sampled = !is_first && t->time > t->before;
}

static int read_live(struct top *t, sqlite3 *db)
{
	int64_t after = t->round;
	struct session s;
	int rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = read_session(db, &s);
	if (rc == SQLITE_OK && s.round && t->status != TOP_LEFT)
		t->status = s.recording ? TOP_RECORDING : TOP_PAUSED;
	/* Also where nothing else is new: a program that waits has no events. */
	if (rc == SQLITE_OK && s.round)
		top_read_health(t, db, s.time);
	if (rc != SQLITE_OK || !s.round || s.round == after) {
		sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
		if (rc == SQLITE_OK && s.round)
			no_news(t);
		return rc;
	}
	take_session(t, &s);
	if (!t->set[TOP_THREAD].cnt)
		after = 0;
	for (int k = 0; k < TOP_KINDS && rc == SQLITE_OK; k++)
		rc = read_kind(t, db, (enum top_kind)k, after);
	if (rc == SQLITE_OK)
		look_for_names(t, db);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	go_on(t);
	return rc;
}

/* A report that is being made has no tables for a moment. */
static sqlite3 *open_report(const char *path, char *why, size_t why_len)
{
	const struct timespec moment = {0, 50000000};

	for (int tries = 0;; tries++) {
		sqlite3 *db = db_read_open(path, why, why_len);
		struct stat st;

		if (db || tries == 20 || stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
		    time(NULL) - st.st_mtime > 2)
			return db;
		nanosleep(&moment, NULL);
	}
}

int top_read(struct top *t, char *why, size_t why_len)
{
	bool is_written = db_read_has_writer(t->path);
	sqlite3 *db = open_report(t->path, why, why_len);
	int rc = SQLITE_OK;

	if (!db)
		return -1;
	if (!t->start_clock || !t->program)
		look_at_report(t, db);
	if (is_finished(t, db)) {
		t->status = TOP_FINISHED;
		if (!t->round && !t->has_totals)
			rc = top_read_totals(t, db, why, why_len) < 0 ? -1 : SQLITE_OK;
	} else {
		t->status = is_written ? TOP_WAITING : TOP_LEFT;
		rc = read_live(t, db);
		if (rc != SQLITE_OK)
			snprintf(why, why_len, "%s: %s", t->path, sqlite3_errmsg(db));
	}
	sqlite3_close(db);
	return rc == SQLITE_OK ? 0 : -1;
}

double top_interval(const struct top *t)
{
	return t->time > t->before ? (double)(t->time - t->before) / 1e9 : 0;
}
