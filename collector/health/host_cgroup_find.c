/*
 * host_cgroup_find.c - from a process to the folders of its cgroups.
 *
 * /proc/PID/cgroup has paths as this cgroup namespace sees them, /proc/self/mountinfo which part of each hierarchy is mounted
 * where: in a container without a namespace of its own that is the container's part, and its path stands in front of both.
 */
#include "collector/health/host_cgroup_find.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const controllers[CGROUP_HIERARCHIES] = {"memory", "cpu", "cpuacct", "blkio",
							    ""};

/* Is @word one of the words between commas? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && strncmp(p, word, len) == 0)
			return true;
	return false;
}

static void copy(char to[PATH_MAX], const char *from)
{
	snprintf(to, PATH_MAX, "%s", strlen(from) < PATH_MAX ? from : "");
}

/* "\040" is a blank. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
		    p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* Lines "4:memory:/a/b", "0::/a/b". */
static void read_paths(struct cgroup_places *all, char *text)
{
	char *line;

	while ((line = host_line(&text))) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		list++;
		for (int i = 0; i < CGROUP_HIERARCHIES; i++)
			if (*path == '/' &&
			    (i == CGROUP_UNIFIED ? !*list : has_word(list, controllers[i])))
				copy(all->at[i].path, strcmp(path, "/") == 0 ? "" : path);
	}
}

/* Takes @top from the front of the path; false: the path is elsewhere. */
static bool below(char *path, const char *top)
{
	size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);

	if (strncmp(path, top, len) != 0 || (path[len] && path[len] != '/'))
		return false;
	memmove(path, path + len, strlen(path + len) + 1);
	return true;
}

static void take_mount(struct cgroup_place *place, const char *top, const char *point)
{
	/* "/../a": outside of this cgroup namespace. */
	if (*place->mount || strstr(place->path, "/..") || !below(place->path, top))
		return;
	copy(place->mount, point);
}

/* Lines "31 23 0:28 TOP POINT options - TYPE SOURCE OPTIONS". */
static void read_mounts(struct cgroup_places *all, char *text)
{
	char *line;

	while ((line = host_line(&text))) {
		char *field[5], *type = strstr(line, " - "), *options;
		int i = 0;

		if (!type)
			continue;
		*type = '\0';
		type += 3;
		options = type + strcspn(type, " ");
		if (strncmp(type, "cgroup", 6) != 0)
			continue;
		while (i < 5 && (field[i] = host_word(&line)))
			i++;
		if (i < 5)
			continue;
		unescape(field[3]);
		unescape(field[4]);
		if (strncmp(type, "cgroup2 ", 8) == 0)
			take_mount(&all->at[CGROUP_UNIFIED], field[3], field[4]);
		else if (strncmp(type, "cgroup ", 7) == 0 && *options)
			for (i = 0; i < CGROUP_UNIFIED; i++)
				if (has_word(strrchr(options, ' ') + 1, controllers[i]))
					take_mount(&all->at[i], field[3], field[4]);
	}
}

/* The topmost cgroup is the machine: only it has the one file, or lacks the other. */
static void drop_machine(const struct host *h, struct cgroup_place *place, bool is_unified)
{
	if (*place->mount && !*place->path &&
	    (is_unified ? !host_is_there(h, "%s/cgroup.type", place->mount)
			: host_is_there(h, "%s/cgroup.sane_behavior", place->mount)))
		*place->mount = '\0';
}

struct cgroup_places *cgroup_find(struct host *h, pid_t pid)
{
	struct cgroup_places *all = calloc(1, sizeof(*all));
	struct host_file file;
	char *text;

	if (!all || !host_file_open(h, &file, "/proc/%d/cgroup", (int)pid))
		goto none;
	text = host_file_read(h, &file);
	if (text)
		read_paths(all, text);
	host_file_close(&file);
	if (!text || !host_file_open(h, &file, "/proc/self/mountinfo"))
		goto none;
	text = host_file_read(h, &file);
	if (text)
		read_mounts(all, text);
	host_file_close(&file);
	for (int i = 0; i < CGROUP_HIERARCHIES; i++)
		drop_machine(h, &all->at[i], i == CGROUP_UNIFIED);
	return all;
none:
	free(all);
	return NULL;
}

bool cgroup_up(struct cgroup_place *place)
{
	char *last = strrchr(place->path, '/');

	if (!last)
		return false;
	*last = '\0';
	return true;
}
