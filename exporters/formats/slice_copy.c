/*
 * slice_copy.c - one table into the copy.
 *
 * Rows are read in the order of rowid, so that where a page is damaged, reading can go on after it: the next
 * row that can be read is looked for, and the rows between are counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "exporters/formats/slice.h"

#define PROGRESS_EVERY 8192

int slice_fail_dst(struct slice *s)
{
	int rc = sqlite3_extended_errcode(s->dst) & 0xFF;

	if (!*s->why)
		snprintf(s->why, s->why_len, "cannot write %s: %s", s->job->output,
			 rc == SQLITE_FULL ? "no room" : sqlite3_errmsg(s->dst));
	return -1;
}

static int fail_src(struct slice *s, const struct slice_table *t)
{
	snprintf(s->why, s->why_len, "%s: %s: %s%s", s->job->input, t->name,
		 sqlite3_errmsg(s->job->db),
		 s->filtered ? " (a damaged report: copy it whole first, which repairs it)" : "");
	return -1;
}

int slice_exec(struct slice *s, const char *sql)
{
	return sqlite3_exec(s->dst, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : slice_fail_dst(s);
}

/* ---- roles of columns ---- */

/* Does the table's own text say that the column refers to StringIds? Comments of both schemas do. */
static bool refers_to_string(const char *sql, const char *column)
{
	size_t len = strlen(column);

	for (const char *line = sql; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *p = line + strspn(line, " \t\"");
		size_t line_len = strcspn(line, "\n");

		if (strncmp(p, column, len) == 0 && strspn(p + len, " \t\"") > 0 &&
		    memmem(line, line_len, "StringIds", 9))
			return true;
	}
	return false;
}

bool slice_is_chains(const char *table)
{
	return strstr(table, "_CALLCHAINS") || strcmp(table, "SL_FRAMES") == 0;
}

enum slice_role slice_role_of(const char *table, const char *sql, const char *column)
{
	static const char *const paths[] = {"pathId", "filenameId", "sourceFile", NULL};
	static const char *const strings[] = {
		"nameId",      "textId",    "jsonTextId", "demangledName", "shortName",
		"mangledName", "symbol",    "module",     "apiCallId",     "CpuInstruction",
		"library",     "contentId", NULL};
	static const char *const processes[] = {"globalPid", "globalTid", "endGlobalTid",
						"wakerTid", NULL};

	for (int i = 0; paths[i]; i++)
		if (strcmp(column, paths[i]) == 0)
			return SLICE_PATH;
	if (slice_is_chains(table) &&
	    (strcmp(column, "module") == 0 || strcmp(column, "file") == 0))
		return SLICE_PATH;
	if (strcmp(table, "SL_MODULES") == 0 && strcmp(column, "path") == 0)
		return SLICE_PATH;
	if (strcmp(column, "stackId") == 0)
		return SLICE_STACK;
	if (strcmp(column, "counter_id") == 0)
		return SLICE_COUNTED;
	if (strcmp(column, "frameId") == 0)
		return SLICE_FRAME;
	if (strcmp(table, "SL_SPACES") == 0 && strcmp(column, "id") == 0)
		return SLICE_SPACE;
	for (int i = 0; processes[i]; i++)
		if (strcmp(column, processes[i]) == 0)
			return SLICE_PROCESS;
	for (int i = 0; strings[i]; i++)
		if (strcmp(column, strings[i]) == 0)
			return SLICE_STRING;
	return refers_to_string(sql, column) ? SLICE_STRING : SLICE_PLAIN;
}

int slice_time_of(const char *table, const char *column)
{
	static const char *const no_events[] = {"TARGET_INFO_", "META_DATA_",         "ENUM_",
						"ANALYSIS_",    "SL_CLOCK_SNAPSHOTS", NULL};
	static const char *const times[] = {"start",   "end",        "timestamp", "startedAt",
					    "endedAt", "wakeupTime", NULL};

	if (strcmp(table, "SL_MODULES") == 0) /* start and end are addresses */
		return strcmp(column, "since") == 0;

	for (int i = 0; no_events[i]; i++)
		if (strncmp(table, no_events[i], strlen(no_events[i])) == 0)
			return 0;
	if (strcmp(column, "openedAt") == 0 || strcmp(column, "closedAt") == 0 ||
	    (strcmp(column, "timestamp") == 0 &&
	     strcmp(table, "CUPTI_ACTIVITY_KIND_CUDA_EVENT") == 0))
		return 2;
	for (int i = 0; times[i]; i++)
		if (strcmp(column, times[i]) == 0)
			return 1;
	return 0;
}

/* The kind of callchains that a table has, or refers to; 0: none. */
static int chains_of(const char *table)
{
	static const char *const kinds[][5] = {
		{"OSRT_CALLCHAINS", "OSRT_API"},
		{"CUDA_CALLCHAINS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUBLAS_EVENTS", "CUDNN_EVENTS",
		 "SL_LIBRARY_API"},
		{"SYSCALL_CALLCHAINS", "SYSCALL"},
		{"SAMPLING_CALLCHAINS", "COMPOSITE_EVENTS"},
		{"SL_STACKS"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (size_t j = 0; j < sizeof(kinds[0]) / sizeof(kinds[0][0]) && kinds[i][j]; j++)
			if (strcmp(table, kinds[i][j]) == 0)
				return (int)i + 1;
	return 0;
}

static void describe(struct slice_table *t, const char *column)
{
	struct slice_column *c = &t->col[t->cols];

	if (t->cols == SLICE_COLS_MAX)
		return;
	snprintf(c->name, sizeof(c->name), "%s", column);
	c->role = slice_role_of(t->name, t->sql, column);
	if (chains_of(t->name) &&
	    (strcmp(column, "callchainId") == 0 ||
	     (strcmp(column, "id") == 0 && strcmp(t->name, "COMPOSITE_EVENTS") == 0)))
		c->role = SLICE_CHAIN;
	/* Messages are kept regardless of their process, but keep no process. */
	if (strcmp(t->name, "DIAGNOSTIC_EVENT") == 0)
		c->role = SLICE_PLAIN;
	c->how = anonymize_column(t->name, column);
	t->cols++;
}

/* 0, or -1: a table with names or numbers of columns that no report has. */
static int find_columns(struct slice *s, struct slice_table *t)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(s->job->db,
				    "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE hidden "
				    "= 0",
				    -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, t->name, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		if (!name || strlen(name) >= sizeof(t->col[0].name) || t->cols == SLICE_COLS_MAX) {
			snprintf(s->why, s->why_len, "%s: table %s is not one of a report",
				 s->job->input, t->name);
			sqlite3_finalize(stmt);
			return -1;
		}
		describe(t, name);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE && t->cols > 0 ? 0 : fail_src(s, t);
}

/* ---- statements ---- */

static void put_column(struct slice *s, const struct slice_table *t, const char *name,
		       sqlite3_str *sql)
{
	long long shift = s->job->opt.shift;
	int time = shift ? slice_time_of(t->name, name) : 0;

	/* The clocks at time 0 of the axis: the shift moves that time. */
	if (shift && strcmp(t->name, "TARGET_INFO_SESSION_START_TIME") == 0 &&
	    (strcmp(name, "utcEpochNs") == 0 || strcmp(name, "systemClockNs") == 0))
		sqlite3_str_appendf(sql, ", \"%w\" - %lld", name, shift);
	else if (time == 1)
		sqlite3_str_appendf(sql, ", \"%w\" + %lld", name, shift);
	else if (time == 2)
		sqlite3_str_appendf(sql, ", iif(\"%w\" = 0, 0, \"%w\" + %lld)", name, name, shift);
	else
		sqlite3_str_appendf(sql, ", \"%w\"", name);
}

static int prepare(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **stmt)
{
	char *text = sqlite3_str_finish(sql);
	int rc = text ? sqlite3_prepare_v2(db, text, -1, stmt, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	return rc;
}

static int prepare_get(struct slice *s, struct slice_table *t, bool by_rowid)
{
	sqlite3_str *sql = sqlite3_str_new(s->job->db);

	sqlite3_str_appendf(sql, by_rowid ? "SELECT rowid" : "SELECT 0");
	for (int i = 0; i < t->cols; i++)
		put_column(s, t, t->col[i].name, sql);
	sqlite3_str_appendf(sql, s->filtered ? " FROM \"%w\"" : " FROM main.\"%w\"", t->name);
	if (by_rowid)
		sqlite3_str_appendf(sql, " WHERE rowid > ?1 ORDER BY rowid");
	return prepare(s->job->db, sql, &t->get);
}

static int prepare_put(struct slice *s, struct slice_table *t)
{
	sqlite3_str *sql = sqlite3_str_new(s->dst);

	/* A damaged row may break a rule of the table: then the row is lost. */
	sqlite3_str_appendf(sql, "INSERT OR IGNORE INTO \"%w\" (", t->name);
	for (int i = 0; i < t->cols; i++)
		sqlite3_str_appendf(sql, "%s\"%w\"", i ? ", " : "", t->col[i].name);
	sqlite3_str_appendf(sql, ") VALUES (?");
	for (int i = 1; i < t->cols; i++)
		sqlite3_str_appendf(sql, ", ?");
	sqlite3_str_appendf(sql, ")");
	return prepare(s->dst, sql, &t->put) == SQLITE_OK ? 0 : slice_fail_dst(s);
}

/* ---- rows ---- */

#define SHARED  5 /* chains_of("SL_STACKS") */
#define COUNTED 6 /* no chain, but likewise: intervals of PMU_EVENTS */

/* Callchains of different kinds of events have numbers of their own; SL_STACKS has those of all. */
static uint64_t chain_key(int chain, int64_t id)
{
	return (uint64_t)id << 3 | (uint64_t)chain;
}

/* True for tables whose rows without a reference are left out. */
static bool is_keyed(const struct slice *s, const char *name)
{
	if (strcmp(name, "StringIds") == 0 || strcmp(name, "SL_FUNCTIONS") == 0)
		return s->prune_strings;
	if (slice_is_chains(name) || strcmp(name, "SL_STACKS") == 0 ||
	    strcmp(name, "PMU_EVENT_COUNTERS") == 0)
		return s->filtered;
	return s->prune_processes &&
	       (strcmp(name, "PROCESSES") == 0 || strcmp(name, "ThreadNames") == 0 ||
		strcmp(name, "SL_PROCESS_TREE") == 0 || strcmp(name, "SL_SPACES") == 0 ||
		strcmp(name, "SL_MODULES") == 0);
}

/* False: a row of names without a reference. */
static bool is_wanted(struct slice *s, const struct slice_table *t)
{
	if (!t->keyed)
		return true;
	int64_t first = sqlite3_column_int64(t->get, 1);

	if (strcmp(t->name, "StringIds") == 0 || strcmp(t->name, "SL_FUNCTIONS") == 0)
		return slice_is_used(&s->strings, first);
	if (strcmp(t->name, "SL_FRAMES") == 0)
		return slice_is_used(&s->frames, first);
	if (strcmp(t->name, "SL_MODULES") == 0)
		return slice_is_used(&s->spaces, first);
	if (strcmp(t->name, "PMU_EVENT_COUNTERS") == 0)
		return slice_is_used(&s->chains, (int64_t)chain_key(COUNTED, first));
	if (s->chain)
		return slice_is_used(&s->chains, (int64_t)chain_key(s->chain, first));
	for (int i = 0; i < t->cols; i++)
		if (t->col[i].role == SLICE_PROCESS)
			return slice_is_used(&s->processes,
					     TL_PROCESS_OF(sqlite3_column_int64(t->get, i + 1)));
	return true;
}

static int use(struct slice *s, enum slice_role role, int64_t id)
{
	uint64_t *at = &(uint64_t){0};

	if (role == SLICE_CHAIN && s->filtered)
		at = map_at(&s->chains, chain_key(s->chain, id), true);
	/* The number of a sample is none of a stack. */
	if ((role == SLICE_STACK ||
	     (role == SLICE_CHAIN && s->chain != chains_of("COMPOSITE_EVENTS"))) &&
	    s->filtered && at)
		at = map_at(&s->chains, chain_key(SHARED, id), true);
	if (role == SLICE_COUNTED && s->filtered)
		at = map_at(&s->chains, chain_key(COUNTED, id), true);
	if (role == SLICE_FRAME && s->filtered)
		at = map_at(&s->frames, (uint64_t)id, true);
	if (role == SLICE_SPACE && s->prune_processes)
		at = map_at(&s->spaces, (uint64_t)id, true);
	if (role == SLICE_PROCESS && s->prune_processes)
		at = map_at(&s->processes, (uint64_t)TL_PROCESS_OF(id), true);
	if ((role == SLICE_STRING || role == SLICE_PATH) && s->prune_strings)
		at = map_at(&s->strings, (uint64_t)id, true);
	if (role == SLICE_PATH && s->anon && at)
		at = map_at(&s->paths, (uint64_t)id, true);
	return at ? SQLITE_OK : SQLITE_NOMEM;
}

/* A text as it may go into the copy. */
static int bind_anonymous(struct slice *s, const struct slice_table *t, int i, const char *text,
			  size_t len)
{
	enum anonymize_how how = t->col[i].how;

	if (t->settings && strcmp(t->col[i].name, "value") == 0) {
		const char *name = "";

		for (int k = 0; k < t->cols; k++)
			if (strcmp(t->col[k].name, "name") == 0)
				name = (const char *)sqlite3_column_text(t->get, k + 1);
		how = anonymize_setting(name ? name : "", text);
	} else if (strcmp(t->name, "StringIds") == 0) {
		how = slice_is_used(&s->paths, sqlite3_column_int64(t->get, 1)) ? ANON_PATH
										: ANON_TEXT;
	}
	if (how == ANON_KEEP)
		return sqlite3_bind_text64(t->put, i + 1, text, len, SQLITE_STATIC, SQLITE_UTF8);
	if (how == ANON_DROP && ((t->col[i].name[0] == 'b' && s->job->opt.include_blobs) ||
				 (t->col[i].name[0] == 'j' && s->job->opt.include_json)))
		how = ANON_TEXT; /* payloads were asked for */
	if (how == ANON_DROP)
		return sqlite3_bind_null(t->put, i + 1);
	text = anonymize(s->anon, how, text, &len);
	if (!text)
		return SQLITE_NOMEM;
	return sqlite3_bind_text64(t->put, i + 1, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int bind_value(struct slice *s, const struct slice_table *t, int i)
{
	sqlite3_stmt *get = t->get, *put = t->put;
	const char *text;
	int64_t num;
	int rc;

	switch (sqlite3_column_type(get, i + 1)) {
	case SQLITE_INTEGER:
		num = sqlite3_column_int64(get, i + 1);
		/* Threads' names are texts, too, of the threads that are kept; but their rows keep no thread. */
		rc = t->col[i].role == SLICE_PLAIN || (t->keyed && t->col[i].role == SLICE_PROCESS)
			     ? SQLITE_OK
			     : use(s, t->col[i].role, num);
		return rc == SQLITE_OK ? sqlite3_bind_int64(put, i + 1, num) : rc;
	case SQLITE_FLOAT:
		return sqlite3_bind_double(put, i + 1, sqlite3_column_double(get, i + 1));
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(get, i + 1);
		if (!text)
			return SQLITE_NOMEM;
		if (s->anon)
			return bind_anonymous(s, t, i, text,
					      (size_t)sqlite3_column_bytes(get, i + 1));
		return sqlite3_bind_text64(put, i + 1, text,
					   (sqlite3_uint64)sqlite3_column_bytes(get, i + 1),
					   SQLITE_STATIC, SQLITE_UTF8);
	case SQLITE_BLOB:
		if (s->anon && !s->job->opt.include_blobs)
			return sqlite3_bind_null(put, i + 1);
		/* SQLite has no address for an empty blob, and takes a missing address for NULL. */
		if (sqlite3_column_bytes(get, i + 1) == 0)
			return sqlite3_bind_zeroblob(put, i + 1, 0);
		return sqlite3_bind_blob64(put, i + 1, sqlite3_column_blob(get, i + 1),
					   (sqlite3_uint64)sqlite3_column_bytes(get, i + 1),
					   SQLITE_STATIC);
	default:
		return sqlite3_bind_null(put, i + 1);
	}
}

static int copy_row(struct slice *s, struct slice_table *t)
{
	int rc = SQLITE_OK;

	if (!is_wanted(s, t))
		return 0;
	if (!t->made) {
		if (slice_make_foreign(s, t->name, t->sql) < 0)
			return -1;
		t->made = true;
	}
	if (!t->put && prepare_put(s, t) < 0)
		return -1;
	for (int i = 0; i < t->cols && rc == SQLITE_OK; i++)
		rc = bind_value(s, t, i);
	if (rc == SQLITE_NOMEM) {
		snprintf(s->why, s->why_len, "out of memory");
		return -1;
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_step(t->put);
	if (sqlite3_reset(t->put) != SQLITE_OK || rc != SQLITE_DONE)
		return slice_fail_dst(s);
	if (sqlite3_changes(s->dst) == 0)
		t->lost++;
	else
		t->rows++;
	s->rows++;
	if (s->rows % PROGRESS_EVERY == 0 && s->job->timeline.progress &&
	    s->job->timeline.progress(s->job->timeline.of_progress, s->rows, s->total) < 0)
		return -1;
	return 0;
}

/* ---- around damage ---- */

static bool is_damage(int rc)
{
	rc &= 0xFF;
	return rc == SQLITE_CORRUPT || rc == SQLITE_IOERR || rc == SQLITE_NOTADB ||
	       rc == SQLITE_FORMAT;
}

/* The first row after @rowid: 1 and *found, 0 there is none, -1 it cannot be read. */
static int row_behind(struct slice *s, const struct slice_table *t, int64_t rowid, int64_t *found)
{
	char *sql = sqlite3_mprintf("SELECT rowid FROM main.\"%w\" WHERE rowid > %lld ORDER BY "
				    "rowid LIMIT 1",
				    t->name, (long long)rowid);
	sqlite3_stmt *stmt = NULL;
	int rc = sql ? sqlite3_prepare_v2(s->job->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*found = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -1;
}

/*
 * Where reading can go on after @last, the last row that could be read: steps away from it that double until
 * something can be read, then the nearest such place between. 1: from row *found on; 0: it is the end, and
 * after *found there is nothing; -1: nothing can be read any more.
 */
static int behind_damage(struct slice *s, const struct slice_table *t, int64_t last, int64_t *found)
{
	int64_t bad = last, good = last, step = 1, row = 0;
	int got = -1;

	for (; got < 0; step *= 2) {
		if (step > INT64_MAX / 4 || __builtin_add_overflow(last, step, &good))
			return -1;
		got = row_behind(s, t, good, &row);
		if (got < 0)
			bad = good;
	}
	*found = got ? row : good;
	while (good - bad > 1) {
		int64_t mid = bad + (good - bad) / 2;
		int at = row_behind(s, t, mid, &row);

		if (at < 0) {
			bad = mid;
			continue;
		}
		good = mid;
		got = at;
		*found = got ? row : good;
	}
	return got;
}

/* Reads from after @last to the end or the next damage; *last follows. 1 end, 0 damage, -1 failed. */
static int copy_stretch(struct slice *s, struct slice_table *t, bool by_rowid, int64_t *last)
{
	int rc = by_rowid ? sqlite3_bind_int64(t->get, 1, *last) : SQLITE_OK;

	while (rc == SQLITE_OK && (rc = sqlite3_step(t->get)) == SQLITE_ROW) {
		if (copy_row(s, t) < 0)
			return -1;
		*last = sqlite3_column_int64(t->get, 0);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return 1;
	return is_damage(rc) && !s->filtered ? 0 : fail_src(s, t);
}

static int copy_rows(struct slice *s, struct slice_table *t)
{
	bool by_rowid = !s->filtered && prepare_get(s, t, true) == SQLITE_OK;
	int64_t last = by_rowid ? 0 : -1, next;
	int rc;

	/* Rowids below 1 exist only where a program has given them. */
	if (by_rowid && row_behind(s, t, INT64_MIN, &next) == 1 && next < 1)
		last = next - 1;
	if (!by_rowid && prepare_get(s, t, false) != SQLITE_OK) {
		if (!is_damage(sqlite3_errcode(s->job->db)) || s->filtered)
			return fail_src(s, t);
		t->lost_more = true;
		return 0;
	}
	while ((rc = copy_stretch(s, t, by_rowid, &last)) == 0) {
		sqlite3_reset(t->get);
		int more = by_rowid ? behind_damage(s, t, last, &next) : -1;

		t->lost_more = more < 0;
		if (more >= 0)
			t->lost += (uint64_t)(next - last - more);
		if (more <= 0)
			return 0;
		last = next - 1;
	}
	return rc < 0 ? -1 : 0;
}

int slice_table(struct slice *s, const char *name, const char *sql)
{
	struct slice_table *t = calloc(1, sizeof(*t));
	int rc;

	if (!t) {
		snprintf(s->why, s->why_len, "out of memory");
		return -1;
	}
	t->name = name;
	t->sql = sql;
	t->settings =
		strncmp(name, "META_DATA_", 10) == 0 || strcmp(name, "TARGET_INFO_SYSTEM_ENV") == 0;
	s->chain = chains_of(name);
	t->keyed = is_keyed(s, name);
	rc = find_columns(s, t);
	if (rc == 0)
		rc = copy_rows(s, t);
	if (rc == 0 && (t->lost || t->lost_more)) {
		s->lost += t->lost + t->lost_more;
		sl_warn("export: %s is damaged: of %s, %llu rows%s are lost, %llu are kept",
			s->job->input, name, (unsigned long long)t->lost,
			t->lost_more ? " and all behind them" : "", (unsigned long long)(t->rows));
		char *note = sqlite3_mprintf(
			"INSERT INTO SL_SLICE_NOTES VALUES('SL_COPY_LOST', '%q: %llu rows%s')",
			name, (unsigned long long)t->lost,
			t->lost_more ? " and what followed" : "");

		rc = note ? slice_exec(s, note) : -1;
		sqlite3_free(note);
	}
	sqlite3_finalize(t->get);
	sqlite3_finalize(t->put);
	free(t);
	return rc;
}
