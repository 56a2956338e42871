/*
 * python_functions.h - --python-functions-trace: a file that lists functions of Python modules, each to become ranges.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct python_function {
	char *domain, *module, *name;
	uint32_t color; /* ARGB; 0: none */
};

struct python_functions {
	struct python_function *at;
	size_t cnt;
};

/*
 * Reads @path, JSON in the form that nsys uses. 0; -SL_EXIT_USAGE after a line that names @cmd and the place in the
 * file.
 */
int python_functions_read(struct python_functions *fs, const char *path, const char *cmd);
void python_functions_free(struct python_functions *fs);
