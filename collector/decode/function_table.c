/* function_table.c - writes SL_FUNCTIONS from the tables of hooks and of functions of GPU libraries. */
#include "collector/decode/function_table.h"

#include <string.h>

#include "collector/report/db.h"
#include "preload/wire/gpu_parse.h"
#include "preload/wire/hooks.h"

/* @library: interned with the first function of it. */
static void write_function(struct db *db, const char *name, const char *library, int64_t io,
			   bool is_stdio)
{
	int64_t id = db_string_known(db, name, strlen(name));

	if (id != DB_NULL)
		db_put_SL_FUNCTIONS(db, &(struct db_row_SL_FUNCTIONS){
						.nameId = id,
						.library = db_string(db, library, strlen(library)),
						.io = io,
						.isStdio = is_stdio});
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
		write_function(db, line.name, libraries[library], DB_NULL, false);
	}
}

void function_table_write(struct db *db)
{
	for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
		const struct sl_hook_info *hook = &sl_hook_info[i];

		write_function(db, sl_hook_name(i), "libc",
			       hook->io == SL_IO_NONE ? DB_NULL : hook->io, sl_hook_is_stdio(i));
	}
	write_gpu_functions(db);
}
