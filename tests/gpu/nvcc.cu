/*
 * nvcc.cu - what nvcc makes of <<<>>>, symbols, managed variables and graphs. Compiled where a toolkit is found; runs
 * on the stand-ins. Prints what it did as train.c does; the calls that the compiler adds are not printed.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static unsigned long mallocs, copies, launches, sets;
#define DO(call)                                                                  \
	do {                                                                      \
		cudaError_t e_ = (call);                                          \
		if (e_ != cudaSuccess) {                                          \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(e_)); \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

__constant__ float weights[16];
__device__ int steps;
__managed__ int total = 0;

namespace net
{
template <class T, int N> __global__ void scale_us20_(T *p, T by)
{
	p[threadIdx.x] *= by + weights[N] + steps + total;
}
} // namespace net

__global__ void reduce(float *p)
{
	p[0] += p[1];
}

int main()
{
	float host[16] = {1, 2, 3}, back[16] = {0}, *p;
	int n = 0, i;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaDeviceProp properties;

	DO(cudaGetDeviceCount(&n));
	DO(cudaGetDeviceProperties(&properties, 0));
	DO(cudaMalloc(&p, 4096));
	mallocs++;
	DO(cudaMemcpyToSymbol(weights, host, sizeof(host)));
	DO(cudaMemcpyFromSymbol(back, weights, sizeof(back)));
	DO(cudaStreamCreate(&stream));
	for (i = 0; i < 10; i++) {
		net::scale_us20_<float, 3><<<4, 32, 64, stream>>>(p, 2.f), launches++;
		reduce<<<dim3(1, 2), dim3(8, 4)>>>(p), launches++;
	}
	DO(cudaGetLastError());
	DO(cudaMemcpyAsync(p, host, sizeof(host), cudaMemcpyHostToDevice, stream));
	copies++;
	DO(cudaMemsetAsync(p, 0, 64, stream));
	sets++;
	DO(cudaStreamSynchronize(stream));
	DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	net::scale_us20_<double, 1><<<2, 64, 0, stream>>>(reinterpret_cast<double *>(p), 2.),
		launches++;
	DO(cudaStreamEndCapture(stream, &graph));
	DO(cudaGraphInstantiate(&exec, graph, 0));
	for (i = 0; i < 3; i++)
		DO(cudaGraphLaunch(exec, stream));
	reduce<<<1, 4096>>>(p), launches++; /* too many threads */
	printf("refused: %s\n", cudaGetErrorName(cudaGetLastError()));
	DO(cudaDeviceSynchronize());
	DO(cudaFree(p));
	printf("devices %d, %s, %d processors, symbol %g, total %d\n", n, properties.name,
	       properties.multiProcessorCount, back[2], total);
	printf("call %s %lu\ncall %s %lu\ncall %s %lu\ncall %s %lu\n", LAUNCH, launches, COPY,
	       copies, SET, sets, "cudaMalloc", mallocs);
	printf("kernel _ZN3net11scale_us20_IfLi3EEEvPT_S1_ 10 200000\nkernel _Z6reducePf 10 "
	       "50000\n");
	printf("copy HtoD 2 128\ncopy DtoH 1 64\nmemset 1 64\n");
	printf("graph 3\nnode-kernel _ZN3net11scale_us20_IdLi1EEEvPT_S1_ 3 60000\nthread 1\n");
	return 0;
}
