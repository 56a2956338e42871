/* cudart_core.c - the stand-in runtime: finding the driver, errors, devices. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "tests/standin/cudart_driver.h"

enum {
	RT_INSUFFICIENT_DRIVER = 35,
	RT_INVALID_DEVICE = 101,
	PER_THREAD_DEFAULT_STREAM = 2,
	DEVICE_CNT = 64,
};

struct rt_driver rt_driver[2];
int (*rt_proc)(const char *name, void **address, int version, uint64_t flags, int *status);
__thread int rt_device;

/* ---- binding ---- */

static uint32_t (*tell)(int is_exit, int is_driver, const char *name, uint32_t correlation,
			int result);
static int open_error, bind_error;

static const struct {
	const char *name;
	int version;
	size_t at;
} wanted[] = {
#define RT_WANTED(name, version, parameters) {#name, version, offsetof(struct rt_driver, name)},
	RT_DRIVER(RT_WANTED)
#undef RT_WANTED
};

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (library)
		rt_proc = (__typeof__(rt_proc))dlsym(library, "cuGetProcAddress_v2");
	if (!rt_proc) {
		open_error = RT_INSUFFICIENT_DRIVER;
		return;
	}
	/* With a driver that is no stand-in there is no observer. */
	rt_proc("standin_api", (void **)&tell, 0, 0, NULL);
}

static void bind_driver(void)
{
	void *address;
	size_t i, twin;
	int status;

	rt_proc("", &address, 0, 0, &status);
	for (i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		for (twin = 0; twin < 2; twin++) {
			address = NULL;
			rt_proc(wanted[i].name, &address, wanted[i].version,
				twin ? PER_THREAD_DEFAULT_STREAM : 0, &status);
			if (!address)
				bind_error = RT_INSUFFICIENT_DRIVER;
			*(void **)((char *)&rt_driver[twin] + wanted[i].at) = address;
		}
	if (!bind_error)
		bind_error = LEGACY->cuInit(0);
}

/* ---- a call ---- */

static __thread int last_error;

void rt_enter(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_driver);
	if (tell)
		tell(0, 0, name, 0, 0);
}

int rt_leave(const char *name, int result)
{
	if (result && result != CUDA_NOT_READY)
		last_error = result;
	if (tell)
		tell(1, 0, name, 0, result);
	return result;
}

int rt_up(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (open_error)
		return open_error;
	pthread_once(&once, bind_driver);
	return bind_error;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[DEVICE_CNT];
static unsigned resets;

int rt_ready(void)
{
	static __thread int bound = -1;
	static __thread unsigned bound_resets;
	int r = rt_up();

	if (r || (bound == rt_device && bound_resets == resets))
		return r;
	pthread_mutex_lock(&lock);
	if (!primary[rt_device])
		r = LEGACY->cuDevicePrimaryCtxRetain(&primary[rt_device], rt_device);
	pthread_mutex_unlock(&lock);
	if (!r)
		r = LEGACY->cuCtxSetCurrent(primary[rt_device]);
	if (!r)
		r = rt_load_eagerly();
	if (!r) {
		bound = rt_device;
		bound_resets = resets;
	}
	return r;
}

/* ---- errors ---- */

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{0, "cudaSuccess", "no error"},
	{CUDA_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
	{CUDA_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
	{CUDA_NOT_INITIALIZED, "cudaErrorInitializationError", "initialization error"},
	{CUDA_INVALID_CONFIGURATION, "cudaErrorInvalidConfiguration",
	 "invalid configuration argument"},
	{RT_INSUFFICIENT_DRIVER, "cudaErrorInsufficientDriver",
	 "CUDA driver version is insufficient for CUDA runtime version"},
	{CUDA_INVALID_DEVICE_FUNCTION, "cudaErrorInvalidDeviceFunction", "invalid device function"},
	{CUDA_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{RT_INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{CUDA_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
	{CUDA_NOT_READY, "cudaErrorNotReady", "device not ready"},
	{CUDA_NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
	{CUDA_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
	 "operation not permitted when stream is capturing"},
};

static const char *describe(int error, bool name)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == error)
			return name ? errors[i].name : errors[i].text;
	return "unrecognized error code";
}

const char *cudaGetErrorName(int error)
{
	return describe(error, true);
}

const char *cudaGetErrorString(int error)
{
	return describe(error, false);
}

int cudaPeekAtLastError(void)
{
	rt_enter(__func__);
	if (tell)
		tell(1, 0, __func__, 0, last_error);
	return last_error;
}

int cudaGetLastError(void)
{
	int e = last_error;

	rt_enter(__func__);
	last_error = 0;
	if (tell)
		tell(1, 0, __func__, 0, e);
	return e;
}

/* ---- versions, devices ---- */

static int driver_version(int *version)
{
	if (!version)
		return CUDA_INVALID_VALUE;
	*version = 0; /* without a driver, and that is no error */
	return rt_up() == RT_INSUFFICIENT_DRIVER ? CUDA_OK : LEGACY->cuDriverGetVersion(version);
}

int cudaDriverGetVersion(int *version)
{
	return RT_RUN(0, driver_version(version));
}

int cudaRuntimeGetVersion(int *version)
{
	return RT_RUN(0, version ? (*version = RUNTIME_MAJOR * 1000, 0) : CUDA_INVALID_VALUE);
}

static int device_count(int *cnt)
{
	int r;

	if (!cnt)
		return CUDA_INVALID_VALUE;
	*cnt = 0;
	r = rt_up();
	return r ? r : LEGACY->cuDeviceGetCount(cnt);
}

int cudaGetDeviceCount(int *cnt)
{
	return RT_RUN(0, device_count(cnt));
}

int cudaGetDevice(int *device)
{
	return RT_EARLY(device ? (*device = rt_device, 0) : CUDA_INVALID_VALUE);
}

static int set_device(int device, bool now)
{
	int cnt = 0, before = rt_device, r = LEGACY->cuDeviceGetCount(&cnt);

	if (r)
		return r;
	if (device < 0 || device >= cnt)
		return RT_INVALID_DEVICE;
	rt_device = device;
	r = rt_ready();
	if (r || !now)
		rt_device = before;
	return r;
}

int cudaSetDevice(int device)
{
	return RT_EARLY(set_device(device, true));
}

int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
	(void)device_flags;
	(void)flags;
	return RT_EARLY(set_device(device, false));
}

int cudaSetDeviceFlags(unsigned flags)
{
	return RT_EARLY(LEGACY->cuDevicePrimaryCtxSetFlags(rt_device, flags));
}

int cudaGetDeviceFlags(unsigned *flags)
{
	return RT_CALL(LEGACY->cuCtxGetFlags(flags));
}

int cudaDeviceSynchronize(void)
{
	return RT_CALL(LEGACY->cuCtxSynchronize());
}

int cudaThreadSynchronize(void)
{
	return RT_CALL(LEGACY->cuCtxSynchronize());
}

static int reset(void)
{
	int r = LEGACY->cuCtxSynchronize();

	pthread_mutex_lock(&lock);
	primary[rt_device] = NULL;
	resets++;
	pthread_mutex_unlock(&lock);
	return r ? r : LEGACY->cuDevicePrimaryCtxReset(rt_device);
}

int cudaDeviceReset(void)
{
	return RT_CALL(reset());
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	return RT_EARLY(LEGACY->cuDeviceGetAttribute(value, attribute, device));
}

int cudaDeviceGetPCIBusId(char *text, int len, int device)
{
	return RT_EARLY(LEGACY->cuDeviceGetPCIBusId(text, len, device));
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	return RT_EARLY(LEGACY->cuDeviceCanAccessPeer(can, device, peer));
}

static int peer_access(int device, bool on)
{
	CUcontext peer;
	int r;

	if (device < 0 || device >= DEVICE_CNT)
		return RT_INVALID_DEVICE;
	r = LEGACY->cuDevicePrimaryCtxRetain(&peer, device);
	if (r)
		return r;
	return on ? LEGACY->cuCtxEnablePeerAccess(peer, 0) : LEGACY->cuCtxDisablePeerAccess(peer);
}

int cudaDeviceEnablePeerAccess(int device, unsigned flags)
{
	return RT_CALL(flags ? CUDA_INVALID_VALUE : peer_access(device, true));
}

int cudaDeviceDisablePeerAccess(int device)
{
	return RT_CALL(peer_access(device, false));
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return RT_CALL(LEGACY->cuCtxGetStreamPriorityRange(least, greatest));
}

int cudaDeviceGetDefaultMemPool(CUmemoryPool *pool, int device)
{
	return RT_EARLY(LEGACY->cuDeviceGetDefaultMemPool(pool, device));
}

int cudaDeviceGetMemPool(CUmemoryPool *pool, int device)
{
	return RT_EARLY(LEGACY->cuDeviceGetMemPool(pool, device));
}

int cudaProfilerStart(void)
{
	return RT_CALL(CUDA_OK);
}

int cudaProfilerStop(void)
{
	return RT_CALL(CUDA_OK);
}

struct channel {
	int bits[4], kind;
};

struct channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
	return (struct channel){{x, y, z, w}, kind};
}

/* ---- the driver's entry points for the program ---- */

static int entry_point(const char *name, void **address, int version, uint64_t flags, int *status,
		       bool per_thread)
{
	if (!flags && per_thread)
		flags = PER_THREAD_DEFAULT_STREAM;
	return rt_proc(name, address, version, flags, status);
}

#define ENTRY_POINT(name, parameters, version)                                                \
	int name parameters                                                                   \
	{                                                                                     \
		return RT_EARLY(entry_point(symbol, address, version, flags, status, false)); \
	}                                                                                     \
	int name##_ptsz parameters                                                            \
	{                                                                                     \
		return RT_EARLY(entry_point(symbol, address, version, flags, status, true));  \
	}
ENTRY_POINT(cudaGetDriverEntryPoint,
	    (const char *symbol, void **address, unsigned long long flags, int *status),
	    RUNTIME_MAJOR * 1000)
ENTRY_POINT(cudaGetDriverEntryPointByVersion,
	    (const char *symbol, void **address, unsigned version, unsigned long long flags,
	     int *status),
	    (int)version)
