/*
 * walk_disk.c - the part of a wait that block devices took: the time with a request of the thread under way. A thread that
 * syncs a file also waits for the writes of the kernel's journal thread, and for flushes.
 */
#include "exporters/why/walk/walk_parts.h"
#include "collector/base/search.h"

/* A wait, as requests in order of their start are added. */
struct cover {
	int64_t to, covered; /* up to there */
	int64_t ns;
	uint32_t disk; /* WHY_NONE: none, or several */
};

static bool is_for_disk(uint32_t reason)
{
	return reason == WHY_FILE || reason == WHY_FSYNC || reason == WHY_PAGE_IN ||
	       reason == WHY_IMPORT;
}

/* The first that may not be over at @from. */
static size_t first_at(const struct why_io *list, size_t cnt, int64_t from)
{
	return search_first(i, 0, cnt, list[i].reach <= from);
}

static void add(struct cover *c, const struct why_io *io)
{
	int64_t begin = later(io->start, c->covered), end = earlier(io->end, c->to);

	if (end <= begin)
		return;
	c->disk = !c->ns || c->disk == io->disk ? io->disk : WHY_NONE;
	c->ns += end - begin;
	c->covered = end;
}

static struct cover find(const struct why_model *m, uint32_t thread, uint32_t reason, int64_t from,
			 int64_t to)
{
	const struct why_thread *t = &m->threads[thread];
	size_t own_cnt = t->ios_cnt, cnt = reason == WHY_FSYNC ? m->ios_cnt : 0;
	struct cover c = {.to = to, .covered = from, .disk = WHY_NONE};
	size_t i = first_at(t->ios, own_cnt, from), k = first_at(m->ios, cnt, from);

	while (to > from) {
		bool own = i < own_cnt && t->ios[i].start < to;
		bool other = k < cnt && m->ios[k].start < to;

		if (!own && !other)
			break;
		if (own && (!other || t->ios[i].start <= m->ios[k].start))
			add(&c, &t->ios[i++]);
		else
			add(&c, &m->ios[k++]);
	}
	return c;
}

int64_t walk_disk_ns(const struct walk *w, uint32_t thread, uint32_t reason, int64_t from,
		     int64_t to)
{
	return find(w->m, thread, reason, from, to).ns;
}

void walk_disk_find(struct walk *w, uint32_t thread, uint32_t reason, int64_t from, int64_t to)
{
	struct cover c;

	w->io.ns = 0;
	if (w->span || !is_for_disk(reason))
		return;
	c = find(w->m, thread, reason, from, to);
	w->io.ns = c.ns;
	w->io.disk = c.disk;
}

void walk_disk_add(struct walk *w, uint32_t *disk, int64_t *ns)
{
	if (!w->io.ns)
		return;
	*disk = !*ns || *disk == w->io.disk ? w->io.disk : WHY_NONE;
	*ns += w->io.ns;
	w->io.ns = 0;
}
