/*
 * range.c - kernels before, in and after a capture, of a process that asks for it and of one that does not.
 *
 *   range COUNT       COUNT times: kernels "before", cudaProfilerStart, kernels "inside", cudaProfilerStop; then "after"
 *   range two         the same once, and a child (made before anything of CUDA) that launches on request
 *   range nvtx        the capture is an NVTX range, "step"
 *   range long        none; kernels "inside" for 3 seconds, 20 ms apart
 *
 * With "graph" as a second argument each launch is that of a graph, made first of all: the kernel, and a fill of 64 bytes.
 * Per capture 5 kernels before, 7 inside, by a stream that was made before; the child's are 4 each.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"
#include "tests/standin/cuda_types.h"

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaStreamBeginCapture(CUstream, int);
int cudaStreamEndCapture(CUstream, CUgraph *);
int cudaGraphInstantiate(CUgraphExec *, CUgraph, unsigned long long);
int cudaGraphLaunch(CUgraphExec, CUstream);
int cudaMalloc(void **, size_t);
int cudaMemsetAsync(void *, int, size_t, CUstream);
int cudaDeviceSynchronize(void);
int cudaProfilerStart(void);
int cudaProfilerStop(void);

static char before, inside, after; /* their addresses are what nvcc makes handles of */
static CUstream stream;
static int by_graph;
static struct {
	const void *kernel;
	CUgraphExec exec;
} graphs[3];

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "range: %s\n", what);
	exit(1);
}

static void launch_kernel(const void *kernel)
{
	struct cuda_dim3 grid = {4, 1, 1}, block = {64, 1, 1};

	need(cudaLaunchKernel(kernel, grid, block, NULL, 0, stream) == 0, "launch");
}

static void launch_graph(const void *kernel)
{
	int i = 0;

	while (graphs[i].kernel != kernel)
		i++;
	need(cudaGraphLaunch(graphs[i].exec, stream) == 0, "graph launch");
}

static void launch(const void *kernel, int n)
{
	while (n--)
		(by_graph ? launch_graph : launch_kernel)(kernel);
}

static void make_graphs(void)
{
	const void *const kernels[] = {&before, &inside, &after};
	CUgraph graph;
	void *memory;

	need(cudaMalloc(&memory, 64) == 0, "malloc");
	for (int i = 0; i < 3; i++) {
		need(cudaStreamBeginCapture(stream, 0) == 0, "begin capture");
		launch_kernel(kernels[i]);
		need(cudaMemsetAsync(memory, 0, 64, stream) == 0, "fill");
		need(cudaStreamEndCapture(stream, &graph) == 0, "end capture");
		need(cudaGraphInstantiate(&graphs[i].exec, graph, 0) == 0, "instantiate");
		graphs[i].kernel = kernels[i];
	}
}

static void set_up(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **binary = __cudaRegisterFatBinary(&wrapper);

	__cudaRegisterFunction(binary, &before, (char *)(uintptr_t) "_Z11before_us10v",
			       "_Z11before_us10v", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, &inside, (char *)(uintptr_t) "_Z11inside_us10v",
			       "_Z11inside_us10v", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, &after, (char *)(uintptr_t) "_Z10after_us10v",
			       "_Z10after_us10v", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
	need(cudaStreamCreateWithFlags(&stream, 1) == 0, "stream");
	if (by_graph)
		make_graphs();
}

/* Launches on request, and confirms. */
static void serve(int in, int out)
{
	char what;

	set_up();
	launch(&before, 4);
	cudaDeviceSynchronize();
	need(write(out, "r", 1) == 1, "write");
	while (read(in, &what, 1) == 1) {
		launch(what == 'i' ? &inside : &after, 4);
		cudaDeviceSynchronize();
		need(write(out, "d", 1) == 1, "write");
	}
	exit(0);
}

static void tell(int to, int from, const char *what)
{
	char back;

	if (to < 0)
		return;
	/* What a process that did not ask is given to notice. */
	usleep(10000);
	need(write(to, what, 1) == 1 && read(from, &back, 1) == 1, "the child");
}

static void capture(int to, int from)
{
	launch(&before, 5);
	cudaProfilerStart();
	launch(&inside, 7);
	tell(to, from, "i");
	cudaDeviceSynchronize();
	cudaProfilerStop();
	launch(&after, 5);
	tell(to, from, "a");
	cudaDeviceSynchronize();
}

static void two(void)
{
	int to[2], from[2], pid;
	char ready;

	need(pipe(to) == 0 && pipe(from) == 0, "pipe");
	pid = fork();
	if (!pid) {
		close(to[1]);
		close(from[0]);
		serve(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	need(read(from[0], &ready, 1) == 1, "the child");
	set_up();
	capture(to[1], from[0]);
	close(to[1]);
	waitpid(pid, NULL, 0);
}

static void by_nvtx(void)
{
	struct nvtx_attr step;

	need(nvtx_load(), "no NVTX");
	step = attr_of(3, string_register(NULL, "step"));
	set_up();
	launch(&before, 5);
	push_ex(NULL, &step);
	launch(&inside, 7);
	cudaDeviceSynchronize();
	pop_ex(NULL);
	launch(&after, 5);
	cudaDeviceSynchronize();
}

static void for_long(void)
{
	set_up();
	for (int i = 0; i < 150; i++) {
		launch(&inside, 1);
		usleep(20000);
	}
	cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "1";

	by_graph = argc > 2 && !strcmp(argv[2], "graph");
	if (!strcmp(what, "two")) {
		two();
	} else if (!strcmp(what, "nvtx")) {
		by_nvtx();
	} else if (!strcmp(what, "long")) {
		for_long();
	} else {
		set_up();
		for (int i = atoi(what); i > 0; i--)
			capture(-1, -1);
	}
	return 0;
}
