/*
 * nvtx_loader.h - the program's side of NVTX, written from its binary interface alone, so that tests need no toolkit:
 * asks for the injection library, opens it, hands it tables of pointers, and calls through these.
 */
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

typedef void (*nvtx_fn)(void);

struct nvtx_attr {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, blobs;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t message_type;
	const void *message;
};

struct nvtx_blob {
	uint64_t schema;
	size_t size;
	const void *data;
};

struct nvtx_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset;
	const void *semantics, *reserved;
};

struct nvtx_schema {
	uint64_t mask;
	const char *name;
	uint64_t type, flags;
	const struct nvtx_entry *entry;
	size_t entries, bytes, alignment;
	uint64_t id;
	void *extension;
};

struct nvtx_value {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};

struct nvtx_enum {
	uint64_t mask;
	const char *name;
	const struct nvtx_value *value;
	size_t values, bytes;
	uint64_t id;
	void *extension;
};

struct nvtx_resource {
	uint16_t version, size;
	int32_t type;
	uint64_t identifier;
	int32_t message_type;
	const void *message;
};

/* Functions by module (1 core, 2 CUDA, 3 OpenCL, 4 CUDA runtime, 5 domains, 6 synchronisation) and place. */
static nvtx_fn nvtx_fn_of[7][17];
static nvtx_fn *nvtx_table[7][17];
static intptr_t nvtx_ext[64];

#define NVTX(module, place, type) ((type)nvtx_fn_of[module][place])

static int nvtx_module_table(int module, nvtx_fn ***table, unsigned *cnt)
{
	static const unsigned cnts[7] = {0, 16, 9, 15, 7, 16, 7};

	if (module < 1 || module > 6)
		return 0;
	for (unsigned i = 1; i < cnts[module]; i++)
		nvtx_table[module][i] = &nvtx_fn_of[module][i];
	if (cnt)
		*cnt = cnts[module];
	if (table)
		*table = nvtx_table[module];
	return 1;
}

static const void *nvtx_export(uint32_t id)
{
	static const struct {
		size_t size;
		int (*module)(int, nvtx_fn ***, unsigned *);
	} callbacks = {sizeof(callbacks), nvtx_module_table};

	return id == 1 ? &callbacks : NULL;
}

struct nvtx_segment {
	size_t id, cnt;
	intptr_t *slot;
};
struct nvtx_module {
	uint16_t version, size, id, compatible;
	size_t segments;
	struct nvtx_segment *segment;
	intptr_t (*get)(uint32_t);
	const void *info;
};

/* True: an injection is there. */
__attribute__((unused)) static int nvtx_load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(const void *(*)(uint32_t));
	int (*init_ext)(struct nvtx_module *);
	struct nvtx_segment segment = {0, 63, nvtx_ext + 1};
	struct nvtx_module module = {3, sizeof(module), 2, 0x0104, 1, &segment, NULL, NULL};

	if (!lib)
		return 0;
	init = (int (*)(const void *(*)(uint32_t)))dlsym(lib, "InitializeInjectionNvtx2");
	if (!init || !init(nvtx_export))
		return 0;
	init_ext = (int (*)(struct nvtx_module *))dlsym(lib, "InitializeInjectionNvtxExtension");
	if (init_ext && !init_ext(&module))
		memset(nvtx_ext, 0, sizeof(nvtx_ext));
	return 1;
}

/* The functions of the extension for counters into @slot[6]. True: an injection has some. */
__attribute__((unused)) static int nvtx_load_counters(intptr_t *slot)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	struct nvtx_segment segment = {0, 6, slot};
	struct nvtx_module module = {3, sizeof(module), 4, 0x0101, 1, &segment, NULL, NULL};
	int (*init)(struct nvtx_module *);

	init = lib ? (int (*)(struct nvtx_module *))dlsym(lib, "InitializeInjectionNvtxExtension")
		   : NULL;
	return init && init(&module);
}

/* A few as NVTX names them. */
#define CORE(place, type)  NVTX(1, place, type)
#define CORE2(place, type) NVTX(5, place, type)
static inline int push(const char *s)
{
	return CORE(9, int (*)(const char *))(s);
}
static inline int pop(void)
{
	return CORE(11, int (*)(void))();
}
static inline int push_ex(void *domain, const struct nvtx_attr *a)
{
	return CORE2(4, int (*)(void *, const struct nvtx_attr *))(domain, a);
}
static inline int pop_ex(void *domain)
{
	return CORE2(5, int (*)(void *))(domain);
}
static inline uint64_t start_ex(void *domain, const struct nvtx_attr *a)
{
	return CORE2(2, uint64_t(*)(void *, const struct nvtx_attr *))(domain, a);
}
static inline void end_ex(void *domain, uint64_t id)
{
	CORE2(3, void (*)(void *, uint64_t))(domain, id);
}
static inline void mark_ex(void *domain, const struct nvtx_attr *a)
{
	CORE2(1, void (*)(void *, const struct nvtx_attr *))(domain, a);
}
static inline void *domain_create(const char *name)
{
	return CORE2(12, void *(*)(const char *))(name);
}
static inline void *string_register(void *domain, const char *s)
{
	return CORE2(10, void *(*)(void *, const char *))(domain, s);
}

static inline struct nvtx_attr attr_of(int type, const void *message)
{
	return (struct nvtx_attr){
		.version = 3, .size = 48, .message_type = type, .message = message};
}
