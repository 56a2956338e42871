/* jit_name.h - names of functions whose code was made at run time, as run times write them to perf maps and jitdumps. */
#pragma once

#include <stdbool.h>

/* Parts of the name; they end where the lengths say. */
struct jit_name {
	const char *function;
	int function_len;
	const char *file; /* NULL: not known */
	int file_len, line;
	bool is_library;  /* of the run time's library, or an installed package */
	bool is_nameless; /* stubs and built-in functions, which programs call by themselves */
};

/* @symbol: the name; NULL: none is known. */
struct jit_name jit_name(const char *symbol);
