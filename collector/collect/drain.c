/*
 * drain.c - reads the rings: which threads have records, which may be taken, which threads have ended. Totals and
 * losses: drain_totals.c.
 *
 * Pairings: state is read with acquire (the thread's release after filling its slot); committed with acquire (release
 * in sl_commit()); next with acquire (release after the last committed of the chunk), so once next is seen, committed
 * is final.
 */
#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/collect/drain_internal.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/collect/record_families.h"
#include "collector/model/identity.h"

#define DATA_BYTES   ((uint32_t)sizeof(((struct sl_chunk *)0)->data))
#define FAR_TICKS    (1ull << 35) /* no record can end so long after the newest snapshot */
#define IMAGE_ROUNDS 50
#define MANY_SLOTS   256
#define SLICE        2048u
#define SLICE_HIGH   64u

/* Where reading begins. False: the slot makes no sense. */
static bool find_start(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t)
{
	const struct saved_thread *saved = positions_find(a, idx, t->id.instance);
	bool is_spooled;

	t->at.chunk = a->map->slot[idx].first_chunk;
	is_spooled = a->mem.spool && spool_resume(as, a, idx, t);
	if (is_spooled || arena_has_chunk(a, t->at.chunk)) {
		const struct sl_chunk *c = arena_chunk(a, t->at.chunk);

		t->at.seq = c->seq;
		t->at.pos = __atomic_load_n(&c->consumed, __ATOMIC_RELAXED);
	} else if (t->at.chunk || !saved) {
		return false; /* without a chunk it can only be one that was being given back */
	}
	if (t->at.pos > DATA_BYTES || t->at.pos % 8)
		return false;
	t->at.saved = t->at.pos;
	if (saved)
		positions_resume(a, idx, t, saved);
	return t->at.chunk || t->flags.is_over;
}

static struct thread *thread_new(struct arenas *as, struct arena *a, uint32_t idx)
{
	struct sl_slot *slot = &a->map->slot[idx];
	struct claim claim = {.number = slot->process,
			      .parent = slot->parent_process,
			      .pid = slot->pid,
			      .is_namespaced = slot->flags & SL_SLOT_NAMESPACED,
			      .born = slot->born};
	bool is_early;
	struct image *im = identity_image(as, a, &claim, &is_early);
	struct thread *t = is_early ? NULL : calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->id.instance = __atomic_load_n(&slot->instance, __ATOMIC_RELAXED);
	t->id.use = ++as->ever.uses;
	t->image = im;
	if (!t->image || !find_start(as, a, idx, t)) {
		as->lost.corrupt++;
		a->flags.is_bad = true;
		free(t);
		return NULL;
	}
	families_thread_begin(as, t->image);
	t->id.ns_tid = slot->tid;
	t->id.tid = identity_thread(im, t->id.ns_tid);
	t->id.global_tid = GLOBAL_TID(t->image->proc->pid, t->id.tid);
	t->flags.has_moved = true;
	t->image->threads++;
	drain_name_thread(as, t, slot);
	return t;
}

static void look_at_memory(struct arenas *as)
{
	as->memory.all = budget_memory();
	as->memory.bytes = budget_without_symbols(as->memory.all);
	as->memory.is_high =
		(as->memory.has_others ? as->memory.all : as->memory.bytes) > BUDGET_MEMORY * 3 / 4;
}

/* A program of another user could keep symbols being read, to hide its memory. */
static bool is_full(const struct arenas *as, const struct arena *a)
{
	return (a->flags.is_others ? as->memory.all : as->memory.bytes) > BUDGET_MEMORY;
}

/* Threads cost memory without a record, too. */
static bool has_room(struct arenas *as, const struct arena *a)
{
	if (++as->memory.threads % 64 == 0)
		look_at_memory(as);
	return !is_full(as, a);
}

/* The thread in slot @idx; NULL when the slot is free. */
static struct thread *thread_at(struct arenas *as, struct arena *a, uint32_t idx)
{
	struct sl_slot *slot = &a->map->slot[idx];
	uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

	if (idx < a->threads.cnt && a->threads.at[idx])
		return a->threads.at[idx];
	if (state == SL_SLOT_FREE || a->flags.is_bad)
		return NULL;
	if (!has_room(as, a)) {
		as->lost.no_room++;
		a->flags.is_bad = true;
		return NULL;
	}
	if (!grow_to(&a->threads.at, idx, &a->threads.cnt, sizeof(struct thread *)))
		return NULL;
	a->threads.at[idx] = thread_new(as, a, idx);
	return a->threads.at[idx];
}

/*
 * Held back by the flight recorder? A process's first record is not: its image must be known at once. It is the first
 * of its thread, so the order stays.
 */
static bool is_held(const struct arenas *as, const struct call *c)
{
	return as->flight.hold && c->end > as->flight.hold &&
	       !(c->shape == SL_SHAPE_META && c->hook == SL_META_IMAGE);
}

/* Records of one chunk up to @committed. True: stopped at a record that is too new. */
static bool drain_chunk(struct arenas *as, struct thread *t, const struct sl_chunk *chunk,
			uint32_t committed, size_t limit, size_t *taken)
{
	uint64_t until = as->clock->newest;
	struct call c;

	while (t->at.pos < committed && *taken < limit) {
		unsigned words =
			decode_record(chunk->data + t->at.pos / 8, (committed - t->at.pos) / 8, &c);

		if (!words) {
			as->lost.corrupt++;
			t->at.pos = committed;
			break;
		}
		if (c.end > until) {
			if (c.end - until < FAR_TICKS)
				return true;
			c.start = c.end = until;
		} else if (is_held(as, &c)) {
			return true;
		}
		if (as->report.windows && c.start >= as->report.windows->hold)
			return true;
		t->at.pos += words * 8;
		if (t->image->arena->flags.is_greedy) {
			t->image->arena->counts.greedy++;
			++*taken;
			continue;
		}
		if (c.shape < SL_SHAPE_META && c.end > t->at.last)
			t->at.last = c.end;
		/* The id of a stack is taken together with the call that follows it. */
		*taken += c.shape != SL_SHAPE_META || c.hook != SL_META_CHAIN;
		record_family_of(&record_families, &c)->record(as, t, &c);
	}
	return false;
}

bool arena_add_spent(struct arena *a, uint32_t slot, sl_ref chunk, sl_ref next)
{
	if (!grow(&a->spent.list, a->spent.cnt, &a->spent.cap, sizeof(*a->spent.list)))
		return false;
	a->spent.list[a->spent.cnt++] = (struct spent){slot, chunk, next};
	return true;
}

/* On to the chunk after the one that has been read. False: it makes no sense, or no memory. */
static bool move_on(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t, sl_ref next)
{
	bool is_spooled = spool_is_ref(t->at.chunk);
	struct sl_chunk *c;

	if (!arena_leads(a, t->at.chunk, next))
		goto bad;
	c = arena_chunk(a, next);
	/* Between spooled chunks, some may be missing after a collector's death. */
	if ((is_spooled ? c->seq <= t->at.seq : c->seq != t->at.seq + 1) || c->slot != idx + 1)
		goto bad;
	if (!arena_add_spent(a, idx, t->at.chunk, next))
		return false;
	t->flags.has_spent |= !is_spooled;
	as->lost.chunks += c->seq - t->at.seq - 1;
	t->at.chunk = next;
	t->at.seq = c->seq;
	t->at.pos = t->at.saved = 0;
	return true;
bad:
	as->lost.corrupt++;
	a->flags.is_bad = true;
	return false;
}

/* Time up to which a ring counts as read that is empty, or has only newer or held-back records. */
static uint64_t read_to(const struct arenas *as)
{
	uint64_t to = as->clock->newest;

	if (as->flight.hold && as->flight.hold < to)
		to = as->flight.hold;
	/* Later records are of the report that follows. */
	if (as->report.windows && as->report.windows->hold < to)
		to = as->report.windows->hold;
	return to;
}

static size_t drain_thread(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t,
			   size_t limit)
{
	uint32_t pos = t->at.pos;
	sl_ref chunk_before = t->at.chunk;
	size_t taken = 0;

	/* A ring without an end, links in a circle, ends here for this round. */
	for (unsigned hops = 0; taken < limit && hops < arena_hops(a); hops++) {
		struct sl_chunk *chunk = arena_chunk(a, t->at.chunk);
		sl_ref next = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
		uint32_t committed = __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE);

		if (committed > DATA_BYTES || committed % 8) {
			as->lost.corrupt++;
			a->flags.is_bad = true;
			break;
		}
		/* The program uses a full chunk again at once, not after the commit of its rows. */
		if (next && !spool_is_ref(t->at.chunk) && move_thread(a, idx, t))
			continue;
		if (as->flight.before)
			as->flight.before(as->flight.before_ctx, as, a, t);
		if (drain_chunk(as, t, chunk, committed, limit, &taken))
			break;
		if (t->at.pos < committed)
			continue;
		if (!next || !move_on(as, a, idx, t, next))
			break;
	}
	if (t->at.pos != pos || t->at.chunk != chunk_before)
		t->flags.has_moved = true;
	if (taken < limit)
		t->at.read_to = read_to(as);
	return taken;
}

/* The next call, after records that describe the thread. */
static bool next_call(const struct arena *a, const struct thread *t, unsigned *hops, struct call *c)
{
	sl_ref ref = t->at.chunk;
	uint32_t pos = t->at.pos;

	for (; ref && *hops < arena_hops(a); ++*hops, pos = 0) {
		const struct sl_chunk *chunk = arena_chunk(a, ref);
		sl_ref next = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
		uint32_t end;
		unsigned words;

		ref = arena_leads(a, ref, next) ? next : 0;
		end = __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE);
		for (; end <= DATA_BYTES && pos < end; pos += words * 8) {
			words = decode_record(chunk->data + pos / 8, (end - pos) / 8, c);
			if (!words)
				break;
			if (c->shape != SL_SHAPE_META)
				return true;
		}
	}
	return false;
}

struct next_calls drain_next_calls(const struct arenas *as)
{
	struct next_calls n = {UINT64_MAX, UINT64_MAX};

	for (const struct arena *a = as->first; a; a = a->next) {
		unsigned hops = 0;

		for (uint32_t i = 0; i < a->threads.cnt && !a->flags.is_bad; i++) {
			const struct thread *t = a->threads.at[i];
			struct call c;

			if (!t || t->flags.is_over || !next_call(a, t, &hops, &c))
				continue;
			n.start = c.start < n.start ? c.start : n.start;
			n.end = c.end < n.end ? c.end : n.end;
		}
	}
	return n;
}

/*
 * Stops recording the arena that took most memory, and frees the memory of its records. Another
 * user's program does not end the recording of this user's.
 */
static void relieve(struct arenas *as, struct arena *growing)
{
	struct arena *most = growing;

	for (struct arena *a = as->first; a; a = a->next)
		if (!a->flags.is_greedy && a->mem.grown > most->mem.grown &&
		    (a->flags.is_others || !growing->flags.is_others))
			most = a;
	most->flags.is_greedy = true;
	families_release(as, most);
	for (struct image *im = most->images; im; im = im->next) {
		file_close_all(as->model, im, clock_map_ns(as->clock, as->clock->newest));
		file_release(im);
	}
	file_names_release(&most->names);
	malloc_trim(0);
}

/* Records between two looks at the memory. */
static size_t slice(const struct arenas *as)
{
	return as->memory.is_high ? SLICE_HIGH : SLICE;
}

/* Called once per slice: charges the growth of the collector's memory to the arena. */
static void watch_memory(struct arenas *as, struct arena *a, size_t taken)
{
	uint64_t before = as->memory.bytes;

	as->memory.taken += taken;
	if (as->memory.taken < slice(as))
		return;
	as->memory.taken = 0;
	look_at_memory(as);
	if (as->memory.bytes <= before || a->flags.is_greedy)
		return;
	a->mem.grown += as->memory.bytes - before;
	if (is_full(as, a))
		relieve(as, a);
}

/* drain_thread(), with a look at the memory and at full chunks in between. */
static size_t drain_slices(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t,
			   size_t limit)
{
	size_t taken = 0, part, most;

	do {
		most = limit - taken < slice(as) ? limit - taken : slice(as);
		part = drain_thread(as, a, idx, t, most);
		taken += part;
		watch_memory(as, a, part);
		move_chunks(as);
	} while (part == most && taken < limit && !a->flags.is_bad);
	return taken;
}

static bool ring_is_empty(const struct arena *a, const struct thread *t)
{
	const struct sl_chunk *c;

	if (a->flags.is_bad)
		return true;
	c = arena_chunk(a, t->at.chunk);
	return !__atomic_load_n(&c->next, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&c->committed, __ATOMIC_ACQUIRE) == t->at.pos;
}

/* Threads whose rings have something to read. */
static size_t cnt_busy(const struct arenas *as)
{
	size_t cnt = 0;

	for (const struct arena *a = as->first; a; a = a->next)
		for (uint32_t i = 0; i < a->threads.cnt; i++)
			cnt += a->threads.at[i] && !a->threads.at[i]->flags.is_over &&
			       !ring_is_empty(a, a->threads.at[i]);
	return cnt;
}

size_t drain_round(struct arenas *as, size_t limit)
{
	size_t taken = 0, busy = cnt_busy(as), share = limit / (busy > 4 ? busy : 4) + 1;

	look_at_memory(as);
	move_chunks(as);
	for (struct arena *a = as->first; a; a = a->next) {
		uint32_t fresh = arena_fresh_slots(a);

		a->flags.is_prescanned = false;
		for (uint32_t i = 0; i < fresh && !a->flags.is_bad; i++) {
			/* Known at once, whatever is read of others: its chunks are copied from then on. */
			struct thread *t = thread_at(as, a, i);

			/* Each has its share: none waits for others that never have nothing. */
			if (t && !t->flags.is_over)
				taken += drain_slices(as, a, i, t, share);
		}
	}
	as->ever.rows += taken;
	return taken;
}

bool drain_is_idle(const struct arenas *as)
{
	for (const struct arena *a = as->first; a; a = a->next)
		for (uint32_t i = 0; i < a->threads.cnt; i++)
			if (a->threads.at[i] && !a->threads.at[i]->flags.is_over &&
			    !ring_is_empty(a, a->threads.at[i]))
				return false;
	return true;
}

/* True: the slot's totals belong to a report that does not exist yet. */
static bool is_of_next(const struct arenas *as, const struct sl_slot *slot)
{
	uint32_t epoch = __atomic_load_n(&slot->epoch, __ATOMIC_ACQUIRE) & ~SL_EPOCH_CHANGES;

	return as->report.epoch && epoch > as->report.epoch;
}

/* DB_NULL: its process goes on. */
static int64_t image_end(const struct image *im)
{
	if (!model_image_is_over(im))
		return DB_NULL;
	return im->proc->flags.is_gone ? im->proc->life.end_ns : im->end_ns;
}

static void reap_thread(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t,
			bool all)
{
	bool done = __atomic_load_n(&a->map->slot[idx].state, __ATOMIC_ACQUIRE) == SL_SLOT_DONE;

	/* Gone before the last round began, and nothing was left then: nothing can come any more. */
	if (t->flags.is_seen_gone && ring_is_empty(a, t) && !is_of_next(as, &a->map->slot[idx])) {
		int64_t end = image_end(t->image);

		drain_thread_totals(as, a, idx, t, DRAIN_THREAD_ENDS);
		drain_thread_losses(as, a, idx, t);
		families_thread_end(as, t, end);
		as->ever.outlived += t->at.last && end != DB_NULL &&
				     clock_map_ns(as->clock, t->at.last) > end + MODEL_SLACK_NS;
		t->flags.is_over = t->flags.has_moved = true;
		return;
	}
	if (t->flags.is_seen_gone)
		return;
	if (model_image_is_over(t->image))
		t->flags.is_seen_gone = true;
	else if (all || done)
		t->flags.is_seen_gone = !proc_thread_lives(t->image->proc->pid, t->id.tid);
}

/* Ends images whose process is gone and whose threads have all been read. True: one lives. */
static bool reap_images(struct arenas *as, struct arena *a)
{
	struct image **at = &a->images;
	bool alive = false;

	while (*at) {
		struct image *im = *at;

		if (!model_image_is_over(im)) {
			alive = true;
		} else if (!im->threads && ++im->idle_rounds == 1) {
			file_close_all(as->model, im,
				       im->proc->flags.is_gone ? im->proc->life.end_ns
							       : im->end_ns);
		} else if (!im->threads && im->idle_rounds > IMAGE_ROUNDS) {
			/* By now no slot of this image can turn up any more. */
			*at = im->next;
			model_image_free(as->model, im);
			continue;
		}
		at = &im->next;
	}
	return alive;
}

#define ASKED_MOST 1024 /* arenas in one look at the maps of all processes */

enum use {
	UNUSED,
	IN_USE,
	ASK_PROC, /* only the maps of all processes say */
};

/*
 * An arena without living images is kept while a process could still write into it: a thread whose slot was not read
 * yet, or a forked child without a record so far.
 */
static enum use use_of(struct arenas *as, struct arena *a, bool all)
{
	uint32_t fresh = arena_fresh_slots(a);

	for (uint32_t i = 0; i < a->threads.cnt; i++)
		if (a->threads.at[i])
			return IN_USE;
	for (uint32_t i = 0; i < fresh && !a->flags.is_bad; i++)
		if (__atomic_load_n(&a->map->slot[i].state, __ATOMIC_ACQUIRE) != SL_SLOT_FREE)
			return IN_USE;
	if (!all)
		return a->flags.is_over ? UNUSED : IN_USE;
	if (!a->flags.has_had_images && proc_thread_lives(a->peer.pid, a->peer.pid))
		return IN_USE;
	if (as->model->wants.has_kernel_events)
		return model_has_guests(as->model, a->id) ? IN_USE : UNUSED;
	return ASK_PROC;
}

static uint32_t slots_in_use(const struct arena *a)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < a->threads.cnt; i++)
		cnt += a->threads.at[i] != NULL;
	return cnt;
}

bool drain_is_pressed(const struct arenas *as)
{
	for (const struct arena *a = as->first; a; a = a->next)
		if (slots_in_use(a) >= a->threads.slots_in_use + MANY_SLOTS)
			return true;
	return false;
}

/* Short processes leave arenas by the hundred: one look at the maps serves @cnt of them. */
static void ask_proc(struct arenas *as, struct arena **asked, size_t cnt)
{
	struct mapped_file files[ASKED_MOST];

	for (size_t i = 0; i < cnt; i++)
		files[i] = (struct mapped_file){.device = asked[i]->mem.device,
						.inode = asked[i]->mem.inode,
						.maker = asked[i]->peer.pid};
	users_find_mapped(files, cnt, &as->elders);
	for (size_t i = 0; i < cnt; i++) {
		asked[i]->flags.is_over = !files[i].is_used;
		if (!files[i].is_used)
			drain_unslotted(as, asked[i]);
	}
}

void drain_reap(struct arenas *as, bool all)
{
	struct arena *asked[ASKED_MOST];
	size_t cnt = 0;

	for (struct arena *a = as->first; a; a = a->next) {
		enum use use;

		for (uint32_t i = 0; i < a->threads.cnt; i++)
			if (a->threads.at[i] && !a->threads.at[i]->flags.is_over)
				reap_thread(as, a, i, a->threads.at[i], all);
		if (all)
			a->threads.slots_in_use = slots_in_use(a);
		use = reap_images(as, a) ? IN_USE : use_of(as, a, all);
		if (use == ASK_PROC)
			asked[cnt++] = a;
		if (cnt == ASKED_MOST) {
			ask_proc(as, asked, cnt);
			cnt = 0;
		}
		if (use == ASK_PROC)
			continue;
		a->flags.is_over = use == UNUSED;
		if (use == UNUSED)
			drain_unslotted(as, a);
	}
	ask_proc(as, asked, cnt);
}
