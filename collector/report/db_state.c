/*
 * db_state.c - private notes (SL_STATE): held in memory, so that reading one back needs no committed row; and the pending
 * log of GPU records (SL_PENDING_GPU), which only recover reads.
 */
#include "collector/report/db_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct db_state *state_find(struct db *db, const char *key)
{
	struct db_state *s = db->ops.state;

	while (s && strcmp(s->key, key) != 0)
		s = s->next;
	return s;
}

static int db_state_keep(struct db *db, const char *key, const void *blob, size_t len)
{
	struct db_state *s = state_find(db, key);
	void *copy = malloc(len ? len : 1);

	if (!copy)
		return -ENOMEM;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (s)
			s->key = strdup(key);
		if (!s || !s->key) {
			free(s);
			free(copy);
			return -ENOMEM;
		}
		s->next = db->ops.state;
		db->ops.state = s;
	}
	if (len)
		memcpy(copy, blob, len);
	free(s->blob);
	s->blob = copy;
	s->len = len;
	return 0;
}

int db_state_set(struct db *db, const char *key, const void *blob, size_t len)
{
	int err = db_state_keep(db, key, blob, len);

	return err ? err
		   : db_put_SL_STATE(db, &(struct db_row_SL_STATE){
						 .key = key,
						 .value = {len ? blob : (const void *)"", len}});
}

int db_state_drop(struct db *db, const char *key)
{
	struct db_state **at = &db->ops.state, *s;

	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	s = *at;
	if (!s)
		return 0;
	*at = s->next;
	free(s->key);
	free(s->blob);
	free(s);
	return db_put(db, OP_STATE_DROP, &key);
}

int db_state_get(struct db *db, const char *key, void **blob, size_t *len)
{
	const struct db_state *s = state_find(db, key);
	void *copy;

	if (!s)
		return -ENOENT;
	copy = malloc(s->len ? s->len : 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, s->blob, s->len);
	*blob = copy;
	*len = s->len;
	return 0;
}

int db_pending_gpu_add(struct db *db, int64_t seq, const void *blob, size_t len)
{
	return db_put_SL_PENDING_GPU(
		db, &(struct db_row_SL_PENDING_GPU){.seq = seq, .blob = {blob, len}});
}

int db_pending_gpu_delete(struct db *db, int64_t first, int64_t last)
{
	const int64_t change[] = {first, last};

	return db_put(db, OP_PENDING_GPU_DROP, change);
}

int db_pending_gpu_read(struct db *db, int64_t first, int64_t last,
			void (*take)(void *ctx, const void *blob, size_t len), void *ctx)
{
	sqlite3_stmt *stmt;
	int rc, err;

	if (!db_table_exists(db, "SL_PENDING_GPU"))
		return 0;
	err = db_prepare(
		db, "SELECT blob FROM main.SL_PENDING_GPU WHERE seq BETWEEN ? AND ? ORDER BY seq",
		&stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, last);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		take(ctx, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0));
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : db_errno(rc);
}

int db_state_load(struct db *db)
{
	sqlite3_stmt *stmt;
	int rc, err = db_prepare(db, "SELECT key, value FROM main.SL_STATE", &stmt);

	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && !err) {
		const char *key = (const char *)sqlite3_column_text(stmt, 0);

		if (key) /* a report from elsewhere may have NULL */
			err = db_state_keep(db, key, sqlite3_column_blob(stmt, 1),
					    (size_t)sqlite3_column_bytes(stmt, 1));
	}
	sqlite3_finalize(stmt);
	return err ? err : db_errno(rc);
}

void db_state_free(struct db *db)
{
	while (db->ops.state) {
		struct db_state *s = db->ops.state;

		db->ops.state = s->next;
		free(s->key);
		free(s->blob);
		free(s);
	}
}
