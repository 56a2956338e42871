/* tools_reports.c - the reports below the folders. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/mcp/mcp.h"

#define DEPTH_MAX   5
#define ENTRIES_MAX 20000 /* looked at */

struct found {
	char *path;
	int64_t bytes, modified;
};

struct search {
	struct found *list;
	size_t cnt, looked_at;
	bool is_cut; /* folders are deeper, or have more entries */
	bool failed;
};

/* Does it begin as a report of this program or of Nsight Systems does? */
static bool is_report(int dir, const char *name, struct stat *st)
{
	static const char sqlite[] = "SQLite format 3", *const ends[] = {".sqlite", ".nsys-rep",
									 ".qdrep"};
	char head[sizeof(sqlite)] = "";
	size_t len = strlen(name);
	bool is = false;
	int fd;

	for (size_t i = 0; i < 3; i++)
		is |= len > strlen(ends[i]) && strcmp(name + len - strlen(ends[i]), ends[i]) == 0;
	if (!is || fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st->st_mode))
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	     (name[len - 1] != 'e' || memcmp(head, sqlite, sizeof(sqlite)) == 0);
	if (fd >= 0)
		close(fd);
	return is;
}

static void add(struct search *s, const char *path, const struct stat *st)
{
	struct found *more = reallocarray(s->list, s->cnt + 1, sizeof(*more));
	char *copy = strdup(path);

	if (more)
		s->list = more;
	if (!more || !copy) {
		free(copy);
		s->failed = true;
		return;
	}
	more[s->cnt++] = (struct found){copy, st->st_size, st->st_mtim.tv_sec};
}

static void look(struct search *s, int dir, const char *prefix, int depth)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;

	if (!d) {
		close(dir);
		return;
	}
	while ((e = readdir(d)) && s->looked_at++ < ENTRIES_MAX) {
		char path[1024];
		struct stat st;
		int next;

		if (*e->d_name == '.' || (size_t)snprintf(path, sizeof(path), "%s%s", prefix,
							  e->d_name) >= sizeof(path) - 2)
			continue;
		if (is_report(dirfd(d), e->d_name, &st)) {
			add(s, path, &st);
			continue;
		}
		if (e->d_type != DT_DIR)
			continue;
		s->is_cut |= depth == DEPTH_MAX;
		next = depth < DEPTH_MAX ? openat(dirfd(d), e->d_name,
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
					 : -1;
		strcat(path, "/");
		if (next >= 0)
			look(s, next, path, depth + 1);
	}
	s->is_cut |= s->looked_at >= ENTRIES_MAX;
	closedir(d);
}

static int newest(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->modified != y->modified ? (x->modified < y->modified ? 1 : -1)
					  : strcmp(x->path, y->path);
}

/* The folder as an entry of a folder above is no option here: a client names a folder by its path below. */
static bool is_wanted(const struct found *f, const char *folder)
{
	size_t len = folder ? strlen(folder) : 0;

	while (len && folder[len - 1] == '/')
		len--;
	return !len || (strncmp(f->path, folder, len) == 0 && f->path[len] == '/');
}

static size_t put(struct mcp_call *c, const struct search *s, size_t most)
{
	struct writer *w = &c->out;
	size_t shown = 0, left = 0;
	const char *folder = mcp_value(c, "folder")->text;

	json_open(w, NULL, '{');
	json_int(w, "schema_version", 1);
	json_open(w, "folders", '[');
	for (size_t i = 0; i < c->mcp->folder_cnt; i++)
		json_text(w, NULL, c->mcp->folders[i].name);
	json_close(w, ']');
	json_open(w, "reports", '[');
	for (size_t i = 0; i < s->cnt; i++) {
		if (!is_wanted(&s->list[i], folder))
			continue;
		if (shown >= most || w->len + strlen(s->list[i].path) * 2 + 600 > c->room) {
			left++;
			continue;
		}
		json_open(w, NULL, '{');
		json_text(w, "report", s->list[i].path);
		json_int(w, "bytes", s->list[i].bytes);
		json_int(w, "modified_s", s->list[i].modified);
		json_close(w, '}');
		shown++;
	}
	json_close(w, ']');
	json_bool(w, "all_folders", !s->is_cut);
	return left;
}

int mcp_call_reports(struct mcp_call *c)
{
	const struct mcp_value *limit = mcp_value(c, "limit");
	struct search s = {0};
	size_t left;
	char more[160];

	for (size_t i = 0; i < c->mcp->folder_cnt; i++) {
		char prefix[1024] = "";
		int dir = openat(c->mcp->folders[i].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		/* A report of the second folder is named by its whole path: names may be in both. */
		if (i > 0)
			snprintf(prefix, sizeof(prefix), "%s/", c->mcp->folders[i].name);
		if (dir >= 0)
			look(&s, dir, prefix, 0);
	}
	if (s.cnt)
		qsort(s.list, s.cnt, sizeof(*s.list), newest);
	left = put(c, &s, limit->text ? (size_t)limit->number : 50);
	if (left) {
		snprintf(more, sizeof(more),
			 "{\"tool\": \"reports\", \"arguments\": {\"limit\": %zu, \"chars\": %zu}}",
			 s.cnt, 4 * c->room);
		json_open(&c->out, "omitted", '{');
		json_open(&c->out, "reports", '{');
		json_int(&c->out, "count", (int64_t)left);
		json_close(&c->out, '}');
		json_close(&c->out, '}');
		json_raw(&c->out, "next", more, strlen(more));
	}
	json_text(&c->out, "texts", MCP_DATA);
	json_close(&c->out, '}');
	for (size_t i = 0; i < s.cnt; i++)
		free(s.list[i].path);
	free(s.list);
	return s.failed ? -1 : 0;
}
