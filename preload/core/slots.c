/*
 * slots.c - patches the slots of loaded objects: relocations by name (DT_JMPREL, GLOB_DAT, pointers in data) that hold the address
 * of a function that has a wrapper.
 *
 * A slot is changed only where it holds the address that the wrapper will call, or, of the PLT, has not been resolved yet. So what
 * the program's own file defines stays the program's, as with LD_PRELOAD. Values are compared and exchanged in one step: the loader
 * may resolve the same slot at that moment. The value that a slot had is kept by the slot's address: objects may be unloaded,
 * and others take their place, whose slots then replace the old ones.
 *
 * Not the slots of the C library and of the loader: calls inside of them are no calls of the program.
 */
#include "preload/core/slots.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/base/libc.h"
#include "preload/base/object.h"
#include "preload/base/resolve.h"
#include "preload/base/state.h"
#include "preload/wire/sys.h"

#define PAGE     ((ElfW(Addr))SL_PAGE_MAX)
#define NAMES    2048u /* a power of two, with room for all hooks */
#define SEEN_MAX 4096u
_Static_assert(SL_HOOK_CNT * 2 < NAMES, "the table of names is at most half full");

/* A slot that was patched, and the value that it had. */
struct kept {
	uintptr_t *slot; /* NULL: free */
	uintptr_t original;
};

static struct tables {
	uint16_t names[NAMES];          /* hook + 1, by the hash of its name */
	uintptr_t wrapper[SL_HOOK_CNT]; /* 0: this library does not export it */
	bool is_own[SL_HOOK_CNT];       /* the program's file defines the function */
	struct {
		ElfW(Addr) base;
		const ElfW(Phdr) * phdr;
	} seen[SEEN_MAX];
	uint32_t seen_cnt;
	unsigned long long adds, subs; /* the loader's counts at the last scan */
	struct kept *kept;             /* by the slot's address */
	uint32_t kept_cnt, kept_room;  /* the room is a power of two */
} * tables;

static uint32_t is_on;        /* slots are patched */
static const void *lock;      /* atomic: the thread that walks, NULL: none */
static uint32_t again;        /* another walk is due */
static uint32_t restored_cnt; /* by the walk that restores */

static void *map(size_t bytes)
{
	long m = sl_sys6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return m < 0 && m > -4096 ? NULL : (void *)m;
}

/* ---- names of the hooks ---- */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

static int hook_of(const char *name)
{
	for (uint32_t h = hash_of(name);; h++) {
		uint16_t n = tables->names[h % NAMES];

		if (!n)
			return -1;
		if (strcmp(sl_hook_name(n - 1u), name) == 0)
			return n - 1;
	}
}

/* The program's file is the first object; this library exports the wrappers. */
static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool *is_first = arg, is_this = sl_object_contains(info, &tables);
	struct sl_object o;

	(void)size;
	if ((*is_first || is_this) && sl_object_open(&o, info))
		for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
			void *at = sl_object_find(&o, sl_hook_name(i));

			if (is_this)
				tables->wrapper[i] = (uintptr_t)at;
			else
				tables->is_own[i] = at != NULL;
		}
	*is_first = false;
	return is_this;
}

static bool make_tables(void)
{
	bool is_first = true;

	if (tables)
		return true;
	tables = map(sizeof(*tables));
	if (!tables)
		return false;
	for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
		uint32_t h = hash_of(sl_hook_name(i));

		while (tables->names[h % NAMES])
			h++;
		tables->names[h % NAMES] = (uint16_t)(i + 1);
	}
	dl_iterate_phdr(look_at, &is_first);
	return true;
}

/* ---- values that slots had ---- */

static struct kept *kept_place(uintptr_t *slot)
{
	uint32_t at = (uint32_t)((uintptr_t)slot >> 3) * 2654435761u;

	while (tables->kept[at & (tables->kept_room - 1)].slot &&
	       tables->kept[at & (tables->kept_room - 1)].slot != slot)
		at++;
	return &tables->kept[at & (tables->kept_room - 1)];
}

static bool kept_grow(void)
{
	struct kept *old = tables->kept;
	uint32_t room = tables->kept_room;
	struct kept *larger;

	if (room && tables->kept_cnt < room / 2)
		return true;
	larger = map((room ? room * 2 : 4096) * sizeof(*larger));
	if (!larger)
		return false;
	tables->kept = larger;
	tables->kept_room = room ? room * 2 : 4096;
	for (uint32_t i = 0; i < room; i++)
		if (old[i].slot)
			*kept_place(old[i].slot) = old[i];
	if (old)
		sl_sys2(SYS_munmap, old, room * sizeof(*old));
	return true;
}

static bool keep(uintptr_t *slot, uintptr_t original)
{
	struct kept *k;

	if (!kept_grow())
		return false;
	k = kept_place(slot);
	tables->kept_cnt += !k->slot;
	k->slot = slot;
	k->original = original;
	return true;
}

/* ---- the slots of an object ---- */

struct walk {
	struct sl_object o;
	ElfW(Addr) begin, end;           /* of the object */
	ElfW(Addr) relro_from, relro_to; /* whole pages; 0: none */
	const struct dl_phdr_info *info;
	bool is_open; /* RELRO pages may be written now */
	bool restores;
};

/*
 * Of the functions with two ABIs under one name (libtrace.map): a reference to the old one, which has no wrapper. A slot that is
 * resolved shows it by its address.
 */
static bool wants_old_version(const struct sl_object *o, uint32_t symbol, const char *name)
{
	const ElfW(Verneed) *need = o->verneed;
	unsigned version;

	if (strncmp(name, "pthread_cond_", 13) != 0 || !o->versym || !need)
		return false;
	version = o->versym[symbol] & 0x7fff;
	for (;; need = (const ElfW(Verneed) *)((const char *)need + need->vn_next)) {
		const ElfW(Vernaux) *aux =
			(const ElfW(Vernaux) *)((const char *)need + need->vn_aux);

		for (unsigned i = 0; i < need->vn_cnt; i++) {
			if (aux->vna_other == version)
				return strcmp(o->strtab + aux->vna_name, "GLIBC_2.2.5") == 0;
			aux = (const ElfW(Vernaux) *)((const char *)aux + aux->vna_next);
		}
		if (!need->vn_next)
			return false;
	}
}

static bool is_writable(const struct walk *w, ElfW(Addr) at)
{
	for (int i = 0; i < w->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &w->info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_W &&
		    at - w->o.base - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/* False: the slot cannot be written. */
static bool open_slot(struct walk *w, ElfW(Addr) at)
{
	if (!is_writable(w, at))
		return false;
	if (w->is_open || at < w->relro_from || at >= w->relro_to)
		return true;
	w->is_open = sl_sys3(SYS_mprotect, w->relro_from, w->relro_to - w->relro_from,
			     PROT_READ | PROT_WRITE) == 0;
	return w->is_open;
}

static void patch_slot(struct walk *w, uintptr_t *slot, unsigned hook, uint32_t symbol, bool is_plt)
{
	uintptr_t now = __atomic_load_n(slot, __ATOMIC_RELAXED);
	/* An unresolved slot leads into its own object. */
	bool is_lazy = is_plt && now >= w->begin && now < w->end;

	if (is_lazy ? tables->is_own[hook] || wants_old_version(&w->o, symbol, sl_hook_name(hook))
		    : now != (uintptr_t)sl_real[hook])
		return;
	/* Kept first: a slot that cannot be kept is not changed. */
	if (open_slot(w, (ElfW(Addr))slot) && keep(slot, now))
		__atomic_compare_exchange_n(slot, &now, tables->wrapper[hook], 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
}

static void restore_slot(struct walk *w, uintptr_t *slot, unsigned hook)
{
	uintptr_t wrapper = tables->wrapper[hook];
	struct kept *k;

	if (__atomic_load_n(slot, __ATOMIC_RELAXED) != wrapper)
		return;
	k = kept_place(slot);
	if (!k->slot || !open_slot(w, (ElfW(Addr))slot))
		return;
	restored_cnt += __atomic_compare_exchange_n(slot, &wrapper, k->original, 0,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void take_relocation(struct walk *w, const ElfW(Rela) * r)
{
	unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
	uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
#if defined(__x86_64__)
	bool is_plt = type == R_X86_64_JUMP_SLOT;
	bool is_data = type == R_X86_64_GLOB_DAT || (type == R_X86_64_64 && !r->r_addend);
#else
	bool is_plt = type == R_AARCH64_JUMP_SLOT;
	bool is_data = type == R_AARCH64_GLOB_DAT || (type == R_AARCH64_ABS64 && !r->r_addend);
#endif
	uintptr_t *slot = (uintptr_t *)(w->o.base + r->r_offset);
	int hook;

	if (!(is_plt || is_data) || !symbol || w->o.symtab[symbol].st_shndx != SHN_UNDEF ||
	    (uintptr_t)slot % sizeof(*slot))
		return;
	hook = hook_of(w->o.strtab + w->o.symtab[symbol].st_name);
	if (hook < 0 || !tables->wrapper[hook] || !sl_real[hook])
		return;
	if (w->restores)
		restore_slot(w, slot, (unsigned)hook);
	else
		patch_slot(w, slot, (unsigned)hook, symbol, is_plt);
}

static void find_bounds(struct walk *w)
{
	const struct dl_phdr_info *info = w->info;

	w->begin = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) at = w->o.base + p->p_vaddr;

		if (p->p_type == PT_LOAD && at < w->begin)
			w->begin = at;
		if (p->p_type == PT_LOAD && at + p->p_memsz > w->end)
			w->end = at + p->p_memsz;
		/* As the loader does: whole pages only. */
		if (p->p_type == PT_GNU_RELRO) {
			w->relro_from = at & ~(PAGE - 1);
			w->relro_to = (at + p->p_memsz) & ~(PAGE - 1);
		}
	}
}

static void walk_object(const struct dl_phdr_info *info, bool restores)
{
	struct walk w = {.info = info, .restores = restores};

	if (!sl_object_open(&w.o, info))
		return;
	find_bounds(&w);
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; w.o.rela[k] && i < w.o.rela_cnt[k]; i++)
			take_relocation(&w, &w.o.rela[k][i]);
	if (w.is_open)
		sl_sys3(SYS_mprotect, w.relro_from, w.relro_to - w.relro_from, PROT_READ);
}

/* ---- all objects ---- */

/* Parts of the tracer, CUPTI (whose calls are its own), libc and the loader. */
static bool is_left_out(const struct dl_phdr_info *info)
{
	static const char *const names[] = {"libc.so.", "ld-linux", "libtrace-cuda.so",
					    "libcupti.so", "linux-vdso"};
	const char *name = info->dlpi_name, *slash = name ? strrchr(name, '/') : NULL;

	name = slash ? slash + 1 : name;
	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return sl_object_contains(info, &tables) ||
	       sl_object_contains(info, (const void *)getauxval(AT_SYSINFO_EHDR));
}

static bool was_seen(const struct dl_phdr_info *info)
{
	for (uint32_t i = 0; i < tables->seen_cnt; i++)
		if (tables->seen[i].base == info->dlpi_addr &&
		    tables->seen[i].phdr == info->dlpi_phdr)
			return true;
	/* Those for which there is no room are looked at each time, which changes nothing. */
	if (tables->seen_cnt < SEEN_MAX) {
		tables->seen[tables->seen_cnt].base = info->dlpi_addr;
		tables->seen[tables->seen_cnt++].phdr = info->dlpi_phdr;
	}
	return false;
}

static int patch_object(struct dl_phdr_info *info, size_t size, void *is_first)
{
	(void)size;
	if (*(bool *)is_first) {
		*(bool *)is_first = false;
		if (info->dlpi_adds == tables->adds && info->dlpi_subs == tables->subs)
			return 1;
		/* Another object may be where one was. */
		if (info->dlpi_subs != tables->subs)
			tables->seen_cnt = 0;
		tables->adds = info->dlpi_adds;
		tables->subs = info->dlpi_subs;
	}
	if (!is_left_out(info) && !was_seen(info))
		walk_object(info, false);
	return 0;
}

static int restore_object(struct dl_phdr_info *info, size_t size, void *none)
{
	(void)size;
	(void)none;
	if (!is_left_out(info))
		walk_object(info, true);
	return 0;
}

static bool take_lock(void)
{
	const void *none = NULL;

	return __atomic_compare_exchange_n(&lock, &none, &sl_tls, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static void give_lock(void)
{
	__atomic_store_n(&lock, NULL, __ATOMIC_RELEASE);
}

/* Another thread that walks ends soon: it waits for nothing but the loader's lock, which this thread does not hold. */
static void wait_for_lock(void)
{
	const struct timespec step = {0, 200000};

	while (!take_lock())
		sl_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
}

void sl_slots_scan(void)
{
	if (!__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
		return;
	/* A thread that walks now walks once more on behalf of this one. */
	__atomic_store_n(&again, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&again, __ATOMIC_SEQ_CST)) {
		bool is_first = true;

		if (!take_lock())
			return;
		__atomic_store_n(&again, 0, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&is_on, __ATOMIC_RELAXED))
			dl_iterate_phdr(patch_object, &is_first);
		give_lock();
	}
}

void sl_slots_scan_soon(void)
{
	if (__atomic_load_n(&is_on, __ATOMIC_RELAXED) && sl_tls.cookie == sl_proc.cookie)
		sl_tls.saved_cookie = sl_set_cookie(SL_COOKIE_SCAN);
}

bool sl_slots_patch(void)
{
	bool ok;

	wait_for_lock();
	ok = make_tables() && kept_grow();
	if (ok) {
		tables->adds = tables->subs = 0;
		tables->seen_cnt = 0;
		__atomic_store_n(&is_on, 1, __ATOMIC_RELEASE);
	}
	give_lock();
	if (!ok)
		return false;
	sl_slots_scan();
	/* Once more: the loader may have resolved a slot that had just been changed. */
	wait_for_lock();
	tables->adds = 0;
	tables->seen_cnt = 0;
	give_lock();
	sl_slots_scan();
	return true;
}

uint32_t sl_slots_restore(void)
{
	if (!__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
		return 0;
	wait_for_lock();
	__atomic_store_n(&is_on, 0, __ATOMIC_RELEASE);
	restored_cnt = 0;
	dl_iterate_phdr(restore_object, NULL);
	memset(tables->kept, 0, tables->kept_room * sizeof(*tables->kept));
	tables->kept_cnt = 0;
	give_lock();
	return restored_cnt;
}

void sl_slots_forked(void)
{
	lock = NULL;
}
