/*
 * saved_rings.h - the files that a keeper wrote: in a folder beside the report, and, where that had no room, in one of the
 * session's. Segments of the spool that are files lie beside the report in either case.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	SAVED_BESIDE,
	SAVED_IN_SESSION,
	SAVED_FOLDERS
};

struct saved_rings {
	struct {
		int fd; /* -1: there is none that can be used */
		char path[4200];
	} folder[SAVED_FOLDERS];
	bool has_warned; /* that one is left alone */
};

void saved_rings_init(struct saved_rings *s);
/* Opens the files that exist; a later call opens files that appeared since. @dir: of the session. */
void saved_rings_find(struct saved_rings *s, const char *report, const char *dir);
/* All files, of each folder in the order of the numbers in their names. */
void saved_rings_each(const struct saved_rings *s,
		      void (*each)(void *ctx, int folder, const char *name), void *ctx);
/* -1: there is none, or not a file of its own. */
int saved_rings_open(int folder, const char *name);
/* A segment of the spool: "N.spool". */
bool saved_rings_is_segment(const char *name, uint32_t *index);
/* Returns the MiB that the disks lack for the output of reading the files, 0: none. */
unsigned saved_rings_lack(const struct saved_rings *s, const char *report);
/* Removes the files of a keeper, and closes the folders. */
void saved_rings_remove(struct saved_rings *s);
