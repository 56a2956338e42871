/* frame.c - what the names of a frame give away. */
#include "exporters/why/model/frame.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/sql/modules.h"
#include "exporters/why/model/jit_name.h"
#include "exporters/why/model/place.h"

const char frame_columns[] = "kind, symbol, module, file, line, unresolved";

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

int frames_open(struct frames *f, sqlite3 *db)
{
	memset(f, 0, sizeof(*f));
	return sqlite3_prepare_v2(db, "SELECT value FROM StringIds WHERE id = ?1", -1, &f->text,
				  NULL);
}

void frames_close(struct frames *f)
{
	sqlite3_finalize(f->text);
	free(f->list);
	slots_free(&f->by_row);
}

const char *frame_base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct frame_row frames_row(sqlite3_value **v)
{
	struct frame_row r = {
		.kind = sqlite3_value_int64(v[0]),
		.module = sqlite3_value_int64(v[2]),
		.file = sqlite3_value_int64(v[3]),
		.line = sqlite3_value_int64(v[4]),
	};

	/* The name is the address, another one each time. */
	if (sqlite3_value_int(v[5]) != 1)
		r.symbol = sqlite3_value_int64(v[1]);
	return r;
}

/* ---- texts ---- */

static char *text_of(struct frames *f, int64_t id)
{
	const char *text;
	char *copy = NULL;

	if (!id)
		return NULL;
	sqlite3_bind_int64(f->text, 1, id);
	if (sqlite3_step(f->text) == SQLITE_ROW &&
	    (text = (const char *)sqlite3_column_text(f->text, 0)) && *text)
		copy = strdup(text);
	sqlite3_reset(f->text);
	return copy;
}

struct frame_texts frames_texts(struct frames *f, const struct frame_row *row)
{
	return (struct frame_texts){text_of(f, row->symbol), text_of(f, row->module),
				    text_of(f, row->file)};
}

void frame_texts_free(struct frame_texts *t)
{
	free(t->symbol);
	free(t->module);
	free(t->file);
}

/* ---- what they give away ---- */

static uint8_t rank_of_jit(const struct frame_texts *t)
{
	struct jit_name n = jit_name(t->symbol);

	if (n.is_nameless)
		return RANK_NONE;
	return n.is_library ? RANK_PYTHON_LIBRARY : RANK_PYTHON;
}

static uint8_t rank_of(const struct frame_row *row, const struct frame_texts *t)
{
	bool library = !t->module || module_is_library(t->module);

	switch (row->kind) {
	case FRAME_OF_KERNEL:
	case FRAME_IS_REMARK:
		return RANK_NONE;
	case FRAME_OF_PYTHON:
		return library ? RANK_PYTHON_LIBRARY : RANK_PYTHON;
	case FRAME_OF_JIT:
		return rank_of_jit(t);
	default:
		if (library)
			return RANK_NONE;
	}
	if (!t->symbol)
		return RANK_MODULE;
	if (is_system(t->module))
		return RANK_SYSTEM;
	return is_header(t->file) ? RANK_HEADER : RANK_NATIVE;
}

static bool is_interpreter(const char *name)
{
	return fnmatch("libpython*", name, 0) == 0 || fnmatch("python[23]*", name, 0) == 0;
}

static void find_flags(struct frame *f, const struct frame_texts *t)
{
	if (f->row.kind == FRAME_OF_KERNEL)
		f->first_flags |= PLACE_KERNEL;
	if (f->row.kind == FRAME_OF_PYTHON && t->module &&
	    strncmp(t->module, "<frozen importlib", 17) == 0)
		f->flags |= PLACE_IMPORT;
	if (f->row.kind == FRAME_OF_PYTHON)
		f->first_flags |= PLACE_SCRIPT;
	if (f->row.kind != FRAME_OF_CODE)
		return;
	if (t->symbol && strcmp(t->symbol, "take_gil") == 0)
		f->flags |= PLACE_GIL;
	if (t->symbol && strcmp(t->symbol, "pysleep") == 0)
		f->first_flags |= PLACE_SLEEP;
	if (t->symbol && t->module && strcmp(frame_base_of(t->module), "libjvm.so") == 0) {
		if (fnmatch("ObjectMonitor::enter*", t->symbol, 0) == 0)
			f->flags |= PLACE_MONITOR;
		if (fnmatch("JavaThread::sleep*", t->symbol, 0) == 0 ||
		    strcmp(t->symbol, "JVM_Sleep") == 0)
			f->flags |= PLACE_NAP;
	}
	/* Without symbols: the interpreter itself calls libc. */
	if (t->module && is_interpreter(frame_base_of(t->module)))
		f->first_flags |= PLACE_PYTHON;
}

static void find_fault(struct frame *f, const char *symbol)
{
	static const char *const faults[] = {"*exc_page_fault", "do_user_addr_fault",
					     "do_page_fault", "handle_mm_fault", "do_mem_abort"};
	static const char *const of_files[] = {"filemap_*",     "do_read_fault",  "do_shared_fault",
					       "do_cow_fault",  "do_swap_page",   "do_fault",
					       "do_numa_page*", "*_filemap_fault"};

	if (f->row.kind != FRAME_OF_KERNEL || !symbol)
		return;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		f->is_fault |= fnmatch(faults[i], symbol, 0) == 0;
	for (size_t i = 0; i < sizeof(of_files) / sizeof(*of_files); i++)
		f->is_of_file |= fnmatch(of_files[i], symbol, 0) == 0;
}

static uint8_t runner_of(const struct frame_texts *t)
{
	static const struct {
		const char *module, *symbol;
	} runners[] = {
		{NULL, NULL},
#define RUNNER(id, is_pool, text, module, symbol, remedy) {module, symbol},
#include "exporters/why/model/runners.def"
	};

	for (uint8_t i = 1; t->symbol && i < RUNNER_CNT; i++)
		if (fnmatch(runners[i].symbol, t->symbol, 0) == 0 &&
		    (!runners[i].module ||
		     (t->module && fnmatch(runners[i].module, t->module, 0) == 0)))
			return i;
	return RUNNER_NONE;
}

static uint8_t owner_of(const struct frame_row *row, const char *module)
{
	const char *name = module ? frame_base_of(module) : "";

	if (row->kind == FRAME_OF_KERNEL)
		return OWNER_KERNEL;
	if (fnmatch("libcupti*", name, 0) == 0)
		return OWNER_CUPTI;
	if (fnmatch("libtrace*.so*", name, 0) == 0)
		return OWNER_TRACER;
	if (fnmatch("libc.so*", name, 0) == 0 || fnmatch("libc-*", name, 0) == 0 ||
	    fnmatch("ld-linux*", name, 0) == 0 || strcmp(name, "[vdso]") == 0)
		return OWNER_LIBC;
	return OWNER_PROGRAM;
}

uint32_t frames_number(struct frames *f, const struct frame_row *row)
{
	uint64_t hash = hash_bytes(0, row, sizeof(*row));
	struct frame_texts texts;
	struct frame *new;
	uint32_t at, i;

	for (i = slots_first(&f->by_row, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&f->by_row, hash, &at))
		if (memcmp(&f->list[i].row, row, sizeof(*row)) == 0)
			return i;
	if (!grow(&f->list, f->cnt, &f->room, sizeof(*f->list)) ||
	    !slots_add(&f->by_row, hash, (uint32_t)f->cnt))
		return UINT32_MAX;
	new = &f->list[f->cnt];
	*new = (struct frame){.row = *row};
	texts = frames_texts(f, row);
	new->rank = rank_of(row, &texts);
	new->owner = owner_of(row, texts.module);
	new->runner = runner_of(&texts);
	find_flags(new, &texts);
	find_fault(new, texts.symbol);
	frame_texts_free(&texts);
	return (uint32_t)f->cnt++;
}
