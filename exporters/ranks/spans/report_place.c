/* report_place.c - the path of a rank's report, and whether it may be opened. */
#include "exporters/ranks/spans/report_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/store/shared_folder.h"

#define FILE_MOST (64u << 20) /* bytes, of a node's ends */

/* It goes into messages and to a terminal. */
static bool is_path(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < ' ' || path[i] == 0x7f)
			return false;
	return len > 1 && len < PATH_MAX && *path == '/';
}

static bool is_name(const char *host)
{
	return host && *host && strlen(host) < 256 &&
	       strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") ==
		       strlen(host);
}

/* Root's, this user's, or the dataset's owner's. */
static bool is_of_known_user(const char *folder, const struct stat *st)
{
	struct stat top;

	return st->st_uid == 0 || st->st_uid == geteuid() ||
	       (stat(folder, &top) == 0 && st->st_uid == top.st_uid);
}

char *report_place_check(const char *folder, const char *path, const char *host, int64_t bytes,
			 char *why, size_t why_len)
{
	char here[HOST_NAME_MAX + 1] = "";
	struct stat st;
	int fd;

	gethostname(here, sizeof(here) - 1);
	if (!is_path(path)) {
		snprintf(why, why_len,
			 "the dataset does not have the path of its report: 'sightline ranks add' "
			 "of this version keeps it");
		return NULL;
	}
	fd = plain_file_open(path, false, &st);
	if (fd < 0) {
		snprintf(why, why_len, "its report is not here: %s%s%s ('sightline view' there)",
			 is_name(host) ? host : "", is_name(host) ? ":" : "", path);
		return NULL;
	}
	close(fd);
	if (!is_of_known_user(folder, &st)) {
		snprintf(why, why_len, "%s belongs to another user, %u: it is not opened", path,
			 (unsigned)st.st_uid);
		return NULL;
	}
	if (bytes > 0 && (int64_t)st.st_size != bytes) {
		snprintf(why, why_len,
			 "%s is another file than the one that was added: %lld bytes, not %lld%s%s",
			 path, (long long)st.st_size, (long long)bytes,
			 is_name(host) && strcmp(host, here) != 0 ? "; that one is of host " : "",
			 is_name(host) && strcmp(host, here) != 0 ? host : "");
		return NULL;
	}
	return strdup(path);
}

static char *check_row(sqlite3_stmt *s, const char *folder, char *why, size_t why_len)
{
	return report_place_check(folder, (const char *)sqlite3_column_text(s, 0),
				  (const char *)sqlite3_column_text(s, 1),
				  sqlite3_column_int64(s, 2), why, why_len);
}

/* The last attempt of the rank in a node's file. */
static const char rank_sql[] =
	"SELECT value ->> 'path', value ->> 'host', value ->> 'bytes' FROM json_each(?1, "
	"'$.ranks') WHERE type = 'object' AND value ->> 'rank' = ?2 ORDER BY value ->> 'restart' "
	"DESC LIMIT 1";

static char *place_on(sqlite3 *db, const char *folder, const char *run, const char *node,
		      int64_t rank, char *why, size_t why_len)
{
	char *path = dataset_ends(folder, run, node), *found = NULL;
	char *json = path ? shared_file_read(path, FILE_MOST) : NULL;
	sqlite3_stmt *s = NULL;

	if (json && sqlite3_prepare_v2(db, rank_sql, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_text(s, 1, json, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, rank);
		if (sqlite3_step(s) == SQLITE_ROW)
			found = check_row(s, folder, why, why_len);
	}
	sqlite3_finalize(s);
	free(json);
	free(path);
	return found;
}

char *report_place(sqlite3 *manifests, const char *folder, const char *run, int64_t rank, char *why,
		   size_t why_len)
{
	sqlite3_stmt *s = NULL;
	char *found = NULL;
	int rc = sqlite3_prepare_v2(manifests,
				    "SELECT DISTINCT r.node FROM rank AS r JOIN manifest AS m "
				    "USING (run, node) WHERE r.run = ?1 AND r.rank = ?2 ORDER BY "
				    "m.start DESC",
				    -1, &s, NULL);

	snprintf(why, why_len, "run %s has no rank %lld", run, (long long)rank);
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(s, 1, run, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, rank);
	}
	while (rc == SQLITE_OK && !found && sqlite3_step(s) == SQLITE_ROW) {
		snprintf(why, why_len,
			 "the dataset does not have the path of its report: 'sightline ranks add' "
			 "of this version keeps it");
		found = place_on(manifests, folder, run, (const char *)sqlite3_column_text(s, 0),
				 rank, why, why_len);
	}
	sqlite3_finalize(s);
	return found;
}
