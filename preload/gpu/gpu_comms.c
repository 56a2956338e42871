/*
 * gpu_comms.c - communicators of NCCL and MPI, from the loading of the library on: also while nothing is recorded, so that a window that
 * begins late has their names, and calls have the numbers that they have on all other ranks.
 *
 * Threads share two tables of places that are found by hashing and taken by compare-and-swap. No lock and no allocation: a table
 * that is full leaves communicators without a name, and calls without a number.
 *
 * A communicator is named by the hash of its ncclUniqueId, which all ranks are given. One that is split off is named by its
 * parent's name, the number of the split and the colour: a split is a collective call, so all ranks count the same number. MPI's
 * world has a name of its own; in place of the colour, which some of its splits do not have, is the world's number of rank 0.
 */
#include "preload/gpu/gpu_engine.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/base/valgrind.h"
#include "preload/wire/gpu_parse.h"
#include "preload/wire/gpu_wire.h"
#include "preload/wire/sys.h"

enum {
	COMM_CNT = 4096,
	PEER_CNT = 16384,
	LOOK_MAX = 64, /* places that a search looks at */
};
#define FREE 0u
#define GONE 2u /* was destroyed; a search goes on */
#define BUSY 1u /* bit of a handle: its place is being filled */

/* A window of the flight recorder has no begin that the shim knows, so each communicator is announced again after so many ticks. */
#if defined(__x86_64__)
#define ANNOUNCE_TICKS (UINT64_C(1) << 30)
#else
#define ANNOUNCE_TICKS (UINT64_C(1) << 26)
#endif

struct comm {
	uint64_t handle; /* written last, with release; read with acquire by a search */
	uint64_t hash, parent, made;
	uint32_t flags, ranks, rank;
	uint32_t serial; /* of all that were made */
	uint32_t splits; /* made of it so far */
	uint32_t gate;   /* of the window in which it was announced */
	uint64_t announced;
	uint64_t calls; /* collectives so far */
	char name[SL_GPU_COMM_NAME];
};
/* Sends to, or receives from, one rank on one communicator. */
struct peer {
	uint64_t key; /* 0: free */
	uint64_t calls;
};
static struct comms {
	struct comm comm[COMM_CNT];
	struct peer peer[PEER_CNT];
	uint32_t serial;
} * comms;

/* ---- which word of a record is what ---- */

static int word_of(const struct sl_gpu_use *use, int cnt, unsigned role, bool is_pointer)
{
	for (int i = 0; i < cnt; i++)
		if (use[i].role == role && use[i].is_pointer == is_pointer)
			return i;
	return -1;
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), part = strlen(end);

	return len >= part && strcmp(name + len - part, end) == 0;
}

void sl_gpu_comm_place(const char *name, const struct sl_gpu_use *use, int cnt,
		       struct sl_gpu_comm_use *to)
{
	int comm = word_of(use, cnt, SL_GPU_ROLE_comm, false);
	int made = word_of(use, cnt, SL_GPU_ROLE_comm, true);
	int unique = word_of(use, cnt, SL_GPU_ROLE_unique, false);
	const int words[SL_GPU_COMM_WORDS] = {
		[SL_GPU_COMM_WORD_COMM] = comm,
		[SL_GPU_COMM_WORD_MADE] = made,
		[SL_GPU_COMM_WORD_UNIQUE] =
			unique >= 0 ? unique : word_of(use, cnt, SL_GPU_ROLE_unique, true),
		[SL_GPU_COMM_WORD_RANKS] = word_of(use, cnt, SL_GPU_ROLE_ranks, false),
		[SL_GPU_COMM_WORD_RANK] = word_of(use, cnt, SL_GPU_ROLE_rank, false),
		[SL_GPU_COMM_WORD_COLOR] = word_of(use, cnt, SL_GPU_ROLE_color, false),
		[SL_GPU_COMM_WORD_PEER] = word_of(use, cnt, SL_GPU_ROLE_peer, false),
	};

	to->kind = SL_GPU_COMM_NONE;
	to->is_mpi = *name == 'M' || *name == 'P';
	for (int i = 0; i < SL_GPU_COMM_WORDS; i++)
		to->word[i] = words[i] < 0 ? UINT8_MAX : (uint8_t)words[i];
	if (to->is_mpi)
		to->kind = comm < 0                           ? SL_GPU_COMM_NONE
			   : made >= 0                        ? SL_GPU_COMM_SPLIT
			   : words[SL_GPU_COMM_WORD_PEER] < 0 ? SL_GPU_COMM_COLLECTIVE
			   : ends_in(name, "Recv") || ends_in(name, "Irecv") ? SL_GPU_COMM_RECEIVE
									     : SL_GPU_COMM_SEND;
	else if (made >= 0)
		to->kind = comm >= 0 ? SL_GPU_COMM_SPLIT : SL_GPU_COMM_MADE;
	else if (comm >= 0 && (ends_in(name, "CommDestroy") || ends_in(name, "CommAbort")))
		to->kind = SL_GPU_COMM_ENDED;
	else if (comm >= 0 && word_of(use, cnt, SL_GPU_ROLE_stream, false) >= 0 &&
		 word_of(use, cnt, SL_GPU_ROLE_type, false) >= 0)
		to->kind = word_of(use, cnt, SL_GPU_ROLE_peer, false) < 0  ? SL_GPU_COMM_COLLECTIVE
			   : word_of(use, cnt, SL_GPU_ROLE_dst, false) < 0 ? SL_GPU_COMM_SEND
									   : SL_GPU_COMM_RECEIVE;
}

static bool get(const struct sl_gpu_comm_call *c, enum sl_gpu_comm_word which, uint64_t *value)
{
	uint8_t at = c->use->word[which];

	*value = at == UINT8_MAX ? 0 : c->word[at];
	return at != UINT8_MAX;
}

/*
 * A key of the tables has its low bits free, as addresses have: MPICH's ints have not.
 */
static uint64_t key_of(const struct sl_gpu_comm_call *c, uint64_t handle)
{
	return c->use->is_mpi && sl_gpu_mpi_is_int() ? (uint64_t)(uint32_t)handle << 2 : handle;
}

static uint64_t handle_of(const struct comm *m)
{
	return m->flags & SL_GPU_COMM_IS_MPI && sl_gpu_mpi_is_int() ? m->handle >> 2 : m->handle;
}

/* ---- the tables ---- */

void sl_gpu_comms_open(void)
{
	long m;

	if (comms)
		return;
	m = sl_sys6(SYS_mmap, 0, sizeof(*comms), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m < 0 && m > -4096)
		return;
	sl_valgrind_ignore((void *)m, sizeof(*comms));
	/* Release: with the acquire of a call, which another thread makes. */
	__atomic_store_n(&comms, (struct comms *)m, __ATOMIC_RELEASE);
}

static uint32_t place_of(uint64_t key)
{
	return (uint32_t)((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static struct comm *find(struct comms *all, uint64_t handle)
{
	uint32_t at = place_of(handle);

	for (uint32_t i = 0; i < LOOK_MAX; i++) {
		struct comm *m = &all->comm[(at + i) % COMM_CNT];
		uint64_t is = __atomic_load_n(&m->handle, __ATOMIC_ACQUIRE);

		if (is == handle)
			return m;
		if (is == FREE)
			break;
	}
	return NULL;
}

static void forget(struct comms *all, uint64_t handle)
{
	struct comm *m;

	while ((m = find(all, handle)))
		__atomic_store_n(&m->handle, GONE, __ATOMIC_RELEASE);
}

/* A handle that is known already was of one that ended unseen. NULL: no place. */
static struct comm *keep(struct comms *all, const struct comm *from)
{
	uint32_t at = place_of(from->handle);

	/* Of a handle's bits, aligned as it is, two are free. */
	if (!from->handle || from->handle & (BUSY | GONE))
		return NULL;
	forget(all, from->handle);
	for (uint32_t i = 0; i < LOOK_MAX; i++) {
		struct comm *m = &all->comm[(at + i) % COMM_CNT];
		uint64_t is = __atomic_load_n(&m->handle, __ATOMIC_RELAXED);

		if ((is != FREE && is != GONE) ||
		    !__atomic_compare_exchange_n(&m->handle, &is, from->handle | BUSY, 0,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		memcpy((char *)m + sizeof(m->handle), (const char *)from + sizeof(m->handle),
		       sizeof(*m) - sizeof(m->handle));
		m->serial = __atomic_add_fetch(&all->serial, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&m->handle, from->handle, __ATOMIC_RELEASE);
		return m;
	}
	return NULL;
}

/* The number of the call among those with this key; 0: there is no place. */
static uint64_t count_peer(struct comms *all, uint64_t key)
{
	uint32_t at = place_of(key);

	for (uint32_t i = 0; i < LOOK_MAX; i++) {
		struct peer *p = &all->peer[(at + i) % PEER_CNT];
		uint64_t is = 0;

		if (__atomic_compare_exchange_n(&p->key, &is, key, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    is == key)
			return __atomic_add_fetch(&p->calls, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* ---- names ---- */

/* FNV-1a of three words. */
static uint64_t split_name(uint64_t parent, uint32_t split, int64_t color)
{
	const uint64_t words[] = {parent, split, (uint64_t)color};
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(words); i++)
		hash = (hash ^ (words[i / 8] >> i % 8 * 8 & 0xff)) * 0x100000001b3u;
	return hash;
}

/* ncclConfig_t, to which NCCL only appends. The library has read it by now. */
static void config_name(uint64_t config, char to[SL_GPU_COMM_NAME])
{
	struct {
		uint64_t bytes;
		uint32_t magic, version;
		int32_t numbers[4];
		uint64_t net;
		int32_t more[2];
		const char *name;
	} c;

	to[0] = 0;
	if (!config)
		return;
	memcpy(&c, (const void *)(uintptr_t)config, 16);
	if (c.magic != 0xcafebeef || c.bytes < sizeof(c))
		return;
	memcpy(&c, (const void *)(uintptr_t)config, sizeof(c));
	for (size_t i = 0; c.name && i < SL_GPU_COMM_NAME - 1 && c.name[i]; i++) {
		to[i] = c.name[i];
		to[i + 1] = 0;
	}
}

/* Size and rank of one that was split off, or made unseen: NCCL knows them. */
static void ask_ranks(struct comm *m, const struct sl_gpu_comm_call *c)
{
	void *handle = (void *)(uintptr_t)m->handle;
	int ranks = 0, rank = 0, error = errno;
	bool is_known = false;

	if (m->flags & SL_GPU_COMM_HAS_RANKS)
		return;
	if (m->flags & SL_GPU_COMM_IS_MPI)
		is_known = sl_gpu_mpi_ranks(handle_of(m), &ranks, &rank);
	else if (c->count && c->own)
		is_known = c->count(handle, &ranks) == 0 && c->own(handle, &rank) == 0;
	if (is_known && ranks > 0) {
		m->ranks = (uint32_t)ranks;
		m->rank = (uint32_t)rank;
		__atomic_or_fetch(&m->flags, SL_GPU_COMM_HAS_RANKS, __ATOMIC_RELEASE);
	}
	errno = error;
}

static void announce(struct comm *m, const struct sl_gpu_comm_call *c)
{
	struct sl_gpu_comm r = {
		.made = m->made, .handle = handle_of(m), .hash = m->hash, .parent = m->parent};
	int ranks, rank;

	ask_ranks(m, c);
	if (m->flags & SL_GPU_COMM_IS_MPI && sl_gpu_mpi_ranks(sl_gpu_mpi_world(), &ranks, &rank)) {
		r.world = (uint32_t)rank;
		__atomic_or_fetch(&m->flags, SL_GPU_COMM_HAS_WORLD, __ATOMIC_RELEASE);
	}
	r.flags = __atomic_load_n(&m->flags, __ATOMIC_ACQUIRE);
	r.ranks = m->ranks;
	r.rank = m->rank;
	memcpy(r.name, m->name, sizeof(r.name));
	c->put(SL_GPU_REC_COMM, &r, sizeof(r));
}

/* In each window, and again after a while. Two threads at a time: both may. */
static void announce_if_due(struct comm *m, const struct sl_gpu_comm_call *c)
{
	uint32_t gate = sl_gate();

	if (!c->is_recorded || c->result ||
	    (__atomic_load_n(&m->gate, __ATOMIC_RELAXED) == gate &&
	     c->start - __atomic_load_n(&m->announced, __ATOMIC_RELAXED) < ANNOUNCE_TICKS))
		return;
	__atomic_store_n(&m->gate, gate, __ATOMIC_RELAXED);
	__atomic_store_n(&m->announced, c->start, __ATOMIC_RELAXED);
	announce(m, c);
}

/* ---- calls ---- */

static void made(struct comms *all, const struct sl_gpu_comm_call *c, const struct comm *parent,
		 uint32_t split)
{
	struct comm m = {.made = sl_mono_ns(), .flags = c->use->is_mpi ? SL_GPU_COMM_IS_MPI : 0},
		    *kept;
	uint64_t ranks, rank, color;

	if (!get(c, SL_GPU_COMM_WORD_MADE, &m.handle) ||
	    (c->use->is_mpi && sl_gpu_mpi_is_null(m.handle)))
		return;
	m.handle = key_of(c, m.handle);
	if (c->use->kind == SL_GPU_COMM_MADE) {
		/* Those of one process (ncclCommInitAll) have no id; no other process has their handles. */
		m.flags |= get(c, SL_GPU_COMM_WORD_UNIQUE, &m.hash) ? SL_GPU_COMM_HAS_HASH : 0;
	} else if (parent && parent->flags & SL_GPU_COMM_HAS_HASH) {
		int64_t colour = c->use->is_mpi ? sl_gpu_mpi_root(handle_of(&m))
				 : get(c, SL_GPU_COMM_WORD_COLOR, &color) ? (int32_t)color
									  : INT64_MIN;

		m.parent = parent->hash;
		m.hash = split_name(parent->hash, split, colour);
		m.flags |= SL_GPU_COMM_HAS_HASH | SL_GPU_COMM_HAS_PARENT;
	}
	if (get(c, SL_GPU_COMM_WORD_RANKS, &ranks) && get(c, SL_GPU_COMM_WORD_RANK, &rank)) {
		m.ranks = (uint32_t)ranks;
		m.rank = (uint32_t)rank;
		m.flags |= SL_GPU_COMM_HAS_RANKS;
	}
	if (!c->use->is_mpi)
		config_name(c->config, m.name);
	kept = keep(all, &m);
	/* One that is split off in a group is not ready: NCCL knows its size at its first call. */
	if (kept && kept->flags & SL_GPU_COMM_HAS_RANKS)
		announce_if_due(kept, c);
}

/* Of a call on it. NULL: there is no place. */
static struct comm *find_or_keep(struct comms *all, const struct sl_gpu_comm_call *c,
				 uint64_t handle)
{
	uint64_t key = key_of(c, handle);
	struct comm *m = find(all, key), made = {.handle = key, .made = sl_mono_ns()};

	if (m)
		return m;
	if (c->use->is_mpi) {
		made.flags = SL_GPU_COMM_IS_MPI;
		if (sl_gpu_mpi_is_world(handle)) {
			made.flags |= SL_GPU_COMM_HAS_HASH;
			made.hash = split_name(0, 0, 0);
			memcpy(made.name, "MPI_COMM_WORLD", sizeof("MPI_COMM_WORLD"));
		}
	}
	return keep(all, &made);
}

static uint64_t called(struct comms *all, const struct sl_gpu_comm_call *c, uint64_t handle)
{
	struct comm *m = find_or_keep(all, c, handle);
	uint64_t peer, number;

	if (!m)
		return 0;
	announce_if_due(m, c);
	if (c->use->kind == SL_GPU_COMM_COLLECTIVE)
		number = __atomic_add_fetch(&m->calls, 1, __ATOMIC_RELAXED);
	else if (get(c, SL_GPU_COMM_WORD_PEER, &peer))
		number = count_peer(all, (uint64_t)m->serial << 32 | (uint32_t)peer << 1 |
						 (c->use->kind == SL_GPU_COMM_SEND));
	else
		number = 0;
	/* One that is counted from the middle on has other numbers than on other ranks. */
	return __atomic_load_n(&m->flags, __ATOMIC_RELAXED) & SL_GPU_COMM_HAS_HASH ? number : 0;
}

uint64_t sl_gpu_comm_called(const struct sl_gpu_comm_call *c)
{
	struct comms *all = __atomic_load_n(&comms, __ATOMIC_ACQUIRE);
	struct comm *parent;
	uint64_t handle;

	if (!all)
		return 0;
	get(c, SL_GPU_COMM_WORD_COMM, &handle);
	switch (c->use->kind) {
	case SL_GPU_COMM_MADE:
		made(all, c, NULL, 0);
		break;
	case SL_GPU_COMM_SPLIT: /* a rank that is in no part counts as well */
		parent = c->use->is_mpi ? find_or_keep(all, c, handle)
			 : handle       ? find(all, handle)
					: NULL;
		made(all, c, parent,
		     parent ? __atomic_add_fetch(&parent->splits, 1, __ATOMIC_RELAXED) : 0);
		break;
	case SL_GPU_COMM_ENDED:
		forget(all, handle);
		break;
	default:
		return called(all, c, handle);
	}
	return 0;
}
