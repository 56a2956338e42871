/* jit_name.c - the forms of names that V8, CPython and HotSpot write. */
#include "exporters/why/model/jit_name.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/sql/modules.h"

/* Digits after the colon that a text of @len ends with; 0: it does not end so. */
static int number_at_end(const char *text, int len)
{
	int digits = 0;

	while (digits < len && text[len - 1 - digits] >= '0' && text[len - 1 - digits] <= '9')
		digits++;
	return digits < len && digits && text[len - 1 - digits] == ':' ? digits : 0;
}

/* "JS:*NAME FILE:LINE:COLUMN" of V8, before version 9 "LazyCompile:*NAME FILE:LINE"; the mark is that of the compiler which made the code. */
static bool read_v8(const char *symbol, struct jit_name *to)
{
	static const char *const starts[] = {
		"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
	const char *name = NULL, *file;
	int digits;

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts) && !name; i++)
		if (strncmp(symbol, starts[i], strlen(starts[i])) == 0)
			name = symbol + strlen(starts[i]);
	if (!name)
		return false;
	name += strspn(name, "*~^+");
	file = strrchr(name, ' ');
	to->function = name;
	to->function_len = (int)(file ? file - name : (long)strlen(name));
	if (!to->function_len) { /* of a whole file */
		to->function = "(top level)";
		to->function_len = (int)strlen(to->function);
	}
	if (!file || !*++file)
		return true;
	to->file = file;
	to->file_len = (int)strlen(file);
	for (unsigned i = 0; i < 2 && (digits = number_at_end(file, to->file_len)); i++) {
		to->file_len -= digits + 1;
		to->line = atoi(file + to->file_len + 1);
	}
	to->is_library = strncmp(file, "node:", 5) == 0 || strstr(file, "/node_modules/") ||
			 strncmp(file, "native ", 7) == 0 || strncmp(file, "internal/", 9) == 0;
	return true;
}

/* "py::NAME:FILE", of CPython's -X perf. */
static bool read_cpython(const char *symbol, struct jit_name *to)
{
	const char *colon = strncmp(symbol, "py::", 4) == 0 ? strchr(symbol + 4, ':') : NULL;

	if (!colon)
		return false;
	to->function = symbol + 4;
	to->function_len = (int)(colon - to->function);
	to->file = colon + 1;
	to->file_len = (int)strlen(colon + 1);
	to->is_library = module_is_library(to->file);
	return true;
}

/* "TYPE CLASS.METHOD(TYPES)", of HotSpot; without brackets: the interpreter and other stubs. */
static void read_hotspot(const char *symbol, struct jit_name *to)
{
	static const char *const packages[] = {"java.",  "javax.",  "jdk.",    "sun.",
					       "scala.", "kotlin.", "com.sun."};
	const char *open = strchr(symbol, '('), *name = symbol;

	to->function = symbol;
	to->function_len = (int)strlen(symbol);
	/* "StubRoutines (1)" */
	if (open && (open == symbol || open[-1] == ' '))
		open = NULL;
	to->is_nameless = !open;
	for (const char *at = symbol; open && at < open; at++)
		if (*at == ' ')
			name = at + 1;
	if (!open)
		return;
	to->function = name;
	to->function_len = (int)(open - name);
	for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
		to->is_library |= strncmp(name, packages[i], strlen(packages[i])) == 0;
}

struct jit_name jit_name(const char *symbol)
{
	struct jit_name to = {.function = "?", .function_len = 1};

	if (!symbol)
		to.is_nameless = true;
	else if (!read_v8(symbol, &to) && !read_cpython(symbol, &to))
		read_hotspot(symbol, &to);
	return to;
}
