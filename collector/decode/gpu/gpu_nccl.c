/*
 * gpu_nccl.c - communicators of NCCL: which one a handle means, on all of its ranks.
 *
 * The shim names and counts them (preload/gpu/gpu_comms.c), as the recording may begin after they were made.
 */
#include <string.h>

#include "collector/decode/gpu/gpu_internal.h"

/* A row for each, however often it is announced. */
void gpu_nccl_comm(struct arenas *as, const struct gpu_process *p, const struct sl_gpu_comm *c)
{
	struct db_row_SL_NCCL_COMMUNICATORS row = {
		.globalPid = p->id.global_pid,
		.comm = (int64_t)c->handle,
		.commHash = DB_NULL,
		.parentHash = DB_NULL,
		.nRanks = DB_NULL,
		.rank = DB_NULL,
		.start = gpu_session_ns(as, c->made),
		.end = DB_NULL,
	};
	char name[SL_GPU_COMM_NAME + 1] = "";

	if (c->flags & SL_GPU_COMM_HAS_HASH && (int64_t)c->hash != DB_NULL)
		row.commHash = (int64_t)c->hash;
	if (c->flags & SL_GPU_COMM_HAS_PARENT && (int64_t)c->parent != DB_NULL)
		row.parentHash = (int64_t)c->parent;
	if (c->flags & SL_GPU_COMM_HAS_RANKS) {
		row.nRanks = (int32_t)c->ranks;
		row.rank = (int32_t)c->rank;
	}
	memcpy(name, c->name, SL_GPU_COMM_NAME);
	row.name = *name ? name : NULL;
	db_put_SL_NCCL_COMMUNICATORS(as->db, &row);
}

void gpu_nccl_call(struct arenas *as, const struct gpu_process *p, const struct gpu_hook *h)
{
	const struct gpu_function *f = gpu_function(h->function);

	if (h->function != SL_G_ncclCommDestroy && h->function != SL_G_ncclCommAbort)
		return;
	for (unsigned i = 0; i < h->words && i < f->uses; i++)
		if (f->role[i] == SL_GPU_ROLE_comm)
			db_communicator_ended(as->db, p->id.global_pid, (int64_t)h->word[i],
					      h->start);
}
