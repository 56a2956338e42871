/*
 * cufft.c - a stand-in for cuFFT: a plan is a number, has a type, a size and memory to work in, and is executed by a kernel
 * for each prime number that the real one would split a size by (here: one, and a second for three dimensions).
 */
#include "tests/standin/library.h"

enum {
	SINGLE,
	DOUBLE,
	TRANSPOSE
};
static const char *const library_kernels[] = {"_Z24standin_fft_single_us25_P6float2",
					      "_Z24standin_fft_double_us50_P7double2",
					      "_Z26standin_fft_transpose_us8_Pv", NULL};

enum { /* cufftResult */
	FFT_OK = 0,
	FFT_INVALID_PLAN = 1,
	FFT_ALLOC_FAILED = 2,
	FFT_INVALID_TYPE = 3,
	FFT_INVALID_VALUE = 4,
	FFT_EXEC_FAILED = 6,
	FFT_INVALID_SIZE = 8,
	FFT_NO_WORKSPACE = 13,
};
enum { /* cufftType */
	C2C = 0x29,
	R2C = 0x2a,
	C2R = 0x2c,
	Z2Z = 0x69,
	D2Z = 0x6a,
	Z2D = 0x6c,
};
enum {
	PLAN = 1,
	PLAN_MAX = 64,
	/* numbers of a plan; no type: it was created and not made */
	TYPE = 0,
	RANK,
	BATCH,
	BYTES,
	OWN_AREA, /* allocated here */
	IS_MANUAL,
};
static struct library_handle *plans[PLAN_MAX]; /* a plan's number is its place + 1 */

static struct library_handle *plan_of(int number)
{
	return number > 0 && number <= PLAN_MAX ? library_find(plans[number - 1], PLAN) : NULL;
}

static void area_free(struct library_handle *plan)
{
	if (plan->numbers[OWN_AREA])
		cudaFree(plan->workspace);
	plan->numbers[OWN_AREA] = 0;
	plan->workspace = NULL;
}

int cufftCreate(int *number)
{
	int i;

	if (!number)
		return FFT_INVALID_VALUE;
	for (i = 0; i < PLAN_MAX && plans[i]; i++)
		;
	if (i == PLAN_MAX)
		return FFT_ALLOC_FAILED;
	plans[i] = library_make(PLAN);
	*number = i + 1;
	return FFT_OK;
}

int cufftDestroy(int number)
{
	struct library_handle *plan = plan_of(number);

	if (!plan)
		return FFT_INVALID_PLAN;
	area_free(plan);
	plans[number - 1] = NULL;
	library_drop(plan, PLAN);
	return FFT_OK;
}

int cufftSetStream(int number, CUstream stream)
{
	struct library_handle *plan = plan_of(number);

	if (!plan)
		return FFT_INVALID_PLAN;
	plan->stream = stream;
	return FFT_OK;
}

int cufftGetVersion(int *version)
{
	if (!version)
		return FFT_INVALID_VALUE;
	*version = 12000;
	return FFT_OK;
}

/* ---- plans are made: sizes, and memory where the program does not bring its own ---- */

static bool is_type(int type)
{
	return type == C2C || type == R2C || type == C2R || type == Z2Z || type == D2Z ||
	       type == Z2D;
}

static int make(int number, int rank, const long long *n, int type, long long batch, size_t *bytes)
{
	struct library_handle *plan = plan_of(number);
	long long size = type & 0x40 ? 16 : 8;
	int i;

	if (!plan || plan->numbers[TYPE])
		return FFT_INVALID_PLAN;
	if (!bytes || rank < 1 || rank > 3)
		return FFT_INVALID_VALUE;
	if (!is_type(type))
		return FFT_INVALID_TYPE;
	for (i = 0; i < rank; i++) {
		if (n[i] < 1)
			return FFT_INVALID_SIZE;
		size *= n[i];
	}
	if (batch < 1 || size * batch > 1 << 30)
		return FFT_INVALID_SIZE;
	*bytes = (size_t)(size * batch);
	if (!plan->numbers[IS_MANUAL]) {
		if (cudaMalloc(&plan->workspace, *bytes))
			return FFT_ALLOC_FAILED;
		plan->numbers[OWN_AREA] = 1;
	}
	plan->numbers[TYPE] = type;
	plan->numbers[RANK] = rank;
	plan->numbers[BATCH] = (int)batch;
	plan->numbers[BYTES] = (int)*bytes;
	return FFT_OK;
}

int cufftMakePlan1d(int plan, int n, int type, int batch, size_t *bytes)
{
	return make(plan, 1, (long long[]){n}, type, batch, bytes);
}

int cufftMakePlan2d(int plan, int n0, int n1, int type, size_t *bytes)
{
	return make(plan, 2, (long long[]){n0, n1}, type, 1, bytes);
}

int cufftMakePlan3d(int plan, int n0, int n1, int n2, int type, size_t *bytes)
{
	return make(plan, 3, (long long[]){n0, n1, n2}, type, 1, bytes);
}

static int make_many(int plan, int rank, const int *n, int type, int batch, size_t *bytes)
{
	long long sizes[3] = {0};
	int i;

	if (!n || rank < 1 || rank > 3)
		return FFT_INVALID_VALUE;
	for (i = 0; i < rank; i++)
		sizes[i] = n[i];
	return make(plan, rank, sizes, type, batch, bytes);
}

int cufftMakePlanMany(int plan, int rank, int *n, int *in, int in_step, int in_far, int *out,
		      int out_step, int out_far, int type, int batch, size_t *bytes)
{
	(void)in, (void)in_step, (void)in_far, (void)out, (void)out_step, (void)out_far;
	return make_many(plan, rank, n, type, batch, bytes);
}

int cufftMakePlanMany64(int plan, int rank, long long *n, long long *in, long long in_step,
			long long in_far, long long *out, long long out_step, long long out_far,
			int type, long long batch, size_t *bytes)
{
	(void)in, (void)in_step, (void)in_far, (void)out, (void)out_step, (void)out_far;
	return n ? make(plan, rank, n, type, batch, bytes) : FFT_INVALID_VALUE;
}

/* The types of cudaDataType, as one of cufftType; half precision takes as long as single. 0: no such transform. */
static int type_of(int in, int out)
{
	bool in_double = in & 1, in_complex = in & 4, out_complex = out & 4;

	if (in < 0 || in > 6 || out < 0 || out > 6 || (out & 1) != in_double ||
	    (!in_complex && !out_complex))
		return 0;
	if (in_double)
		return !in_complex ? D2Z : out_complex ? Z2Z : Z2D;
	return !in_complex ? R2C : out_complex ? C2C : C2R;
}

int cufftXtMakePlanMany(int plan, int rank, long long *n, long long *in, long long in_step,
			long long in_far, int in_type, long long *out, long long out_step,
			long long out_far, int out_type, long long batch, size_t *bytes, int type)
{
	(void)in, (void)in_step, (void)in_far, (void)out, (void)out_step, (void)out_far, (void)type;
	if (!type_of(in_type, out_type))
		return FFT_INVALID_TYPE;
	return n ? make(plan, rank, n, type_of(in_type, out_type), batch, bytes)
		 : FFT_INVALID_VALUE;
}

/* Creates and makes; what cannot be made is not left behind. */
#define PLAN_OF(number, make)                          \
	({                                             \
		size_t plan_bytes_;                    \
		int plan_r_ = cufftCreate(number);     \
		if (!plan_r_) {                        \
			plan_r_ = (make);              \
			if (plan_r_)                   \
				cufftDestroy(*number); \
		}                                      \
		plan_r_;                               \
	})

int cufftPlan1d(int *plan, int n, int type, int batch)
{
	return PLAN_OF(plan, make(*plan, 1, (long long[]){n}, type, batch, &plan_bytes_));
}

int cufftPlan2d(int *plan, int n0, int n1, int type)
{
	return PLAN_OF(plan, make(*plan, 2, (long long[]){n0, n1}, type, 1, &plan_bytes_));
}

int cufftPlan3d(int *plan, int n0, int n1, int n2, int type)
{
	return PLAN_OF(plan, make(*plan, 3, (long long[]){n0, n1, n2}, type, 1, &plan_bytes_));
}

int cufftPlanMany(int *plan, int rank, int *n, int *in, int in_step, int in_far, int *out,
		  int out_step, int out_far, int type, int batch)
{
	(void)in, (void)in_step, (void)in_far, (void)out, (void)out_step, (void)out_far;
	return PLAN_OF(plan, make_many(*plan, rank, n, type, batch, &plan_bytes_));
}

int cufftGetSize(int number, size_t *bytes)
{
	struct library_handle *plan = plan_of(number);

	if (!plan || !plan->numbers[TYPE])
		return FFT_INVALID_PLAN;
	if (!bytes)
		return FFT_INVALID_VALUE;
	*bytes = (size_t)plan->numbers[BYTES];
	return FFT_OK;
}

int cufftSetAutoAllocation(int number, int automatic)
{
	struct library_handle *plan = plan_of(number);

	if (!plan)
		return FFT_INVALID_PLAN;
	plan->numbers[IS_MANUAL] = !automatic;
	return FFT_OK;
}

int cufftSetWorkArea(int number, void *area)
{
	struct library_handle *plan = plan_of(number);

	if (!plan)
		return FFT_INVALID_PLAN;
	area_free(plan);
	plan->workspace = area;
	return FFT_OK;
}

/* ---- execution ---- */

static int execute(int number, int type, const void *in, const void *out, int direction)
{
	struct library_handle *plan = plan_of(number);
	int r;

	if (!plan || plan->numbers[TYPE] != type)
		return FFT_INVALID_PLAN;
	if (!in || !out || (direction != 1 && direction != -1))
		return FFT_INVALID_VALUE;
	if (!plan->workspace)
		return FFT_NO_WORKSPACE;
	r = library_launch(type & 0x40 ? DOUBLE : SINGLE, (unsigned)plan->numbers[BATCH],
			   plan->stream);
	if (!r && plan->numbers[RANK] == 3)
		r = library_launch(TRANSPOSE, 16, plan->stream);
	return r ? FFT_EXEC_FAILED : FFT_OK;
}

#define BOTH_WAYS(type)                                                   \
	int cufftExec##type(int plan, void *in, void *out, int direction) \
	{                                                                 \
		return execute(plan, type, in, out, direction);           \
	}
#define ONE_WAY(type, direction)                                \
	int cufftExec##type(int plan, void *in, void *out)      \
	{                                                       \
		return execute(plan, type, in, out, direction); \
	}
BOTH_WAYS(C2C)
BOTH_WAYS(Z2Z)
ONE_WAY(R2C, -1)
ONE_WAY(D2Z, -1)
ONE_WAY(C2R, 1)
ONE_WAY(Z2D, 1)

int cufftXtExec(int plan, void *in, void *out, int direction)
{
	struct library_handle *h = plan_of(plan);

	return execute(plan, h ? h->numbers[TYPE] : 0, in, out, direction);
}
