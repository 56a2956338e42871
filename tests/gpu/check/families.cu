/*
 * families.cu - each family of the runtime's functions on a real GPU, with results that are checked. It prints what it did
 * as tests/gpu/train.c does (counts and bytes; how long kernels take, only the GPU knows). Argument: threads.
 */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include <atomic>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda_runtime.h>

static std::atomic<unsigned long> adds, spins, node_adds, copies[5], bytes[5], node_copies,
	node_bytes, sets, set_bytes, graphs;
#define DO(call)                                                                      \
	do {                                                                          \
		cudaError_t e_ = (call);                                              \
		if (e_ != cudaSuccess) {                                              \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorName(e_));                                \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

__constant__ int increment;
__managed__ int managed_sum;

__global__ void add(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] += increment;
}

template <int N> __global__ void spin(long long ticks)
{
	long long begin = clock64();

	while (clock64() - begin < ticks)
		;
	if (threadIdx.x == 0 && blockIdx.x == 0)
		atomicAdd(&managed_sum, N);
}

static const int CNT = 1 << 18;

static void copy(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s)
{
	DO(cudaMemcpyAsync(to, from, n, kind, s));
	copies[kind]++;
	bytes[kind] += n;
}

static void host_function(void *p)
{
	++*static_cast<std::atomic<int> *>(p);
}

static void streams_and_events(int *host)
{
	cudaStream_t a, b;
	cudaEvent_t begin, end;
	std::atomic<int> called{0};
	float ms = -1;
	int *x, *y;

	DO(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	DO(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1));
	DO(cudaEventCreate(&begin));
	DO(cudaEventCreate(&end));
	DO(cudaMalloc(&x, CNT * sizeof(int)));
	DO(cudaMallocAsync(&y, CNT * sizeof(int), b));
	DO(cudaEventRecord(begin, a));
	copy(x, host, CNT * sizeof(int), cudaMemcpyHostToDevice, a);
	for (int i = 0; i < 10; i++, adds++)
		add<<<CNT / 256, 256, 0, a>>>(x, CNT);
	DO(cudaEventRecord(end, a));
	DO(cudaStreamWaitEvent(b, end, 0));
	copy(y, x, CNT * sizeof(int), cudaMemcpyDeviceToDevice, b);
	spin<7><<<4, 32, 0, b>>>(100000), spins++;
	DO(cudaLaunchHostFunc(b, host_function, &called));
	copy(host, y, CNT * sizeof(int), cudaMemcpyDeviceToHost, b);
	DO(cudaMemsetAsync(x, 0, 4096, b));
	sets++, set_bytes += 4096;
	DO(cudaStreamSynchronize(b));
	DO(cudaEventSynchronize(end));
	DO(cudaEventElapsedTime(&ms, begin, end));
	for (int i = 0; i < CNT; i++)
		if (host[i] != i + 30)
			exit(3);
	if (called != 1 || !(ms > 0))
		exit(4);
	DO(cudaFreeAsync(y, b));
	DO(cudaFree(x));
	DO(cudaEventDestroy(begin));
	DO(cudaEventDestroy(end));
	DO(cudaStreamDestroy(a));
	DO(cudaStreamDestroy(b));
}

static void graph(int *host)
{
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t exec;
	int *x;

	DO(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	DO(cudaMalloc(&x, CNT * sizeof(int)));
	DO(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	DO(cudaMemcpyAsync(x, host, CNT * sizeof(int), cudaMemcpyHostToDevice, s));
	for (int i = 0; i < 5; i++)
		add<<<CNT / 256, 256, 0, s>>>(x, CNT);
	DO(cudaStreamEndCapture(s, &g));
	DO(cudaGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 20;
	     i++, graphs++, node_adds += 5, node_copies++, node_bytes += CNT * sizeof(int))
		DO(cudaGraphLaunch(exec, s));
	DO(cudaStreamSynchronize(s));
	DO(cudaGraphExecDestroy(exec));
	DO(cudaGraphDestroy(g));
	DO(cudaFree(x));
	DO(cudaStreamDestroy(s));
}

static void work()
{
	int *host;

	DO(cudaSetDevice(0));
	DO(cudaMallocHost(&host, CNT * sizeof(int)));
	for (int i = 0; i < CNT; i++)
		host[i] = i;
	streams_and_events(host);
	graph(host);
	DO(cudaFreeHost(host));
}

/* A forked child has no GPU; the parent's must stay as it is. */
static int child()
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		void *p;

		_exit(cudaMalloc(&p, 100) == cudaSuccess);
	}
	waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 1, three = 3, status;
	std::vector<std::thread> threads;

	DO(cudaMemcpyToSymbol(increment, &three, sizeof(three)));
	copies[cudaMemcpyHostToDevice]++;
	bytes[cudaMemcpyHostToDevice] += sizeof(three);
	for (int i = 1; i < cnt; i++)
		threads.emplace_back(work);
	work();
	for (auto &t : threads)
		t.join();
	status = child();
	spin<1><<<1, 32>>>(1000), spins++;
	DO(cudaDeviceSynchronize());
	printf("managed %d, child %d\n", managed_sum, status);
	printf("kernel _Z3addPii %lu 0\nnode-kernel _Z3addPii %lu 0\n", adds.load(),
	       node_adds.load());
	printf("kernel _Z4spinILi1EEvx 1 0\nkernel _Z4spinILi7EEvx %lu 0\n", spins.load() - 1);
	printf("copy HtoD %lu %lu\ncopy DtoH %lu %lu\ncopy DtoD %lu %lu\n",
	       copies[cudaMemcpyHostToDevice].load(), bytes[cudaMemcpyHostToDevice].load(),
	       copies[cudaMemcpyDeviceToHost].load(), bytes[cudaMemcpyDeviceToHost].load(),
	       copies[cudaMemcpyDeviceToDevice].load(), bytes[cudaMemcpyDeviceToDevice].load());
	printf("node-copy HtoD %lu %lu\nmemset %lu %lu\ngraph %lu\n", node_copies.load(),
	       node_bytes.load(), sets.load(), set_bytes.load(), graphs.load());
	printf("call cudaGraphLaunch %lu\ncall cudaMemsetAsync %lu\nthread %d\n", graphs.load(),
	       sets.load(), cnt + 1); /* the child of the fork called too */
	return 0;
}
