/* demangle_internal.h - shared by the files of demangle.h, and by tests. */
#ifndef SL_DEMANGLE_INTERNAL_H
#define SL_DEMANGLE_INTERNAL_H

/* "_R...". To be freed; NULL: it is none, or has no end. */
char *demangle_rust(const char *symbol);

#endif
