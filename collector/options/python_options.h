/* python_options.h - checks --python-step, --pytorch and --python-functions-trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collector/options/profile_options.h"
#include "collector/options/python_functions.h"

#define PYTHON_STEPS_MAX 64

/* Dotted names; Python's may have letters of every script. */
bool python_is_dotted(const char *text, size_t len);

/* 0; -SL_EXIT_USAGE after one line that names @cmd. */
int python_options_check(struct profile_options *o, const char *cmd);
/* Functions of --python-functions-trace, of the options that were checked last. */
const struct python_functions *python_options_functions(void);
