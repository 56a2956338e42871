/*
 * info.c - gathers the contents of a report.
 *
 * Every event table is read once, which counts its rows, finds the first and last and whose they are. So
 * figures are exact, also where rows were deleted or are in no order.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exporters/read/db_views.h"
#include "exporters/sql/tables/hist.h"
#include "exporters/info/info.h"

/* ---- queries ---- */

struct query {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	int rc;
};

static struct query start(sqlite3 *db, const char *sql)
{
	struct query q = {.db = db};

	q.rc = sqlite3_prepare_v2(db, sql, -1, &q.stmt, NULL);
	return q;
}

static bool next(struct query *q)
{
	if (q->rc == SQLITE_OK || q->rc == SQLITE_ROW)
		q->rc = sqlite3_step(q->stmt);
	return q->rc == SQLITE_ROW;
}

/* 0 when all rows were read, or the caller stopped it. */
static int finish(struct query *q)
{
	sqlite3_finalize(q->stmt);
	return q->rc == SQLITE_DONE || q->rc == SQLITE_ROW ? 0 : -1;
}

static int64_t number(const struct query *q, int col)
{
	return sqlite3_column_type(q->stmt, col) == SQLITE_NULL
		       ? INFO_NONE
		       : sqlite3_column_int64(q->stmt, col);
}

static char *text(const struct query *q, int col)
{
	const char *s = (const char *)sqlite3_column_text(q->stmt, col);

	return s && *s ? strdup(s) : NULL;
}

/* Room for one more at the end of a list, zeroed; NULL without memory. */
static void *more(void *list, size_t *cnt, size_t size)
{
	void **at = list;
	char *grown = *cnt & (*cnt - 1) ? *at : reallocarray(*at, *cnt ? *cnt * 2 : 1, size);

	if (!grown)
		return NULL;
	*at = grown;
	return memset(grown + (*cnt)++ * size, 0, size);
}

/* ---- head ---- */

/* The first value of a name in a table of names and values. */
static char *value_of(sqlite3 *db, const char *table, const char *name)
{
	char *sql = sqlite3_mprintf("SELECT value FROM %s WHERE name = %Q", table, name);
	struct query q = start(db, sql ? sql : "");
	char *value = next(&q) ? text(&q, 0) : NULL;

	finish(&q);
	sqlite3_free(sql);
	return value;
}

static int64_t number_of(sqlite3 *db, const char *sql)
{
	struct query q = start(db, sql);
	int64_t n = next(&q) ? number(&q, 0) : INFO_NONE;

	finish(&q);
	return n;
}

static char *command_line(sqlite3 *db)
{
	struct query q = start(
		db,
		"SELECT group_concat(value, ' ') FROM (SELECT value FROM META_DATA_CAPTURE "
		"WHERE name = 'PROCESS_0:COMMAND' OR name GLOB 'PROCESS_0:ARGUMENT_*' "
		"ORDER BY name <> 'PROCESS_0:COMMAND', cast(substr(name, 20) AS INTEGER), rowid)");
	char *line = next(&q) ? text(&q, 0) : NULL;

	finish(&q);
	return line;
}

/* Size of the report and of its write-ahead log, which holds nearly all of a report while it is written. */
static int64_t size_of(const char *path)
{
	struct stat st;
	char *wal = NULL;
	int64_t bytes = stat(path, &st) == 0 ? st.st_size : INFO_NONE;

	if (bytes != INFO_NONE && asprintf(&wal, "%s-wal", path) >= 0) {
		if (stat(wal, &st) == 0)
			bytes += st.st_size;
		free(wal);
	}
	return bytes;
}

static void read_head(sqlite3 *db, struct info *i)
{
	char *complete;

	i->bytes = size_of(i->path);
	i->product = value_of(db, "META_DATA_EXPORT", "EXPORT_PRODUCT_NAME");
	i->version = value_of(db, "META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION");
	i->schema = value_of(db, "META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION");
	complete = value_of(db, "META_DATA_EXPORT", "SL_COMPLETE");
	i->complete = complete ? strtoll(complete, NULL, 10) : INFO_NONE;
	free(complete);
	i->duration = number_of(db, "SELECT max(duration) FROM ANALYSIS_DETAILS");
	i->epoch = number_of(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
	i->host = value_of(db, "TARGET_INFO_SYSTEM_ENV", "Hostname");
	i->command = command_line(db);
	i->folder = value_of(db, "META_DATA_CAPTURE", "PROCESS_0:WORKING_DIR");
}

/* ---- tables ---- */

static const char *time_column(sqlite3 *db, const char *table, const char *const *names)
{
	while (*names && !db_read_has_column(db, table, *names))
		names++;
	return *names;
}

static struct info_process *process(struct info *i, int64_t global)
{
	struct info_process *p;

	for (size_t k = 0; k < i->processes_cnt; k++)
		if (i->processes[k].global == global)
			return &i->processes[k];
	p = more(&i->processes, &i->processes_cnt, sizeof(*p));
	if (p) {
		p->global = global;
		p->pid = global >> 24 & 0xFFFFFF;
		p->parent = p->start = p->end = p->traced = p->status = INFO_NONE;
	}
	return p;
}

/* Adds the rows of each process, counted in table @number of sl_stats_rows(). */
static int count_owners(sqlite3 *db, struct info *i, int64_t number)
{
	char *sql = sqlite3_mprintf(
		"SELECT key << 24, n FROM sl_stats_rows(%lld) WHERE key IS NOT NULL ORDER BY 1",
		(long long)number);
	struct query q = start(db, sql ? sql : "");

	while (next(&q)) {
		struct info_process *p = process(i, sqlite3_column_int64(q.stmt, 0));

		if (p)
			p->events += sqlite3_column_int64(q.stmt, 1);
	}
	sqlite3_free(sql);
	return finish(&q);
}

/* Does a row stand for something that its process did? */
static bool has_events(const char *table)
{
	static const char *const others[] = {
		"DIAGNOSTIC_EVENT", "PROCESSES",       "ThreadNames",       "ProcessStreams",
		"SL_PROCESS_TREE",  "SL_SCHED_DETAIL", "PROFILER_OVERHEAD", "SL_LOST_EVENTS"};

	for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
		if (strcmp(others[k], table) == 0)
			return false;
	return true;
}

static int read_table(sqlite3 *db, struct info *i, const char *name)
{
	static const char *const starts[] = {"start", "startedAt", "timestamp", "openedAt", NULL};
	static const char *const ends[] = {"end", "endedAt", "timestamp", "start", NULL};
	static const char *const ids[] = {"globalTid", "globalPid", NULL};
	const char *begin = time_column(db, name, starts), *end = time_column(db, name, ends);
	const char *id = begin && has_events(name) ? time_column(db, name, ids) : NULL;
	struct info_table *t = more(&i->tables, &i->tables_cnt, sizeof(*t));
	struct query q;
	char *sql;

	/* Opened before the session began stands as 0: that is no time. Modules have addresses there. */
	if (begin && (strcmp(begin, "openedAt") == 0 || strcmp(name, "SL_MODULES") == 0))
		begin = NULL;
	/* An event without an end (a sample) was over where it began. */
	sql = sqlite3_mprintf("SELECT count(*), %s%s%s, %s%s%s%s%s, %s%s%s FROM main.\"%w\"",
			      begin ? "min(" : "NULL", begin ? begin : "", begin ? ")" : "",
			      begin ? "max(ifnull(" : "NULL", begin ? end : "", begin ? ", " : "",
			      begin ? begin : "", begin ? "))" : "", id ? "sl_stats(" : "NULL",
			      id ? id : "", id ? " >> 24, NULL)" : "", name);
	q = start(db, sql ? sql : "");
	if (t && next(&q)) {
		t->name = strdup(name);
		t->rows = number(&q, 0);
		t->first = number(&q, 1);
		t->last = number(&q, 2);
		if (t->last < t->first) /* nothing in it has ended */
			t->last = t->first;
		if (id && count_owners(db, i, number(&q, 3)) < 0)
			q.rc = SQLITE_ERROR;
	}
	sqlite3_free(sql);
	return finish(&q) < 0 || !t || !t->name ? -1 : 0;
}

static int read_tables(sqlite3 *db, struct info *i)
{
	struct query q = start(db, "SELECT name FROM main.sqlite_master WHERE type = 'table' AND "
				   "name NOT GLOB 'ENUM_*' AND name NOT GLOB 'sqlite_*' ORDER BY "
				   "name");

	while (next(&q))
		if (read_table(db, i, (const char *)sqlite3_column_text(q.stmt, 0)) < 0) {
			finish(&q);
			return -1;
		}
	return finish(&q);
}

/* ---- processes ---- */

/* The last image of each process, with the start of the first. */
static const char tree[] = "SELECT globalPid, max(parentGlobalPid), min(start), CASE WHEN "
			   "count(end) = count(*) THEN max(end) END, "
			   "max(traced), exe, commandLine, exitStatus, max(start) FROM "
			   "SL_PROCESS_TREE GROUP BY globalPid ORDER BY 3";

static int read_tree(sqlite3 *db, struct info *i)
{
	struct query q = start(db, tree);

	while (next(&q)) {
		struct info_process *p = process(i, sqlite3_column_int64(q.stmt, 0));

		if (!p)
			break;
		p->parent = number(&q, 1);
		p->start = number(&q, 2);
		p->end = number(&q, 3);
		p->traced = number(&q, 4);
		p->name = text(&q, 5);
		p->command = text(&q, 6);
		p->status = number(&q, 7);
	}
	return finish(&q);
}

/* Names; reports of nsys list every process of the machine, of which those with events count. */
static int read_names(sqlite3 *db, struct info *i)
{
	struct query q = start(db, "SELECT globalPid, pid, name FROM PROCESSES");

	while (next(&q)) {
		int64_t global = sqlite3_column_int64(q.stmt, 0);

		for (size_t k = 0; k < i->processes_cnt; k++) {
			struct info_process *p = &i->processes[k];

			if (p->global != global)
				continue;
			p->pid = number(&q, 1);
			if (!p->name)
				p->name = text(&q, 2);
		}
	}
	return finish(&q);
}

static int compare_processes(const void *a, const void *b)
{
	const struct info_process *x = a, *y = b;
	int64_t sx = x->start == INFO_NONE ? INT64_MAX : x->start;
	int64_t sy = y->start == INFO_NONE ? INT64_MAX : y->start;

	if (sx != sy)
		return sx < sy ? -1 : 1;
	return (x->global > y->global) - (x->global < y->global);
}

/* ---- lists ---- */

/* Names and values of a table, but for the environment, which may hold secrets. */
static int read_pairs(sqlite3 *db, const char *table, struct info_pair **list, size_t *cnt)
{
	char *sql = sqlite3_mprintf(
		"SELECT name, value FROM %s WHERE value <> '' AND name NOT GLOB "
		"'*ENVIRONMENT*' AND name NOT GLOB '*Environment*' AND name NOT GLOB "
		"'PROCESS_0:ARGUMENT_*' AND length(value) < 400",
		table);
	struct query q = start(db, sql ? sql : "");

	while (next(&q)) {
		struct info_pair *p = more(list, cnt, sizeof(*p));

		if (!p)
			break;
		p->name = text(&q, 0);
		p->value = text(&q, 1);
	}
	sqlite3_free(sql);
	return finish(&q);
}

static int read_losses(sqlite3 *db, struct info *i)
{
	struct query q = start(
		db,
		"SELECT start, end, globalTid >> 24 & 16777215, count, what FROM SL_LOST_EVENTS "
		"ORDER BY start");

	while (next(&q)) {
		struct info_loss *l = more(&i->losses, &i->losses_cnt, sizeof(*l));

		if (!l)
			break;
		l->start = number(&q, 0);
		l->end = number(&q, 1);
		l->pid = number(&q, 2);
		l->count = number(&q, 3);
		l->what = text(&q, 4);
	}
	return finish(&q);
}

static int read_notes(sqlite3 *db, struct info *i)
{
	struct query q = start(
		db, "SELECT timestamp, severity, text FROM DIAGNOSTIC_EVENT ORDER BY timestamp");

	while (next(&q)) {
		struct info_note *n = more(&i->notes, &i->notes_cnt, sizeof(*n));

		if (!n)
			break;
		n->time = number(&q, 0);
		n->severity = number(&q, 1);
		n->text = text(&q, 2);
	}
	return finish(&q);
}

static int read_gpus(sqlite3 *db, struct info *i)
{
	struct query q = start(db, "SELECT id, name, busLocation, totalMemory, smCount, "
				   "computeMajor, computeMinor FROM "
				   "TARGET_INFO_GPU ORDER BY id");

	while (next(&q)) {
		struct info_gpu *g = more(&i->gpus, &i->gpus_cnt, sizeof(*g));

		if (!g)
			break;
		g->id = number(&q, 0);
		g->name = text(&q, 1);
		g->bus = text(&q, 2);
		g->memory = number(&q, 3);
		g->sms = number(&q, 4);
		g->major = number(&q, 5);
		g->minor = number(&q, 6);
	}
	return finish(&q);
}

int info_read(sqlite3 *db, const char *path, struct info *i, char *why, size_t why_len)
{
	memset(i, 0, sizeof(*i));
	i->path = path;
	if (hist_register(db, NULL, NULL) == SQLITE_OK) {
		read_head(db, i);
		if (wall_read(db, NULL, &i->wall) == SQLITE_OK && read_tables(db, i) == 0 &&
		    read_tree(db, i) == 0 && read_names(db, i) == 0 &&
		    read_pairs(db, "TARGET_INFO_SYSTEM_ENV", &i->machine, &i->machine_cnt) == 0 &&
		    read_pairs(db, "META_DATA_CAPTURE", &i->capture, &i->capture_cnt) == 0 &&
		    read_losses(db, i) == 0 && read_notes(db, i) == 0 && read_gpus(db, i) == 0) {
			if (i->processes_cnt)
				qsort(i->processes, i->processes_cnt, sizeof(*i->processes),
				      compare_processes);
			return 0;
		}
	}
	snprintf(why, why_len, "%s: %s", path, sqlite3_errmsg(db));
	return -1;
}

void info_free(struct info *i)
{
	for (size_t k = 0; k < i->tables_cnt; k++)
		free(i->tables[k].name);
	for (size_t k = 0; k < i->processes_cnt; k++) {
		free(i->processes[k].name);
		free(i->processes[k].command);
	}
	for (size_t k = 0; k < i->machine_cnt; k++) {
		free(i->machine[k].name);
		free(i->machine[k].value);
	}
	for (size_t k = 0; k < i->capture_cnt; k++) {
		free(i->capture[k].name);
		free(i->capture[k].value);
	}
	for (size_t k = 0; k < i->losses_cnt; k++)
		free(i->losses[k].what);
	for (size_t k = 0; k < i->notes_cnt; k++)
		free(i->notes[k].text);
	for (size_t k = 0; k < i->gpus_cnt; k++) {
		free(i->gpus[k].name);
		free(i->gpus[k].bus);
	}
	char *const texts[] = {i->product, i->version, i->schema, i->host, i->command, i->folder};

	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
		free(texts[k]);
	free(i->tables);
	free(i->processes);
	free(i->machine);
	free(i->capture);
	free(i->losses);
	free(i->notes);
	free(i->gpus);
}
