/*
 * two.c - two processes that share what is on a GPU:
 *
 *   two share fork|spawn    memory and events, by handles (CUDA IPC)
 *   two reduce fork|spawn   a communicator of NCCL with two ranks
 *
 * The child is forked before any call of CUDA, or is the program started anew. Each counts its own calls; the child
 * prints its own first. -n: how often.
 */
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/standin/cuda_types.h"

struct unique_id {
	char bytes[128];
};

#define FUNCTIONS(F)                                                                          \
	F(int, cudaMalloc, (void **, size_t))                                                 \
	F(int, cudaMallocHost, (void **, size_t))                                             \
	F(int, cudaFree, (void *))                                                            \
	F(int, cudaMemcpy, (void *, const void *, size_t, int))                               \
	F(int, cudaMemcpyAsync, (void *, const void *, size_t, int, CUstream))                \
	F(int, cudaMemsetAsync, (void *, int, size_t, CUstream))                              \
	F(int, cudaStreamCreateWithFlags, (CUstream *, unsigned))                             \
	F(int, cudaStreamSynchronize, (CUstream))                                             \
	F(int, cudaStreamWaitEvent, (CUstream, CUevent, unsigned))                            \
	F(int, cudaStreamDestroy, (CUstream))                                                 \
	F(int, cudaEventCreateWithFlags, (CUevent *, unsigned))                               \
	F(int, cudaEventRecord, (CUevent, CUstream))                                          \
	F(int, cudaEventSynchronize, (CUevent))                                               \
	F(int, cudaEventDestroy, (CUevent))                                                   \
	F(int, cudaIpcGetMemHandle, (struct cuda_ipc_handle *, void *))                       \
	F(int, cudaIpcOpenMemHandle, (void **, struct cuda_ipc_handle, unsigned))             \
	F(int, cudaIpcCloseMemHandle, (void *))                                               \
	F(int, cudaIpcGetEventHandle, (struct cuda_ipc_handle *, CUevent))                    \
	F(int, cudaIpcOpenEventHandle, (CUevent *, struct cuda_ipc_handle))                   \
	F(int, ncclGetUniqueId, (struct unique_id *))                                         \
	F(int, ncclCommInitRank, (void **, int, struct unique_id, int))                       \
	F(int, ncclCommDestroy, (void *))                                                     \
	F(int, ncclCommCount, (void *, int *))                                                \
	F(int, ncclCommUserRank, (void *, int *))                                             \
	F(int, ncclAllReduce, (const void *, void *, size_t, int, int, void *, CUstream))     \
	F(int, ncclBroadcast, (const void *, void *, size_t, int, int, void *, CUstream))     \
	F(int, ncclReduce, (const void *, void *, size_t, int, int, int, void *, CUstream))   \
	F(int, ncclAllGather, (const void *, void *, size_t, int, void *, CUstream))          \
	F(int, ncclReduceScatter, (const void *, void *, size_t, int, int, void *, CUstream)) \
	F(int, ncclSend, (const void *, size_t, int, int, void *, CUstream))                  \
	F(int, ncclRecv, (void *, size_t, int, int, void *, CUstream))                        \
	F(int, ncclGroupStart, (void))                                                        \
	F(int, ncclGroupEnd, (void))
#include "tests/gpu/tally.h"

enum {
	BYTES = 64 << 10,
	FLOAT = 7,
	SUM = 0,
	MOST = 2
};
static int repeat = 3, rank, from, to;
static unsigned long kernels, copies[4], copied[4], sets, set_bytes; /* copies by cudaMemcpyKind */

static void say(const void *what, size_t bytes)
{
	if (write(to, what, bytes) != (ssize_t)bytes)
		exit(3);
}

static void hear(void *what, size_t bytes)
{
	char *at = what;

	while (bytes) {
		ssize_t n = read(from, at, bytes);

		if (n <= 0)
			exit(4);
		at += n;
		bytes -= (size_t)n;
	}
}

static void copy(void *dst, const void *src, size_t bytes, int kind)
{
	DO(cudaMemcpy, dst, src, bytes, kind);
	copies[kind]++;
	copied[kind] += bytes;
}

/* ---- memory and events ---- */

struct shared {
	struct cuda_ipc_handle memory, event;
};

/* Fills the memory, signals it by the event, and finds what the other has made of it. */
static void owner(void)
{
	struct cuda_ipc_handle wrong;
	struct shared handles;
	static char back[BYTES];
	CUevent event, plain;
	CUstream stream;
	char *memory, *host, turn;
	void *opened;
	int i;

	DO(cudaStreamCreateWithFlags, &stream, CUDA_STREAM_NON_BLOCKING);
	DO(cudaMalloc, (void **)&memory, BYTES);
	DO(cudaMallocHost, (void **)&host, BYTES);
	copy(memory, strcpy(back, "before it was shared"), BYTES, CUDA_HOST_TO_DEVICE);
	DO(cudaEventCreateWithFlags, &event, CUDA_EVENT_INTERPROCESS | CUDA_EVENT_DISABLE_TIMING);
	DO(cudaEventCreateWithFlags, &plain, CUDA_EVENT_DISABLE_TIMING);
	DO(cudaIpcGetMemHandle, &handles.memory, memory + 100);
	DO(cudaIpcGetEventHandle, &handles.event, event);
	printf("memory of the host %d, event of one process %d, opened at home %d\n",
	       CALL(cudaIpcGetMemHandle, &wrong, host), CALL(cudaIpcGetEventHandle, &wrong, plain),
	       CALL(cudaIpcOpenMemHandle, &opened, handles.memory, 1));
	say(&handles, sizeof(handles));
	for (i = 0; i < repeat; i++) {
		hear(&turn, 1);
		DO(cudaMemsetAsync, memory, i + 1, BYTES / 2, stream);
		sets++, set_bytes += BYTES / 2;
		DO(cudaEventRecord, event, stream);
		say(&turn, 1);
	}
	hear(&turn, 1);
	DO(cudaEventSynchronize, event); /* recorded by the other, last */
	copy(back, memory, BYTES, CUDA_DEVICE_TO_HOST);
	printf("the other wrote \"%s\"\n", back + BYTES / 2);
	DO(cudaEventDestroy, plain);
	DO(cudaEventDestroy, event);
	DO(cudaFree, memory);
	DO(cudaStreamDestroy, stream);
}

static void guest(void)
{
	struct cuda_ipc_handle nonsense = {"no handle"};
	static char back[BYTES];
	struct shared handles;
	char *memory, *again, turn = 0;
	CUstream stream;
	CUevent event;
	int i;

	DO(cudaStreamCreateWithFlags, &stream, CUDA_STREAM_NON_BLOCKING);
	hear(&handles, sizeof(handles));
	DO(cudaIpcOpenMemHandle, (void **)&memory, handles.memory, 1);
	DO(cudaIpcOpenMemHandle, (void **)&again, handles.memory, 1);
	DO(cudaIpcOpenEventHandle, &event, handles.event);
	copy(back, memory, BYTES, CUDA_DEVICE_TO_HOST);
	printf("found \"%s\", twice the same %d, nonsense %d, flags %d, freed %d\n", back,
	       memory == again, CALL(cudaIpcOpenMemHandle, (void **)&again, nonsense, 1),
	       CALL(cudaIpcOpenMemHandle, (void **)&again, handles.memory, 0),
	       CALL(cudaFree, memory));
	for (i = 0; i < repeat; i++) {
		say(&turn, 1);
		hear(&turn, 1);
		DO(cudaStreamWaitEvent, stream, event, 0);
		DO(cudaMemcpyAsync, back, memory, BYTES, CUDA_DEVICE_TO_HOST, stream);
		copies[CUDA_DEVICE_TO_HOST]++;
		copied[CUDA_DEVICE_TO_HOST] += BYTES;
		DO(cudaStreamSynchronize, stream);
		printf("%d%s", back[BYTES / 2 - 1], i + 1 < repeat ? " " : "\n");
	}
	strcpy(back, "from the other process");
	copy(memory + BYTES / 2, back, sizeof("from the other process"), CUDA_HOST_TO_DEVICE);
	DO(cudaEventRecord, event, stream);
	say(&turn, 1);
	DO(cudaEventDestroy, event);
	DO(cudaIpcCloseMemHandle, memory);
	DO(cudaIpcCloseMemHandle, memory);
	printf("closed before %d\n", CALL(cudaIpcCloseMemHandle, memory));
	DO(cudaStreamDestroy, stream);
}

static void share(void)
{
	if (rank)
		guest();
	else
		owner();
}

/* ---- NCCL ---- */

enum {
	CNT = 1000
};
static float in[2 * CNT], out[2 * CNT];

static void is(const char *what, float first, float second)
{
	if (out[0] != first || out[1] != second)
		printf("%s of rank %d: %g %g, not %g %g\n", what, rank, (double)out[0],
		       (double)out[1], (double)first, (double)second);
}

/* To the device, the collective, and back. */
#define COLLECT(what, first, second, name, ...)                 \
	do {                                                    \
		copy(a, in, sizeof(in), CUDA_HOST_TO_DEVICE);   \
		DO(name, __VA_ARGS__);                          \
		kernels++;                                      \
		DO(cudaStreamSynchronize, stream);              \
		copy(out, b, sizeof(out), CUDA_DEVICE_TO_HOST); \
		is(what, first, second);                        \
	} while (0)

static void collect(void *comm, CUstream stream, float *a, float *b, int i)
{
	int other = !rank;

	/* rank 0 has 1 10 ..., rank 1 has 2 20 ... */
	in[0] = (float)(rank + 1 + i);
	in[1] = 10 * in[0];
	COLLECT("sum", (float)(3 + 2 * i), 10 * (float)(3 + 2 * i), ncclAllReduce, a, b, 2 * CNT,
		FLOAT, SUM, comm, stream);
	COLLECT("maximum", (float)(2 + i), 10 * (float)(2 + i), ncclAllReduce, a, b, CNT, FLOAT,
		MOST, comm, stream);
	COLLECT("broadcast", (float)(2 + i), 10 * (float)(2 + i), ncclBroadcast, a, b, 2, FLOAT, 1,
		comm, stream);
	COLLECT("gather", (float)(1 + i), (float)(2 + i), ncclAllGather, a, b, 1, FLOAT, comm,
		stream);
	COLLECT("scatter", (float)(3 + 2 * i) * (rank ? 10 : 1), (float)(2 + i), ncclReduceScatter,
		a, b, 1, FLOAT, SUM, comm, stream);
	COLLECT("reduce", rank ? (float)(3 + 2 * i) * 10 : (float)(3 + 2 * i), (float)(2 + i),
		ncclReduce, a, b, 1, FLOAT, SUM, 0, comm, stream);
	/* Each sends before it receives, which only a group allows; and two things that belong together. */
	DO(ncclGroupStart);
	DO(ncclSend, a, 2, FLOAT, other, comm, stream);
	DO(ncclRecv, b, 2, FLOAT, other, comm, stream);
	DO(ncclAllReduce, a, a, 2, FLOAT, SUM, comm, stream);
	DO(ncclGroupEnd);
	kernels += 3;
	DO(cudaStreamSynchronize, stream);
	copy(out, b, sizeof(out), CUDA_DEVICE_TO_HOST);
	is("exchange", (float)(other + 1 + i), 10 * (float)(other + 1 + i));
	copy(out, a, sizeof(out), CUDA_DEVICE_TO_HOST);
	is("sum in a group", (float)(3 + 2 * i), 10 * (float)(3 + 2 * i));
}

static void reduce(void)
{
	struct unique_id id;
	CUstream stream;
	float *a, *b;
	int i, ranks, own;
	void *comm;

	if (rank) {
		hear(&id, sizeof(id));
	} else {
		DO(ncclGetUniqueId, &id);
		say(&id, sizeof(id));
	}
	DO(cudaStreamCreateWithFlags, &stream, CUDA_STREAM_NON_BLOCKING);
	DO(cudaMalloc, (void **)&a, sizeof(in));
	DO(cudaMalloc, (void **)&b, sizeof(in));
	DO(ncclCommInitRank, &comm, 2, id, rank);
	DO(ncclCommCount, comm, &ranks);
	DO(ncclCommUserRank, comm, &own);
	printf("rank %d of %d, no such rank %d\n", own, ranks,
	       CALL(ncclBroadcast, a, b, 2, FLOAT, 2, comm, stream));
	for (i = 0; i < repeat; i++)
		collect(comm, stream, a, b, i);
	DO(ncclCommDestroy, comm);
	printf("destroyed before %d\n", CALL(ncclCommDestroy, comm));
	DO(cudaFree, b);
	DO(cudaFree, a);
	DO(cudaStreamDestroy, stream);
}

/* ---- two processes ---- */

static void tell(void)
{
	tally_print();
	printf("kernels %lu\ncopy HtoD %lu %lu\ncopy DtoH %lu %lu\n", kernels,
	       copies[CUDA_HOST_TO_DEVICE], copied[CUDA_HOST_TO_DEVICE],
	       copies[CUDA_DEVICE_TO_HOST], copied[CUDA_DEVICE_TO_HOST]);
	if (sets)
		printf("memset %lu %lu\n", sets, set_bytes);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	extern char **environ;
	char down[2][16], how_often[16];
	int there[2], back[2], status, o;
	void (*what)(void);
	pid_t child;

	while ((o = getopt(argc, argv, "n:r:w:")) != -1) {
		if (o == 'n')
			repeat = atoi(optarg);
		else if (o == 'r')
			from = atoi(optarg);
		else if (o == 'w')
			rank = 1, to = atoi(optarg);
		else
			return 2;
	}
	if (argc - optind != 2)
		return 2;
	what = strcmp(argv[optind], "share") ? reduce : share;
	if (rank)
		return what(), tell(), 0;
	if (pipe(there) || pipe(back))
		return 2;
	snprintf(down[0], sizeof(down[0]), "-r%d", there[0]);
	snprintf(down[1], sizeof(down[1]), "-w%d", back[1]);
	snprintf(how_often, sizeof(how_often), "-n%d", repeat);
	if (strcmp(argv[optind + 1], "spawn")) {
		child = fork();
		if (!child) {
			rank = 1, from = there[0], to = back[1];
			close(there[1]); /* so that the end of one is heard by the other */
			close(back[0]);
			return what(), tell(), 0;
		}
	} else {
		char *command[] = {argv[0],      how_often,        down[0], down[1],
				   argv[optind], argv[optind + 1], NULL};

		if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, command, environ))
			return 2;
	}
	close(there[0]);
	close(back[1]);
	from = back[0], to = there[1];
	what();
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 1;
	tell();
	return 0;
}
