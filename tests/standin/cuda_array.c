/*
 * cuda_array.c - the stand-in driver: arrays, which are rows of elements without a gap, and textures, which are never read,
 * since kernels have no code.
 */
#include <string.h>

#include "tests/standin/cuda_driver.h"

struct array_descriptor { /* CUDA_ARRAY_DESCRIPTOR */
	size_t width, height;
	int format;
	unsigned channels;
};
struct array3d_descriptor { /* CUDA_ARRAY3D_DESCRIPTOR */
	size_t width, height, depth;
	int format;
	unsigned channels, flags;
};

struct array {
	struct object object;
	struct array3d_descriptor is;
	uint64_t address;
	size_t row; /* bytes */
};

/* CUarray_format: 1, 2, 3 unsigned of 1, 2, 4 bytes; 8, 9, 10 signed; 16 half, 32 float */
static size_t element(const struct array3d_descriptor *d)
{
	static const struct {
		int format;
		size_t bytes;
	} formats[] = {{1, 1}, {2, 2}, {3, 4}, {8, 1}, {9, 2}, {10, 4}, {16, 2}, {32, 4}};
	size_t i;

	if (d->channels != 1 && d->channels != 2 && d->channels != 4)
		return 0;
	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (formats[i].format == d->format)
			return formats[i].bytes * d->channels;
	return 0;
}

static size_t at_least_1(size_t n)
{
	return n ? n : 1;
}

static int create(struct array **handle, const struct array3d_descriptor *d)
{
	struct array *a;
	size_t row;
	int r;

	if (!handle || !d || !d->width || !element(d))
		return CUDA_INVALID_VALUE;
	row = d->width * element(d);
	a = object_make(OBJECT_ARRAY, sizeof(*a));
	r = memory_make(&a->address, row * at_least_1(d->height) * at_least_1(d->depth));
	if (r) {
		object_drop(a);
		return r;
	}
	memory_is_array(a->address);
	a->is = *d;
	a->row = row;
	*handle = a;
	wait_until(now() + STANDIN_ALLOC_NS);
	return CUDA_OK;
}

static struct array3d_descriptor as_3d(const struct array_descriptor *d)
{
	return (struct array3d_descriptor){d->width, d->height, 0, d->format, d->channels, 0};
}

int cuArrayCreate_v2(struct array **handle, const struct array_descriptor *d)
{
	struct array3d_descriptor box;

	if (d)
		box = as_3d(d);
	return CALL(create(handle, d ? &box : NULL));
}

int cuArray3DCreate_v2(struct array **handle, const struct array3d_descriptor *d)
{
	return CALL(create(handle, d));
}

static int destroy(struct array *a)
{
	if (!object_find(a, OBJECT_ARRAY))
		return CUDA_INVALID_HANDLE;
	memory_drop(a->address);
	object_drop(a);
	return CUDA_OK;
}

int cuArrayDestroy(struct array *a)
{
	return CALL(destroy(a));
}

static int describe(struct array_descriptor *plane, struct array3d_descriptor *box,
		    const struct array *a)
{
	if (!object_find(a, OBJECT_ARRAY))
		return CUDA_INVALID_HANDLE;
	if (!plane && !box)
		return CUDA_INVALID_VALUE;
	if (box)
		*box = a->is;
	else
		*plane = (struct array_descriptor){a->is.width, a->is.height, a->is.format,
						   a->is.channels};
	return CUDA_OK;
}

int cuArrayGetDescriptor_v2(struct array_descriptor *d, const struct array *a)
{
	return CALL(describe(d, NULL, a));
}

int cuArray3DGetDescriptor_v2(struct array3d_descriptor *d, const struct array *a)
{
	return CALL(describe(NULL, d, a));
}

/* ---- copies ---- */

bool array_place(const void *handle, uint64_t *address, size_t *pitch, size_t *height)
{
	const struct array *a = object_find(handle, OBJECT_ARRAY);

	if (!a)
		return false;
	*address = a->address;
	*pitch = a->row;
	*height = at_least_1(a->is.height);
	return true;
}

/* Bytes of a line: where both ends are, @offset bytes into an array. */
static uint64_t line(const struct array *a, size_t offset, size_t bytes)
{
	if (!object_find(a, OBJECT_ARRAY) ||
	    offset + bytes > a->row * at_least_1(a->is.height) * at_least_1(a->is.depth))
		return 0;
	return a->address + offset;
}

static int copy(struct CUstream_st *stream, uint64_t dst, uint64_t src, size_t bytes, bool wait)
{
	struct work w = work_linear_copy(dst, src, bytes, CUDA_MEMORY_UNIFIED, CUDA_MEMORY_UNIFIED);

	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (!dst || !src)
		return CUDA_INVALID_VALUE;
	return bytes ? work_submit(stream, &w, wait) : CUDA_OK;
}
#define AT(p) ((uintptr_t)(p))

PAIR(cuMemcpyHtoA_v2, _ptds, (struct array * a, size_t offset, const void *src, size_t bytes),
     copy(STREAM(NULL), line(a, offset, bytes), AT(src), bytes, true))
PAIR(cuMemcpyHtoAAsync_v2, _ptsz,
     (struct array * a, size_t offset, const void *src, size_t bytes, CUstream stream),
     copy(STREAM(stream), line(a, offset, bytes), AT(src), bytes, false))
PAIR(cuMemcpyAtoH_v2, _ptds, (void *dst, struct array *a, size_t offset, size_t bytes),
     copy(STREAM(NULL), AT(dst), line(a, offset, bytes), bytes, true))
PAIR(cuMemcpyAtoHAsync_v2, _ptsz,
     (void *dst, struct array *a, size_t offset, size_t bytes, CUstream stream),
     copy(STREAM(stream), AT(dst), line(a, offset, bytes), bytes, false))
PAIR(cuMemcpyDtoA_v2, _ptds, (struct array * a, size_t offset, CUdeviceptr src, size_t bytes),
     copy(STREAM(NULL), line(a, offset, bytes), src, bytes, false))
PAIR(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr dst, struct array *a, size_t offset, size_t bytes),
     copy(STREAM(NULL), dst, line(a, offset, bytes), bytes, false))
PAIR(cuMemcpyAtoA_v2, _ptds,
     (struct array * a, size_t offset, struct array *b, size_t offset_b, size_t bytes),
     copy(STREAM(NULL), line(a, offset, bytes), line(b, offset_b, bytes), bytes, false))

/* ---- textures ---- */

struct texture { /* a reference, of a module or made; an object has a number instead of an address, and is one too */
	struct object object;
	uint64_t address;
	int modes[3], filter, format, channels;
	unsigned flags;
	void *array;
};

static int texture_make(struct texture **texture)
{
	if (!texture)
		return CUDA_INVALID_VALUE;
	*texture = object_make(OBJECT_TEXTURE, sizeof(**texture));
	return CUDA_OK;
}

int cuTexRefCreate(struct texture **texture)
{
	return CALL(texture_make(texture));
}

static int texture_drop(struct texture *texture)
{
	if (!object_find(texture, OBJECT_TEXTURE))
		return CUDA_INVALID_HANDLE;
	object_drop(texture);
	return CUDA_OK;
}

int cuTexRefDestroy(struct texture *texture)
{
	return CALL(texture_drop(texture));
}

int cuTexObjectCreate(struct texture **texture, const void *resource, const void *how,
		      const void *view)
{
	(void)view;
	return CALL(resource && how ? texture_make(texture) : CUDA_INVALID_VALUE);
}

int cuTexObjectDestroy(struct texture *texture)
{
	return CALL(texture_drop(texture));
}

int cuSurfObjectCreate(struct texture **surface, const void *resource)
{
	return CALL(resource ? texture_make(surface) : CUDA_INVALID_VALUE);
}

int cuSurfObjectDestroy(struct texture *surface)
{
	return CALL(texture_drop(surface));
}

#define TEXTURE(t, what) \
	CALL(!object_find(t, OBJECT_TEXTURE) ? CUDA_INVALID_HANDLE : ((what), CUDA_OK))

int cuTexRefSetArray(struct texture *t, void *array, unsigned flags)
{
	(void)flags;
	return TEXTURE(t, t->array = array);
}

int cuTexRefSetAddress_v2(size_t *offset, struct texture *t, CUdeviceptr address, size_t bytes)
{
	(void)bytes;
	return TEXTURE(t, (t->address = address, offset ? *offset = 0 : 0));
}

int cuTexRefSetAddress2D_v3(struct texture *t, const void *plane, CUdeviceptr address, size_t pitch)
{
	(void)plane;
	(void)pitch;
	return TEXTURE(t, t->address = address);
}

int cuTexRefSetFormat(struct texture *t, int format, int channels)
{
	return TEXTURE(t, (t->format = format, t->channels = channels));
}

int cuTexRefSetAddressMode(struct texture *t, int dimension, int mode)
{
	return dimension < 0 || dimension > 2 ? CUDA_INVALID_VALUE
					      : TEXTURE(t, t->modes[dimension] = mode);
}

int cuTexRefSetFilterMode(struct texture *t, int mode)
{
	return TEXTURE(t, t->filter = mode);
}

int cuTexRefSetFlags(struct texture *t, unsigned flags)
{
	return TEXTURE(t, t->flags = flags);
}

int cuTexRefGetFlags(unsigned *flags, struct texture *t)
{
	return TEXTURE(t, *flags = t->flags);
}

int cuTexRefGetFilterMode(int *mode, struct texture *t)
{
	return TEXTURE(t, *mode = t->filter);
}

int cuTexRefGetAddress_v2(CUdeviceptr *address, struct texture *t)
{
	return TEXTURE(t, *address = t->address);
}
