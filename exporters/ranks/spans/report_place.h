/*
 * report_place.h - where the report of a rank lies. The path stands in the dataset (_ends), which others may write to: it is taken for
 * no more than a name of a file that this user could have named.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "exporters/read/db_read.h"

/* The path, malloc'd; NULL after one line in @why: it is not recorded, on another host, another file by now, or of a foreign user. */
char *report_place(sqlite3 *manifests, const char *folder, const char *run, int64_t rank, char *why,
		   size_t why_len);
/* The same of a path, its host and size in bytes as they are recorded; NULL: neither is. */
char *report_place_check(const char *folder, const char *path, const char *host, int64_t bytes,
			 char *why, size_t why_len);
