/*
 * random.c SEED - a program that does what follows from the seed: threads, streams, kernels, copies, fills, graphs, events, ranges of
 * cudaProfilerStart, a child, a profiler of its own (as Kineto's newer ones), and a way to end. It prints what it did, which
 * depends on the seed alone. CUPTI as RIVAL_CUPTI.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/standin/cuda_types.h"

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, CUstream);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemsetAsync(void *, int, size_t, CUstream);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaStreamDestroy(CUstream);
int cudaStreamQuery(CUstream);
int cudaStreamSynchronize(CUstream);
int cudaStreamBeginCapture(CUstream, int);
int cudaStreamEndCapture(CUstream, CUgraph *);
int cudaGraphInstantiate(CUgraphExec *, CUgraph, unsigned long long);
int cudaGraphLaunch(CUgraphExec, CUstream);
int cudaGraphDestroy(CUgraph);
int cudaEventCreateWithFlags(CUevent *, unsigned);
int cudaEventRecord(CUevent, CUstream);
int cudaDeviceSynchronize(void);
int cudaProfilerStart(void);
int cudaProfilerStop(void);

enum {
	BYTES = 1 << 14,
	STREAMS = 3,
	THREADS = 4,
	KERNELS = 3,
};

static unsigned errors, done;

static void expect(int result)
{
	if (result)
		__atomic_add_fetch(&errors, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

/* ---- chance ---- */

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static unsigned below(uint64_t *state, unsigned limit)
{
	return (unsigned)((next(state) >> 11) % limit);
}

/* ---- kernels ---- */

static char kernels[KERNELS];

static void register_kernels(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	static const char *const names[KERNELS] = {"_Z9one_us20_v", "_Z9two_us7_v", "_Z5threev"};
	void **binary = __cudaRegisterFatBinary(&wrapper);

	for (int i = 0; i < KERNELS; i++)
		__cudaRegisterFunction(binary, &kernels[i], (char *)(uintptr_t)names[i], names[i],
				       -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
}

/* ---- a thread ---- */

struct worker {
	pthread_t thread;
	uint64_t chance;
	unsigned ops;
	CUstream streams[STREAMS];
	CUevent event;
	CUgraphExec exec;
	char *device, host[BYTES];
};

static void launch(struct worker *w, CUstream stream)
{
	struct cuda_dim3 grid = {4, 1, 1}, block = {32, 1, 1};

	expect(cudaLaunchKernel(&kernels[below(&w->chance, KERNELS)], grid, block, NULL, 0,
				stream));
}

static void make_graph(struct worker *w)
{
	CUgraph graph;

	expect(cudaStreamBeginCapture(w->streams[0], 0));
	for (unsigned i = 1 + below(&w->chance, 4); i; i--)
		launch(w, w->streams[0]);
	expect(cudaMemsetAsync(w->device, 1, BYTES, w->streams[0]));
	expect(cudaStreamEndCapture(w->streams[0], &graph));
	expect(cudaGraphInstantiate(&w->exec, graph, 0));
	expect(cudaGraphDestroy(graph));
}

static void begin(struct worker *w)
{
	expect(cudaMalloc((void **)&w->device, BYTES));
	for (int i = 0; i < STREAMS; i++)
		expect(cudaStreamCreateWithFlags(&w->streams[i], CUDA_STREAM_NON_BLOCKING));
	expect(cudaEventCreateWithFlags(&w->event, 0));
	if (below(&w->chance, 2))
		make_graph(w);
}

static void op(struct worker *w)
{
	CUstream stream = w->streams[below(&w->chance, STREAMS)];
	void *p;

	switch (below(&w->chance, 12)) {
	case 0:
		expect(cudaMemcpyAsync(w->device, w->host, 1 + below(&w->chance, BYTES), 1,
				       stream));
		break;
	case 1:
		expect(cudaMemcpy(w->host, w->device, BYTES, 2));
		break;
	case 2:
	case 3:
		expect(cudaMemsetAsync(w->device, 2, 1 + below(&w->chance, BYTES), stream));
		break;
	case 4:
		expect(cudaEventRecord(w->event, stream));
		break;
	case 5:
		(void)cudaStreamQuery(stream);
		break;
	case 6:
		expect(cudaStreamSynchronize(stream));
		break;
	case 7:
		expect(w->exec ? cudaGraphLaunch(w->exec, stream) : 0);
		break;
	case 8:
		expect(cudaMalloc(&p, 4096));
		expect(cudaFree(p));
		break;
	default:
		launch(w, stream);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	if (!w->device)
		begin(w);
	for (unsigned i = 0; i < w->ops; i++)
		op(w);
	return NULL;
}

/* ---- a profiler ---- */

static struct {
	int (*subscribe)(void **, void *, void *), (*unsubscribe)(void *);
	int (*clock)(uint64_t (*)(void)), (*callbacks)(void *, void *), (*enable)(int),
		(*disable)(int), (*flush)(uint32_t);
	void *subscriber;
	bool is_on;
} profiler;
static const int kinds[] = {1, 2, 10, 4};

static uint64_t ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) * 3;
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *max)
{
	*buffer = aligned_alloc(8, *bytes = 1 << 16);
	memset(*buffer, 0xaa, *bytes);
	*max = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	(void)context;
	(void)stream;
	(void)bytes;
	(void)valid;
	/* One that is not its own is not on its heap. */
	free(buffer);
}

static void callback(void *data, int domain, unsigned id, const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}

static void profile_begin(uint64_t *chance)
{
	void *lib = dlopen(getenv("RIVAL_CUPTI"), RTLD_NOW | RTLD_LOCAL);

	if (!lib || profiler.is_on)
		return;
	*(void **)&profiler.subscribe = dlsym(lib, "cuptiSubscribe");
	*(void **)&profiler.unsubscribe = dlsym(lib, "cuptiUnsubscribe");
	*(void **)&profiler.clock = dlsym(lib, "cuptiActivityRegisterTimestampCallback");
	*(void **)&profiler.callbacks = dlsym(lib, "cuptiActivityRegisterCallbacks");
	*(void **)&profiler.enable = dlsym(lib, "cuptiActivityEnable");
	*(void **)&profiler.disable = dlsym(lib, "cuptiActivityDisable");
	*(void **)&profiler.flush = dlsym(lib, "cuptiActivityFlushAll");
	if (!profiler.subscriber && below(chance, 2))
		expect(profiler.subscribe(&profiler.subscriber, (void *)callback, NULL));
	expect(profiler.clock(ticks));
	expect(profiler.callbacks((void *)requested, (void *)completed));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		expect(profiler.enable(kinds[i]));
	profiler.is_on = true;
}

static void profile_end(uint64_t *chance)
{
	if (!profiler.is_on)
		return;
	expect(cudaDeviceSynchronize());
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		expect(profiler.disable(kinds[i]));
	expect(profiler.flush(1));
	if (profiler.subscriber && below(chance, 2)) {
		expect(profiler.unsubscribe(profiler.subscriber));
		profiler.subscriber = NULL;
	}
	profiler.is_on = false;
}

/* ---- the program ---- */

static struct worker workers[THREADS];

static void run(uint64_t *chance)
{
	unsigned threads = 1 + below(chance, THREADS), phases = 1 + below(chance, 3);
	bool ranges = getenv("RANDOM_RANGES"), profiles = below(chance, 3) == 0;

	for (unsigned i = 0; i < threads; i++)
		workers[i].chance = next(chance) | 1;
	for (unsigned phase = 0; phase < phases; phase++) {
		bool in_range = ranges && below(chance, 2),
		     in_profile = profiles && below(chance, 2), is_late = below(chance, 2);

		if (in_range)
			expect(cudaProfilerStart());
		if (in_profile && !is_late)
			profile_begin(chance);
		for (unsigned i = 0; i < threads; i++) {
			workers[i].ops = below(&workers[i].chance, 60);
			if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
				abort();
		}
		/* While the others work. */
		if (in_profile && is_late)
			profile_begin(chance);
		for (unsigned i = 0; i < threads; i++)
			pthread_join(workers[i].thread, NULL);
		profile_end(chance);
		expect(cudaDeviceSynchronize());
		if (in_range)
			expect(cudaProfilerStop());
	}
}

static int end(uint64_t *chance)
{
	printf("%u done, %u errors\n", done, errors);
	fflush(stdout);
	switch (below(chance, 8)) {
	case 0:
		_exit(5);
	case 1:
		exit(3);
	case 2:
		raise(SIGKILL);
		return 1;
	case 3:
		abort();
	case 4:
		execl("/bin/true", "true", (char *)NULL);
		return 1;
	case 5:
		quick_exit(9);
	default:
		return (int)below(chance, 100);
	}
}

static void child(uint64_t *chance)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		run(chance);
		_exit(end(chance));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	next(chance);
}

int main(int argc, char **argv)
{
	uint64_t chance = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 0x9e3779b97f4a7c15u | 1;

	for (int i = 0; i < 8; i++)
		next(&chance);
	register_kernels();
	if (below(&chance, 5) == 0)
		child(&chance);
	run(&chance);
	if (below(&chance, 6) == 0) {
		pid_t pid = fork();

		/* A child of a process that uses the GPU uses it no more. */
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return end(&chance);
}
