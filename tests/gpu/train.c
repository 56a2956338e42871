/*
 * train.c - a small training loop on a GPU, in plain C, without a toolkit: it brings the few declarations it needs.
 * It prints what it did; a report must hold the same:
 *
 *   call NAME COUNT              calls of a public function
 *   kernel NAME COUNT NS         kernels asked for, and how long they take together on the stand-in
 *   copy KIND COUNT BYTES        copies, by direction
 *   memset COUNT BYTES
 *   graph COUNT; node-kernel NAME COUNT NS; node-copy KIND COUNT BYTES: what launches of a graph did
 *   thread COUNT                 threads that called; like calls, also printed by the child of a fork
 *
 * Options: -n iterations, -s streams, -t threads, -c bytes of a batch, -g record an iteration as a graph and launch
 * that, -l launch as nvcc 13's <<<>>> does, -f fork once everything is going (the child must be refused, not harmed),
 * -w wait (ms) at the end, -k kill itself there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/standin/cuda_types.h"

#ifdef PER_THREAD /* what the headers do under --default-stream per-thread */
#define cudaMemcpy             cudaMemcpy_ptds
#define cudaMemset             cudaMemset_ptds
#define cudaMemcpyAsync        cudaMemcpyAsync_ptsz
#define cudaMemsetAsync        cudaMemsetAsync_ptsz
#define cudaStreamSynchronize  cudaStreamSynchronize_ptsz
#define cudaStreamWaitEvent    cudaStreamWaitEvent_ptsz
#define cudaStreamBeginCapture cudaStreamBeginCapture_ptsz
#define cudaStreamEndCapture   cudaStreamEndCapture_ptsz
#define cudaEventRecord        cudaEventRecord_ptsz
#define cudaLaunchKernel       cudaLaunchKernel_ptsz
#define __cudaLaunchKernel     __cudaLaunchKernel_ptsz
#define cudaLaunchHostFunc     cudaLaunchHostFunc_ptsz
#define cudaGraphLaunch        cudaGraphLaunch_ptsz
#endif

#define FUNCTIONS(F)                                                                         \
	F(void **, __cudaRegisterFatBinary, (void *))                                        \
	F(void, __cudaRegisterFatBinaryEnd, (void **))                                       \
	F(void, __cudaUnregisterFatBinary, (void **))                                        \
	F(void, __cudaRegisterFunction,                                                      \
	  (void **, const void *, char *, const char *, int, void *, void *, void *, void *, \
	   int *))                                                                           \
	F(int, __cudaGetKernel, (CUkernel *, const void *))                                  \
	F(int, __cudaLaunchKernel,                                                           \
	  (CUkernel, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream))         \
	F(int, cudaLaunchKernel,                                                             \
	  (const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream))     \
	F(int, cudaGetDeviceCount, (int *))                                                  \
	F(int, cudaSetDevice, (int))                                                         \
	F(int, cudaDeviceGetAttribute, (int *, int, int))                                    \
	F(int, cudaGetLastError, (void))                                                     \
	F(const char *, cudaGetErrorString, (int))                                           \
	F(int, cudaMalloc, (void **, size_t))                                                \
	F(int, cudaMallocHost, (void **, size_t))                                            \
	F(int, cudaFree, (void *))                                                           \
	F(int, cudaFreeHost, (void *))                                                       \
	F(int, cudaMemcpy, (void *, const void *, size_t, int))                              \
	F(int, cudaMemcpyAsync, (void *, const void *, size_t, int, CUstream))               \
	F(int, cudaMemset, (void *, int, size_t))                                            \
	F(int, cudaMemsetAsync, (void *, int, size_t, CUstream))                             \
	F(int, cudaStreamCreateWithFlags, (CUstream *, unsigned))                            \
	F(int, cudaStreamDestroy, (CUstream))                                                \
	F(int, cudaStreamSynchronize, (CUstream))                                            \
	F(int, cudaStreamWaitEvent, (CUstream, CUevent, unsigned))                           \
	F(int, cudaStreamBeginCapture, (CUstream, int))                                      \
	F(int, cudaStreamEndCapture, (CUstream, CUgraph *))                                  \
	F(int, cudaEventCreateWithFlags, (CUevent *, unsigned))                              \
	F(int, cudaEventRecord, (CUevent, CUstream))                                         \
	F(int, cudaEventSynchronize, (CUevent))                                              \
	F(int, cudaEventElapsedTime, (float *, CUevent, CUevent))                            \
	F(int, cudaEventDestroy, (CUevent))                                                  \
	F(int, cudaLaunchHostFunc, (CUstream, cuda_host_function *, void *))                 \
	F(int, cudaGraphInstantiate, (CUgraphExec *, CUgraph, unsigned long long))           \
	F(int, cudaGraphLaunch, (CUgraphExec, CUstream))                                     \
	F(int, cudaGraphExecDestroy, (CUgraphExec))                                          \
	F(int, cudaGraphDestroy, (CUgraph))                                                  \
	F(int, cudaDeviceSynchronize, (void))
#include "tests/gpu/tally.h"

/* ---- kernels: names, and the addresses they go by on the host ---- */

enum {
	FORWARD,
	BACKWARD,
	UPDATE,
	KERNEL_CNT
};
static const struct {
	const char *name;
	unsigned ns;
} kernels[KERNEL_CNT] = {
	{"_Z13forward_us30_PKfS0_Pfi", 30000},
	{"_ZN5layer14backward_us50_IfLi4EEEvPT_i", 50000},
	{"_Z6updatePfPKff", 5000}, /* no time in the name: what the stand-in takes by default */
};
static char kernel_hosts[KERNEL_CNT];
static void **fat_binary;

static void register_kernels(void)
{
	/* As nvcc lays it out: magic, version, image. */
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	int i;

	fat_binary = CALL(__cudaRegisterFatBinary, &wrapper);
	for (i = 0; i < KERNEL_CNT; i++)
		CALL(__cudaRegisterFunction, fat_binary, &kernel_hosts[i],
		     (char *)(uintptr_t)kernels[i].name, kernels[i].name, -1, NULL, NULL, NULL,
		     NULL, NULL);
	CALL(__cudaRegisterFatBinaryEnd, fat_binary);
}

/* ---- what was asked of the GPU ---- */

static struct work {
	unsigned long kernels[KERNEL_CNT], copies[5], copy_bytes[5], memsets, memset_bytes;
} stream_work, node_work;
static unsigned long graph_launches;

static void add(unsigned long *to, unsigned long n)
{
	__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

/* ---- the loop ---- */

static int iterations = 10, streams = 1, threads = 1;
static size_t batch_bytes = 1 << 20;
static bool use_graph, modern_launch, do_fork, do_kill;
static int wait_ms = -1;

struct trainer {
	pthread_t thread;
	char *batch, *result; /* pinned */
	char *x, *y, *grad;
	CUstream *streams;
	CUevent begin, end;
	int host_calls;
	bool wrong;
};

static void launch(int kernel, unsigned blocks, CUstream stream)
{
	struct cuda_dim3 grid = {blocks, 2, 1}, block = {128, 1, 1};
	void *arguments[] = {NULL};
	CUkernel handle;

	if (modern_launch) {
		DO(__cudaGetKernel, &handle, &kernel_hosts[kernel]);
		DO(__cudaLaunchKernel, handle, grid, block, arguments, 1024, stream);
	} else {
		DO(cudaLaunchKernel, &kernel_hosts[kernel], grid, block, arguments, 1024, stream);
	}
}

static void copy(struct work *w, void *dst, const void *src, int kind, CUstream stream)
{
	DO(cudaMemcpyAsync, dst, src, batch_bytes, kind, stream);
	add(&w->copies[kind], 1);
	add(&w->copy_bytes[kind], batch_bytes);
}

static void step(struct trainer *t, struct work *w, CUstream stream)
{
	int i;

	copy(w, t->x, t->batch, CUDA_HOST_TO_DEVICE, stream);
	DO(cudaMemsetAsync, t->grad, 0, batch_bytes, stream);
	add(&w->memsets, 1);
	add(&w->memset_bytes, batch_bytes);
	copy(w, t->y, t->x, CUDA_DEVICE_TO_DEVICE, stream);
	for (i = 0; i < KERNEL_CNT; i++) {
		launch(i, 8, stream);
		add(&w->kernels[i], 1);
	}
	copy(w, t->result, t->y, CUDA_DEVICE_TO_HOST, stream);
}

static void host_call(void *data)
{
	__atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

static void prepare(struct trainer *t)
{
	int i;

	DO(cudaMallocHost, (void **)&t->batch, batch_bytes);
	DO(cudaMallocHost, (void **)&t->result, batch_bytes);
	DO(cudaMalloc, (void **)&t->x, batch_bytes);
	DO(cudaMalloc, (void **)&t->y, batch_bytes);
	DO(cudaMalloc, (void **)&t->grad, batch_bytes);
	t->streams = calloc((size_t)streams, sizeof(*t->streams));
	for (i = 0; i < streams; i++)
		DO(cudaStreamCreateWithFlags, &t->streams[i], CUDA_STREAM_NON_BLOCKING);
	DO(cudaEventCreateWithFlags, &t->begin, 0);
	DO(cudaEventCreateWithFlags, &t->end, 0);
}

static void finish(struct trainer *t)
{
	float ms = -1;
	int i;

	DO(cudaEventElapsedTime, &ms, t->begin, t->end);
	if (!(ms > 0))
		t->wrong = true;
	DO(cudaEventDestroy, t->begin);
	DO(cudaEventDestroy, t->end);
	for (i = 0; i < streams; i++)
		DO(cudaStreamDestroy, t->streams[i]);
	free(t->streams);
	DO(cudaFree, t->grad);
	DO(cudaFree, t->y);
	DO(cudaFree, t->x);
	DO(cudaFreeHost, t->result);
	DO(cudaFreeHost, t->batch);
}

static CUgraphExec record(struct trainer *t)
{
	struct work once = {0};
	CUgraphExec exec;
	CUgraph graph;

	DO(cudaStreamBeginCapture, t->streams[0], 0);
	step(t, &once, t->streams[0]);
	DO(cudaStreamEndCapture, t->streams[0], &graph);
	DO(cudaGraphInstantiate, &exec, graph, 0);
	DO(cudaGraphDestroy, graph);
	return exec;
}

static void launch_graph(CUgraphExec exec, CUstream stream)
{
	int i;

	DO(cudaGraphLaunch, exec, stream);
	add(&graph_launches, 1);
	for (i = 0; i < KERNEL_CNT; i++)
		add(&node_work.kernels[i], 1);
	for (i = CUDA_HOST_TO_DEVICE; i <= CUDA_DEVICE_TO_DEVICE; i++) {
		add(&node_work.copies[i], 1);
		add(&node_work.copy_bytes[i], batch_bytes);
	}
	add(&node_work.memsets, 1);
	add(&node_work.memset_bytes, batch_bytes);
}

static void *train(void *p)
{
	struct trainer *t = p;
	CUgraphExec exec = NULL;
	size_t i;
	int n;

	DO(cudaSetDevice, 0);
	prepare(t);
	if (use_graph)
		exec = record(t);
	DO(cudaEventRecord, t->begin, t->streams[0]);
	for (n = 0; n < iterations; n++) {
		CUstream stream = t->streams[n % streams];

		memset(t->batch, n + 1, batch_bytes);
		if (use_graph)
			launch_graph(exec, stream);
		else
			step(t, &stream_work, stream);
		DO(cudaLaunchHostFunc, stream, host_call, &t->host_calls);
		DO(cudaStreamSynchronize, stream);
		for (i = 0; i < batch_bytes; i++)
			if (t->result[i] != (char)(n + 1))
				t->wrong = true;
	}
	DO(cudaEventRecord, t->end, t->streams[0]);
	DO(cudaStreamWaitEvent, t->streams[streams - 1], t->end, 0);
	DO(cudaEventSynchronize, t->end);
	if (use_graph)
		DO(cudaGraphExecDestroy, exec);
	if (t->host_calls != iterations)
		t->wrong = true;
	finish(t);
	return NULL;
}

/* The other calls, the synchronous ones, and an error: they are rows too. */
static void others(void)
{
	char *p, text[64] = "text", back[64];
	int value = 0;

	DO(cudaDeviceGetAttribute, &value, 16, 0);
	DO(cudaMalloc, (void **)&p, sizeof(text));
	DO(cudaMemset, p, 1, sizeof(text));
	add(&stream_work.memsets, 1);
	add(&stream_work.memset_bytes, sizeof(text));
	DO(cudaMemcpy, p, text, sizeof(text), CUDA_HOST_TO_DEVICE);
	DO(cudaMemcpy, back, p, sizeof(text), CUDA_DEVICE_TO_HOST);
	add(&stream_work.copies[CUDA_HOST_TO_DEVICE], 1);
	add(&stream_work.copies[CUDA_DEVICE_TO_HOST], 1);
	add(&stream_work.copy_bytes[CUDA_HOST_TO_DEVICE], sizeof(text));
	add(&stream_work.copy_bytes[CUDA_DEVICE_TO_HOST], sizeof(text));
	DO(cudaFree, p);
	if (CALL(cudaFree, text) != CUDA_INVALID_VALUE ||
	    CALL(cudaGetLastError) != CUDA_INVALID_VALUE)
		printf("freeing what was never allocated is no error\n");
	printf("says: %s, %d processors, %s\n", CALL(cudaGetErrorString, CUDA_INVALID_VALUE), value,
	       back);
}

/* After fork the child has no GPU; what it asks for is refused, and the parent goes on. */
static void try_child(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		void *p;
		int r = TALLY_CALL(cudaMalloc)(&p, 100);

		printf("child: %d\ncall cudaMalloc 1\nthread 1\n", r);
		fflush(stdout);
		_exit(r == CUDA_NOT_INITIALIZED ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	printf("child's status: %d\n", status);
}

static void print_work(const struct work *w, const char *prefix)
{
	static const char *const kinds[] = {"HtoH", "HtoD", "DtoH", "DtoD", "Default"};
	int i;

	for (i = 0; i < KERNEL_CNT; i++)
		if (w->kernels[i])
			printf("%skernel %s %lu %lu\n", prefix, kernels[i].name, w->kernels[i],
			       w->kernels[i] * kernels[i].ns);
	for (i = 0; i < 5; i++)
		if (w->copies[i])
			printf("%scopy %s %lu %lu\n", prefix, kinds[i], w->copies[i],
			       w->copy_bytes[i]);
	if (w->memsets)
		printf("%smemset %lu %lu\n", prefix, w->memsets, w->memset_bytes);
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:s:t:c:w:glfk")) != -1)
		switch (c) {
		case 'n':
			iterations = atoi(optarg);
			break;
		case 's':
			streams = atoi(optarg);
			break;
		case 't':
			threads = atoi(optarg);
			break;
		case 'c':
			batch_bytes = (size_t)atol(optarg);
			break;
		case 'w':
			wait_ms = atoi(optarg);
			break;
		case 'g':
			use_graph = true;
			break;
		case 'l':
			modern_launch = true;
			break;
		case 'f':
			do_fork = true;
			break;
		case 'k':
			do_kill = true;
			break;
		default:
			exit(2);
		}
}

int main(int argc, char **argv)
{
	struct trainer *all;
	int i, devices = 0, wrong = 0;

	options(argc, argv);
	register_kernels();
	DO(cudaGetDeviceCount, &devices);
	all = calloc((size_t)threads, sizeof(*all));
	if (threads == 1) {
		train(&all[0]);
	} else {
		for (i = 0; i < threads; i++)
			if (pthread_create(&all[i].thread, NULL, train, &all[i]))
				return 1;
		for (i = 0; i < threads; i++)
			pthread_join(all[i].thread, NULL);
	}
	if (do_fork)
		try_child();
	others();
	DO(cudaDeviceSynchronize);
	CALL(__cudaUnregisterFatBinary, fat_binary);
	for (i = 0; i < threads; i++)
		wrong += all[i].wrong;
	free(all);
	printf("devices %d\nwrong %d\nthread %d\n", devices, wrong, threads > 1 ? threads + 1 : 1);
	tally_print();
	print_work(&stream_work, "");
	if (graph_launches)
		printf("graph %lu\n", graph_launches);
	print_work(&node_work, "node-");
	fflush(stdout);
	if (wait_ms >= 0)
		usleep((useconds_t)wait_ms * 1000);
	if (do_kill)
		raise(SIGKILL);
	return wrong != 0;
}
