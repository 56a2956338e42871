/* folders.c - paths of a client: below the folders given at start, part by part, without links. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/mcp/mcp.h"

#define FOLDER (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int mcp_open(struct mcp *m, char *const *folders, size_t cnt, char *why, size_t why_len)
{
	m->folders = calloc(cnt, sizeof(*m->folders));
	for (size_t i = 0; m->folders && i < cnt; i++) {
		struct mcp_folder *f = &m->folders[m->folder_cnt++];

		f->name = realpath(folders[i], NULL);
		f->fd = f->name ? open(f->name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
		if (f->fd < 0) {
			snprintf(why, why_len, "%s: %s", folders[i], strerror(errno));
			return -1;
		}
	}
	if (!m->folders ||
	    sqlite3_open_v2(":memory:", &m->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			    NULL) != SQLITE_OK) {
		snprintf(why, why_len, "out of memory");
		return -1;
	}
	if (!m->run)
		m->run = mcp_run_child;
	return 0;
}

void mcp_close(struct mcp *m)
{
	for (size_t i = 0; i < m->folder_cnt; i++) {
		if (m->folders[i].fd >= 0)
			close(m->folders[i].fd);
		free(m->folders[i].name);
	}
	free(m->folders);
	sqlite3_close(m->sqlite);
}

/* The rest of an absolute path behind the folder, NULL: it is not below. */
static const char *below(const struct mcp_folder *f, const char *path)
{
	size_t len = strlen(f->name);

	if (len == 1)
		return path + 1;
	return strncmp(path, f->name, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* Opens the folders of @path one by one. 0; else errno. */
static int walk(int from, const char *path, struct mcp_file *file)
{
	int dir = fcntl(from, F_DUPFD_CLOEXEC, 3), next;

	for (;;) {
		size_t len = strcspn(path, "/");
		int error;

		if (dir < 0)
			return errno;
		if (len >= sizeof(file->name)) {
			close(dir);
			return ENAMETOOLONG;
		}
		memcpy(file->name, path, len);
		file->name[len] = 0;
		if (strcmp(file->name, "..") == 0) {
			close(dir);
			return EACCES;
		}
		path += len + strspn(path + len, "/");
		if (!*path) {
			file->dir = dir;
			return *file->name && strcmp(file->name, ".") != 0
				       ? 0
				       : (close(dir), file->dir = -1, EISDIR);
		}
		if (!len || strcmp(file->name, ".") == 0)
			continue;
		next = openat(dir, file->name, FOLDER);
		error = errno;
		close(dir);
		dir = next;
		errno = error;
	}
}

/* Is there a plain file, and no link? 0; else errno. */
static int look(const struct mcp_file *file)
{
	struct stat st;

	if (fstatat(file->dir, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno;
	return S_ISREG(st.st_mode)   ? 0
	       : S_ISLNK(st.st_mode) ? ELOOP
	       : S_ISDIR(st.st_mode) ? EISDIR
				     : EINVAL;
}

int mcp_find(const struct mcp *m, const char *path, struct mcp_file *file, char *why,
	     size_t why_len)
{
	const char *slash = strrchr(path, '/');
	int error = EACCES;

	*file = (struct mcp_file){.dir = -1};
	if ((size_t)(slash ? slash + 1 - path : 0) >= sizeof(file->shown))
		error = ENAMETOOLONG;
	for (size_t i = 0; i < m->folder_cnt && error != ENAMETOOLONG; i++) {
		const char *rest = *path == '/' ? below(&m->folders[i], path) : path;
		int one = rest ? walk(m->folders[i].fd, rest, file) : EACCES;

		if (one == 0 && (one = look(file)) == 0) {
			snprintf(file->shown, sizeof(file->shown), "%.*s",
				 (int)(slash ? slash + 1 - path : 0), path);
			return 0;
		}
		if (file->dir >= 0)
			close(file->dir);
		file->dir = -1;
		error = error == EACCES ? one : error;
	}
	snprintf(why, why_len, "%.200s: %s", path,
		 error == EACCES  ? "not below the folders of this server ('reports' lists what is)"
		 : error == ELOOP ? "a link, which is not followed"
		 : error == EINVAL ? "no plain file"
				   : strerror(error));
	return -1;
}

int mcp_file_open(const struct mcp_file *file)
{
	struct stat st;
	int fd = openat(file->dir, file->name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}
