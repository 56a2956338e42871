/* files.h - a row for each file, with the calls that work on it. */
#pragma once

#include "exporters/view/build/build.h"

/* The largest number of files with rows: the files with most bytes. */
#define VIEW_FILES_MAX 500

struct view_files;
struct view_files *view_files_new(void);
void view_files_free(struct view_files *f);
/* Takes an event as it went to its lane; calls without a file are dropped. 0, -1. */
int view_files_add(struct view_files *f, const struct tl_event *e, const struct view_event *of);
/* Makes the rows, after the last event. 0, -1. */
int view_files_end(struct view_files *f, struct view_builder *b);

/* The row of a file, with the group above it. NULL: no memory, or no further row is allowed. */
struct view_row *view_file_row(struct view_store *v, sqlite3 *db, int64_t path);
