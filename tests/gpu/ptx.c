/*
 * ptx.c - a program that runs wherever there is a driver: no toolkit, nothing linked, its kernels are text that the driver
 * compiles. The same on a GPU as on the stand-ins, and it prints what it did as train.c does.
 *
 *   ptx             a bit of everything, with results that are checked
 *   ptx ahead [N]   N kernels of 4 ms, some always queued behind the one that runs
 *   ptx endless     ends while a kernel of 3 s runs
 *   ptx killed      kills itself once everything is over for long
 *   ptx slow        its exit handlers and destructors take long
 *   ptx leaves      the work is a child's, which ends by _exit() right behind it
 *   ptx unseen      context, module and some kernels by calls that nothing can watch; then the rest
 *   ptx captures N  a graph is made and launched; then N times: cuProfilerStart, kernels and the graph, cuProfilerStop, the
 *                   graph again. It prints what lies between start and stop
 */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/unseen.h"
#include "tests/standin/cuda_types.h"

#define FUNCTIONS(F)                                                                         \
	F(int, cuInit, (unsigned))                                                           \
	F(int, cuDeviceGet, (int *, int))                                                    \
	F(int, cuDevicePrimaryCtxRetain, (CUcontext *, int))                                 \
	F(int, cuCtxSetCurrent, (CUcontext))                                                 \
	F(int, cuCtxSynchronize, (void))                                                     \
	F(int, cuModuleLoadData, (CUmodule *, const void *))                                 \
	F(int, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                  \
	F(int, cuModuleUnload, (CUmodule))                                                   \
	F(int, cuMemAlloc_v2, (CUdeviceptr *, size_t))                                       \
	F(int, cuMemAllocHost_v2, (void **, size_t))                                         \
	F(int, cuMemFree_v2, (CUdeviceptr))                                                  \
	F(int, cuMemFreeHost, (void *))                                                      \
	F(int, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                         \
	F(int, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))          \
	F(int, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                               \
	F(int, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))           \
	F(int, cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                  \
	F(int, cuStreamCreate, (CUstream *, unsigned))                                       \
	F(int, cuStreamSynchronize, (CUstream))                                              \
	F(int, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                             \
	F(int, cuStreamDestroy_v2, (CUstream))                                               \
	F(int, cuStreamBeginCapture_v2, (CUstream, int))                                     \
	F(int, cuStreamEndCapture, (CUstream, CUgraph *))                                    \
	F(int, cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))    \
	F(int, cuGraphLaunch, (CUgraphExec, CUstream))                                       \
	F(int, cuGraphExecDestroy, (CUgraphExec))                                            \
	F(int, cuGraphDestroy, (CUgraph))                                                    \
	F(int, cuEventCreate, (CUevent *, unsigned))                                         \
	F(int, cuEventRecord, (CUevent, CUstream))                                           \
	F(int, cuEventSynchronize, (CUevent))                                                \
	F(int, cuEventElapsedTime, (float *, CUevent, CUevent))                              \
	F(int, cuEventDestroy_v2, (CUevent))                                                 \
	F(int, cuProfilerStart, (void))                                                      \
	F(int, cuProfilerStop, (void))                                                       \
	F(int, cuLaunchKernel,                                                               \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	   CUstream, void **, void **))
#define BY_DLSYM "libcuda.so.1"
#include "tests/gpu/tally.h"

/* Waits by the GPU's own clock for the given ns; the names give the same to the stand-in. */
#define SPIN(name)                                   \
	".visible .entry " name "(.param .u64 ns)\n" \
	"{ .reg .pred %more; .reg .b64 %t<4>;\n"     \
	"  ld.param.u64 %t0, [ns];\n"                \
	"  mov.u64 %t1, %globaltimer;\n"             \
	"again:\n"                                   \
	"  mov.u64 %t2, %globaltimer;\n"             \
	"  sub.u64 %t3, %t2, %t1;\n"                 \
	"  setp.lt.u64 %more, %t3, %t0;\n"           \
	"  @%more bra again;\n"                      \
	"  ret; }\n"
static const char image[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".visible .entry add_us5_(.param .u64 at, .param .u32 cnt)\n"
	"{ .reg .pred %out; .reg .b32 %r<7>; .reg .b64 %d<4>;\n"
	"  ld.param.u64 %d0, [at];\n"
	"  ld.param.u32 %r0, [cnt];\n"
	"  mov.u32 %r1, %ctaid.x;\n"
	"  mov.u32 %r2, %ntid.x;\n"
	"  mov.u32 %r3, %tid.x;\n"
	"  mad.lo.u32 %r4, %r1, %r2, %r3;\n"
	"  setp.ge.u32 %out, %r4, %r0;\n"
	"  @%out bra done;\n"
	"  cvta.to.global.u64 %d1, %d0;\n"
	"  mul.wide.u32 %d2, %r4, 4;\n"
	"  add.u64 %d3, %d1, %d2;\n"
	"  ld.global.u32 %r5, [%d3];\n"
	"  add.u32 %r6, %r5, 1;\n"
	"  st.global.u32 [%d3], %r6;\n"
	"done:\n"
	"  ret; }\n" SPIN("spin_us100_") SPIN("spin_us4000_") SPIN("spin_us3000000_");

enum {
	WORDS = 1 << 18,
	BYTES = WORDS * 4,
	ADDS = 10,
	SPINS = 20,
	GRAPHS = 5,
	BETWEEN = 2, /* kernels of a capture that are in no graph */
	BEHIND = 8
};

static CUmodule module;
static bool is_real;

static CUfunction function(const char *name)
{
	CUfunction f;

	DO(cuModuleGetFunction, &f, module, name);
	return f;
}

static void begin(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	CUcontext context;
	int device;

	is_real = !dlsym(library, "standin_observe");
	DO(cuInit, 0);
	DO(cuDeviceGet, &device, 0);
	DO(cuDevicePrimaryCtxRetain, &context, device);
	DO(cuCtxSetCurrent, context);
	DO(cuModuleLoadData, &module, image);
}

static void add(CUfunction f, CUdeviceptr at, CUstream stream)
{
	unsigned cnt = WORDS;
	void *arguments[] = {&at, &cnt};

	DO(cuLaunchKernel, f, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL);
}

static void spin(CUfunction f, uint64_t ns, CUstream stream)
{
	void *arguments[] = {&ns};

	DO(cuLaunchKernel, f, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
}

/* Between two events on a stream that does nothing else. */
static float timed(CUstream stream)
{
	CUfunction f = function("spin_us100_");
	CUevent from, to;
	float ms = -1;
	int i;

	DO(cuEventCreate, &from, 0);
	DO(cuEventCreate, &to, 0);
	DO(cuEventRecord, from, stream);
	for (i = 0; i < SPINS; i++)
		spin(f, 100000, stream);
	DO(cuEventRecord, to, stream);
	DO(cuEventSynchronize, to);
	DO(cuEventElapsedTime, &ms, from, to);
	DO(cuEventDestroy_v2, from);
	DO(cuEventDestroy_v2, to);
	return ms;
}

static CUgraphExec graph_of(CUfunction f, CUdeviceptr at, CUstream stream)
{
	CUgraphExec exec;
	CUgraph g;
	int i;

	DO(cuStreamBeginCapture_v2, stream, 1); /* what other threads do is their affair */
	for (i = 0; i < 3; i++)
		add(f, at, stream);
	DO(cuStreamEndCapture, stream, &g);
	DO(cuGraphInstantiateWithFlags, &exec, g, 0);
	DO(cuGraphDestroy, g);
	return exec;
}

static void replay(CUgraphExec exec, int cnt, CUstream stream)
{
	while (cnt--)
		DO(cuGraphLaunch, exec, stream);
	DO(cuStreamSynchronize, stream);
}

static void graph(CUfunction f, CUdeviceptr at, CUstream stream)
{
	CUgraphExec exec = graph_of(f, at, stream);

	replay(exec, GRAPHS, stream);
	DO(cuGraphExecDestroy, exec);
}

/* Number of words that are not what they must be. */
static int work(void)
{
	static unsigned from[WORDS], to[WORDS];
	CUstream stream, other;
	CUfunction f = function("add_us5_");
	CUdeviceptr a, b;
	void *pinned;
	float ms;
	int i, wrong = 0;

	for (i = 0; i < WORDS; i++)
		from[i] = (unsigned)i;
	DO(cuStreamCreate, &stream, CUDA_STREAM_NON_BLOCKING);
	DO(cuStreamCreate, &other, CUDA_STREAM_NON_BLOCKING);
	DO(cuMemAlloc_v2, &a, BYTES);
	DO(cuMemAlloc_v2, &b, BYTES);
	DO(cuMemAllocHost_v2, &pinned, BYTES);
	memcpy(pinned, from, BYTES);
	DO(cuMemcpyHtoD_v2, b, from, BYTES);
	DO(cuMemcpyHtoDAsync_v2, a, pinned, BYTES, stream);
	for (i = 0; i < ADDS; i++)
		add(f, a, stream);
	graph(f, a, stream);
	DO(cuMemcpyDtoDAsync_v2, b, a, BYTES, stream);
	DO(cuMemsetD32Async, a, 7, 1000, stream);
	DO(cuStreamSynchronize, stream);
	ms = timed(other);
	DO(cuMemcpyDtoH_v2, to, b, BYTES);
	for (i = 0; i < WORDS && is_real; i++)
		wrong += to[i] != from[i] + ADDS + 3 * GRAPHS;
	DO(cuMemFreeHost, pinned);
	DO(cuMemFree_v2, a);
	DO(cuMemFree_v2, b);
	DO(cuStreamDestroy_v2, stream);
	DO(cuStreamDestroy_v2, other);
	printf("elapsed %.0f\n", (double)ms * 1e6);
	printf("kernel add_us5_ %d %d\nkernel spin_us100_ %d %d\n", ADDS, ADDS * 5000, SPINS,
	       SPINS * 100000);
	printf("node-kernel add_us5_ %d %d\ngraph %d\n", 3 * GRAPHS, 3 * GRAPHS * 5000, GRAPHS);
	printf("copy HtoD 2 %d\ncopy DtoH 1 %d\ncopy DtoD 1 %d\nmemset 1 4000\n", 2 * BYTES, BYTES,
	       BYTES);
	return wrong;
}

/* The processor hurries on, as far as BEHIND kernels: the GPU always has something to do. */
static int ahead(int cnt)
{
	CUfunction f = function("spin_us4000_");
	CUevent over[BEHIND];
	CUstream stream;
	int i;

	DO(cuStreamCreate, &stream, CUDA_STREAM_NON_BLOCKING);
	for (i = 0; i < BEHIND; i++)
		DO(cuEventCreate, &over[i], CUDA_EVENT_DISABLE_TIMING);
	for (i = 0; i < cnt; i++) {
		if (i >= BEHIND)
			DO(cuEventSynchronize, over[i % BEHIND]);
		spin(f, 4000000, stream);
		DO(cuEventRecord, over[i % BEHIND], stream);
	}
	DO(cuStreamSynchronize, stream);
	printf("kernel spin_us4000_ %d %ld\n", cnt, cnt * 4000000l);
	return 0;
}

static int captures(int cnt)
{
	CUfunction f = function("add_us5_");
	CUgraphExec exec;
	CUstream stream;
	CUdeviceptr at;
	int i, j;

	DO(cuStreamCreate, &stream, CUDA_STREAM_NON_BLOCKING);
	DO(cuMemAlloc_v2, &at, BYTES);
	exec = graph_of(f, at, stream);
	replay(exec, 1, stream);
	for (i = 0; i < cnt; i++) {
		DO(cuProfilerStart);
		for (j = 0; j < BETWEEN; j++)
			add(f, at, stream);
		replay(exec, GRAPHS, stream);
		DO(cuProfilerStop);
		usleep(300000); /* time for CUPTI's kinds to be disabled */
		replay(exec, 2, stream);
	}
	DO(cuGraphExecDestroy, exec);
	DO(cuMemFree_v2, at);
	DO(cuStreamDestroy_v2, stream);
	printf("kernel add_us5_ %d %d\n", cnt * BETWEEN, cnt * BETWEEN * 5000);
	printf("node-kernel add_us5_ %d %d\n", cnt * 3 * GRAPHS, cnt * 3 * GRAPHS * 5000);
	printf("graph %d\n", cnt * GRAPHS);
	return 0;
}

/* As begin(), and four kernels: neither by the addresses that the loader gave, nor counted. */
#define UNSEEN(name, parameters, ...)                                                \
	do {                                                                         \
		int(*real_) parameters = (int(*) parameters)unseen(library, #name);  \
		int result_ = real_ ? real_(__VA_ARGS__) : -1;                       \
		if (result_) {                                                       \
			fprintf(stderr, "%s, by its address: %d\n", #name, result_); \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

static void begin_unseen(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	uint64_t ns = 100000;
	void *arguments[] = {&ns};
	CUcontext context;
	CUfunction f;

	is_real = !dlsym(library, "standin_observe");
	UNSEEN(cuInit, (unsigned), 0);
	UNSEEN(cuDevicePrimaryCtxRetain, (CUcontext *, int), &context, 0);
	UNSEEN(cuCtxSetCurrent, (CUcontext), context);
	UNSEEN(cuModuleLoadData, (CUmodule *, const void *), &module, image);
	UNSEEN(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &f, module,
	       "spin_us100_");
	for (int i = 0; i < 4; i++)
		UNSEEN(cuLaunchKernel,
		       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			unsigned, CUstream, void **, void **),
		       f, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
	UNSEEN(cuCtxSynchronize, (void), );
}

/* Exit handlers that are registered before CUDA's run after them, destructors after all handlers. */
static bool is_slow;

static void linger(void)
{
	usleep(100000);
}

__attribute__((destructor)) static void linger_more(void)
{
	if (is_slow)
		usleep(200000);
}

/* Nothing of CUDA survives a fork: the child begins, and ends without any handler. */
static int leave_at_once(void)
{
	int status = -1, pid = fork();

	if (pid) {
		waitpid(pid, &status, 0);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	begin();
	printf("wrong %d\nthread 1\n", work());
	tally_print();
	fflush(stdout);
	_exit(0);
}

static int perform(const char *what, int cnt)
{
	if (!strcmp(what, "ahead"))
		return ahead(cnt ? cnt : 600);
	if (!strcmp(what, "captures"))
		return captures(cnt ? cnt : 1);
	return work();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int wrong;

	if (!strcmp(what, "leaves"))
		return leave_at_once();
	is_slow = !strcmp(what, "slow");
	if (is_slow)
		atexit(linger);
	if (!strcmp(what, "unseen"))
		begin_unseen();
	else
		begin();
	wrong = perform(what, argc > 2 ? atoi(argv[2]) : 0);
	DO(cuCtxSynchronize);
	if (!strcmp(what, "endless"))
		spin(function("spin_us3000000_"), 3000000000ull, NULL);
	else
		DO(cuModuleUnload, module);
	printf("wrong %d\nthread 1\n", wrong);
	tally_print();
	fflush(stdout);
	if (!strcmp(what, "killed")) {
		sleep(2);
		raise(SIGKILL);
	}
	return wrong != 0;
}
