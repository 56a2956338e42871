/*
 * binding.cu - NVIDIA's own runtime on the stand-in driver: it binds to what it needs and is then refused, cleanly. The
 * refusal is the driver's (it has no export tables) and must come through unchanged, every time.
 */
#include <cstdio>
#include <cuda_runtime.h>

int main()
{
	void *p = nullptr;
	int n = -1;

	printf("malloc %d\n", (int)cudaMalloc(&p, 100));
	printf("count %d\n", (int)cudaGetDeviceCount(&n));
	printf("malloc %d\n", (int)cudaMalloc(&p, 100));
	return 0;
}
