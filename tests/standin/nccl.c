/*
 * nccl.c - a stand-in for NCCL: a collective copies and launches a kernel; inside a group it waits for the group's end. With
 * one rank, or with one in each of several processes (nccl_ranks.h).
 */
#include "tests/standin/library.h"
#include "tests/standin/nccl_ranks.h"

static const char *const library_kernels[] = {
	"_Z45ncclDevKernel_AllReduce_Sum_f32_RING_LL_us15_24ncclDevKernelArgsStorage",
	"_Z41ncclDevKernel_Broadcast_RING_LL_us12_abcdP4comm",
	"_Z36ncclDevKernel_Reduce_RING_LL_us12_abP4comm",
	"_Z39ncclDevKernel_AllGather_RING_LL_us13_abP4comm",
	"_Z43ncclDevKernel_ReduceScatter_RING_LL_us14_abP4comm",
	"_Z28ncclDevKernel_SendRecv_us11_P4comm",
	NULL};

enum {
	COMM = 1,
	REGISTERED = 2,
	/* numbers of a communicator */
	RANKS = 0,
	RANK,
};

struct unique_id {
	char bytes[NCCL_ID_BYTES];
};

/* STANDIN_NCCL_VERSION=22005: programs ask for what a version has. */
int ncclGetVersion(int *version)
{
	const char *wanted = getenv("STANDIN_NCCL_VERSION");

	if (!version)
		return NCCL_INVALID_ARGUMENT;
	*version = wanted && *wanted ? atoi(wanted) : 22700;
	return NCCL_OK;
}

const char *ncclGetErrorString(int error)
{
	return error == NCCL_OK ? "no error" : "an error of this stand-in";
}

const char *ncclGetLastError(void *comm)
{
	(void)comm;
	return "";
}

int ncclGetUniqueId(struct unique_id *id)
{
	return id ? ranks_id(id->bytes) : NCCL_INVALID_ARGUMENT;
}

/* ---- communicators ---- */

int ncclCommInitRank(void **comm, int ranks, struct unique_id id, int rank)
{
	struct library_handle *h;
	struct ranks *others = NULL;
	void *buffer;

	if (!comm || rank < 0 || rank >= ranks)
		return NCCL_INVALID_ARGUMENT;
	*comm = NULL;
	if (ranks > NCCL_RANK_MAX)
		return NCCL_INVALID_USAGE;
	if (cudaMalloc(&buffer, 1 << 20))
		return NCCL_CUDA_ERROR;
	if (ranks > 1) {
		others = ranks_join(id.bytes, ranks, rank);
		if (!others) {
			cudaFree(buffer);
			return NCCL_REMOTE_ERROR;
		}
	}
	h = library_make(COMM);
	h->workspace = buffer;
	h->known = others;
	h->numbers[RANKS] = ranks;
	h->numbers[RANK] = rank;
	*comm = h;
	return NCCL_OK;
}

int ncclCommInitRankConfig(void **comm, int ranks, struct unique_id id, int rank, void *config)
{
	(void)config;
	return ncclCommInitRank(comm, ranks, id, rank);
}

int ncclCommInitAll(void **comms, int cnt, const int *devices)
{
	(void)devices;
	if (cnt != 1) /* all in one process */
		return NCCL_INVALID_USAGE;
	return ncclCommInitRank(comms, cnt, (struct unique_id){{0}}, 0);
}

/* Registered memory is used like any other. */
int ncclCommRegister(void *comm, void *buffer, size_t bytes, void **handle)
{
	struct library_handle *h;

	if (!handle || !buffer || !bytes || !library_find(comm, COMM))
		return NCCL_INVALID_ARGUMENT;
	h = library_make(REGISTERED);
	h->known = comm;
	*handle = h;
	return NCCL_OK;
}

int ncclCommDeregister(void *comm, void *handle)
{
	struct library_handle *h = library_find(handle, REGISTERED);

	if (!library_find(comm, COMM) || !h || h->known != comm)
		return NCCL_INVALID_ARGUMENT;
	library_drop(handle, REGISTERED);
	return NCCL_OK;
}

int ncclCommFinalize(void *comm)
{
	return library_find(comm, COMM) ? NCCL_OK : NCCL_INVALID_ARGUMENT;
}

int ncclCommDestroy(void *comm)
{
	struct library_handle *h = library_find(comm, COMM);

	if (!h)
		return NCCL_INVALID_ARGUMENT;
	cudaFree(h->workspace);
	ranks_leave(h->known);
	library_drop(comm, COMM);
	return NCCL_OK;
}

int ncclCommAbort(void *comm)
{
	return ncclCommDestroy(comm);
}

static int number(void *comm, int *to, int value)
{
	if (!to || !library_find(comm, COMM))
		return NCCL_INVALID_ARGUMENT;
	*to = value;
	return NCCL_OK;
}

static int own_number(void *comm, int *to, int which)
{
	struct library_handle *h = library_find(comm, COMM);

	return number(comm, to, h ? h->numbers[which] : 0);
}

int ncclCommCount(void *comm, int *cnt)
{
	return own_number(comm, cnt, RANKS);
}

int ncclCommUserRank(void *comm, int *rank)
{
	return own_number(comm, rank, RANK);
}

int ncclCommCuDevice(void *comm, int *device)
{
	return number(comm, device, 0);
}

int ncclCommGetAsyncError(void *comm, int *error)
{
	return number(comm, error, NCCL_OK);
}

/* ---- groups ---- */

struct queued {
	struct nccl_call call;
	struct library_handle *comm;
	CUstream stream;
};
static __thread unsigned group_depth, group_cnt;
static __thread struct queued group[NCCL_GROUP_MAX];

static void alone(const struct nccl_call *c)
{
	if (c->src && c->dst)
		memmove(c->dst, c->src, c->cnt * nccl_type_bytes(c->type));
}

/* All give, then all take: no rank waits for one that waits for it. */
static int run(const struct queued *q, unsigned cnt)
{
	unsigned i;
	int r = NCCL_OK;

	for (i = 0; i < cnt && !r; i++)
		if (q[i].comm->known)
			r = ranks_post(q[i].comm->known, &q[i].call);
		else
			alone(&q[i].call);
	for (i = 0; i < cnt && !r; i++) {
		if (q[i].comm->known)
			r = ranks_complete(q[i].comm->known, &q[i].call);
		if (!r && library_launch((int)q[i].call.kernel, 24, q[i].stream))
			r = NCCL_CUDA_ERROR;
	}
	return r;
}

int ncclGroupStart(void)
{
	group_depth++;
	return NCCL_OK;
}

int ncclGroupEnd(void)
{
	int r;

	if (!group_depth)
		return NCCL_INVALID_USAGE;
	if (--group_depth)
		return NCCL_OK;
	r = run(group, group_cnt);
	group_cnt = 0;
	return r;
}

/* ---- collectives: of one rank, the result is what was sent ---- */

static int collect(void *comm, struct nccl_call call, CUstream stream)
{
	struct library_handle *h = library_find(comm, COMM);
	struct queued q = {call, h, stream};
	int ranks = h ? h->numbers[RANKS] : 0;

	if (!h || (!call.src && call.way != RECEIVE) || !nccl_type_bytes(call.type) ||
	    call.peer < 0 || call.peer >= ranks)
		return NCCL_INVALID_ARGUMENT;
	/* Where the result goes to another, no room is needed for it. */
	if (!call.dst && call.way != SEND &&
	    !(call.kernel == REDUCE && call.peer != h->numbers[RANK]))
		return NCCL_INVALID_ARGUMENT;
	if (call.way != COLLECTIVE && ranks == 1)
		return NCCL_INVALID_USAGE; /* to itself: not here */
	if (!group_depth)
		return run(&q, 1);
	if (group_cnt == NCCL_GROUP_MAX)
		return NCCL_INVALID_USAGE;
	group[group_cnt++] = q;
	return NCCL_OK;
}
#define COLLECT(...) collect(comm, (struct nccl_call){__VA_ARGS__}, stream)

int ncclAllReduce(const void *src, void *dst, size_t cnt, int type, int op, void *comm,
		  CUstream stream)
{
	return COLLECT(ALL_REDUCE, COLLECTIVE, src, dst, cnt, type, op, 0);
}

int ncclBroadcast(const void *src, void *dst, size_t cnt, int type, int root, void *comm,
		  CUstream stream)
{
	return COLLECT(BROADCAST, COLLECTIVE, src, dst, cnt, type, 0, root);
}

int ncclBcast(void *buffer, size_t cnt, int type, int root, void *comm, CUstream stream)
{
	return COLLECT(BROADCAST, COLLECTIVE, buffer, buffer, cnt, type, 0, root);
}

int ncclReduce(const void *src, void *dst, size_t cnt, int type, int op, int root, void *comm,
	       CUstream stream)
{
	return COLLECT(REDUCE, COLLECTIVE, src, dst, cnt, type, op, root);
}

int ncclAllGather(const void *src, void *dst, size_t cnt, int type, void *comm, CUstream stream)
{
	return COLLECT(ALL_GATHER, COLLECTIVE, src, dst, cnt, type, 0, 0);
}

int ncclReduceScatter(const void *src, void *dst, size_t cnt, int type, int op, void *comm,
		      CUstream stream)
{
	return COLLECT(REDUCE_SCATTER, COLLECTIVE, src, dst, cnt, type, op, 0);
}

int ncclSend(const void *src, size_t cnt, int type, int peer, void *comm, CUstream stream)
{
	return COLLECT(SEND_RECV, SEND, src, NULL, cnt, type, 0, peer);
}

int ncclRecv(void *dst, size_t cnt, int type, int peer, void *comm, CUstream stream)
{
	return COLLECT(SEND_RECV, RECEIVE, NULL, dst, cnt, type, 0, peer);
}

/* Of NCCL 2.30. There are no windows, so none of them has an address. */
int ncclGetLsaMultimemDevicePointer(void *window, size_t offset, void **address)
{
	(void)window;
	(void)offset;
	return address ? NCCL_INVALID_USAGE : NCCL_INVALID_ARGUMENT;
}

int ncclGetPeerDevicePointer(void *window, size_t offset, int peer, void **address)
{
	(void)window;
	(void)offset;
	(void)peer;
	return address ? NCCL_INVALID_USAGE : NCCL_INVALID_ARGUMENT;
}
