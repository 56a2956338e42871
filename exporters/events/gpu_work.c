/* gpu_work.c - the relation of all work of GPUs, from the tables that a report has. */
#include "exporters/events/gpu_work.h"

#include <stdbool.h>
#include <string.h>

#include "exporters/read/sql_rows.h"

const struct gpu_work_table gpu_work_tables[GPU_WORK_KINDS] = {
#define GPU_WORK(kind, name, table, columns) {name, #table},
#include "exporters/events/gpu_work.def"
#undef GPU_WORK
};

static const char *const columns_of[GPU_WORK_KINDS] = {
#define GPU_WORK(kind, name, table, columns) columns,
#include "exporters/events/gpu_work.def"
#undef GPU_WORK
};

/* Of the relation, behind kind. */
static const char of_all[] =
	"globalPid deviceId contextId greenContextId streamId start end correlationId";
static const char of_some[] =
	"graphNodeId shortName demangledName mangledName copyKind bytes srcKind dstKind";

/* SQLite merges a view of several tables into a query only where a column has the same affinity in all. */
#define NOTHING "CAST(NULL AS INTEGER)"

/* The process of work that does not say whose it is. */
#define UNSAID "(SELECT min(globalTid) >> 24 FROM CUPTI_ACTIVITY_KIND_RUNTIME)"

/* Whether the report has the table, or view, and the column; @column NULL: any. */
static bool has(sqlite3 *db, const char *table, const char *column)
{
	sqlite3_stmt *stmt = NULL;
	char *sql;
	bool has = sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
						 NULL) == SQLITE_OK;

	if (has)
		return true;
	/* SQLite's function for it knows no views. */
	sql = sqlite3_mprintf("SELECT %s FROM main.%s", column ? column : "1", table);
	has = sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK;
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return has;
}

/* The table's name for a column of the relation, "" where it has none. */
static void find_column(const char *of, const char *name, char column[32])
{
	size_t len = strlen(name);

	column[0] = '\0';
	for (size_t word; *of; of += word + (of[word] == ' ')) {
		bool is_same;

		word = strcspn(of, " ");
		is_same = strncmp(of, name, len) == 0 && (word == len || of[len] == '=');
		if (is_same)
			sqlite3_snprintf(32, column, "%.*s",
					 (int)(word == len ? len : word - len - 1),
					 word == len ? of : of + len + 1);
	}
}

/* Adds the columns @names, with the names of @of in the table. */
static void add_columns(sqlite3_str *sql, sqlite3 *db, const char *names, const char *of,
			const char *table)
{
	for (size_t len; *names; names += len + (names[len] == ' ')) {
		char name[32], column[32];

		len = strcspn(names, " ");
		sqlite3_snprintf(sizeof(name), name, "%.*s", (int)len, names);
		find_column(of, name, column);
		sqlite3_str_appendf(sql, ", %s AS %s",
				    table && *column && has(db, table, column) ? column : NOTHING,
				    name);
	}
}

static void add_process(sqlite3_str *sql, sqlite3 *db, const char *table)
{
	bool has_calls = table && has(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid");

	sqlite3_str_appendf(sql, ", coalesce(%s, %s) AS process",
			    table && has(db, table, "globalPid") ? "globalPid >> 24" : "NULL",
			    has_calls ? UNSAID : "NULL");
}

static void add_part(sqlite3_str *sql, sqlite3 *db, enum gpu_work_kind kind)
{
	const struct gpu_work_table *t = &gpu_work_tables[kind];
	const char *table = has(db, t->name, NULL) ? t->name : NULL;

	sqlite3_str_appendf(sql, "SELECT '%s' AS kind", t->kind);
	add_columns(sql, db, of_all, of_all, table);
	add_columns(sql, db, of_some, columns_of[kind], table);
	add_process(sql, db, table);
	/* Not of main: a filter puts a view in front of the table. */
	sqlite3_str_appendf(sql, table ? " FROM %s" : " WHERE 0", table);
}

char *gpu_work_of(sqlite3 *db, enum gpu_work_kind kind)
{
	sqlite3_str *sql = sqlite3_str_new(db);

	sqlite3_str_appendall(sql, "(");
	add_part(sql, db, kind);
	sqlite3_str_appendall(sql, ")");
	return sqlite3_str_finish(sql);
}

int gpu_work_values(sqlite3 *db, enum gpu_work_kind kind, const char *columns, const char *where,
		    int (*row)(void *ctx, sqlite3_value **values), void *ctx)
{
	char *part = gpu_work_of(db, kind);
	char *from = part ? sqlite3_mprintf("%s %s", part, where) : NULL;
	int rc = from ? sql_values(db, columns, from, row, ctx) : SQLITE_NOMEM;

	sqlite3_free(part);
	sqlite3_free(from);
	return rc;
}

int64_t gpu_work_unsaid(sqlite3 *db)
{
	return sql_number(db, "SELECT " UNSAID, GPU_WORK_NONE);
}

static bool is_registered(sqlite3 *db)
{
	return sql_number(db, "SELECT 1 FROM temp.sqlite_master WHERE name = 'SL_GPU_WORK'", 0) ==
	       1;
}

/* A report without kernels has the table as a view that has no rows (read/db_views.c). */
static void add_kernels(sqlite3_str *sql, sqlite3 *db)
{
	const char *table = gpu_work_tables[GPU_WORK_KERNEL].name;

	sqlite3_str_appendall(sql, "; CREATE TEMP VIEW SL_GPU_KERNELS AS SELECT *");
	add_process(sql, db, has(db, table, NULL) ? table : NULL);
	sqlite3_str_appendf(sql, " FROM %s", table);
}

/* Tables that the report lacks have no part, but where it lacks all. */
int gpu_work_register(sqlite3 *db)
{
	const char *between = "CREATE TEMP VIEW SL_GPU_WORK AS ";
	sqlite3_str *sql;
	char *text;
	int rc;

	if (is_registered(db))
		return SQLITE_OK;
	sql = sqlite3_str_new(db);
	for (unsigned kind = 0; kind < GPU_WORK_KINDS; kind++) {
		bool is_last = kind == GPU_WORK_KINDS - 1 && *between == 'C';

		if (!is_last && !has(db, gpu_work_tables[kind].name, NULL))
			continue;
		sqlite3_str_appendall(sql, between);
		add_part(sql, db, kind);
		between = " UNION ALL ";
	}
	add_kernels(sql, db);
	text = sqlite3_str_finish(sql);
	rc = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(text);
	return rc;
}
