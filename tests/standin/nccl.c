/*
 * nccl.c - a stand-in for NCCL with one rank: a collective copies and launches a kernel; inside a group it waits for the
 * group's end.
 */
#include <unistd.h>

#include "tests/standin/library.h"

enum {
	ALL_REDUCE,
	BROADCAST,
	REDUCE,
	ALL_GATHER,
	REDUCE_SCATTER
};
static const char *const library_kernels[] = {
	"_Z45ncclDevKernel_AllReduce_Sum_f32_RING_LL_us15_24ncclDevKernelArgsStorage",
	"_Z41ncclDevKernel_Broadcast_RING_LL_us12_abcdP4comm",
	"_Z36ncclDevKernel_Reduce_RING_LL_us12_abP4comm",
	"_Z39ncclDevKernel_AllGather_RING_LL_us13_abP4comm",
	"_Z43ncclDevKernel_ReduceScatter_RING_LL_us14_abP4comm",
	NULL};

enum {
	NCCL_OK = 0,
	NCCL_CUDA_ERROR = 1,
	NCCL_INVALID_ARGUMENT = 4,
	NCCL_INVALID_USAGE = 5
};
enum {
	COMM = 1,
	ID_BYTES = 128,
	GROUP_MAX = 64
};

struct unique_id {
	char bytes[ID_BYTES];
};

int ncclGetVersion(int *version)
{
	if (!version)
		return NCCL_INVALID_ARGUMENT;
	*version = 22700;
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
	static unsigned cnt;

	if (!id)
		return NCCL_INVALID_ARGUMENT;
	memset(id, 0, sizeof(*id));
	*(pid_t *)id->bytes = getpid();
	*(unsigned *)(id->bytes + 8) = ++cnt;
	return NCCL_OK;
}

/* ---- communicators ---- */

int ncclCommInitRank(void **comm, int ranks, struct unique_id id, int rank)
{
	void *buffer;

	(void)id;
	if (!comm || rank < 0 || rank >= ranks)
		return NCCL_INVALID_ARGUMENT;
	*comm = NULL;
	if (ranks != 1)
		return NCCL_INVALID_USAGE;
	if (cudaMalloc(&buffer, 1 << 20))
		return NCCL_CUDA_ERROR;
	*comm = library_make(COMM);
	((struct library_handle *)*comm)->workspace = buffer;
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
	return ncclCommInitRank(comms, cnt, (struct unique_id){{0}}, 0);
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

int ncclCommCount(void *comm, int *cnt)
{
	return number(comm, cnt, 1);
}

int ncclCommUserRank(void *comm, int *rank)
{
	return number(comm, rank, 0);
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

static __thread unsigned group_depth, group_cnt;
static __thread struct {
	int kernel;
	CUstream stream;
} group[GROUP_MAX];

static int launch(int kernel, CUstream stream)
{
	return library_launch(kernel, 24, stream) ? NCCL_CUDA_ERROR : NCCL_OK;
}

int ncclGroupStart(void)
{
	group_depth++;
	return NCCL_OK;
}

int ncclGroupEnd(void)
{
	unsigned i;
	int r = NCCL_OK;

	if (!group_depth)
		return NCCL_INVALID_USAGE;
	if (--group_depth)
		return NCCL_OK;
	for (i = 0; i < group_cnt && !r; i++)
		r = launch(group[i].kernel, group[i].stream);
	group_cnt = 0;
	return r;
}

/* ---- collectives of one rank: the result is what was sent ---- */

static size_t type_bytes(int type)
{
	static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return type >= 0 && type < (int)sizeof(bytes) ? bytes[type] : 0;
}

static int collect(int kernel, const void *src, void *dst, size_t cnt, int type, void *comm,
		   CUstream stream)
{
	if (!library_find(comm, COMM) || !src || !dst || !type_bytes(type))
		return NCCL_INVALID_ARGUMENT;
	memmove(dst, src, cnt * type_bytes(type));
	if (!group_depth)
		return launch(kernel, stream);
	if (group_cnt == GROUP_MAX)
		return NCCL_INVALID_USAGE;
	group[group_cnt].kernel = kernel;
	group[group_cnt++].stream = stream;
	return NCCL_OK;
}

int ncclAllReduce(const void *src, void *dst, size_t cnt, int type, int op, void *comm,
		  CUstream stream)
{
	(void)op;
	return collect(ALL_REDUCE, src, dst, cnt, type, comm, stream);
}

int ncclBroadcast(const void *src, void *dst, size_t cnt, int type, int root, void *comm,
		  CUstream stream)
{
	return root ? NCCL_INVALID_ARGUMENT : collect(BROADCAST, src, dst, cnt, type, comm, stream);
}

int ncclBcast(void *buffer, size_t cnt, int type, int root, void *comm, CUstream stream)
{
	return root ? NCCL_INVALID_ARGUMENT
		    : collect(BROADCAST, buffer, buffer, cnt, type, comm, stream);
}

int ncclReduce(const void *src, void *dst, size_t cnt, int type, int op, int root, void *comm,
	       CUstream stream)
{
	(void)op;
	return root ? NCCL_INVALID_ARGUMENT : collect(REDUCE, src, dst, cnt, type, comm, stream);
}

int ncclAllGather(const void *src, void *dst, size_t cnt, int type, void *comm, CUstream stream)
{
	return collect(ALL_GATHER, src, dst, cnt, type, comm, stream);
}

int ncclReduceScatter(const void *src, void *dst, size_t cnt, int type, int op, void *comm,
		      CUstream stream)
{
	(void)op;
	return collect(REDUCE_SCATTER, src, dst, cnt, type, comm, stream);
}
