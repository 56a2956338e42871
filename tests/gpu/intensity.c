/*
 * intensity.c - loads of known intensity, for the hardware metrics of a GPU: no toolkit, kernels are PTX. What it did goes to
 * stdout, a line per fact; from and to are CLOCK_MONOTONIC ns, between which nothing else ran. On the stand-ins kernels have
 * no code: their names say how long they take.
 *
 *   intensity idle S          a context, and nothing
 *   intensity sms K S         kernels that keep K multiprocessors busy
 *   intensity duty MS S       busy for half of each MS milliseconds
 *   intensity copy MIB S      copies within the GPU's memory
 *   intensity read MIB S      reads it; of so few MiB that the L2 cache holds them: reads the cache
 *   intensity tensor S        multiplies half-precision matrices on tensor cores
 *   intensity fma S           single-precision multiply-adds
 *   intensity htod S, dtoh S  copies from, to pinned memory of the host
 */
#include <string.h>
#include <time.h>

#include "tests/standin/cuda_types.h"

#define FUNCTIONS(F)                                                                         \
	F(int, cuInit, (unsigned))                                                           \
	F(int, cuDeviceGet, (int *, int))                                                    \
	F(int, cuDeviceGetAttribute, (int *, int, int))                                      \
	F(int, cuDevicePrimaryCtxRetain, (CUcontext *, int))                                 \
	F(int, cuCtxSetCurrent, (CUcontext))                                                 \
	F(int, cuCtxSynchronize, (void))                                                     \
	F(int, cuModuleLoadData, (CUmodule *, const void *))                                 \
	F(int, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                  \
	F(int, cuFuncSetAttribute, (CUfunction, int, int))                                   \
	F(int, cuMemAlloc_v2, (CUdeviceptr *, size_t))                                       \
	F(int, cuMemAllocHost_v2, (void **, size_t))                                         \
	F(int, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))          \
	F(int, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))                \
	F(int, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))           \
	F(int, cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                  \
	F(int, cuLaunchKernel,                                                               \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	   CUstream, void **, void **))
#define BY_DLSYM "libcuda.so.1"
#include "tests/gpu/tally.h"

#define NS        1000000000ll
#define MIB       (1ull << 20)
#define BUS_BYTES (64 * MIB)
#define ROUNDS    100000 /* of the kernels that compute */

enum {
	ATTRIBUTE_SMS = 16,
	ATTRIBUTE_CLOCK = 13,
	ATTRIBUTE_SHARED = 97,
	FUNCTION_SHARED = 8
};

/* Waits by the GPU's own clock for the given ns. */
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
/* Four chains of their own: what one waits for, the others fill. */
#define MMA(d)                                                                                  \
	"  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%" d "0,%" d "1,%" d "2,%" d "3}," \
	" {%a0,%a1}, {%b0}, {%" d "0,%" d "1,%" d "2,%" d "3};\n"
#define FMA(n) "  fma.rn.f32 %c" n ", %c" n ", %x, %y;\n"
static const char image[] =
	".version 6.5\n.target sm_75\n.address_size 64\n"
	/* Sums up cnt 16-byte words, rounds times. */
	".visible .entry read_us1000_(.param .u64 at, .param .u64 cnt, .param .u32 rounds)\n"
	"{ .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %d<8>;\n"
	"  ld.param.u64 %d0, [at];\n  ld.param.u64 %d1, [cnt];\n  ld.param.u32 %r0, [rounds];\n"
	"  cvta.to.global.u64 %d0, %d0;\n"
	"  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
	"  mad.lo.u32 %r4, %r1, %r2, %r3;\n  mov.u32 %r5, %nctaid.x;\n  mul.lo.u32 %r5, %r5, %r2;\n"
	"  cvt.u64.u32 %d2, %r4;\n  cvt.u64.u32 %d3, %r5;\n  mov.u32 %r6, 0;\n"
	"round:\n  mov.u64 %d4, %d2;\n"
	"next:\n  setp.ge.u64 %p0, %d4, %d1;\n  @%p0 bra over;\n"
	"  shl.b64 %d5, %d4, 4;\n  add.u64 %d6, %d0, %d5;\n"
	"  ld.global.cg.v4.u32 {%r7,%r8,%r9,%r10}, [%d6];\n"
	"  add.u32 %r6, %r6, %r7;\n  add.u32 %r6, %r6, %r8;\n  add.u32 %r6, %r6, %r9;\n"
	"  add.u32 %r6, %r6, %r10;\n  add.u64 %d4, %d4, %d3;\n  bra next;\n"
	"over:\n  sub.u32 %r0, %r0, 1;\n  setp.ne.u32 %p1, %r0, 0;\n  @%p1 bra round;\n"
	"  setp.ne.u32 %p2, %r6, 305419896;\n  @%p2 bra done;\n  st.global.u32 [%d0], %r6;\n"
	"done:\n  ret; }\n"
	".visible .entry tensor_us10000_(.param .u64 at, .param .u32 rounds)\n"
	"{ .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b32 %a<2>; .reg .b32 %b<1>; .reg .b64 %d<1>;\n"
	"  .reg .f32 %e<4>; .reg .f32 %f<4>; .reg .f32 %g<4>; .reg .f32 %h<4>;\n"
	"  ld.param.u64 %d0, [at];\n  ld.param.u32 %r0, [rounds];\n  cvta.to.global.u64 %d0, %d0;\n"
	"  mov.u32 %a0, 0;\n  mov.u32 %a1, 0;\n  mov.u32 %b0, 0;\n"
#define ZERO(x)                                                            \
	"  mov.f32 %" x "0, 0f00000000;\n  mov.f32 %" x "1, 0f00000000;\n" \
	"  mov.f32 %" x "2, 0f00000000;\n  mov.f32 %" x "3, 0f00000000;\n"
	ZERO("e") ZERO("f") ZERO("g") ZERO("h") "again:\n" MMA("e") MMA("f") MMA("g")
		MMA("h") "  sub.u32 %r0, %r0, 1;\n  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra again;\n"
			 "  add.f32 %e0, %e0, %f0;\n  add.f32 %g0, %g0, %h0;\n  add.f32 %e0, %e0, "
			 "%g0;\n"
			 "  setp.eq.f32 %p1, %e0, 0f00000000;\n  @%p1 bra done;\n  st.global.f32 "
			 "[%d0], %e0;\n"
			 "done:\n  ret; }\n"
			 ".visible .entry fma_us10000_(.param .u64 at, .param .u32 rounds)\n"
			 "{ .reg .pred %p<2>; .reg .b32 %r<1>; .reg .b64 %d<1>; .reg .f32 %c<8>; "
			 ".reg .f32 %x; .reg .f32 %y;\n"
			 "  ld.param.u64 %d0, [at];\n  ld.param.u32 %r0, [rounds];\n  "
			 "cvta.to.global.u64 %d0, %d0;\n"
			 "  mov.f32 %x, 0f3F000000;\n  mov.f32 %y, 0f3F800000;\n"
			 "  mov.f32 %c0, %y;\n  mov.f32 %c1, %y;\n  mov.f32 %c2, %y;\n  mov.f32 "
			 "%c3, %y;\n"
			 "  mov.f32 %c4, %y;\n  mov.f32 %c5, %y;\n  mov.f32 %c6, %y;\n  mov.f32 "
			 "%c7, %y;\n"
			 "again:\n" FMA("0") FMA("1") FMA("2") FMA("3") FMA("4") FMA("5") FMA("6")
				 FMA("7") "  sub.u32 %r0, %r0, 1;\n  setp.ne.u32 %p0, %r0, 0;\n  "
					  "@%p0 bra again;\n"
					  "  add.f32 %c0, %c0, %c1;\n  add.f32 %c2, %c2, %c3;\n  "
					  "add.f32 %c4, %c4, %c5;\n"
					  "  add.f32 %c6, %c6, %c7;\n  add.f32 %c0, %c0, %c2;\n  "
					  "add.f32 %c4, %c4, %c6;\n"
					  "  add.f32 %c0, %c0, %c4;\n  setp.eq.f32 %p1, %c0, "
					  "0f00000000;\n  @!%p1 bra done;\n"
					  "  st.global.f32 [%d0], %c0;\n"
					  "done:\n  ret; }\n" SPIN("spin_us10000_")
						  SPIN("spin_us500_") SPIN("spin_us500000_");

static CUmodule module;
static int sms, shared;
static uint64_t total; /* bytes or multiply-adds */

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

static void nap(int64_t ns)
{
	struct timespec t = {ns / NS, ns % NS};

	if (ns > 0)
		nanosleep(&t, NULL);
}

static CUfunction function(const char *name)
{
	CUfunction f;

	DO(cuModuleGetFunction, &f, module, name);
	return f;
}

static void begin(void)
{
	CUcontext context;
	int device, khz;

	DO(cuInit, 0);
	DO(cuDeviceGet, &device, 0);
	DO(cuDeviceGetAttribute, &sms, ATTRIBUTE_SMS, device);
	DO(cuDeviceGetAttribute, &khz, ATTRIBUTE_CLOCK, device);
	DO(cuDeviceGetAttribute, &shared, ATTRIBUTE_SHARED, device);
	DO(cuDevicePrimaryCtxRetain, &context, device);
	DO(cuCtxSetCurrent, context);
	DO(cuModuleLoadData, &module, image);
	printf("sms %d\nclock %d\n", sms, khz);
}

/* A block on a multiprocessor of its own, since it takes most of the shared memory. */
static void spin(CUfunction f, int blocks, uint64_t ns)
{
	void *arguments[] = {&ns};

	DO(cuLaunchKernel, f, (unsigned)blocks, 1, 1, 128, 1, 1, (unsigned)shared, NULL, arguments,
	   NULL);
}

static CUfunction spinner(const char *name)
{
	CUfunction f = function(name);

	if (shared > 48 << 10)
		DO(cuFuncSetAttribute, f, FUNCTION_SHARED, shared);
	return f;
}

/* ---- loads; each call does some of it and waits ---- */

struct load {
	CUfunction f;
	CUdeviceptr from, to;
	void *host;
	uint64_t bytes;
	int blocks;
	int64_t period;
};

static void idle(struct load *l)
{
	(void)l;
	nap(NS / 100);
}

static void few_sms(struct load *l)
{
	for (int i = 0; i < 4; i++)
		spin(l->f, l->blocks, 10000000);
	DO(cuCtxSynchronize);
}

static void duty(struct load *l)
{
	int64_t next = now() / l->period * l->period + l->period;

	nap(next - now());
	spin(l->f, sms, (uint64_t)l->period / 2);
	DO(cuCtxSynchronize);
}

static void copy(struct load *l)
{
	for (int i = 0; i < 8; i++)
		DO(cuMemcpyDtoDAsync_v2, l->to, l->from, l->bytes, NULL);
	DO(cuCtxSynchronize);
	total += 8 * l->bytes;
}

static void read_it(struct load *l)
{
	uint64_t cnt = l->bytes / 16;
	/* At least 256 MiB a kernel. */
	unsigned rounds = l->bytes < 256 * MIB ? (unsigned)(256 * MIB / l->bytes) : 1;
	void *arguments[] = {&l->from, &cnt, &rounds};

	for (int i = 0; i < 8; i++)
		DO(cuLaunchKernel, l->f, (unsigned)sms * 8, 1, 1, 256, 1, 1, 0, NULL, arguments,
		   NULL);
	DO(cuCtxSynchronize);
	total += 8 * rounds * l->bytes;
}

static void compute(struct load *l)
{
	unsigned rounds = ROUNDS;
	void *arguments[] = {&l->from, &rounds};

	for (int i = 0; i < 4; i++)
		DO(cuLaunchKernel, l->f, (unsigned)sms * 4, 1, 1, 256, 1, 1, 0, NULL, arguments,
		   NULL);
	DO(cuCtxSynchronize);
	/* Per thread 8 multiply-adds a round; per warp 4 times 16 x 8 x 8, which is 4 x 32 a thread. */
	total += 4ull * (unsigned)sms * 4 * 256 * ROUNDS * (uint64_t)l->blocks;
}

static void htod(struct load *l)
{
	for (int i = 0; i < 4; i++)
		DO(cuMemcpyHtoDAsync_v2, l->from, l->host, l->bytes, NULL);
	DO(cuCtxSynchronize);
	total += 4 * l->bytes;
}

static void dtoh(struct load *l)
{
	for (int i = 0; i < 4; i++)
		DO(cuMemcpyDtoHAsync_v2, l->host, l->from, l->bytes, NULL);
	DO(cuCtxSynchronize);
	total += 4 * l->bytes;
}

static const struct kind {
	const char *name;
	void (*some)(struct load *);
	int numbers; /* before the seconds */
	const char *kernel;
	const char *total;
} kinds[] = {
	{"idle", idle, 0, NULL, NULL},
	{"sms", few_sms, 1, "spin_us10000_", NULL},
	{"duty", duty, 1, NULL, NULL},
	{"copy", copy, 1, NULL, "bytes"},
	{"read", read_it, 1, "read_us1000_", "bytes"},
	{"tensor", compute, 0, "tensor_us10000_", "fmas"},
	{"fma", compute, 0, "fma_us10000_", "fmas"},
	{"htod", htod, 0, NULL, "bytes"},
	{"dtoh", dtoh, 0, NULL, "bytes"},
};

static void prepare(struct load *l, const struct kind *k, const char *number)
{
	int n = atoi(number);

	l->bytes = k->some == htod || k->some == dtoh ? BUS_BYTES : (uint64_t)n * MIB;
	l->blocks = k->some == few_sms ? n : strcmp(k->name, "tensor") == 0 ? 128 : 8;
	l->period = (int64_t)n * 1000000;
	if (k->some == compute)
		l->bytes = MIB;
	if (k->kernel)
		l->f = k->some == few_sms ? spinner(k->kernel) : function(k->kernel);
	if (k->some == duty)
		l->f = spinner(n > 100 ? "spin_us500000_" : "spin_us500_");
	if (k->some == idle || k->some == few_sms || k->some == duty)
		return;
	DO(cuMemAlloc_v2, &l->from, l->bytes);
	DO(cuMemsetD32Async, l->from, 1, l->bytes / 4, NULL);
	if (k->some == copy)
		DO(cuMemAlloc_v2, &l->to, l->bytes);
	if (k->some == htod || k->some == dtoh)
		DO(cuMemAllocHost_v2, &l->host, l->bytes);
	DO(cuCtxSynchronize);
}

int main(int argc, char **argv)
{
	const struct kind *k = NULL;
	struct load l = {0};
	int64_t from, end;

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0 && argc == 3 + kinds[i].numbers)
			k = &kinds[i];
	if (!k) {
		fprintf(stderr, "usage: intensity KIND [NUMBER] SECONDS (see intensity.c)\n");
		return 2;
	}
	begin();
	prepare(&l, k, argv[2]);
	/* Clocks rise under load. */
	for (end = now() + NS / 2; now() < end;)
		k->some(&l);
	total = 0;
	from = now();
	end = from + (int64_t)(atof(argv[argc - 1]) * NS);
	while (now() < end)
		k->some(&l);
	end = now();
	printf("from %lld\nto %lld\n", (long long)from, (long long)end);
	if (k->total)
		printf("%s %llu\n", k->total, (unsigned long long)total);
	return 0;
}
