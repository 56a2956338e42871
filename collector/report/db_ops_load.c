/* db_ops_load.c - numbers of processes, threads and images of a report that is continued, and their end. */
#include "collector/report/db_internal.h"

#include <errno.h>
#include <stdlib.h>

static int load_map(struct db *db, const char *sql, struct db_map *map, int64_t *last)
{
	sqlite3_stmt *stmt;
	int rc, err = db_prepare(db, sql, &stmt);

	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t *row = db_map_get(map, sqlite3_column_int64(stmt, 1));

		if (!row)
			break;
		*row = sqlite3_column_int64(stmt, 0);
		if (*row > *last)
			*last = *row;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : rc == SQLITE_ROW ? -ENOMEM : db_errno(rc);
}

static int load_images(struct db *db)
{
	struct db_ops *ops = &db->ops;
	sqlite3_stmt *stmt;
	int rc, err = load_map(db,
			       "SELECT rowid, globalPid FROM main.SL_PROCESS_TREE ORDER BY rowid",
			       &ops->image, &ops->image_cnt);

	if (err)
		return err;
	ops->images.cap = ops->image_cnt ? ops->image_cnt : 1;
	ops->images.start = calloc((size_t)ops->images.cap, sizeof(int64_t));
	if (!ops->images.start)
		return -ENOMEM;
	err = db_prepare(db, "SELECT rowid, start FROM main.SL_PROCESS_TREE", &stmt);
	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		ops->images.start[sqlite3_column_int64(stmt, 0) - 1] =
			sqlite3_column_int64(stmt, 1);
	sqlite3_finalize(stmt);
	return db_errno(rc);
}

int db_ops_load(struct db *db)
{
	struct db_ops *ops = &db->ops;
	int err = db_state_load(db);

	db->stacks.names_unknown = true;
	if (!err && db_table_exists(db, "PROCESSES"))
		err = load_map(db, "SELECT rowid, globalPid FROM main.PROCESSES", &ops->process,
			       &ops->process_cnt);
	if (!err && db_table_exists(db, "ThreadNames"))
		err = load_map(db, "SELECT rowid, globalTid FROM main.ThreadNames", &ops->thread,
			       &ops->thread_cnt);
	if (!err && db_table_exists(db, "SL_PROCESS_TREE"))
		err = load_images(db);
	return err;
}

void db_ops_free(struct db *db)
{
	struct db_ops *ops = &db->ops;

	db_state_free(db);
	db_map_free(&ops->process);
	db_map_free(&ops->thread);
	db_map_free(&ops->image);
	free(ops->images.start);
	free(ops->buf);
	db_stacks_free(db);
}
