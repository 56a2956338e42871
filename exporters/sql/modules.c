/* modules.c - the one list of libraries. */
#include "exporters/sql/modules.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

bool module_is_library(const char *module)
{
	static const char *const names[] = {
		"libc.so*",   "libc-*",      "libpthread*",   "libdl*",       "libm.so*",
		"libm-*",     "ld-linux*",   "libcuda.*",     "libcudart*",   "libcublas*",
		"libcudnn*",  "libnccl*",    "libcufft*",     "libcusparse*", "libcusolver*",
		"libcufile*", "libtorch*",   "libc10*",       "libstdc++*",   "libgomp*",
		"libpython*", "python[23]*", "libtrace*.so*", "[[]*",         "libcupti*",
	};
	static const char *const parts[] = {"/lib/python[0-9]", "/site-packages/",
					    "/dist-packages/"};
	const char *name = strrchr(module, '/');

	if (*module == '<' || strstr(module, parts[1]) || strstr(module, parts[2]))
		return true;
	for (const char *at = strstr(module, "/lib/python"); at; at = NULL)
		if (at[11] >= '0' && at[11] <= '9')
			return true;
	name = name ? name + 1 : module;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fnmatch(names[i], name, 0) == 0)
			return true;
	return false;
}

static void is_library(sqlite3_context *ctx, int cnt, sqlite3_value **args)
{
	const char *path = (const char *)sqlite3_value_text(args[0]);

	(void)cnt;
	if (path)
		sqlite3_result_int(ctx, module_is_library(path));
}

int modules_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "sl_is_library", 1,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, is_library,
					  NULL, NULL, NULL);
}
