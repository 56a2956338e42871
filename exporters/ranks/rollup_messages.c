/*
 * rollup_messages.c - sends and receives as calls on communicators: of two ranks, or of all where a group of them is an all-to-all;
 * MPI's names in NCCL's words.
 */
#include <stdio.h>
#include <string.h>

#include "collector/base/hash.h"
#include "exporters/ranks/rollup_internal.h"

bool message_is(const char *name)
{
	return strcmp(name, "ncclSend") == 0 || strcmp(name, "ncclRecv") == 0;
}

/* The same in all versions: files of several are compared. */
static int64_t name_of(int64_t comm, int64_t from, int64_t to)
{
	char text[80];

	snprintf(text, sizeof(text), "%lld %lld %lld", (long long)comm, (long long)from,
		 (long long)to);
	return (int64_t)hash_text(text);
}

void message_pair(struct collective *x)
{
	int64_t from = x->is_send ? x->comm_rank : x->peer;
	int64_t to = x->is_send ? x->peer : x->comm_rank;
	bool is_known =
		x->hash != DATASET_NULL && x->comm_rank != DATASET_NULL && x->seq != DATASET_NULL;

	x->hash = is_known ? name_of(x->hash, from, to) : DATASET_NULL;
	x->ranks = 2;
}

const char *message_comm(const struct collective *x, const struct comm *m, char *to, size_t len)
{
	const char *name = m ? m->name : "";

	if (x->peer < 0)
		return *name ? name : NULL;
	if (x->comm_rank == DATASET_NULL)
		return NULL;
	snprintf(to, len, "%s%s%lld > %lld", name, *name ? " " : "",
		 (long long)(x->is_send ? x->comm_rank : x->peer),
		 (long long)(x->is_send ? x->peer : x->comm_rank));
	return to;
}

bool message_is_all_to_all(struct collective *list, size_t cnt, const struct comm *m)
{
	struct collective *first = list, *least = NULL;
	size_t sends = 0, receives = 0;
	bool is_even = true;

	if (cnt < 4 || !m || m->ranks == DATASET_NULL || m->ranks < 3 ||
	    first->hash == DATASET_NULL)
		return false;
	for (size_t i = 0; i < cnt; i++) {
		struct collective *x = &list[i];

		if (x->peer < 0 || x->comm_at != first->comm_at || x->hash == DATASET_NULL)
			return false;
		if (x->peer == x->comm_rank)
			continue;
		sends += x->is_send;
		receives += !x->is_send;
		is_even = is_even && x->bytes == first->bytes;
		least = x->is_send && (!least || x->peer < least->peer) ? x : least;
	}
	if (sends != (size_t)m->ranks - 1 || receives != sends)
		return false;
	*first = *least;
	snprintf(first->op, sizeof(first->op), "AlltoAll");
	first->hash = name_of(m->hash, -1, -1);
	first->ranks = m->ranks;
	first->bytes = is_even ? first->bytes : DATASET_NULL;
	first->peer = -1;
	return true;
}

/* Operations that do not end on all ranks together have names of their own. */
const char *message_op_of_mpi(const char *name)
{
	static const struct {
		const char *name, *op;
	} ops[] = {
		{"Allreduce", "AllReduce"},
		{"Allgather", "AllGather"},
		{"Allgatherv", "AllGather"},
		{"Alltoall", "AlltoAll"},
		{"Alltoallv", "AlltoAll"},
		{"Alltoallw", "AlltoAll"},
		{"Reduce_scatter", "ReduceScatter"},
		{"Reduce_scatter_block", "ReduceScatter"},
		{"Bcast", "Broadcast"},
		{"Gatherv", "Gather"},
		{"Scatterv", "Scatter"},
		{"Exscan", "Scan"},
	};

	name += strncmp(name, "MPI_", 4) == 0 ? 4 : 0;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(name, ops[i].name) == 0)
			return ops[i].op;
	return name;
}
