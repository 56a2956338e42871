/*
 * steps.c - steps of a training loop under NVTX ranges, in plain C, without a toolkit: every step reads its batch from
 * a file, copies it to the GPU, runs three kernels, each in a range of its own, and copies the result back. Two
 * threads, "steps:0" and "steps:1".
 *
 *   steps COUNT
 *
 * Per thread and step: ranges step > load, forward, backward > update; kernels forward_us30_ in forward, backward_us20_
 * in backward, update_us10_ in update; one copy to the device in load, one from it in step but in no other range.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"
#include "tests/standin/cuda_types.h"

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);
int cudaMalloc(void **, size_t);
int cudaMallocHost(void **, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, CUstream);
int cudaMemsetAsync(void *, int, size_t, CUstream);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaStreamSynchronize(CUstream);
int cudaDeviceSynchronize(void);

#define DO(call)                                                                                   \
	do {                                                                                       \
		int do_result_ = (call);                                                           \
		if (do_result_) {                                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, do_result_); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum {
	BATCH = 1 << 16
};

static char forward, backward, update; /* their addresses are what nvcc makes handles of */
static int step_cnt;

static void launch(const void *kernel, unsigned blocks, CUstream stream)
{
	struct cuda_dim3 grid = {blocks, 2, 1}, block = {64, 1, 1};

	DO(cudaLaunchKernel(kernel, grid, block, NULL, 512, stream));
}

static void step(int file, char *host, void *device, CUstream stream)
{
	push("step");
	push("load");
	if (pread(file, host, BATCH, 0) < 0)
		exit(1);
	DO(cudaMemcpyAsync(device, host, BATCH, 1, stream));
	pop();
	push("forward");
	launch(&forward, 4, stream);
	pop();
	push("backward");
	launch(&backward, 8, stream);
	push("update");
	launch(&update, 1, stream);
	pop();
	pop();
	DO(cudaMemcpyAsync(host, device, BATCH / 2, 2, stream));
	DO(cudaStreamSynchronize(stream));
	pop();
}

static void *thread(void *number)
{
	int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char name[16];
	CUstream stream;
	void *device;
	void *host;

	snprintf(name, sizeof(name), "steps:%d", *(int *)number);
	pthread_setname_np(pthread_self(), name);
	DO(cudaStreamCreateWithFlags(&stream, 1));
	DO(cudaMalloc(&device, BATCH));
	DO(cudaMallocHost(&host, BATCH));
	DO(cudaMemsetAsync(device, 0, BATCH, stream));
	for (int i = 0; i < step_cnt; i++)
		step(file, host, device, stream);
	close(file);
	return NULL;
}

int main(int argc, char **argv)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **binary;
	pthread_t threads[2];
	int numbers[2] = {0, 1};

	step_cnt = argc > 1 ? atoi(argv[1]) : 3;
	if (!nvtx_load()) {
		fprintf(stderr, "steps: no NVTX\n");
		return 1;
	}
	binary = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(binary, &forward, (char *)(uintptr_t) "_Z13forward_us30_PKfPf",
			       "_Z13forward_us30_PKfPf", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, &backward, (char *)(uintptr_t) "_Z14backward_us20_Pf",
			       "_Z14backward_us20_Pf", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, &update, (char *)(uintptr_t) "_Z12update_us10_Pf",
			       "_Z12update_us10_Pf", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
	for (int i = 0; i < 2; i++)
		DO(pthread_create(&threads[i], NULL, thread, &numbers[i]));
	for (int i = 0; i < 2; i++)
		DO(pthread_join(threads[i], NULL));
	DO(cudaDeviceSynchronize());
	return 0;
}
