/*
 * resolve.c - finds the real functions: for each hook the next definition after this library.
 *
 * Not dlsym(RTLD_NEXT): it allocates (and the allocator may be the caller), takes the loader's lock, and
 * does not work before the program is initialized. The loader's list has the objects loaded at start in
 * the order in which the loader searches them, so the same walk over the same hash tables has the same
 * result.
 *
 * A function is looked up at its first call, as a short program calls few of them. Objects from this library to libc were
 * loaded at start, are never unloaded, and none comes between them: that part of the list is walked without the loader's
 * lock. What is not defined there is sought in all objects by dl_iterate_phdr().
 *
 * Objects after this one include other preloaded libraries (sanitizers, allocators): the wrappers call
 * their wrappers, as the program would have.
 *
 * A library that came late, by dlopen() (core/late.c), stands behind all of them: then every object but the program's own file
 * counts as one after it, as if it had been preloaded.
 */
#include "preload/base/object.h"

#include <string.h>
#include <sys/auxv.h>

#include "preload/base/compiler.h"
#include "preload/base/resolve.h"

void *sl_real[SL_HOOK_CNT];

/* From the object after this one to libc; both NULL: not known. */
static const struct link_map *first, *libc;
static bool is_late;
extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* glibc relocates dynamic pointers on most machines, but not for the vDSO. */
static const void *dyn_ptr(ElfW(Addr) base, ElfW(Addr) p)
{
	return (const void *)(p < base ? p + base : p);
}

bool sl_object_of(struct sl_object *o, ElfW(Addr) base, const ElfW(Dyn) * dyn)
{
	ElfW(Xword) soname = 0;

	*o = (struct sl_object){.base = base};
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		const void *p = dyn_ptr(o->base, dyn->d_un.d_ptr);

		if (dyn->d_tag == DT_SYMTAB)
			o->symtab = p;
		else if (dyn->d_tag == DT_STRTAB)
			o->strtab = p;
		else if (dyn->d_tag == DT_VERSYM)
			o->versym = p;
		else if (dyn->d_tag == DT_GNU_HASH)
			o->gnu_hash = p;
		else if (dyn->d_tag == DT_SONAME)
			soname = dyn->d_un.d_val;
		else if (dyn->d_tag == DT_JMPREL)
			o->rela[0] = p;
		else if (dyn->d_tag == DT_PLTRELSZ)
			o->rela_cnt[0] = dyn->d_un.d_val / sizeof(ElfW(Rela));
		else if (dyn->d_tag == DT_RELA)
			o->rela[1] = p;
		else if (dyn->d_tag == DT_RELASZ)
			o->rela_cnt[1] = dyn->d_un.d_val / sizeof(ElfW(Rela));
		else if (dyn->d_tag == DT_VERNEED)
			o->verneed = p;
	}
	o->soname = soname && o->strtab ? o->strtab + soname : NULL;
	return o->symtab && o->strtab && o->gnu_hash;
}

bool sl_object_open(struct sl_object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dyn = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return sl_object_of(o, info->dlpi_addr, dyn);
}

/* Of a function with several versions, by the processor. */
static SL_ALIGNS_STACK void *choose(void *(*resolver)(void))
{
	return resolver();
}

static void *symbol_address(const struct sl_object *o, const ElfW(Sym) * sym)
{
	void *p = (void *)(o->base + sym->st_value);

	if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC)
		p = choose((void *(*)(void))p);
	return p;
}

void *sl_object_find(const struct sl_object *o, const char *name)
{
	const uint32_t *head = o->gnu_hash;
	uint32_t nbuckets = head[0], bias = head[1], bloom_size = head[2], bloom_shift = head[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(head + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + bloom_size);
	const uint32_t *chain = buckets + nbuckets;
	const unsigned bits = sizeof(ElfW(Addr)) * 8;
	uint32_t h = gnu_hash(name), i;
	ElfW(Addr) word = bloom[h / bits & (bloom_size - 1)];

	if (!(word >> h % bits & word >> (h >> bloom_shift) % bits & 1))
		return NULL;
	i = nbuckets ? buckets[h % nbuckets] : 0;
	if (i < bias)
		return NULL;
	for (;; i++) {
		const ElfW(Sym) *sym = &o->symtab[i];
		uint32_t other = chain[i - bias];

		if ((other | 1) == (h | 1) && sym->st_shndx != SHN_UNDEF &&
		    !(o->versym && o->versym[i] & 0x8000) &&
		    strcmp(o->strtab + sym->st_name, name) == 0)
			return symbol_address(o, sym);
		if (other & 1)
			return NULL;
	}
}

struct search {
	bool is_after;    /* the walk is past this library */
	int only;         /* a hook, or -1 for all */
	const char *name; /* this function instead, which is no hook */
	void *found;
};

bool sl_object_contains(const struct dl_phdr_info *info, const void *address)
{
	ElfW(Addr) at = (ElfW(Addr))address;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/* This library itself, and the vDSO, whose functions stand in no global offset table. */
static bool is_no_candidate(const struct dl_phdr_info *info)
{
	return sl_object_contains(info, &sl_real) ||
	       sl_object_contains(info, (const void *)getauxval(AT_SYSINFO_EHDR));
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct sl_object o;

	(void)size;
	if (!s->is_after) {
		/* The first one is the program's file. */
		s->is_after = is_late || sl_object_contains(info, &sl_real);
		return 0;
	}
	if (is_late && is_no_candidate(info))
		return 0;
	if (!sl_object_open(&o, info))
		return 0;
	if (s->name) {
		s->found = sl_object_find(&o, s->name);
		return s->found != NULL;
	}
	for (int i = 0; i < SL_HOOK_CNT; i++)
		if ((s->only < 0 || s->only == i) && !sl_real[i]) {
			void *p = sl_object_find(&o, sl_hook_name(i));

			if (p)
				__atomic_store_n(&sl_real[i], p, __ATOMIC_RELEASE);
		}
	return 0;
}

void *sl_object_next(const char *name)
{
	struct search s = {.name = name};

	dl_iterate_phdr(visit, &s);
	return s.found;
}

static void *find_to_libc(const char *name)
{
	const struct link_map *m = __atomic_load_n(&first, __ATOMIC_ACQUIRE);
	struct sl_object o;
	void *p = NULL;

	for (; m && !p; m = m == libc ? NULL : m->l_next)
		if (m->l_ld && sl_object_of(&o, m->l_addr, m->l_ld))
			p = sl_object_find(&o, name);
	return p;
}

void *sl_resolve(enum sl_hook hook)
{
	struct search s = {.only = (int)hook};
	void *p = find_to_libc(sl_hook_name(hook));

	if (p)
		/* The same in every thread. */
		__atomic_store_n(&sl_real[hook], p, __ATOMIC_RELEASE);
	else
		dl_iterate_phdr(visit, &s);
	return sl_real[hook];
}

void sl_resolve_start(const struct link_map *of_libc)
{
	struct search s = {.only = -1};
	const struct link_map *own = of_libc;

	while (own && own->l_ld != own_dynamic)
		own = own->l_prev;
	if (!own || own == of_libc) {
		dl_iterate_phdr(visit, &s);
		return;
	}
	libc = of_libc;
	/* Release: a thread that finds the first one stops at libc. */
	__atomic_store_n(&first, own->l_next, __ATOMIC_RELEASE);
}

bool sl_resolve_is_late(const struct link_map *of_libc)
{
	const struct link_map *m = of_libc;

	while (m && m->l_ld != own_dynamic)
		m = m->l_next;
	return m != NULL;
}

void sl_resolve_start_late(void)
{
	struct search s = {.only = -1};

	is_late = true;
	dl_iterate_phdr(visit, &s);
}
