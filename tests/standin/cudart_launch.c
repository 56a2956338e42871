/* cudart_launch.c - the stand-in runtime: what compiled programs register, and launching it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cudart_driver.h"

/* ---- what is registered: by constructors, before any driver is there ---- */

struct image {
	const void *data;
	CUlibrary library; /* loaded at first use */
};

struct function {
	const void *host;
	const char *name;
	struct image *image;
	CUkernel kernel;
};

struct variable {
	const void *host;
	size_t bytes;
	CUdeviceptr address;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct function *functions;
static size_t function_cnt;
static struct variable *variables;
static size_t variable_cnt;

/* One more at the end of the array that @array points to. */
static void *append(void *array, size_t *cnt, size_t bytes)
{
	void **at = array;

	if (*cnt % 64 == 0)
		*at = realloc(*at, (*cnt + 64) * bytes);
	if (!*at)
		abort();
	memset((char *)*at + *cnt * bytes, 0, bytes);
	return (char *)*at + (*cnt)++ * bytes;
}

void **__cudaRegisterFatBinary(void *binary)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		abort();
	image->data = binary;
	return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, void *tid, void *bid, void *block, void *grid,
			    int *warp)
{
	struct function *f;

	(void)device;
	(void)thread_limit;
	(void)tid;
	(void)bid;
	(void)block;
	(void)grid;
	(void)warp;
	pthread_mutex_lock(&lock);
	f = append(&functions, &function_cnt, sizeof(*f));
	f->host = host;
	f->name = name;
	f->image = (struct image *)handle;
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
		       size_t bytes, int constant, int global)
{
	struct variable *v;

	(void)handle;
	(void)device;
	(void)name;
	(void)is_extern;
	(void)constant;
	(void)global;
	pthread_mutex_lock(&lock);
	v = append(&variables, &variable_cnt, sizeof(*v));
	v->host = host;
	v->bytes = bytes;
	pthread_mutex_unlock(&lock);
}

/* Managed variables are plain memory, there from the beginning. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
			      int is_extern, size_t bytes, int constant, int global)
{
	*host = calloc(1, bytes ? bytes : 1);
	__cudaRegisterVar(handle, (char *)host, device, name, is_extern, bytes, constant, global);
	variables[variable_cnt - 1].address = (CUdeviceptr)(uintptr_t)*host;
}

/* At exit, when the driver may be gone already; kernels of an unloaded library cannot be launched any more. */
void __cudaUnregisterFatBinary(void **handle)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < function_cnt; i++)
		if (functions[i].image == (struct image *)handle)
			functions[i].host = NULL;
	pthread_mutex_unlock(&lock);
	free(handle);
}

/* ---- and found ---- */

static int load(struct function *f)
{
	struct image *image = f->image;
	int r = 0;

	if (!image->library)
		r = LEGACY->cuLibraryLoadData(&image->library, image->data, NULL, NULL, 0, NULL,
					      NULL, 0);
	return r ? r : LEGACY->cuLibraryGetKernel(&f->kernel, image->library, f->name);
}

int rt_load_eagerly(void)
{
	int mode, r = LEGACY->cuModuleGetLoadingMode(&mode);
	size_t i;

	if (r || mode != 1)
		return r;
	pthread_mutex_lock(&lock);
	for (i = 0; i < function_cnt && !r; i++)
		if (functions[i].host && !functions[i].kernel)
			r = load(&functions[i]);
	pthread_mutex_unlock(&lock);
	return r;
}

int rt_kernel(CUkernel *kernel, const void *function)
{
	const char *name;
	size_t i;
	int r;

	if (!kernel || !function)
		return CUDA_INVALID_DEVICE_FUNCTION;
	pthread_mutex_lock(&lock);
	for (i = 0; i < function_cnt && functions[i].host != function; i++)
		;
	if (i < function_cnt) {
		r = functions[i].kernel ? 0 : load(&functions[i]);
		*kernel = functions[i].kernel;
		pthread_mutex_unlock(&lock);
		return r;
	}
	pthread_mutex_unlock(&lock);
	/* Functions of libraries loaded at run time are handles themselves. */
	if (LEGACY->cuKernelGetName(&name, (CUkernel)function) != CUDA_OK)
		return CUDA_INVALID_DEVICE_FUNCTION;
	*kernel = (CUkernel)function;
	return CUDA_OK;
}

int rt_symbol(CUdeviceptr *address, size_t *bytes, const void *symbol)
{
	size_t i;
	int r = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < variable_cnt && variables[i].host != symbol; i++)
		;
	if (i == variable_cnt) {
		r = 13; /* cudaErrorInvalidSymbol */
	} else {
		if (!variables[i].address)
			r = LEGACY->cuMemAlloc(&variables[i].address, variables[i].bytes);
		*address = variables[i].address;
		*bytes = variables[i].bytes;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* ---- <<<>>> ---- */

struct configuration {
	struct cuda_dim3 grid, block;
	size_t shared;
	CUstream stream;
};
static __thread struct configuration pushed[16];
static __thread unsigned pushed_cnt;

unsigned __cudaPushCallConfiguration(struct cuda_dim3 grid, struct cuda_dim3 block, size_t shared,
				     CUstream stream)
{
	if (pushed_cnt == sizeof(pushed) / sizeof(*pushed))
		return 1;
	pushed[pushed_cnt++] = (struct configuration){grid, block, shared, stream};
	return 0;
}

int __cudaPopCallConfiguration(struct cuda_dim3 *grid, struct cuda_dim3 *block, size_t *shared,
			       void *stream)
{
	const struct configuration *c;

	if (!pushed_cnt)
		return 52; /* cudaErrorMissingConfiguration */
	c = &pushed[--pushed_cnt];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	*(CUstream *)stream = c->stream;
	return CUDA_OK;
}

/* Not a call that the program made: the compiler asks once per launching place. */
int __cudaGetKernel(CUkernel *kernel, const void *function)
{
	return RT_CALL(rt_kernel(kernel, function));
}

static int run(const struct rt_driver *d, CUkernel kernel, struct cuda_dim3 grid,
	       struct cuda_dim3 block, void **arguments, size_t shared, CUstream stream)
{
	int r = d->cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y,
				  block.z, (unsigned)shared, stream, arguments, NULL);

	return r == CUDA_INVALID_VALUE ? CUDA_INVALID_CONFIGURATION : r;
}

RT_PAIR(__cudaLaunchKernel, _ptsz,
	(CUkernel kernel, struct cuda_dim3 grid, struct cuda_dim3 block, void **arguments,
	 size_t shared, CUstream stream),
	run(DRIVER, kernel, grid, block, arguments, shared, stream))

static int launch(const struct rt_driver *d, const void *function, struct cuda_dim3 grid,
		  struct cuda_dim3 block, void **arguments, size_t shared, CUstream stream)
{
	CUkernel kernel;
	int r = rt_kernel(&kernel, function);

	return r ? r : run(d, kernel, grid, block, arguments, shared, stream);
}

RT_PAIR(cudaLaunchKernel, _ptsz,
	(const void *function, struct cuda_dim3 grid, struct cuda_dim3 block, void **arguments,
	 size_t shared, CUstream stream),
	launch(DRIVER, function, grid, block, arguments, shared, stream))

static int launch_cooperative(const struct rt_driver *d, const void *function,
			      struct cuda_dim3 grid, struct cuda_dim3 block, void **arguments,
			      size_t shared, CUstream stream)
{
	CUkernel kernel;
	int r = rt_kernel(&kernel, function);

	return r ? r
		 : d->cuLaunchCooperativeKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
						block.y, block.z, (unsigned)shared, stream,
						arguments);
}

RT_PAIR(cudaLaunchCooperativeKernel, _ptsz,
	(const void *function, struct cuda_dim3 grid, struct cuda_dim3 block, void **arguments,
	 size_t shared, CUstream stream),
	launch_cooperative(DRIVER, function, grid, block, arguments, shared, stream))

struct launch_config { /* cudaLaunchConfig_t */
	struct cuda_dim3 grid, block;
	size_t shared;
	CUstream stream;
	void *attributes;
	unsigned attribute_cnt;
};

static int launch_ex(const struct rt_driver *d, const struct launch_config *c, const void *function,
		     void **arguments)
{
	struct cuda_launch_config to;
	CUkernel kernel;
	int r;

	if (!c)
		return CUDA_INVALID_VALUE;
	r = rt_kernel(&kernel, function);
	if (r)
		return r;
	to = (struct cuda_launch_config){c->grid,   c->block,      (unsigned)c->shared,
					 c->stream, c->attributes, c->attribute_cnt};
	return d->cuLaunchKernelEx(&to, (CUfunction)kernel, arguments, NULL);
}

RT_PAIR(cudaLaunchKernelExC, _ptsz,
	(const struct launch_config *config, const void *function, void **arguments),
	launch_ex(DRIVER, config, function, arguments))

int cudaGetKernel(CUkernel *kernel, const void *function)
{
	return RT_CALL(rt_kernel(kernel, function));
}

static int func_by_symbol(CUfunction *function, const void *symbol)
{
	CUkernel kernel;
	int r = rt_kernel(&kernel, symbol);

	return r ? r : LEGACY->cuKernelGetFunction(function, kernel);
}

int cudaGetFuncBySymbol(CUfunction *function, const void *symbol)
{
	return RT_CALL(func_by_symbol(function, symbol));
}

/* ---- what kernels are like ---- */

struct func_attributes { /* cudaFuncAttributes */
	size_t shared_bytes, const_bytes, local_bytes;
	int max_threads, registers, ptx, binary, rest[24];
};

static int func_attributes(struct func_attributes *a, const void *function)
{
	CUkernel k;
	int r = rt_kernel(&k, function);

	if (r)
		return r;
	if (!a)
		return CUDA_INVALID_VALUE;
	memset(a, 0, offsetof(struct func_attributes, rest) + 4 * sizeof(int));
	LEGACY->cuKernelGetAttribute(&a->max_threads, 0, k, rt_device);
	LEGACY->cuKernelGetAttribute(&a->registers, 4, k, rt_device);
	LEGACY->cuKernelGetAttribute(&a->ptx, 5, k, rt_device);
	LEGACY->cuKernelGetAttribute(&a->binary, 6, k, rt_device);
	return CUDA_OK;
}

int cudaFuncGetAttributes(struct func_attributes *a, const void *function)
{
	return RT_CALL(func_attributes(a, function));
}

static int func_set_attribute(const void *function, int attribute, int value)
{
	CUkernel kernel;
	int r = rt_kernel(&kernel, function);

	return r ? r : LEGACY->cuKernelSetAttribute(attribute, value, kernel, rt_device);
}

int cudaFuncSetAttribute(const void *function, int attribute, int value)
{
	return RT_CALL(func_set_attribute(function, attribute, value));
}

static int func_name(const char **name, const void *function)
{
	CUkernel kernel;
	int r = rt_kernel(&kernel, function);

	return r ? r : LEGACY->cuKernelGetName(name, kernel);
}

int cudaFuncGetName(const char **name, const void *function)
{
	return RT_CALL(func_name(name, function));
}

static int occupancy(int *blocks, const void *function, int threads, size_t shared, unsigned flags)
{
	CUkernel kernel;
	int r = rt_kernel(&kernel, function);

	return r ? r
		 : LEGACY->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			   blocks, (CUfunction)kernel, threads, shared, flags);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
						  size_t shared)
{
	return RT_CALL(occupancy(blocks, function, threads, shared, 0));
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
							   int threads, size_t shared,
							   unsigned flags)
{
	return RT_CALL(occupancy(blocks, function, threads, shared, flags));
}

/* ---- libraries loaded at run time ---- */

int cudaLibraryLoadData(CUlibrary *library, const void *image, void *jit_options, void **jit_values,
			unsigned jit_cnt, void *options, void **values, unsigned cnt)
{
	return RT_CALL(LEGACY->cuLibraryLoadData(library, image, jit_options, jit_values, jit_cnt,
						 options, values, cnt));
}

int cudaLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return RT_CALL(LEGACY->cuLibraryGetKernel(kernel, library, name));
}

int cudaLibraryUnload(CUlibrary library)
{
	return RT_CALL(LEGACY->cuLibraryUnload(library));
}
