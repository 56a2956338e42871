/* function_table.c - writes SL_FUNCTIONS from the tables of hooks and of functions of GPU libraries. */
#include "collector/decode/function_table.h"

#include <string.h>

#include "collector/report/db.h"
#include "preload/wire/gpu_parse.h"
#include "preload/wire/hooks.h"

/* @row: all but the ids. @library: interned with the first function of it. */
static void write_function(struct db *db, const char *name, const char *library,
			   struct db_row_SL_FUNCTIONS row)
{
	row.nameId = db_string_known(db, name, strlen(name));
	if (row.nameId == DB_NULL)
		return;
	row.library = db_string(db, library, strlen(library));
	db_put_SL_FUNCTIONS(db, &row);
}

static void write_libc_function(struct db *db, const char *name, unsigned op, unsigned waits,
				bool is_stdio, bool returns_bytes)
{
	static const struct {
		uint8_t io;
		bool sends;
		const char *file;
	} ops[SL_OP_CNT] = {
#define OP(op, io, file, sends) [SL_OP_##op] = {SL_IO_##io, sends, file},
#include "preload/wire/hook_kinds.def"
	};
	static const char *const waits_for[SL_WAITS_CNT] = {
#define WAITS(waits, text) [SL_WAITS_##waits] = text,
#include "preload/wire/hook_kinds.def"
	};

	write_function(db, name, "libc",
		       (struct db_row_SL_FUNCTIONS){
			       .io = ops[op].io == SL_IO_NONE ? DB_NULL : ops[op].io,
			       .isStdio = is_stdio,
			       .file = ops[op].file,
			       .waits = waits_for[waits],
			       .sends = ops[op].sends,
			       .returnsBytes = returns_bytes,
			       .copies = op == SL_OP_COPY,
		       });
}

static void write_gpu_functions(struct db *db)
{
	static const char *const libraries[] = {
#define SL_GPU_LIBRARY_ONE(id, soname, flag) #id,
		SL_GPU_LIBRARIES(SL_GPU_LIBRARY_ONE)
#undef SL_GPU_LIBRARY_ONE
	};
	const char *at = sl_gpu_text;
	unsigned library = 0;

	for (unsigned i = 0; i < SL_GPU_FUNCTION_CNT; i++) {
		struct sl_gpu_line line;

		at = sl_gpu_next(at, &line);
		while (i >= sl_gpu_first[library + 1])
			library++;
		write_function(db, line.name, libraries[library],
			       (struct db_row_SL_FUNCTIONS){
				       .io = DB_NULL,
				       .sends = DB_NULL,
				       .returnsBytes = DB_NULL,
				       .copies = DB_NULL,
			       });
	}
}

void function_table_write(struct db *db)
{
	for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
		const struct sl_hook_info *hook = &sl_hook_info[i];

		write_libc_function(db, sl_hook_name(i), hook->op, hook->waits, sl_hook_is_stdio(i),
				    hook->fail == SL_FAIL_CNT);
	}
#define KNOWN(op, waits, name) \
	write_libc_function(db, #name, SL_OP_##op, SL_WAITS_##waits, false, false);
#include "preload/libc/known.def"
	write_gpu_functions(db);
}
