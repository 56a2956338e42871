/* bigreport.h - the made-up program: what its functions and kernels are called, what it calls when. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NONE        INT64_MIN
#define PROC_MAX    16
#define CPU_THREADS 6 /* per process, besides the one that calls CUDA */
#define COLS_MAX    40
#define ROUND \
	60 /* CUDA calls that make the mix come out: 40 launches, 8 copies, 2 sets, 10 others */
#define STEP   (4 * ROUND) /* CUDA calls of a training step */
#define LAYERS 74          /* ranges of a step: itself, 3 phases, 74 layers, 2 of NCCL */

/* ---- names ---- */

static const char *const api[] = {
	"cudaLaunchKernel_v7000",
	"cudaLaunchKernelExC_v11060",
	"cudaMemcpyAsync_v3020",
	"cudaMemsetAsync_v3020",
	"cudaStreamSynchronize_v3020",
	"cudaEventRecord_v3020",
	"cudaEventQuery_v3020",
	"cudaStreamWaitEvent_v3020",
	"cudaMalloc_v3020",
	"cudaStreamIsCapturing_v10000",
	"cudaEventSynchronize_v3020",
	"cudaFuncGetAttributes_v3020",
	"cudaDeviceSynchronize_v3020",
	"cudaHostAlloc_v3020",
};
#define API_CNT  ((int)(sizeof(api) / sizeof(api[0])))
#define KERNELS  96
#define OSRT_CNT ((int)(sizeof(osrt) / sizeof(osrt[0])))

static const char *const osrt[] = {
	"pthread_cond_wait",
	"pthread_cond_timedwait",
	"poll",
	"read",
	"write",
	"futex",
	"pthread_mutex_lock",
	"ioctl",
	"open64",
	"openat64",
	"fopen",
	"fread",
	"pread64",
	"close",
	"mmap",
	"munmap",
	"sem_wait",
	"epoll_wait",
	"recvmsg",
	"sendmsg",
	"usleep",
	"select",
	"fgets",
	"pthread_create",
	"fsync",
	"stat64",
};

static const char *const functors[] = {
	"at::native::CUDAFunctor_add<float>",
	"at::native::AddFunctor<c10::BFloat16>",
	"at::native::BinaryFunctor<float, float, float, "
	"at::native::binary_internal::MulFunctor<float>>",
	"at::native::FillFunctor<c10::Half>",
	"at::native::(anonymous namespace)::silu_kernel",
	"std::array<char *, (unsigned long)3>",
};

/* StringIds: CUDA calls, kernels (signature, short, symbol), libc, threads, registered NVTX texts. */
enum {
	ID_API = 1,
	ID_KERNEL = ID_API + 100,
	ID_SHORT = ID_KERNEL + KERNELS,
	ID_MANGLED = ID_SHORT + KERNELS,
	ID_OSRT = ID_MANGLED + KERNELS,
	ID_THREAD = ID_OSRT + 100,
	ID_NVTX = ID_THREAD + 10,
};

static const char *const nvtx_ids[] = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclAllReduce",
				       "ncclGroupEnd"};
static const char *const thread_names[] = {"python3", "pt_autograd_0", "pt_data_worker",
					   "cuda-EvtHandlr", "pt_nccl_watchdg"};

static void kernel_name(int k, int form, char *buf, size_t len)
{
	static const char *const base[] = {"vectorized_elementwise_kernel",
					   "unrolled_elementwise_kernel",
					   "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize",
					   "flash_fwd_kernel",
					   "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
					   "cunn_SoftMaxForward",
					   "layer_norm_kernel_cuda",
					   "multi_tensor_apply_kernel"};
	const char *b = base[k % 8];

	if (form == 1)
		snprintf(buf, len, "%s_%d", b, k / 8);
	else if (form == 2)
		snprintf(buf, len,
			 "_ZN2at6native%zu%sILi%dENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_"
			 "T1_",
			 strlen(b), b, k);
	else
		snprintf(buf, len,
			 "void at::native::%s_%d<(int)%d, %s, std::array<char *, (unsigned "
			 "long)3>>(int, T2, T3, "
			 "at::native::memory::LoadWithoutCast, OffsetCalculator<(int)2, unsigned "
			 "int, (bool)0>)",
			 b, k / 8, 1 << k % 4, functors[k % 6]);
}

static char layer_text[LAYERS][24], step_text[8][16];

/* ---- random numbers ---- */

static uint64_t mix(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* About @base, with a tail: one in 64 takes up to 16 times as long. */
static int64_t around(uint64_t *x, int64_t base)
{
	uint64_t r = mix(x);
	int64_t t = base / 2 + (int64_t)((r >> 8) % (uint64_t)base);

	return (r & 63) == 0 ? t * (1 + (int64_t)(r >> 58) % 16) : t;
}

static int64_t global_tid(int proc, int thread)
{
	int64_t pid = 41000 + proc * 100;

	return INT64_C(1) << 48 | pid << 24 | (pid + thread);
}

static int64_t global_pid(int proc)
{
	return global_tid(proc, 0) & ~INT64_C(0xFFFFFF);
}

/* ---- a process: the thread that calls CUDA, and its GPU ---- */

enum what {
	LAUNCH,
	COPY,
	SET,
	OTHER
};

struct program {
	uint64_t x;
	int proc;
	int64_t n; /* calls so far */
	int64_t now, gpu_free[3];
	/* the last call, and what it put on the GPU */
	int64_t start, end, correlation, gpu_start, gpu_end, bytes;
	int name, stream, kernel, kind;
	enum what what;
};

static void program_init(struct program *p, int proc)
{
	memset(p, 0, sizeof(*p));
	p->proc = proc;
	p->x = 88172645463325252u + (uint64_t)proc * 7919;
	p->now = 50000000 + proc * 1300000;
}

static void on_gpu(struct program *p, int64_t dur, int stream)
{
	int64_t start = p->end + 2000 + (int64_t)(mix(&p->x) & 1023);

	if (start < p->gpu_free[stream])
		start = p->gpu_free[stream] + 800;
	p->gpu_start = start;
	p->gpu_end = p->gpu_free[stream] = start + dur;
	p->stream = stream;
}

static void call(struct program *p)
{
	static const int64_t other_ns[] = {1500, 900, 1200, 90000, 700, 20000, 600};
	static const int64_t sizes[] = {256, 4096, 65536, 1 << 20, 16 << 20, 64 << 20};
	int at = (int)(p->n % ROUND);
	int64_t r = (int64_t)(mix(&p->x) >> 1);

	p->n++;
	p->correlation = p->n;
	p->what = at % 6 == 5 ? (at == 29 || at == 59 ? SET : COPY) : at % 6 == 4 ? OTHER : LAUNCH;
	p->start = p->now;
	switch (p->what) {
	case LAUNCH:
		p->kernel = (int)(p->n % STEP % 80 + r % 17);
		p->name = p->kernel % 5 == 4;
		p->end = p->start + around(&p->x, 5000);
		on_gpu(p, around(&p->x, 1500 + 300 * p->kernel), r % 29 == 0 ? 1 : 0);
		break;
	case COPY:
		p->name = 2;
		p->bytes = sizes[r % 64 < 4 ? 4 + r % 2 : r % 4] + r / 64 % 4 * 512;
		p->kind = 1 + (int)(r / 64 % 3 == 2 ? 7 : r / 64 % 3);
		p->end = p->start + around(&p->x, 7000);
		on_gpu(p, around(&p->x, 1200 + p->bytes / 40), 2);
		break;
	case SET:
		p->name = 3;
		p->bytes = sizes[r % 4];
		p->end = p->start + around(&p->x, 4000);
		on_gpu(p, around(&p->x, 1400), 0);
		break;
	default:
		p->name = 4 + (int)(r % (API_CNT - 4));
		p->end = p->start + around(&p->x, other_ns[r / 16 % 7]);
	}
	p->now = p->end + around(&p->x, 12000);
}
