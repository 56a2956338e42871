/*
 * nvtx.c - makes this library NVTX's injection library: fills in NVTX's tables of callbacks, and chains to the injection
 * library that the program itself has.
 *
 * NVTX reads the path of its injection library by getenv(NVTX_INJECTION64_PATH), opens it and calls
 * InitializeInjectionNvtx2() in it. The getenv() wrapper (wrap_env.c) returns the path of this library for that name.
 * dlopen() returns the library that is loaded already. The variable's real value is
 * the program's own injection library, which is loaded and called, too.
 */
#include "preload/nvtx/nvtx.h"

#include <string.h>

#include "preload/base/object.h"
#include "preload/wire/sys.h"

static const char variable[] = "NVTX_INJECTION64_PATH";

static bool is_traced(void)
{
	const struct sl_session *s = sl_global.session;

	if (!sl_ready() || !sl_global.path)
		return false;
	if (s->trace & SL_TRACE_NVTX)
		return true;
	/* Python's ranges are NVTX records, too. */
	sl_nvtx_silent = !s->python && !(s->trace & SL_TRACE_PYTHON_GIL);
	return s->capture_by & SL_CAPTURE_BY_NVTX;
}

const char *sl_nvtx_env(const char *name)
{
	return strcmp(name, variable) == 0 && is_traced() ? sl_global.path : NULL;
}

/* ---- the program's own injection library ---- */

static struct {
	uint32_t state; /* enum below */
	nvtx_inject inject;
	nvtx_inject_module inject_module;
} other;
enum {
	CHAINED_UNKNOWN = 0,
	CHAINED_LOADING,
	CHAINED_KNOWN
};

struct place {
	ElfW(Addr) base;
	nvtx_inject inject;
	nvtx_inject_module inject_module;
};

static int find_inject(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *p = arg;
	struct sl_object o;

	(void)size;
	if (info->dlpi_addr != p->base || !sl_object_open(&o, info))
		return 0;
	p->inject = (nvtx_inject)sl_object_find(&o, "InitializeInjectionNvtx2");
	p->inject_module =
		(nvtx_inject_module)sl_object_find(&o, "InitializeInjectionNvtxExtension");
	return p->inject != NULL;
}

SL_EXPORT int InitializeInjectionNvtx2(nvtx_get_table get);
SL_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_module *module);

/*
 * Once per process, at the first initialization: handles that were given out must stay valid. Not by dlsym(), which is in
 * libdl in older glibc, a library that this one does not depend on.
 */
static void load_chained(void)
{
	void *(*open)(const char *, int) = sl_get_real(SL_H_dlopen);
	char *(*real_getenv)(const char *) =
		(char *(*)(const char *))(uintptr_t)sl_object_next("getenv");
	const char *path = real_getenv ? real_getenv(variable) : NULL;
	struct place p = {0};
	uint32_t state = CHAINED_UNKNOWN;
	struct link_map *lib;

	if (!__atomic_compare_exchange_n(&other.state, &state, CHAINED_LOADING, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		/* Concurrent first calls. Bounded: loading may call this function again in the same thread. */
		for (int i = 0; i < 1000 && state == CHAINED_LOADING; i++) {
			struct timespec ms = {0, 1000000};

			sl_sys2(SYS_nanosleep, &ms, NULL);
			state = __atomic_load_n(&other.state, __ATOMIC_ACQUIRE);
		}
		return;
	}
	lib = path && *path && open ? open(path, 1 /* RTLD_LAZY */) : NULL;
	if (lib) {
		p.base = lib->l_addr;
		dl_iterate_phdr(find_inject, &p);
	}
	if (p.inject && p.inject != InitializeInjectionNvtx2) {
		other.inject = p.inject;
		other.inject_module = p.inject_module;
	}
	__atomic_store_n(&other.state, CHAINED_KNOWN, __ATOMIC_RELEASE);
}

/* ---- tables ---- */

static nvtx_function own_function(int module, unsigned place)
{
	switch (module) {
	case NVTX_MODULE_CORE:
		return sl_nvtx_event_core[place] ? sl_nvtx_event_core[place]
						 : sl_nvtx_name_core[place];
	case NVTX_MODULE_CORE2:
		return sl_nvtx_event_core2[place] ? sl_nvtx_event_core2[place]
						  : sl_nvtx_name_core2[place];
	case NVTX_MODULE_CUDA:
		return sl_nvtx_name_cuda[place];
	case NVTX_MODULE_CUDART:
		return sl_nvtx_name_cudart[place];
	default:
		return NULL; /* synchronisation objects, OpenCL: not recorded; NVTX then does nothing */
	}
}

struct table {
	nvtx_function **slot;
	unsigned cnt;
	nvtx_function before[NVTX_MODULE_SLOTS];
};

static void find_tables(const struct nvtx_callbacks *callbacks, struct table *t)
{
	for (int m = 1; m < NVTX_MODULE_CNT; m++) {
		t[m].cnt = 0;
		if (!callbacks->module(m, &t[m].slot, &t[m].cnt) || !t[m].slot)
			t[m].cnt = 0;
		if (t[m].cnt > NVTX_MODULE_SLOTS)
			t[m].cnt = NVTX_MODULE_SLOTS;
		for (unsigned i = 1; i < t[m].cnt; i++)
			t[m].before[i] = t[m].slot[i] ? *t[m].slot[i] : NULL;
	}
}

/* Installs the shim's functions. A function of the chained injection is called by the one that replaces it, or stays. */
static void fill_tables(struct table *t, bool chained)
{
	for (int m = 1; m < NVTX_MODULE_CNT; m++)
		for (unsigned i = 1; i < t[m].cnt; i++) {
			nvtx_function f = own_function(m, i);

			if (!t[m].slot[i])
				continue;
			if (chained && *t[m].slot[i] != t[m].before[i] && *t[m].slot[i] != f)
				sl_nvtx_chain[m][i] = *t[m].slot[i];
			if (f)
				*t[m].slot[i] = f;
		}
}

/* Called once for each library with NVTX compiled in. */
int InitializeInjectionNvtx2(nvtx_get_table get)
{
	const struct nvtx_callbacks *callbacks = get ? get(1) : NULL;
	struct table t[NVTX_MODULE_CNT];
	bool chained;

	load_chained();
	if (!is_traced() || !callbacks || callbacks->size < sizeof(*callbacks))
		return other.inject ? other.inject(get) : 0;
	find_tables(callbacks, t);
	chained = other.inject && other.inject(get);
	sl_nvtx_chained |= chained;
	fill_tables(t, chained);
	return 1;
}

int InitializeInjectionNvtxExtension(struct nvtx_module *module)
{
	bool counts = module && module->id == NVTX_EXT_COUNTERS;
	const intptr_t *own = counts ? sl_nvtx_counter : sl_nvtx_ext;
	intptr_t *chain = counts ? sl_nvtx_chain_counter : sl_nvtx_chain_ext;
	intptr_t before[NVTX_EXT_SLOTS] = {0}, *slot = NULL;
	size_t cnt = 0;
	int chained = 0;

	load_chained();
	if (module && (counts || module->id == NVTX_EXT_PAYLOAD) && module->segment_cnt &&
	    module->segment && is_traced()) {
		slot = module->segment[0].slot;
		cnt = module->segment[0].cnt < NVTX_EXT_SLOTS ? module->segment[0].cnt
							      : NVTX_EXT_SLOTS;
	}
	for (size_t i = 0; i < cnt; i++)
		before[i] = slot[i];
	if (other.inject_module)
		chained = other.inject_module(module);
	for (size_t i = 0; i < cnt; i++) {
		if (chained && slot[i] != before[i] && own[i] && slot[i] != own[i])
			chain[i] = slot[i];
		if (own[i])
			slot[i] = own[i];
	}
	return slot ? 1 : chained;
}
