/* cuda_work.c - the stand-in driver: kernels, copies and fills, in streams and as nodes of graphs. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_driver.h"

/* ---- how long, and where ---- */

uint64_t standin_kernel_ns = 5000;

uint64_t kernel_duration(const char *name)
{
	const char *at = name;

	while ((at = strstr(at, "_us")) != NULL) {
		char *end;
		unsigned long us;

		at += 3;
		if (!isdigit((unsigned char)*at))
			continue;
		us = strtoul(at, &end, 10);
		if (*end == '_')
			return us * 1000;
	}
	return standin_kernel_ns;
}

/* CUPTI's kinds of memory: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed. */
static uint8_t place(uint64_t address)
{
	const struct memory *m = memory_find(address);

	if (!m)
		return 1;
	if (m->type == CUDA_MEMORY_UNIFIED)
		return 5;
	if (m->type == CUDA_MEMORY_ARRAY)
		return 4;
	return m->type == CUDA_MEMORY_DEVICE ? 3 : 2;
}

static bool on_device(uint8_t kind)
{
	return kind >= 3;
}

/*
 * CUPTI's kinds of copies: 1 to the device, 2 to the host, 3 to an array, 4 from one, 5 between them, 6 from one to the
 * device, 7 back, 8 inside the device, 9 inside the host.
 */
static uint8_t copy_kind(uint8_t dst, uint8_t src)
{
	if (dst == 4)
		return src == 4 ? 5 : on_device(src) ? 7 : 3;
	if (src == 4)
		return on_device(dst) ? 6 : 4;
	if (on_device(dst))
		return on_device(src) ? 8 : 1;
	return on_device(src) ? 2 : 9;
}

static uint64_t duration(uint64_t bytes, uint64_t bytes_per_ns)
{
	uint64_t ns = bytes / bytes_per_ns;

	return ns > STANDIN_LEAST_NS ? ns : STANDIN_LEAST_NS;
}

/* ---- doing it ---- */

static uint64_t src_address(const struct cuda_copy3d *c)
{
	uint64_t base = c->src_type == CUDA_MEMORY_HOST ? (uintptr_t)c->src_host : c->src_device;

	return base + (c->src_z * c->src_height + c->src_y) * c->src_pitch + c->src_x;
}

static uint64_t dst_address(const struct cuda_copy3d *c)
{
	uint64_t base = c->dst_type == CUDA_MEMORY_HOST ? (uintptr_t)c->dst_host : c->dst_device;

	return base + (c->dst_z * c->dst_height + c->dst_y) * c->dst_pitch + c->dst_x;
}

static void move(const struct cuda_copy3d *c)
{
	uint64_t src = src_address(c), dst = dst_address(c);
	size_t y, z;

	for (z = 0; z < c->depth; z++)
		for (y = 0; y < c->height; y++)
			memmove((void *)(uintptr_t)(dst + (z * c->dst_height + y) * c->dst_pitch),
				(void *)(uintptr_t)(src + (z * c->src_height + y) * c->src_pitch),
				c->width);
}

static void fill(const struct cuda_memset_node *m)
{
	size_t x, y;

	for (y = 0; y < m->height; y++) {
		char *row = (char *)(uintptr_t)m->dst + y * m->pitch;

		if (m->element_bytes == 1)
			memset(row, (int)m->value, m->width);
		for (x = 0; m->element_bytes > 1 && x < m->width; x++)
			memcpy(row + x * m->element_bytes, &m->value, m->element_bytes);
	}
}

static uint64_t run_copy(struct standin_activity *a, const struct cuda_copy3d *c)
{
	uint64_t rows = c->height * c->depth, ns;

	a->kind = STANDIN_MEMCPY;
	a->bytes = c->width * c->height * c->depth;
	a->src_kind = place(src_address(c));
	a->dst_kind = place(dst_address(c));
	a->copy_kind = copy_kind(a->dst_kind, a->src_kind);
	a->address = dst_address(c);
	move(c);
	if (a->copy_kind >= 5 && a->copy_kind <= 8)
		return duration(a->bytes, STANDIN_DEVICE_BYTES_PER_NS);
	ns = duration(a->bytes, a->src_kind == 1 || a->dst_kind == 1 ? STANDIN_PAGEABLE_BYTES_PER_NS
								     : STANDIN_BUS_BYTES_PER_NS);
	if (rows > 1 && (c->width < c->src_pitch || c->width < c->dst_pitch) &&
	    ns < rows * STANDIN_ROW_NS)
		ns = rows * STANDIN_ROW_NS;
	return ns;
}

static uint64_t run_fill(struct standin_activity *a, const struct cuda_memset_node *m)
{
	a->kind = STANDIN_MEMSET;
	a->bytes = m->width * m->height * m->element_bytes;
	a->value = m->value;
	a->address = m->dst;
	a->memory_kind = place(m->dst);
	fill(m);
	return duration(a->bytes, STANDIN_DEVICE_BYTES_PER_NS);
}

static uint64_t run_kernel(struct standin_activity *a, const struct work *w)
{
	const struct cuda_kernel_node *k = &w->kernel;

	a->kind = STANDIN_KERNEL;
	a->name = w->name;
	a->registers = 32;
	a->shared = k->shared;
	memcpy(a->grid, &k->grid, sizeof(a->grid));
	memcpy(a->block, &k->block, sizeof(a->block));
	return w->duration;
}

static __thread standin_end *next_end;
static __thread void *next_data;

void standin_next_ends(standin_end *end, void *data)
{
	next_end = end;
	next_data = data;
}

/* The kernel is reported when its end is known. */
static void shut_gate(struct CUstream_st *stream, const struct standin_activity *kernel)
{
	struct gate *g = &stream->gate;

	*g = (struct gate){next_end, next_data, kernel->end, *kernel};
	g->kernel.correlation = told_correlation();
	next_end = NULL;
	stream_gate(stream, false);
}

uint64_t work_run(struct CUstream_st *stream, const struct work *w, uint64_t start,
		  const struct CUgraphNode_st *node)
{
	struct standin_activity a = {.start = start,
				     .device = (uint32_t)stream->context->device,
				     .context = stream->context->id,
				     .stream = stream->id};

	if (node) {
		a.graph_node = node->id;
		a.original_node = node->original;
		a.graph = node->graph->original;
		a.graph_exec = node->graph->id;
	}
	switch (w->kind) {
	case NODE_KERNEL:
		a.end = start + run_kernel(&a, w);
		if (next_end && !node) {
			shut_gate(stream, &a);
			return later(a.end, stream->end);
		}
		break;
	case NODE_MEMCPY:
		a.end = start + run_copy(&a, &w->copy);
		break;
	case NODE_MEMSET:
		a.end = start + run_fill(&a, &w->memset);
		break;
	case NODE_HOST:
		host_call(stream, start, &w->host);
		return start;
	case NODE_EMPTY:
		return start;
	}
	tell(&a);
	return a.end;
}

/*
 * Asynchronous copies that are not: towards pageable memory until they are over, from it until it has been read
 * (small ones fit into the driver's buffer).
 */
static bool is_staged(const struct work *w)
{
	uint64_t bytes = w->copy.width * w->copy.height * w->copy.depth;

	if (w->kind != NODE_MEMCPY)
		return false;
	return place(dst_address(&w->copy)) == 1 ||
	       (place(src_address(&w->copy)) == 1 && bytes > STANDIN_STAGED_BYTES);
}

int work_submit(struct CUstream_st *stream, const struct work *w, bool wait)
{
	uint64_t entry = now();

	if (stream->capture)
		return wait ? CUDA_CAPTURE_UNSUPPORTED : capture_add(stream, w);
	stream_gate(stream, true);
	stream->end = work_run(stream, w, stream_begin(stream), NULL);
	if (wait || is_staged(w))
		stream_wait(stream);
	wait_until(entry + STANDIN_LAUNCH_CALL_NS);
	return CUDA_OK;
}

/* ---- copies ---- */

struct work work_linear_copy(uint64_t dst, uint64_t src, size_t bytes, int dst_type, int src_type)
{
	struct work w = {.kind = NODE_MEMCPY};

	w.copy.src_type = src_type;
	w.copy.dst_type = dst_type;
	w.copy.src_host = (const void *)(uintptr_t)src;
	w.copy.dst_host = (void *)(uintptr_t)dst;
	w.copy.src_device = src;
	w.copy.dst_device = dst;
	w.copy.src_pitch = w.copy.dst_pitch = w.copy.width = bytes;
	w.copy.src_height = w.copy.dst_height = w.copy.height = w.copy.depth = 1;
	return w;
}

/* @dst_type, @src_type: what the function's name promises; a device address must be one that we know. */
static int copy(struct CUstream_st *stream, uint64_t dst, uint64_t src, size_t bytes, int dst_type,
		int src_type, bool wait)
{
	struct work w = work_linear_copy(dst, src, bytes, dst_type, src_type);

	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (!bytes)
		return CUDA_OK;
	if (!dst || !src || (dst_type == CUDA_MEMORY_DEVICE && !memory_find(dst)) ||
	    (src_type == CUDA_MEMORY_DEVICE && !memory_find(src)))
		return CUDA_INVALID_VALUE;
	return work_submit(stream, &w, wait);
}

enum {
	HOST = CUDA_MEMORY_HOST,
	DEVICE = CUDA_MEMORY_DEVICE,
	ANY = CUDA_MEMORY_UNIFIED
};
#define AT(p) ((uintptr_t)(p))

PAIR(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
     copy(STREAM(NULL), dst, src, bytes, ANY, ANY, true))
PAIR(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void *src, size_t bytes),
     copy(STREAM(NULL), dst, AT(src), bytes, DEVICE, HOST, true))
PAIR(cuMemcpyDtoH_v2, _ptds, (void *dst, CUdeviceptr src, size_t bytes),
     copy(STREAM(NULL), AT(dst), src, bytes, HOST, DEVICE, true))
/* Copies inside the device do not wait. */
PAIR(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
     copy(STREAM(NULL), dst, src, bytes, DEVICE, DEVICE, false))
PAIR(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
     copy(STREAM(stream), dst, src, bytes, ANY, ANY, false))
PAIR(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
     copy(STREAM(stream), dst, AT(src), bytes, DEVICE, HOST, false))
PAIR(cuMemcpyDtoHAsync_v2, _ptsz, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
     copy(STREAM(stream), AT(dst), src, bytes, HOST, DEVICE, false))
PAIR(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
     copy(STREAM(stream), dst, src, bytes, DEVICE, DEVICE, false))
PAIR(cuMemcpyPeer, _ptds,
     (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes),
     ((void)dst_context, (void)src_context,
      copy(STREAM(NULL), dst, src, bytes, DEVICE, DEVICE, false)))
PAIR(cuMemcpyPeerAsync, _ptsz,
     (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes,
      CUstream stream),
     ((void)dst_context, (void)src_context,
      copy(STREAM(stream), dst, src, bytes, DEVICE, DEVICE, false)))

static int copy3d(struct CUstream_st *stream, const struct cuda_copy3d *c, bool wait)
{
	struct work w = {.kind = NODE_MEMCPY};

	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (!c)
		return CUDA_INVALID_VALUE;
	if (!c->width || !c->height || !c->depth)
		return CUDA_OK;
	w.copy = *c;
	if ((c->src_type == CUDA_MEMORY_ARRAY &&
	     !array_place(c->src_array, &w.copy.src_device, &w.copy.src_pitch,
			  &w.copy.src_height)) ||
	    (c->dst_type == CUDA_MEMORY_ARRAY &&
	     !array_place(c->dst_array, &w.copy.dst_device, &w.copy.dst_pitch, &w.copy.dst_height)))
		return CUDA_INVALID_HANDLE;
	if (!w.copy.src_height)
		w.copy.src_height = c->height;
	if (!w.copy.dst_height)
		w.copy.dst_height = c->height;
	return work_submit(stream, &w, wait);
}

static int copy2d(struct CUstream_st *stream, const struct cuda_copy2d *c, bool wait)
{
	struct cuda_copy3d box;

	if (!c)
		return CUDA_INVALID_VALUE;
	box = (struct cuda_copy3d){.src_x = c->src_x,
				   .src_y = c->src_y,
				   .src_type = c->src_type,
				   .src_host = c->src_host,
				   .src_device = c->src_device,
				   .src_array = c->src_array,
				   .src_pitch = c->src_pitch,
				   .dst_x = c->dst_x,
				   .dst_y = c->dst_y,
				   .dst_type = c->dst_type,
				   .dst_host = c->dst_host,
				   .dst_device = c->dst_device,
				   .dst_array = c->dst_array,
				   .dst_pitch = c->dst_pitch,
				   .width = c->width,
				   .height = c->height,
				   .depth = 1};
	return copy3d(stream, &box, wait);
}

PAIR(cuMemcpy2D_v2, _ptds, (const struct cuda_copy2d *c), copy2d(STREAM(NULL), c, true))
PAIR(cuMemcpy2DUnaligned_v2, _ptds, (const struct cuda_copy2d *c), copy2d(STREAM(NULL), c, true))
PAIR(cuMemcpy2DAsync_v2, _ptsz, (const struct cuda_copy2d *c, CUstream stream),
     copy2d(STREAM(stream), c, false))
PAIR(cuMemcpy3D_v2, _ptds, (const struct cuda_copy3d *c), copy3d(STREAM(NULL), c, true))
PAIR(cuMemcpy3DAsync_v2, _ptsz, (const struct cuda_copy3d *c, CUstream stream),
     copy3d(STREAM(stream), c, false))

/* ---- fills: the synchronous ones do not wait for the device either ---- */

static int set(struct CUstream_st *stream, uint64_t dst, size_t pitch, unsigned value,
	       unsigned element, size_t width, size_t height)
{
	struct work w = {.kind = NODE_MEMSET,
			 .memset = {dst, pitch, value, element, width, height}};

	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (!width || !height)
		return CUDA_OK;
	if (!memory_find(dst))
		return CUDA_INVALID_VALUE;
	return work_submit(stream, &w, false);
}

#define FILL(suffix, type, bytes)                                                      \
	PAIR(cuMemsetD##suffix##_v2, _ptds, (CUdeviceptr dst, type value, size_t cnt), \
	     set(STREAM(NULL), dst, 0, value, bytes, cnt, 1))                          \
	PAIR(cuMemsetD##suffix##Async, _ptsz,                                          \
	     (CUdeviceptr dst, type value, size_t cnt, CUstream stream),               \
	     set(STREAM(stream), dst, 0, value, bytes, cnt, 1))                        \
	PAIR(cuMemsetD2D##suffix##_v2, _ptds,                                          \
	     (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height), \
	     set(STREAM(NULL), dst, pitch, value, bytes, width, height))               \
	PAIR(cuMemsetD2D##suffix##Async, _ptsz,                                        \
	     (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height,  \
	      CUstream stream),                                                        \
	     set(STREAM(stream), dst, pitch, value, bytes, width, height))
FILL(8, unsigned char, 1)
FILL(16, unsigned short, 2)
FILL(32, unsigned, 4)
