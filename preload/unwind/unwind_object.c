/*
 * unwind_object.c - finds the object at an address and its unwinding table, and keeps the list of modules.
 *
 * Used only for addresses whose row is not cached. glibc 2.35 and later finds objects without a lock (_dl_find_object);
 * before, the loader's list is walked.
 */
#include "preload/unwind/unwind_internal.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/compiler.h"
#include "preload/base/object.h"
#include "preload/base/table.h"

enum {
	PAGE = 4096,
	MODULES_MAX = 2048,
	SLOTS = 4096, /* a power of two, more than modules */
	PROBES = 64,
	BUILD_ID_MAX = 32,
	TEXT_BYTES = 256 * 1024, /* of paths; untouched pages cost nothing */
};

/* As <dlfcn.h> has it since 2.35. */
struct found_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};
typedef int find_object(void *address, struct found_object *found);

static find_object *loader_find;
static uint64_t vdso;

/* ---- from program headers ---- */

static void read_notes(struct unwind_object *o, const char *p, size_t len)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) n;
		size_t name, desc;

		memcpy(&n, p, sizeof(n));
		name = sizeof(n) + (((size_t)n.n_namesz + 3) & ~(size_t)3);
		desc = ((size_t)n.n_descsz + 3) & ~(size_t)3;
		if (name > len || desc > len - name)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(p + sizeof(n), "GNU", 4) == 0) {
			o->build_id = (const uint8_t *)p + name;
			o->build_id_len = n.n_descsz < BUILD_ID_MAX ? n.n_descsz : BUILD_ID_MAX;
			return;
		}
		p += name + desc;
		len -= name + desc;
	}
}

static void read_segment(struct unwind_object *o, const ElfW(Phdr) * p, uint64_t pc)
{
	uint64_t from = o->bias + p->p_vaddr, to = from + p->p_memsz;

	if (from < o->start)
		o->start = from & ~(uint64_t)(PAGE - 1);
	if (to > o->end)
		o->end = to;
	if (pc - from < p->p_memsz && p->p_flags & PF_X)
		o->is_code = true;
	if (o->cfi.header - from < p->p_filesz) {
		o->cfi.low = from;
		o->cfi.high = from + p->p_filesz;
	}
}

/* False: @pc is not in it. */
static bool read_headers(struct unwind_object *o, const ElfW(Phdr) * p, unsigned cnt, uint64_t pc)
{
	uint64_t us = (uintptr_t)&loader_find;

	o->start = UINT64_MAX;
	for (unsigned i = 0; i < cnt; i++) {
		if (p[i].p_type == PT_GNU_EH_FRAME)
			o->cfi.header = o->bias + p[i].p_vaddr;
		else if (p[i].p_type == PT_NOTE && !o->build_id)
			read_notes(o, (const char *)(o->bias + p[i].p_vaddr), p[i].p_filesz);
	}
	for (unsigned i = 0; i < cnt; i++)
		if (p[i].p_type == PT_LOAD)
			read_segment(o, &p[i], pc);
	o->is_own = us >= o->start && us < o->end;
	return pc >= o->start && pc < o->end;
}

struct search {
	struct unwind_object *o;
	uint64_t pc;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)size;
	*s->o = (struct unwind_object){.bias = info->dlpi_addr, .path = info->dlpi_name};
	return read_headers(s->o, info->dlpi_phdr, info->dlpi_phnum, s->pc);
}

static bool by_list(uint64_t pc, struct unwind_object *o)
{
	struct search s = {o, pc};

	return dl_iterate_phdr(visit, &s) != 0;
}

/* The program headers of the object at @start, if they are in its first page. */
static const ElfW(Phdr) * headers_at(uint64_t start, unsigned *cnt)
{
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)start;

	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_phentsize != sizeof(ElfW(Phdr)) ||
	    e->e_phoff > PAGE || e->e_phnum > (PAGE - e->e_phoff) / sizeof(ElfW(Phdr)))
		return NULL;
	*cnt = e->e_phnum;
	return (const ElfW(Phdr) *)(start + e->e_phoff);
}

static bool in_vdso(uint64_t pc, struct unwind_object *o)
{
	const ElfW(Phdr) * p;
	unsigned cnt;

	if (!vdso || pc < vdso || !(p = headers_at(vdso, &cnt)))
		return false;
	*o = (struct unwind_object){.bias = vdso, .path = "linux-vdso.so.1"};
	for (unsigned i = 0; i < cnt; i++)
		if (p[i].p_type == PT_LOAD) {
			o->bias = vdso + p[i].p_offset - p[i].p_vaddr;
			break;
		}
	return read_headers(o, p, cnt, pc);
}

static SL_ALIGNS_STACK bool ask_loader(uint64_t pc, struct found_object *found)
{
	return loader_find((void *)pc, found) == 0;
}

bool unwind_object(uint64_t pc, struct unwind_object *o)
{
	struct found_object found;
	const ElfW(Phdr) * p;
	unsigned cnt;

	if (in_vdso(pc, o))
		return true;
	if (!loader_find)
		return by_list(pc, o);
	if (!ask_loader(pc, &found))
		return false;
	p = headers_at((uint64_t)found.map_start, &cnt);
	if (!p) /* moved by a tool that changed the file */
		return by_list(pc, o);
	*o = (struct unwind_object){.bias = found.link_map->l_addr, .path = found.link_map->l_name};
	return read_headers(o, p, cnt, pc);
}

static int find_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct sl_object o;

	(void)size;
	(void)arg;
	if (!sl_object_open(&o, info) || !o.soname || strncmp(o.soname, "ld-linux", 8) != 0)
		return 0;
	loader_find = (find_object *)sl_object_find(&o, "_dl_find_object");
	return 1;
}

void unwind_object_start(void)
{
	vdso = getauxval(AT_SYSINFO_EHDR);
	dl_iterate_phdr(find_loader, NULL);
}

/* ---- modules: objects with frames ---- */

struct module {
	uint64_t start, end, bias;
	const char *path;
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_len;
	uint32_t is_gone; /* another object is at its address */
	uint32_t state;   /* enum below */
};
enum {
	MODULE_EMPTY,
	MODULE_READY,
	MODULE_TAKEN
};

struct modules {
	struct module module[MODULES_MAX];
	uint16_t slot[SLOTS]; /* by start: index + 1 */
	char text[TEXT_BYTES];
};
static uint32_t module_cnt, first_new, text_len;

bool unwind_modules_prepare(void)
{
	return sl_table(SL_TABLE_MODULES, sizeof(struct modules)) != NULL;
}

/* Mapped: only a walk adds modules. */
static struct modules *known(void)
{
	return sl_table_known(SL_TABLE_MODULES);
}

static bool is_same(const struct module *m, const struct unwind_object *o)
{
	return m->start == o->start && m->end == o->end && m->bias == o->bias &&
	       !__atomic_load_n(&m->is_gone, __ATOMIC_RELAXED) &&
	       m->build_id_len == o->build_id_len &&
	       (o->build_id_len ? memcmp(m->build_id, o->build_id, o->build_id_len) == 0
				: strcmp(m->path, o->path) == 0);
}

/* Copies @s: the loader frees its copy when the object is unloaded. */
static const char *keep_text(const char *s)
{
	size_t len = strlen(s) + 1;
	char *text = known()->text;
	uint32_t at;

	if (len > TEXT_BYTES || __atomic_load_n(&text_len, __ATOMIC_RELAXED) > TEXT_BYTES - len)
		return "?";
	at = __atomic_fetch_add(&text_len, (uint32_t)len, __ATOMIC_RELAXED);
	if (at > TEXT_BYTES - len)
		return "?";
	memcpy(text + at, s, len);
	return text + at;
}

static void mark_overlapped(const struct module *m, uint32_t cnt)
{
	struct module *modules = known()->module;

	for (uint32_t i = 0; i < cnt && i < MODULES_MAX; i++)
		if (&modules[i] != m && modules[i].start < m->end && modules[i].end > m->start)
			__atomic_store_n(&modules[i].is_gone, 1, __ATOMIC_RELAXED);
}

/* Two threads may add the same object concurrently. */
bool unwind_module_add(const struct unwind_object *o)
{
	uint32_t at = (uint32_t)(o->start / PAGE * 0x9e3779b1u), index;
	uint16_t *slots = known()->slot;
	struct module *m;

	for (unsigned i = 0; i < PROBES; i++) {
		/* Acquire: pairs with the release below, after the module is filled in. */
		index = __atomic_load_n(&slots[(at + i) % SLOTS], __ATOMIC_ACQUIRE);
		if (!index)
			break;
		if (is_same(&known()->module[index - 1], o))
			return false;
	}
	index = __atomic_fetch_add(&module_cnt, 1, __ATOMIC_RELAXED);
	if (index >= MODULES_MAX) {
		__atomic_store_n(&module_cnt, MODULES_MAX, __ATOMIC_RELAXED);
		return false;
	}
	m = &known()->module[index];
	m->start = o->start;
	m->end = o->end;
	m->bias = o->bias;
	m->path = keep_text(o->path ? o->path : "");
	m->build_id_len = o->build_id_len;
	if (o->build_id_len)
		memcpy(m->build_id, o->build_id, o->build_id_len);
	mark_overlapped(m, index);
	for (unsigned i = 0; i < PROBES; i++) {
		uint16_t none = 0;

		if (__atomic_compare_exchange_n(&slots[(at + i) % SLOTS], &none,
						(uint16_t)(index + 1), false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			break;
	}
	/* Release: pairs with the exchange in sl_unwind_next_module(). */
	__atomic_store_n(&m->state, MODULE_READY, __ATOMIC_RELEASE);
	return true;
}

void unwind_modules_forget(void)
{
	sl_table_clear(SL_TABLE_MODULES);
	__atomic_store_n(&text_len, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&first_new, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&module_cnt, 0, __ATOMIC_RELAXED);
}

bool sl_unwind_next_module(struct sl_module *out)
{
	uint32_t cnt = __atomic_load_n(&module_cnt, __ATOMIC_RELAXED);
	bool all_taken = true;

	for (uint32_t i = __atomic_load_n(&first_new, __ATOMIC_RELAXED); i < cnt && i < MODULES_MAX;
	     i++) {
		struct module *m = &known()->module[i];
		uint32_t ready = MODULE_READY;

		if (__atomic_compare_exchange_n(&m->state, &ready, MODULE_TAKEN, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			if (all_taken)
				__atomic_store_n(&first_new, i + 1, __ATOMIC_RELAXED);
			*out = (struct sl_module){.start = m->start,
						  .end = m->end,
						  .bias = m->bias,
						  .path = m->path,
						  .build_id = m->build_id,
						  .build_id_len = m->build_id_len};
			return true;
		}
		all_taken &= ready == MODULE_TAKEN;
	}
	return false;
}
