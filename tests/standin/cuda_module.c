/* cuda_module.c - the stand-in driver: modules, libraries, kernels and their launch. PTX takes the time of a compiler. */
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_driver.h"
#include "tests/standin/cuda_image.h"

/* ---- modules and libraries ---- */

static int load(struct CUmod_st **module, const void *image, enum object_kind kind)
{
	struct standin_activity a = {.kind = STANDIN_MODULE, .start = now()};
	struct standin_activity jit = {.kind = STANDIN_COMPILE, .start = a.start};
	struct CUctx_st *c = context_current();

	if (!module || !image)
		return CUDA_INVALID_VALUE;
	if (kind == OBJECT_MODULE && !c)
		return CUDA_INVALID_CONTEXT;
	*module = object_make(kind, sizeof(**module));
	(*module)->is_known = image_read(image, &(*module)->symbols);
	if (image_is_ptx(image)) {
		wait_until(a.start + STANDIN_COMPILE_NS);
		jit.device = c ? (uint32_t)c->device : 0;
		jit.end = a.start = now();
		tell(&jit);
	}
	wait_until(a.start + STANDIN_LOAD_NS);
	a.end = now();
	tell(&a);
	return CUDA_OK;
}

static void functions_free(struct CUfunc_st *f)
{
	struct CUfunc_st *next;

	for (; f; f = next) {
		next = f->next;
		if (f->other)
			object_drop(f->other);
		object_drop(f);
	}
}

static int unload(void *handle, enum object_kind kind)
{
	struct CUmod_st *m = object_find(handle, kind);
	struct image_symbol *symbol;

	if (!m)
		return CUDA_INVALID_HANDLE;
	functions_free(m->functions);
	for (symbol = m->symbols; symbol; symbol = symbol->next)
		if (symbol->address)
			memory_drop(symbol->address);
	image_free(m->symbols);
	object_drop(m);
	return CUDA_OK;
}

/* Work is loaded when it is first asked for, but where the environment overrides it. */
static int loading_mode(int *mode)
{
	const char *set = getenv("CUDA_MODULE_LOADING");

	if (!mode)
		return CUDA_INVALID_VALUE;
	*mode = set && !strcmp(set, "EAGER") ? 1 : 2;
	return CUDA_OK;
}

int cuModuleGetLoadingMode(int *mode)
{
	return CALL(loading_mode(mode));
}

int cuModuleLoadData(CUmodule *module, const void *image)
{
	return CALL(load(module, image, OBJECT_MODULE));
}

/* CUjit_option: the sizes of the two logs come back as what was written, and that is nothing. */
void jit_answer(unsigned cnt, const int *options, void **values)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		if (options[i] == JIT_LOG_BYTES || options[i] == JIT_ERROR_BYTES)
			values[i] = NULL;
}

int cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned cnt, const int *options,
		       void **values)
{
	return CALL((jit_answer(cnt, options, values), load(module, image, OBJECT_MODULE)));
}

static int load_file(CUmodule *module, const char *path)
{
	size_t bytes;
	char *image;
	int r;

	if (!module || !path)
		return CUDA_INVALID_VALUE;
	image = file_read(path, &bytes);
	if (!image)
		return CUDA_FILE_NOT_FOUND;
	r = load(module, image, OBJECT_MODULE);
	free(image);
	return r;
}

int cuModuleLoad(CUmodule *module, const char *path)
{
	return CALL(load_file(module, path));
}

int cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return CALL(load(module, image, OBJECT_MODULE));
}

int cuModuleUnload(CUmodule module)
{
	return CALL(unload(module, OBJECT_MODULE));
}

int cuLibraryLoadData(CUlibrary *library, const void *image, void *jit_options, void **jit_values,
		      unsigned jit_cnt, void *options, void **values, unsigned cnt)
{
	(void)jit_options;
	(void)jit_values;
	(void)jit_cnt;
	(void)options;
	(void)values;
	(void)cnt;
	return CALL(load((struct CUmod_st **)(void *)library, image, OBJECT_LIBRARY));
}

int cuLibraryUnload(CUlibrary library)
{
	return CALL(unload(library, OBJECT_LIBRARY));
}

/* ---- variables ---- */

static int get_global(CUdeviceptr *address, size_t *bytes, void *handle, const char *name,
		      enum object_kind owner)
{
	struct CUmod_st *m = object_find(handle, owner);
	struct image_symbol *s;

	if (!name || !*name)
		return CUDA_INVALID_VALUE;
	if (!m)
		return CUDA_INVALID_HANDLE;
	s = image_find(m->symbols, name, false);
	if (!s)
		return CUDA_NOT_FOUND;
	if (!s->address) {
		int r = memory_make(&s->address, s->bytes ? s->bytes : 1);

		if (r)
			return r;
		if (s->initial)
			memcpy((void *)(uintptr_t)s->address, s->initial, s->bytes);
	}
	if (address)
		*address = s->address;
	if (bytes)
		*bytes = s->bytes;
	return CUDA_OK;
}

int cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
	return CALL(get_global(address, bytes, module, name, OBJECT_MODULE));
}

int cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
	return CALL(get_global(address, bytes, library, name, OBJECT_LIBRARY));
}

/* ---- functions and kernels ---- */

static struct CUfunc_st *function_make(void *owner, const char *name, enum object_kind kind)
{
	struct CUfunc_st *f = object_make(kind, sizeof(*f) + strlen(name) + 1);

	f->owner = owner;
	memcpy(f->name, name, strlen(name) + 1);
	return f;
}

/* Always the same handle; every name is found where the contents are unknown. */
static int get(struct CUfunc_st **function, void *handle, const char *name, enum object_kind owner,
	       enum object_kind kind)
{
	struct CUmod_st *m = object_find(handle, owner);
	struct CUfunc_st *f;

	if (!function || !name || !*name)
		return CUDA_INVALID_VALUE;
	if (!m)
		return CUDA_INVALID_HANDLE;
	for (f = m->functions; f && strcmp(f->name, name) != 0; f = f->next)
		;
	if (!f) {
		if (m->is_known && !image_find(m->symbols, name, true))
			return CUDA_NOT_FOUND;
		f = function_make(m, name, kind);
		f->next = m->functions;
		m->functions = f;
	}
	*function = f;
	return CUDA_OK;
}

int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	return CALL(get(function, module, name, OBJECT_MODULE, OBJECT_FUNCTION));
}

int cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return CALL(get((struct CUfunc_st **)(void *)kernel, library, name, OBJECT_LIBRARY,
			OBJECT_KERNEL));
}

static int kernel_function(CUfunction *function, CUkernel kernel)
{
	struct CUfunc_st *k = object_find(kernel, OBJECT_KERNEL);

	if (!function)
		return CUDA_INVALID_VALUE;
	if (!k)
		return CUDA_INVALID_HANDLE;
	if (!k->other)
		k->other = function_make(k->owner, k->name, OBJECT_FUNCTION);
	*function = k->other;
	return CUDA_OK;
}

int cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	return CALL(kernel_function(function, kernel));
}

const char *function_name(const void *handle)
{
	struct CUfunc_st *f = object_find(handle, OBJECT_FUNCTION);

	if (!f)
		f = object_find(handle, OBJECT_KERNEL);
	return f ? f->name : NULL;
}

static int get_name(const char **name, const void *handle)
{
	if (!name)
		return CUDA_INVALID_VALUE;
	*name = function_name(handle);
	return *name ? CUDA_OK : CUDA_INVALID_HANDLE;
}

int cuFuncGetName(const char **name, CUfunction function)
{
	return CALL(get_name(name, function));
}

int cuKernelGetName(const char **name, CUkernel kernel)
{
	return CALL(get_name(name, kernel));
}

/* CUfunction_attribute: 0 most threads per block, 1 shared, 2 constant, 3 local bytes, 4 registers, 5, 6 versions, ... */
static int attribute(int *value, int id, const void *handle)
{
	static const int values[] = {1024, 0, 0, 0, 32, 90, 90};

	if (!value || id < 0 || id > 15)
		return CUDA_INVALID_VALUE;
	if (!function_name(handle))
		return CUDA_INVALID_HANDLE;
	*value = id < (int)(sizeof(values) / sizeof(*values)) ? values[id] : 0;
	return CUDA_OK;
}

int cuFuncGetAttribute(int *value, int id, CUfunction function)
{
	return CALL(attribute(value, id, function));
}

int cuKernelGetAttribute(int *value, int id, CUkernel kernel, int device)
{
	(void)device;
	return CALL(attribute(value, id, kernel));
}

int cuFuncSetAttribute(CUfunction function, int id, int value)
{
	(void)id;
	(void)value;
	return CALL(function_name(function) ? CUDA_OK : CUDA_INVALID_HANDLE);
}

int cuKernelSetAttribute(int id, int value, CUkernel kernel, int device)
{
	(void)id;
	(void)value;
	(void)device;
	return CALL(function_name(kernel) ? CUDA_OK : CUDA_INVALID_HANDLE);
}

int cuFuncSetCacheConfig(CUfunction function, int config)
{
	(void)config;
	return CALL(function_name(function) ? CUDA_OK : CUDA_INVALID_HANDLE);
}

static int occupancy(int *blocks, const void *function, int threads)
{
	if (!blocks || threads <= 0)
		return CUDA_INVALID_VALUE;
	if (!function_name(function))
		return CUDA_INVALID_HANDLE;
	*blocks = 2048 / threads;
	return CUDA_OK;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
						size_t shared)
{
	(void)shared;
	return CALL(occupancy(blocks, function, threads));
}

int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
							 int threads, size_t shared, unsigned flags)
{
	(void)shared;
	(void)flags;
	return CALL(occupancy(blocks, function, threads));
}

/* ---- launch ---- */

static bool is_launchable(struct cuda_dim3 grid, struct cuda_dim3 block)
{
	return grid.x && grid.y && grid.z && block.x && block.y && block.z &&
	       (uint64_t)block.x * block.y * block.z <= 1024;
}

int function_launch(struct CUstream_st *stream, const void *function, struct cuda_dim3 grid,
		    struct cuda_dim3 block, unsigned shared)
{
	struct work w = {
		.kind = NODE_KERNEL,
		.kernel = {(CUfunction)function, grid, block, shared, NULL, NULL, NULL, NULL}};

	w.name = function_name(function);
	if (!w.name || !stream)
		return CUDA_INVALID_HANDLE;
	if (!is_launchable(grid, block))
		return CUDA_INVALID_VALUE;
	w.duration = kernel_duration(w.name);
	return work_submit(stream, &w, false);
}

#define DIM(name) ((struct cuda_dim3){name##x, name##y, name##z})
PAIR(cuLaunchKernel, _ptsz,
     (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra),
     ((void)arguments, (void)extra,
      function_launch(STREAM(stream), function, DIM(g), DIM(b), shared)))
PAIR(cuLaunchCooperativeKernel, _ptsz,
     (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, CUstream stream, void **arguments),
     ((void)arguments, function_launch(STREAM(stream), function, DIM(g), DIM(b), shared)))
PAIR(cuLaunchKernelEx, _ptsz,
     (const struct cuda_launch_config *config, CUfunction function, void **arguments, void **extra),
     ((void)arguments, (void)extra,
      config ? function_launch(STREAM(config->stream), function, config->grid, config->block,
			       config->shared)
	     : CUDA_INVALID_VALUE))
