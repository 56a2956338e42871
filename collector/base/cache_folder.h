/*
 * cache_folder.h - files in the user's cache folder, which hold what earlier recordings have found.
 *
 * A file that is missing, not the user's, or larger than is asked for is as none; each may be removed at any time. The folder is that
 * of the user's variables, which count for nothing where this program has rights that the user lacks.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cache_folder {
	char path[PATH_MAX];
};

/* False: there is none. */
bool cache_folder_find(struct cache_folder *f);
/* A file of @least to @most bytes: malloc'd; NULL: none. */
char *cache_folder_read(const struct cache_folder *f, const char *name, size_t least, size_t most,
			size_t *bytes);
/* Written aside by @put, and renamed; the folder is made. False: it was not, for instance as the disk is full; the old file stays. */
bool cache_folder_write(const struct cache_folder *f, const char *name,
			bool (*put)(FILE *to, const void *what), const void *what);
