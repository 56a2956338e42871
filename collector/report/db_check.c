/* db_check.c - impossible states of a process tree: looked for when the report is complete. */
#include "collector/report/db_internal.h"

int db_tree_faults(struct db *db, struct db_tree_faults *f)
{
	sqlite3_stmt *stmt;
	int rc, err;

	*f = (struct db_tree_faults){0, 0};
	if (!db_table_exists(db, "SL_PROCESS_TREE"))
		return 0;
	err = db_prepare(db,
			 "SELECT coalesce(sum(end < start), 0), coalesce(sum(end IS NULL), 0) "
			 "FROM main.SL_PROCESS_TREE",
			 &stmt);
	if (err)
		return err;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		f->backward = sqlite3_column_int64(stmt, 0);
		f->endless = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	return db_errno(rc);
}
