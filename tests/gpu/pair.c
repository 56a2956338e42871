/*
 * pair.c - what makes GPU programs slow, one thing each, and the same work done well:
 *
 *   pair PROBLEM bad|good
 *
 * `sightline analyze` must name the problem in the report of the first and find nothing of the kind in that of the
 * second. Sizes are such that the two are far apart on the stand-ins (cuda_time.h), also on a machine that is busy, and
 * a run takes some tenths of a second. Plain C, without a toolkit, as train.c.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/standin/cuda_types.h"

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);
int cudaMalloc(void **, size_t);
int cudaMallocHost(void **, size_t);
int cudaFree(void *);
int cudaSetDevice(int);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, CUstream);
int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, CUstream);
int cudaMemsetAsync(void *, int, size_t, CUstream);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaStreamSynchronize(CUstream);
int cudaEventCreateWithFlags(CUevent *, unsigned);
int cudaEventRecord(CUevent, CUstream);
int cudaEventSynchronize(CUevent);
int cudaDeviceSynchronize(void);
int cuModuleLoadData(CUmodule *, const void *);
int cuModuleGetFunction(CUfunction *, CUmodule, const char *);
int cuModuleUnload(CUmodule);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		   CUstream, void **, void **);

#define DO(call)                                                                                   \
	do {                                                                                       \
		int do_result_ = (call);                                                           \
		if (do_result_) {                                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, do_result_); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum {
	KIB = 1 << 10,
	MIB = 1 << 20
};

/* ---- kernels: the stand-in takes the time that their names hold ---- */

enum kernel {
	TINY,
	SHORT,
	SMALL,
	MIDDLE,
	LARGE,
	KERNEL_CNT
};
static const char *const kernel_names[KERNEL_CNT] = {
	"_Z9tiny_us1_Pf",      "_Z11short_us20_Pf",   "_Z12small_us100_Pf",
	"_Z13middle_us500_Pf", "_Z13large_us2000_Pf",
};
static char kernel_hosts[KERNEL_CNT];

static void register_kernels(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **binary = __cudaRegisterFatBinary(&wrapper);
	int i;

	for (i = 0; i < KERNEL_CNT; i++)
		__cudaRegisterFunction(binary, &kernel_hosts[i], (char *)(uintptr_t)kernel_names[i],
				       kernel_names[i], -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
}

static void launch(enum kernel kernel, CUstream stream)
{
	struct cuda_dim3 grid = {256, 1, 1}, block = {256, 1, 1};
	void *arguments[] = {NULL};

	DO(cudaLaunchKernel(&kernel_hosts[kernel], grid, block, arguments, 0, stream));
}

static char *device_memory(size_t bytes)
{
	void *p;

	DO(cudaMalloc(&p, bytes));
	return p;
}

static char *pinned_memory(size_t bytes)
{
	void *p;

	DO(cudaMallocHost(&p, bytes));
	memset(p, 1, bytes);
	return p;
}

static CUstream stream_make(void)
{
	CUstream s;

	DO(cudaStreamCreateWithFlags(&s, CUDA_STREAM_NON_BLOCKING));
	return s;
}

/* ---- the seven classics ---- */

/* A buffer for each step, given back after it. A small one: the stand-in's memory is fresh each time, and to touch it
 * first costs more on some machines than the calls do. */
static void allocation(int bad)
{
	enum {
		BYTES = 64 * KIB
	};
	CUstream s = stream_make();
	char *buffer = bad ? NULL : device_memory(BYTES);
	int i;

	for (i = 0; i < 200; i++) {
		if (bad)
			buffer = device_memory(BYTES);
		DO(cudaMemsetAsync(buffer, 0, BYTES, s));
		launch(MIDDLE, s);
		if (bad)
			DO(cudaFree(buffer));
	}
	DO(cudaStreamSynchronize(s));
}

/* Rows sent one by one, where they could go as one block. */
static void transfer(int bad)
{
	enum {
		ROW = 2 * KIB,
		ROWS = 512
	};
	char *host = pinned_memory(ROW * ROWS), *device = device_memory(ROW * ROWS);
	CUstream s = stream_make();
	int step, row;

	for (step = 0; step < 40; step++) {
		if (bad)
			for (row = 0; row < ROWS; row++)
				DO(cudaMemcpyAsync(device + row * ROW, host + row * ROW, ROW,
						   CUDA_HOST_TO_DEVICE, s));
		else
			DO(cudaMemcpyAsync(device, host, (size_t)ROW * ROWS, CUDA_HOST_TO_DEVICE,
					   s));
		launch(MIDDLE, s);
		launch(LARGE, s);
	}
	DO(cudaStreamSynchronize(s));
}

/* A wait behind every kernel, where one at the end will do. */
static void synchronisation(int bad)
{
	CUstream s = stream_make();
	int i;

	for (i = 0; i < 6000; i++) {
		launch(SHORT, s);
		if (bad)
			DO(cudaDeviceSynchronize());
	}
	DO(cudaStreamSynchronize(s));
}

/* A thousand pieces of work that are over before the next one is launched; the same as one kernel. */
static void kernels(int bad)
{
	CUstream s = stream_make();
	int step, i;

	for (step = 0; step < 20; step++) {
		if (bad)
			for (i = 0; i < 1000; i++)
				launch(TINY, s);
		else
			for (i = 0; i < 2; i++)
				launch(MIDDLE, s);
	}
	DO(cudaStreamSynchronize(s));
}

/* Four streams that share the same kind of work: one gets most of it, or each as much as the others. */
static void imbalance(int bad)
{
	CUstream s[4];
	int step, i, n;

	for (i = 0; i < 4; i++)
		s[i] = stream_make();
	for (step = 0; step < 50; step++)
		for (i = 0; i < 4; i++)
			for (n = !bad ? 10 : i ? 2 : 34; n > 0; n--)
				launch(SMALL, s[i]);
	DO(cudaDeviceSynchronize());
}

/* One column of a wide table, 16 bytes from each row; gathered by the CPU first. */
static void access_pattern(int bad)
{
	enum {
		PITCH = 256,
		WIDTH = 16,
		ROWS = 128 * KIB
	};
	char *table = pinned_memory((size_t)PITCH * ROWS), *column = pinned_memory(WIDTH * ROWS);
	char *device = device_memory(WIDTH * ROWS);
	CUstream s = stream_make();
	int step, row;

	for (step = 0; step < 30; step++) {
		if (bad) {
			DO(cudaMemcpy2DAsync(device, WIDTH, table, PITCH, WIDTH, ROWS,
					     CUDA_HOST_TO_DEVICE, s));
		} else {
			for (row = 0; step == 0 && row < ROWS; row++)
				memcpy(column + row * WIDTH, table + (size_t)row * PITCH, WIDTH);
			DO(cudaMemcpyAsync(device, column, WIDTH * ROWS, CUDA_HOST_TO_DEVICE, s));
		}
		launch(LARGE, s);
	}
	DO(cudaStreamSynchronize(s));
}

/* All of them in one program. */
static void combined(int bad)
{
	allocation(bad);
	transfer(bad);
	synchronisation(bad);
	kernels(bad);
	imbalance(bad);
	access_pattern(bad);
}

/* ---- others ---- */

/* "Asynchronous" copies of memory that the GPU cannot read by itself. */
static void pageable(int bad)
{
	enum {
		BYTES = 8 * MIB
	};
	char *host = bad ? memset(malloc(BYTES), 1, BYTES) : pinned_memory(BYTES);
	char *device = device_memory(BYTES);
	CUstream s = stream_make();
	int i;

	for (i = 0; i < 60; i++) {
		DO(cudaMemcpyAsync(device, host, BYTES, CUDA_HOST_TO_DEVICE, s));
		launch(LARGE, s);
	}
	DO(cudaStreamSynchronize(s));
}

/* To the GPU, work, back: one after the other in the default stream; in two that take turns, side by side. */
static void default_stream(int bad)
{
	enum {
		BYTES = 4 * MIB
	};
	char *in = pinned_memory(BYTES), *out = pinned_memory(BYTES), *device[2];
	CUstream s[2] = {NULL, NULL};
	int step;

	device[0] = device_memory(BYTES);
	device[1] = device_memory(BYTES);
	for (step = 0; !bad && step < 2; step++)
		s[step] = stream_make();
	for (step = 0; step < 80; step++) {
		DO(cudaMemcpyAsync(device[step & 1], in, BYTES, CUDA_HOST_TO_DEVICE, s[step & 1]));
		launch(MIDDLE, s[step & 1]);
		DO(cudaMemcpyAsync(out, device[step & 1], BYTES, CUDA_DEVICE_TO_HOST, s[step & 1]));
	}
	DO(cudaDeviceSynchronize());
}

/* Copies that the thread waits for, though what it does next has nothing to do with them. */
static void blocking(int bad)
{
	enum {
		BYTES = 2 * MIB
	};
	char *host = pinned_memory(BYTES), *device = device_memory(BYTES);
	CUstream s = stream_make();
	int i;

	for (i = 0; i < 300; i++) {
		if (bad)
			DO(cudaMemcpy(device, host, BYTES, CUDA_HOST_TO_DEVICE));
		else
			DO(cudaMemcpyAsync(device, host, BYTES, CUDA_HOST_TO_DEVICE, s));
		launch(SHORT, s);
	}
	DO(cudaStreamSynchronize(s));
}

/* Two GPUs, one of which has most of the work. */
static void devices(int bad)
{
	CUstream s[2];
	int step, i;

	for (i = 0; i < 2; i++) {
		DO(cudaSetDevice(i));
		s[i] = stream_make();
	}
	for (step = 0; step < 60; step++)
		for (i = 0; i < 2; i++) {
			DO(cudaSetDevice(i));
			launch(!bad ? MIDDLE : i ? SMALL : LARGE, s[i]);
		}
	for (i = 0; i < 2; i++)
		DO(cudaStreamSynchronize(s[i]));
}

/* Code that is compiled again for every step. */
static void compiling(int bad)
{
	static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
	CUstream s = stream_make();
	CUmodule module;
	CUfunction f;
	int i;

	for (i = 0; i < 20; i++) {
		if (bad || i == 0) {
			DO(cuModuleLoadData(&module, ptx));
			DO(cuModuleGetFunction(&f, module, "_Z13fused_us2000_Pf"));
		}
		DO(cuLaunchKernel(f, 64, 1, 1, 128, 1, 1, 0, s, NULL, NULL));
		DO(cudaStreamSynchronize(s));
		if (bad)
			DO(cuModuleUnload(module));
	}
}

/* ---- training that waits for its data ---- */

enum {
	SAMPLE = 4 * KIB,
	BATCH = 200,
	STEPS = 60
};

static void sample_path(char *path, size_t len, int i)
{
	snprintf(path, len, "samples/%05d.bin", i);
}

static void write_file(const char *path, size_t bytes)
{
	char *p = calloc(1, bytes);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (!p || fd < 0 || write(fd, p, bytes) != (ssize_t)bytes) {
		perror(path);
		exit(1);
	}
	close(fd);
	free(p);
}

static void read_files(char *batch)
{
	char path[64];
	int i, fd;

	for (i = 0; i < BATCH; i++) {
		sample_path(path, sizeof(path), i);
		fd = open(path, O_RDONLY);
		if (fd < 0 || read(fd, batch + i * SAMPLE, SAMPLE) != SAMPLE)
			exit(1);
		close(fd);
	}
}

static struct {
	char *batches[2];
	sem_t empty, full;
} prefetch;

/* All samples in one file, read ahead. */
static void *reader(void *unused)
{
	int step, fd = open("samples/all.bin", O_RDONLY);

	for (step = 0; step < STEPS; step++) {
		sem_wait(&prefetch.empty);
		if (pread(fd, prefetch.batches[step & 1], BATCH * SAMPLE, 0) != BATCH * SAMPLE)
			exit(1);
		sem_post(&prefetch.full);
	}
	close(fd);
	return unused;
}

/* Reads, then computes, then reads. */
static void load_in_turn(char *batch, char *device, CUstream s)
{
	char path[64];
	int i;

	for (i = 0; i < BATCH; i++) {
		sample_path(path, sizeof(path), i);
		write_file(path, SAMPLE);
	}
	for (i = 0; i < STEPS; i++) {
		read_files(batch);
		DO(cudaMemcpyAsync(device, batch, BATCH * SAMPLE, CUDA_HOST_TO_DEVICE, s));
		launch(SMALL, s);
		launch(SMALL, s);
		DO(cudaStreamSynchronize(s));
	}
}

/* The GPU works on a batch while the next one is on its way and the one after that is being read. */
static void load_ahead(char *batch, char *device, CUstream s)
{
	CUevent done[2];
	pthread_t thread;
	int i;

	write_file("samples/all.bin", BATCH * SAMPLE);
	prefetch.batches[0] = batch;
	prefetch.batches[1] = pinned_memory(BATCH * SAMPLE);
	sem_init(&prefetch.empty, 0, 2);
	sem_init(&prefetch.full, 0, 0);
	if (pthread_create(&thread, NULL, reader, NULL))
		exit(1);
	DO(cudaEventCreateWithFlags(&done[0], CUDA_EVENT_DISABLE_TIMING));
	DO(cudaEventCreateWithFlags(&done[1], CUDA_EVENT_DISABLE_TIMING));
	for (i = 0; i < STEPS; i++) {
		sem_wait(&prefetch.full);
		DO(cudaMemcpyAsync(device, prefetch.batches[i & 1], BATCH * SAMPLE,
				   CUDA_HOST_TO_DEVICE, s));
		launch(LARGE, s);
		launch(LARGE, s);
		DO(cudaEventRecord(done[i & 1], s));
		if (i > 0) {
			DO(cudaEventSynchronize(done[(i - 1) & 1]));
			sem_post(&prefetch.empty);
		}
	}
	DO(cudaStreamSynchronize(s));
	pthread_join(thread, NULL);
}

static void loader(int bad)
{
	char *batch = pinned_memory(BATCH * SAMPLE), *device = device_memory(BATCH * SAMPLE);

	mkdir("samples", 0755);
	(bad ? load_in_turn : load_ahead)(batch, device, stream_make());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int bad);
	} problems[] = {
		{"allocation", allocation},
		{"transfer", transfer},
		{"synchronisation", synchronisation},
		{"kernels", kernels},
		{"imbalance", imbalance},
		{"access", access_pattern},
		{"combined", combined},
		{"pageable", pageable},
		{"default-stream", default_stream},
		{"blocking", blocking},
		{"devices", devices},
		{"compiling", compiling},
		{"loader", loader},
	};
	size_t i;

	if (argc == 3 && (!strcmp(argv[2], "bad") || !strcmp(argv[2], "good")))
		for (i = 0; i < sizeof(problems) / sizeof(*problems); i++)
			if (!strcmp(argv[1], problems[i].name)) {
				setenv("STANDIN_DEVICES", "2", 0);
				register_kernels();
				problems[i].run(!strcmp(argv[2], "bad"));
				return 0;
			}
	fprintf(stderr, "usage: pair PROBLEM bad|good\n");
	return 2;
}
