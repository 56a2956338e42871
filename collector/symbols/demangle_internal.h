/* demangle_internal.h - shared by the files of demangle.h, and by tests. */
#pragma once

/* "_R...". To be freed; NULL: it is none, or has no end. */
char *demangle_rust(const char *symbol);
