/* place.c - the frame of a stack that a person would look at. */
#include "exporters/why/model/place.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/sql/modules.h"
#include "exporters/why/model/jit_name.h"

/* Libraries that programs are linked with; there are executables below /usr/lib, too. */
static bool is_system(const char *module)
{
	static const char *const starts[] = {"/usr/lib", "/lib", "/usr/local/lib", "/snap/",
					     "/nix/store/"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (strncmp(module, starts[i], strlen(starts[i])) == 0)
			return strstr(module, ".so") != NULL;
	return false;
}

/* Headers of compilers and libraries: their code is inlined into programs, or an instance of a template. */
static bool is_header(const char *file)
{
	static const char *const parts[] = {
		"/usr/include/",    "/usr/lib/",   "/usr/local/include/",
		"/usr/local/cuda",  "/c++/",       "/rustc/",
		"/.cargo/registry", "/.rustup/",   "/usr/local/go/src/",
		"/usr/share/",      "/build/glib", "/usr/src/"};

	for (size_t i = 0; file && i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

static const char frames_sql[] =
	"SELECT f.kind, s.value, m.value, w.value, f.line, f.unresolved, f.depth "
	"FROM SL_CHAIN_FRAMES f LEFT JOIN StringIds s ON s.id = f.symbol "
	"LEFT JOIN StringIds m ON m.id = f.module LEFT JOIN StringIds w ON w.id = f.file "
	"WHERE f.stack = ?1 ORDER BY f.depth";

int places_open(struct places *p, sqlite3 *db)
{
	memset(p, 0, sizeof(*p));
	p->db = db;
	if (!grow(&p->list, p->cnt, &p->room, sizeof(*p->list)))
		return SQLITE_NOMEM;
	p->list[p->cnt++] = (struct place){0};
	return sqlite3_prepare_v2(db, frames_sql, -1, &p->frames, NULL);
}

void places_close(struct places *p)
{
	sqlite3_finalize(p->frames);
	for (size_t i = 0; i < p->cnt; i++) {
		free(p->list[i].text);
		free(p->list[i].file);
		free(p->list[i].function);
	}
	free(p->list);
	free(p->of_stack);
	slots_free(&p->by_text);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The number of a place with this text, taken over; a new one unless it is there. */
static uint32_t intern(struct places *p, struct place *of)
{
	uint64_t hash = hash_text(of->text);
	uint32_t at, i;

	for (i = slots_first(&p->by_text, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&p->by_text, hash, &at))
		if (strcmp(p->list[i].text, of->text) == 0)
			return i;
	if (!grow(&p->list, p->cnt, &p->room, sizeof(*p->list)) ||
	    !slots_add(&p->by_text, hash, (uint32_t)p->cnt))
		return PLACE_NONE;
	p->list[p->cnt] = *of;
	*of = (struct place){0};
	return (uint32_t)p->cnt++;
}

static const char *text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text && *text ? text : NULL;
}

static bool describe(struct place *to, sqlite3_stmt *s, bool is_own)
{
	const char *symbol = text_of(s, 1), *module = text_of(s, 2), *file = text_of(s, 3);
	int line = sqlite3_column_int(s, 4), rc;

	if (sqlite3_column_int(s, 5) == 1)
		symbol = NULL; /* the address, another one each time */
	if (!file && sqlite3_column_int(s, 0) == 1)
		file = module;
	free(to->text);
	free(to->file);
	free(to->function);
	*to = (struct place){.line = line, .is_own = is_own};
	rc = file && line ? asprintf(&to->text, "%s:%d in %s", base_of(file), line,
				     symbol ? symbol : "?")
			  : asprintf(&to->text, "%s in %s", symbol ? symbol : "?",
				     module ? base_of(module) : "?");
	if (rc < 0)
		to->text = NULL;
	to->file = file ? strdup(file) : NULL;
	to->function = symbol ? strdup(symbol) : NULL;
	return to->text != NULL;
}

/* ---- which frame ---- */

#define JIT 3 /* kind of a frame */

static bool describe_jit(struct place *to, sqlite3_stmt *s, bool is_own)
{
	const char *symbol = text_of(s, 1), *file = text_of(s, 3);
	struct jit_name n = jit_name(symbol);
	int rc;

	free(to->text);
	free(to->file);
	free(to->function);
	*to = (struct place){.is_own = is_own, .line = n.line};
	to->function = strndup(n.function, (size_t)n.function_len);
	/* A jitdump has the line of each address, a name at most that of the function. */
	if (file) {
		to->file = strdup(file);
		to->line = sqlite3_column_int(s, 4);
	} else if (n.file) {
		to->file = strndup(n.file, (size_t)n.file_len);
	}
	if (!to->function || ((file || n.file) && !to->file))
		return false;
	if (to->file && to->line)
		rc = asprintf(&to->text, "%s:%d in %s", base_of(to->file), to->line, to->function);
	else
		rc = asprintf(&to->text, "%s in %s", to->function,
			      to->file ? base_of(to->file) : "[JIT]");
	if (rc < 0)
		to->text = NULL;
	return to->text != NULL;
}

enum { /* how good a frame is as a place */
	RANK_NONE,
	RANK_MODULE,         /* native, without a name */
	RANK_SYSTEM,         /* native, of a library that the system has */
	RANK_HEADER,         /* native, of a header that is not the program's */
	RANK_NATIVE,         /* native, of the program */
	RANK_PYTHON_LIBRARY, /* Python's or made at run time, of a library or an installed package */
	RANK_PYTHON,         /* likewise, of the program */
};

static int rank_of_jit(sqlite3_stmt *s)
{
	struct jit_name n = jit_name(text_of(s, 1));

	if (sqlite3_column_int(s, 5) == 1 || n.is_nameless)
		return RANK_NONE;
	return n.is_library ? RANK_PYTHON_LIBRARY : RANK_PYTHON;
}

/* The rank of the current frame. */
static int rank_of(sqlite3_stmt *s)
{
	const char *module = text_of(s, 2);
	int kind = sqlite3_column_int(s, 0);
	bool library = !module || module_is_library(module);

	if (kind == 2 || kind == 4)
		return RANK_NONE;
	if (kind == 1)
		return library ? RANK_PYTHON_LIBRARY : RANK_PYTHON;
	if (kind == JIT)
		return rank_of_jit(s);
	if (library)
		return RANK_NONE;
	if (sqlite3_column_int(s, 5) == 1)
		return RANK_MODULE;
	if (is_system(module))
		return RANK_SYSTEM;
	return is_header(text_of(s, 3)) ? RANK_HEADER : RANK_NATIVE;
}

static bool is_interpreter(const char *name)
{
	return fnmatch("libpython*", name, 0) == 0 || fnmatch("python[23]*", name, 0) == 0;
}

static uint8_t flags_of(sqlite3_stmt *s, bool is_first)
{
	const char *symbol = text_of(s, 1), *module = text_of(s, 2);
	int kind = sqlite3_column_int(s, 0);
	uint8_t flags = 0;

	if (kind == 2)
		return is_first ? PLACE_KERNEL : 0;
	if (kind == 1 && module && strncmp(module, "<frozen importlib", 17) == 0)
		flags |= PLACE_IMPORT;
	if (kind == 0 && symbol && strcmp(symbol, "take_gil") == 0)
		flags |= PLACE_GIL;
	if (kind == 0 && is_first && symbol && strcmp(symbol, "pysleep") == 0)
		flags |= PLACE_SLEEP;
	/* Without symbols: the interpreter itself calls libc. */
	if (kind == 0 && is_first && module && is_interpreter(base_of(module)))
		flags |= PLACE_PYTHON;
	return flags;
}

/* How the kernel came to run. */
struct fault {
	bool is_fault; /* by a page fault */
	bool is_other; /* of a page of a file, or one that was swapped out */
};

static void look_for_fault(struct fault *f, sqlite3_stmt *s)
{
	static const char *const faults[] = {"*exc_page_fault", "do_user_addr_fault",
					     "do_page_fault", "handle_mm_fault", "do_mem_abort"};
	static const char *const others[] = {"filemap_*",     "do_read_fault",  "do_shared_fault",
					     "do_cow_fault",  "do_swap_page",   "do_fault",
					     "do_numa_page*", "*_filemap_fault"};
	const char *symbol = sqlite3_column_int(s, 0) == 2 ? text_of(s, 1) : NULL;

	for (size_t i = 0; symbol && i < sizeof(faults) / sizeof(*faults); i++)
		f->is_fault |= fnmatch(faults[i], symbol, 0) == 0;
	for (size_t i = 0; symbol && i < sizeof(others) / sizeof(*others); i++)
		f->is_other |= fnmatch(others[i], symbol, 0) == 0;
}

/* On whose behalf the innermost frames ran, as far as they are known. */
enum runs_for {
	FOR_KERNEL, /* nothing yet: all are the kernel's */
	FOR_SYSTEM, /* libc's, which the program or the tracer called */
	FOR_HOOK,   /* libc was called by the tracer: on behalf of its caller */
	FOR_TRACER, /* the tracer's own code, or CUPTI's */
	FOR_PROGRAM,
};

/* With one frame more. */
static enum runs_for runs_for(enum runs_for so_far, sqlite3_stmt *s)
{
	const char *module = text_of(s, 2), *name = module ? base_of(module) : "";

	if (so_far == FOR_TRACER || so_far == FOR_PROGRAM)
		return so_far;
	if (sqlite3_column_int(s, 0) == 2)
		return so_far;
	if (fnmatch("libcupti*", name, 0) == 0)
		return FOR_TRACER;
	if (fnmatch("libtrace*.so*", name, 0) == 0)
		return so_far == FOR_KERNEL ? FOR_TRACER : FOR_HOOK;
	if (so_far != FOR_HOOK &&
	    (fnmatch("libc.so*", name, 0) == 0 || fnmatch("libc-*", name, 0) == 0 ||
	     fnmatch("ld-linux*", name, 0) == 0 || strcmp(name, "[vdso]") == 0))
		return FOR_SYSTEM;
	return FOR_PROGRAM;
}

static bool describe_frame(struct place *to, sqlite3_stmt *s, int rank)
{
	bool is_own = rank == RANK_NATIVE || rank == RANK_PYTHON;

	return sqlite3_column_int(s, 0) == JIT ? describe_jit(to, s, is_own)
					       : describe(to, s, is_own);
}

static uint32_t read_place(struct places *p, int64_t id, uint8_t *flags)
{
	enum runs_for who = FOR_KERNEL;
	struct fault fault = {0};
	struct place best = {0};
	uint32_t number = PLACE_NONE;
	bool is_first = true, is_itself = false;
	int rank = RANK_NONE;

	sqlite3_bind_int64(p->frames, 1, id);
	while (sqlite3_step(p->frames) == SQLITE_ROW) {
		int r = rank_of(p->frames);

		*flags |= flags_of(p->frames, is_first);
		who = runs_for(who, p->frames);
		look_for_fault(&fault, p->frames);
		/* The compiler makes the code of a header part of the line that uses it. */
		is_itself |= is_first && (r == RANK_NATIVE || r == RANK_HEADER);
		is_first = false;
		if (r > rank && describe_frame(&best, p->frames, r))
			rank = r;
	}
	sqlite3_reset(p->frames);
	if (is_itself && rank == RANK_NATIVE)
		*flags |= PLACE_ITSELF;
	if (who == FOR_TRACER)
		*flags |= PLACE_TRACER;
	if (*flags & PLACE_KERNEL && fault.is_fault && !fault.is_other)
		*flags |= PLACE_TOUCH;
	if (best.text)
		number = intern(p, &best);
	free(best.text);
	free(best.file);
	free(best.function);
	return number;
}

uint32_t places_of(struct places *p, uint32_t number, int64_t id, uint8_t *flags)
{
	size_t had = p->stack_room;

	*flags = 0;
	if (number >= p->stack_room) {
		size_t want = (size_t)number + number / 2 + 256;
		void *more = reallocarray(p->of_stack, want, sizeof(*p->of_stack));

		if (!more)
			return PLACE_NONE;
		p->of_stack = more;
		memset(p->of_stack + had, 0, (want - had) * sizeof(*p->of_stack));
		p->stack_room = want;
	}
	if (!p->of_stack[number].is_known) {
		p->of_stack[number].place = read_place(p, id, &p->of_stack[number].flags);
		p->of_stack[number].is_known = true;
	}
	*flags = p->of_stack[number].flags;
	return p->of_stack[number].place;
}
