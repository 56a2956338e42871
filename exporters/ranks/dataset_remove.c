/*
 * dataset_remove.c - takes a run out of a dataset.
 *
 * Manifests go first, so that no reader takes what is left for a part. Names that a dataset does not have stay where they are, and
 * no link is followed.
 */
#include "exporters/ranks/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporters/ranks/packs.h"
#include "exporters/ranks/store/shared_folder.h"

struct removal {
	const char *folder, *run;
	int64_t files, left; /* removed; of another name, which stay */
	int err;             /* of what could not be removed */
};

/* Is it a name that a writer gives, in the folder of a part or among the manifests? */
static bool is_own(const char *name)
{
	size_t len = strlen(name);

	return strcmp(name, "part-0.parquet") == 0 || strcmp(name, ".part-0.parquet.tmp") == 0 ||
	       strncmp(name, "node=", 5) == 0 || strncmp(name, ".node=", 6) == 0 ||
	       strcmp(name, PACKS_MANIFEST) == 0 || strcmp(name, "." PACKS_MANIFEST ".tmp") == 0 ||
	       (len > 8 && strcmp(name + len - 8, ".parquet") == 0);
}

/* Removes the files of the open folder, which is closed. */
static void empty(struct removal *r, int fd)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (!is_own(e->d_name)) {
			r->left++;
		} else if (unlinkat(fd, e->d_name, 0) == 0) {
			r->files++;
		} else if (errno != ENOENT) {
			r->err = errno;
		}
	}
	closedir(dir);
}

/* The folder @name in the open one, which must be no link. */
static void remove_part(struct removal *r, int at, const char *name)
{
	empty(r, openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	/* Files that stay keep their folder. */
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

/* "TABLE/run=R/node=*" or "_packed/run=R/GENERATION", and the folder of the run itself. */
static void remove_table(struct removal *r, const char *table, const char *parts)
{
	int tables = shared_folder_open(r->folder, table, false), fd;
	const struct dirent *e;
	char run[160];
	DIR *dir;

	snprintf(run, sizeof(run), "run=%s", r->run);
	fd = tables < 0 ? -1 : openat(tables, run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	while (dir && (e = readdir(dir)))
		if (strncmp(e->d_name, parts, strlen(parts)) == 0 && *e->d_name != '.')
			remove_part(r, fd, e->d_name);
	if (dir)
		closedir(dir);
	if (tables >= 0) {
		(void)unlinkat(tables, run, AT_REMOVEDIR);
		close(tables);
	}
}

int dataset_remove(const char *folder, const char *run, int64_t *files, char *why, size_t why_len)
{
	struct removal r = {.folder = folder, .run = run};
	char name[160];
	int nodes = shared_folder_open(folder, "_nodes", false), clocks, ends;

	snprintf(name, sizeof(name), "run=%s", run);
	if (nodes < 0 || faccessat(nodes, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		snprintf(why, why_len, "%s: %s", folder,
			 errno == ENOENT ? "there is no such run" : strerror(errno));
		if (nodes >= 0)
			close(nodes);
		return -1;
	}
	remove_part(&r, nodes, name);
	close(nodes);
	ends = shared_folder_open(folder, "_ends", false);
	if (ends >= 0) {
		remove_part(&r, ends, name);
		close(ends);
	}
	for (unsigned n = 0; !r.err && n < DATASET_TABLES; n++)
		remove_table(&r, dataset_tables[n].name, "node=");
	if (!r.err)
		remove_table(&r, "_packed", "");
	snprintf(name, sizeof(name), "run=%s.json", run);
	clocks = shared_folder_open(folder, "_clock", false);
	if (clocks >= 0) {
		r.files += unlinkat(clocks, name, 0) == 0;
		close(clocks);
	}
	*files = r.files;
	if (r.err)
		snprintf(why, why_len, "%s: %s", folder, strerror(r.err));
	else if (r.left)
		snprintf(why, why_len,
			 "%s: %lld files of other names stay in the folders of run %s", folder,
			 (long long)r.left, run);
	return r.err || r.left ? -1 : 0;
}
