/*
 * slice.c - a report as a report: repaired, indexed; if asked for, cut to a part and without texts that identify people and
 * places.
 *
 * Names, processes and threads come last: then it is known which are referred to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/embed.h"
#include "exporters/formats/slice.h"
#include "exporters/formats/table_list.h"
#include "exporters/read/foreign_schema.h"
#include "exporters/read/sql_rows.h"

struct entry {
	char *name, *sql;
};

enum which {    /* tables to make */
	NEEDED, /* those without which it is no report */
	ENUMS,  /* numbers' names, where the damage took them */
	ALL,    /* --lazy=false */
};

struct entries {
	struct entry *entry;
	size_t cnt;
};

static bool exists(struct slice *s, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(s->dst, "main", table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* Views, which SQLite's function for tables does not know, are there, too. */
static bool has_view(struct slice *s, const char *name)
{
	char *sql = sqlite3_mprintf("SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = %Q",
				    name);
	sqlite3_stmt *stmt = NULL;
	bool has = sql && (stmt = sql_first(s->dst, sql)) != NULL;

	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return has;
}

static bool is_made(struct slice *s, const char *name)
{
	return exists(s, name, NULL) || has_view(s, name);
}

int slice_make(struct slice *s, const char *name, const char *sql)
{
	return is_made(s, name) ? 0 : slice_exec(s, sql);
}

int slice_make_foreign(struct slice *s, const char *name, const char *sql)
{
	int rc;

	if (is_made(s, name))
		return 0;
	rc = foreign_schema_make(s->dst, sql);
	if (rc == SQLITE_AUTH)
		snprintf(s->why, s->why_len,
			 "the text of table %s in its schema is not one CREATE TABLE", name);
	return rc == SQLITE_OK ? 0 : rc == SQLITE_AUTH ? -1 : slice_fail_dst(s);
}

/* ---- lists ---- */

static void free_entries(struct entries *list)
{
	for (size_t i = 0; i < list->cnt; i++) {
		sqlite3_free(list->entry[i].name);
		sqlite3_free(list->entry[i].sql);
	}
	free(list->entry);
}

/* Reads the entries of @types, a list in SQL, in the source's schema. */
static int read_entries(struct slice *s, const char *types, struct entries *list)
{
	char *sql =
		sqlite3_mprintf("SELECT name, sql FROM main.sqlite_master WHERE type IN (%s) "
				"AND sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%%' ESCAPE '\\' "
				"AND sql NOT LIKE 'CREATE VIRTUAL%%' ORDER BY rowid",
				types);
	sqlite3_stmt *stmt = NULL;
	int rc = sql ? sqlite3_prepare_v2(s->job->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct entry *more = reallocarray(list->entry, list->cnt + 1, sizeof(*more));
		struct entry *e = more ? &more[list->cnt] : NULL;

		if (more)
			list->entry = more;
		rc = SQLITE_NOMEM;
		if (!e)
			break;
		e->name = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
		e->sql = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 1));
		list->cnt++;
		if (e->name && e->sql)
			rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (rc == SQLITE_DONE)
		return 0;
	snprintf(s->why, s->why_len, "%s: %s", s->job->input, sqlite3_errmsg(s->job->db));
	return -1;
}

/* How many rows there will be, at most: for the progress. */
static void count_rows(struct slice *s, const struct entries *tables)
{
	for (size_t i = 0; i < tables->cnt; i++) {
		char *sql = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"",
					    tables->entry[i].name);
		sqlite3_stmt *stmt = NULL;

		if (sql && (stmt = sql_first(s->job->db, sql)) != NULL &&
		    sqlite3_column_int64(stmt, 0) > 0)
			s->total += (uint64_t)sqlite3_column_int64(stmt, 0);
		sqlite3_finalize(stmt);
		sqlite3_free(sql);
	}
}

/* ---- tables ---- */

/* When a table's turn is: 0 events and descriptions, 1 threads, processes and places, 2 frames, 3 names. */
#define TURNS 4
static int turn_of(const char *name)
{
	static const char *const late[] = {"ThreadNames", "PROCESSES", "SL_PROCESS_TREE",
					   "SL_STACKS",   "SL_SPACES", "PMU_EVENT_COUNTERS",
					   NULL};

	if (strcmp(name, "StringIds") == 0)
		return 3;
	if (strcmp(name, "SL_FRAMES") == 0 || strcmp(name, "SL_MODULES") == 0 ||
	    strcmp(name, "SL_FUNCTIONS") == 0)
		return 2;
	if (strstr(name, "_CALLCHAINS"))
		return 1;
	for (int i = 0; late[i]; i++)
		if (strcmp(name, late[i]) == 0)
			return 1;
	return 0;
}

/* Kept regardless of --tables: without them a report cannot be read. */
static bool is_needed(const char *name)
{
	return strcmp(name, "StringIds") == 0 || strncmp(name, "ENUM_", 5) == 0 ||
	       strncmp(name, "META_DATA_", 10) == 0;
}

static bool is_copied(struct slice *s, struct table_list *wanted, const char *name)
{
	/* Tables of growing reports alone are not copied. */
	return strcmp(name, "SL_STATE") != 0 && strcmp(name, "SL_PENDING_GPU") != 0 &&
	       strncmp(name, "SL_LIVE_", 8) != 0 && !(s->anon && anonymize_leaves_out(name)) &&
	       (is_needed(name) || table_list_has(wanted, name));
}

/* The ancestors of kept processes are kept. */
static int use_parents(struct slice *s)
{
	sqlite3_stmt *stmt = NULL;
	bool more = s->prune_processes;
	int rc = sqlite3_prepare_v2(
		s->job->db,
		"SELECT DISTINCT globalPid, parentGlobalPid FROM SL_PROCESS_TREE "
		"WHERE parentGlobalPid IS NOT NULL",
		-1, &stmt, NULL);

	while (more && rc == SQLITE_OK) {
		for (more = false; sqlite3_step(stmt) == SQLITE_ROW;) {
			int64_t child = sqlite3_column_int64(stmt, 0);
			int64_t parent = sqlite3_column_int64(stmt, 1);

			if (!slice_is_used(&s->processes, child) ||
			    slice_is_used(&s->processes, parent))
				continue;
			more = map_at(&s->processes, (uint64_t)parent, true) != NULL;
		}
		rc = sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return 0;
}

static int copy_tables(struct slice *s, const struct entries *tables, struct table_list *wanted)
{
	int rc = 0;

	for (int turn = 0; turn < TURNS && rc == 0; turn++) {
		for (size_t i = 0; i < tables->cnt && rc == 0; i++) {
			const struct entry *e = &tables->entry[i];

			if (turn_of(e->name) == turn && is_copied(s, wanted, e->name))
				rc = slice_table(s, e->name, e->sql);
		}
		if (rc == 0 && turn == 0)
			rc = use_parents(s);
	}
	return rc;
}

/* A section of our schema; when it is due, the table is made as it is there. */
static int make_section(struct slice *s, const char *sql, int len, struct table_list *wanted,
			enum which which)
{
	char name[64], when[16];
	bool due;
	int rc = 0;

	if (sscanf(sql, "-- @table %63s %15s", name, when) != 2 || strcmp(when, "private") == 0)
		return 0;
	due = which == ALL ? is_copied(s, wanted, name)
			   : strncmp(name, which == ENUMS ? "ENUM_" : "META_DATA_",
				     which == ENUMS ? 5 : 10) == 0;
	if (due) {
		char *text = sqlite3_mprintf("%.*s", len, sql);

		rc = text ? slice_make(s, name, text) : -1;
		sqlite3_free(text);
	}
	return rc;
}

/*
 * Tables without rows: those of the source, which may be of another version, then those of our schema that the source lacks.
 */
static int make_tables(struct slice *s, const struct entries *tables, struct table_list *wanted,
		       enum which which)
{
	static const char mark[] = "-- @table ";
	const char *at = NULL, *next;
	int rc = 0;

	for (size_t i = 0; i < tables->cnt && rc == 0 && which != ENUMS; i++) {
		const struct entry *e = &tables->entry[i];

		if (which == ALL ? is_copied(s, wanted, e->name)
				 : is_needed(e->name) && strncmp(e->name, "ENUM_", 5) != 0)
			rc = slice_make_foreign(s, e->name, e->sql);
	}
	for (const struct embedded *e = sl_embedded; e->name && !at; e++)
		if (strcmp(e->name, "schema.sql") == 0)
			at = strstr(e->text, mark);
	for (; at && rc == 0; at = next) {
		next = strstr(at + 1, mark);
		rc = make_section(s, at, next ? (int)(next - at) : (int)strlen(at), wanted, which);
	}
	return rc;
}

/* ---- metadata of the copy ---- */

static int note(struct slice *s, const char *name, const char *value)
{
	char *sql;
	int rc = 0;

	if (!value)
		return 0;
	sql = sqlite3_mprintf("INSERT INTO META_DATA_EXPORT(name, value) VALUES(%Q, %Q)", name,
			      value);
	rc = sql ? slice_exec(s, sql) : -1;
	sqlite3_free(sql);
	return rc;
}

static int set_note(struct slice *s, const char *name, const char *value)
{
	char *sql = sqlite3_mprintf("DELETE FROM META_DATA_EXPORT WHERE name = %Q", name);
	int rc = sql ? slice_exec(s, sql) : -1;

	sqlite3_free(sql);
	return rc == 0 ? note(s, name, value) : rc;
}

static int put_notes(struct slice *s)
{
	const struct export_options *o = &s->job->opt;
	const char *slash = strrchr(s->job->input, '/');
	time_t now = time(NULL);
	char text[64];
	struct tm tm;
	int rc;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
	rc = note(s, "SL_COPY_TIME_UTC", text);
	if (rc == 0)
		rc = note(s, "SL_COPY_BY", "sightline " SL_VERSION);
	if (rc == 0 && !o->anonymize)
		rc = note(s, "SL_COPY_OF", slash ? slash + 1 : s->job->input);
	if (rc == 0)
		rc = note(s, "SL_COPY_TABLES", o->tables);
	if (rc == 0)
		rc = note(s, "SL_COPY_TIME", o->time ? o->time : o->times);
	if (rc == 0)
		rc = note(s, "SL_COPY_NVTX", o->nvtx);
	if (rc == 0)
		rc = note(s, "SL_COPY_PID", o->pid);
	if (rc == 0)
		rc = note(s, "SL_COPY_ANONYMIZED", o->anonymize ? "true" : NULL);
	if (rc == 0 && !o->lazy)
		rc = set_note(s, "EXPORT_PARAM_LAZY", "false");
	snprintf(text, sizeof(text), "%lld", (long long)o->shift);
	if (rc == 0 && o->shift)
		rc = set_note(s, "EXPORT_PARAM_TIME_SHIFT", text);
	if (rc == 0 && o->normalize)
		rc = set_note(s, "EXPORT_PARAM_TIME_NORMALIZE", "true");
	if (rc == 0)
		rc = slice_exec(s, "INSERT INTO META_DATA_EXPORT(name, value) SELECT name, value "
				   "FROM SL_SLICE_NOTES");
	return rc;
}

/* ---- indexes ---- */

/*
 * Columns that readers join and look up by: calls with their GPU work (correlationId), the events of a thread (globalTid,
 * start), the events in a span (start), names of threads and processes.
 */
static const struct {
	const char *columns; /* of tables that have all of them */
	const char *table;   /* NULL: of all */
} indexes[] = {
	{"start", NULL},
	{"globalTid, start", NULL},
	{"correlationId", NULL},
	{"callId", NULL},
	{"timestamp", NULL},
	{"fileAccessId", NULL},
	{"globalTid", "ThreadNames"},
	{"globalPid", "PROCESSES"},
	{"globalPid", "SL_PROCESS_TREE"},
	{"id", "OSRT_CALLCHAINS"},
	{"id", "CUDA_CALLCHAINS"},
	{"id", "SAMPLING_CALLCHAINS"},
	{"id", "SYSCALL_CALLCHAINS"},
};

static bool has_columns(struct slice *s, const char *table, const char *columns)
{
	char column[64];

	while (*columns) {
		size_t len = strcspn(columns, ",");

		snprintf(column, sizeof(column), "%.*s", (int)len, columns);
		if (!exists(s, table, column))
			return false;
		columns += len;
		columns += strspn(columns, ", ");
	}
	return true;
}

static int make_indexes(struct slice *s, const struct entries *tables)
{
	static const char *const no_events[] = {"TARGET_INFO_", "META_DATA_", "ENUM_",
						"StringIds",    "ANALYSIS_",  "DIAGNOSTIC_",
						"SL_MODULES",   NULL};
	int rc = 0;

	for (size_t i = 0; i < tables->cnt; i++) {
		const char *table = tables->entry[i].name;
		bool skip = false;

		for (int k = 0; no_events[k]; k++)
			skip |= strncmp(table, no_events[k], strlen(no_events[k])) == 0;
		for (size_t k = 0; !skip && rc == 0 && k < sizeof(indexes) / sizeof(indexes[0]);
		     k++) {
			const char *columns = indexes[k].columns;

			if ((indexes[k].table && strcmp(indexes[k].table, table) != 0) ||
			    !has_columns(s, table, columns))
				continue;
			char *sql = sqlite3_mprintf(
				"CREATE INDEX IF NOT EXISTS \"SL_%w_%.*s%s\" ON \"%w\"(%s)", table,
				(int)strcspn(columns, ","), columns,
				strchr(columns, ',') ? "_start" : "", table, columns);

			rc = sql ? slice_exec(s, sql) : -1;
			sqlite3_free(sql);
		}
	}
	return rc == 0 ? slice_exec(s, "PRAGMA analysis_limit = 1000; ANALYZE") : rc;
}

/* SQLite makes views of tables that are not there. */
static int drop_if_broken(struct slice *s, const char *view)
{
	char *ask = sqlite3_mprintf("SELECT * FROM \"%w\"", view);
	char *drop = sqlite3_mprintf("DROP VIEW \"%w\"", view);
	sqlite3_stmt *stmt = NULL;
	int rc = ask && drop ? 0 : -1;

	if (rc == 0 && sqlite3_prepare_v2(s->dst, ask, -1, &stmt, NULL) != SQLITE_OK)
		rc = slice_exec(s, drop);
	sqlite3_finalize(stmt);
	sqlite3_free(ask);
	sqlite3_free(drop);
	return rc;
}

/* A copy is for readers of nsys's databases, too, some of which list tables alone: there the view is a table, as nsys has it. */
static int make_sampled(struct slice *s)
{
	static const char sql[] =
		"CREATE TABLE SL_SLICE_SAMPLED(id INTEGER NOT NULL, symbol INTEGER NOT NULL, "
		"module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER, unresolved "
		"INTEGER, "
		"specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, "
		"stackDepth INTEGER NOT NULL, file INTEGER, line INTEGER);"
		"INSERT INTO SL_SLICE_SAMPLED SELECT id, symbol, module, kernelMode, thumbCode, "
		"unresolved, specialEntry, originalIP, unwindMethod, stackDepth, file, line "
		"FROM SAMPLING_CALLCHAINS;"
		"DROP VIEW SAMPLING_CALLCHAINS;"
		"PRAGMA legacy_alter_table = ON;" /* views of users that name it stay as they are */
		"ALTER TABLE SL_SLICE_SAMPLED RENAME TO SAMPLING_CALLCHAINS;"
		"PRAGMA legacy_alter_table = OFF;"
		"CREATE INDEX SL_SAMPLING_CALLCHAINS_id ON SAMPLING_CALLCHAINS(id)";

	return has_view(s, "SAMPLING_CALLCHAINS") ? slice_exec(s, sql) : 0;
}

/* Copies indexes and views that users have added; those of a table that is left out are left out too. */
static int copy_others(struct slice *s)
{
	struct entries list = {0};
	int rc = read_entries(s, "'index', 'view'", &list);

	for (size_t i = 0; i < list.cnt && rc == 0; i++) {
		foreign_schema_make(s->dst, list.entry[i].sql);
		if (has_view(s, list.entry[i].name))
			rc = drop_if_broken(s, list.entry[i].name);
	}
	free_entries(&list);
	return rc;
}

/* ---- all of it ---- */

/* SQLite asks now and then, also while it makes an index. */
static int on_sqlite(void *self)
{
	const struct slice *s = self;
	const struct tl_options *o = &s->job->timeline;

	return o->progress && o->progress(o->of_progress, s->rows, s->total) < 0;
}

static int open_copy(struct slice *s)
{
	static const char settings[] =
		"PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		"PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384; PRAGMA temp_store = "
		"FILE;"
		"CREATE TEMP TABLE SL_SLICE_NOTES(name TEXT, value TEXT); BEGIN";

	if (sqlite3_open_v2(s->job->path, &s->dst, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			    NULL) != SQLITE_OK)
		return slice_fail_dst(s);
	sqlite3_extended_result_codes(s->dst, 1);
	sqlite3_db_config(s->dst, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(s->dst, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_progress_handler(s->dst, 1000000, on_sqlite, s);
	return slice_exec(s, settings);
}

static int copy(struct slice *s)
{
	struct entries tables = {0};
	struct table_list wanted;
	int rc = table_list_parse(&wanted, s->job->opt.tables, s->why, s->why_len);

	if (rc == 0)
		rc = open_copy(s);
	if (rc == 0)
		rc = read_entries(s, "'table'", &tables);
	if (rc == 0) {
		count_rows(s, &tables);
		rc = make_tables(s, &tables, &wanted, NEEDED);
	}
	if (rc == 0)
		rc = copy_tables(s, &tables, &wanted);
	if (rc == 0 && s->lost)
		rc = make_tables(s, &tables, &wanted, ENUMS);
	/* A view of our own stands for a table of the schema, so it comes first; others may need all tables. */
	if (rc == 0)
		rc = copy_others(s);
	if (rc == 0 && !s->job->opt.lazy) {
		rc = make_tables(s, &tables, &wanted, ALL);
		if (rc == 0)
			rc = copy_others(s);
		/* nsys has samples without numbers of stacks, which the view of our schema asks for. */
		if (rc == 0 && has_view(s, "SAMPLING_CALLCHAINS"))
			rc = drop_if_broken(s, "SAMPLING_CALLCHAINS");
	}
	if (rc == 0)
		rc = make_sampled(s);
	if (rc == 0 && wanted.failed) {
		snprintf(s->why, s->why_len, "out of memory");
		rc = -1;
	}
	if (rc == 0)
		rc = put_notes(s);
	if (rc == 0)
		rc = make_indexes(s, &tables);
	if (rc == 0)
		rc = slice_exec(s, "COMMIT");
	free_entries(&tables);
	table_list_free(&wanted);
	return rc;
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	const struct export_options *o = &job->opt;
	struct slice s = {.job = job, .why = why, .why_len = why_len};
	int rc = 0;

	if (!job->db)
		return db_read_convert(job->input, job->path, why, why_len);
	*why = '\0';
	s.filtered = o->time || o->times || o->nvtx || o->pid;
	s.prune_processes = s.filtered || o->anonymize;
	s.prune_strings = s.filtered || o->anonymize || o->tables;
	if (o->anonymize) {
		s.anon = anonymizer_new(job->db);
		rc = s.anon ? 0 : -1;
		if (rc < 0)
			snprintf(why, why_len, "out of memory");
	}
	if (rc == 0)
		rc = copy(&s);
	if (sqlite3_close(s.dst) != SQLITE_OK && rc == 0)
		rc = slice_fail_dst(&s);
	job->events = s.rows;
	anonymizer_free(s.anon);
	map_free(&s.strings);
	map_free(&s.paths);
	map_free(&s.processes);
	map_free(&s.chains);
	map_free(&s.frames);
	map_free(&s.spaces);
	return rc;
}

const struct exporter exporter_sqlite = {
	.name = "sqlite",
	.extension = "sqlite",
	.about = "a report: a copy that is repaired, indexed, cut to a part, without private data",
	.shape = EXPORT_FILE,
	.repairs = true,
	.run = run,
};
