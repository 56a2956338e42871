/*
 * db_vfs.c - how SQLite opens files of a report of another user.
 *
 * SQLite plays a rollback journal that lies beside a database when it opens the database for writing. A journal can name a
 * "super-journal", any path, which SQLite then opens and deletes. Sightline never changes several databases in one
 * transaction, so no journal of a report names one. The names are refused here, as a journal that is looked at before may be
 * another one afterwards.
 */
#include "collector/report/db_internal.h"

#include <pthread.h>

static sqlite3_vfs *base, own;

static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
		     int *out)
{
	(void)vfs;
	if (flags & SQLITE_OPEN_SUPER_JOURNAL) {
		file->pMethods = NULL;
		return SQLITE_CANTOPEN;
	}
	return base->xOpen(base, name, file, flags, out);
}

static void set_up(void)
{
	base = sqlite3_vfs_find(NULL);
	if (!base)
		return;
	own = *base;
	own.zName = "sightline-report";
	own.pNext = NULL;
	own.xOpen = open_file;
	sqlite3_vfs_register(&own, 0);
}

const char *db_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_up);
	return own.zName;
}
