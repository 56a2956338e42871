/*
 * demangle.h - names of functions as people write them.
 */
#pragma once

#include <stddef.h>

/* With all that the symbol encodes; NULL when it is no C++ name. To be freed. */
char *demangle_full(const char *symbol);

/* In a demangled text the name without its scope, template arguments and parameters; its length. */
size_t demangle_base(const char *demangled, const char **begin);

/*
 * For stacks: scope, name and template arguments, but neither parameters nor return type, so that a
 * function has one short name; file and line distinguish overloads. C++ and Rust (both of its
 * manglings, without hashes); of other languages the symbol, less the suffixes of compilers for
 * parts and variants of functions (".cold", ".isra.0"). To be freed; NULL: no memory.
 */
char *demangle_function(const char *symbol);
