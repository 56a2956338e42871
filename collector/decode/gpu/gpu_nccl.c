/*
 * gpu_nccl.c - communicators of NCCL: which one a handle means, on all of its ranks.
 *
 * A communicator is named by the hash of its ncclUniqueId, which all ranks are given. One that is split off is named by its
 * parent's name, the number of the split and the colour: a split is a collective call, so all ranks count the same number.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/decode/gpu/gpu_internal.h"

#define COMMS_MAX 4096u /* of one process, at a time */

struct gpu_comm {
	uint64_t handle;
	int64_t hash;    /* DB_NULL: not known */
	uint32_t splits; /* made of it so far */
};

static bool word_of(const struct gpu_hook *h, unsigned role, bool is_pointer, uint64_t *value)
{
	const struct gpu_function *f = gpu_function(h->function);

	for (unsigned i = 0; i < h->words && i < f->uses; i++) {
		if (f->role[i] != role || f->is_pointer[i] != is_pointer)
			continue;
		*value = h->word[i];
		return true;
	}
	return false;
}

static int64_t int_of(const struct gpu_hook *h, unsigned role)
{
	uint64_t value;

	return word_of(h, role, false, &value) ? (int32_t)value : DB_NULL;
}

static struct gpu_comm *find(struct gpu_process *p, uint64_t handle)
{
	for (uint32_t i = 0; i < p->tables.comms.cnt; i++)
		if (p->tables.comms.list[i].handle == handle)
			return &p->tables.comms.list[i];
	return NULL;
}

static void forget(struct gpu_process *p, uint64_t handle)
{
	struct gpu_comm *c = find(p, handle);

	if (c)
		*c = p->tables.comms.list[--p->tables.comms.cnt];
}

static void keep(struct gpu_process *p, uint64_t handle, int64_t hash)
{
	forget(p, handle);
	if (p->tables.comms.cnt == p->tables.comms.cap) {
		uint32_t cap = p->tables.comms.cap ? p->tables.comms.cap * 2 : 8;
		struct gpu_comm *list = cap > COMMS_MAX
						? NULL
						: realloc(p->tables.comms.list,
							  cap * sizeof(*p->tables.comms.list));

		if (!list)
			return;
		p->tables.comms.list = list;
		p->tables.comms.cap = cap;
	}
	p->tables.comms.list[p->tables.comms.cnt++] =
		(struct gpu_comm){.handle = handle, .hash = hash};
}

/* FNV-1a of three words. Never DB_NULL. */
static int64_t name_of(int64_t parent, uint32_t split, int64_t color)
{
	const uint64_t words[] = {(uint64_t)parent, split, (uint64_t)color};
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(words); i++)
		hash = (hash ^ (words[i / 8] >> i % 8 * 8 & 0xff)) * 0x100000001b3u;
	return (int64_t)hash == DB_NULL ? 0 : (int64_t)hash;
}

static void made(struct arenas *as, struct gpu_process *p, const struct gpu_hook *h, int64_t hash,
		 int64_t parent)
{
	struct db_row_SL_NCCL_COMMUNICATORS c = {
		.globalPid = p->id.global_pid,
		.commHash = hash,
		.parentHash = parent,
		.nRanks = int_of(h, SL_GPU_ROLE_ranks),
		.rank = int_of(h, SL_GPU_ROLE_rank),
		.start = h->end,
		.end = DB_NULL,
	};
	uint64_t handle;

	if (!word_of(h, SL_GPU_ROLE_comm, true, &handle) || !handle)
		return;
	c.comm = (int64_t)handle;
	keep(p, handle, hash);
	db_put_SL_NCCL_COMMUNICATORS(as->db, &c);
}

/* Split, shrunk or grown; a rank that is in no part counts as well. */
static void derived(struct arenas *as, struct gpu_process *p, const struct gpu_hook *h,
		    int64_t color)
{
	struct gpu_comm *from;
	int64_t parent = DB_NULL;
	uint32_t split = 0;
	uint64_t handle;

	if (!word_of(h, SL_GPU_ROLE_comm, false, &handle))
		return;
	from = find(p, handle);
	if (from) {
		parent = from->hash;
		split = ++from->splits;
	}
	made(as, p, h, parent == DB_NULL ? DB_NULL : name_of(parent, split, color), parent);
}

void gpu_nccl_call(struct arenas *as, struct gpu_process *p, const struct gpu_hook *h)
{
	uint64_t word;

	switch (h->function) {
	case SL_G_ncclCommInitRank:
	case SL_G_ncclCommInitRankConfig:
		if (word_of(h, SL_GPU_ROLE_unique, false, &word))
			made(as, p, h, (int64_t)word, DB_NULL);
		break;
	case SL_G_ncclCommInitRankScalable:
		if (word_of(h, SL_GPU_ROLE_unique, true, &word))
			made(as, p, h, (int64_t)word, DB_NULL);
		break;
	case SL_G_ncclCommInitAll: /* communicators of one process; no other has their handles */
		made(as, p, h, DB_NULL, DB_NULL);
		break;
	case SL_G_ncclCommSplit:
		derived(as, p, h, int_of(h, SL_GPU_ROLE_color));
		break;
	case SL_G_ncclCommShrink:
	case SL_G_ncclCommGrow:
		derived(as, p, h, DB_NULL);
		break;
	case SL_G_ncclCommDestroy:
	case SL_G_ncclCommAbort:
		if (!word_of(h, SL_GPU_ROLE_comm, false, &word))
			break;
		forget(p, word);
		db_communicator_ended(as->db, p->id.global_pid, (int64_t)word, h->start);
		break;
	default:
		break;
	}
}

void gpu_nccl_release(struct gpu_process *p)
{
	free(p->tables.comms.list);
	p->tables.comms.list = NULL;
	p->tables.comms.cnt = p->tables.comms.cap = 0;
}
