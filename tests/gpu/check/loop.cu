/* loop.cu - kernels of about 5 us back to back: prints ns per launch. Arguments: how many, how often before. */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>

__global__ void small(long long ticks)
{
	long long begin = clock64();

	while (clock64() - begin < ticks)
		;
}

static double seconds()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 100000, before = argc > 2 ? atoi(argv[2]) : 1000,
	    khz = 0;
	double begin;

	if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0) != cudaSuccess)
		return 1;
	for (int i = 0; i < before; i++)
		small<<<1, 32>>>(khz * 5ll / 1000);
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 1;
	begin = seconds();
	for (int i = 0; i < cnt; i++)
		small<<<1, 32>>>(khz * 5ll / 1000);
	cudaDeviceSynchronize();
	printf("%.1f\n", (seconds() - begin) * 1e9 / cnt);
	return cudaGetLastError() != cudaSuccess;
}
