/*
 * ring_test.h - a traced program in a test: writes records into an arena as the shim does, one word
 * after the other, so that tests of the collector need no shim. Include after db_test.h.
 */
#pragma once

#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/collect/arenas.h"
#include "collector/base/clock_map.h"
#include "collector/collect/recover_state.h"
#include "preload/wire/clock.h"

#define RING_WORDS (sizeof(((struct sl_chunk *)0)->data) / 8)

/* The other side. */
struct ring {
	struct sl_arena *arena;
	int fd;
};

static inline struct ring ring_new(void)
{
	struct ring r = {.fd = memfd_create("sightline-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING)};

	assert_true(r.fd >= 0 && ftruncate(r.fd, (off_t)SL_ARENA_BYTES) == 0);
	assert_int_equal(fcntl(r.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	r.arena = mmap(NULL, SL_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		       r.fd, 0);
	assert_ptr_not_equal(r.arena, MAP_FAILED);
	*r.arena = (struct sl_arena){
		.magic = SL_ARENA_MAGIC,
		.wire_version = SL_WIRE_VERSION,
		.hook_cnt = SL_HOOK_CNT,
		.hook_hash = sl_hook_hash(),
		.chunk_bytes = SL_CHUNK_BYTES,
		.chunk_cnt = SL_CHUNK_CNT,
		.slot_cnt = SL_SLOT_CNT,
		.header_bytes = SL_ARENA_HEADER_BYTES,
		.creator_pid = (uint32_t)getpid(),
		.clock_mode = SL_CLOCK_MONO,
		.born = sl_mono_ns(),
		.process_cnt = 1,
	};
	return r;
}

/* @is_first: one of the two that a thread has anyway, and that do not count as backlog. */
static inline sl_ref ring_take_chunk(struct ring *r, bool is_first)
{
	sl_ref ref = sl_stack_pop(&r->arena->free_chunks, r->arena->chunk_link, SL_CHUNK_CNT);

	r->arena->used_chunks += !is_first;
	return ref ? ref : ++r->arena->fresh_chunk;
}

static inline void ring_init_chunk(struct ring *r, sl_ref ref, sl_ref slot, uint32_t seq)
{
	struct sl_chunk *c = sl_chunk_at(r->arena, ref);

	c->committed = c->consumed = c->next = 0;
	c->seq = seq;
	c->slot = slot;
}

/* A thread of process @number; its slot's index. @pid and @tid decide whether it lives. */
static inline uint32_t ring_thread(struct ring *r, uint32_t number, uint32_t pid, uint32_t tid)
{
	sl_ref ref = sl_stack_pop(&r->arena->free_slots, r->arena->slot_link, SL_SLOT_CNT);
	struct sl_slot *s;

	if (!ref)
		ref = ++r->arena->fresh_slot;
	s = &r->arena->slot[ref - 1];
	s->pid = pid;
	s->tid = tid;
	s->process = number;
	s->born = sl_mono_ns();
	s->instance++;
	s->agg_chunk = ring_take_chunk(r, true);
	memset(sl_chunk_at(r->arena, s->agg_chunk), 0, SL_CHUNK_BYTES);
	s->first_chunk = ring_take_chunk(r, true);
	strcpy(s->comm, "worker");
	ring_init_chunk(r, s->first_chunk, ref, 0);
	s->state = SL_SLOT_LIVE;
	return ref - 1;
}

static inline struct sl_chunk *ring_last(struct ring *r, uint32_t slot)
{
	struct sl_chunk *c = sl_chunk_at(r->arena, r->arena->slot[slot].first_chunk);

	while (c->next)
		c = sl_chunk_at(r->arena, c->next);
	return c;
}

/* Room for @words in the slot's last chunk, or in a new one. */
static inline uint64_t *ring_room(struct ring *r, uint32_t slot, unsigned words,
				  struct sl_chunk **chunk)
{
	struct sl_chunk *c = ring_last(r, slot);

	if (c->committed / 8 + words > RING_WORDS) {
		sl_ref ref = ring_take_chunk(r, false);

		ring_init_chunk(r, ref, slot + 1, c->seq + 1);
		c->next = ref;
		c = sl_chunk_at(r->arena, ref);
	}
	*chunk = c;
	return c->data + c->committed / 8;
}

static inline void ring_call(struct ring *r, uint32_t slot, unsigned hook, int64_t ret)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, 3, &c);

	w[0] = sl_mono_ns() - 100;
	w[1] = 50 | (uint64_t)sl_head(hook, 3, 0, SL_SHAPE_CALL, 0) << 32;
	w[2] = (uint64_t)ret;
	c->committed += 24;
}

/* @cnt: since the thread began. */
static inline void ring_lost(struct ring *r, uint32_t slot, uint64_t cnt)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, 5, &c);

	w[0] = sl_mono_ns() - 100;
	w[1] = (uint64_t)sl_head(SL_META_LOST, 5, 0, SL_SHAPE_META, 0) << 32;
	w[2] = sl_mono_ns() - 50;
	w[3] = cnt;
	w[4] = SL_LOSS_FULL;
	c->committed += 40;
}

static inline void ring_io(struct ring *r, uint32_t slot, unsigned hook, int32_t ret,
			   uint32_t asked, int fd, uint32_t serial)
{
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, 4, &c);

	w[0] = sl_mono_ns() - 100;
	w[1] = 50 | (uint64_t)sl_head(hook, 4, 0, SL_SHAPE_IO, 0) << 32;
	w[2] = (uint32_t)ret | (uint64_t)asked << 32;
	w[3] = sl_fd_serial(fd, serial);
	c->committed += 32;
}

static inline void ring_path(struct ring *r, uint32_t slot, unsigned hook, int64_t ret,
			     unsigned flags, int fd, uint32_t serial, const char *path)
{
	unsigned len = (unsigned)strlen(path), words = 5 + (len + 7) / 8;
	struct sl_chunk *c;
	uint64_t *w = ring_room(r, slot, words, &c);

	w[0] = sl_mono_ns() - 100;
	w[1] = 50 | (uint64_t)sl_head(hook, words, 0, SL_SHAPE_PATH, flags) << 32;
	w[2] = (uint64_t)ret;
	w[3] = sl_fd_serial(fd, serial);
	w[4] = len;
	memcpy(&w[5], path, len);
	c->committed += words * 8;
}

/* This side: a collector without loop, session and switches. */
struct side {
	struct db *db;
	struct clock_map clock;
	struct model model;
	struct arenas arenas;
};

static inline void side_snapshot(struct side *s)
{
	uint64_t now = sl_mono_ns();

	clock_map_add(&s->clock, now, (int64_t)now);
}

static inline void side_open(struct side *s, bool resume)
{
	memset(s, 0, sizeof(*s));
	s->db = test_open(resume);
	clock_map_init(&s->clock, SL_CLOCK_MONO, 5000);
	model_init(&s->model, s->db, &s->clock);
	/* As if the kernel's events gave the process tree: nothing to look for in /proc. */
	s->model.wants.has_kernel_events = true;
	s->arenas = (struct arenas){.model = &s->model, .db = s->db, .clock = &s->clock};
	if (resume)
		state_counters(&s->arenas);
	side_snapshot(s);
}

static inline struct arena *side_attach(struct side *s, const struct ring *r, bool resume)
{
	struct arena *a =
		arena_attach(&s->arenas, r->fd, 1, (uint32_t)getpid(), (uint32_t)getpid());

	assert_non_null(a);
	if (resume)
		state_arena(&s->arenas, a);
	return a;
}

static inline void side_drain(struct side *s)
{
	side_snapshot(s);
	while (drain_round(&s->arenas, 65536))
		;
}

static inline void side_commit(struct side *s)
{
	assert_int_equal(positions_save(&s->arenas), 0);
	assert_int_equal(db_commit(s->db, 1), 0);
	positions_release(&s->arenas);
}

/* Ends as a killed collector does: no process is notified. */
static inline void side_die(struct side *s)
{
	while (s->arenas.first)
		arena_detach(&s->arenas, s->arenas.first);
	model_release(&s->model);
	clock_map_release(&s->clock);
	db_abandon(s->db);
}
