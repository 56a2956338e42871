/* nvprof.c - runs nvprof.sql on a database of nvprof. */
#include "exporters/read/nvprof/nvprof.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "collector/base/file_uri.h"
#include "collector/symbols/demangle.h"
#include "exporters/read/nsysrep/nsysrep.h"
#include "exporters/read/nsysrep/tables.h"

#define STEPS 100000 /* of SQLite between two looks at the progress */

/* Tables of nvprof that nvprof.sql reads, with their columns. */
static const struct {
	const char *name, *tables[2], *columns;
} olds[] = {
	{"StringTable", {"StringTable"}, "_id_ value"},
	{"RUNTIME",
	 {"CUPTI_ACTIVITY_KIND_RUNTIME"},
	 "cbid start end processId threadId correlationId returnValue"},
	{"DRIVER",
	 {"CUPTI_ACTIVITY_KIND_DRIVER"},
	 "cbid start end processId threadId correlationId returnValue"},
	{"KERNEL",
	 {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL"},
	 "start end deviceId contextId streamId correlationId registersPerThread gridX gridY gridZ "
	 "blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread "
	 "localMemoryTotal gridId name"},
	{"MEMCPY",
	 {"CUPTI_ACTIVITY_KIND_MEMCPY"},
	 "start end deviceId contextId streamId correlationId bytes copyKind srcKind dstKind"},
	{"MEMCPY2",
	 {"CUPTI_ACTIVITY_KIND_MEMCPY2"},
	 "start end deviceId contextId streamId correlationId bytes copyKind srcKind dstKind "
	 "srcDeviceId srcContextId dstDeviceId dstContextId"},
	{"MEMSET",
	 {"CUPTI_ACTIVITY_KIND_MEMSET"},
	 "start end deviceId contextId streamId correlationId value bytes memoryKind"},
	{"SYNCHRONIZATION",
	 {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"},
	 "type start end correlationId contextId streamId cudaEventId"},
	{"MARKER",
	 {"CUPTI_ACTIVITY_KIND_MARKER"},
	 "flags timestamp id objectKind objectId name domain"},
	{"CONTEXT", {"CUPTI_ACTIVITY_KIND_CONTEXT"}, "contextId deviceId"},
	{"DEVICE",
	 {"CUPTI_ACTIVITY_KIND_DEVICE"},
	 "id name l2CacheSize globalMemorySize globalMemoryBandwidth coreClockRate "
	 "numMultiprocessors constantMemorySize"},
};
#define OLDS (sizeof(olds) / sizeof(olds[0]))

static bool has_column(sqlite3 *db, const char *schema, const char *table, const char *column)
{
	/* A view is none of nvprof's, and may not end. */
	return sqlite3_table_column_metadata(db, schema, table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

bool nvprof_is(sqlite3 *db)
{
	return has_column(db, "main", "StringTable", "_id_") &&
	       has_column(db, "main", "StringTable", "value");
}

/* ---- functions ---- */

enum {
	KIND_runtime,
	KIND_driver,
};

static const struct {
	int kind, cbid;
	const char *name;
} known_calls[] = {
#define CALL(kind, cbid, name) {KIND_##kind, cbid, #name},
#include "exporters/read/nvprof/calls.def"
#undef CALL
};

/* nv_call(kind, cbid) */
static void call_name(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	int kind = sqlite3_value_int(v[0]);
	int64_t cbid = sqlite3_value_int64(v[1]);
	char text[64];

	(void)cnt;
	for (size_t i = 0; i < sizeof(known_calls) / sizeof(known_calls[0]); i++)
		if (known_calls[i].kind == kind && known_calls[i].cbid == cbid) {
			sqlite3_result_text(ctx, known_calls[i].name, -1, SQLITE_STATIC);
			return;
		}
	snprintf(text, sizeof(text), "[unknown call %lld of the %s]", (long long)cbid,
		 kind == KIND_driver ? "driver" : "runtime");
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

/* nv_full(symbol) */
static void full_name(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	const char *symbol = (const char *)sqlite3_value_text(v[0]);
	char *full = symbol ? demangle_full(symbol) : NULL;

	(void)cnt;
	if (full)
		sqlite3_result_text(ctx, full, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_value(ctx, v[0]);
	free(full);
}

/* nv_base(symbol) */
static void base_name(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	const char *symbol = (const char *)sqlite3_value_text(v[0]), *begin;
	char *full = symbol ? demangle_full(symbol) : NULL;
	size_t len = full ? demangle_base(full, &begin) : 0;

	(void)cnt;
	if (len)
		sqlite3_result_text(ctx, begin, (int)len, SQLITE_TRANSIENT);
	else
		sqlite3_result_value(ctx, v[0]);
	free(full);
}

/* nv_word(blob, i), which is of the machine's byte order, as files are only read where they were made or on its like. */
static void word(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	const unsigned char *blob = sqlite3_value_blob(v[0]);
	int at = sqlite3_value_int(v[1]) * 4;

	(void)cnt;
	if (!blob || at < 0 || at + 4 > sqlite3_value_bytes(v[0]))
		return;
	blob += at;
	sqlite3_result_int64(ctx, blob[0] | blob[1] << 8 | blob[2] << 16 | (int64_t)blob[3] << 24);
}

static int add_functions(sqlite3 *db)
{
	static const struct {
		const char *name;
		int args;
		void (*call)(sqlite3_context *ctx, int cnt, sqlite3_value **v);
	} functions[] = {{"nv_call", 2, call_name},
			 {"nv_full", 1, full_name},
			 {"nv_base", 1, base_name},
			 {"nv_word", 2, word}};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function(db, functions[i].name, functions[i].args,
					     SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
					     functions[i].call, NULL, NULL);
	return rc;
}

/* ---- the file's tables ---- */

static bool is_there(sqlite3 *db, size_t i)
{
	bool is = false;

	for (size_t k = 0; k < 2 && olds[i].tables[k]; k++)
		is |= has_column(db, "old", olds[i].tables[k], NULL);
	return is;
}

/* SELECT of the columns, those that the file lacks as NULL; of no table none. */
static void select_old(sqlite3 *db, sqlite3_str *sql, const char *table, const char *columns)
{
	bool has_table = table && has_column(db, "old", table, NULL);
	const char *comma = "SELECT ";

	for (size_t len; *columns; columns += len + (columns[len] == ' ')) {
		char name[40];

		len = strcspn(columns, " ");
		sqlite3_snprintf(sizeof(name), name, "%.*s", (int)len, columns);
		if (has_table && has_column(db, "old", table, name))
			sqlite3_str_appendf(sql, "%s\"%w\"", comma, name);
		else
			sqlite3_str_appendf(sql, "%sNULL AS \"%w\"", comma, name);
		comma = ", ";
	}
	if (has_table)
		sqlite3_str_appendf(sql, " FROM old.\"%w\"", table);
	else
		sqlite3_str_appendall(sql, " WHERE 0");
}

static int exec(sqlite3 *db, char *sql)
{
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc;
}

static int add_views(sqlite3 *db)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < OLDS && rc == SQLITE_OK; i++) {
		sqlite3_str *sql = sqlite3_str_new(db);

		sqlite3_str_appendf(sql, "CREATE TEMP VIEW old_%s AS ", olds[i].name);
		select_old(db, sql, olds[i].tables[0], olds[i].columns);
		if (olds[i].tables[1]) {
			sqlite3_str_appendall(sql, " UNION ALL ");
			select_old(db, sql, olds[i].tables[1], olds[i].columns);
		}
		rc = exec(db, sqlite3_str_finish(sql));
	}
	return rc;
}

/* ---- the parts of nvprof.sql ---- */

/* @needs: names of olds with | between them, of which one is enough; "": nothing. */
static bool has_any(sqlite3 *db, const char *needs, size_t len)
{
	for (size_t i = 0; i < OLDS; i++) {
		size_t name = strlen(olds[i].name);

		for (const char *p = needs; name <= (size_t)(needs + len - p); p++)
			if (memcmp(p, olds[i].name, name) == 0 && (p == needs || p[-1] == '|') &&
			    (p + name == needs + len || p[name] == '|') && is_there(db, i))
				return true;
	}
	return len == 0;
}

/* @part: behind "-- @part", up to the next one. */
static int run_part(sqlite3 *db, const char *part, const char *end)
{
	size_t line = strcspn(part, "\n"), table, needs;
	const char *word = part + strspn(part, " ");
	char name[64], *sql;
	int rc = SQLITE_OK;

	table = strcspn(word, " \n");
	needs = table ? strspn(word + table, " ") : 0;
	if (table &&
	    !has_any(db, word + table + needs, (size_t)(part + line - (word + table + needs))))
		return SQLITE_OK;
	snprintf(name, sizeof(name), "%.*s", (int)table, word);
	sql = table ? nr_section_of(name) : NULL;
	if (sql)
		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	free(sql);
	if (rc == SQLITE_OK)
		rc = exec(db, sqlite3_mprintf("%.*s", (int)(end - part - line), part + line));
	return rc;
}

static const char *script(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "read/nvprof/nvprof.sql") == 0)
			return e->text;
	return "";
}

static int run_parts(sqlite3 *db)
{
	static const char mark[] = "\n-- @part";
	const char *at = strstr(script(), mark), *next;
	int rc = SQLITE_OK;

	for (; at && rc == SQLITE_OK; at = next) {
		at += sizeof(mark) - 1;
		next = strstr(at, mark);
		rc = run_part(db, at, next ? next : at + strlen(at));
	}
	return rc;
}

static int add_others(sqlite3 *db)
{
	static const char *const names[] = {"ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND",
					    "ENUM_CUPTI_SYNC_TYPE",  "ENUM_NSYS_EVENT_CLASS",
					    "ENUM_NSYS_EVENT_TYPE",  "META_DATA_EXPORT"};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && rc == SQLITE_OK; i++) {
		char *sql = nr_section_of(names[i]);

		rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_ERROR;
		free(sql);
	}
	if (rc == SQLITE_OK)
		rc = exec(db, sqlite3_mprintf("INSERT INTO META_DATA_EXPORT VALUES "
					      "('EXPORT_PRODUCT_NAME', 'Sightline'), "
					      "('EXPORT_PRODUCT_VERSION', %Q), "
					      "('EXPORT_SCHEMA_VERSION', '3.28.1'), "
					      "('SL_NVPROF_VERSION', (SELECT max(version) FROM "
					      "temp.version))",
					      SL_VERSION));
	return rc;
}

/* Tables with rows that have no part: "CUPTI_ACTIVITY_KIND_METRIC, ...". */
static void write_notes(sqlite3 *db, char *notes)
{
	sqlite3_stmt *stmt = NULL, *any = NULL;
	const char *comma = "the tables ";
	size_t at = 0;

	*notes = '\0';
	if (sqlite3_prepare_v2(db,
			       "SELECT name FROM old.sqlite_master WHERE type = 'table' AND name "
			       "GLOB 'CUPTI_*' ORDER BY name",
			       -1, &stmt, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW && at < NSYSREP_WHY - 200) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		char *sql = sqlite3_mprintf("SELECT 1 FROM old.\"%w\"", name);
		bool is_read = false;

		for (size_t i = 0; i < OLDS; i++)
			for (size_t k = 0; k < 2 && olds[i].tables[k]; k++)
				is_read |= strcmp(name, olds[i].tables[k]) == 0;
		if (!is_read && sql && sqlite3_prepare_v2(db, sql, -1, &any, NULL) == SQLITE_OK &&
		    sqlite3_step(any) == SQLITE_ROW) {
			at += (size_t)snprintf(notes + at, NSYSREP_WHY - at, "%s%.60s", comma,
					       name);
			comma = ", ";
		}
		sqlite3_finalize(any);
		sqlite3_free(sql);
		any = NULL;
	}
	sqlite3_finalize(stmt);
	if (at)
		snprintf(notes + at, NSYSREP_WHY - at, " of nvprof were left out");
}

static int on_steps(void *ctx)
{
	const struct nsysrep_progress *p = ctx;

	return p && p->step && p->step(p->ctx, 0, 0) != 0;
}

static int open_both(const char *path, const char *target, sqlite3 **db)
{
	char *uri = file_uri(path, "mode=ro");
	int rc = uri ? sqlite3_open_v2(
			       target, db,
			       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL)
		     : SQLITE_NOMEM;

	/* The file may come from anywhere. */
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(*db,
				  "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA "
				  "temp_store=FILE; PRAGMA cache_size=-65536",
				  NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = exec(*db, sqlite3_mprintf("ATTACH %Q AS old", uri));
	free(uri);
	return rc;
}

int nvprof_convert(const char *path, const char *target, const struct nsysrep_progress *progress,
		   char *notes, char *why)
{
	sqlite3 *db = NULL;
	int rc = open_both(path, target, &db);

	if (rc == SQLITE_OK) {
		sqlite3_progress_handler(db, STEPS, on_steps, (void *)(uintptr_t)progress);
		rc = add_functions(db);
	}
	if (rc == SQLITE_OK)
		rc = add_views(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db,
				  has_column(db, "old", "Version", "version")
					  ? "CREATE TEMP TABLE version AS SELECT version FROM "
					    "old.Version LIMIT 1; BEGIN"
					  : "CREATE TEMP TABLE version (version); BEGIN",
				  NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = run_parts(db);
	if (rc == SQLITE_OK)
		rc = add_others(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		write_notes(db, notes);
	else
		snprintf(why, NSYSREP_WHY, "%s: a database of nvprof that cannot be read: %s", path,
			 db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	sqlite3_close(db);
	return rc == SQLITE_OK ? 0 : -1;
}
