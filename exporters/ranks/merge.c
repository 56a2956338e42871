/* merge.c - the tables of parts, one after the other, with other numbers and times. */
#include "exporters/ranks/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/saturate.h"
#include "exporters/formats/slice.h"
#include "exporters/ranks/rank_labels.h"
#include "exporters/read/foreign_schema.h"
#include "exporters/read/sql_rows.h"

#define SMALL_IDS (INT64_C(1) << 31) /* readers hold ids below as signed 32-bit integers */
#define PART_IDS  40                 /* bits that larger ones have within a part */
#define PART_GPUS 256
#define PARTS_MAX (1 << 20)
#define LOST_IDS \
	8388608 /* pids from here on are of no process that can be asked (see schema.sql, PROCESSES) */

struct merging {
	sqlite3 *db;
	const struct merge_part *part;
	uint64_t k, next; /* number of the part, and of the next one */
	int64_t origin;
	int64_t last;     /* the latest time so far */
	int64_t base;     /* of the small numbers of rows of this part */
	int64_t top;      /* the largest small one in the result */
	struct map taken; /* id -> part + 1 */
	struct map ids;   /* (part, id) -> its new id */
	struct map texts; /* id in StringIds of the part -> that in the result */
	uint64_t lost;
	char why[256]; /* of a statement that failed inside of another; "": SQLite has it still */
};

/* ---- functions ---- */

int64_t merge_ahead(const struct merge_line *l, int64_t t)
{
	return sat_add(l->offset, sat_int((double)l->drift * (double)sat_sub(t, l->time) / 1e9));
}

static void axis(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	struct merging *m = sqlite3_user_data(ctx);
	const struct merge_line *l = m->part->lines;
	int64_t t;

	(void)cnt;
	if (sqlite3_value_type(v[0]) != SQLITE_INTEGER)
		return;
	t = sat_add(sqlite3_value_int64(v[0]), m->part->epoch);
	for (size_t i = 1; i < m->part->lines_cnt && m->part->lines[i].time <= t; i++)
		l = &m->part->lines[i];
	if (m->part->lines_cnt)
		t = sat_add(t, merge_ahead(l, t));
	t = sat_sub(t, m->origin);
	m->last = t > m->last ? t : m->last;
	sqlite3_result_int64(ctx, t);
}

/* The number of a row of another table; 0 is none. Small ones follow those of the part before, and so stay small. */
static void row(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	struct merging *m = sqlite3_user_data(ctx);
	int64_t id = sqlite3_value_int64(v[0]);

	(void)cnt;
	if (sqlite3_value_type(v[0]) != SQLITE_INTEGER) {
		sqlite3_result_value(ctx, v[0]);
		return;
	}
	if (id > 0 && id < SMALL_IDS) {
		id += m->base;
		m->top = id > m->top ? id : m->top;
	} else if (id) {
		id = (int64_t)((uint64_t)id + (m->k << PART_IDS));
	}
	sqlite3_result_int64(ctx, id);
}

/* A name that parts share has one number, for sums by name. */
static void text(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	struct merging *m = sqlite3_user_data(ctx);
	const uint64_t *to;

	if (sqlite3_value_type(v[0]) != SQLITE_INTEGER) {
		sqlite3_result_value(ctx, v[0]);
		return;
	}
	to = map_at(&m->texts, (uint64_t)sqlite3_value_int64(v[0]), false);
	if (to)
		sqlite3_result_int64(ctx, (int64_t)*to);
	else
		row(ctx, cnt, v);
}

static void gpu(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	const struct merging *m = sqlite3_user_data(ctx);

	(void)cnt;
	if (sqlite3_value_type(v[0]) != SQLITE_INTEGER)
		sqlite3_result_value(ctx, v[0]);
	else
		sqlite3_result_int64(
			ctx, (int64_t)((uint64_t)sqlite3_value_int64(v[0]) + m->k * PART_GPUS));
}

/* Each machine has a CPU 0. */
static void cpu(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	const struct merging *m = sqlite3_user_data(ctx);

	(void)cnt;
	if (sqlite3_value_type(v[0]) != SQLITE_INTEGER)
		sqlite3_result_value(ctx, v[0]);
	else
		sqlite3_result_int64(ctx, (int64_t)((uint64_t)sqlite3_value_int64(v[0]) +
						    (uint64_t)m->part->first_cpu));
}

/* A number that no part has, for a process or thread; 0: no memory. */
static uint64_t free_id(struct merging *m)
{
	for (;;) {
		uint64_t id = LOST_IDS + (1 << 22) + m->lost++, *taken;

		taken = map_at(&m->taken, id, true);
		if (!taken)
			return 0;
		if (*taken == 0) {
			*taken = UINT64_MAX; /* also not for this part's own */
			return id;
		}
	}
}

/* A pid or tid; 0: no memory. */
static uint64_t other_id(struct merging *m, uint64_t id)
{
	uint64_t *taken, *to, made = id;

	if (!id)
		return 0;
	to = map_at(&m->ids, m->k << 24 | id, true);
	if (!to || *to)
		return to ? *to : 0;
	taken = map_at(&m->taken, id, true);
	if (!taken)
		return 0;
	if (!*taken)
		*taken = m->k + 1;
	if (*taken != m->k + 1)
		made = free_id(m);
	to = map_at(&m->ids, m->k << 24 | id, true);
	if (to)
		*to = made;
	return to ? made : 0;
}

static void plain(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	(void)cnt;
	if (sqlite3_value_type(v[0]) != SQLITE_INTEGER)
		return;
	sqlite3_result_int64(ctx,
			     (int64_t)other_id(sqlite3_user_data(ctx),
					       (uint64_t)sqlite3_value_int64(v[0]) & 0xffffff));
}

/* A packed id: the part is the machine. */
static void global(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	struct merging *m = sqlite3_user_data(ctx);
	uint64_t id = (uint64_t)sqlite3_value_int64(v[0]);

	(void)cnt;
	if (sqlite3_value_type(v[0]) != SQLITE_INTEGER)
		return;
	if (id)
		id = (id & ~UINT64_C(0xffffffffffff)) + (m->k << 56) +
		     (other_id(m, id >> 24 & 0xffffff) << 24 | other_id(m, id & 0xffffff));
	sqlite3_result_int64(ctx, (int64_t)id);
}

static int add_functions(struct merging *m)
{
	static const struct {
		const char *name;
		void (*call)(sqlite3_context *ctx, int cnt, sqlite3_value **v);
	} functions[] = {{"sl_axis", axis}, {"sl_row", row},     {"sl_text", text},
			 {"sl_gpu", gpu},   {"sl_plain", plain}, {"sl_global", global},
			 {"sl_cpu", cpu}};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]); i++)
		rc = sqlite3_create_function(m->db, functions[i].name, 1, SQLITE_UTF8, m,
					     functions[i].call, NULL, NULL);
	return rc;
}

/* ---- columns ---- */

static bool is_among(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

/* "-> TABLE.column" in the column's comment; "": none. */
static void reference_of(const char *sql, const char *column, char *to, size_t len)
{
	size_t name_len = strlen(column);

	*to = 0;
	for (const char *line = sql; line; line = strchr(line, '\n')) {
		const char *p, *arrow;
		size_t line_len;

		line += *line == '\n';
		p = line + strspn(line, " \t\"");
		line_len = strcspn(p, "\n");
		if (strncmp(p, column, name_len) != 0 || strspn(p + name_len, " \t\"") == 0)
			continue;
		arrow = memmem(p, line_len, "-> ", 3);
		if (arrow)
			snprintf(to, len, "%.*s",
				 (int)strspn(
					 arrow + 3,
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_."),
				 arrow + 3);
		return;
	}
}

/* The SQL function that rewrites the column; NULL: the column stays. */
static const char *function_of(const char *table, const char *sql, const char *column)
{
	static const char *const plains[] = {"pid", "processId", "threadId", NULL};
	static const char *const globals[] = {"ownerTid", "wakerTid", "endGlobalTid",
					      "parentGlobalPid", NULL};
	static const char *const rows[] = {
		"correlationId",       "callId",      "fileAccessId", "callchainId",
		"graphNodeId",         "graphId",     "graphExecId",  "originalGraphId",
		"originalGraphNodeId", "eventSyncId", "eventId",      NULL};
	static const char *const keyed[] = {"StringIds",          "SL_STACKS",
					    "SL_FRAMES",          "SL_SPACES",
					    "OSRT_CALLCHAINS",    "CUDA_CALLCHAINS",
					    "SYSCALL_CALLCHAINS", "SAMPLING_CALLCHAINS",
					    "COMPOSITE_EVENTS",   "PMU_EVENT_COUNTERS",
					    "PMU_EVENT_REQUESTS", "SL_COUNTERS",
					    "SL_GPU_METRIC_SETS", NULL};
	enum slice_role role = slice_role_of(table, sql, column);
	char to[128];

	if (strncmp(column, "global", 6) == 0 || is_among(column, globals))
		return "sl_global";
	if (is_among(column, plains))
		return "sl_plain";
	if (strcmp(column, "cpu") == 0 || strcmp(column, "firstCpu") == 0)
		return "sl_cpu";
	reference_of(sql, column, to, sizeof(to));
	if (strcmp(to, "TARGET_INFO_GPU.id") == 0 || strcmp(column, "typeId") == 0 ||
	    (strcmp(table, "TARGET_INFO_GPU") == 0 && strcmp(column, "id") == 0))
		return "sl_gpu";
	if (role == SLICE_STRING || role == SLICE_PATH)
		return "sl_text";
	if (role != SLICE_PLAIN || is_among(column, rows) ||
	    (*to && strncmp(to, "ENUM_", 5) != 0 && strchr(to, '.')) ||
	    (strcmp(column, "id") == 0 && is_among(table, keyed)))
		return "sl_row";
	return NULL;
}

static void put_column(sqlite3_str *to, const char *table, const char *sql, const char *column)
{
	const char *function = function_of(table, sql, column);
	int time = slice_time_of(table, column);

	/* The kind of a curve's scopeId depends on its scope. */
	if (strcmp(column, "scopeId") == 0)
		sqlite3_str_appendall(
			to, "CASE scope WHEN 'gpu' THEN sl_gpu(scopeId) WHEN 'process' THEN "
			    "sl_global(scopeId) ELSE scopeId END");
	else if (time == 2)
		sqlite3_str_appendf(to, "iif(\"%w\" = 0, 0, sl_axis(\"%w\"))", column, column);
	else if (time == 1)
		sqlite3_str_appendf(to, "sl_axis(\"%w\")", column);
	else if (function)
		sqlite3_str_appendf(to, "%s(\"%w\")", function, column);
	else
		sqlite3_str_appendf(to, "\"%w\"", column);
}

/* ---- tables ---- */

/* Tables about the whole file, or equal in all files. */
static bool is_of_first(const char *table)
{
	return strncmp(table, "ENUM_", 5) == 0 || strncmp(table, "META_DATA_", 10) == 0 ||
	       strcmp(table, "TARGET_INFO_SESSION_START_TIME") == 0 ||
	       strcmp(table, "ANALYSIS_DETAILS") == 0;
}

static int exec(sqlite3 *db, char *sql)
{
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc;
}

static bool has_table(sqlite3 *db, const char *name)
{
	return sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* Columns that both have. */
static int copy_table(struct merging *m, const char *table, const char *sql)
{
	sqlite3_str *names = sqlite3_str_new(m->db), *values = sqlite3_str_new(m->db);
	sqlite3_stmt *stmt = NULL;
	char *a, *b;
	int rc = sqlite3_prepare_v2(m->db,
				    "SELECT p.name FROM pragma_table_info(?1, 'part') AS p JOIN "
				    "pragma_table_info(?1, 'main') AS o ON o.name = p.name",
				    -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *column = (const char *)sqlite3_column_text(stmt, 0);

		if (sqlite3_str_length(names)) {
			sqlite3_str_appendall(names, ", ");
			sqlite3_str_appendall(values, ", ");
		}
		sqlite3_str_appendf(names, "\"%w\"", column);
		put_column(values, table, sql, column);
	}
	sqlite3_finalize(stmt);
	a = sqlite3_str_finish(names);
	b = sqlite3_str_finish(values);
	if (rc == SQLITE_OK && a && b)
		/* The parts know the same functions; of all else each has rows of its own. */
		rc = exec(
			m->db,
			sqlite3_mprintf("INSERT %s INTO main.\"%w\"(%s) SELECT %s FROM part.\"%w\"",
					strcmp(table, "SL_FUNCTIONS") == 0 ? "OR IGNORE" : "",
					table, a, b, table));
	sqlite3_free(a);
	sqlite3_free(b);
	return rc;
}

static int copy_texts(struct merging *m)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_exec(
		m->db,
		"CREATE TABLE IF NOT EXISTS main.StringIds(id INTEGER NOT NULL PRIMARY KEY, value "
		"TEXT NOT NULL); CREATE INDEX IF NOT EXISTS main.SL_MERGE_TEXTS ON "
		"StringIds(value);"
		"INSERT OR IGNORE INTO main.StringIds SELECT sl_row(id), value FROM part.StringIds "
		"AS p WHERE NOT EXISTS (SELECT 1 FROM main.StringIds AS o WHERE o.value = p.value)",
		NULL, NULL, NULL);

	map_free(&m->texts);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(m->db,
					"SELECT p.id, min(o.id) FROM part.StringIds AS p JOIN "
					"main.StringIds AS o ON o.value = p.value GROUP BY p.id",
					-1, &stmt, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint64_t *to = map_at(&m->texts, (uint64_t)sqlite3_column_int64(stmt, 0), true);

		rc = to ? SQLITE_OK : SQLITE_NOMEM;
		if (to)
			*to = (uint64_t)sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Raw stacks of a report that was not finished get no names here: their numbers would only meet each other. */
static int copy_tables(struct merging *m)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(
		m->db,
		"SELECT p.name, p.sql, EXISTS (SELECT 1 FROM main.sqlite_master "
		"AS o WHERE o.name = p.name) FROM part.sqlite_master AS p WHERE "
		"p.type = 'table' AND p.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND "
		"p.name NOT IN ('SL_CLOCK_SNAPSHOTS', 'SL_CAPTURES', 'SL_RAW_STACKS', 'SL_CODES') "
		"AND p.sql NOT LIKE 'CREATE VIRTUAL%'",
		-1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(stmt, 0);
		const char *sql = (const char *)sqlite3_column_text(stmt, 1);
		bool exists = sqlite3_column_int(stmt, 2);

		rc = exists ? SQLITE_OK : foreign_schema_make(m->db, sql);
		if (rc == SQLITE_OK && strcmp(table, "StringIds") != 0 &&
		    !(exists && is_of_first(table)))
			rc = copy_table(m, table, sql);
		if (rc != SQLITE_OK)
			snprintf(m->why, sizeof(m->why), "%s",
				 rc == SQLITE_AUTH ? "the text of a table in its schema is not one "
						     "CREATE TABLE"
						   : sqlite3_errmsg(m->db));
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Copies indexes and views; those that do not fit are left out. */
static int copy_others(struct merging *m)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(m->db,
				    "SELECT sql FROM part.sqlite_master WHERE type IN ('index', "
				    "'view') AND sql IS NOT NULL",
				    -1, &stmt, NULL);

	while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		foreign_schema_make(m->db, (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return rc;
}

/* Notes the sources of the part, else its name. The settings of the first part are there already. */
static int put_name(struct merging *m)
{
	static const char made_of[] = "SELECT count(*) FROM part.META_DATA_EXPORT WHERE name = "
				      "'SL_MERGE_OF'";
	sqlite3_stmt *stmt = NULL;
	int64_t cnt = 0;

	stmt = sql_first(m->db, made_of);
	if (stmt)
		cnt = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	/* Rows of a report that was merged from several have the numbers of so many parts. */
	m->next = m->k + (uint64_t)(cnt < 1 ? 1 : cnt < PARTS_MAX ? cnt : PARTS_MAX);
	if (cnt == 0)
		return exec(m->db, sqlite3_mprintf("INSERT INTO main.META_DATA_EXPORT(name, value) "
						   "VALUES('SL_MERGE_OF', %Q)",
						   m->part->name));
	return m->k == 0 ? SQLITE_OK
			 : sqlite3_exec(m->db,
					"INSERT INTO main.META_DATA_EXPORT(name, value) SELECT "
					"name, value FROM part.META_DATA_EXPORT WHERE name = "
					"'SL_MERGE_OF'",
					NULL, NULL, NULL);
}

static int add_part(struct merging *m)
{
	int rc = exec(m->db, sqlite3_mprintf("ATTACH %Q AS part", m->part->path));

	/* No further database can be attached, even by the part's schema. */
	sqlite3_limit(m->db, SQLITE_LIMIT_ATTACHED, 1);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(m->db, "BEGIN", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = copy_texts(m);
	if (rc == SQLITE_OK)
		rc = copy_tables(m);
	if (rc == SQLITE_OK)
		rc = copy_others(m);
	if (rc == SQLITE_OK)
		rc = put_name(m);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(m->db, "COMMIT; DETACH part", NULL, NULL, NULL);
	return rc;
}

/* The host of each CPU, where the parts are of several hosts. */
static int put_cpus(struct merging *m, const struct merge_part *parts, size_t cnt)
{
	int64_t hosts = 0;
	int rc = SQLITE_OK;

	for (size_t i = 0; i < cnt; i++)
		hosts = parts[i].first_cpu > hosts ? parts[i].first_cpu : hosts;
	if (hosts == 0)
		return SQLITE_OK;
	if (!has_table(m->db, "SL_RANK_CPUS"))
		rc = exec(m->db, label_table("SL_RANK_CPUS"));
	/* A part that was made of others has those of its hosts. */
	for (size_t i = 0; rc == SQLITE_OK && i < cnt; i++)
		rc = exec(
			m->db,
			sqlite3_mprintf("INSERT INTO SL_RANK_CPUS SELECT nullif(%Q, ''), %lld, "
					"%lld WHERE NOT EXISTS (SELECT 1 FROM SL_RANK_CPUS WHERE "
					"firstCpu BETWEEN %lld AND %lld)",
					parts[i].host, (long long)parts[i].first_cpu,
					(long long)parts[i].cpus, (long long)parts[i].first_cpu,
					(long long)sat_add(parts[i].first_cpu, parts[i].cpus - 1)));
	return rc;
}

/* The clock of the axis, and how long it is. */
static int set_axis(struct merging *m)
{
	return exec(
		m->db,
		sqlite3_mprintf(
			"DROP INDEX IF EXISTS SL_MERGE_TEXTS;"
			"UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = %lld, utcTime = "
			"strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %lld / 1000000000, 'unixepoch'), "
			"localTime = NULL, "
			"systemClockNs = NULL;"
			"UPDATE ANALYSIS_DETAILS SET duration = max(duration, %lld), startTime = 0;"
			"UPDATE ANALYSIS_DETAILS SET stopTime = duration",
			(long long)m->origin, (long long)m->origin, (long long)m->last));
}

int merge_reports(const char *to, const struct merge_part *parts, size_t cnt, int64_t origin,
		  char *why, size_t why_len)
{
	struct merging m = {.origin = origin};
	int rc, fd;

	/* A link that another user makes in its place is not followed. */
	unlink(to);
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		snprintf(why, why_len, "%s: %s", to, strerror(errno));
		return -1;
	}
	close(fd);
	rc = sqlite3_open_v2(to, &m.db, SQLITE_OPEN_READWRITE, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(m.db,
				  "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA "
				  "synchronous = OFF",
				  NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(m.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc == SQLITE_OK)
		rc = add_functions(&m);
	for (size_t i = 0; rc == SQLITE_OK && i < cnt; i++) {
		m.part = &parts[i];
		rc = add_part(&m);
		m.k = m.next;
		m.base = m.top;
	}
	if (rc == SQLITE_OK)
		rc = put_cpus(&m, parts, cnt);
	if (rc == SQLITE_OK)
		rc = set_axis(&m);
	if (rc != SQLITE_OK)
		snprintf(why, why_len, "%s", *m.why ? m.why : sqlite3_errmsg(m.db));
	if (sqlite3_close(m.db) != SQLITE_OK)
		rc = SQLITE_BUSY;
	map_free(&m.taken);
	map_free(&m.ids);
	map_free(&m.texts);
	if (rc != SQLITE_OK)
		unlink(to);
	return rc == SQLITE_OK ? 0 : -1;
}
