/*
 * arenas.c - attaches arenas and detaches them.
 *
 * A memfd comes from a process that is not trusted: everything that sizes or indexes is checked here or where it is
 * used; an arena of another build is refused, since numbers of hooks would differ.
 */
#include "collector/collect/arenas.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "collector/base/proc.h"
#include "collector/collect/record_families.h"

static bool header_ok(const struct sl_arena *m, uint64_t bytes, uint32_t clock_mode)
{
	return m->magic == SL_ARENA_MAGIC && m->wire_version == SL_WIRE_VERSION &&
	       m->hook_cnt == SL_HOOK_CNT && m->hook_hash == sl_hook_hash() &&
	       m->chunk_bytes == SL_CHUNK_BYTES && m->chunk_cnt <= SL_CHUNK_CNT &&
	       sl_arena_bytes(m->chunk_cnt) <= bytes && m->slot_cnt == SL_SLOT_CNT &&
	       m->header_bytes == SL_ARENA_HEADER_BYTES && m->clock_mode == clock_mode;
}

static struct sl_arena *map_fd(struct arenas *as, int fd, uint64_t *bytes)
{
	/* A memfd that its sender can still truncate would be a SIGBUS here. Files (recover) have no seals. */
	int seals = fcntl(fd, F_GET_SEALS);
	struct sl_arena *m;
	struct stat st;

	if ((seals >= 0 && !(seals & F_SEAL_SHRINK)) || fstat(fd, &st) < 0 ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size < sl_arena_bytes(1) ||
	    (uint64_t)st.st_size > SL_ARENA_BYTES) {
		as->lost.refused++;
		return NULL;
	}
	*bytes = (uint64_t)st.st_size;
	m = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (m == MAP_FAILED) {
		as->lost.no_room++;
		return NULL;
	}
	if (!header_ok(m, *bytes, as->clock->mode)) {
		as->lost.refused++;
		munmap(m, *bytes);
		return NULL;
	}
	return m;
}

struct arena *arena_attach(struct arenas *as, int fd, uint32_t id, uint32_t peer_pid,
			   uint32_t claimed_pid)
{
	uint64_t bytes = 0;
	struct sl_arena *map = map_fd(as, fd, &bytes);
	struct arena *a = map ? calloc(1, sizeof(*a)) : NULL;
	struct arena **last = &as->first;
	struct stat st;

	if (!a) {
		if (map) {
			as->lost.no_room++;
			munmap(map, bytes);
		}
		return NULL;
	}
	if (fstat(fd, &st) == 0) {
		a->mem.device = st.st_dev;
		a->mem.inode = st.st_ino;
	}
	a->map = map;
	a->mem.bytes = bytes;
	a->id = id;
	a->families = &record_families;
	if (id > as->last_id)
		as->last_id = id;
	a->mem.born = map->born;
	a->peer.pid = peer_pid;
	a->flags.is_foreign = peer_pid != claimed_pid || !pidns_is_ours(peer_pid);
	if (a->flags.is_foreign)
		a->peer.parent_pid = proc_parent(peer_pid);
	/* Oldest first: what a process did before an exec is read before what it did after. */
	while (*last)
		last = &(*last)->next;
	*last = a;
	return a;
}

void arena_thread_free(struct thread *t)
{
	live_thread_free(t);
	free(t);
}

void arena_detach(struct arenas *as, struct arena *a)
{
	struct arena **at = &as->first;

	while (*at && *at != a)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
	families_release(as, a);
	while (a->images) {
		struct image *im = a->images;

		a->images = im->next;
		file_close_all(as->model, im,
			       im->proc->flags.is_gone ? im->proc->life.end_ns : im->end_ns);
		model_image_free(as->model, im);
	}
	for (uint32_t i = 0; i < a->threads.cnt; i++) {
		if (a->threads.at[i])
			arena_thread_free(a->threads.at[i]);
	}
	free(a->threads.at);
	free(a->spent.list);
	free(a->saved.state);
	free(a->peer.forked);
	file_names_release(&a->names);
	munmap(a->map, a->mem.bytes);
	free(a);
}
