/* pack_internal.h - parts of the packing of a run. */
#pragma once

#include "exporters/ranks/pack/pack.h"

/* pack_clean.c: after the commit. */
/* Removes the files of the parts whose manifest is the one that @db (manifests_read()) has, and other generations. Files removed. */
size_t pack_clean(sqlite3 *db, int top, const struct ask *a, const char *generation);
