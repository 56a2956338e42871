/* report_input.c - x.nsys-rep or the database beside it. */
#include "exporters/read/report_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "exporters/read/db_read.h"
#include "exporters/read/nsysrep/nsysrep.h"

/* Was @path written before @than? Not if either is not there. */
static bool is_older(const char *path, const char *than)
{
	struct stat a, b;

	if (stat(path, &a) < 0 || stat(than, &b) < 0)
		return false;
	return a.st_mtim.tv_sec != b.st_mtim.tv_sec ? a.st_mtim.tv_sec < b.st_mtim.tv_sec
						    : a.st_mtim.tv_nsec < b.st_mtim.tv_nsec;
}

static char *database_of(const struct report_input *how, const char *path, size_t stem)
{
	char *sqlite = NULL;

	if (how->sqlite)
		return strdup(how->sqlite);
	return asprintf(&sqlite, "%.*s.sqlite", (int)stem, path) < 0 ? NULL : sqlite;
}

int report_input_find(const struct report_input *how, char **path)
{
	size_t stem = nsysrep_stem(*path);
	bool is_there, is_late, is_target;
	char *sqlite;
	int rc = 0;

	if (!stem || (!how->sqlite && db_read_is_database(*path)))
		return 0;
	sqlite = database_of(how, *path, stem);
	if (!sqlite) {
		sl_warn("%s: out of memory", how->command);
		return SL_EXIT_FAIL;
	}
	is_there = access(sqlite, F_OK) == 0;
	is_late = is_there && is_older(sqlite, *path);
	is_target = is_there && how->is_target && how->is_target(how->ctx, sqlite);
	if (is_there && !is_late && !is_target) {
		if (!how->quiet)
			sl_warn("using %s for %s", sqlite, *path);
		free(*path);
		*path = sqlite;
		return 0;
	}
	/* The opening of a file that is none names its kind. */
	if (is_late && !db_read_is_of_nsys(*path)) {
		sl_warn("%s: %s is older than %s; make it anew with: nsys export --type sqlite "
			"--force-overwrite true %s (or name %s to read it as it is)",
			how->command, sqlite, *path, *path, sqlite);
		rc = SL_EXIT_FAIL;
	} else if (!is_there && how->sqlite) {
		sl_warn("%s: %s: %s", how->command, sqlite, strerror(ENOENT));
		rc = SL_EXIT_FAIL;
	}
	free(sqlite);
	return rc;
}
