/* host_cgroup_room.c - how much memory the cgroups of a process leave: the collector's buffers are charged to them, too. */
#include "collector/health/host_cgroup_room.h"

#include <stdlib.h>

#include "collector/base/figure.h"
#include "collector/health/host_cgroup_find.h"

/* Per version of cgroups: limit, use, and the key of memory.stat that the kernel can do without. */
static const struct memory_files {
	enum cgroup_hierarchy in;
	const char *limit, *used, *spare;
} versions[] = {
	{CGROUP_MEMORY, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
	{CGROUP_UNIFIED, "memory.max", "memory.current", "inactive_file"},
};

/* The first number in a file; false: none, as "max". */
static bool number_in(struct host *h, const struct cgroup_place *place, const char *name,
		      uint64_t *n)
{
	char word[32];

	return host_file_word(h, word, sizeof(word), "%s%s/%s", place->mount, place->path, name) &&
	       host_is_number(word, n);
}

static uint64_t spare(struct host *h, const struct cgroup_place *place, const char *key)
{
	struct host_file file;
	char *text, *line, *word;
	uint64_t n = 0;

	if (!host_file_open(h, &file, "%s%s/memory.stat", place->mount, place->path))
		return 0;
	text = host_file_read(h, &file);
	while (text && (line = host_line(&text))) {
		word = host_word(&line);
		if (word && strcmp(word, key) == 0 && host_number(&line, &n))
			break;
	}
	host_file_close(&file);
	return n;
}

static uint64_t room_of(struct host *h, const struct cgroup_place *place,
			const struct memory_files *files)
{
	uint64_t limit, used, free;

	/* The largest number stands for none. To read memory.stat takes the kernel a while. */
	if (!number_in(h, place, files->limit, &limit) || limit >= FIGURE_MAX ||
	    !number_in(h, place, files->used, &used))
		return UINT64_MAX;
	free = spare(h, place, files->spare);
	used = used > free ? used - free : 0;
	return limit > used ? limit - used : 0;
}

uint64_t host_cgroup_room(const char *root, pid_t pid)
{
	struct host *h = calloc(1, sizeof(*h));
	struct cgroup_places *places = NULL;
	uint64_t least = UINT64_MAX;

	if (!h)
		return least;
	h->root = root;
	places = cgroup_find(h, pid);
	for (size_t i = 0; places && i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct cgroup_place *place = &places->at[versions[i].in];

		if (!*place->mount)
			continue;
		do {
			uint64_t room = room_of(h, place, &versions[i]);

			least = room < least ? room : least;
		} while (cgroup_up(place));
	}
	free(places);
	free(h->text.bytes);
	free(h);
	return least;
}
