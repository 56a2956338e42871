/* native.c - which shared steps are made by functions. */
#include <stdint.h>
#include <string.h>

#include "exporters/analyze/native.h"

static const struct native_steps natives[] = {
	{"cuda_launch,gpu_busy,gpu_cover,gpu_sums", native_gpu},
	{"sched_threads", native_sched},
};

const struct native_steps *native_steps_for(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(natives) / sizeof(natives[0]); i++)
		for (const char *p = natives[i].names; p; p = strchr(p, ',')) {
			p += *p == ',';
			if (strncmp(p, name, len) == 0 && (p[len] == ',' || !p[len]))
				return &natives[i];
		}
	return NULL;
}

int native_read(sqlite3 *db, const char *sql, int (*row)(void *ctx, sqlite3_stmt *stmt), void *ctx)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = row(ctx, stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

struct native_id native_id(sqlite3_stmt *stmt, int col)
{
	struct native_id id = {.known = sqlite3_column_type(stmt, col) != SQLITE_NULL};

	if (id.known)
		id.value = sqlite3_column_int64(stmt, col);
	return id;
}

void native_bind(sqlite3_stmt *stmt, int at, struct native_id id)
{
	if (id.known)
		sqlite3_bind_int64(stmt, at, id.value);
	else
		sqlite3_bind_null(stmt, at);
}

int native_insert(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
