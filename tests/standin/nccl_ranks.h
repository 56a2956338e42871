/*
 * nccl_ranks.h - inside the stand-in for NCCL: what ranks in several processes of one machine exchange, through memory
 * that the process has which made the unique id.
 *
 * A collective is posted (what this rank gives is copied there) and then completed (the others' is waited for). All of a
 * group are posted before any is completed, so that ranks may send to each other. The real one waits on the GPU, not in the
 * call; a program that is right for it is right here, unless it expects to return before the others have called.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum nccl_status {
	NCCL_OK = 0,
	NCCL_CUDA_ERROR = 1,
	NCCL_SYSTEM_ERROR = 2,
	NCCL_INVALID_ARGUMENT = 4,
	NCCL_INVALID_USAGE = 5,
	NCCL_REMOTE_ERROR = 6
};
enum {
	NCCL_ID_BYTES = 128,
	NCCL_GROUP_MAX = 64, /* calls in one group */
	NCCL_RANK_MAX = 8
};
enum nccl_kernel {
	ALL_REDUCE,
	BROADCAST,
	REDUCE,
	ALL_GATHER,
	REDUCE_SCATTER,
	SEND_RECV
};
enum nccl_way {
	COLLECTIVE,
	SEND,
	RECEIVE
};

/* One call. */
struct nccl_call {
	enum nccl_kernel kernel;
	enum nccl_way way;
	const void *src;
	void *dst;
	size_t cnt;
	int type, op;
	int peer; /* or root */
};

struct ranks;
/* A unique id: of this process, which keeps the memory; 0 or a status. */
int ranks_id(char id[NCCL_ID_BYTES]);
/* Comes back when all are there. NULL: they did not come, or the id is none. */
struct ranks *ranks_join(const char id[NCCL_ID_BYTES], int cnt, int rank);
void ranks_leave(struct ranks *r);
int ranks_post(struct ranks *r, const struct nccl_call *call);
int ranks_complete(struct ranks *r, const struct nccl_call *call);
size_t nccl_type_bytes(int type);
