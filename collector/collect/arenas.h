/*
 * arenas.h - attaches arenas, drains their rings, saves the positions. The state of an arena: model/arena.h.
 *
 * Rule easy to break: `consumed` in shared memory and the way of a chunk back to the pool follow the
 * commit of the transaction that holds the records *and* the positions (SL_STATE). Between any two
 * instructions the collector may die; recover then compares both and neither loses nor doubles a row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/model/arena.h"

struct arena_origin {
	uint32_t id, peer_pid, claimed_pid; /* by the kernel; as the process sees itself */
	uint64_t pid_ns; /* in a hello: its PID namespace where that is another one, else 0 */
	bool is_hello;
};
/* Checks and maps the arena in @fd (which stays the caller's), a memfd that a process sent. NULL: refused. */
struct arena *arena_attach_from(struct arenas *as, int fd, const struct arena_origin *from);
/* The same where only the numbers are known. */
struct arena *arena_attach(struct arenas *as, int fd, uint32_t id, uint32_t peer_pid,
			   uint32_t claimed_pid);
/* The same of a file that a keeper wrote. */
struct arena *arena_attach_file(struct arenas *as, int fd, uint32_t id, uint32_t peer_pid,
				uint32_t claimed_pid);
void arena_detach(struct arenas *as, struct arena *a);

void arena_thread_free(struct thread *t);

/* Notes that @chunk of the thread in @slot has been read and goes back after the commit. False: no memory. */
bool arena_add_spent(struct arena *a, uint32_t slot, sl_ref chunk, sl_ref next);

/* ---- move.c ---- */

/*
 * Copies full chunks of the ring of thread @t (slot @idx) into the spool, and gives them back. Returns bytes; 0 too where there
 * is no spool, or chunks that have been read wait for the commit.
 */
size_t move_thread(struct arena *a, uint32_t idx, struct thread *t);
/* Copies the full chunks of each thread that drain_round() has seen, as move_thread() does. Returns bytes. */
size_t move_chunks(struct arenas *as);
/* Is there a full chunk of a thread that drain_round() has not seen? */
bool move_finds_new(const struct arenas *as);
/* Records of this thread spooled by a collector that died come before its ring. True: reading begins with the spool. */
bool spool_resume(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t);

/* ---- drain.c ---- */

/* Takes records that ended before the newest snapshot, at most @limit rows. Rows taken. */
size_t drain_round(struct arenas *as, size_t limit);
/* Finds threads that have ended (@all: checks each one), and writes their totals. */
void drain_reap(struct arenas *as, bool all);
/* Were many slots taken since drain_reap() last checked all? Slots are limited. */
bool drain_is_pressed(const struct arenas *as);
/* Writes totals of live threads that changed. @final: also losses without a record. */
void drain_totals(struct arenas *as, bool final);
bool drain_is_idle(const struct arenas *as);
/* The earliest beginning and the earliest end of the calls that are next, ticks; UINT64_MAX: there are none. */
struct next_calls {
	uint64_t start, end;
};
struct next_calls drain_next_calls(const struct arenas *as);

/* ---- positions.c ---- */

/* Notes in the open transaction how far each arena has been read. 0 or -errno. */
int positions_save(struct arenas *as);
bool positions_changed(const struct arenas *as);
/* The first @chunk of the ring in @slot, which leads to @next, goes back to the pool; then threads that wait for one go on. */
void arena_give_back(const struct arena *a, uint32_t slot, sl_ref chunk, sl_ref next);
void arena_wake_waiters(const struct arena *a);
/* After the commit: give back chunks and slots. */
void positions_release(struct arenas *as);
/* After a failed commit: the records are gone; count them. */
void positions_lost(struct arenas *as);
struct saved_thread;
/* Returns a previous collector's note about this use of the slot (recover); NULL: none. */
const struct saved_thread *positions_find(const struct arena *a, uint32_t slot, uint32_t instance);
/* Goes on where it stopped: chunks that it had read and not given back are given back. */
void positions_resume(struct arena *a, uint32_t slot, struct thread *t,
		      const struct saved_thread *s);
