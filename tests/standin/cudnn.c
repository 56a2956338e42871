/*
 * cudnn.c - a stand-in for cuDNN: a handle, descriptors, a convolution that launches two kernels, an activation and a
 * normalization that launch one; and the graph API, whose plans launch two.
 */
#include "tests/standin/library.h"

enum {
	TRANSFORM,
	CONVOLVE,
	ACTIVATE,
	NORMALIZE
};
static const char *const library_kernels[] = {
	"_ZN7standin19nchw_to_nhwc_us8_cvEPKfPf", "_ZN7standin17convolve_us70_fwdILi3EEEvPKfPf",
	"_ZN7standin14activate_us4_fEPf", "_ZN7standin16normalize_us12_fEPf", NULL};

enum {
	CUDNN_OK = 0,
	CUDNN_NOT_INITIALIZED = 1001,
	CUDNN_BAD_PARAM = 2000,
	CUDNN_BAD_POINTER = 2002,
	CUDNN_NOT_SUPPORTED = 3000,
	CUDNN_EXECUTION_FAILED = 5000,
};
enum {
	HANDLE = 1,
	TENSOR,
	FILTER,
	CONVOLUTION,
	ACTIVATION,
	BACKEND /* and the kind of descriptor */
};

static int make(void **handle, int kind)
{
	if (!handle)
		return CUDNN_BAD_POINTER;
	*handle = library_make(kind);
	return CUDNN_OK;
}

static int drop(void *handle, int kind)
{
	return library_drop(handle, kind) ? CUDNN_OK : CUDNN_BAD_PARAM;
}

enum {
	VERSION = 91300
};
/* Programs refuse an older one than they were built for: STANDIN_CUDNN_VERSION=92600. */
static int version(void)
{
	const char *wanted = getenv("STANDIN_CUDNN_VERSION");

	return wanted && *wanted ? atoi(wanted) : VERSION;
}

size_t cudnnGetVersion(void)
{
	return version();
}

/* Major, minor and patch level, by number. */
int cudnnGetProperty(int which, int *value)
{
	const int parts[] = {version() / 10000, version() / 100 % 100, version() % 100};

	if (which < 0 || which > 2 || !value)
		return CUDNN_BAD_PARAM;
	*value = parts[which];
	return CUDNN_OK;
}

const char *cudnnGetErrorString(int status)
{
	return status == CUDNN_OK ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_something else";
}

int cudnnCreate(void **handle)
{
	void *p;

	/* The real one fails too when there is no device. */
	if (cudaMalloc(&p, 4096))
		return CUDNN_NOT_INITIALIZED;
	cudaFree(p);
	return make(handle, HANDLE);
}

int cudnnDestroy(void *handle)
{
	return drop(handle, HANDLE);
}

int cudnnSetStream(void *handle, CUstream stream)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return CUDNN_BAD_PARAM;
	h->stream = stream;
	return CUDNN_OK;
}

int cudnnGetStream(void *handle, CUstream *stream)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h || !stream)
		return CUDNN_BAD_PARAM;
	*stream = h->stream;
	return CUDNN_OK;
}

#define DESCRIPTOR(name, kind)                      \
	int cudnnCreate##name##Descriptor(void **d) \
	{                                           \
		return make(d, kind);               \
	}                                           \
	int cudnnDestroy##name##Descriptor(void *d) \
	{                                           \
		return drop(d, kind);               \
	}
DESCRIPTOR(Tensor, TENSOR)
DESCRIPTOR(Filter, FILTER)
DESCRIPTOR(Convolution, CONVOLUTION)
DESCRIPTOR(Activation, ACTIVATION)

static int set(void *descriptor, int kind, int a, int b, int c, int d)
{
	struct library_handle *h = library_find(descriptor, kind);

	if (!h || a <= 0 || b <= 0 || c <= 0 || d <= 0)
		return CUDNN_BAD_PARAM;
	h->numbers[0] = a;
	h->numbers[1] = b;
	h->numbers[2] = c;
	h->numbers[3] = d;
	return CUDNN_OK;
}

int cudnnSetTensor4dDescriptor(void *descriptor, int format, int type, int n, int c, int h, int w)
{
	(void)format, (void)type;
	return set(descriptor, TENSOR, n, c, h, w);
}

int cudnnSetTensorNdDescriptor(void *descriptor, int type, int cnt, const int *dimensions,
			       const int *strides)
{
	struct library_handle *h = library_find(descriptor, TENSOR);
	int i;

	(void)type;
	if (!h || cnt < 3 || cnt > 8 || !dimensions || !strides)
		return CUDNN_BAD_PARAM;
	for (i = 0; i < cnt; i++)
		h->numbers[i] = dimensions[i];
	return CUDNN_OK;
}

int cudnnSetFilter4dDescriptor(void *descriptor, int type, int format, int k, int c, int h, int w)
{
	(void)format, (void)type;
	return set(descriptor, FILTER, k, c, h, w);
}

int cudnnSetConvolution2dDescriptor(void *descriptor, int pad_h, int pad_w, int step_h, int step_w,
				    int dilation_h, int dilation_w, int mode, int type)
{
	(void)pad_h, (void)pad_w, (void)mode, (void)type;
	return set(descriptor, CONVOLUTION, step_h, step_w, dilation_h, dilation_w);
}

int cudnnSetActivationDescriptor(void *descriptor, int mode, int nan, double coefficient)
{
	(void)mode, (void)nan, (void)coefficient;
	return set(descriptor, ACTIVATION, 1, 1, 1, 1);
}

int cudnnGetConvolutionForwardWorkspaceSize(void *handle, void *x, void *w, void *convolution,
					    void *y, int algorithm, size_t *bytes)
{
	(void)algorithm;
	if (!library_find(handle, HANDLE) || !library_find(x, TENSOR) || !library_find(w, FILTER) ||
	    !library_find(convolution, CONVOLUTION) || !library_find(y, TENSOR) || !bytes)
		return CUDNN_BAD_PARAM;
	*bytes = 1 << 16;
	return CUDNN_OK;
}

int cudnnConvolutionForward(void *handle, const void *alpha, void *x_descriptor, const void *x,
			    void *w_descriptor, const void *w, void *convolution, int algorithm,
			    void *workspace, size_t bytes, const void *beta, void *y_descriptor,
			    void *y)
{
	struct library_handle *h = library_find(handle, HANDLE);

	(void)algorithm, (void)workspace, (void)bytes;
	if (!h || !library_find(x_descriptor, TENSOR) || !library_find(w_descriptor, FILTER) ||
	    !library_find(convolution, CONVOLUTION) || !library_find(y_descriptor, TENSOR) ||
	    !alpha || !beta || !x || !w || !y)
		return CUDNN_BAD_PARAM;
	if (library_launch(TRANSFORM, 16, h->stream) || library_launch(CONVOLVE, 64, h->stream))
		return CUDNN_EXECUTION_FAILED;
	return CUDNN_OK;
}

int cudnnActivationForward(void *handle, void *activation, const void *alpha, void *x_descriptor,
			   const void *x, const void *beta, void *y_descriptor, void *y)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h || !library_find(activation, ACTIVATION) || !library_find(x_descriptor, TENSOR) ||
	    !library_find(y_descriptor, TENSOR) || !alpha || !beta || !x || !y)
		return CUDNN_BAD_PARAM;
	return library_launch(ACTIVATE, 16, h->stream) ? CUDNN_EXECUTION_FAILED : CUDNN_OK;
}

/* ---- normalization: as many parameters as PyTorch passes, of which few matter here ---- */

int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *handle, int mode, int operation,
							     void *x, void *z, void *y,
							     void *parameters, void *activation,
							     size_t *bytes)
{
	(void)mode, (void)operation, (void)z, (void)activation;
	if (!library_find(handle, HANDLE) || !library_find(x, TENSOR) || !library_find(y, TENSOR) ||
	    !library_find(parameters, TENSOR) || !bytes)
		return CUDNN_BAD_PARAM;
	*bytes = 4096;
	return CUDNN_OK;
}

int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *handle, int mode, int operation,
							 void *activation, void *x, size_t *bytes)
{
	(void)mode, (void)operation, (void)activation;
	if (!library_find(handle, HANDLE) || !library_find(x, TENSOR) || !bytes)
		return CUDNN_BAD_PARAM;
	*bytes = 512;
	return CUDNN_OK;
}

int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *handle, int mode, int operation,
						      void *x, void *y, void *dy, void *dz,
						      void *dx, void *parameters, void *activation,
						      size_t *bytes)
{
	(void)y, (void)dz;
	return cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
		handle, mode, operation, x, NULL, library_find(dy, TENSOR) ? dx : NULL, parameters,
		activation, bytes);
}

static int normalize(void *handle, const void *from, const void *to)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h || !from || !to)
		return CUDNN_BAD_PARAM;
	return library_launch(NORMALIZE, 32, h->stream) ? CUDNN_EXECUTION_FAILED : CUDNN_OK;
}

int cudnnBatchNormalizationForwardTrainingEx(
	void *handle, int mode, int operation, const void *alpha, const void *beta, void *x_like,
	const void *x, void *z_like, const void *z, void *y_like, void *y, void *parameters,
	const void *scale, const void *bias, double factor, void *mean, void *variance,
	double epsilon, void *saved_mean, void *saved_variance, void *activation, void *workspace,
	size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
	(void)mode, (void)operation, (void)alpha, (void)beta, (void)x_like, (void)z_like, (void)z;
	(void)y_like, (void)parameters, (void)scale, (void)bias, (void)factor, (void)mean;
	(void)variance, (void)epsilon, (void)saved_mean, (void)saved_variance, (void)activation;
	(void)workspace, (void)workspace_bytes, (void)reserve, (void)reserve_bytes;
	return normalize(handle, x, y);
}

int cudnnBatchNormalizationForwardInference(void *handle, int mode, const void *alpha,
					    const void *beta, void *x_like, const void *x,
					    void *y_like, void *y)
{
	(void)mode, (void)alpha, (void)beta, (void)x_like, (void)y_like;
	return normalize(handle, x, y);
}

int cudnnBatchNormalizationBackwardEx(void *handle, int mode, int operation, const void *alpha,
				      const void *beta, const void *alpha2, const void *beta2,
				      void *x_like, const void *x, void *y_like, const void *y,
				      void *dy_like, const void *dy, void *dz_like, void *dz,
				      void *dx_like, void *dx)
{
	(void)mode, (void)operation, (void)alpha, (void)beta, (void)alpha2, (void)beta2, (void)x;
	(void)x_like, (void)y_like, (void)y, (void)dy_like, (void)dz_like, (void)dz, (void)dx_like;
	return normalize(handle, dy, dx);
}

/*
 * ---- the graph API: descriptors are bags of attributes; what is asked for was set, or is made up here ----
 */
enum {
	PLAN = 5,
	KINDS = 64,
	RESULTS_OF_HEURISTICS = 202,
	ENGINE_OF_CONFIGURATION = 300,
	KNOBS = 302,
	PLAN_WORKSPACE = 402,
	NOTES_FIRST = 1303, /* numerical, layout, behaviour: none */
	NOTES_LAST = 1305,
	TYPE_INT64 = 3,
	TYPE_DESCRIPTOR = 15,
};
struct attribute {
	struct attribute *next;
	int name, type;
	int64_t cnt;
	char values[];
};

static size_t size_of(int type)
{
	switch (type) {
	case 0: /* handle */
	case TYPE_INT64:
	case 5: /* double */
	case 6: /* pointer */
	case TYPE_DESCRIPTOR:
		return 8;
	case 2:  /* bool */
	case 20: /* char */
		return 1;
	case 26: /* fraction */
		return 16;
	default:
		return 4;
	}
}

static struct library_handle *descriptor(const void *d)
{
	struct library_handle *h;

	pthread_mutex_lock(&library_lock);
	for (h = library_handles; h && (h != d || h->kind < BACKEND); h = h->next)
		;
	pthread_mutex_unlock(&library_lock);
	return h;
}

int cudnnBackendCreateDescriptor(int kind, void **d)
{
	return kind < 0 || kind >= KINDS ? CUDNN_NOT_SUPPORTED : make(d, BACKEND + kind);
}

int cudnnBackendDestroyDescriptor(void *d)
{
	struct library_handle *h = descriptor(d);
	struct attribute *a, *next;

	if (!h)
		return CUDNN_BAD_PARAM;
	for (a = h->known; a; a = next) {
		next = a->next;
		free(a);
	}
	return drop(d, h->kind);
}

int cudnnBackendInitialize(void *d)
{
	return descriptor(d) ? CUDNN_OK : CUDNN_BAD_PARAM;
}

int cudnnBackendFinalize(void *d)
{
	struct library_handle *h = descriptor(d);

	if (!h)
		return CUDNN_BAD_PARAM;
	h->numbers[0] = 1; /* from now on it can be asked and executed, and not changed */
	return CUDNN_OK;
}

int cudnnBackendSetAttribute(void *d, int name, int type, int64_t cnt, const void *values)
{
	struct library_handle *h = descriptor(d);
	struct attribute *a;

	if (!h || h->numbers[0] || cnt < 0 || (cnt && !values))
		return CUDNN_BAD_PARAM;
	a = calloc(1, sizeof(*a) + (size_t)cnt * size_of(type));
	if (!a)
		abort();
	*a = (struct attribute){.next = h->known, .name = name, .type = type, .cnt = cnt};
	if (cnt)
		memcpy(a->values, values, (size_t)cnt * size_of(type));
	h->known = a;
	return CUDNN_OK;
}

static int answer(const struct attribute *a, int64_t room, int64_t *cnt, void *values)
{
	if (cnt)
		*cnt = a->cnt;
	if (values && room > 0)
		memcpy(values, a->values,
		       (size_t)(room < a->cnt ? room : a->cnt) * size_of(a->type));
	return CUDNN_OK;
}

int cudnnBackendGetAttribute(void *d, int name, int type, int64_t room, int64_t *cnt, void *values)
{
	struct library_handle *h = descriptor(d), *of;
	struct attribute *a;
	int64_t none;

	if (!h || !h->numbers[0])
		return CUDNN_BAD_PARAM;
	if (!cnt)
		cnt = &none;
	for (a = h->known; a; a = a->next)
		if (a->name == name && a->type == type)
			return answer(a, room, cnt, values);
	*cnt = 1;
	if (name == RESULTS_OF_HEURISTICS || name == ENGINE_OF_CONFIGURATION) {
		/* The caller made the descriptor; it becomes the only engine there is. */
		of = room > 0 && values ? descriptor(*(void **)values) : NULL;
		if (room > 0 && !of)
			return CUDNN_BAD_PARAM;
		if (of)
			of->numbers[0] = 1;
		return CUDNN_OK;
	}
	if (name == KNOBS || (name >= NOTES_FIRST && name <= NOTES_LAST)) {
		*cnt = 0;
		return CUDNN_OK;
	}
	if (type != TYPE_INT64 || room < 1 || !values)
		return CUDNN_NOT_SUPPORTED;
	*(int64_t *)values = name == PLAN_WORKSPACE ? 4096 : 0;
	return CUDNN_OK;
}

int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
	struct library_handle *h = library_find(handle, HANDLE),
			      *p = library_find(plan, BACKEND + PLAN);

	if (!h || !p || !p->numbers[0] || !descriptor(pack))
		return CUDNN_BAD_PARAM;
	return library_launch(TRANSFORM, 16, h->stream) || library_launch(CONVOLVE, 64, h->stream)
		       ? CUDNN_EXECUTION_FAILED
		       : CUDNN_OK;
}
