/*
 * cudnn.c - a stand-in for cuDNN: a handle, descriptors, a convolution that launches two kernels and an activation that
 * launches one.
 */
#include "tests/standin/library.h"

enum {
	TRANSFORM,
	CONVOLVE,
	ACTIVATE
};
static const char *const library_kernels[] = {"_ZN7standin19nchw_to_nhwc_us8_cvEPKfPf",
					      "_ZN7standin17convolve_us70_fwdILi3EEEvPKfPf",
					      "_ZN7standin14activate_us4_fEPf", NULL};

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
	ACTIVATION
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

size_t cudnnGetVersion(void)
{
	return 91300;
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
