/*
 * arenas.c - attaches arenas and detaches them.
 *
 * A memfd comes from a process that is not trusted: everything that sizes or indexes is checked here or where it is
 * used; an arena of another build is refused, since numbers of hooks would differ.
 */
#include "collector/collect/arenas.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/collect/record_families.h"
#include "collector/session/ring_file.h"

/* @chunk_cnt: that of @m, read once. */
static bool header_ok(const struct sl_arena *m, uint32_t chunk_cnt, uint64_t bytes,
		      uint32_t clock_mode)
{
	return m->magic == SL_ARENA_MAGIC && m->wire_version == SL_WIRE_VERSION &&
	       m->hook_cnt == SL_HOOK_CNT && m->hook_hash == sl_hook_hash() &&
	       m->chunk_bytes == SL_CHUNK_BYTES && chunk_cnt <= SL_CHUNK_CNT &&
	       sl_arena_bytes(chunk_cnt) <= bytes && m->slot_cnt == SL_SLOT_CNT &&
	       m->header_bytes == SL_ARENA_HEADER_BYTES && m->clock_mode == clock_mode;
}

/* Fills a->mem and a->map. False: refused, counted. */
static bool map_fd(struct arenas *as, struct arena *a, int fd, bool is_file)
{
	struct sl_arena *m;
	struct stat st;

	if (!(is_file ? ring_file_is_sound(fd, &st) : ring_memfd_is_sound(fd, &st))) {
		as->lost.unsound++;
		return false;
	}
	a->mem.bytes = (uint64_t)st.st_size;
	a->mem.device = st.st_dev;
	a->mem.inode = st.st_ino;
	a->flags.is_file = is_file;
	a->flags.is_others = st.st_uid != geteuid();
	as->memory.has_others |= a->flags.is_others;
	m = mmap(NULL, a->mem.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (m == MAP_FAILED) {
		as->lost.no_room++;
		return false;
	}
	a->mem.chunk_cnt = __atomic_load_n(&m->chunk_cnt, __ATOMIC_RELAXED);
	if (!header_ok(m, a->mem.chunk_cnt, a->mem.bytes, as->clock->mode)) {
		as->lost.refused++;
		munmap(m, a->mem.bytes);
		return false;
	}
	/* A keeper that is started later would pass for a process that still writes into it (users_have_mapped()). */
	madvise(m, a->mem.bytes, MADV_DONTFORK);
	a->map = m;
	return true;
}

/* A process that may be in another PID namespace marks its slots besides (SL_SLOT_NAMESPACED). */
static bool is_foreign(const struct arena_origin *from)
{
	return from->peer_pid != from->claimed_pid ||
	       (from->is_hello ? from->pid_ns != 0 : !pidns_is_ours(from->peer_pid));
}

static struct arena *attach(struct arenas *as, int fd, const struct arena_origin *from,
			    bool is_file)
{
	struct arena *a = calloc(1, sizeof(*a)), **last = &as->first;

	if (!a) {
		as->lost.no_room++;
		return NULL;
	}
	if (!map_fd(as, a, fd, is_file)) {
		free(a);
		return NULL;
	}
	a->id = from->id;
	a->families = &record_families;
	a->mem.spool = as->spool;
	if (a->id > as->last_id)
		as->last_id = a->id;
	a->mem.born = a->map->born;
	a->peer.pid = from->peer_pid;
	a->peer.pid_ns = from->pid_ns;
	a->flags.is_foreign = is_foreign(from);
	if (a->flags.is_foreign)
		a->peer.parent_pid = proc_parent(from->peer_pid);
	/* Oldest first: records from before an exec are read before later records, in whatever order the hellos were read. */
	while (*last && !((*last)->peer.pid == a->peer.pid && (*last)->mem.born > a->mem.born))
		last = &(*last)->next;
	a->next = *last;
	*last = a;
	return a;
}

struct arena *arena_attach(struct arenas *as, int fd, uint32_t id, uint32_t peer_pid,
			   uint32_t claimed_pid)
{
	return attach(
		as, fd,
		&(struct arena_origin){.id = id, .peer_pid = peer_pid, .claimed_pid = claimed_pid},
		false);
}

struct arena *arena_attach_from(struct arenas *as, int fd, const struct arena_origin *from)
{
	return attach(as, fd, from, false);
}

struct arena *arena_attach_file(struct arenas *as, int fd, uint32_t id, uint32_t peer_pid,
				uint32_t claimed_pid)
{
	return attach(
		as, fd,
		&(struct arena_origin){.id = id, .peer_pid = peer_pid, .claimed_pid = claimed_pid},
		true);
}

void arena_thread_free(struct thread *t)
{
	live_thread_free(t);
	free(t->files.list);
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
	if (a->mem.spool)
		spool_drop(a->mem.spool, a->id);
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
