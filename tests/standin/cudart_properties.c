/* cudart_properties.c - the stand-in runtime: cudaDeviceProp, whose layout is another one in CUDA 13. */
#include <string.h>

#include "tests/standin/cudart_driver.h"

struct properties {
	char name[256], uuid[16], luid[8];
	unsigned luid_mask;
	size_t global_bytes, shared_per_block;
	int registers_per_block, warp;
	size_t pitch;
	int threads_per_block, threads_dim[3], grid_dim[3];
#if RUNTIME_MAJOR < 13
	int clock;
#endif
	size_t const_bytes;
	int major, minor;
	size_t texture_alignment, pitch_alignment;
#if RUNTIME_MAJOR < 13
	int overlap, multiprocessors, timeout, integrated, map_host_memory, mode, textures[39];
#else
	int multiprocessors, integrated, map_host_memory, textures[39];
#endif
	size_t surface_alignment;
	int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines;
#if RUNTIME_MAJOR < 13
	int unified_addressing, memory_clock, bus_width;
#else
	int unified_addressing, bus_width;
#endif
	int l2_bytes, l2_persisting, threads_per_multiprocessor;
	int priorities, l1_global, l1_local;
	size_t shared_per_multiprocessor;
#if RUNTIME_MAJOR < 13
	int registers_per_multiprocessor, managed_memory, rest[10];
#else
	int registers_per_multiprocessor, managed_memory, rest[8];
#endif
	size_t shared_opt_in;
	int page_tables, managed_from_host, blocks_per_multiprocessor, window;
	size_t shared_reserved;
#if RUNTIME_MAJOR < 13
	int rest2[13], reserved[63];
#else
	int rest2[19], reserved[56];
#endif
};
_Static_assert(sizeof(struct properties) == (RUNTIME_MAJOR < 13 ? 1032 : 1008),
	       "as in the headers");

static int properties(struct properties *p, int device)
{
	const struct {
		int attribute;
		int *to;
	} table[] = {
		{1, &p->threads_per_block},
		{2, &p->threads_dim[0]},
		{3, &p->threads_dim[1]},
		{4, &p->threads_dim[2]},
		{5, &p->grid_dim[0]},
		{6, &p->grid_dim[1]},
		{7, &p->grid_dim[2]},
		{10, &p->warp},
		{12, &p->registers_per_block},
#if RUNTIME_MAJOR < 13
		{13, &p->clock},
		{36, &p->memory_clock},
#endif
		{16, &p->multiprocessors},
		{19, &p->map_host_memory},
		{31, &p->concurrent_kernels},
		{33, &p->pci_bus},
		{37, &p->bus_width},
		{38, &p->l2_bytes},
		{39, &p->threads_per_multiprocessor},
		{40, &p->copy_engines},
		{41, &p->unified_addressing},
		{75, &p->major},
		{76, &p->minor},
		{78, &p->priorities},
		{82, &p->registers_per_multiprocessor},
		{83, &p->managed_memory},
		{106, &p->blocks_per_multiprocessor},
	};
	const struct {
		int attribute;
		size_t *to;
	} sizes[] = {{8, &p->shared_per_block},
		     {9, &p->const_bytes},
		     {11, &p->pitch},
		     {14, &p->texture_alignment},
		     {81, &p->shared_per_multiprocessor},
		     {97, &p->shared_opt_in},
		     {111, &p->shared_reserved}};
	size_t i;
	int value, r;

	memset(p, 0, sizeof(*p));
	r = LEGACY->cuDeviceGetName(p->name, sizeof(p->name), device);
	if (!r)
		r = LEGACY->cuDeviceGetUuid(p->uuid, device);
	if (!r)
		r = LEGACY->cuDeviceTotalMem(&p->global_bytes, device);
	for (i = 0; !r && i < sizeof(table) / sizeof(*table); i++)
		r = LEGACY->cuDeviceGetAttribute(table[i].to, table[i].attribute, device);
	for (i = 0; !r && i < sizeof(sizes) / sizeof(*sizes); i++) {
		r = LEGACY->cuDeviceGetAttribute(&value, sizes[i].attribute, device);
		*sizes[i].to = (size_t)value;
	}
	return r;
}

#if RUNTIME_MAJOR < 13
/* The older layout has this name in CUDA 12; what has the plain one there is that of CUDA 11. */
int cudaGetDeviceProperties_v2(struct properties *p, int device)
#else
int cudaGetDeviceProperties(struct properties *p, int device)
#endif
{
	return RT_EARLY(p ? properties(p, device) : CUDA_INVALID_VALUE);
}
