/*
 * gpu_bind.c - finds GPU libraries among the loaded objects, and redirects references of all other objects to the
 * entries: slots of their global offset tables (and function pointers in their data) that hold addresses of the real
 * functions. Symbol lookup order has no influence, so it does not matter how an object was opened (RTLD_LOCAL,
 * RTLD_DEEPBIND), and where the library is missing the functions are missing.
 *
 * The first copy of a library that is loaded is bound. Calls into another copy (a wheel's private runtime next to
 * the system's) are known from CUPTI alone, as those of a statically linked runtime are; a note in the report.
 */
#include "preload/gpu/gpu_engine.h"
#include "preload/gpu/gpu_guest.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/wire/gpu_parse.h"
#include "preload/base/object.h"
#include "preload/core/stack.h"
#include "preload/base/valgrind.h"
#include "preload/wire/sys.h"

#define OBJECT_MAX 2048u
#define HASH_SIZE  8192u
#define CUPTI_BIT  (1u << 31) /* in sets of libraries: libcupti */

/* A loaded object. */
struct seen {
	ElfW(Addr) base, end;
	const ElfW(Phdr) * phdr; /* with base: identifies the object */
	uint32_t patched;        /* libraries whose references in it are redirected */
	int8_t library;          /* enum sl_gpu_library, -1 none */
	bool is_ours;            /* part of the tracer, or CUPTI: not patched */
	bool is_there;           /* found by the current scan */
};

/* Allocated only in processes with a GPU library. */
static struct tables {
	struct seen seen[OBJECT_MAX];
	uint32_t seen_cnt;
	uint32_t text_at[SL_GPU_FUNCTION_CNT]; /* of the line in sl_gpu_text */
	uint16_t hash[HASH_SIZE];              /* number + 1 */
	uint16_t by_address[SL_GPU_FUNCTION_CNT];
	uint32_t by_address_cnt;
	ElfW(Addr) bound_base[SL_GPU_LIBRARY_CNT]; /* of the copy whose functions these are */
	struct sl_gpu_function_state state[SL_GPU_FUNCTION_CNT];
} * tables;

struct sl_gpu_seen sl_gpu_seen;
static const void *scan_lock; /* atomic: the thread that scans, NULL: none */
static uint32_t scan_again;
static unsigned long long adds, subs; /* the loader's counts at the last scan */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

static bool make_tables(void)
{
	const char *at = sl_gpu_text;
	struct sl_gpu_line line;
	long m;

	if (tables)
		return true;
	m = sl_sys6(SYS_mmap, 0, sizeof(*tables), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m < 0 && m > -4096)
		return false;
	tables = (struct tables *)m;
	sl_valgrind_ignore(tables, sizeof(*tables));
	for (unsigned n = 0; n < SL_GPU_FUNCTION_CNT; n++) {
		uint32_t h;

		tables->text_at[n] = (uint32_t)(at - sl_gpu_text);
		at = sl_gpu_next(at, &line);
		for (h = hash_of(line.name); tables->hash[h % HASH_SIZE]; h++)
			;
		tables->hash[h % HASH_SIZE] = (uint16_t)(n + 1);
	}
	return true;
}

/* Number of the function with this name, -1: none. */
static int sl_gpu_number(const char *name)
{
	int number = -1;

	/* Most symbols need no hash. */
	if (!tables || !strchr("cn_MP", name[0]))
		return -1;
	for (uint32_t h = hash_of(name);; h++) {
		uint16_t n = tables->hash[h % HASH_SIZE];

		if (!n)
			return number;
		if (strcmp(sl_gpu_text + tables->text_at[n - 1], name) != 0)
			continue;
		/* Of lines for several versions of a library, the bound one. */
		number = n - 1;
		if (tables->state[number].real)
			return number;
	}
}

/* ---- binding a library: its functions and their arguments ---- */

static uint64_t stack_ticks(const char *function)
{
	const struct sl_session *s = sl_global.session;

	return s->stack_kinds & (SL_STACK_GPU_NATIVE | SL_STACK_GPU_PYTHON)
		       ? s->stack_gpu_ticks[sl_stack_class_of(function)]
		       : UINT64_MAX;
}

/* Whether line @number, of the lines of its function, describes major version @major of the library. */
static bool is_line_of(unsigned number, unsigned major)
{
	struct sl_gpu_line line, older;
	const char *next = sl_gpu_next(sl_gpu_text + tables->text_at[number], &line);

	if (line.until && (!major || major > line.until))
		return false;
	if (!*next)
		return true;
	sl_gpu_next(next, &older);
	return !older.until || strcmp(older.name, line.name) != 0 || !major || major > older.until;
}

/* The words that are kept of MPI's pointers are handles alone. */
static void make_handles_ints(struct sl_gpu_function_state *f)
{
	for (unsigned i = 0; i < f->arg_cnt; i++)
		if (f->arg[i].how == SL_GPU_HOW_WORD)
			f->arg[i].how = SL_GPU_HOW_LOW;
		else if (f->arg[i].how == SL_GPU_HOW_AT)
			f->arg[i].how = SL_GPU_HOW_INT_AT;
}

static void bind_function(unsigned number, enum sl_gpu_library library, const struct sl_object *o)
{
	static const uint16_t family[SL_GPU_LIBRARY_CNT] = {
		[SL_GPU_cudart] = 1,   [SL_GPU_cuda] = 1,      [SL_GPU_cublas] = 2,
		[SL_GPU_cublaslt] = 2, [SL_GPU_cudnn] = 4,     [SL_GPU_nccl] = 8,
		[SL_GPU_cufft] = 16,   [SL_GPU_cusparse] = 32, [SL_GPU_cusolver] = 64,
		[SL_GPU_cufile] = 128, [SL_GPU_mpi] = 256,
	};
	struct sl_gpu_function_state *f = &tables->state[number];
	struct sl_gpu_line line;
	void *real;

	sl_gpu_next(sl_gpu_text + tables->text_at[number], &line);
	real = sl_object_find(o, line.name);
	memset(f, 0, sizeof(*f));
	if (!real || !sl_gpu_place(&line, f, &sl_gpu_stack_words[number]))
		return;
	f->family = family[library];
	f->is_cuda = f->family == 1;
	f->stack_ticks = stack_ticks(line.name);
	if (library == SL_GPU_mpi && sl_gpu_mpi_is_int())
		make_handles_ints(f);
	/* Release: a thread that reads @real also reads the other fields. */
	__atomic_store_n(&f->real, real, __ATOMIC_RELEASE);
}

static void sort_addresses(void)
{
	uint32_t cnt = 0;

	for (unsigned n = 0; n < SL_GPU_FUNCTION_CNT; n++) {
		uint32_t at = cnt;

		if (!tables->state[n].real)
			continue;
		/* Insertion sort: a few thousand, partly sorted. */
		for (; at && tables->state[tables->by_address[at - 1]].real > tables->state[n].real;
		     at--)
			tables->by_address[at] = tables->by_address[at - 1];
		tables->by_address[at] = (uint16_t)n;
		cnt++;
	}
	tables->by_address_cnt = cnt;
}

int sl_gpu_by_address(const void *real)
{
	uint32_t low = 0, high = tables ? tables->by_address_cnt : 0;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		const void *at = tables->state[tables->by_address[mid]].real;

		if (at == real)
			return tables->by_address[mid];
		if ((uintptr_t)at < (uintptr_t)real)
			low = mid + 1;
		else
			high = mid;
	}
	return -1;
}

static void note_second_copy(const char *path)
{
	static const char text[] =
		"a second copy of a GPU library; its calls are known from CUPTI alone: ";
	char note[512];
	size_t len = strnlen(path, sizeof(note) - sizeof(text));

	memcpy(note, text, sizeof(text) - 1);
	memcpy(note + sizeof(text) - 1, path, len);
	if (sl_tls.chunk && sl_tls.cookie == sl_proc.cookie)
		sl_note(SL_NOTE_OTHER, note, sizeof(text) - 1 + len);
}

static bool has_functions(enum sl_gpu_library library, const struct sl_object *o)
{
	struct sl_gpu_line line;

	for (unsigned n = sl_gpu_first[library]; n < sl_gpu_first[library + 1]; n++) {
		sl_gpu_next(sl_gpu_text + tables->text_at[n], &line);
		if (sl_object_find(o, line.name))
			return true;
	}
	return false;
}

static void bind_library(enum sl_gpu_library library, const struct sl_object *o, const char *path)
{
	unsigned major = o->soname ? sl_gpu_library_major(o->soname) : 0;

	if (sl_gpu_seen.bound & 1u << library) {
		note_second_copy(path);
		return;
	}
	if (!major)
		major = sl_gpu_library_major(sl_gpu_base_name(path));
	if (library == SL_GPU_mpi && !sl_gpu_mpi_open(o, major))
		return;
	for (unsigned n = sl_gpu_first[library]; n < sl_gpu_first[library + 1]; n++)
		if (is_line_of(n, major) &&
		    (sl_gpu_library_flag(library) & sl_global.session->trace || sl_gpu_special(n)))
			bind_function(n, library, o);
	if (library == SL_GPU_nccl || library == SL_GPU_mpi)
		sl_gpu_comms_open();
	tables->bound_base[library] = o->base;
	sort_addresses();
	sl_gpu_state = tables->state;
	sl_gpu_seen.bound |= 1u << library;
}

/* ---- references ---- */

struct relro {
	ElfW(Addr) from, to; /* whole pages; 0: none */
	bool is_open;
};

static void relro_protect(struct relro *r, int prot)
{
	sl_sys3(SYS_mprotect, r->from, r->to - r->from, prot);
	r->is_open = prot & PROT_WRITE;
}

static bool leads_to(const struct seen *s, uintptr_t now, const void *real, bool is_plt)
{
	/* An unresolved (lazy) PLT slot points into its own object. */
	return now == (uintptr_t)real || (is_plt && now >= s->base && now < s->end);
}

/* The entry for references by this name, and the real function; NULL: not redirected. */
static void *entry_by_name(const char *name, void **real)
{
	int n = sl_gpu_number(name);
	void *special;

	if (n < 0)
		return strncmp(name, "cupti", 5) == 0 ? sl_gpu_yield_entry(name, real) : NULL;
	*real = tables->state[n].real;
	special = sl_gpu_special((unsigned)n);
	if (!*real || (tables->state[n].is_quiet && !special))
		return NULL;
	return special ? special : sl_gpu_entry((unsigned)n);
}

static void patch_one(const struct seen *s, const struct sl_object *o, const ElfW(Rela) * r,
		      struct relro *relro)
{
	unsigned type = (unsigned)ELF64_R_TYPE(r->r_info), symbol = ELF64_R_SYM(r->r_info);
#if defined(__x86_64__)
	bool is_plt = type == R_X86_64_JUMP_SLOT;
	bool is_wanted =
		is_plt || type == R_X86_64_GLOB_DAT || (type == R_X86_64_64 && !r->r_addend);
#else
	bool is_plt = type == R_AARCH64_JUMP_SLOT;
	bool is_wanted =
		is_plt || type == R_AARCH64_GLOB_DAT || (type == R_AARCH64_ABS64 && !r->r_addend);
#endif
	uintptr_t *slot = (uintptr_t *)(o->base + r->r_offset);
	void *entry, *real;

	if (!is_wanted || !symbol || o->symtab[symbol].st_shndx != SHN_UNDEF)
		return;
	entry = entry_by_name(o->strtab + o->symtab[symbol].st_name, &real);
	if (!entry || !leads_to(s, __atomic_load_n(slot, __ATOMIC_RELAXED), real, is_plt))
		return;
	if (!relro->is_open && (ElfW(Addr))slot >= relro->from && (ElfW(Addr))slot < relro->to)
		relro_protect(relro, PROT_READ | PROT_WRITE);
	__atomic_store_n(slot, (uintptr_t)entry, __ATOMIC_RELEASE);
}

static void patch_object(struct seen *s, const struct sl_object *o, const struct dl_phdr_info *info)
{
	struct relro relro = {0};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) page = 4095;

		if (p->p_type != PT_GNU_RELRO)
			continue;
		/* As the loader does: whole pages only. */
		relro.from = (o->base + p->p_vaddr) & ~page;
		relro.to = (o->base + p->p_vaddr + p->p_memsz) & ~page;
	}
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; o->rela[k] && i < o->rela_cnt[k]; i++)
			patch_one(s, o, &o->rela[k][i], &relro);
	if (relro.is_open)
		relro_protect(&relro, PROT_READ);
	s->patched = sl_gpu_seen.bound;
}

/* ---- scanning ---- */

static struct seen *seen_find(const struct dl_phdr_info *info)
{
	for (uint32_t i = 0; i < tables->seen_cnt; i++)
		if (tables->seen[i].phdr == info->dlpi_phdr &&
		    tables->seen[i].base == info->dlpi_addr)
			return &tables->seen[i];
	return NULL;
}

/* One that was tried, and did not work with the driver. */
static bool is_other_cupti(const char *path)
{
	return sl_gpu_guest.is_on && strcmp(path, sl_gpu_guest.call.library) != 0;
}

static struct seen *seen_add(const struct dl_phdr_info *info, const struct sl_object *o)
{
	const char *name = o->soname ? o->soname : sl_gpu_base_name(info->dlpi_name);
	struct seen *s;

	if (tables->seen_cnt == OBJECT_MAX)
		return NULL;
	s = &tables->seen[tables->seen_cnt++];
	*s = (struct seen){.base = info->dlpi_addr, .phdr = info->dlpi_phdr, .library = -1};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && s->base + p->p_vaddr + p->p_memsz > s->end)
			s->end = s->base + p->p_vaddr + p->p_memsz;
	}
	s->is_ours = sl_gpu_is_companion(name);
	if (strncmp(name, "libcupti.so", 11) == 0 && !is_other_cupti(info->dlpi_name)) {
		sl_gpu_seen.cupti = info->dlpi_name;
		if (sl_gpu_cupti_found(o))
			sl_gpu_seen.bound |= CUPTI_BIT;
	}
	s->library = (int8_t)sl_gpu_library_of(name);
	if (s->library < 0)
		s->library = (int8_t)sl_gpu_library_of(sl_gpu_base_name(info->dlpi_name));
	if (s->library >= 0 && !has_functions((enum sl_gpu_library)s->library, o))
		s->library = -1;
	if (s->library >= 0)
		bind_library((enum sl_gpu_library)s->library, o, info->dlpi_name);
	return s;
}

/* The loader appends new objects, so known ones are skipped unless an object was unloaded. */
struct walk {
	uint32_t at, from;
	bool any;
};

/* First pass: registers objects. */
static int note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *w = arg;
	struct sl_object o;
	struct seen *s;

	(void)size;
	if (w->at++ < w->from || !sl_object_open(&o, info))
		return 0;
	s = seen_find(info);
	if (!s)
		s = seen_add(info, &o);
	if (s)
		s->is_there = true;
	return 0;
}

/* Second pass: redirects references to libraries that were bound since the object's last scan. */
static int patch_references(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *w = arg;
	struct sl_object o;
	struct seen *s;

	(void)size;
	if (w->at++ < w->from)
		return 0;
	s = seen_find(info);
	/* Calls of the runtime and the driver to themselves are no calls of the program. */
	if (!s || s->is_ours || s->library == SL_GPU_cudart || s->library == SL_GPU_cuda ||
	    s->patched == sl_gpu_seen.bound || !sl_object_open(&o, info))
		return 0;
	patch_object(s, &o, info);
	return 0;
}

/* Removes unloaded objects, and unbinds unloaded libraries. */
static void remove_unloaded(void)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < tables->seen_cnt; i++) {
		struct seen *s = &tables->seen[i];

		if (!s->is_there && s->library >= 0 && tables->bound_base[s->library] == s->base) {
			for (unsigned n = sl_gpu_first[s->library];
			     n < sl_gpu_first[s->library + 1]; n++)
				__atomic_store_n(&tables->state[n].real, NULL, __ATOMIC_RELAXED);
			sl_gpu_seen.bound &= ~(1u << s->library);
			sort_addresses();
		}
		if (s->is_there)
			tables->seen[kept++] = *s;
	}
	tables->seen_cnt = kept;
}

/* Whether there is a library to bind: most processes have none, and allocate no tables. */
static int find_any(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *w = arg;
	struct sl_object o;

	(void)size;
	if (w->at++ < w->from)
		return 0;
	w->any |= sl_gpu_library_of(sl_gpu_base_name(info->dlpi_name)) >= 0 ||
		  (sl_object_open(&o, info) && o.soname && sl_gpu_library_of(o.soname) >= 0);
	return 0;
}

static int read_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned long long *counts = arg;

	(void)size;
	counts[0] = info->dlpi_adds;
	counts[1] = info->dlpi_subs;
	return 1;
}

static void scan_objects(uint32_t from, bool some_went)
{
	struct walk notes = {.from = from}, patches = {.from = from};
	uint32_t bound = sl_gpu_seen.bound;

	for (uint32_t i = 0; some_went && i < tables->seen_cnt; i++)
		tables->seen[i].is_there = false;
	dl_iterate_phdr(note_object, &notes);
	if (some_went)
		remove_unloaded();
	if (sl_gpu_seen.bound & ~bound)
		patches.from = 0;
	if (sl_gpu_seen.bound)
		dl_iterate_phdr(patch_references, &patches);
}

static void scan(void)
{
	static uint32_t known;
	unsigned long long counts[2] = {0, 0};
	struct walk look = {0};

	dl_iterate_phdr(read_counts, counts);
	if (counts[0] == adds && counts[1] == subs)
		return;
	look.from = counts[1] == subs ? known : 0;
	dl_iterate_phdr(find_any, &look);
	if (tables)
		scan_objects(look.from, counts[1] != subs);
	else if (look.any && make_tables())
		scan_objects(0, false);
	known = look.at;
	adds = counts[0];
	subs = counts[1];
}

static bool is_wanted(void)
{
	return sl_global.session &&
	       sl_gpu_wanted() &
		       ~(uint32_t)(SL_TRACE_OSRT | SL_TRACE_FILE_ACCESS | SL_TRACE_NVTX) &&
	       sl_proc.cookie >= SL_COOKIE_FIRST && !sl_global.seccomp;
}

void sl_gpu_scan(void)
{
	if (!is_wanted())
		return;
	/* A thread that is scanning now scans once more on behalf of this one. */
	__atomic_store_n(&scan_again, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&scan_again, __ATOMIC_SEQ_CST)) {
		const void *none = NULL;

		if (!__atomic_compare_exchange_n(&scan_lock, &none, &sl_tls, 0, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST))
			return;
		__atomic_store_n(&scan_again, 0, __ATOMIC_SEQ_CST);
		scan();
		__atomic_store_n(&scan_lock, NULL, __ATOMIC_RELEASE);
	}
}

/* The other thread may wait for the loader's lock, which this one may hold. In a signal handler it may be this one. */
void sl_gpu_scan_all(void)
{
	const struct timespec step = {0, 200000};

	sl_gpu_scan();
	for (int i = 0; i < 5000 && is_wanted(); i++) {
		const void *by = __atomic_load_n(&scan_lock, __ATOMIC_ACQUIRE);

		if (by == &sl_tls || (!by && !__atomic_load_n(&scan_again, __ATOMIC_ACQUIRE)))
			return;
		sl_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
	}
}

void sl_gpu_forked(void)
{
	/* Another thread of the parent may have been scanning. */
	scan_lock = NULL;
	sl_gpu_cupti_forked();
}

void sl_gpu_scan_soon(void)
{
	if (!is_wanted() || sl_tls.cookie != sl_proc.cookie)
		return;
	sl_tls.saved_cookie = sl_set_cookie(SL_COOKIE_SCAN);
}

bool sl_gpu_is_inside(const void *code, bool and_bound)
{
	for (uint32_t i = 0; tables && i < tables->seen_cnt; i++) {
		const struct seen *s = &tables->seen[i];

		if ((uintptr_t)code - s->base < s->end - s->base)
			return s->is_ours || (and_bound && s->library >= 0);
	}
	return false;
}
